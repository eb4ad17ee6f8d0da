"""Images as vendors take them: what stays, what is converted, what is refused and why."""

import subprocess
import sys

import pytest
from PIL import Image

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.images import (
    LARGEST,
    LARGEST_FILE,
    LONGEST_EDGE,
    MOST_PIXELS,
    is_image_name,
    sendable,
)
from tests.pictures import SVG, bomb, noise, opened, picture


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")],
)
def test_what_vendors_take_stays_byte_for_byte(kind: str, media_type: str) -> None:
    content = picture(kind)
    found = sendable(content, "a.x")
    assert (found.content, found.media_type, found.width, found.height) == (content, media_type, 8, 6)


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "ICO", "PPM", "TGA", "AVIF", "JPEG2000"])
def test_other_formats_become_png(kind: str) -> None:
    found = sendable(picture(kind, (16, 16)), "a.x")
    decoded = opened(found.content)
    assert (found.media_type, decoded.format, decoded.size) == ("image/png", "PNG", (16, 16))
    assert (found.width, found.height) == (16, 16)


@pytest.mark.parametrize(
    ("size", "sent"),
    [((4000, 1000), (2000, 500)), ((2001, 3), (2000, 3)), ((100_000, 1), (2000, 1)), ((1, 9000), (1, 2000))],
)
def test_an_image_with_a_long_edge_is_sized_down(size: tuple[int, int], sent: tuple[int, int]) -> None:
    found = sendable(picture("PNG", size), "a.png")
    assert (found.width, found.height) == sent == opened(found.content).size
    assert max(sent) <= LONGEST_EDGE


def test_an_image_of_many_bytes_becomes_small_enough() -> None:
    content = noise((1600, 1600))
    assert len(content) > LARGEST
    found = sendable(content, "a.png")
    assert len(found.content) <= LARGEST
    assert found.media_type == "image/jpeg"
    assert opened(found.content).size == (found.width, found.height)


def test_transparency_is_white_where_it_cannot_be_sent() -> None:
    content = noise((1600, 1600), mode="RGBA")
    found = sendable(content, "a.png")
    assert (found.media_type, opened(found.content).mode) == ("image/jpeg", "RGB")


def test_a_photograph_is_turned_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    found = sendable(picture("JPEG", (8, 6), exif=exif), "a.jpg")
    assert (found.width, found.height) == (6, 8) == opened(found.content).size
    assert (found.media_type, opened(found.content).getexif().get(0x0112)) == ("image/jpeg", None)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "I;16", "F", "CMYK"])
def test_every_mode_of_colour_is_converted(mode: str) -> None:
    target = picture("TIFF", (5, 5), mode)
    assert opened(sendable(target, "a.tif").content).size == (5, 5)


def test_sixteen_bits_of_grey_become_eight() -> None:
    from io import BytesIO

    target = BytesIO()
    Image.new("I;16", (4, 4), 0x8000).save(target, "TIFF")
    assert opened(sendable(target.getvalue(), "a.tif").content).getpixel((0, 0)) == (128, 128, 128)


def test_an_animation_stays_and_a_large_one_becomes_its_first_frame() -> None:
    frames = [Image.new("RGB", (8, 8), "red"), Image.new("RGB", (8, 8), "blue")]
    small = picture("GIF", append_images=frames[1:], save_all=True)
    assert sendable(small, "a.gif").content == small
    large = picture("GIF", (2500, 8), append_images=[Image.new("RGB", (2500, 8), "blue")], save_all=True)
    found = sendable(large, "a.gif")
    decoded = opened(found.content).convert("RGB")
    assert (found.media_type, decoded.size, decoded.getpixel((0, 0))) == ("image/png", (2000, 6), (255, 0, 0))


WHOLE = noise((64, 64))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.png is empty."),
        (b"plain text", "a.png is not an image that can be read."),
        (SVG, "a.png is an SVG drawing, which models read as text only."),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "a.png is a HEIC image, which cannot be read here."),
        (WHOLE[: len(WHOLE) // 2], "a.png cannot be read as an image: it is damaged or cut off."),
        (WHOLE[:20], "a.png cannot be read as an image: it is damaged or cut off."),
        (WHOLE[:8], "a.png cannot be read as an image: it is damaged or cut off."),
        (bomb(60_000, 60_000), "a.png has more than 50 million pixels."),
        (bomb(11_000, 9_000), "a.png has more than 50 million pixels."),
        (bomb(8_000, 7_000), "a.png has more than 50 million pixels."),
        (bomb(5_000, 5_000), "a.png cannot be read as an image: it is damaged or cut off."),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n", "a.png is not an image that can be read."),
        (bytes(LARGEST_FILE + 1), "a.png has 50 MB; images may have 50 MB."),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_no_readable_image_is_refused_with_the_reason(content: bytes, message: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        sendable(content, "a.png")
    assert str(caught.value) == message


def test_every_cut_of_an_image_is_refused_or_whole() -> None:
    for kind in ("PNG", "JPEG", "GIF", "WEBP"):
        content = picture(kind, (40, 40))
        for length in range(0, len(content), 7):
            try:
                found = sendable(content[:length], "a")
            except WorkspaceError:
                continue
            assert opened(found.content).size == (40, 40)


def test_names_of_images_are_known_by_their_ending() -> None:
    assert all(map(is_image_name, ("a.png", "b/C.JPG", "x.tar.webp")))
    assert not any(map(is_image_name, ("a.svg", "png", "a.png.txt", "")))
    assert MOST_PIXELS < 89_478_485


def test_no_image_no_pillow() -> None:
    code = "import sys, cogency_tui.workspace.images, cogency_tui.agent.turn; print('PIL' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"

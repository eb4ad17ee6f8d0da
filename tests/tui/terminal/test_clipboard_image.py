"""The image in the clipboard: the programs that have it are real ones, small scripts that speak as they do."""

import time
from pathlib import Path

import pytest

from cogency_tui.child_processes import output_of
from cogency_tui.errors import UsageError
from cogency_tui.tui.terminal import clipboard_image
from cogency_tui.tui.terminal.clipboard_image import read_image, readers_for
from tests.pictures import picture
from tests.tui.terminal.test_clipboard import programs

WL_PASTE = """case "$*" in
--list-types) printf 'text/html\\nimage/jpeg\\nimage/png\\n' ;;
'--no-newline --type image/png') cat "$0.png" ;;
*) exit 2 ;;
esac"""
XCLIP = """case "$*" in
'-selection clipboard -out -target TARGETS') printf 'TIMESTAMP\\nTARGETS\\nimage/png\\n' ;;
'-selection clipboard -out -target image/png') cat "$0.png" ;;
*) exit 2 ;;
esac"""


def environment(folder: Path, content: bytes = b"", **scripts: str) -> dict[str, str]:
    """An environment with these programs, beside each of which lies what it has."""
    environ = programs(folder, **scripts)
    for name in scripts:
        (folder / f"{name}.png").write_bytes(content)
    # Of the machine's own programs, only those that the scripts use.
    return {**environ, "PATH": f"{folder}:/usr/bin:/bin"}


async def test_wl_paste_is_asked_for_the_best_type(tmp_path: Path) -> None:
    environ = environment(tmp_path / "bin", picture(), **{"wl-paste": WL_PASTE})
    assert await read_image({**environ, "WAYLAND_DISPLAY": "wayland-0"}) == picture()


async def test_xclip_is_asked_where_there_is_no_wayland(tmp_path: Path) -> None:
    environ = environment(tmp_path / "bin", picture(), xclip=XCLIP)
    assert await read_image({**environ, "DISPLAY": ":0"}) == picture()


async def test_a_clipboard_without_an_image_is_reported(tmp_path: Path) -> None:
    environ = environment(tmp_path / "bin", b"", **{"wl-paste": "printf 'text/plain\\n'"})
    with pytest.raises(UsageError, match="There is no image in the clipboard"):
        await read_image({**environ, "WAYLAND_DISPLAY": "wayland-0"})


async def test_an_empty_clipboard_at_which_the_program_fails_is_reported(tmp_path: Path) -> None:
    environ = environment(tmp_path / "bin", b"", **{"wl-paste": "echo 'Nothing is copied' >&2; exit 1"})
    with pytest.raises(UsageError, match="There is no image in the clipboard"):
        await read_image({**environ, "WAYLAND_DISPLAY": "wayland-0"})


async def test_a_program_that_does_not_reach_the_desktop_is_reported(tmp_path: Path) -> None:
    failing = "echo 'Failed to connect to a Wayland server: No such file' >&2; exit 1"
    environ = environment(tmp_path / "bin", b"", **{"wl-paste": failing})
    with pytest.raises(UsageError, match="cannot be read: wl-paste: Failed to connect to a Wayland server"):
        await read_image({**environ, "WAYLAND_DISPLAY": "wayland-0"})


async def test_a_program_that_hangs_is_ended_with_its_group_and_the_next_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clipboard_image, "PATIENCE", 0.1)
    environ = environment(tmp_path / "bin", picture(), xclip=XCLIP, **{"wl-paste": "sleep 60"})
    both = {**environ, "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}
    assert await read_image(both) == picture()
    with pytest.raises(UsageError, match=r"wl-paste did not answer within 0\.1 s"):
        await read_image({**environ, "WAYLAND_DISPLAY": "wayland-0"})


async def test_more_than_an_image_may_have_is_not_read(tmp_path: Path) -> None:
    environ = programs(tmp_path / "bin", endless="cat /dev/zero")
    began = time.monotonic()
    with pytest.raises(OSError, match="endless wrote more than 1 MB"):
        await output_of(["endless"], environ, seconds=60, limit=1_000_000)
    assert time.monotonic() - began < 60


async def test_over_ssh_nothing_is_tried_and_the_way_is_named(tmp_path: Path) -> None:
    environ = environment(tmp_path / "bin", picture(), xclip=XCLIP)
    with pytest.raises(UsageError, match="Over SSH the clipboard cannot be read") as raised:
        await read_image({**environ, "DISPLAY": ":10", "SSH_CONNECTION": "1"})
    assert "@path" in raised.value.advice


async def test_without_a_program_the_one_to_install_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No program found") as raised:
        await read_image({"PATH": str(tmp_path), "DISPLAY": ":0"})
    assert "wl-clipboard" in raised.value.advice


@pytest.mark.parametrize(
    ("name", "script", "given", "platform"),
    [
        ("pngpaste", '[ "$1" = - ] && cat "$0.png"', {}, "darwin"),
        (
            "osascript",
            "printf '«data PNGf'; od -An -v -tx1 \"$0.png\" | tr -d ' \\n'; printf '»\\n'",
            {},
            "darwin",
        ),
        ("powershell.exe", 'base64 "$0.png"', {"WSL_DISTRO_NAME": "Ubuntu"}, "linux"),
    ],
)
async def test_the_programs_of_other_systems_are_read_in_their_own_form(
    tmp_path: Path, name: str, script: str, given: dict[str, str], platform: str
) -> None:
    environ = {**environment(tmp_path / "bin", picture(), **{name: script}), **given}
    (reader,) = readers_for(environ, platform)
    assert await reader(environ) == picture()


async def test_a_mac_without_an_image_has_none(tmp_path: Path) -> None:
    environ = programs(tmp_path / "bin", osascript="echo 'execution error' >&2; exit 1")
    (reader,) = readers_for(environ, "darwin")
    assert await reader(environ) == b""

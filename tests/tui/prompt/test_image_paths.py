"""Pasted paths of images, in the forms in which terminals paste them."""

from pathlib import Path
from shlex import quote

import pytest

from cogency_tui.tui.prompt.image_paths import image_paths
from tests.pictures import picture


@pytest.fixture
def shots(tmp_path: Path) -> tuple[Path, Path]:
    plain, spaced = tmp_path / "shot.png", tmp_path / "my shot (2).PNG"
    for path in (plain, spaced):
        path.write_bytes(picture())
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "folder.png").mkdir()
    return plain, spaced


@pytest.mark.parametrize(
    "form",
    [
        "{plain}",
        "  {plain}\n",
        "'{spaced}' ",
        '"{spaced}"',
        "{escaped}",
        "{spaced}",
        "{plain} {escaped}",
        "{plain}\n{spaced}",
        "{plain}\r\n{spaced}\r\n",
        "{uri}",
        "{uri}\n{plain}",
        "file://localhost{plain}",
    ],
)
def test_images_are_found_in_every_form(shots: tuple[Path, Path], form: str) -> None:
    plain, spaced = shots
    escaped = str(spaced).replace(" ", "\\ ").replace("(", "\\(").replace(")", "\\)")
    text = form.format(plain=plain, spaced=spaced, escaped=escaped, uri=spaced.as_uri())
    expected = [
        path
        for path, names in ((plain, ("plain",)), (spaced, ("spaced", "escaped", "uri")))
        if any(f"{{{name}}}" in form for name in names)
    ]
    assert sorted(image_paths(text)) == sorted(expected)


def test_a_home_is_expanded(shots: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(shots[0].parent))
    assert image_paths("~/shot.png") == [shots[0]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "shot.png",
        "see {plain}",
        "{plain} and more",
        "{plain} {folder}/notes.txt",
        "{folder}/missing.png",
        "{folder}/folder.png",
        "{folder}/shot.png\0",
        "'{plain}",
        "/" + "x" * 5000 + ".png",
        "file://",
        "~nobody-by-that-name/shot.png",
    ],
)
def test_anything_else_is_text(shots: tuple[Path, Path], text: str) -> None:
    assert image_paths(text.format(plain=shots[0], folder=shots[0].parent)) == []


def test_a_quoted_path_is_read_as_a_shell_does(tmp_path: Path) -> None:
    path = tmp_path / "it's.png"
    path.write_bytes(picture())
    assert image_paths(quote(str(path))) == [path]

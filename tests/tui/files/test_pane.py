"""The files pane, key by key: filter, preview, prompt, editor, git."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.tui.files.preview import FilePreview, PreviewLines
from cogency_tui.tui.kit.filter_line import Chips, FilterLine
from cogency_tui.tui.theme_styles import theme_styles_of
from tests.tui.driving import (
    app_over,
    conversation_of,
    files_of,
    header_of,
    main_of,
    prompt_of,
    shown,
    told,
    type_text,
    until,
)
from tests.tui.scripted import ScriptedAgent


async def begin(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: "README.md" in shown(files_of(pilot)))
    files_of(pilot).focus()


async def filter_by(pilot: Pilot[Any], text: str) -> None:
    await pilot.press("slash")
    await type_text(pilot, text)
    await until(pilot, lambda: "▾" not in shown(files_of(pilot)) and "README" not in shown(files_of(pilot)))


def previewed(pilot: Pilot[Any]) -> str:
    found = main_of(pilot).query(PreviewLines)
    return shown(found.first()) if found and found.first().has_focus else ""


async def look_at(pilot: Pilot[Any], path: str) -> None:
    files_of(pilot).reveal_path(path)
    await until(pilot, lambda: (node := files_of(pilot).node) is not None and node.path == path)
    await pilot.press("enter")
    await until(pilot, lambda: previewed(pilot))


@pytest.mark.exhaustive
async def test_slash_finds_files_by_a_few_letters_and_enter_looks_at_the_one_selected(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        await begin(pilot)
        await filter_by(pilot, "vie")
        assert "src/api/views.py" in shown(files_of(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: "▸ tests" in shown(files_of(pilot)))
        assert files_of(pilot).has_focus

        await filter_by(pilot, "app")
        await pilot.press("down", "up", "enter")
        await until(pilot, lambda: "1 x = 1" in previewed(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: files_of(pilot).has_focus)
        chips = main_of(pilot).query_one("#files-filter", FilterLine).query_one(Chips)
        assert "app ✕" in shown(chips)
        await pilot.click(chips, offset=(3, 0))
        await until(pilot, lambda: "README.md" in shown(files_of(pilot)))

        # A directory that was found is shown in the tree.
        files_of(pilot).focus()
        await filter_by(pilot, "api")
        await pilot.press("enter")
        await until(pilot, lambda: "▾ src" in shown(files_of(pilot)) and "▸ api" in shown(files_of(pilot)))
        await until(pilot, lambda: (node := files_of(pilot).node) is not None and node.path == "src/api")


@pytest.mark.exhaustive
async def test_a_preview_covers_the_conversation_scrolls_and_is_mentioned(project: Path) -> None:
    (project / "long.txt").write_text("".join(f"line {number}\n" for number in range(500)))
    (project / "image.png").write_bytes(b"\x89PNG\0\0")
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        await begin(pilot)
        await look_at(pilot, "image.png")
        assert "is not text" in previewed(pilot), "it says why it cannot be shown"
        await pilot.press("escape")

        await look_at(pilot, "src/app.py")
        assert "src/app.py · 1 line · 6 B" in shown(main_of(pilot).query_one("#preview-title"))
        assert not conversation_of(pilot).region
        await pilot.press("escape")
        assert conversation_of(pilot).region
        assert not main_of(pilot).query_one(FilePreview).region
        assert files_of(pilot).has_focus

        await look_at(pilot, "long.txt")
        assert "line 0" in previewed(pilot)
        await pilot.press("end")
        assert "line 499" in previewed(pilot)
        await pilot.press("pageup", "up", "home")
        assert "line 0" in previewed(pilot)
        await pilot.press("pagedown", "down")
        assert "line 0\n" not in previewed(pilot)

        # @ puts a file into the prompt from the preview and from the tree.
        await pilot.press("at")
        await until(pilot, lambda: "@long.txt" in prompt_of(pilot).text)
        files_of(pilot).reveal_path("README.md")
        await until(pilot, lambda: (node := files_of(pilot).node) is not None and node.path == "README.md")
        files_of(pilot).focus()
        await pilot.press("at")
        await until(pilot, lambda: "@README.md" in prompt_of(pilot).text)


@pytest.mark.exhaustive
async def test_on_a_narrow_screen_the_preview_takes_the_place_of_the_files_and_follows_the_disk(
    project: Path,
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(60, 16)) as pilot:
        await pilot.press("f3")
        await begin(pilot)
        await look_at(pilot, "README.md")
        assert "1 x = 1" in previewed(pilot)
        number = 0

        def follows() -> bool:
            # Written again and again: watching begins some time after the first frame.
            nonlocal number
            number += 1
            (project / "README.md").write_text(f"changed {number}\n")
            return "changed" in previewed(pilot)

        await until(pilot, follows)
        await pilot.press("escape")
        assert not main_of(pilot).query_one(FilePreview).region


@pytest.mark.exhaustive
async def test_o_opens_the_editor_and_without_one_says_how_to_choose_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = project.parent / "editor"
    editor.write_text('#!/bin/sh\necho edited > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30), notifications=True) as pilot:
        await begin(pilot)
        monkeypatch.setenv("PATH", "")
        await pilot.press("end", "o")
        await until(pilot, lambda: "export EDITOR" in told(pilot))
        monkeypatch.setenv("VISUAL", str(editor))
        await pilot.press("o")
        # A test has no terminal that could be given away: that is said, and nothing is lost.
        await until(pilot, lambda: "Cannot start an editor" in told(pilot))


def changed_since_commit(project: Path) -> Callable[..., None]:
    """Commit the project, and change its README; return what runs git there."""

    def git(*arguments: str) -> None:
        person = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *person, *arguments], cwd=project, check=True, capture_output=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    (project / "README.md").write_text("changed\n")
    return git


@pytest.mark.exhaustive
async def test_git_marks_come_and_go_with_the_disk(project: Path) -> None:
    git = changed_since_commit(project)
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "M README.md" in shown(files_of(pilot)))
        (project / "src/new.py").write_text("")
        main_of(pilot).post_message(main_of(pilot).bridge.TurnChanged())
        await until(pilot, lambda: shown(files_of(pilot)).split("\n")[0].endswith("?"))
        git("commit", "-qam", "two")
        await until(pilot, lambda: "M README.md" not in shown(files_of(pilot)))


async def test_the_star_of_the_branch_goes_with_changes_that_go_outside(project: Path) -> None:
    git = changed_since_commit(project)
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: header_of(pilot).place.dirty)
        git("checkout", ".")

        def follows() -> bool:
            # Changed again and again: watching begins some time after the first frame.
            (project / "untracked.txt").write_text("x" * len(numbers))
            numbers.append(0)
            return not header_of(pilot).place.dirty

        numbers: list[int] = []
        await until(pilot, follows)


@pytest.mark.exhaustive
async def test_page_and_edge_keys_move_the_selection(project: Path) -> None:
    for number in range(60):
        (project / f"z{number:02}.txt").write_text("")
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        await begin(pilot)
        tree = files_of(pilot)
        await pilot.press("end")
        assert tree.node is not None
        assert tree.node.path == "z59.txt"
        await pilot.press("pageup")
        assert tree.node.path < "z59.txt"
        await pilot.press("pagedown", "home")
        assert tree.node.path == "src"


async def test_what_goes_from_the_disk_goes_from_the_tree_and_the_selection_stays_near(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        await begin(pilot)
        tree = files_of(pilot)
        tree.reveal_path("src/api/views.py")
        await until(pilot, lambda: tree.node is not None and tree.node.path == "src/api/views.py")
        (project / "src/api/views.py").unlink()
        (project / "src/api").rmdir()
        main_of(pilot).post_message(main_of(pilot).bridge.TurnChanged())
        await until(pilot, lambda: "api" not in shown(tree))
        assert tree.node is not None
        assert tree.node.path == "src"


async def test_the_end_of_a_long_file_has_its_colors_once_the_lines_above_it_are_read(project: Path) -> None:
    long = "".join(f'def f_{n}():\n    """Returns\n    from {n}, for it.\n    """\n' for n in range(3_000))
    (project / "long.py").write_text(long)

    def colors_at_end(pilot: Pilot[Any]) -> set[object]:
        view = main_of(pilot).query_one(PreviewLines)
        line = view.line_at(4 * 2_999 + 2)
        return {each.style for each in line.segments if "from" in each.text} if line else set()

    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        await begin(pilot)
        await look_at(pilot, "long.py")
        string = theme_styles_of(pilot.app.theme)("string", "raised")
        await pilot.press("end")
        await until(pilot, lambda: "from 2999" in previewed(pilot) and colors_at_end(pilot) == {string})

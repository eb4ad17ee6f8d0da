"""The note below a list: all of it can be read, however small the screen is."""

from pathlib import Path

import pytest

from cogency_tui.tui.kit.choice_dialog import ChoiceDialog, ChoiceRow
from cogency_tui.tui.kit.dialogs import Choices
from tests.tui.driving import app_over, shown, until
from tests.tui.scripted import ScriptedAgent

FEW, MANY = (" ".join(f"word{number}" for number in range(count)) for count in (20, 80))


def words(dialog: ChoiceDialog) -> list[str]:
    assert dialog.note is not None
    return shown(dialog.note).split()


@pytest.mark.parametrize("size", [(40, 12), (60, 16)])
async def test_a_note_has_the_lines_that_it_needs_on_a_short_screen(
    project: Path, size: tuple[int, int]
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size) as pilot:
        dialog = ChoiceDialog("Mode", [ChoiceRow("one", "short"), ChoiceRow("two", FEW)])
        await pilot.app.push_screen(dialog)
        await until(pilot, lambda: words(dialog) == ["short"])
        await pilot.press("down")
        await until(pilot, lambda: words(dialog) == FEW.split())
        assert "two" in shown(dialog.rows)
        assert dialog.query_one(Choices).region.height == 1


@pytest.mark.parametrize("size", [(80, 24), (100, 30)])
async def test_a_meaning_that_does_not_fit_beside_its_choice_is_in_a_note(
    project: Path, size: tuple[int, int]
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size) as pilot:
        await pilot.app.push_screen(brief := ChoiceDialog("Mode", [ChoiceRow("one", "short")]))
        await until(pilot, lambda: "short" in shown(brief.rows))
        assert brief.note is not None
        assert not brief.note.display
        await pilot.app.push_screen(long := ChoiceDialog("Mode", [ChoiceRow("two", FEW)]))
        await until(pilot, lambda: words(long) == FEW.split())


@pytest.mark.parametrize("size", [(40, 12), (79, 24)])
async def test_a_longer_note_is_scrolled(project: Path, size: tuple[int, int]) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size) as pilot:
        dialog = ChoiceDialog("Mode", [ChoiceRow("one", MANY), ChoiceRow("two", MANY)])
        await pilot.app.push_screen(dialog)
        await until(pilot, lambda: "word0" in words(dialog))
        assert "word79" not in words(dialog)
        await pilot.press(*["shift+down"] * 20)
        await until(pilot, lambda: "word79" in words(dialog))
        assert dialog.rows.row is not None
        assert dialog.rows.row.value == "one"
        await pilot.press("down")
        await until(pilot, lambda: "word0" in words(dialog))

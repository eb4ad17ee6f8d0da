"""Commands by name: an unknown one names the nearest."""

from pathlib import Path

import pytest

from cogency_tui.agent.project.custom_files import CustomCommand
from cogency_tui.errors import UsageError
from cogency_tui.tui.action_groups import GROUPS
from cogency_tui.tui.commands import COMMANDS, parse_command, with_custom
from cogency_tui.tui.prompt.completion_offers import offer_commands
from tests.tui.driving import app_over, type_text, until
from tests.tui.scripted import ScriptedAgent


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("/foo", "Unknown command /foo. Did you mean /fork?"),
        ("/Mdoel x", "Unknown command /Mdoel. Did you mean /model?"),
        ("/xyzzy", "Unknown command /xyzzy. Ctrl+P lists all commands."),
    ],
)
def test_an_unknown_command_names_the_nearest(written: str, advice: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_command(written)
    assert error.value.advice == advice


def test_every_command_is_in_a_group_that_is_shown() -> None:
    assert {command.group for command in COMMANDS} <= {*GROUPS}


@pytest.mark.parametrize("written", ["/quit", "/exit", "/q"])
async def test_quit_has_the_usual_aliases(project: Path, written: str) -> None:
    app = app_over(ScriptedAgent(project))
    async with app.run_test() as pilot:
        await type_text(pilot, written)
        await pilot.press("enter")
        await until(pilot, lambda: not app.is_running)


def test_aliases_are_offered_only_where_they_are_typed() -> None:
    assert [offer.text for offer in offer_commands(COMMANDS, "exi")] == ["/exit"]
    assert [offer.text for offer in offer_commands(COMMANDS, "q")] == ["/quit"]
    assert "/exit" not in [offer.text for offer in offer_commands(COMMANDS, "")]


def test_no_command_of_a_file_takes_an_alias() -> None:
    custom = CustomCommand("q", "Ask a question."), CustomCommand("question", "Ask a question.")
    assert [each.name for each in with_custom(custom)[len(COMMANDS) :]] == ["question"]

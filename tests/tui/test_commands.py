"""Commands by name: an unknown one names the nearest."""

import pytest

from cogency_tui.errors import UsageError
from cogency_tui.tui.action_groups import GROUPS
from cogency_tui.tui.commands import COMMANDS, parse_command


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

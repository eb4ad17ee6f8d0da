"""A command line of git: its own options, the command, and the arguments of that."""

from dataclasses import dataclass

from cogency_tui.tools.shell.programs import options_of
from cogency_tui.tools.shell.simple_command import Simple, Word

_VALUED = frozenset(options_of("value", "git"))


@dataclass(frozen=True, slots=True)
class GitCommand:
    """`options` are git's own, before its command, each with the next word where it takes that as its
    value."""

    options: tuple[tuple[Word, Word | None], ...]
    words: tuple[Word, ...]
    """The command and its arguments; none where there is no command."""

    @property
    def name(self) -> str:
        """The command; empty where it is not known, or there is none."""
        return self.words[0].text if self.words and self.words[0].known else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        """Words behind the command."""
        return self.words[1:]

    def values(self, name: str) -> list[Word]:
        """Return the values of an option that takes the next word."""
        return [value for option, value in self.options if option.text == name and value is not None]


def git_command(simple: Simple) -> GitCommand | None:
    """Parse a command line of git; None for another program."""
    if simple.program != "git":
        return None
    rest = list(simple.arguments)
    options: list[tuple[Word, Word | None]] = []
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0)
        takes = option.text in _VALUED and bool(rest)
        options.append((option, rest.pop(0) if takes else None))
    return GitCommand(tuple(options), tuple(rest))


def git_name(simple: Simple) -> str:
    """Return the command of git; empty where it is not known, and for another program."""
    command = git_command(simple)
    return command.name if command else ""

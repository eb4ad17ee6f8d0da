"""The files that a command creates, and the text that it writes into them or pipes on, as far as it is
written out.

Code that a command writes and then runs counts as code of the command.
"""

from cogency_tui.tools.shell.command_line import printed, prints_as_written
from cogency_tui.tools.shell.git_command import git_name
from cogency_tui.tools.shell.interpreter_code import has_reaching_code
from cogency_tui.tools.shell.programs import git_with, programs_with
from cogency_tui.tools.shell.simple_command import Simple, Word

_COPYING = programs_with("copies") | {"tee"}
_PATCHING = git_with("patches")


class MadeFiles:
    """The files that the parts of a command create, recorded in their order."""

    def __init__(self) -> None:
        self.piped = ""
        """Output of the part before, which the next one reads."""
        self.reaches = False
        """True if written text may be code that uses the network."""
        self.piped_as_written = False
        """True if the piped text is known to the letter."""
        self._texts: dict[str, dict[str, None]] = {}
        self._as_written: dict[str, bool] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, name: str) -> bool:
        return name in self._texts

    def gives(self, simple: Simple) -> str:
        """Return the text that a program may read: piped text, and written text if it names such a file."""
        words = *simple.arguments, *(each.target for each in simple.redirections)
        names = set(map(_name, words))
        return self.piped if names.isdisjoint(self._texts) else f"{self.piped}\n{self.text}"

    def as_written(self, path: Word) -> bool:
        """Return whether a file is created once, and its text is written in the command to the letter."""
        return self._as_written.get(_path(path), False)

    @property
    def text(self) -> str:
        """All written text."""
        return "\n".join(dict.fromkeys(text for texts in self._texts.values() for text in texts))

    def note(self, simple: Simple) -> None:
        """Record the files and the output of a part."""
        words = [each.target for each in simple.redirections if each.writes]
        if simple.program in _COPYING:
            words += simple.operands()
        given = printed(simple)
        if self.piped and not given:
            # A filter's output is not known: its arguments show what it may be.
            given = " ".join([*(word.text for word in simple.words), self.piped])
        for name in dict.fromkeys(map(_name, words)):
            if name:
                self._texts.setdefault(name, {})[given] = None
        as_written = prints_as_written(simple)
        for path in dict.fromkeys(map(_path, words)):
            self._as_written[path] = as_written and path not in self._as_written
        written = [given] if words else _patches(simple)
        self.reaches = self.reaches or any(map(has_reaching_code, written))
        self.piped = given if simple.piped else ""
        self.piped_as_written = as_written and simple.piped


def is_patching(simple: Simple) -> bool:
    """Return whether a program changes the files that a text names."""
    if simple.program == "git":
        return git_name(simple) in _PATCHING or simple.has("", "pathspec-from-file")
    return simple.program == "patch"


def _patches(simple: Simple) -> list[str]:
    """Return the text that is written into files by name."""
    return ["\n".join(each.body) for each in simple.redirections] if is_patching(simple) else []


def _path(word: Word) -> str:
    return word.text.removeprefix("./") if word.known and not word.pattern else ""


def _name(word: Word) -> str:
    return word.text.rpartition("/")[2]

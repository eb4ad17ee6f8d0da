"""Where the commands of git in a command line say themselves that transfers are to go."""

from cogency_tui.tools.command_line import parse
from cogency_tui.tools.confinement import alters
from cogency_tui.tools.shell_words import Simple

_CONFIGURING = frozenset(("branch", "config", "remote"))


def destinations(command: str) -> frozenset[str]:
    """The words of plain `git remote`, `git config` and `git branch`, and the addresses of `git push`, of
    which each may be a name of a remote or an address."""
    if "git" not in command or alters(command):
        return frozenset()
    gits = [simple for simple in parse(command) if simple.words and simple.words[0].text == "git"]
    return frozenset(word for simple in gits for word in _destinations(simple))


def _destinations(simple: Simple) -> list[str]:
    name, *others = [word.text for word in simple.arguments if word.known] or [""]
    if name in _CONFIGURING:
        return others
    # Its hooks may do more than it says; a name says nothing of where the remote of this name is.
    return [each for each in others if ":" in each or "/" in each] if name == "push" else []

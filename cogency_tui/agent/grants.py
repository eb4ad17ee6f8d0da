"""What the person has allowed for a conversation, until the program ends: remembered by what it is, and shown
as what it covers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cogency_tui.tools.base import Effect, Intent

Key = tuple[str, str]

ANY_COMMAND: Key = ("command", "")
EVERY_COMMAND = "every command, until content from elsewhere is read"


@dataclass(frozen=True, slots=True)
class Grant:
    """`covers` says what passes, `about` the command or the files where it is no more than these. `sources`
    had been read by then, `since` is in Unix seconds. `pattern` is the rule that was made with it, if any.
    """

    key: Key
    effect: Effect
    covers: str
    about: str
    sources: frozenset[str]
    since: float
    pattern: str = ""


class Grants:
    """One for each thing, the last yes."""

    def __init__(self) -> None:
        self._given: dict[Key, Grant] = {}

    def __iter__(self) -> Iterator[Grant]:
        return iter(tuple(self._given.values()))

    def known(self, key: Key, *, by_rule: bool = False) -> frozenset[str] | None:
        """The sources that had been read when it was allowed; None where it was not. What was allowed with a
        rule passes only where the rules still allow it (`by_rule`)."""
        grant = self._given.get(key)
        return None if grant is None or (grant.pattern and not by_rule) else grant.sources

    def give(self, grant: Grant) -> None:
        """Let it pass from now on."""
        self._given[grant.key] = grant

    def withdraw(self, grant: Grant) -> None:
        """Ask again; withdrawing what is not given is no error."""
        self._given.pop(grant.key, None)


def kept_as(intent: Intent) -> tuple[Key, str]:
    """What a yes for the conversation is remembered as, and what it covers: the same command in the same
    place, the same path outside or guarded, the same host, the same tool of a server, or all other changes
    of files; never more than the question showed the kind of."""
    paths = "\0".join(map(str, intent.paths))
    if intent.effect == "command":
        return ("command", f"{paths}\0{intent.detail}"), "this same command"
    if intent.effect == "network":
        return ("network", intent.goes_to), f"all that asks {intent.goes_to}"
    if intent.effect == "tool":
        return ("tool", intent.tool), f"all calls of {intent.tool}"
    if intent.outside or intent.guarded:
        what = "reading this" if intent.effect == "read" else "changes of the same files"
        return (intent.effect, paths or intent.summary), what
    return (intent.effect, ""), "all changes of files in the project"


def about(key: Key, intent: Intent) -> str:
    """What a yes is no wider than, where what it covers does not say it all."""
    if not key[1] or key[0] in ("network", "tool"):
        return ""
    return intent.detail if key[0] == "command" else intent.summary

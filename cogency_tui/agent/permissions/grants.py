"""Grants: what the user has allowed for a conversation until the program ends, or for a turn. A grant is
identified by its key, and shown by what it covers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cogency_tui.tools.base import Effect, Intent

Key = tuple[str, str]

ANY_COMMAND: Key = ("command", "")
PLAIN_CHANGES: Key = ("write", "")
"""Changes of files in the project that are not protected."""
EVERY_COMMAND = "every command, until untrusted content is read"


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant: `covers` describes what passes, `about` the command or the files if it is no wider than
    these. `sources` had been read by then; `since` is in Unix seconds. `pattern` is the rule that was made
    with it, if any. `turn` is the only turn that it is for, if any.
    """

    key: Key
    effect: Effect
    covers: str
    about: str
    sources: frozenset[str]
    since: float
    pattern: str = ""
    turn: int | None = None


class Grants:
    """The last grant for each key."""

    def __init__(self) -> None:
        self._given: dict[Key, Grant] = {}
        self.turn = 0
        """The number of the present turn."""

    def __iter__(self) -> Iterator[Grant]:
        return iter([grant for grant in self._given.values() if grant.turn in (None, self.turn)])

    def known(self, key: Key, *, by_rule: bool = False) -> frozenset[str] | None:
        """The sources that had been read when a key was granted; None if it was not. A grant with a rule is
        valid only while the rules still allow it (`by_rule`).
        """
        grant = self._given.get(key)
        if grant is None or grant.turn not in (None, self.turn) or (grant.pattern and not by_rule):
            return None
        return grant.sources

    def end_turn(self) -> None:
        """End the grants that are for the present turn."""
        self.turn += 1

    def give(self, grant: Grant) -> None:
        """Add a grant."""
        self._given[grant.key] = grant

    def withdraw(self, grant: Grant) -> None:
        """Withdraw a grant; one that was not given is no error."""
        self._given.pop(grant.key, None)


def grant_key(intent: Intent) -> tuple[Key, str]:
    """The key of a grant for the conversation, and what it covers: the same command in the same place, the
    same path outside or protected, the same host, the same tool of a server, or all other changes of files;
    never a kind that the question did not show.
    """
    paths = "\0".join(map(str, intent.paths))
    if intent.effect == "command":
        return ("command", f"{paths}\0{intent.detail}"), "this exact command"
    if intent.effect == "network":
        return ("network", intent.goes_to), f"all requests to {intent.goes_to}"
    if intent.effect == "tool":
        return ("tool", intent.tool), f"all calls to {intent.tool}"
    if intent.outside or intent.protected:
        what = "reading this" if intent.effect == "read" else "changes to the same files"
        return (intent.effect, paths or intent.summary), what
    return (intent.effect, ""), "all changes to files in the project"


def about(key: Key, intent: Intent) -> str:
    """The limit of a grant, where what it covers does not express it."""
    if not key[1] or key[0] in ("network", "tool"):
        return ""
    return intent.detail if key[0] == "command" else intent.summary

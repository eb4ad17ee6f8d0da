"""Where transfers of git go by a configuration, and whether a change of it leads them elsewhere. Pure."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

_DESTINATION = re.compile(
    r"remote\.(?P<remote>.+)\.(?P<address>url|pushurl)|branch\..+\.(?:push)?remote", re.DOTALL
)
_HERE = "."
"""What a branch follows that follows one of the same repository."""


def leads_elsewhere(
    before: Iterable[str], after: Iterable[str], said: Collection[str], *, is_shared: bool = False
) -> bool:
    """Whether transfers go to other addresses than before though the command has not `said` these itself.

    The settings are given as name, newline, value. A remote that is new leads nothing there by itself, nor
    does a branch that comes to follow a remote which was there. In a configuration that `is_shared`, and read
    together with that of a repository, no remote is known to be new.
    """
    were, are = _destinations(before), _destinations(after)
    remotes = {found["remote"] for key in were if (found := _DESTINATION.fullmatch(key)) and found["remote"]}
    for key in were.keys() | are.keys():
        found, new = _DESTINATION.fullmatch(key), set(are[key]).difference(were[key], said)
        if found is None or were[key] == are[key]:
            continue
        if found["address"] == "url":
            is_new, is_removed = not (were[key] or is_shared), not are[key] and found["remote"] in said
            if not (is_new or is_removed) and (new or not are[key]):
                return True
        elif new and (found["address"] or were[key] or not new <= {_HERE, *remotes}):
            return True
    return False


def _destinations(settings: Iterable[str]) -> defaultdict[str, Sequence[str]]:
    found: defaultdict[str, Sequence[str]] = defaultdict(list)
    for setting in settings:
        key, _, value = setting.partition("\n")
        if _DESTINATION.fullmatch(key):
            found[key] = [*found[key], value]
    return found

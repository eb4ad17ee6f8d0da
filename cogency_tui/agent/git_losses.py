"""Settings of git by which ordinary work loses branches or what is in a working tree, and whether a
configuration comes to have others of them. Pure."""

import re
from collections import Counter
from collections.abc import Collection, Iterable

_HARMLESS = {
    r"core\.bare": "false",
    r"core\.logallrefupdates": "true|always",
    r"fetch\.(?:prune|prunetags)": "false",
    r"push\.default": "simple",
    # What is fetched goes nowhere, or where remotes have their branches.
    r"remote\..+\.fetch": r"\+?[^:^]*(?::refs/remotes/.*)?",
    r"remote\..+\.(?:mirror|prune|skipdefaultupdate|skipfetchall)": "false",
    r"remote\..+\.push": "(?!)",
}
"""The values by which nothing is lost, by the keys of which others do."""

_VALUES = {re.compile(key, re.DOTALL): re.compile(value) for key, value in _HARMLESS.items()}


def loses(before: Iterable[str], after: Iterable[str], said: Collection[str]) -> bool:
    """Whether settings by which something is lost come or go, of which the command has not `said` the key and
    the value, or the key alone of one that goes.

    The settings are given as name, newline, value. Nothing is lost by those that go with all of their remote.
    """
    were, are = Counter(before), Counter(after)
    keys, sections = {_key(word) for word in said}, {_section(each) for each in are}
    come, gone = (
        [each for each in changed if not _is_harmless(each)] for changed in (are - were, were - are)
    )
    gone = [each for each in gone if not each.startswith("remote.") or _section(each) in sections]
    pairs = [each.partition("\n")[::2] for each in come]
    return any(key not in keys or value not in said for key, value in pairs) or any(
        each.partition("\n")[0] not in keys for each in gone
    )


def _is_harmless(setting: str) -> bool:
    key, _, value = setting.partition("\n")
    return all(values.fullmatch(value) for keys, values in _VALUES.items() if keys.fullmatch(key))


def _section(setting: str) -> str:
    return setting.partition("\n")[0].rpartition(".")[0]


def _key(word: str) -> str:
    """A key as git lists it: only what is between the first dot and the last has its case."""
    section, dot, rest = word.partition(".")
    middle, last_dot, name = rest.rpartition(".")
    return f"{section.lower()}{dot}{middle}{last_dot}{name.lower()}"

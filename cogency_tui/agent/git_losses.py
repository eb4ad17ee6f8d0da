"""Settings of git by which ordinary work loses branches, commits or what is in a working tree, and whether a
configuration comes to have others of them. Pure."""

import re
from collections import Counter
from collections.abc import Collection, Iterable

_REQUESTS = (
    r"refs/(?:pull|pull-requests|merge-requests|changes)/[^:^]*"
    r":refs/remotes/(?P=remote)/[^:*]+/\*(?:/[\w-]+)?"
)
"""Where requests to merge go, which a server numbers: none takes the place of a branch."""

_HARMLESS = {
    r"alias\.[^\n]+": r"(?!.*--amend).*",
    r"core\.bare": "false",
    r"core\.commentchar": r"auto|[^\w\s]",
    r"core\.logallrefupdates": "true|always",
    r"core\.sparsecheckout": "false",
    r"fetch\.(?:prune|prunetags)": "false",
    # Within a second nobody has read what a word is taken for.
    r"help\.autocorrect": r"0|[1-9]\d+|show|never|prompt",
    r"push\.default": "simple",
    # What is fetched goes nowhere, or where the remote has the branch of the same name.
    r"remote\.(?P<remote>[^\n]+)\.fetch": (
        rf"\+?(?:[^:^]*|refs/heads/(?P<branch>[^:^]+):refs/remotes/(?P=remote)/(?P=branch)|{_REQUESTS})"
    ),
    r"remote\.[^\n]+\.(?:mirror|prune|skipdefaultupdate|skipfetchall)": "false",
    r"remote\.[^\n]+\.push": "(?!)",
}
"""The values by which nothing is lost, by the keys of which others do."""

_VALUES = {re.compile(key): re.compile(f"{key}\n(?:{value})") for key, value in _HARMLESS.items()}
_OF_TREE = "core.sparsecheckout\n"
"""What `git sparse-checkout` sets in the configuration of a working tree, and nowhere else."""


def loses(
    before: Iterable[str], after: Iterable[str], said: Collection[str], *, of_tree: bool = False
) -> bool:
    """Whether settings by which something is lost come or go, of which the command has not `said` the key and
    the value, or the key alone of one that goes.

    The settings are given as name, newline, value. Nothing is lost by those that go with all of their remote,
    nor by those that git has in the configuration of a working tree, where this is one.
    """
    were, are = Counter(before), Counter(after)
    keys, sections = {_key(word) for word in said}, {section_of(each) for each in are}
    come, gone = (
        [each for each in changed if not (_is_harmless(each) or (of_tree and each.startswith(_OF_TREE)))]
        for changed in (are - were, were - are)
    )
    gone = [each for each in gone if not each.startswith("remote.") or section_of(each) in sections]
    pairs = [each.partition("\n")[::2] for each in come]
    return any(key not in keys or value not in said for key, value in pairs) or any(
        each.partition("\n")[0] not in keys for each in gone
    )


def _is_harmless(setting: str) -> bool:
    key, _, value = setting.partition("\n")
    return all(values.fullmatch(f"{key}\n{value}") for keys, values in _VALUES.items() if keys.fullmatch(key))


def section_of(setting: str) -> str:
    """The section of a setting, with what stands between its quotes."""
    return setting.partition("\n")[0].rpartition(".")[0]


def _key(word: str) -> str:
    """A key as git lists it: only what is between the first dot and the last has its case."""
    section, dot, rest = word.partition(".")
    middle, last_dot, name = rest.rpartition(".")
    return f"{section.lower()}{dot}{middle}{last_dot}{name.lower()}"

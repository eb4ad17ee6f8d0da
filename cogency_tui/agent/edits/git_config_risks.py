"""Judges changes of a git configuration: whether transfers lead to other addresses, and whether settings
come by which ordinary work loses branches, commits or the contents of a working tree. Pure.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

_DESTINATION = re.compile(
    r"remote\.(?P<remote>.+)\.(?P<address>url|pushurl)|branch\..+\.(?:push)?remote", re.DOTALL
)
_HERE = "."
"""The remote of a branch that follows one of the same repository."""


def leads_elsewhere(
    before: Iterable[str], after: Iterable[str], configured: Collection[str], *, is_shared: bool = False
) -> bool:
    """Return whether transfers go to other addresses than before, which the command has not
    `configured` itself.

    The settings are given as name, newline, value. A new remote redirects nothing by itself, nor does a
    branch that starts to follow an existing remote. In a configuration that `is_shared`, and is read
    together with that of a repository, no remote is known to be new.
    """
    were, are = _destinations(before), _destinations(after)
    remotes = {found["remote"] for key in were if (found := _DESTINATION.fullmatch(key)) and found["remote"]}
    for key in were.keys() | are.keys():
        found, new = _DESTINATION.fullmatch(key), set(are[key]).difference(were[key], configured)
        if found is None or were[key] == are[key]:
            continue
        if found["address"] == "url":
            is_new, is_removed = not (were[key] or is_shared), not are[key] and found["remote"] in configured
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


_REQUESTS = (
    r"refs/(?:pull|pull-requests|merge-requests|changes)/[^:^]*"
    r":refs/remotes/(?P=remote)/[^:*]+/\*(?:/[\w-]+)?"
)
"""The refs of numbered merge requests on a server: none of them replaces a branch."""

_HARMLESS = {
    r"alias\.[^\n]+": r"(?!.*--amend).*",
    r"core\.bare": "false",
    r"core\.commentchar": r"auto|[^\w\s]",
    r"core\.logallrefupdates": "true|always",
    r"core\.sparsecheckout": "false",
    r"fetch\.(?:prune|prunetags)": "false",
    # Within a second no user has read how a word was corrected.
    r"help\.autocorrect": r"0|[1-9]\d+|show|never|prompt",
    r"push\.default": "simple",
    # What is fetched goes nowhere, or to the remote's branch of the same name.
    r"remote\.(?P<remote>[^\n]+)\.fetch": (
        rf"\+?(?:[^:^]*|refs/heads/(?P<branch>[^:^]+):refs/remotes/(?P=remote)/(?P=branch)|{_REQUESTS})"
    ),
    r"remote\.[^\n]+\.(?:mirror|prune|skipdefaultupdate|skipfetchall)": "false",
    r"remote\.[^\n]+\.push": "(?!)",
}
"""The harmless values of keys that have other, lossy ones."""

_VALUES = {re.compile(key): re.compile(f"{key}\n(?:{value})") for key, value in _HARMLESS.items()}
_OF_TREE = "core.sparsecheckout\n"
"""The setting that `git sparse-checkout` writes into the configuration of a working tree only."""


def loses(
    before: Iterable[str], after: Iterable[str], configured: Collection[str], *, of_tree: bool = False
) -> bool:
    """Return whether lossy settings come or go whose key and value the command has not `configured`; for
    one that goes, its key is enough.

    The settings are given as name, newline, value. Settings that go with their whole remote lose nothing,
    nor do those that git has in the configuration of a working tree, if this is one.
    """
    were, are = Counter(before), Counter(after)
    keys, sections = {_key(word) for word in configured}, {section_of(each) for each in are}
    come, gone = (
        [each for each in changed if not (_is_harmless(each) or (of_tree and each.startswith(_OF_TREE)))]
        for changed in (are - were, were - are)
    )
    gone = [each for each in gone if not each.startswith("remote.") or section_of(each) in sections]
    pairs = [each.partition("\n")[::2] for each in come]
    return any(key not in keys or value not in configured for key, value in pairs) or any(
        each.partition("\n")[0] not in keys for each in gone
    )


def _is_harmless(setting: str) -> bool:
    key, _, value = setting.partition("\n")
    return all(values.fullmatch(f"{key}\n{value}") for keys, values in _VALUES.items() if keys.fullmatch(key))


def section_of(setting: str) -> str:
    """The section of a setting, with the part between quotes."""
    return setting.partition("\n")[0].rpartition(".")[0]


def _key(word: str) -> str:
    """A key as git lists it: only the part between the first dot and the last preserves its case."""
    section, dot, rest = word.partition(".")
    middle, last_dot, name = rest.rpartition(".")
    return f"{section.lower()}{dot}{middle}{last_dot}{name.lower()}"

"""The programs that git starts for a repository: those in its configuration, and its hooks.

Invariant: a setting that is not known to start nothing counts as one that starts a program. The calls
block.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from cogency_tui.workspace.git.repository_queries import Repository

_MOST = 10_000
"""Most nested repositories that are examined."""

_PLAIN_SETTINGS = re.compile(
    r"""
    core\.(?: repositoryformatversion | filemode | bare | logallrefupdates | ignorecase | precomposeunicode
        | symlinks | autocrlf | eol | safecrlf | quotepath | abbrev | untrackedcache | preloadindex
        | checkstat | trustctime | protecthfs | protectntfs | longpaths | compression | bigfilethreshold
        | commentchar | whitespace | sparsecheckout | sparsecheckoutcone | multipackindex | splitindex
        | commitgraph | excludesfile | hookspath )
    | (?:advice|alias|blame|branch|color|column|extensions|gui|init|pull|push|rerere|status|submodule)\..*
    | commit\.(?: cleanup | gpgsign | status | template | verbose )
    | diff\.(?: algorithm | colormoved | context | ignoresubmodules | indentheuristic | mnemonicprefix
        | noprefix | renamelimit | renames | submodule )
    | fetch\.(?: parallel | prune | prunetags | recursesubmodules | writecommitgraph )
    | gc\.(?: auto | autodetach )
    | gpg\.format
    | lfs\.(?: repositoryformatversion | .*\.access )
    | log\.(?: abbrevcommit | date | decorate | follow )
    | maintenance\.(?: auto | strategy )
    | merge\.(?: conflictstyle | ff | renamelimit | renames )
    | rebase\.(?: autosquash | autostash | updaterefs )
    | remote\..*\.(?: fetch | gh-resolved | mirror | partialclonefilter | promisor | prune | prunetags | push
        | pushurl | skipdefaultupdate | skipfetchall | tagopt | url )
    | tag\.(?: gpgsign | sort )
    | user\.(?: email | name | signingkey | useconfigonly )
    """,
    re.VERBOSE | re.DOTALL,
)
"""Settings of a repository that start no program."""

_LFS = {
    "filter.lfs.clean": ("git-lfs clean -- %f", "git-lfs clean %f"),
    "filter.lfs.smudge": ("git-lfs smudge -- %f", "git-lfs smudge --skip -- %f", "git-lfs smudge %f"),
    "filter.lfs.process": ("git-lfs filter-process", "git-lfs filter-process --skip"),
    "filter.lfs.required": ("true", "false"),
}
_SWITCHES = frozenset(("", "0", "1", "false", "no", "off", "on", "true", "yes"))


class UndecidedError(Exception):
    """The programs that the project selects cannot be determined, or it starts some of its own."""


def hooks_of(directory: Path) -> Iterator[Path]:
    """Yield the hooks of the repository around a directory, and of those that are recorded in it.

    Raises:
        UndecidedError: its configuration may start programs.
        OSError: a directory of hooks cannot be read.
    """
    yield from _hooks_around(directory, directory, iter(range(_MOST)))


def _hooks_around(directory: Path, project: Path, budget: Iterator[int]) -> Iterator[Path]:
    if next(budget, None) is None:
        raise UndecidedError
    repository = Repository(directory)
    settings = repository.settings()
    inner = directory != project
    if settings is None or any(own and not _is_plain(key, value, inner) for own, key, value in settings):
        raise UndecidedError
    common = repository.common_directory()
    nested = repository.nested() if common is not None else []
    if nested is None:
        raise UndecidedError
    if common is not None:
        given = next((value for _own, key, value in reversed(settings) if key == "core.hookspath"), "")
        yield from _hooks_in(
            (repository.root or directory) / Path(given).expanduser() if given else common / "hooks"
        )
    for each in nested:
        if os.path.lexists(each / ".git"):
            yield from _hooks_around(each, project, budget)


def _hooks_in(directory: Path) -> Iterator[Path]:
    if not directory.is_dir():
        return
    with os.scandir(directory) as scan:
        entries = sorted(scan, key=lambda each: each.name)
    yield from (Path(each.path) for each in entries if not each.name.endswith(".sample") and each.is_file())


def _is_plain(key: str, value: str, inner: bool) -> bool:
    """Return whether a setting starts nothing; an `inner` repository names its working tree."""
    if key == "core.fsmonitor":
        return value.casefold() in _SWITCHES
    if key == "core.worktree":
        return inner
    return value in _LFS.get(key, ()) or _PLAIN_SETTINGS.fullmatch(key) is not None

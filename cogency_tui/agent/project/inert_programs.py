"""The programs known to run nothing of a project, and what their arguments must be for that.

Invariant: a program that reads configuration which is code, loads modules of the project, or runs commands of
its own is not in these tables. Unknown programs are not, either.
"""

import re
from collections.abc import Callable, Mapping

from cogency_tui.tools.shell.simple_command import Simple

_NAMES = """
: [ [[ afplay alejandra alias aplay autopep8 b2sum basename bc bg biome black break cal cat cd chmod
chown cksum clang-format clear cmp codespell column comm continue cp curl cut date dd declare df
diff dirname dirs disown du echo egrep envsubst exit export expr false fg fgrep fold free getconf
getopts gofmt gofumpt grep hadolint head hostname iconv id isort jobs join jq kill let ln local
logger ls md5 md5sum mkdir mktemp mv nixfmt nl notify-send nproc od paplay paste pbcopy pgrep pkill
popd printf ps pushd pwd pycodestyle pyflakes pyupgrade read readlink readonly realpath return rev
rm rmdir ruff say seq set sha1sum sha256sum sha512sum shasum shellcheck shfmt shift shopt sleep
sqlformat stat stty stylua swiftformat sync tac tail taplo tee terminal-notifier test times touch
tput tr trap true truncate tty type typeset typos ulimit umask unalias uname uniq unset uptime wait
wc whereis which whoami xmllint xxd yamlfmt yamllint yapf yes yq
"""
_INERT = frozenset(_NAMES.split())
"""Whatever their arguments are."""

_PLAIN_SED = re.compile(
    r"(?:\d*(?:,(?:\d+|\$))?|\$|/[^/\n]*/)(?:[dpq=]|s([/|#,:])(?:(?!\1)[^\n\\]|\\.)*\1(?:(?!\1)[^\n\\]|\\.)*\1[gpI\d]*)"
)
_ACTIVE_AWK = re.compile(r"system|getline|[|@]|>")


def is_inert(simple: Simple) -> bool:
    """Return whether a command is known to run nothing of the project."""
    check = _CHECKED.get(simple.program)
    return simple.program in _INERT if check is None else check(simple)


def _texts(simple: Simple) -> list[str]:
    return [word.text for word in simple.arguments]


def _is_plain_git(simple: Simple) -> bool:
    """Only what starts no hook, filter, monitor or pager."""
    return _texts(simple)[:1] in (["rev-parse"], ["symbolic-ref"], ["--version"])


def _is_plain_sed(simple: Simple) -> bool:
    options = [text for text in _texts(simple) if text.startswith("-")]
    if any(not re.fullmatch(r"-[nErsuz]+|-i\S*|--", text) for text in options):
        return False
    scripts = [word for word in simple.arguments if not word.text.startswith("-")][:1]
    return all(
        word.known and all(_PLAIN_SED.fullmatch(each.strip()) for each in word.text.split(";"))
        for word in scripts
    )


def _is_plain_awk(simple: Simple) -> bool:
    words = list(simple.arguments)
    while words and (words[0].text.startswith("-F") or words[0].text == "-v"):
        words = words[2 if words[0].text in ("-F", "-v") else 1 :]
    return (
        bool(words)
        and not words[0].text.startswith("-")
        and words[0].known
        and not _ACTIVE_AWK.search(words[0].text)
    )


def _has_none(*beginnings: str) -> Callable[[Simple], bool]:
    """A check that no argument begins like one of these."""
    return lambda simple: not any(text.startswith(beginnings) for text in _texts(simple))


def _formats(simple: Simple) -> bool:
    return _texts(simple)[:1] == ["fmt"]


_CHECKED: Mapping[str, Callable[[Simple], bool]] = {
    "awk": _is_plain_awk,
    "gawk": _is_plain_awk,
    "mawk": _is_plain_awk,
    "sed": _is_plain_sed,
    "git": _is_plain_git,
    "hash": _has_none("-p"),
    "install": _has_none("--strip-program"),
    # What it runs is found by itself.
    "find": lambda _simple: True,
    "rg": _has_none("--pre", "--hostname-bin"),
    "sort": _has_none("--com"),
    "mapfile": _has_none("-C"),
    "readarray": _has_none("-C"),
    "terraform": _formats,
    "tofu": _formats,
    "zig": _formats,
}

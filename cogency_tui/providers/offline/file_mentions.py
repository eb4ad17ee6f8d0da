"""Names in a request: files, places, globs; and the meaning of "it"."""

import re

from cogency_tui.providers.offline.quoting import Quoted
from cogency_tui.providers.offline.request_types import Request

EVERYWHERE = "**/*"
PRONOUNS = frozenset({"it", "its", "that", "this", "there", "them"})

_KNOWN_NAMES = frozenset(
    {"makefile", "readme", "license", "dockerfile", "changelog", "justfile", "gemfile", "procfile"}
)
_SUFFIXES = {
    "python": "*.py",
    "markdown": "*.md",
    "javascript": "*.js",
    "typescript": "*.ts",
    "json": "*.json",
    "toml": "*.toml",
    "yaml": "*.yaml",
    "rust": "*.rs",
    "go": "*.go",
    "html": "*.html",
    "css": "*.css",
    "text": "*.txt",
    "test": "*test*",
}
_FILLER = re.compile(
    r"all|the|an?|any|every|each|whole|entire|this|that|here|there|me|of|in|on|under|inside|from|for|is|are"
    r"|exists?|please|everything|do|does|we|you|i|have|see|files?|contents?|tree|path|director(?:y|ies)"
    r"|folders?|dir|projects?|structure|code|codebase|repo|repository",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s+&\s+|\s+")
_WHOLE_PROJECT = re.compile(
    r"(?:(?:the|this|my|our|whole|entire|all|every|of|files?|across|code) )*"
    r"(?:project|code ?base|repo(?:sitory)?|files?|code|here|everywhere)?",
    re.IGNORECASE,
)


def is_file(word: str) -> bool:
    """Return whether a word looks like the name of a file: a suffix, a slash, or a well-known name."""
    return bool(re.search(r"[^\s./]\.\w{1,12}$|/|^\.\w", word)) or word.lower() in _KNOWN_NAMES


def read_files(quoted: Quoted, words: str, known_file: str, *, any_word: bool = False) -> tuple[str, ...]:
    """Return the files that `words` name; empty where one of the words names none.

    `any_word` accepts a single bare word as a name, too.
    """
    files: list[str] = []
    parts = [part for part in _SEPARATORS.split(words.strip()) if part]
    named = [part for part in parts if not _FILLER.fullmatch(part) or part.lower() in PRONOUNS]
    for part in named or parts:
        name = quoted.value(part).removeprefix("@")
        if part.lower() in PRONOUNS:
            name = known_file
        elif quoted.whole(part) is None and not part.startswith("@") and not is_file(name):
            name = name if any_word and len(named) == 1 else ""
        if not name or "\n" in name:
            return ()
        name = name.removeprefix("./") or name
        if name not in files:
            files.append(name)
    return tuple(files)


def read_glob(words: str) -> str:
    """Return the glob that `words` name, if any: written out, a language's files, a directory, the
    project."""
    tokens = [token for token in words.split() if not _FILLER.fullmatch(token)]
    if words and not tokens and _WHOLE_PROJECT.fullmatch(words.strip()):
        return EVERYWHERE
    if len(tokens) != 1:
        return ""
    token = tokens[0].removeprefix("./")
    if "*" in token or "?" in token:
        return token if "/" in token else f"**/{token}"
    if token.lower() in _SUFFIXES and re.search(r"\bfiles?\b", words, re.IGNORECASE):
        return f"**/{_SUFFIXES[token.lower()]}"
    if token.endswith("/"):
        return f"{token}**/*"
    return EVERYWHERE if token.lower() == "everywhere" else ""


def read_place(words: str) -> str:
    """Return the path that `words` name; the project itself where they name it or nothing."""
    if not words or _WHOLE_PROJECT.fullmatch(words.strip()):
        return "."
    tokens = [token for token in words.split() if not _FILLER.fullmatch(token)]
    return tokens[0].removeprefix("@").removeprefix("./").rstrip("/") or "." if tokens else "."


def read_listing(quoted: Quoted, words: str) -> tuple[str, str] | None:
    """Return path and pattern of a listing, or None where a word names neither."""
    path, pattern = ".", ""
    for word in words.split():
        token = quoted.value(word).removeprefix("@").rstrip(",?")
        if "*" in token:
            pattern = token
        elif token.lower() in _SUFFIXES:
            pattern = _SUFFIXES[token.lower()]
        elif _FILLER.fullmatch(token):
            continue
        elif path == ".":
            path = token.removeprefix("./").rstrip("/") or "."
        else:
            return None
    return path, pattern


def named_file(request: Request) -> str:
    """Return the file that a request is about, which the next one may call "it"."""
    files = getattr(request, "files", ())
    if files:
        return str(files[-1])
    return str(getattr(request, "file", ""))

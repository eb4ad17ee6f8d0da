"""What a file name can hide, and which names are never written without asking.

Invariant: names are compared as the most lenient file system would (case, width, invisible characters,
trailing dots), so that no spelling of a protected name gets past; at worst a harmless name is asked for.
"""

import unicodedata
from collections.abc import Iterable, Sequence

_PROTECTED_DIRECTORIES = {
    ".git": "git runs what is inside .git",
    "git~1": "git runs what is inside .git",
    ".cogency": "it holds this program's own configuration",
    ".claude": "it holds instructions for agents",
    ".cursor": "it holds instructions for agents",
}

_STARTUP = "a shell runs it when it starts"
_INSTRUCTIONS = "agents take instructions from it"

_PROTECTED_FILES = {
    **dict.fromkeys(
        (
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".mkshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".logout",
            ".xprofile",
            ".inputrc",
            ".envrc",
            "config.fish",
        ),
        _STARTUP,
    ),
    **dict.fromkeys(
        (
            "agents.md",
            "agents.override.md",
            "agent.md",
            "claude.md",
            "claude.local.md",
            "gemini.md",
            "copilot-instructions.md",
            ".cursorrules",
            ".windsurfrules",
            ".clinerules",
            ".goosehints",
        ),
        _INSTRUCTIONS,
    ),
    ".gitconfig": "git runs commands that it names",
}

_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shown(name: str) -> str:
    """The name on one line of valid text: control characters and undecodable bytes are escaped."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(_escaped(character) for character in name)


def unusual(text: str) -> str:
    """Why this name or command is not what it looks like; empty for an ordinary one."""
    if text.isascii() and text.isprintable():
        return ""
    for character in text:
        if unicodedata.category(character) == "Cc":
            return "its name has a control character"
        if character in _BIDIRECTIONAL:
            return "its name has a character that changes the direction of the text"
        if unicodedata.category(character) == "Cf":
            return "its name has an invisible character"
    return ""


def protected(parts: Sequence[str]) -> str:
    """Why a file with these path components is never written without asking; empty where it may be."""
    folded = [_folded(part) for part in parts]
    for part in folded:
        if part in _PROTECTED_DIRECTORIES:
            return _PROTECTED_DIRECTORIES[part]
    return _PROTECTED_FILES.get(folded[-1], "") if folded else ""


def closest(name: str, candidates: Iterable[str]) -> str:
    """The candidate that was probably meant: the same but for Unicode form or case, or a near one."""
    import difflib

    known = list(candidates)
    key = _folded(name)
    for candidate in known:
        if _folded(candidate) == key:
            return candidate
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return near[0] if near else ""


def _folded(name: str) -> str:
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
        name = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return name.casefold().rstrip(". ") or name


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    category = unicodedata.category(character)
    if category == "Cc":
        return f"\\x{ord(character):02x}"
    if category == "Cs":
        return f"\\u{ord(character):04x}"
    return character

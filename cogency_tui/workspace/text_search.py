"""The search of text in many files.

Invariant: results are in the order of the tree and bounded in number and length, whatever the files
contain; omissions (binary, too large, unreadable files, further matches) are counted. A pattern from a
model may run forever: run this in a process that can be killed (see `search_worker`).
"""

import hashlib
import os
import re
import stat
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import islice

import msgspec

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.redaction import Redactor
from cogency_tui.workspace.gitignore_walk import TreeEntry, WorkspaceTree
from cogency_tui.workspace.globs import compiled
from cogency_tui.workspace.nofollow_access import Directory, refusals
from cogency_tui.workspace.paths import Location, Workspace
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.text_files import Text, decode

LONGEST_FILE = 16 << 20
MOST_SHOWN = 200
MOST_NAMES = 500
MOST_COUNTED = 10_000
MOST_REPLACED = 100_000
MOST_NEAR = 5
_WIDTH = 300
_LEAD = 100
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_BACKSPACE = re.compile(r"(\\.)|\x08", re.DOTALL)
"""A backspace character that no backslash escapes, or an escape."""
_WILD = re.compile(r"[*?\[\]{},/!]+")
_LEAST_NEAR = 3


class Found(msgspec.Struct, tag=True):
    """The result of a search. `lines` are ready to show; `matches` includes those that are not shown.

    Where nothing matches, `near` are files whose path contains the pattern's text, and `literal` counts the
    files that contain an expression literally.
    """

    lines: list[str] = []
    matches: int = 0
    files: int = 0
    searched: int = 0
    binary: int = 0
    large: int = 0
    unreadable: int = 0
    near: list[str] = []
    literal: int = 0

    @property
    def complete(self) -> bool:
        """True if all matches were counted."""
        return self.matches < MOST_COUNTED


class Rewrite(msgspec.Struct):
    """The replacements in one file: spans of its plain text, valid for content with this SHA-256 digest.

    `path` is in bytes, as in the file system: it need not be valid text.
    """

    path: bytes
    digest: str
    spans: list[tuple[int, int, str]]


class Rewrites(msgspec.Struct, tag=True):
    """The replacements in all files, and the number of files searched."""

    files: list[Rewrite]
    searched: int


def find_names(workspace: Workspace, start: Location, pattern: str) -> Found:
    """Find files whose name or path matches."""
    found = Found()
    with closing(_files(workspace, start, pattern)) as files:
        for _, entry in files:
            found.matches += 1
            if found.matches <= MOST_NAMES:
                found.lines.append(shown(entry.path))
            if not found.complete:
                break
    found.files = found.searched = found.matches
    if not found.matches:
        found.near = _near(workspace, start, pattern)
    return found


def find_lines(
    workspace: Workspace, start: Location, pattern: str | None, content: str, context: int
) -> Found:
    """Find lines with a match of a regular expression, with `context` lines around each.

    They are `path:12: text`, or where any file has several lines to show, the path of each file, then
    `12: text` and `13- around it`.

    Raises:
        ToolError: `content` is no regular expression.
    """
    regex = compiled_content(content, "content")
    found = Found()
    files: list[tuple[str, list[str]]] = []
    with closing(_texts(workspace, start, pattern, found)) as texts:
        for entry, _, text in texts:
            before = found.matches
            if lines := _matching_lines(found, entry.path, text.plain, regex, context):
                files.append((shown(entry.path), lines))
            found.files += found.matches > before
            found.literal += not found.matches and escaped(content) != content and content in text.plain
            if not found.complete:
                break
    found.lines = _laid_out(files)
    return found


def find_replacements(
    workspace: Workspace, start: Location, pattern: str, old: str, new: str, regex: bool
) -> Rewrites:
    """Find every match of `old`, with its replacement.

    Raises:
        ToolError: `old` is no regular expression, matches nothing at all, or fits in too many places.
    """
    matcher = compiled_content(old, "old") if regex else re.compile(re.escape(old.replace("\r\n", "\n")))
    found = Found()
    rewrites: list[Rewrite] = []
    total = 0
    with closing(_texts(workspace, start, pattern, found)) as texts:
        for entry, data, text in texts:
            spans: list[tuple[int, int, str]] = []
            for match in matcher.finditer(text.plain):
                if match.end() == match.start():
                    raise ToolError("old matches the empty text.", "Make it match the text to replace.")
                spans.append((match.start(), match.end(), _expanded(match, new) if regex else new))
            total += len(spans)
            if total > MOST_REPLACED:
                raise ToolError(f"old occurs more than {MOST_REPLACED:,} times.", "Narrow the pattern.")
            if spans:
                rewrites.append(Rewrite(os.fsencode(entry.path), hashlib.sha256(data).hexdigest(), spans))
    return Rewrites(rewrites, found.searched)


def compiled_content(source: str, argument: str) -> re.Pattern[str]:
    """Compile a regular expression whose `^` and `$` match at each line. A backspace character is read as
    `\\b`: in a JSON string a single backslash before b makes one of it.

    Raises:
        ToolError: it is invalid; the text names the position.
    """
    try:
        return re.compile(_BACKSPACE.sub(lambda found: found[1] or r"\b", source), re.MULTILINE)
    except re.error as error:
        place = "" if error.pos is None else f" at position {error.pos}"
        raise ToolError(
            f'{argument} is not a valid regular expression, {error.msg}{place}: "{shown(source[:200])}".',
            r"Put a backslash before literal characters: \( \) \[ \{ \. \* \+ \?"
            f"\nTo match it literally: {shown(escaped(source[:200]))}",
        ) from None
    except (OverflowError, RecursionError):
        raise ToolError(f"{argument} is too large a regular expression.") from None


def escaped(text: str) -> str:
    """Return the regular expression that matches `text` literally."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _near(workspace: Workspace, start: Location, pattern: str) -> list[str]:
    """Find files whose path contains the longest plain piece of `pattern`, in any case."""
    piece = max(_WILD.split(pattern), key=len).casefold()
    if len(piece) < _LEAST_NEAR:
        return []
    with closing(_files(workspace, start, None)) as files:
        return list(islice((shown(one.path) for _, one in files if piece in one.path.casefold()), MOST_NEAR))


def _expanded(match: re.Match[str], template: str) -> str:
    try:
        return match.expand(template)
    except (re.error, IndexError) as error:
        raise ToolError(
            f"new is not a valid replacement: {error}.",
            r"Groups are \1 or \g<name>; a backslash itself is \\.",
        ) from None


def _files(
    workspace: Workspace, start: Location, pattern: str | None
) -> Generator[tuple[Directory, TreeEntry], None, None]:
    """Yield regular files below `start`, or `start` itself when it is one, each with its open directory."""
    regex = compiled(pattern) if pattern else None
    by_name = pattern is None or "/" not in pattern
    with refusals(start.relative):
        if workspace.split(start)[1]:
            with workspace.open_parent(start) as parent:
                name = start.path.name
                if stat.S_ISREG(parent.status(name).st_mode):
                    if regex is None or not by_name or regex.fullmatch(name):
                        yield parent, TreeEntry(name, workspace.name_of(start.path), "file")
                    return
    prefix: int | None = None
    with closing(WorkspaceTree(workspace).walk(start)) as levels:
        for level in levels:
            if prefix is None:
                prefix = len(level.path)
            for entry in level.others:
                if entry.kind != "file":
                    continue
                if regex is not None and not (
                    regex.fullmatch(entry.name)
                    if by_name
                    else regex.fullmatch(entry.path) or regex.fullmatch(entry.path[prefix:])
                ):
                    continue
                yield level.directory, entry


def _texts(
    workspace: Workspace, start: Location, pattern: str | None, found: Found
) -> Generator[tuple[TreeEntry, bytes, Text], None, None]:
    with closing(_files(workspace, start, pattern)) as files:
        for directory, entry in files:
            found.searched += 1
            try:
                data = directory.read(entry.name, LONGEST_FILE)
            except OSError:
                found.unreadable += 1
                continue
            except WorkspaceError:
                found.large += 1
                continue
            try:
                text = decode(data, entry.path)
            except WorkspaceError:
                found.binary += 1
                continue
            yield entry, data, text


def _matching_lines(found: Found, path: str, plain: str, regex: re.Pattern[str], context: int) -> list[str]:
    """Return the lines to show of one file, with their numbers; count its matches in `found`."""
    position = counted = 0
    number = 1
    places: dict[int, int] = {}
    while position <= len(plain) and found.complete:
        match = regex.search(plain, position)
        if match is None or (match.start() == len(plain) and plain.endswith("\n")):
            break
        number += plain.count("\n", counted, match.start())
        counted = match.start()
        end = plain.find("\n", match.start())
        end = len(plain) if end == -1 else end
        found.matches += 1
        if found.matches <= MOST_SHOWN:
            places[number] = match.start() - plain.rfind("\n", 0, match.start()) - 1
        position = max(end, match.end()) + 1
    if not places:
        return []
    # A shortened line, or a part of a private key, does not show the secret that it belongs to.
    lines = Redactor({}).text(plain, file=path).split("\n")
    numbers = {number: _cut(lines[number - 1], place) for number, place in places.items()}
    if context:
        return list(_with_context(lines, numbers, context))
    return [f"{number}: {text}" for number, text in numbers.items()]


def _laid_out(files: list[tuple[str, list[str]]]) -> list[str]:
    """Format the lines of all files in one layout: grouped by file as soon as one has several."""
    if all(len(lines) == 1 for _, lines in files):
        return [f"{path}:{line}" for path, lines in files for line in lines]
    return [line for path, lines in files for line in (path, *lines)]


def _with_context(lines: list[str], matches: dict[int, str], context: int) -> Iterator[str]:
    last = len(lines) - 1 if not lines[-1] else len(lines)
    done = 0
    for match in matches:
        first = max(done + 1, match - context)
        if done and first > done + 1:
            yield "--"
        for number in range(first, min(last, match + context) + 1):
            if number in matches:
                yield f"{number}: {matches[number]}"
            else:
                yield f"{number}- {lines[number - 1][:_WIDTH]}"
            done = number


def _cut(line: str, at: int) -> str:
    if len(line) <= _WIDTH:
        return line
    first = max(0, min(at - _LEAD, len(line) - _WIDTH))
    last = first + _WIDTH
    return f"{'…' if first > 0 else ''}{line[first:last]}{'…' if last < len(line) else ''}"

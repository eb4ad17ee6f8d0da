"""The tool `find`: files by name, lines by content.

Invariant: a search reports what it left out; no pattern can block the program.
"""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from cogency_tui.errors import ToolError
from cogency_tui.tools.base import (
    Aliases,
    Intent,
    Outcome,
    Spellings,
    Tally,
    ToolContext,
    ToolKind,
    Touch,
)
from cogency_tui.tools.files import read_intent
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import search_worker, text_search
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.text_search import Found, escaped

_LONGEST_EXPRESSION = 10_000
_SHOWN = 200

_IN_GREP = {
    **dict.fromkeys(("-i", "ignore_case", "case_insensitive"), "begin content with (?i)"),
    **dict.fromkeys(
        ("-A", "-B"),
        "use context for lines before and after; Grep's pattern is content here, and glob is pattern",
    ),
}
_NO_EXCLUDE = "ignored files are left out already; narrow the search with path or pattern"
_GREP = Spellings(
    {
        **dict.fromkeys(("pattern", "query", "regex", "search_pattern"), "content"),
        **dict.fromkeys(("include", "glob", "include_pattern", "file_pattern"), "pattern"),
        "-C": "context",
    },
    ignored=frozenset({"-n", "output_mode", "head_limit"}),
    instead={
        "type": 'use include, e.g. "*.py"',
    },
)


class FindArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[
        str | None, msgspec.Meta(description='files, e.g. "*.py", "src/**/test_*.py" or "*.{js,ts}"')
    ] = None
    content: Annotated[
        Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST_EXPRESSION)] | None,
        msgspec.Meta(description="Python regular expression; ^ and $ match at lines, (?i) ignores case"),
    ] = None
    path: Annotated[str, msgspec.Meta(description="directory or file to search in")] = "."
    context: Annotated[int, msgspec.Meta(ge=0, le=20, description="lines to show around a match")] = 0


class Find:
    """Searches the project."""

    name = "find"
    kind: ToolKind = "search"
    tally = Tally("searched", "once", "times")
    description = (
        "Find files by name (pattern), lines by content, or lines in certain files (both); "
        "at least one of the two. Ignored and binary files are skipped."
    )
    args = FindArgs
    aliases = Aliases(
        Spellings(
            {
                **dict.fromkeys(("directory", "dir", "dir_path", "target_directory"), "path"),
                **dict.fromkeys(("query", "regex"), "content"),
            },
            instead={
                **_IN_GREP,
                **dict.fromkeys(("exclude", "exclude_pattern", "ignore"), _NO_EXCLUDE),
            },
        ),
        {
            **dict.fromkeys(("grep", "grep_search", "search_file_content", "ripgrep", "rg"), _GREP),
            "search_files": Spellings({"regex": "content", "file_pattern": "pattern"}),
            **dict.fromkeys(("glob", "glob_file_search"), Spellings({"glob_pattern": "pattern"})),
            **dict.fromkeys(("file_search", "find_files"), Spellings({"query": "pattern"})),
        },
    )

    def touch(self, _args: FindArgs, _context: ToolContext, /) -> Touch:
        return Touch(everything=True)

    async def plan(self, args: FindArgs, context: ToolContext) -> Intent:
        _require_either(args)
        return await in_thread(read_intent, args.path, "Search", context)

    async def run(self, args: FindArgs, context: ToolContext) -> Outcome:
        _require_either(args)
        workspace = context.workspace
        start = await in_thread(context.locate, args.path)
        if args.content is None:
            found = await search_worker.find_names(workspace, start, args.pattern or "*")
            if context.takes_value and found.matches > len(found.lines):
                raise ToolError(
                    f"{_files(found)}: an output_key holds {len(found.lines)} at most.", "Narrow the pattern."
                )
            content = _content(args, found, text_search.MOST_NAMES, "files")
            return Outcome(_files(found), content, value="\n".join(found.lines))
        found = await search_worker.find_lines(workspace, start, args.pattern, args.content, args.context)
        return Outcome(_lines(found), _content(args, found, text_search.MOST_SHOWN, "matches"), redacted=True)


def _require_either(args: FindArgs) -> None:
    if args.pattern is None and args.content is None:
        raise ToolError("find needs pattern (a file name) or content (a regular expression), or both.")


def _files(found: Found) -> str:
    if not found.matches:
        return "no file"
    return f"{_count(found)} file{'' if found.matches == 1 else 's'}"


def _lines(found: Found) -> str:
    if not found.matches:
        return f"nothing in {found.searched:,} file{'' if found.searched == 1 else 's'}"
    matches = f"{_count(found)} match{'' if found.matches == 1 else 'es'}"
    return f"{matches} in {found.files:,} file{'' if found.files == 1 else 's'}"


def _nothing(args: FindArgs, found: Found) -> Iterator[str]:
    """List the names and contents that were not found, and likely alternatives."""
    place = "" if args.path == "." else f" in {shown(args.path)}"
    if args.content is None or not found.searched:
        called = "" if args.pattern is None else f' is called "{shown(args.pattern[:_SHOWN])}"'
        near = f"; there is {', '.join(found.near)}" if found.near else ""
        rest = "; to search inside files use content" if args.content is None else ", so nothing was searched"
        yield f"no file{place}{called}{near}{rest}"
        return
    files = "1 file" if found.searched == 1 else f"{found.searched:,} files"
    which = "" if args.pattern is None else f' called "{shown(args.pattern[:_SHOWN])}"'
    yield f'no line matches "{shown(args.content[:_SHOWN])}" in the {files}{which}{place}'
    if found.literal:
        there = "1 file has" if found.literal == 1 else f"{found.literal:,} files have"
        yield f"{there} it as literal text: to search for that, escape it: {shown(escaped(args.content))}"
    elif args.content.lower() != args.content.upper() and "(?i" not in args.content:
        yield "to ignore case, begin it with (?i)"


def _count(found: Found) -> str:
    return f"{found.matches:,}" if found.complete else f"{found.matches:,} or more"


def _content(args: FindArgs, found: Found, most: int, what: str) -> str:
    lines = list(found.lines)
    if not found.matches:
        lines += [f"[{line}]" for line in _nothing(args, found)]
    if found.matches > most:
        lines.append(f"[{_count(found)} {what}, the first {most} are shown: narrow the search]")
    passed_over = (
        (found.binary, "binary"),
        (found.large, f"larger than {text_search.LONGEST_FILE >> 20} MiB"),
        (found.unreadable, "unreadable"),
    )
    if any(count for count, _ in passed_over):
        named = ", ".join(f"{count:,} {why}" for count, why in passed_over if count)
        lines.append(f"[files skipped: {named}]")
    return "\n".join(lines)

"""`find`: files by name, lines by content.

Invariant: a search that left something out says what; nothing that a pattern does can block the program.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from cogency_tui.errors import ToolError
from cogency_tui.tools.base import NO_ALIASES, Intent, Outcome, ToolContext, Touch
from cogency_tui.tools.blocking import in_thread
from cogency_tui.tools.files import look
from cogency_tui.workspace import isolated, scan
from cogency_tui.workspace.scan import Found

_LONGEST_EXPRESSION = 10_000


class FindArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[
        str | None, msgspec.Meta(description='files, as "*.py", "src/**/test_*.py" or "*.{js,ts}"')
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
    description = (
        "Find files by name (pattern), lines by content, or lines in certain files (both); "
        "at least one of the two. Ignored and binary files are passed over. Matches are `path:line: text`."
    )
    args = FindArgs
    aliases: Mapping[str, str] = NO_ALIASES

    def touch(self, _args: FindArgs, _context: ToolContext, /) -> Touch:
        return Touch(everything=True)

    async def plan(self, args: FindArgs, context: ToolContext) -> Intent:
        _require_either(args)
        return look(await in_thread(context.workspace.locate, args.path), "Search")

    async def run(self, args: FindArgs, context: ToolContext) -> Outcome:
        _require_either(args)
        workspace = context.workspace
        start = await in_thread(workspace.locate, args.path)
        if args.content is None:
            found = await isolated.find_names(workspace, start, args.pattern or "*")
            if context.wants_value and found.matches > len(found.lines):
                raise ToolError(
                    f"{_files(found)}: an output_key holds {len(found.lines)} at most.", "Narrow the pattern."
                )
            return Outcome(
                _files(found), _content(found, scan.MOST_NAMES, "files"), value="\n".join(found.lines)
            )
        found = await isolated.find_lines(workspace, start, args.pattern, args.content, args.context)
        return Outcome(_lines(found), _content(found, scan.MOST_SHOWN, "matches"))


def _require_either(args: FindArgs) -> None:
    if args.pattern is None and args.content is None:
        raise ToolError("find needs pattern (a file name) or content (a regular expression), or both.")


def _files(found: Found) -> str:
    if not found.matches:
        return "Found no file"
    return f"Found {_count(found)} file{'' if found.matches == 1 else 's'}"


def _lines(found: Found) -> str:
    if not found.matches:
        return f"Found nothing in {found.searched:,} file{'' if found.searched == 1 else 's'}"
    matches = f"{_count(found)} match{'' if found.matches == 1 else 'es'}"
    return f"Found {matches} in {found.files:,} file{'' if found.files == 1 else 's'}"


def _count(found: Found) -> str:
    return f"{found.matches:,}" if found.complete else f"{found.matches:,} or more"


def _content(found: Found, most: int, what: str) -> str:
    lines = list(found.lines)
    if not found.matches:
        lines.append(f"[no {what}; {found.searched:,} files searched]" if found.searched else f"[no {what}]")
    if found.matches > most:
        lines.append(f"[{_count(found)} {what}, the first {most} are shown: narrow the search]")
    passed_over = (
        (found.binary, "binary"),
        (found.large, f"larger than {scan.LONGEST_FILE >> 20} MiB"),
        (found.unreadable, "unreadable"),
    )
    if any(count for count, _ in passed_over):
        named = ", ".join(f"{count:,} {why}" for count, why in passed_over if count)
        lines.append(f"[files passed over: {named}]")
    return "\n".join(lines)

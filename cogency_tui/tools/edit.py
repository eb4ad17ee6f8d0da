"""The tools `edit` and `replace`, which replace passages of text.

Invariant: the replaced text was found exactly as given, except for line endings, and as often as the call
expects; otherwise nothing changes, and the error shows the file's text instead.
"""

import os
from collections.abc import Mapping
from typing import Annotated

import msgspec

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.redaction import MARKER, Redactor, markers_in
from cogency_tui.tools import file_writes
from cogency_tui.tools.base import PLAIN, Aliases, Intent, Outcome, Spellings, ToolContext, ToolKind, Touch
from cogency_tui.tools.closest_match import near_miss
from cogency_tui.tools.files import FILE_SPELLINGS, File
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import search_worker, text_search
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.text_files import decode

NO_PATCHES = "apply_patch is edit here, one call for each change; write creates a file."

MOST_FILES = 500
LONGEST_DIFF = 4_000
LONGEST_DIFFS = 20_000
_MOST_LINES_NAMED = 10
_LONGEST_LINE_SHOWN = 120

_TEXT_SPELLINGS = {f"{which}_{what}": which for which in ("old", "new") for what in ("string", "str", "text")}
_OTHER_EDITOR = Spellings(
    instead={
        "command": "view is read here, create is write, str_replace and insert are edit",
        **dict.fromkeys(
            ("insert_line", "insert_text"), "old is the line, new is that line and the inserted text"
        ),
    },
    expected={"command": "str_replace"},
)
"""Anthropic's text editor: one tool for several operations, selected by `command`."""


class EditArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: File
    old: Annotated[
        str,
        msgspec.Meta(
            min_length=1, description="exact text from the file with its indentation, without line numbers"
        ),
    ]
    new: Annotated[str, msgspec.Meta(description="replacement text")]
    all: Annotated[bool, msgspec.Meta(description="replace every occurrence")] = False


class Edit:
    """Replaces one passage of a file."""

    name = "edit"
    kind: ToolKind = "edit"
    description = (
        "Replace text in a file; the result is the diff. old must occur exactly once (or use all=true): add "
        "surrounding lines until it does. Several edits and a test run after them may share one message."
    )
    args = EditArgs
    aliases = Aliases(
        Spellings({**FILE_SPELLINGS, **_TEXT_SPELLINGS, "replace_all": "all"}),
        {
            **dict.fromkeys(("file_edit", "search_replace"), PLAIN),
            **dict.fromkeys(
                ("edit_file", "str_replace", "str_replace_editor", "str_replace_based_edit_tool"),
                _OTHER_EDITOR,
            ),
        },
    )

    def touch(self, args: EditArgs, context: ToolContext, /) -> Touch:
        return Touch(frozenset({context.workspace.locate(args.file).path}), writes=True)

    async def plan(self, args: EditArgs, context: ToolContext) -> Intent:
        change = await file_writes.explaining(in_thread(_edited, args, context), context, args.file)
        return file_writes.intent(f"Edit {change.location.relative}", [change], context.workspace)

    async def run(self, args: EditArgs, context: ToolContext) -> Outcome:
        change = await file_writes.explaining(in_thread(_edited, args, context), context, args.file)
        reports = await file_writes.reports_on(context, [change])
        notes = await file_writes.make(context, self.name, [change], reports)
        shown = await in_thread(change.redacted_diff, context.secrets)
        content = "\n".join([*notes, shown])
        return file_writes.with_reports(Outcome(str(change.counts), content, redacted=True), reports)


class ReplaceArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[
        str, msgspec.Meta(min_length=1, description='files, e.g. "src/**/*.py" or "*.{js,ts}"')
    ]
    old: Annotated[
        str, msgspec.Meta(min_length=1, description="text, or a regular expression with regex=true")
    ]
    new: Annotated[str, msgspec.Meta(description=r"replacement text; \1 is a group with regex=true")]
    regex: Annotated[bool, msgspec.Meta(description="old is a Python regular expression")] = False


class Replace:
    """Replaces the same text in many files."""

    name = "replace"
    kind: ToolKind = "edit"
    description = "Replace text in all files that match a pattern, all or none. Use find first."
    args = ReplaceArgs
    aliases = Aliases(
        Spellings(
            {**_TEXT_SPELLINGS, "glob": "pattern", "include": "pattern"},
            instead=dict.fromkeys(("file", *FILE_SPELLINGS), "use edit for a single file"),
        )
    )

    def touch(self, _args: ReplaceArgs, _context: ToolContext, /) -> Touch:
        return Touch(everything=True, writes=True)

    async def plan(self, args: ReplaceArgs, context: ToolContext) -> Intent:
        made, count = await _replaced(args, context)
        return file_writes.intent(f"Replace {_extent(made, count)}", made, context.workspace)

    async def run(self, args: ReplaceArgs, context: ToolContext) -> Outcome:
        made, count = await _replaced(args, context)
        reports = await file_writes.reports_on(context, made)
        notes = await file_writes.make(context, self.name, made, reports)
        report = await in_thread(_report, made, context.secrets)
        outcome = Outcome(_extent(made, count), "\n".join([*notes, report]), redacted=True)
        return file_writes.with_reports(outcome, reports)


def _edited(args: EditArgs, context: ToolContext) -> file_writes.Change:
    location = context.locate(args.file)
    before = context.workspace.read_bytes(location, file_writes.LONGEST)
    text = decode(before, location.relative)
    old = args.old.replace("\r\n", "\n")
    if old == args.new.replace("\r\n", "\n"):
        raise _unchanged()
    places = _places(text.plain, old, overlapping=not args.all)
    if not places and markers_in(old):
        raise ToolError(
            f"old has {MARKER}, which marks a hidden secret of {location.relative}.",
            "Use an old that ends before the secret, or begins after it; the file keeps it.",
            brief=f"The text to replace in {location.relative} includes a hidden secret.",
        )
    if not places:
        near = near_miss(Redactor(context.secrets).text(text.plain, file=location.relative), old)
        brief = f"Text to replace not found in {location.relative}."
        raise ToolError(f"old is not in {location.relative}.", near, brief=brief)
    if len(places) > 1 and not args.all:
        raise _ambiguous(text.plain, places, location.relative, context)
    spans = [(place, place + len(old), args.new) for place in places]
    return file_writes.change(location, before, text, text.with_changes(spans))


def _ambiguous(plain: str, places: list[int], name: str, context: ToolContext) -> ToolError:
    """Report that `old` occurs several times, with the lines in which it begins."""
    shown = places[:_MOST_LINES_NAMED]
    numbers = [plain.count("\n", 0, place) + 1 for place in shown]
    redacted = Redactor(context.secrets).text(plain, file=name).split("\n")
    lines = [redacted[number - 1] for number in numbers]
    named = ", ".join(f"{number:,}" for number in numbers)
    more = f" and {len(places) - len(shown):,} more" if len(places) > len(shown) else ""
    hint = ["Add lines around it until it is unique, or set all=true."]
    hint += [
        f"{number}\t{line}"
        for number, line in zip(numbers, lines, strict=True)
        if len(line) <= _LONGEST_LINE_SHOWN
    ]
    times = f"{len(places):,} times"
    return ToolError(
        f"old occurs {times} in {name} (lines {named}{more}).",
        "\n".join(hint),
        brief=f"Text to replace occurs {times} in {name}.",
    )


def _unchanged() -> ToolError:
    return ToolError(
        "old and new are the same.", "Nothing would change.", brief="The old and the new text are the same."
    )


def _places(plain: str, old: str, *, overlapping: bool) -> list[int]:
    step = 1 if overlapping else len(old)
    found: list[int] = []
    place = plain.find(old)
    while place != -1:
        found.append(place)
        place = plain.find(old, place + step)
    return found


async def _replaced(args: ReplaceArgs, context: ToolContext) -> tuple[list[file_writes.Change], int]:
    """Return every change to write, and the number of replaced places."""
    if args.old == args.new and not args.regex:
        raise _unchanged()
    root = context.locate(".")
    found = await search_worker.find_replacements(
        context.workspace, root, args.pattern, args.old, args.new, args.regex
    )
    if not found.searched:
        raise ToolError(f"No file matches {shown(args.pattern)}.", "Use list or find to see the files.")
    if not found.files:
        files = "1 file that matches" if found.searched == 1 else f"{found.searched:,} files that match"
        where = f"the {files} {shown(args.pattern)}"
        raise ToolError(
            f"old is not in {where}.",
            "Use find to search for it.",
            brief=f"Text to replace not found in {where}.",
        )
    if len(found.files) > MOST_FILES:
        raise ToolError(
            f"{len(found.files):,} files would change; at most {MOST_FILES} at a time.", "Narrow the pattern."
        )
    made = await in_thread(lambda: [_rewritten(rewrite, context) for rewrite in found.files])
    made = [change for change in made if change.before != change.after]
    if not made:
        raise ToolError("Nothing would change: the text is already the replacement.")
    return made, sum(len(rewrite.spans) for rewrite in found.files)


def _rewritten(rewrite: text_search.Rewrite, context: ToolContext) -> file_writes.Change:
    location = context.locate(os.fsdecode(rewrite.path))
    before = context.workspace.read_bytes(location, file_writes.LONGEST)
    if file_writes.fingerprint(before).hex() != rewrite.digest:
        raise WorkspaceError(f"{location.relative} has just changed.", "Repeat the call.")
    text = decode(before, location.relative)
    return file_writes.change(location, before, text, text.with_changes(rewrite.spans))


def _extent(made: list[file_writes.Change], count: int) -> str:
    places = "1 place" if count == 1 else f"{count:,} places"
    return f"{places} in {made[0].location.relative if len(made) == 1 else f'{len(made):,} files'}"


def _report(made: list[file_writes.Change], secrets: Mapping[str, str]) -> str:
    """List each file with its counts, then the diffs, as far as they fit."""
    pieces = ["\n".join(f"{change.location.relative} {change.counts}" for change in made)]
    room = LONGEST_DIFFS
    for index, change in enumerate(made):
        if room <= 0:
            pieces.append(f"[the diffs of {len(made) - index:,} more files are not shown]")
            break
        whole = change.redacted_diff(secrets)
        part = whole[: min(LONGEST_DIFF, room)]
        if len(part) < len(whole):
            part = f"{part.rpartition(chr(10))[0]}\n[the rest of this file's diff is not shown]"
        room -= len(part)
        pieces.append(part.rstrip("\n"))
    return "\n\n".join(pieces)

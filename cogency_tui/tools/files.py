"""The tools `read`, `write` and `list`: whole files and directories.

Invariant: a result states whatever it leaves out, and how to get it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import msgspec

from cogency_tui.errors import StoreError, ToolError, WorkspaceError
from cogency_tui.protocol.events import LinesChanged, describe_image
from cogency_tui.redaction import Redactor, secrets_of
from cogency_tui.tools import file_writes
from cogency_tui.tools.base import (
    PLAIN,
    Aliases,
    Intent,
    Outcome,
    Spellings,
    Tally,
    ToolContext,
    ToolKind,
    Touch,
)
from cogency_tui.tools.changes_by_others import report_of
from cogency_tui.tools.directory_tree import DEPTH, TreeText, render
from cogency_tui.tools.seen_files import fingerprint
from cogency_tui.tools.shell.files_outside_project import is_own_temporary, is_public
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import diff
from cogency_tui.workspace.images import is_image
from cogency_tui.workspace.paths import Location
from cogency_tui.workspace.protected_names import shown, unusual
from cogency_tui.workspace.text_files import Text, decode, lines_of

DEFAULT_LINES = 2000
"""Lines that are shown where the call gives no limit; `value` is the file to its end."""

LONGEST_LINE = 2000

File = Annotated[str, msgspec.Meta(description="path from the project's root")]
FILE_SPELLINGS: dict[str, str] = dict.fromkeys(
    ("path", "file_path", "filepath", "filename", "file_name", "target_file", "absolute_path"), "file"
)
_DIRECTORY_SPELLINGS: dict[str, str] = dict.fromkeys(
    ("directory", "dir", "dir_path", "directory_path", "target_directory", "file_path"), "path"
)


def _range_read(value: Any, _given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read `view_range`: the first line and the last one, -1 for that of the file."""
    match value:
        case [int(first), -1] if first >= 1:
            return {"start": first}
        case [int(first), int(last)] if 1 <= first <= last:
            return {"start": first, "lines": last - first + 1}
        case _:
            return {}


def _end_read(value: Any, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read `end_line`: the last line."""
    first, last = given.get("start", 1), int(value) if str(value).isdecimal() else 0
    first = int(first) if str(first).isdecimal() else 0
    return {"lines": last - first + 1} if 1 <= first <= last else {}


class ReadArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: File
    start: Annotated[int, msgspec.Meta(ge=1, description="first line to show")] = 1
    lines: Annotated[int, msgspec.Meta(ge=1, description="number of lines to show")] = DEFAULT_LINES


class Read:
    """Shows lines of a text file with their numbers, or an image."""

    name = "read"
    kind: ToolKind = "read"
    tally = Tally("read", "1 file", "files")
    description = (
        "Show an image, or a text file: each line as its number, a tab, and the text. "
        "Read a file before you change it; continue a long one with start."
    )
    args = ReadArgs
    aliases = Aliases(
        Spellings(
            {**FILE_SPELLINGS, "offset": "start", "start_line": "start", "limit": "lines"},
            read={"view_range": _range_read, "end_line": _end_read},
            instead={
                "end_line": "use lines for the number of lines",
                "view_range": "use start for the first line, lines for the number of lines",
            },
        ),
        dict.fromkeys(("file_read", "read_file", "view", "view_file", "cat", "open_file"), PLAIN),
    )

    def touch(self, args: ReadArgs, context: ToolContext, /) -> Touch:
        return Touch(frozenset({context.workspace.locate(args.file).path}))

    async def plan(self, args: ReadArgs, context: ToolContext) -> Intent:
        return await in_thread(read_intent, args.file, "Read", context)

    async def run(self, args: ReadArgs, context: ToolContext) -> Outcome:
        location = await in_thread(context.locate, args.file)
        data = await in_thread(context.workspace.read_bytes, location, file_writes.LONGEST)
        if is_image(data, location.relative):
            outcome = await image_outcome(data, location.relative, context)
        else:
            outcome = await in_thread(_read, data, args, location, context)
        report = None
        if context.seen.get(location.path, context.cycle) is not None:
            report = await report_of(context, location, data)
        context.seen.read(location.path, fingerprint(data))
        if report is None:
            return outcome
        return replace(outcome, note=report.sentence, changed_by=report.changes)


class WriteArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: File
    content: Annotated[str, msgspec.Meta(description="the full content")]
    overwrite: Annotated[bool, msgspec.Meta(description="replace an existing file")] = False


class Write:
    """Creates a file, or replaces one as a whole."""

    name = "write"
    kind: ToolKind = "edit"
    description = (
        "Create a file, and its directories if needed, or replace a whole file with overwrite=true. To "
        "change part of a file use edit."
    )
    args = WriteArgs
    aliases = Aliases(
        Spellings({**FILE_SPELLINGS, "contents": "content", "file_text": "content"}),
        dict.fromkeys(("file_write", "write_file", "create_file", "write_to_file"), PLAIN),
    )

    def touch(self, args: WriteArgs, context: ToolContext, /) -> Touch:
        return Touch(frozenset({context.workspace.locate(args.file).path}), writes=True)

    async def plan(self, args: WriteArgs, context: ToolContext) -> Intent:
        change = await _prepared(args, context)
        verb = "Create" if change.before is None else "Replace"
        return file_writes.intent(f"{verb} {change.location.relative}", [change], context.workspace)

    async def run(self, args: WriteArgs, context: ToolContext) -> Outcome:
        change = await _prepared(args, context)
        file_writes.refuse_unread(context, change)
        notes = await file_writes.make(context, self.name, [change])
        lines = len(lines_of(args.content.replace("\r\n", "\n")))
        verb = "created" if change.before is None else "replaced"
        count = f"{lines:,} line{'' if lines == 1 else 's'}"
        done = f"{verb} {change.location.relative}: {count}, {len(change.after):,} bytes"
        # The diff that replaces what is no text has no lines of it.
        is_counted = change.before is None or change.texts is not None
        counts = await in_thread(lambda: change.counts) if is_counted else None
        changed: LinesChanged | None = counts and {"added": counts.added, "removed": counts.removed}
        return Outcome(f"{verb}, {count}", "\n".join([done, *notes]), lines=changed)


class ListArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(description="directory to list")] = "."
    pattern: Annotated[str | None, msgspec.Meta(description='only matching files, e.g. "*.py"')] = None
    depth: Annotated[int, msgspec.Meta(ge=1, le=20, description="number of levels to open")] = DEPTH


class List:
    """Shows a directory as a tree."""

    name = "list"
    kind: ToolKind = "read"
    tally = Tally("listed", "1 directory", "directories")
    description = (
        "Show a directory as a tree with file sizes; ignored files (.gitignore), dependencies and caches "
        "only if path names them."
    )
    args = ListArgs
    aliases = Aliases(
        Spellings(_DIRECTORY_SPELLINGS, instead={"recursive": "use depth for the number of levels"}),
        dict.fromkeys(("file_list", "ls", "list_dir", "list_directory", "list_files"), PLAIN),
    )

    def touch(self, _args: ListArgs, _context: ToolContext, /) -> Touch:
        return Touch(everything=True)

    async def plan(self, args: ListArgs, context: ToolContext) -> Intent:
        return await in_thread(read_intent, args.path, "List", context)

    async def run(self, args: ListArgs, context: ToolContext) -> Outcome:
        location = await in_thread(context.locate, args.path)
        listing = await in_thread(_tree, args, location, context)
        count = listing.files + listing.directories
        return Outcome(f"{count:,} entr{'y' if count == 1 else 'ies'}", listing.text)


def _refuse_misplaced(path: str, location: Location, context: ToolContext) -> None:
    """Refuse an absolute path at which there is nothing, if the project has a file of this name."""
    inside = path.lstrip("/")
    if location.inside or ".." in inside or location.path.exists():
        return
    if not (context.workspace.root / inside).exists():
        return
    raise WorkspaceError(f"{location.relative}: there is no such file.", f"Did you mean {shown(inside)}?")


def _tree(args: ListArgs, location: Location, context: ToolContext) -> TreeText:
    try:
        return render(context.workspace, location, args.pattern, args.depth)
    except WorkspaceError:
        if location.path.is_file():
            raise WorkspaceError(f"{location.relative} is a file, not a directory.", "Use read.") from None
        raise


def read_intent(path: str, verb: str, context: ToolContext) -> Intent:
    """Describe a call that only reads. Blocks.

    Raises:
        WorkspaceError: it may not be read.
    """
    location = context.locate(path)
    _refuse_misplaced(path, location, context)
    guard = unusual(str(location.path))
    public = is_public(location.path, "ls" if verb == "List" else "")
    own = not location.inside and context.is_of_skill(location.path)
    temporary = not location.inside and not own and is_own_temporary(location.path, context.workspace.root)
    return Intent(
        "read",
        f"{verb} {location.relative}",
        paths=(location.path,),
        outside="" if location.inside or public or temporary or own else location.relative,
        could_bring=location.relative if temporary else "",
        protected=f"{location.relative}: {guard}" if guard else "",
    )


async def image_outcome(data: bytes, name: str, context: ToolContext) -> Outcome:
    """Return an image for the model to see.

    Raises:
        ToolError: it cannot be read, or stored.
    """
    if context.add_image is None:
        raise ToolError(f"{name} is an image, which cannot be shown here.")
    try:
        image = await context.add_image(data, name)
    except StoreError as error:
        raise ToolError(str(error), error.hint) from error
    return Outcome(
        f"image, {image['width']}×{image['height']}", f"[{describe_image(image)}]", images=(image,)
    )


def _read(data: bytes, args: ReadArgs, location: Location, context: ToolContext) -> Outcome:
    name = location.relative
    text = decode(data, name)
    # The whole file is redacted: a part of it may not show the secret that it belongs to.
    redacted = Redactor(context.secrets, context.known).text(text.raw, file=name)
    if redacted != text.raw:
        context.known.learn(text.raw, secrets_of(text.raw, file=name))
    text = replace(text, raw=redacted)
    lines = lines_of(text.plain)
    total = len(lines)
    if not total:
        return Outcome("empty", "[the file is empty]", value="")
    if args.start > total:
        raise ToolError(f"{name} has {total:,} lines; start={args.start} is past its end.")
    shown, notes = _fitting(text, lines, args, context.output_limit)
    last = args.start + len(shown) - 1
    whole = args.start == 1 and last == total
    count = f"{len(shown):,} line{'' if len(shown) == 1 else 's'}"
    outcome = count if whole else f"lines {args.start:,} to {last:,} of {total:,}"
    produced = text.lines(args.start, None if args.lines == DEFAULT_LINES else args.lines)
    return Outcome(outcome, "\n".join([*shown, *notes]), value=produced, redacted=True)


def _fitting(text: Text, lines: list[str], args: ReadArgs, limit: int) -> tuple[list[str], list[str]]:
    """Number the requested lines, and note what is left out: as many lines as fit into `limit` characters,
    and at least one."""
    requested = lines[args.start - 1 : args.start - 1 + args.lines]
    width = len(str(args.start + len(requested) - 1))
    longest = min(LONGEST_LINE, limit // 2)
    shown: list[str] = []
    room = limit
    for number, line in enumerate(requested, args.start):
        more = len(line) - longest
        row = f"{number:>{width}}\t{f'{line[:longest]} [… {more:,} more characters]' if more > 0 else line}"
        room -= len(row) + 1
        if room < 0 and shown:
            break
        shown.append(row)
    while True:
        long = sum(len(line) > longest for line in requested[: len(shown)])
        notes = _notes(text, args.start, args.start + len(shown) - 1, len(lines), (long, longest))
        if len(shown) == 1 or sum(len(row) + 1 for row in (*shown, *notes)) <= limit:
            return shown, notes
        shown.pop()


def _notes(text: Text, first: int, last: int, total: int, cut: tuple[int, int]) -> list[str]:
    """Return the notes on lines `first` to `last`. `cut` is the number of shortened lines, and the
    characters left of each."""
    notes: list[str] = []
    if first > 1:
        notes.append(f"[lines 1 to {first - 1:,} are not shown]")
    if last < total:
        notes.append(f"[lines {last + 1:,} to {total:,} are not shown: go on with start={last + 1}]")
    count, longest = cut
    if count:
        notes.append(
            f"[{count:,} long line{' was' if count == 1 else 's were'} cut at {longest:,} characters]"
        )
    if text.encoding != "utf-8":
        notes.append(f"[encoding: {text.encoding_name}]")
    if text.mixed:
        notes.append("[line endings: CRLF and LF mixed]")
    elif text.newline == "\r\n":
        notes.append("[line endings: CRLF; edits may use plain newlines]")
    if not text.raw.endswith("\n") and last == total:
        notes.append("[no newline at the end of the file]")
    return notes


async def _prepared(args: WriteArgs, context: ToolContext) -> file_writes.Change:
    change = await in_thread(_written, args, context)
    await file_writes.refuse_unknown(context, change)
    return change


def _written(args: WriteArgs, context: ToolContext) -> file_writes.Change:
    location = context.locate(args.file)
    name = location.relative
    before = file_writes.load(context.workspace, location)
    if before is None:
        shown = diff.unified(None, args.content.replace("\r\n", "\n"), name)
        return file_writes.Change(location, None, Text(args.content).encode(), shown)
    if not args.overwrite:
        is_read = context.seen.get(location.path, context.cycle) is not None
        raise ToolError(
            f"{name} already exists ({len(before):,} bytes).",
            f"Change part of it with edit, or {'' if is_read else 'read it and '}replace all of it with "
            "overwrite=true.",
        )
    try:
        old = decode(before, name)
    except WorkspaceError:
        shown = f"Binary file {name} ({len(before):,} bytes) is replaced.\n"
        shown += diff.unified(None, args.content, name)
        return file_writes.Change(location, before, Text(args.content).encode(), shown)
    try:
        return file_writes.change(location, before, old, old.replaced_by(args.content))
    except ToolError:
        # The old encoding cannot represent the new content: use UTF-8, or fail.
        return file_writes.change(location, before, old, Text(args.content))

"""The tool `symbol`: the definition, the uses and the renaming of a name, as a language server knows them.

Invariant: a renaming is planned as a whole, shown as a diff, and written all or none, in files of the project
only, and under a name that its scope does not have; a server that wants to create, rename or delete files is
refused.
"""

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec

from cogency_tui.errors import ToolError
from cogency_tui.safe_text import one_line
from cogency_tui.tools import file_writes
from cogency_tui.tools.base import Aliases, Intent, Outcome, Spellings, ToolContext, ToolKind, Touch
from cogency_tui.tools.files import File
from cogency_tui.tools.language_servers.server import Unavailable
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import search_worker
from cogency_tui.workspace.text_files import Text, decode

if TYPE_CHECKING:
    from cogency_tui.tools.language_servers.client import Client, Span, TextEdit
    from cogency_tui.tools.language_servers.servers import LanguageServers

Result = TypeVar("Result")

MOST_PLACES = 100
MOST_FILES = 200

_PROVIDERS = {
    "definition": "definition_provider",
    "references": "references_provider",
    "rename": "rename_provider",
}
_LONGEST_LINE = 160
_MOST_DEFINITIONS = 8
_IMPORT = re.compile(r"\s*(?:from|import|use|using)\b")


class SymbolArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    action: Literal["definition", "references", "rename"]
    file: File
    line: Annotated[int, msgspec.Meta(ge=1)]
    name: Annotated[str, msgspec.Meta(min_length=1)]
    new_name: str = ""


class Symbol:
    """Finds and renames symbols with the servers of `load`, while these are `enabled`."""

    name = "symbol"
    kind: ToolKind = "edit"
    description = (
        "The language server's definition, references or rename (to new_name, in all files) of the name on "
        "that line."
    )
    args = SymbolArgs
    aliases = Aliases(
        Spellings(dict.fromkeys(("path", "file_path"), "file") | {"newName": "new_name", "symbol": "name"}),
        {
            "rename_symbol": Spellings(implied={"action": "rename"}),
            **dict.fromkeys(
                ("go_to_definition", "goto_definition"), Spellings(implied={"action": "definition"})
            ),
            "find_references": Spellings(implied={"action": "references"}),
        },
    )
    brief = True

    def __init__(self, load: "Callable[[], LanguageServers]", enabled: Callable[[], bool]) -> None:
        self._load = load
        self._enabled = enabled

    def touch(self, args: SymbolArgs, context: ToolContext, /) -> Touch:
        if args.action == "rename":
            return Touch(everything=True, writes=True)
        return Touch(frozenset({context.workspace.locate(args.file).path}))

    async def plan(self, args: SymbolArgs, context: ToolContext) -> Intent:
        self._refuse_if_off()
        if args.action == "rename":
            changes = await self._renamed(args, context)
            summary = f"Rename {args.name} to {args.new_name} in {_files(len(changes))}"
            return file_writes.intent(summary, changes, context.workspace)
        location = context.locate(args.file)
        summary = f"Find the {args.action} of {args.name} in {location.relative}"
        outside = "" if location.inside else location.relative
        return Intent("read", summary, paths=(location.path,), outside=outside)

    async def run(self, args: SymbolArgs, context: ToolContext) -> Outcome:
        self._refuse_if_off()
        if args.action == "rename":
            changes = await self._renamed(args, context)
            notes = await file_writes.make(context, self.name, changes)
            diffs = await in_thread(lambda: [each.redacted_diff(context.secrets) for each in changes])
            return Outcome(f"renamed in {_files(len(changes))}", "\n".join([*notes, *diffs]), redacted=True)
        spans = await self._places(args, context)
        if not spans:
            raise ToolError(f"The language server knows no {args.action} of {args.name} there.")
        lines = await in_thread(lambda: [_place(span, context) for span in spans[:MOST_PLACES]])
        if len(spans) > MOST_PLACES:
            lines.append(f"[{len(spans) - MOST_PLACES:,} more are not shown]")
        count = len(spans)
        return Outcome(f"{count:,} place{'' if count == 1 else 's'}", "\n".join(lines))

    def _refuse_if_off(self) -> None:
        if not self._enabled():
            raise ToolError(
                "Language servers are off.",
                "Use find and edit. The user can turn them on with /settings diagnostics.",
            )

    async def _places(self, args: SymbolArgs, context: ToolContext) -> "list[Span]":
        path, text = await self._target(args, context)
        line, column = _position(text, args)

        async def question(client: "Client", seconds: float) -> "list[Span]":
            find = client.definitions if args.action == "definition" else client.references
            return await find(path, line, column, seconds)

        others = [] if args.action == "definition" else await _mentioning(args.name, context)
        spans = await self._ask(args, path, text.plain, question, others)
        there = await in_thread(lambda: {one: one.exists() for one in {span.path for span in spans}})
        return [span for span in spans if there[span.path]]

    async def _renamed(self, args: SymbolArgs, context: ToolContext) -> list[file_writes.Change]:
        if not args.new_name or args.new_name == args.name:
            raise ToolError("symbol rename needs a new_name that differs from name.")
        path, text = await self._target(args, context)
        line, column = _position(text, args)

        async def question(client: "Client", seconds: float) -> "list[TextEdit]":
            await _check_unused(client, args, context, (path, line, column), seconds)
            return await client.rename(path, line, column, args.new_name, seconds)

        edits = await self._ask(args, path, text.plain, question, await _mentioning(args.name, context))
        if not edits:
            raise ToolError(f"The language server cannot rename {args.name} to {args.new_name} there.")
        return await in_thread(_changes, edits, context)

    async def _target(self, args: SymbolArgs, context: ToolContext) -> tuple[Path, Text]:
        def read() -> tuple[Path, Text]:
            location = context.locate(args.file)
            data = context.workspace.read_bytes(location, file_writes.LONGEST)
            return location.path, decode(data, location.relative)

        return await in_thread(read)

    async def _ask(
        self,
        args: SymbolArgs,
        path: Path,
        text: str,
        question: "Callable[[Client, float], Awaitable[list[Result]]]",
        others: Sequence[Path],
    ) -> "list[Result]":
        """Ask the first server of a file that can answer, with the `others` that it works on open.

        Raises:
            ToolError: none can, or it did not.
        """
        problem = f"No language server for {path.name} can be used here."
        for server, language in await self._load().of(path):
            files = {one: word for one in others if (word := server.language_of(one)) and one != path}

            async def asked(
                client: "Client", seconds: float, language: str = language, files: Mapping[Path, str] = files
            ) -> "list[Result] | None":
                if not getattr(client.capabilities, _PROVIDERS[args.action]):
                    return None
                async with client.turn:
                    await client.follow_disk()
                    if args.action != "definition":
                        await client.know_files()
                    await client.show(path, language, text)
                    async with client.opened(files):
                        return await question(client, seconds)

            try:
                answer = await server.ask(asked)
            except Unavailable as exc:
                problem = f"The language server {server.about.name} did not answer: {exc}."
            except ValueError as exc:
                problem = f"The language server {server.about.name} was refused: {exc}."
            else:
                if answer is not None:
                    return answer
        raise ToolError(problem, "Use find and edit.")


async def _mentioning(name: str, context: ToolContext) -> list[Path]:
    """The files of the project that mention a name, `MOST_FILES` at most; none where the search fails."""
    workspace = context.workspace
    root = workspace.locate(".")
    try:
        found = await search_worker.find_replacements(workspace, root, "*", _word(name), "", regex=True)
    except ToolError:
        return []
    return [workspace.root / os.fsdecode(each.path) for each in found.files[:MOST_FILES]]


def _word(name: str) -> str:
    """The regular expression for a name as a whole."""
    return rf"(?<!\w){re.escape(name)}(?!\w)"


async def _check_unused(
    client: "Client", args: SymbolArgs, context: ToolContext, at: tuple[Path, int, int], seconds: float
) -> None:
    """Check that the scope which defines the name at a place has no symbol of its new name: a server would
    make one of both.

    Raises:
        ToolError: it has one.
    """
    root, language = context.workspace.root, client.language_of(at[0])
    known = client.capabilities.definition_provider
    definitions = await client.definitions(*at, seconds) if known else []
    places = [(one.path, one.line, one.column) for one in definitions if one.path.is_relative_to(root)]
    for path, line, column in places[:_MOST_DEFINITIONS] or [at]:
        text = await in_thread(client.text_of, path) or ""
        await client.show(path, language, text)
        symbols = await client.scope(path, line, column, seconds)
        # Servers do not list what is imported.
        lines = [
            number
            for number, each in enumerate(text.split("\n"))
            if _mentions(each, args.new_name) and (not symbols or _IMPORT.match(each))
        ]
        lines += [each.selection_range.start.line for each in symbols if each.name == args.new_name]
        if lines:
            where = f"{one_line(context.workspace.name_of(path))}:{min(lines) + 1}"
            if symbols:
                raise ToolError(
                    f"{args.new_name} is defined already ({where}).",
                    "Choose another name, or rename that one first.",
                )
            raise ToolError(f"{args.new_name} is used already ({where}).", "Choose another name.")


def _mentions(line: str, name: str) -> bool:
    return re.search(_word(name), line) is not None


def _position(text: Text, args: SymbolArgs) -> tuple[int, int]:
    """The line and the column, from 0, of the name.

    Raises:
        ToolError: the line has no such name.
    """
    lines = text.plain.split("\n")
    line = lines[args.line - 1] if args.line <= len(lines) else ""
    found = re.search(_word(args.name), line)
    if found is None:
        near = [n for n, each in enumerate(lines, 1) if _mentions(each, args.name)]
        where = f"It is on line {', '.join(map(str, near[:10]))}." if near else "It is not in the file."
        raise ToolError(f"Line {args.line} of {args.file} has no {args.name}.", where)
    return args.line - 1, found.start()


def _changes(edits: "Sequence[TextEdit]", context: ToolContext) -> list[file_writes.Change]:
    """The changes of files that edits come to.

    Raises:
        ToolError: one is outside the project, or does not fit its file.
    """
    by_path: dict[Path, list[TextEdit]] = {}
    for edit in edits:
        # The server may not know yet that a file is gone.
        if edit.span.path in by_path or edit.span.path.exists():
            by_path.setdefault(edit.span.path, []).append(edit)
    if len(by_path) > MOST_FILES:
        raise ToolError(f"{len(by_path):,} files would change; at most {MOST_FILES} at a time.")
    changes: list[file_writes.Change] = []
    for path, own in sorted(by_path.items()):
        location = context.locate(str(path))
        if not location.inside:
            raise ToolError(f"The renaming would change {one_line(location.relative)}, outside the project.")
        before = context.workspace.read_bytes(location, file_writes.LONGEST)
        text = decode(before, location.relative)
        spans = sorted((*_offsets(text.plain, edit.span), edit.text) for edit in own)
        if any(end > start for (_, end, _), (start, _, _) in pairwise(spans)):
            raise ToolError(f"The edits of the language server in {one_line(location.relative)} overlap.")
        changes.append(file_writes.change(location, before, text, text.with_changes(spans)))
    return [change for change in changes if change.before != change.after]


def _offsets(plain: str, span: "Span") -> tuple[int, int]:
    lines = plain.split("\n")
    if not 0 <= span.line <= span.end_line < len(lines):
        raise ToolError("An edit of the language server does not fit the file.", "Try again.")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    start = starts[span.line] + min(span.column, len(lines[span.line]))
    end = starts[span.end_line] + min(span.end_column, len(lines[span.end_line]))
    return start, max(start, end)


def _place(span: "Span", context: ToolContext) -> str:
    """A place with its line; of a file outside the project only its path."""
    name = context.workspace.name_of(span.path)
    text = ""
    if span.path.is_relative_to(context.workspace.root):
        try:
            location = context.workspace.locate(str(span.path))
            plain = decode(context.workspace.read_bytes(location, file_writes.LONGEST), name).plain
            lines = plain.split("\n")
            text = lines[span.line].strip()[:_LONGEST_LINE] if span.line < len(lines) else ""
        except ToolError:
            text = ""
    return f"{one_line(name)}:{span.line + 1}{f': {text}' if text else ''}"


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"

"""The language server protocol, as far as we use it: documents, diagnostics, definition, references, rename.

Positions outside this module count characters, as Python does; the protocol's count UTF-16 units unless the
server takes characters. Messages of the server that the types refuse are dropped, and cost nothing else.
"""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, cast
from urllib.parse import unquote, urlsplit

import msgspec
from lsprotocol import types
from lsprotocol.converters import get_converter

from cogency_tui.tools.language_servers.connection import Connection, ConnectionLost, RequestFailed
from cogency_tui.tools.language_servers.project_files import ProjectFiles
from cogency_tui.tools.worker_threads import in_thread

Severity: TypeAlias = Literal["error", "warning"]

MOST_PROBLEMS = 500
"""Problems of a file that are taken."""

MOST_OPEN = 20
"""Documents that stay open; the server knows of the others only what is on the disk."""

_MOST_PULLED = 8
_BUSY = (types.LSPErrorCodes.ContentModified, types.LSPErrorCodes.ServerCancelled)
"""The errors after which the same question may have an answer."""

_MOST_TRIES = 50
_BREAK = 0.1
_OTHERS = 0.2
"""Seconds in which a server that publishes problems by itself publishes those of other files."""

_FRESH = 1.0
"""Seconds for which a look at the project's files holds, unless it is known that something else ran."""

_LISTS_FILES = re.compile(r"\S*pyright language server \S+ starting$")
_LISTED = re.compile(r"Found \d+ source files?$|No source files found")
"""What pyright and its kin log at their start, and each time they have listed the project's files. Until they
have, a file that they met as an import is none of the project, and neither searched nor renamed."""

_TO_LIST = 5.0
"""Seconds in which it does."""

_MOST_PUBLISHED = 200
_LONGEST_TEXT = 1000
_SEVERITIES: Mapping[types.DiagnosticSeverity | None, Severity] = {
    None: "error",
    types.DiagnosticSeverity.Error: "error",
    types.DiagnosticSeverity.Warning: "warning",
}
_USED = frozenset(
    {
        *("positionEncoding", "textDocumentSync", "diagnosticProvider"),
        *("definitionProvider", "referencesProvider", "renameProvider", "documentSymbolProvider"),
    }
)
"""The capabilities of a server on which something here depends."""

_UTF16_LIMIT = 0xFFFF

_CONVERTER = get_converter()

Kind = TypeVar("Kind")


class Problem(msgspec.Struct, frozen=True):
    """A diagnostic of a server. `line` and `column` count from 1; `rule` and `source` may be empty."""

    line: int
    column: int
    severity: Severity
    message: str
    rule: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a file: lines and columns (characters), both from 0, the end exclusive."""

    path: Path
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A replacement in a file."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file that edits have changed from `old` (None: there was none) to `new`."""

    path: Path
    language: str
    old: str | None
    new: str


@dataclass(slots=True)
class _Document:
    """A document that the server has open. `count` is how often its problems had been published when the
    server was shown the text."""

    language: str
    version: int
    text: str
    count: int


class Client:
    """Speaks with one server, which works in `root` on `files`."""

    def __init__(self, root: Path, settings: Mapping[str, Any], settle: float, files: ProjectFiles) -> None:
        self.capabilities = types.ServerCapabilities()
        self._root = root
        self._settings = settings
        self._settle = settle
        self._files = files
        self._looked: float | None = None
        """When the project's files were looked at last; None if that no longer holds."""
        self._lists_files = False
        """True if the server says when it has listed the project's files."""
        self._unlisted = False
        """True while it has yet to do so after its start, or after files have come or gone."""
        self._connection: Connection | None = None
        self._open: dict[str, _Document] = {}
        self._published: dict[str, tuple[int | None, Sequence[Problem]]] = {}
        self._lost = ""
        self._news = asyncio.Event()
        self.turn = asyncio.Lock()
        """Held by a question while it depends on the texts that it shows the server: one at a time, since the
        text of one file can change the problems of another."""
        self._counts: dict[str, int] = {}
        """How often the problems of a file have been published."""

    def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection:
        """The connection over these streams, which the caller runs."""
        answers: dict[str, Callable[[Any], Any]] = {
            types.WORKSPACE_CONFIGURATION: self._configuration,
            types.WORKSPACE_WORKSPACE_FOLDERS: lambda _: [self._folder()],
            types.WORKSPACE_APPLY_EDIT: lambda _: {"applied": False},
            types.CLIENT_REGISTER_CAPABILITY: self._register,
            **dict.fromkeys(
                (
                    types.CLIENT_UNREGISTER_CAPABILITY,
                    types.WINDOW_WORK_DONE_PROGRESS_CREATE,
                    types.WINDOW_SHOW_MESSAGE_REQUEST,
                    types.WORKSPACE_DIAGNOSTIC_REFRESH,
                ),
                _nothing,
            ),
        }
        self._connection = Connection(reader, writer, self._take, answers)
        return self._connection

    def lose(self, why: str) -> None:
        """Let everything fail that waits for the server, which is gone."""
        self._lost = why
        self._news.set()
        if self._connection is not None:
            self._connection.close(why)

    async def initialize(self, options: Mapping[str, Any], seconds: float) -> None:
        """Introduce us to the server, which looks at the project's files later than we do.

        Raises:
            ConnectionLost, RequestFailed, TimeoutError: it cannot be used.
        """
        await in_thread(self._files.changes)
        params = types.InitializeParams(
            capabilities=_CAPABILITIES,
            process_id=os.getpid(),
            root_uri=self._root.as_uri(),
            workspace_folders=[types.WorkspaceFolder(self._root.as_uri(), self._root.name)],
            initialization_options=dict(options) or None,
        )
        result = await self._request(types.INITIALIZE, _CONVERTER.unstructure(params), seconds)
        offered = cast("dict[str, Any]", result).get("capabilities") if isinstance(result, dict) else None
        if not isinstance(offered, dict):
            raise ConnectionLost("its answer to initialize cannot be read")
        # lsprotocol cannot read those for notebooks with every version of cattrs.
        used = {name: value for name, value in cast("dict[str, Any]", offered).items() if name in _USED}
        self.capabilities = _structured(used, types.ServerCapabilities) or self.capabilities
        await self._notify(types.INITIALIZED, {})
        if self._settings:
            await self._notify(types.WORKSPACE_DID_CHANGE_CONFIGURATION, {"settings": self._settings})

    async def analyze(
        self, files: Sequence[EditedFile], seconds: float
    ) -> dict[Path, tuple[Sequence[Problem], Sequence[Problem]]]:
        """The problems before and after the edits of files, `MOST_OPEN` at most, which count as one: of these
        files, and of others where they differ. No state between the edits counts.

        Raises:
            ConnectionLost, RequestFailed, TimeoutError: the server does not say.
        """
        paths = [each.path for each in files]
        async with asyncio.timeout(seconds), self.turn:
            changed = await self.follow_disk(files)
            changed = await self._show_others(paths) or changed
            there = [(each.path, each.language, each.old) for each in files if each.old is not None]
            for path, language, old in there:
                changed = await self.show(path, language, old) or changed
            before = await self._ask_all([path for path, _language, _old in there], seconds)
            if changed:
                await self._check_others(paths, seconds)
            others = self.published()
            for each in files:
                await self.show(each.path, each.language, each.new)
            kinds = types.FileChangeType
            for each in files:
                kind = kinds.Created if each.old is None else kinds.Changed
                await self._report_saved(each.path.as_uri(), kind)
            after = await self._ask_all(paths, seconds)
            await self._check_others(paths, seconds)
            found = {path: (before.get(path, ()), after[path]) for path in paths}
            for file, problems in self.published().items():
                if file not in after and problems != others.get(file, ()):
                    found[file] = (others.get(file, ()), problems)
            return found

    async def _ask_all(self, paths: Sequence[Path], seconds: float) -> dict[Path, Sequence[Problem]]:
        """The problems of open files once the server has said them of all."""
        answers = {path: await self._ask(path.as_uri(), seconds) for path in paths}
        published = self.published()
        return {path: published.get(path, problems) for path, problems in answers.items()}

    async def problems(self, path: Path, language: str, text: str, seconds: float) -> Sequence[Problem]:
        """The problems of a file with this text.

        Raises:
            ConnectionLost, RequestFailed, TimeoutError: the server does not say.
        """
        async with asyncio.timeout(seconds), self.turn:
            await self.follow_disk()
            await self._show_others([path])
            await self.show(path, language, text)
            return await self._ask(path.as_uri(), seconds)

    async def _ask(self, uri: str, seconds: float) -> Sequence[Problem]:
        """The problems of an open file with the text that the server was shown last."""
        document = self._open[uri]
        while True:
            if self._lost:
                raise ConnectionLost(self._lost)
            # A server may offer it only some time after its start.
            if self.capabilities.diagnostic_provider is not None:
                return await self._pull(uri, seconds)
            if self._counts.get(uri, 0) > document.count:
                version = self._published[uri][0]
                if version is None or version >= document.version:
                    break
            self._news.clear()
            await self._news.wait()
        if self._settle:
            await self._settled(uri)
        return self._published[uri][1]

    def forget_look(self) -> None:
        """Note that others than us may have changed files just now."""
        self._looked = None

    async def follow_disk(self, edited: Sequence[EditedFile] = ()) -> bool:
        """Tell the server which files of the project others have created, changed or deleted; whether there
        are any. Of what was `edited` it is told later. Comes before it is shown them: it ignores what it is
        told of one that it has forgotten.

        Raises:
            ConnectionLost: the server is gone.
        """
        now = asyncio.get_running_loop().time()
        if self._looked is not None and now - self._looked < _FRESH:
            return False
        self._looked = now
        kinds = types.FileChangeType
        ours = {(each.path, kinds.Created if each.old is None else kinds.Changed) for each in edited}
        found = [each for each in await in_thread(self._files.changes) if each not in ours]
        if found:
            self._note_listing(*(kind for _path, kind in found))
            changes = [{"uri": path.as_uri(), "type": int(kind)} for path, kind in found]
            await self._notify(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, {"changes": changes})
        return bool(found)

    async def know_files(self) -> None:
        """Have the server know all files of the project, as far as it says so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_TO_LIST):
                while self._unlisted and not self._lost:
                    self._news.clear()
                    await self._news.wait()
        self._unlisted = False

    def _note_listing(self, *kinds: types.FileChangeType) -> None:
        """Note that the server lists the files anew after such changes."""
        if self._lists_files and {*kinds} - {types.FileChangeType.Changed}:
            self._unlisted = True

    async def _show_others(self, paths: Sequence[Path]) -> bool:
        """Show the server the other open files as they are on the disk; whether one has changed."""
        texts = await in_thread(
            _texts, [each for uri in self._open if (each := path_of(uri)) and each not in paths]
        )
        changed = False
        for each, text in texts.items():
            document = self._open.get(each.as_uri())
            if document is None or document.text == text:
                continue
            changed = True
            if text is None:
                self._published.pop(each.as_uri(), None)
                await self._close(each.as_uri())
            else:
                await self.show(each, document.language, text)
        return changed

    def published(self) -> Mapping[Path, Sequence[Problem]]:
        """The problems of all files of which the server has published any."""
        found = ((path_of(uri), problems) for uri, (_version, problems) in self._published.items())
        return {path: problems for path, problems in found if path is not None}

    async def show(self, path: Path, language: str, text: str) -> bool:
        """Show the server a text as that of a file; whether it did not know it.

        Raises:
            ConnectionLost: the server is gone.
        """
        uri = path.as_uri()
        if (document := self._open.pop(uri, None)) is None:
            while len(self._open) >= MOST_OPEN:
                await self._close(next(iter(self._open)))
            self._open[uri] = _Document(language, 1, text, self._counts.get(uri, 0))
            item = {"uri": uri, "languageId": language, "version": 1, "text": text}
            await self._notify(types.TEXT_DOCUMENT_DID_OPEN, {"textDocument": item})
            return True
        # The one that was used last comes last.
        self._open[uri] = document
        if document.text == text:
            return False
        document.version, document.text = document.version + 1, text
        document.count = self._counts.get(uri, 0)
        changes = {
            "textDocument": {"uri": uri, "version": document.version},
            "contentChanges": [{"text": text}],
        }
        await self._notify(types.TEXT_DOCUMENT_DID_CHANGE, changes)
        return True

    @asynccontextmanager
    async def opened(self, files: Mapping[Path, str]) -> AsyncGenerator[None]:
        """Have the server know these files, by their languages, as they are on the disk: without it, it knows
        neither what appeared or changed since it looked, nor, soon after its start, any file.

        Raises:
            ConnectionLost: the server is gone.
        """
        await self._show_others([])
        closed = [path for path in files if path.as_uri() not in self._open]
        before = {path.as_uri(): self._published.get(path.as_uri()) for path in closed}
        texts = await in_thread(_texts, closed)
        there = {path: text for path, text in texts.items() if text is not None}
        for path, text in there.items():
            item = {"uri": path.as_uri(), "languageId": files[path], "version": 1, "text": text}
            await self._notify(types.TEXT_DOCUMENT_DID_OPEN, {"textDocument": item})
        try:
            yield
        finally:
            for path in there:
                uri = path.as_uri()
                # One that was shown meanwhile stays open.
                if uri in self._open:
                    continue
                with suppress(ConnectionLost):
                    await self._notify(types.TEXT_DOCUMENT_DID_CLOSE, {"textDocument": {"uri": uri}})
                self._counts.pop(uri, None)
                self._published.pop(uri, None)
                if published := before[uri]:
                    self._published[uri] = published

    async def shut_down(self, seconds: float) -> None:
        """Ask the server to end.

        Raises:
            ConnectionLost, RequestFailed, TimeoutError: it does not answer.
        """
        await self._request(types.SHUTDOWN, None, seconds)
        await self._notify(types.EXIT, None)

    async def definitions(self, path: Path, line: int, column: int, seconds: float) -> list[Span]:
        """The places that define the symbol at a place of an open file.

        Raises:
            ConnectionLost, RequestFailed, TimeoutError: the server does not say.
        """
        at = self._position(path, line, column)
        result = await self._request(types.TEXT_DOCUMENT_DEFINITION, at, seconds)
        return self._spans(cast("list[Any]", result) if isinstance(result, list) else [result])

    async def references(self, path: Path, line: int, column: int, seconds: float) -> list[Span]:
        """The uses of the symbol at a place of an open file, its declaration included.

        Raises:
            ConnectionLost, RequestFailed, TimeoutError: the server does not say.
        """
        at = self._position(path, line, column) | {"context": {"includeDeclaration": True}}
        return self._spans(await self._request(types.TEXT_DOCUMENT_REFERENCES, at, seconds) or [])

    async def rename(self, path: Path, line: int, column: int, name: str, seconds: float) -> list[TextEdit]:
        """The edits that rename the symbol at a place of an open file.

        Raises:
            ConnectionLost, RequestFailed, TimeoutError: the server does not say.
            ValueError: it would create, rename or delete files.
        """
        params = self._position(path, line, column) | {"newName": name}
        result = await self._request(types.TEXT_DOCUMENT_RENAME, params, seconds)
        edit = _structured(result, types.WorkspaceEdit)
        if edit is None:
            return []
        by_uri: list[tuple[str, Sequence[Any]]] = [*(edit.changes or {}).items()]
        for change in edit.document_changes or ():
            if not isinstance(change, types.TextDocumentEdit):
                raise ValueError("it would create, rename or delete files")
            by_uri.append((change.text_document.uri, change.edits))
        found: list[TextEdit] = []
        for uri, edits in by_uri:
            for each in edits:
                if (span := self._span(uri, each.range)) is None or not hasattr(each, "new_text"):
                    raise ValueError("an edit of it has no place in a file")
                found.append(TextEdit(span, each.new_text))
        return found

    async def scope(self, path: Path, line: int, column: int, seconds: float) -> list[types.DocumentSymbol]:
        """The symbols of the scope that has one defined at a place of an open file, itself included; none if
        the server does not say.

        Raises:
            ConnectionLost, RequestFailed, TimeoutError: it does not answer.
        """
        if not self.capabilities.document_symbol_provider:
            return []
        document = {"textDocument": {"uri": path.as_uri()}}
        result = await self._request(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, document, seconds)
        items = cast("list[Any]", result) if isinstance(result, list) else []
        symbols = [each for item in items if (each := _structured(item, types.DocumentSymbol))]
        at = _structured(self._position(path, line, column)["position"], types.Position)
        return _scope(symbols, at) if at is not None else []

    def language_of(self, path: Path) -> str:
        """The language of an open file."""
        return self._open[path.as_uri()].language

    def text_of(self, path: Path) -> str | None:
        """The text of an open file; else that on the disk, if it can be read."""
        if document := self._open.get(path.as_uri()):
            return document.text
        return _text_on_disk(path)

    @property
    def _counts_characters(self) -> bool:
        return self.capabilities.position_encoding == types.PositionEncodingKind.Utf32

    def _position(self, path: Path, line: int, column: int) -> dict[str, Any]:
        text = self.text_of(path) or ""
        place = column if self._counts_characters else _units(_line(text, line)[:column])
        uri = path.as_uri()
        return {"textDocument": {"uri": uri}, "position": {"line": line, "character": place}}

    def _spans(self, results: Sequence[Any]) -> list[Span]:
        spans: list[Span] = []
        for result in results:
            if not isinstance(result, dict):
                continue
            entry = cast("dict[str, Any]", result)
            uri = entry.get("uri") or entry.get("targetUri")
            place = _structured(entry.get("range") or entry.get("targetSelectionRange"), types.Range)
            if isinstance(uri, str) and place is not None and (span := self._span(uri, place)):
                spans.append(span)
        return spans

    def _span(self, uri: str, place: types.Range) -> Span | None:
        if (path := path_of(uri)) is None:
            return None
        text = self.text_of(path)
        start, end = (self._column(text, at) for at in (place.start, place.end))
        return Span(path, place.start.line, start, place.end.line, end)

    def _column(self, text: str | None, at: types.Position) -> int:
        if self._counts_characters or text is None:
            return at.character
        return _characters(_line(text, at.line), at.character)

    async def _report_saved(self, uri: str, kind: types.FileChangeType) -> None:
        self._note_listing(kind)
        changes = [{"uri": uri, "type": int(kind)}]
        await self._notify(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, {"changes": changes})
        if self._takes_saves():
            await self._notify(types.TEXT_DOCUMENT_DID_SAVE, {"textDocument": {"uri": uri}})

    async def _check_others(self, paths: Sequence[Path], seconds: float) -> None:
        """Refresh the problems of the other open files, which an edit may have changed, too."""
        edited = {path.as_uri() for path in paths}
        others = [uri for uri in self._open if uri not in edited]
        if not others:
            return
        if self.capabilities.diagnostic_provider is None:
            await asyncio.sleep(_OTHERS)
        elif self._checks_across_files:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(self._pull(uri, seconds) for uri in others[-_MOST_PULLED:]))

    @property
    def _checks_across_files(self) -> bool:
        """True if the text of one file can change the problems of another."""
        provider = self.capabilities.diagnostic_provider
        return provider is not None and provider.inter_file_dependencies

    async def _settled(self, uri: str) -> None:
        """Wait until the server has published nothing about a file for a while."""
        count = -1
        while count != self._counts.get(uri, 0):
            count = self._counts.get(uri, 0)
            await asyncio.sleep(self._settle)

    async def _pull(self, uri: str, seconds: float) -> Sequence[Problem]:
        params = {"textDocument": {"uri": uri}}
        result: Any = None
        for left in reversed(range(_MOST_TRIES)):
            try:
                result = await self._request(types.TEXT_DOCUMENT_DIAGNOSTIC, params, seconds)
                break
            except RequestFailed as exc:
                if exc.code not in _BUSY or not left:
                    raise
            await asyncio.sleep(_BREAK)
        items = cast("dict[str, Any]", result).get("items") if isinstance(result, dict) else None
        problems = self._problems(uri, items)
        self._note(uri, self._open[uri].version, problems)
        return problems

    def _take(self, method: str, params: Any) -> None:
        """Process a notification; those that only inform a user are dropped."""
        if not isinstance(params, dict):
            return
        published = cast("dict[str, Any]", params)
        if method == types.WINDOW_LOG_MESSAGE:
            self._take_log(published.get("message"))
        if method != types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS:
            return
        uri, version = published.get("uri"), published.get("version")
        if isinstance(uri, str) and path_of(uri) is not None:
            number = version if isinstance(version, int) else None
            self._note(uri, number, self._problems(uri, published.get("diagnostics")))

    def _take_log(self, message: object) -> None:
        if not isinstance(message, str):
            return
        if not self._lists_files:
            self._lists_files = self._unlisted = _LISTS_FILES.match(message) is not None
        elif _LISTED.match(message):
            self._unlisted = False
            self._news.set()

    def _note(self, uri: str, version: int | None, problems: Sequence[Problem]) -> None:
        uri = _canonical(uri)
        self._published.pop(uri, None)
        while len(self._published) >= _MOST_PUBLISHED:
            self._published.pop(next(iter(self._published)))
        self._published[uri] = (version, problems)
        self._counts[uri] = self._counts.get(uri, 0) + 1
        self._news.set()

    def _problems(self, uri: str, items: object) -> list[Problem]:
        """The errors and warnings among diagnostics."""
        found: list[Problem] = []
        document = self._open.get(_canonical(uri))
        lines = document.text.split("\n") if document is not None else []
        for item in cast("list[Any]", items)[:MOST_PROBLEMS] if isinstance(items, list) else ():
            one = _structured(item, types.Diagnostic)
            severity = _SEVERITIES.get(one.severity) if one is not None else None
            if one is None or severity is None:
                continue
            start = one.range.start
            line = lines[start.line] if start.line < len(lines) else ""
            counted = self._counts_characters or not line
            column = start.character if counted else _characters(line, start.character)
            rule = "" if one.code is None else str(one.code)
            found.append(
                Problem(
                    start.line + 1,
                    column + 1,
                    severity,
                    _joined(str(one.message)[:_LONGEST_TEXT]),
                    rule[:_LONGEST_TEXT],
                    (one.source or "")[:_LONGEST_TEXT],
                )
            )
        return found

    def _configuration(self, params: Any) -> list[Any]:
        asked = _structured(params, types.ConfigurationParams)
        return [self._section(item.section or "") for item in asked.items] if asked is not None else []

    def _section(self, name: str) -> Any:
        value: Any = self._settings
        for part in name.split(".") if name else ():
            value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, Mapping) else None
        return value

    def _register(self, params: Any) -> None:
        """Note that the server answers questions about problems from now on."""
        asked = _structured(params, types.RegistrationParams)
        for each in asked.registrations if asked is not None else ():
            if each.method == types.TEXT_DOCUMENT_DIAGNOSTIC:
                options = _structured(each.register_options, types.DiagnosticOptions)
                self.capabilities.diagnostic_provider = options or types.DiagnosticOptions(True, False)
                self._news.set()

    def _folder(self) -> dict[str, str]:
        return {"uri": self._root.as_uri(), "name": self._root.name}

    def _takes_saves(self) -> bool:
        sync = self.capabilities.text_document_sync
        return bool(sync.save) if isinstance(sync, types.TextDocumentSyncOptions) else False

    async def _close(self, uri: str) -> None:
        del self._open[uri]
        self._counts.pop(uri, None)
        await self._notify(types.TEXT_DOCUMENT_DID_CLOSE, {"textDocument": {"uri": uri}})

    async def _request(self, method: str, params: Any, seconds: float) -> Any:
        if self._connection is None:
            raise ConnectionLost("it is not started")
        return await self._connection.request(method, params, seconds)

    async def _notify(self, method: str, params: Any) -> None:
        if self._connection is None:
            raise ConnectionLost("it is not started")
        await self._connection.notify(method, params)


def _nothing(_params: Any) -> None:
    return None


def path_of(uri: str) -> Path | None:
    """The path of a file's address; None if it is none."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    return Path(path) if parts.scheme == "file" and path.startswith("/") and "\0" not in path else None


def _canonical(uri: str) -> str:
    """The address of a file as we write it: servers quote other characters."""
    path = path_of(uri)
    return uri if path is None else path.as_uri()


def _structured(value: Any, kind: type[Kind]) -> Kind | None:
    """A value as its type; None if it is not of that type."""
    try:
        return None if value is None else _CONVERTER.structure(value, kind)
    except Exception:
        # cattrs raises errors and groups of errors of any kind.
        return None


def _scope(symbols: Sequence[types.DocumentSymbol], at: types.Position) -> list[types.DocumentSymbol]:
    """The symbols beside the one whose name is at a place, itself included; none if there is none."""
    for each in symbols:
        if each.selection_range.start <= at <= each.selection_range.end:
            return [*symbols]
        if found := _scope(each.children or (), at):
            return found
    return []


def _joined(message: str) -> str:
    """A message of several lines as one."""
    lines = [words for line in message.splitlines() if (words := " ".join(line.split()))]
    return "".join(
        line + ("" if last else " " if line[-1] in ":;,." else "; ")
        for line, last in zip(lines, [*[False] * (len(lines) - 1), True], strict=True)
    )


def _texts(paths: Sequence[Path]) -> dict[Path, str | None]:
    """The texts of files; None for one that cannot be read."""
    return {path: _text_on_disk(path) for path in paths}


def _text_on_disk(path: Path) -> str | None:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


def _line(text: str, number: int) -> str:
    """A line of a text, without its end."""
    lines = text.split("\n", number + 1)
    return lines[number].rstrip("\r") if number < len(lines) else ""


def _units(text: str) -> int:
    """The number of UTF-16 units."""
    return len(text) + sum(ord(each) > _UTF16_LIMIT for each in text)


def _characters(line: str, units: int) -> int:
    """The number of characters in the first units of a line."""
    if line.isascii():
        return min(units, len(line))
    count = 0
    for place, each in enumerate(line):
        if count >= units:
            return place
        count += 1 + (ord(each) > _UTF16_LIMIT)
    return len(line)


_CAPABILITIES = types.ClientCapabilities(
    general=types.GeneralClientCapabilities(
        position_encodings=[types.PositionEncodingKind.Utf32, types.PositionEncodingKind.Utf16]
    ),
    workspace=types.WorkspaceClientCapabilities(
        configuration=True,
        workspace_folders=True,
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        did_change_configuration=types.DidChangeConfigurationClientCapabilities(),
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
    ),
    window=types.WindowClientCapabilities(work_done_progress=False),
    text_document=types.TextDocumentClientCapabilities(
        synchronization=types.TextDocumentSyncClientCapabilities(did_save=True),
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True),
        # basedpyright answers questions about problems only if they are registered.
        diagnostic=types.DiagnosticClientCapabilities(
            dynamic_registration=True, related_document_support=False
        ),
        definition=types.DefinitionClientCapabilities(link_support=True),
        references=types.ReferenceClientCapabilities(),
        rename=types.RenameClientCapabilities(prepare_support=False),
        document_symbol=types.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True),
    ),
)

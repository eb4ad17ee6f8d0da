"""The native calls of a Chat Completions answer, joined from the pieces that its server sends.

OpenAI's pieces name their call by `index`; the first one has its id and name. Servers that are compatible
with it leave the index out, give several calls the same one, or the same id, send name and id with every
piece or the name in pieces, arguments as an object or after an empty one, a call as a whole, or as a whole
once more at its end. A piece with a name begins a call unless it can only go on with one; a piece without
goes on with the call that it belongs to. No two calls have the same id.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cogency_tui.providers.base import CallDelta, ReasoningItem
from cogency_tui.providers.surrogates import SurrogateJoiner, whole_text
from cogency_tui.providers.wire_protocol import count_of, items, table, text_of

EXTRA = "extra_content"
"""Field of a call with content that Google's endpoints, which put a signature there, require back."""


@dataclass(slots=True)
class _Piece:
    """A piece of a call, at its position among those of its event. `index` is the server's."""

    position: int
    index: int | None
    id: str
    name: str
    arguments: str
    extra: dict[str, Any]

    @property
    def is_empty(self) -> bool:
        """True if it has nothing of a call."""
        return not (self.id or self.name or self.arguments or self.extra)


@dataclass(slots=True)
class _Call:
    """A call as received so far: `index` and `given` are the server's index and id, which may be those of
    other calls as well. Its name may grow until its arguments begin: then it is `announced`."""

    number: int
    index: int | None
    given: str = ""
    id: str = ""
    name: str = ""
    announced: bool = False
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    event: int = 0
    _arguments: list[str] = field(default_factory=list[str])
    _unsent: str = ""
    _held: str = ""
    _length: int = 0
    _joiner: SurrogateJoiner = field(default_factory=SurrogateJoiner)

    @property
    def begun(self) -> bool:
        """True if there are arguments."""
        return bool(self._arguments)

    @property
    def is_held(self) -> bool:
        """True if the arguments are an empty object, which may only stand for those that follow."""
        return bool(self._held)

    def add(self, arguments: str) -> None:
        """Add a piece of the arguments."""
        if not arguments.strip() and not (arguments and self._arguments):
            return
        if not self._arguments and arguments.strip() == "{}":
            self._held = arguments
        else:
            self._release(arguments)
        self._arguments.append(arguments)
        self._length += len(arguments)

    def _release(self, arguments: str) -> None:
        """Send a piece, after what was held unless the piece replaces it."""
        if self._held and arguments.lstrip().startswith("{"):
            self._arguments.clear()
            self._length = 0
            self._held = ""
        self._unsent += self._held + self._joiner.feed(arguments)
        self._held = ""

    def take(self) -> str:
        """Return the arguments since the last time."""
        unsent, self._unsent = self._unsent, ""
        return unsent

    def is_complete(self) -> bool:
        """Return whether the arguments are a JSON object."""
        return bool(self._arguments) and self._arguments[-1].rstrip()[-1:] in ("}", "") and self._is_object()

    def close(self) -> None:
        """End the arguments, at the end of the answer."""
        self._unsent += self._held + self._joiner.close()
        self._held = ""

    def has(self, arguments: str) -> bool:
        """Return whether these are all of its arguments."""
        return len(arguments) == self._length > 0 and arguments == "".join(self._arguments)

    def _is_object(self) -> bool:
        try:
            return isinstance(json.loads("".join(self._arguments)), dict)
        except (ValueError, RecursionError):
            return False


class CallJoiner:
    """Joins the pieces of one answer's calls."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._event = 0

    def feed(self, delta: Mapping[str, Any]) -> Iterator[CallDelta | ReasoningItem]:
        """Yield what a delta adds to the calls."""
        self._event += 1
        pieces = _pieces(delta)
        for piece in pieces:
            if piece.is_empty:
                continue
            call = self._belonging(piece, len(pieces))
            if call is not None and _is_repetition(call, piece):
                continue
            if call is None or self._begins_another(call, piece):
                call = self._begin(piece)
            yield from self._go_on(call, piece)

    def close(self) -> Iterator[CallDelta | ReasoningItem]:
        """Yield what was held back, at the end of the answer."""
        for call in self._calls:
            call.close()
            if call.name or call.begun:
                yield from self._send(call)

    def _belonging(self, piece: _Piece, pieces: int) -> _Call | None:
        """Return the call that a piece names by index or id, else the one at its position, or the last."""
        indexed = None if piece.index is None else self._by_index.get(piece.index)
        if found := indexed or self._by_id.get(piece.id):
            return found
        if not self._calls or (piece.index is not None and (piece.name or piece.id)):
            return None
        at_position = not (piece.name or piece.id) and len(self._calls) >= pieces
        return self._calls[piece.position - pieces if at_position else -1]

    def _begins_another(self, call: _Call, piece: _Piece) -> bool:
        if not (piece.name and call.name):
            return False
        same_id = bool(piece.id) and piece.id == call.given
        if piece.id and call.given and not same_id:
            return True
        if piece.index is None and call.event == self._event:
            return True
        if not call.begun:
            # Without index and id nothing but the name tells calls apart, and it is not in pieces.
            return piece.index is None and not piece.id and piece.name != call.name
        if piece.name != call.name or piece.index != call.index:
            return True
        whole = piece.arguments.lstrip().startswith("{") and call.is_complete()
        return whole and not (same_id and call.is_held)

    def _begin(self, piece: _Piece) -> _Call:
        call = _Call(len(self._calls), piece.index)
        self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        return call

    def _go_on(self, call: _Call, piece: _Piece) -> Iterator[CallDelta | ReasoningItem]:
        call.event = self._event
        if not call.announced:
            self._identify(call, piece)
        call.add(piece.arguments)
        if call.begun and call.name:
            yield from self._send(call)

    def _identify(self, call: _Call, piece: _Piece) -> None:
        """Take what a piece says of its call, whose name may come in pieces, repeated or grown."""
        if piece.id and not call.given:
            call.given = piece.id
            call.id = "" if piece.id in self._by_id else piece.id
            self._by_id[piece.id] = call
        grown = piece.name.startswith(call.name)
        call.name = piece.name if grown else call.name + piece.name
        call.extra.update(piece.extra)

    def _send(self, call: _Call) -> Iterator[CallDelta | ReasoningItem]:
        """Yield what is new of a call: first its beginning, after the content that has to go back with it."""
        arguments = call.take()
        if not call.announced:
            call.announced = True
            yield from [ReasoningItem({EXTRA: call.extra})] if call.extra else []
            yield CallDelta(call.number, call.id, call.name, arguments)
        elif arguments:
            yield CallDelta(call.number, arguments=arguments)


def _is_repetition(call: _Call, piece: _Piece) -> bool:
    """Return whether a piece is the whole of a call that is already there in pieces, as of Cerebras."""
    same = bool(piece.id) and (piece.id, piece.name, piece.index) == (call.given, call.name, call.index)
    return same and call.has(piece.arguments) and call.is_complete()


def _pieces(delta: Mapping[str, Any]) -> Sequence[_Piece]:
    """Return the pieces of calls in a delta; the older `function_call` is the only one of its answer."""
    calls = items(delta.get("tool_calls"))
    legacy = table(delta.get("function_call"))
    if not calls and legacy:
        calls = [{"index": 0, "function": legacy}]
    return [_piece(position, table(each)) for position, each in enumerate(calls)]


def _piece(position: int, given: dict[str, Any]) -> _Piece:
    function = table(given.get("function"))
    arguments = function.get("arguments")
    return _Piece(
        position,
        count_of(given.get("index")),
        whole_text(text_of(given.get("id"))),
        whole_text(text_of(function.get("name"))),
        arguments if isinstance(arguments, str) else _as_text(arguments),
        table(given.get(EXTRA)),
    )


def _as_text(arguments: object) -> str:
    """Return the JSON text of arguments that are an object."""
    return json.dumps(arguments, ensure_ascii=False) if arguments else ""

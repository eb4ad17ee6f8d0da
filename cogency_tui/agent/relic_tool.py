"""`relic`: values that an agent stores for later conversations in the project, in the user's store.

Services and their parameters are fixed; an error names what is wrong with a call, and shows the right form.
Calls of one batch reach the store in their order: each is passed to its one worker as soon as it starts.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cogency_tui.agent.call_by_name import PARAMETERS, NamedArgs, choose, errors_as_results
from cogency_tui.agent.engine import Engine
from cogency_tui.agent.permissions.gate import Gate
from cogency_tui.agent.permissions.stored_taint import EARLIER
from cogency_tui.errors import ToolError
from cogency_tui.protocol.taint_sources import NONE, Sources
from cogency_tui.store.agent_key_values import Relics
from cogency_tui.tools import argument_schema
from cogency_tui.tools.base import Aliases, Intent, Outcome, ToolContext, ToolKind

Key = Annotated[str, Meta(min_length=1, max_length=500)]

_CACHE_FORM = (
    '{"action": "set", "key": …, "value": any JSON, "ttl": seconds (optional)} or '
    '{"action": "get" or "delete", "key": …}'
)
_LOG_FORM = '{"action": "append", "entry": any JSON} or {"action": "read", "limit": 20}'
_FORMS = {"cache": _CACHE_FORM, "log": _LOG_FORM}

_FLAT = {
    "cache_set": ("cache", "set"),
    "cache_store": ("cache", "set"),
    "cache_get": ("cache", "get"),
    "cache_delete": ("cache", "delete"),
    "log_append": ("log", "append"),
    "log_read": ("log", "read"),
}
"""Names that include the action."""


class _Set(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key
    value: Any
    ttl: Annotated[float, Meta(gt=0)] | None = None


class _Get(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key


class _Delete(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key


class _Append(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entry: Any


class _Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 20


_ACTIONS: dict[str, dict[str, type[msgspec.Struct]]] = {
    "cache": {"set": _Set, "get": _Get, "delete": _Delete},
    "log": {"append": _Append, "read": _Read},
}


class Relic:
    """Serves the relics of the engine's project to the conversation of `gate`. A value carries the sources
    that the conversation had read when it was stored into the conversation that reads it.
    """

    name = "relic"
    kind: ToolKind = "read"
    description = (
        "Store JSON values of this project, for later conversations too. "
        'cache: parameters {"action": "set" | "get" | "delete", "key", ["value"], ["ttl": seconds]}; '
        'log: {"action": "append" | "read", ["entry"], ["limit"]}.'
    )
    brief = True
    args = NamedArgs
    aliases = Aliases(PARAMETERS)

    def __init__(self, engine: Engine, gate: Gate, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._gate = gate
        self._clock = clock

    async def plan(self, args: NamedArgs, context: ToolContext) -> Intent:
        _read(args)
        return Intent("read", f"Use the {args.name} of the project")

    async def run(self, args: NamedArgs, context: ToolContext) -> Outcome:
        request = _read(args)
        with errors_as_results():
            store = await self._engine.store()
            relics = Relics(store.database, self._engine.project, self._clock)
            return await self._serve(relics, request)

    async def _serve(self, relics: Relics, request: msgspec.Struct) -> Outcome:
        if isinstance(request, _Set):
            await relics.set(request.key, request.value, request.ttl, self._gate.read)
            ttl = "" if request.ttl is None else f" for {request.ttl:g} s"
            return Outcome(f"Kept {request.key}{ttl}")
        if isinstance(request, _Get):
            value = await relics.get(request.key)
            if value is None:
                # A failure, so that what depends on the value does not run without it.
                return Outcome(f"Nothing is stored under {request.key}, or it has expired", failed=True)
            left = "" if value.expires is None else f", for another {value.expires - self._clock():.0f} s"
            return Outcome(f"Found {request.key}{left}", value.value, sources=_known(value.sources))
        if isinstance(request, _Delete):
            there = await relics.delete(request.key)
            return Outcome(f"Removed {request.key}" if there else f"Nothing was stored under {request.key}")
        if isinstance(request, _Append):
            await relics.append(request.entry, self._gate.read)
            return Outcome("Added to the log")
        assert isinstance(request, _Read)
        entries = await relics.read(request.limit)
        content = [{"time": _iso(entry.timestamp), "entry": entry.entry} for entry in entries]
        outcome = f"{len(content)} {'entry' if len(content) == 1 else 'entries'}, oldest first"
        sources = NONE
        for entry in entries:
            sources |= _known(entry.sources)
        return Outcome(outcome, content, sources=sources)


def _read(args: NamedArgs) -> msgspec.Struct:
    """The parameters, parsed for their action.

    Raises:
        ToolError: no such service or action, or parameters that it does not accept.
    """
    service, implied = _FLAT.get(args.name, (args.name, None))
    actions = choose(Relic.name, service, _ACTIONS)
    form = f'Form: {{"name": "{service}", "parameters": {_FORMS[service]}}}'
    parameters = dict(args.parameters)
    action: Any = parameters.pop("action", implied)
    if not isinstance(action, str) or action not in actions or implied not in (None, action):
        there = " or ".join(f'"{name}"' for name in ([implied] if implied else actions))
        raise ToolError(f'relic {args.name}: "action" must be {there}.', form)
    try:
        return argument_schema.convert(f"relic {service} {action}", parameters, actions[action])
    except ToolError as exc:
        raise ToolError(str(exc), form) from None


def _known(sources: Sources | None) -> Sources:
    return EARLIER if sources is None else sources


def _iso(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")

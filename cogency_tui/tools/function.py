"""A tool of the user's own: a typed async function with a docstring.

Its parameters are the arguments, with their types (dataclasses, typed dictionaries and lists of them too),
defaults and `msgspec.Meta`; its docstring is the description that the model is sent. Its effect on files is
not known, so it needs permission like a command, unless it only reads.
"""

import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast, get_type_hints

import msgspec

from cogency_tui.errors import UsageError
from cogency_tui.tools.argument_schema import json_schema
from cogency_tui.tools.base import NO_ALIASES, Effect, Intent, Outcome, Tool, ToolContext, ToolKind, Touch

Function = Callable[..., Awaitable[Any]]
F = TypeVar("F", bound=Function)

_EFFECT = "cogency_effect"
_SHOWN = 200


def reads(function: F) -> F:
    """Mark a function as read-only: it runs without permission."""
    setattr(function, _EFFECT, "read")
    return function


def as_tool(given: Tool[Any] | Function) -> Tool[Any]:
    """Wrap a function as a tool; return a tool unchanged.

    Raises:
        UsageError: the function is not async, not typed or not documented, or a type has no JSON form.
    """
    return FunctionTool(given) if inspect.isroutine(given) else cast("Tool[Any]", given)


class FunctionTool:
    """A tool that calls `function` with the arguments that the model gave."""

    aliases = NO_ALIASES

    def __init__(self, function: Function) -> None:
        self.name = function.__name__
        self.description = inspect.getdoc(function) or ""
        if not inspect.iscoroutinefunction(function):
            raise UsageError(f"The tool {self.name} must be an async function.", "Write `async def`.")
        if not self.description:
            raise UsageError(
                f"The tool {self.name} has no docstring.",
                "Describe in it what the tool does, and when to use it.",
            )
        self.args = _arguments(function)
        _require_schema(self.name, self.args)
        self._function = function
        self._effect: Effect = getattr(function, _EFFECT, "command")
        self.kind: ToolKind = "read" if self._effect == "read" else "other"

    def touch(self, _args: msgspec.Struct, _context: ToolContext, /) -> Touch:
        return Touch() if self._effect == "read" else Touch(everything=True, writes=True)

    async def plan(self, args: msgspec.Struct, context: ToolContext) -> Intent:
        del context
        given = json.dumps(msgspec.to_builtins(args), ensure_ascii=False)
        shown = given if len(given) <= _SHOWN else f"{given[:_SHOWN]}…"
        return Intent(
            self._effect, f"Run {self.name} {shown}", detail=f"{self.name} {given}", everything=True
        )

    async def run(self, args: msgspec.Struct, context: ToolContext) -> Outcome:
        del context
        value: Any = await self._function(**msgspec.structs.asdict(args))
        content = value if isinstance(value, str) else msgspec.to_builtins(value)
        return Outcome(f"{self.name} done", content)


def _require_schema(name: str, args: type[msgspec.Struct]) -> None:
    try:
        json_schema(args)
    except TypeError as error:
        raise UsageError(
            f"A parameter of the tool {name} cannot be described to a model: {error}.",
            "Give it a type, and a default, that JSON can express.",
        ) from error


def _arguments(function: Function) -> type[msgspec.Struct]:
    name = function.__name__
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise UsageError(
                f"The tool {name} cannot have the parameter {parameter}.", "Give each argument a name."
            )
        if parameter.name not in hints:
            raise UsageError(
                f"The parameter {parameter.name} of the tool {name} has no type.", "Annotate it."
            )
        field = (parameter.name, hints[parameter.name])
        fields.append(field if parameter.default is parameter.empty else (*field, parameter.default))
    return msgspec.defstruct(f"{name}_args", fields, frozen=True, forbid_unknown_fields=True, kw_only=True)

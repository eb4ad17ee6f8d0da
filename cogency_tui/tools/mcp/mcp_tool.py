"""Adapts a tool of an MCP server to the registry.

A server's claims about its tools are not trusted: each call needs permission, whatever the tool claims to
do, and its answers are untrusted content.

Invariant: whatever the JSON schema of a tool's arguments says, its description and its portable form here
are bounded. Only the most frequent mistakes of a model are checked (names, missing arguments, plain types);
the server decides.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from itertools import islice
from typing import Any, cast

import msgspec

from cogency_tui.errors import CogencyError, ToolError
from cogency_tui.protocol.events import Image
from cogency_tui.safe_text import clean
from cogency_tui.tools.base import NO_ALIASES, Intent, Outcome, ToolContext, ToolKind, Touch, with_protected
from cogency_tui.tools.mcp.host_protocol import Offer
from cogency_tui.tools.mcp.names import full_name, source_of
from cogency_tui.tools.mcp.server import Server
from cogency_tui.tools.portable_schema import LONGEST_MEANING, inner_meanings, portable, short_line
from cogency_tui.workspace.protected_names import shown

_DEEPEST = 3
_MOST_WORDS = 8
"""Most choices and members of a type that are listed."""

_MOST_LINES = 60
_MOST_INNER = 20
"""Most lines about the members of one argument."""

_LONGEST = 12_000
"""Characters after which no further argument is described."""

_REFERENCES = 8

_ELSEWHERE = ("patternProperties", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")
"""Keywords with which a schema may name arguments outside its properties."""

_READ = (
    *("$ref", "type", "enum", "const", "default", "description", "items", "properties", "required"),
    *("additionalProperties", *_ELSEWHERE),
)
"""Keywords of a schema that are read."""

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_WORDS = {"integer": "int", "number": "float", "boolean": "bool", "string": "str", "array": "list"}


class Given(msgspec.Struct, frozen=True):
    """Arguments as they are sent to the server."""

    values: dict[str, Any]


class Schema:
    """The JSON schema of a tool's arguments."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._whole = schema
        top = self._resolved(schema)
        self._properties = _table(top.get("properties"))
        required = top.get("required")
        names = cast("list[Any]", required) if isinstance(required, list) else []
        self._required = [name for name in names if isinstance(name, str) and name in self._properties]
        others = top.get("additionalProperties")
        elsewhere = any(key in top for key in _ELSEWHERE)
        self._open = bool(others) or (others is None and (elsewhere or not self._properties))
        """True if the tool takes arguments that it does not name. A schema that names some and is silent on
        others does not, unless other keywords may name more: an unknown name is then reported rather than
        lost."""

    def described(self) -> str:
        """Describe each argument on a line: name, type, default, meaning. The lines below it are the meanings
        of the members of objects that it holds."""
        return self._described

    @cached_property
    def _described(self) -> str:
        return self._text(self.portable()["properties"])

    def _text(self, schemas: Mapping[str, Mapping[str, Any]]) -> str:
        lines: list[str] = []
        length = 0
        for count, (name, given) in enumerate(self._properties.items()):
            if len(lines) >= _MOST_LINES or length > _LONGEST:
                lines.append(f"- {len(self._properties) - count} more, not listed here")
                break
            part = self._resolved(given)
            default = "" if "default" not in part else f", default {_short(part['default'])}"
            need = "" if name in self._required else default or ", optional"
            meaning = short_line(part.get("description"))
            lines.append(
                f"- {short_line(name)}: {self._type(part)}{need}{f' — {meaning}' if meaning else ''}"
            )
            lines.extend(islice(inner_meanings(schemas.get(name, {})), _MOST_INNER))
            length = sum(map(len, lines))
        if self._open:
            lines.append("- others are passed on unchanged")
        return "\n".join(lines)

    def portable(self) -> dict[str, Any]:
        """Return the portable form, which refuses the names that `check` refuses."""
        return msgspec.json.decode(self._portable)

    @cached_property
    def _portable(self) -> bytes:
        schema = portable(self._whole, lambda: self._text({}))
        if not self._open and schema["properties"].keys() == self._properties.keys():
            schema["additionalProperties"] = False
        return msgspec.json.encode(schema)

    def usage(self) -> str:
        """Format the right form on one line."""
        parts = [
            f"{short_line(name)}: {text}" if name in self._required else f"[{short_line(name)}: {text}]"
            for name, given in list(self._properties.items())[:_MOST_LINES]
            for text in (self._type(self._resolved(given), _DEEPEST),)
        ]
        return ", ".join([*parts, *(["…"] if self._open else [])]) or "none"

    def check(self, tool: str, args: Any) -> Given:
        """Validate the arguments that a model gave.

        Raises:
            ToolError: naming what is missing, unknown or of another type, and the right form.
        """
        if not isinstance(args, dict):
            raise self._refusal(tool, [f"the arguments must be an object, not {_short(args)}"])
        given = cast("dict[str, Any]", args)
        problems = [f'"{short_line(name)}" is missing' for name in self._required if name not in given]
        for name, value in given.items():
            if name not in self._properties:
                if not self._open:
                    problems.append(f'unknown argument "{shown(name)}"')
                continue
            part = self._resolved(self._properties[name])
            if not _fits(value, part.get("type")):
                problems.append(f'"{short_line(name)}" must be {self._type(part)}, not {_short(value)}')
        if problems:
            raise self._refusal(tool, problems)
        return Given(given)

    def _refusal(self, tool: str, problems: list[str]) -> ToolError:
        return ToolError(f"{tool}: {'; '.join(problems)}.", f"Arguments: {self.usage()}")

    def _resolved(self, given: Any) -> Mapping[str, Any]:
        """Return a part of the schema, with a reference resolved."""
        part = _table(given)
        for _ in range(_REFERENCES):
            reference = part.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            found: Any = self._whole
            for step in reference[2:].split("/", _REFERENCES):
                found = _table(found).get(step)
            there = _table(found)
            part = {key: there[key] for key in _READ if key in there} | {
                key: part[key] for key in _READ if key in part and key != "$ref"
            }
        return part

    def _type(self, part: Mapping[str, Any], depth: int = 0) -> str:
        """Name a type in a few words."""
        return short_line(self._whole_type(part, depth))

    def _whole_type(self, part: Mapping[str, Any], depth: int) -> str:
        if isinstance(part.get("enum"), list):
            return " | ".join(map(_short, part["enum"][:_MOST_WORDS]))
        if "const" in part:
            return _short(part["const"])
        for key in ("anyOf", "oneOf"):
            if isinstance(part.get(key), list) and depth < _DEEPEST:
                kinds = [
                    self._type(self._resolved(one), depth + 1) for one in part[key][: _MOST_WORDS >> depth]
                ]
                return " or ".join(dict.fromkeys(kinds))
        kind = part.get("type")
        if isinstance(kind, list):
            return " or ".join(
                _WORDS.get(str(one), short_line(one)) for one in cast("list[Any]", kind)[:_MOST_WORDS]
            )
        if kind == "array" and depth < _DEEPEST and "items" in part:
            return f"list of {self._type(self._resolved(part['items']), depth + 1)}"
        members = _table(part.get("properties"))
        if members and depth < _DEEPEST:
            return f"{{{', '.join(self._members(members, part.get('required'), depth))}}}"
        return _WORDS.get(kind, short_line(kind)) if isinstance(kind, str) else "any"

    def _members(self, members: Mapping[str, Any], required: Any, depth: int) -> Iterator[str]:
        """Name as many members of an object as are useful: a longer text is cut, and each can be as wide
        again."""
        needed = cast("list[Any]", required) if isinstance(required, list) else []
        length = 0
        for name, inner in islice(members.items(), _MOST_WORDS):
            mark = "" if name in needed else "?"
            line = f"{short_line(name)}{mark}: {self._type(self._resolved(inner), depth + 1)}"
            yield line
            length += len(line)
            if length > LONGEST_MEANING:
                return


def _table(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a value has a plain type; a value fits any other type."""
    kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    allowed = [_KINDS[one] for one in kinds if isinstance(one, str) and one in _KINDS]
    if not allowed or len(allowed) < len(kinds):
        return True
    if isinstance(value, bool):
        return (bool,) in allowed
    if isinstance(value, float) and value.is_integer() and (int,) in allowed:
        return True
    return isinstance(value, tuple(one for group in allowed for one in group))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return shown(text if len(text) <= 60 else f"{text[:60]}…")


class McpTool:
    """A tool of `server`, named after the server and itself."""

    kind: ToolKind = "other"
    args = Given
    aliases = NO_ALIASES

    def __init__(self, server: Server, offer: Offer) -> None:
        self.name = full_name(server.name, offer.name)
        description = " ".join(clean(offer.description).split())
        self.description = f"(a tool of the MCP server {server.name}) {description}".rstrip()
        self._server = server
        self._offer = offer
        self._schema = Schema(offer.schema)

    def described_arguments(self) -> str:
        return self._schema.described()

    def arguments_schema(self) -> dict[str, Any]:
        return self._schema.portable()

    def convert(self, args: Any) -> Given:
        """Convert decoded JSON to the arguments for the server.

        Raises:
            ToolError: they do not match the tool's schema.
        """
        return self._schema.check(self.name, args)

    def touch(self, _args: Given, _context: ToolContext, /) -> Touch:
        """A command may touch any file, a remote server none."""
        return Touch() if self._server.settings.url else Touch(everything=True, writes=True)

    async def plan(self, args: Given, context: ToolContext) -> Intent:
        del context
        settings = self._server.settings
        return Intent(
            "tool",
            f"Call {self._offer.name} of the MCP server {self._server.name} ({settings.address})",
            detail=f"{self.name} {json.dumps(args.values, ensure_ascii=False, indent=2)}",
            everything=not settings.url,
            network=settings.host,
            brings=source_of(self.name),
            tool=self.name,
        )

    async def run(self, args: Given, context: ToolContext) -> Outcome:
        recorded = nullcontext(None)
        if context.journal is not None and not self._server.settings.url:
            recorded = context.journal.around_command(context.call_id, self.name, consent=context.consent)
        async with recorded as found:
            if found is not None:
                found.stays()
            done = await self._server.call(self._offer.name, args.values, context.report)
        notes = [] if found is None else list(found.notes)
        images, problems = await self._stored(done.images, context)
        text = "\n".join([done.text, *problems, *notes])
        if done.failed and not text.strip():
            raise ToolError(f"{self.name} failed without giving a reason.")
        outcome = f"{self.name} failed" if done.failed else f"{len(done.text):,} characters"
        return with_protected(Outcome(outcome, text, failed=done.failed, images=images), found)

    async def _stored(self, contents: Sequence[bytes], context: ToolContext) -> tuple[list[Image], list[str]]:
        """Store the images of a result; also return the notes on those that cannot be shown."""
        images: list[Image] = []
        problems: list[str] = []
        for number, content in enumerate(contents, 1):
            try:
                if context.add_image is None:
                    raise ToolError("images cannot be shown here")
                images.append(await context.add_image(content, f"{self.name} {number}"))
            except CogencyError as error:
                problems.append(f"[image {number} is not shown: {error}]")
        return images, problems

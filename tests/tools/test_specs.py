"""Tools as vendors' native tool calling receives them: names, descriptions and JSON Schemas."""

import enum
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import anthropic.types
import msgspec
import openai.types.chat
import openai.types.responses
import pytest
from google.genai import types as gemini
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import Meta
from pydantic import TypeAdapter

from cogency_tui.agent.call_by_name import AgentArgs, NamedArgs
from cogency_tui.errors import ToolError
from cogency_tui.redaction import Redactor
from cogency_tui.tools import argument_schema
from cogency_tui.tools.base import Tool
from cogency_tui.tools.function import as_tool
from cogency_tui.tools.mcp.host_protocol import Offer
from cogency_tui.tools.mcp.mcp_tool import McpTool
from cogency_tui.tools.mcp.server import Server, Surroundings
from cogency_tui.tools.recall import RecallArgs
from cogency_tui.tools.registry import OWN_TOOLS, Registry, default_tools
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.spec_names import spec_names
from tests.cases import cases
from tests.tools.conftest import Bench
from tests.tools.mcp.conftest import command
from tests.tools.schema_values import allows, check_schema, values

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
BUILT_IN: list[type[msgspec.Struct]] = [*(tool.args for tool in OWN_TOOLS), RecallArgs, NamedArgs, AgentArgs]


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Change(msgspec.Struct, tag="change", forbid_unknown_fields=True):
    old: Annotated[str, Meta(min_length=1, description="exact text from the file")]
    new: str = ""


class Removal(msgspec.Struct, tag="removal"):
    line: Annotated[int, Meta(ge=1)]


class Tree(msgspec.Struct):
    name: str
    inner: list["Tree"] = []


class Members(TypedDict):
    sizes: dict[str, list[int]]


@dataclass
class Point:
    """A place on the screen."""

    x: float
    y: float = 0.0


class Pair(NamedTuple):
    first: int
    second: str = "x"


class Nested(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments that hold others."""

    edits: Annotated[list[Change | Removal], Meta(min_length=1, description="in order")]
    colour: Colour
    tree: Tree
    members: Members
    points: list[Point] = []
    span: tuple[int, int] = (1, 2)
    either: int | str | None = None
    level: Literal[1, 2] | None = None
    above: Annotated[int, Meta(gt=0)] = 1
    count: int | None = 3
    free: Any = None


STRUCTS = [*BUILT_IN, Nested]


def server(name: str) -> Server:
    return Server(name, command(), Surroundings(Path.cwd(), {}), lambda: None)


def mcp_tool(server_name: str, name: str, schema: dict[str, Any], description: str = "Does it.") -> McpTool:
    return McpTool(server(server_name), Offer(name, description, schema))


async def résumé(edits: list[Change], where: Point | None = None, pair: Pair | None = None) -> str:
    """Change a résumé."""
    return f"{len(edits)} {where} {pair}"


EVERY: list[Tool[Any]] = [
    *default_tools(Background()),
    as_tool(résumé),
    mcp_tool("github", "issues/create", {"type": "object", "properties": {"title": {"type": "string"}}}),
    mcp_tool("1st", "x" * 128, {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}),
    mcp_tool("odd", "list", {"type": "array"}),
]


def test_spec_of_a_tool_has_its_name_its_description_and_its_arguments() -> None:
    specs = Registry(default_tools()).specs()
    assert specs[0] == {
        "name": "read",
        "description": default_tools()[0].description,
        "parameters": {
            "type": "object",
            "properties": {
                "file": {"type": "string", "description": "path from the project's root"},
                "start": {
                    "type": "integer",
                    "description": "first line to show",
                    "minimum": 1,
                    "default": 1,
                },
                "lines": {
                    "type": "integer",
                    "description": "number of lines to show",
                    "minimum": 1,
                    "default": 2000,
                },
            },
            "required": ["file"],
            "additionalProperties": False,
        },
    }
    assert [spec["name"] for spec in specs] == [tool.name for tool in default_tools()]


def test_specs_are_the_same_bytes_each_time_whatever_the_caller_does() -> None:
    registry = Registry(EVERY)
    first = json.dumps(registry.specs())
    for spec in registry.specs():
        spec["parameters"]["properties"]["more"] = {}
    assert json.dumps(registry.specs()) == json.dumps(Registry(EVERY).specs()) == first


def test_nested_structs_are_inlined() -> None:
    schema = argument_schema.json_schema(Nested)
    assert "$" not in json.dumps(schema)
    assert "description" not in schema
    properties = schema["properties"]
    assert properties["edits"] == {
        "type": "array",
        "description": "in order",
        "minItems": 1,
        "items": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "enum": ["change"]},
                        "old": {"type": "string", "description": "exact text from the file", "minLength": 1},
                        "new": {"type": "string"},
                    },
                    "required": ["type", "old"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "enum": ["removal"]},
                        "line": {"type": "integer", "minimum": 1},
                    },
                    "required": ["type", "line"],
                },
            ]
        },
    }
    assert properties["tree"]["properties"]["inner"] == {
        "type": "array",
        "items": {"type": "object", "description": "(the same form as Tree)"},
        "default": [],
    }
    assert properties["either"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert properties["count"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 3}


@pytest.mark.parametrize("args", STRUCTS)
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_value_that_the_schema_allows_is_accepted(args: type[msgspec.Struct], data: st.DataObject) -> None:
    schema = argument_schema.json_schema(args)
    value = data.draw(values(schema))
    if args is Nested:
        # Only the description says what is in a struct that contains itself, and in which place of a tuple.
        value = {**value, "tree": {"name": "x"}, "span": [1, 2]}
    assert allows(schema, value)
    argument_schema.convert("x", value, args)


@pytest.mark.parametrize("args", STRUCTS)
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_value_that_is_accepted_is_allowed_by_the_schema(
    args: type[msgspec.Struct], data: st.DataObject
) -> None:
    schema = argument_schema.json_schema(args)
    value = data.draw(values(schema))
    broken = data.draw(st.sampled_from([*schema["properties"], "unknown"]))
    value[broken] = data.draw(st.booleans() | st.integers(-3, 3) | st.sampled_from([[], {}, [1], {"a": 1}]))
    # As booleans and strings, integers are read beyond the schema.
    field = schema["properties"].get(broken, {})
    kinds = {each.get("type") for each in field.get("anyOf", [field])}
    assume(kinds.isdisjoint({"boolean", "string"}) or type(value[broken]) is not int)
    try:
        argument_schema.convert("x", value, args)
    except ToolError:
        return
    assert allows(schema, value)


@cases(
    ("tool", "args", "allowed"),
    [
        ("read", {"file": "a"}, True),
        ("read", {"file": "a", "start": 0}, False),
        ("read", {}, False),
        ("read", {"file": "a", "unknown": 1}, False),
        ("edit", {"file": "a", "old": "x", "new": ""}, True),
        ("edit", {"file": "a", "old": "", "new": ""}, False),
        ("write", {"file": "a", "content": "x", "overwrite": True}, True),
        ("write", {"file": "a", "content": "x", "overwrite": "yes"}, False),
        ("list", {}, True),
        ("list", {"depth": 21}, False),
        ("find", {"content": "x", "context": 20}, True),
        ("find", {"content": ""}, False),
        ("replace", {"pattern": "*", "old": "a", "new": "b", "regex": True}, True),
        ("replace", {"pattern": "*", "old": "a"}, False),
        ("shell", {"command": "ls", "timeout": 600}, True),
        ("shell", {"command": "ls", "timeout": 601}, False),
        ("processes", {"id": "p1", "action": "read"}, True),
        ("processes", {"action": "start"}, False),
        ("fetch", {"url": "https://a.example"}, True),
        ("fetch", {"url": ["a"]}, False),
        ("search", {"query": "x", "limit": 5}, True),
        ("search", {"query": "x" * 501}, False),
    ],
)
def test_schema_of_a_built_in_tool_allows_what_the_tool_takes(
    bench: Bench, tool: str, args: dict[str, Any], allowed: bool
) -> None:
    registry = Registry(default_tools(Background()))
    schema = next(spec["parameters"] for spec in registry.specs() if spec["name"] == tool)
    assert allows(schema, args) is allowed
    try:
        registry.bind(tool, args, bench.context)
    except ToolError:
        assert not allowed
    else:
        assert allowed


def test_integer_that_a_vendor_sends_as_a_float_is_accepted(bench: Bench) -> None:
    call = bench.registry.bind("read", {"file": "a", "start": 3.0}, bench.context)
    assert msgspec.structs.asdict(call.args)["start"] == 3
    with pytest.raises(ToolError, match=r"not 3\.5"):
        bench.registry.bind("read", {"file": "a", "start": 3.5}, bench.context)


@pytest.mark.parametrize("spec", Registry(EVERY).specs(), ids=lambda spec: spec["name"])
def test_vendors_own_clients_accept_a_spec(spec: dict[str, Any]) -> None:
    function = {"type": "function", "strict": False, **spec}
    assert openai.types.responses.FunctionTool.model_validate(function).parameters == spec["parameters"]
    TypeAdapter(openai.types.responses.FunctionToolParam).validate_python(function)
    chat = {"type": "function", "function": spec}
    TypeAdapter(openai.types.chat.ChatCompletionFunctionToolParam).validate_python(chat)
    tool = {
        "name": spec["name"],
        "description": spec["description"],
        "input_schema": spec["parameters"],
    }
    assert TypeAdapter(anthropic.types.ToolParam).validate_python(tool) == tool
    declaration = gemini.FunctionDeclaration(
        name=spec["name"], description=spec["description"], parameters_json_schema=spec["parameters"]
    )
    assert (
        declaration.model_dump(by_alias=True, exclude_none=True, mode="json")["parametersJsonSchema"]
        == (spec["parameters"])
    )
    gemini.Schema.from_json_schema(
        json_schema=gemini.JSONSchema.model_validate(spec["parameters"]),
        raise_error_on_unsupported_field=True,
    )
    check_schema(spec["parameters"])


def test_schema_of_an_mcp_tool_is_the_servers() -> None:
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "of the issue"},
            "labels": {"type": "array", "items": {"type": "string"}, "default": []},
        },
        "required": ["title"],
    }
    (spec,) = Registry([mcp_tool("github", "create_issue", schema)]).specs()
    assert spec == {
        "name": "github__create_issue",
        "description": "(a tool of the MCP server github) Does it.",
        "parameters": {
            "type": "object",
            "properties": schema["properties"],
            "required": ["title"],
            "additionalProperties": False,
        },
    }


@pytest.mark.parametrize(
    "schema", [{"type": "object"}, {"type": "object", "properties": {"a": {}}, "additionalProperties": True}]
)
def test_mcp_tool_that_takes_unnamed_arguments_has_an_open_schema(schema: dict[str, Any]) -> None:
    (spec,) = Registry([mcp_tool("s", "t", schema)]).specs()
    assert "additionalProperties" not in spec["parameters"]


def test_what_is_wrong_with_an_mcp_schema_is_in_the_tools_description() -> None:
    (spec,) = Registry([mcp_tool("s", "t", {"type": "array"})]).specs()
    assert spec["parameters"] == {"type": "object", "properties": {}}
    assert spec["description"].splitlines() == [
        "(a tool of the MCP server s) Does it.",
        "The arguments must be an object, but their JSON Schema has another type. Arguments:",
        "- others are passed on unchanged",
    ]


def test_secret_in_a_servers_schema_is_redacted_like_its_description() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "default": "sekret-value"}}}
    specs = Registry([mcp_tool("s", "t", schema, "Give sekret-value.")]).specs()
    text = json.dumps(Redactor({"KEY": "sekret-value"}).value(specs))
    assert "sekret-value" not in text
    assert "Give " in text


LONG = "x" * 128
OWN_NAMES: list[tuple[list[str], list[str]]] = [
    (["read", "github.create_issue"], ["read", "github__create_issue"]),
    (["a.b/c", "a.b.c"], ["a__b_c", "a__b__c"]),
    (["1st.go"], ["_1st__go"]),
]


@cases(("own", "names"), OWN_NAMES)
def test_name_is_made_of_what_vendors_accept(own: list[str], names: list[str]) -> None:
    assert list(spec_names(own).values()) == names


@pytest.mark.parametrize("other", ["a__b", "a.b"])
def test_name_that_another_tool_has_ends_with_a_digest(other: str) -> None:
    names = spec_names(["a._b", other, "a__b", "a-b"])
    assert names["a__b"] == "a__b"
    assert len(set(names.values())) == len(names)
    if other == "a.b":
        assert re.fullmatch(r"a__b_[0-9a-f]{8}", names["a.b"])


@given(
    own=st.lists(
        st.text("aB1_-./é\ud800", max_size=3) | st.sampled_from([LONG, f"{LONG}y", "_", ""]), unique=True
    )
)
def test_names_are_unique_and_vendors_accept_them(own: list[str]) -> None:
    names = spec_names(own)
    assert list(names) == own
    assert len(set(names.values())) == len(own)
    assert all(NAME.fullmatch(name) for name in names.values())
    assert all(names[name] == name for name in own if NAME.fullmatch(name))


def test_call_by_the_name_of_a_spec_binds_to_its_tool(bench: Bench) -> None:
    registry = Registry(EVERY)
    args = {"read": {"file": "a"}, "github__issues_create": {"title": "x"}}
    for name, given_args in args.items():
        call = registry.bind(name, given_args, bench.context)
        assert registry.spec_name(call.name) == name
    for spec, tool in zip(registry.specs(), EVERY, strict=True):
        assert registry.get(spec["name"]) is tool
        assert registry.own_name(spec["name"]) == tool.name
        assert registry.spec_name(tool.name) == spec["name"]
    assert registry.spec_name("Bash") == "shell"
    assert registry.spec_name("unknown tool") == "unknown tool"


def test_tool_of_a_server_does_not_take_the_name_of_another_tool(bench: Bench) -> None:
    async def web__fetch(url: str) -> str:
        """Fetch."""
        return url

    shadow = mcp_tool("web", "fetch", {"type": "object"})
    registry = Registry([shadow, *default_tools(), as_tool(web__fetch)])
    names = [spec["name"] for spec in registry.specs()]
    assert registry.get("web__fetch").name == "web__fetch"
    assert re.fullmatch(r"web__fetch_[0-9a-f]{8}", names[0])
    assert registry.get(names[0]) is shadow
    assert Registry([shadow, *default_tools()]).get("WebFetch").name == "fetch"


def test_name_of_a_spec_is_one_that_a_call_may_use() -> None:
    assert "github__issues_create" in Registry(EVERY).names


async def test_function_with_nested_arguments_runs_by_its_spec(bench: Bench) -> None:
    bench.registry = Registry([as_tool(résumé)])
    (spec,) = bench.registry.specs()
    assert spec["name"] == "r_sum_"
    args = {"edits": [{"type": "change", "old": "x"}], "where": {"x": 1.5}, "pair": [3]}
    assert allows(spec["parameters"], args)
    outcome = await bench.run("r_sum_", **args)
    assert outcome.content == "1 Point(x=1.5, y=0.0) Pair(first=3, second='x')"

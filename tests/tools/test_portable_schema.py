"""The form of a JSON Schema that every vendor accepts, whatever an MCP server sends."""

import json
from typing import Any

import pytest
from google.genai import types as gemini
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.tools.argument_schema import json_schema
from cogency_tui.tools.find import FindArgs
from cogency_tui.tools.mcp.mcp_tool import Schema
from cogency_tui.tools.portable_schema import LARGEST, portable
from tests.cases import cases
from tests.tools.schema_values import ANY, allows, check_schema, values

KEYWORDS = {
    *("type", "description", "enum", "default", "properties", "required", "additionalProperties", "items"),
    *("anyOf", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
}


def form(schema: dict[str, Any]) -> dict[str, Any]:
    """The portable form of a tool's whole schema."""
    found = portable(schema, lambda: "- a: str")
    accepted(found)
    return found


def part(schema: Any, **definitions: Any) -> Any:
    """The portable form of one property."""
    return form({"type": "object", "properties": {"a": schema}, "$defs": definitions})["properties"]["a"]


def accepted(schema: dict[str, Any]) -> None:
    """Assert what the vendors check."""
    check_schema(schema)
    gemini.Schema.from_json_schema(
        json_schema=gemini.JSONSchema.model_validate(schema), raise_error_on_unsupported_field=True
    )
    assert schema["type"] == "object"
    assert not schema.keys() & {"anyOf", "enum", "default"}
    assert isinstance(schema["properties"], dict)
    accepted_part(schema)


def accepted_part(schema: dict[str, Any]) -> None:
    assert schema.keys() <= KEYWORDS
    assert not {"type", "anyOf"} <= schema.keys()
    assert isinstance(schema.get("type", ""), str)
    assert ("items" in schema) == (schema.get("type") == "array")
    properties = schema.get("properties", {})
    assert set(schema.get("required", [])) <= set(properties)
    inner: list[Any] = [*properties.values(), *schema.get("anyOf", [])]
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for each in inner:
        if each is not False:
            accepted_part(each)


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "x": {"type": "integer"}}}


@cases(
    ("given", "written"),
    [
        ({"type": "string", "title": "A", "$comment": "x"}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"type": ["string", "null"], "default": None}, {"type": "string"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, {"type": "integer"}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 3},
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 3},
        ),
        (
            {"type": "string", "anyOf": [{"maxLength": 2}, {"enum": ["long"]}]},
            {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "string", "enum": ["long"]}]},
        ),
        ({"oneOf": [{"type": "string"}, {"type": "string"}]}, {"type": "string"}),
        ({"anyOf": [{"type": "string"}, {}]}, {}),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"enum": ["a", "a", None]}, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        ({"enum": [1, 2.5]}, {"type": "number", "description": "(one of 1, 2.5)", "minimum": 1, "maximum": 2.5}),
        ({"type": "integer", "const": 2}, {"type": "integer", "description": "(one of 2)", "minimum": 2, "maximum": 2}),
        ({"const": {"a": 1}}, {"type": "object", "description": '(one of {"a": 1})'}),
        ({"const": True}, {"type": "boolean", "description": "(one of true)"}),
        ({"enum": [True, False]}, {"type": "boolean", "description": "(one of true, false)"}),
        ({"type": "string", "enum": ["", "a"]}, {"type": "string", "description": '(one of "", "a")'}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        (
            {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "maxItems": 2},
            {"type": "array", "maxItems": 2, "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        ),
        ({"items": [{"type": "string"}], "type": "array"}, {"type": "array", "items": {"type": "string"}}),
        (True, {}),
        ({"type": "unknown"}, {}),
        ({"type": "string", "format": "date", "description": "When"}, {"type": "string", "description": 'When (format: "date")'}),
        ({"type": "string", "pattern": "^\\d+$"}, {"type": "string", "description": '(pattern: "^\\\\d+$")'}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "number", "exclusiveMaximum": 1}, {"type": "number", "description": "(exclusiveMaximum: 1)", "maximum": 1}),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "minimum": 0}),
        ({"type": "string", "maxLength": 5_000}, {"type": "string", "description": "(maxLength: 5000)"}),
        ({"type": "string", "minLength": "x", "default": "a\x1b[2Jb"}, {"type": "string"}),
        ({"type": "number", "default": float("inf")}, {"type": "number"}),
        (
            {"allOf": [{"$ref": "#/$defs/Point"}], "description": "Where"},
            {"type": "object", "description": "Where", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        ),
        (
            {"allOf": [{"$ref": "#/$defs/Point"}, {"properties": {"y": {"type": "number"}}, "required": ["y"]}]},
            {"type": "object", "properties": {"y": {"type": "number"}, "x": {"type": "number"}}, "required": ["x", "y"]},
        ),
        (
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/Point/properties/x"}},
            {"type": "object", "additionalProperties": {"type": "number"}},
        ),
        ({"$ref": "https://elsewhere.example/schema"}, {}),
        ({"$ref": "#/$defs/missing"}, {}),
    ],
)  # fmt: skip
def test_keyword_that_a_vendor_refuses_is_written_in_another_form(given: Any, written: Any) -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    assert part(given, Point=point) == written


def test_part_that_contains_itself_is_an_object_that_says_so() -> None:
    inner = part({"$ref": "#/$defs/Node"}, Node=NODE)
    assert inner["properties"]["x"] == {"type": "integer"}
    assert inner["properties"]["next"] == {"type": "object", "description": "(the same form as Node)"}


def test_schema_that_contains_itself_as_a_whole_is_written_once() -> None:
    whole = form({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}})
    assert whole["properties"]["children"]["items"] == {
        "type": "object",
        "description": "(the same form as the arguments)",
    }


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_alternatives_at_the_top_become_one_object(key: str) -> None:
    kinds = [
        {"properties": {"kind": {"const": "a"}, "file": {"type": "string"}}, "required": ["kind", "file"]},
        {"properties": {"kind": {"const": "b"}, "url": {"type": "string"}}, "required": ["kind", "url"]},
    ]
    assert form({"type": "object", "description": "One of two.", key: kinds}) == {
        "type": "object",
        "description": "One of two. (needs (kind, file) or (kind, url))",
        "properties": {
            "kind": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}]},
            "file": {"type": "string"},
            "url": {"type": "string"},
        },
        "required": ["kind"],
    }


def test_alternatives_that_only_require_properties_are_in_the_description() -> None:
    one = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    needs = {**one, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    written = {"type": "object", "description": "(needs (a) or (b))", **one}
    assert part(needs) == written


def test_name_that_a_vendor_refuses_is_in_the_description() -> None:
    found = form(
        {
            "type": "object",
            "properties": {"a": {}, "rule[]": {}, "x" * 65: {}, "\x1b[2J": {}},
            "required": ["a", "rule[]"],
            "additionalProperties": False,
        }
    )
    assert list(found["properties"]) == found["required"] == ["a"]
    assert "additionalProperties" not in found
    assert found["description"].startswith('(also takes "rule[]" (required), "xxx')
    assert "\x1b" not in found["description"]


@cases(
    ("schema", "reason"),
    [
        ({"type": "string"}, "The arguments must be an object, but their JSON Schema has another type."),
        ({"type": ["array", "null"]}, "The arguments must be an object, but"),
        ({"type": "object", "properties": {"a": {"description": "x" * (LARGEST + 1)}}}, "The JSON Schema of the arguments has more than 32,000"),
        ({"properties": {f"a{number}": {"type": "string"} for number in range(9_000)}}, "The JSON Schema of the arguments has more than 32,000"),
    ],
)  # fmt: skip
def test_schema_without_a_portable_form_allows_any_object_and_says_why(
    schema: dict[str, Any], reason: str
) -> None:
    found = form(schema)
    assert found.pop("description").startswith(reason)
    assert found == {"type": "object", "properties": {}}


def test_arguments_without_a_schema_are_described_as_text() -> None:
    assert form({"type": "array"})["description"].endswith(" Arguments:\n- a: str")


def _doubling(levels: int) -> dict[str, Any]:
    """Each level refers to the next one twice."""
    level = {
        f"l{number}": {
            "type": "object",
            "properties": {name: {"$ref": f"#/$defs/l{number + 1}"} for name in ("left", "right")},
        }
        for number in range(levels)
    }
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": level}


def _deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return {"type": "object", "properties": {"a": schema}}


def _hop(levels: int) -> dict[str, Any]:
    hops = {f"h{number}": {"$ref": f"#/$defs/h{(number + 1) % levels}"} for number in range(levels)}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/h0"}}, "$defs": hops}


@pytest.mark.parametrize(
    "schema",
    [
        _doubling(9),
        _doubling(60),
        _deep(600),
        _hop(50),
        _hop(20_000),
        {"properties": {"a": {"enum": ["x" * 100] * 10_000}}},
        {"$ref": "#/allOf/0", "allOf": [{"$ref": "#"}] * 1_000},
        {"properties": {f"p{n}": {"$ref": "#"} for n in range(500)}, "oneOf": [{"$ref": "#"}] * 500},
    ],
)
def test_schema_of_any_size_has_a_bounded_form(schema: dict[str, Any]) -> None:
    assert len(json.dumps(form(schema), ensure_ascii=False)) <= LARGEST


def test_form_of_a_deep_schema_ends_with_a_remark() -> None:
    assert "nested too deeply to describe" in json.dumps(form(_deep(50)))


def test_texts_are_one_line_without_control_characters() -> None:
    found = part(
        {"type": "string", "description": "a\n\tb\x1b]0;t\x07" + "c" * 9_000, "enum": ["\x07", "ok"]}
    )
    assert found["enum"] == ["ok"]
    assert found["description"].startswith("a bcc")
    assert len(found["description"]) < 500


JUNK = st.recursive(
    ANY | st.sampled_from(["object", "array", "string", "null", "#", "#/$defs/a", "#/properties/b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*sorted(KEYWORDS), "$ref", "allOf", "oneOf", "const", "prefixItems", "pattern"])
            | st.sampled_from(["$defs", "a", "b", "remarks"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(
    schema=st.dictionaries(st.sampled_from([*sorted(KEYWORDS), "$defs", "$ref", "allOf"]), JUNK, max_size=6)
)
@settings(deadline=None)
def test_whatever_a_server_sends_has_a_form_that_vendors_accept(schema: dict[str, Any]) -> None:
    form(schema)
    tool = Schema(schema).portable()
    accepted(tool)
    assert tool == Schema(schema).portable()


SIMPLE: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "string", "maxLength": 3},
        {"type": "string", "pattern": "^a"},
        {"type": ["integer", "null"], "exclusiveMinimum": 0},
        {"enum": ["a", 1, 2.5, None, True]},
        {"const": "b"},
        {"type": "number", "exclusiveMaximum": 1},
        {"type": "boolean"},
        {"$ref": "#/$defs/Node"},
        {},
    ]
)


def _combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas that have two others as parts."""
    return st.tuples(inner, inner).flatmap(lambda pair: st.sampled_from(_combinations(*pair)))


def _combinations(one: Any, two: Any) -> list[dict[str, Any]]:
    both = {"a": one, "b": two}
    return [
        {"type": "array", "items": one, "minItems": 1},
        {"type": "array", "prefixItems": [one, two], "items": False},
        {"anyOf": [one, two]},
        {"oneOf": [one, two]},
        {"allOf": [one, {"description": "x"}]},
        {"type": "object", "properties": both, "required": ["a"], "additionalProperties": False},
        {"type": "object", "additionalProperties": one},
        {"type": "object", "properties": {"a": one}, "anyOf": [{"required": ["a"]}, {"properties": both}]},
    ]


SOUND = st.recursive(SIMPLE, _combined, max_leaves=6)


@given(data=st.data(), property_schema=SOUND)
@settings(deadline=None)
def test_value_that_the_schema_allows_is_allowed_by_its_portable_form(
    data: st.DataObject, property_schema: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": {"p": property_schema}, "$defs": {"Node": NODE}}
    found = form(schema)
    value = data.draw(values(found) | st.fixed_dictionaries({"p": ANY}))
    if allows(schema, value):
        assert allows(found, value)


def test_the_meaning_of_an_optional_argument_stays_beside_its_remarks() -> None:
    content = json_schema(FindArgs)["properties"]["content"]
    assert content["description"].startswith("Python regular expression; ")
    assert content["description"].endswith("(maxLength: 10000)")

"""What is made of a tool's JSON schema, whatever it says."""

from typing import Any

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools.mcp.mcp_tool import Schema


def described(**properties: Any) -> str:
    return Schema({"type": "object", "properties": properties}).described()


def test_types_are_told_with_what_is_in_them() -> None:
    edit = {
        "type": "object",
        "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
        "required": ["old"],
    }
    schema = Schema(
        {
            "properties": {
                "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}, "description": "what\n to change"},
                "how": {"enum": ["fast", "slow"], "default": "fast"},
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
            "required": ["edits"],
            "$defs": {"Edit": edit},
        }
    )  # fmt: skip
    assert schema.described() == (
        "- edits: list of {old: str, new?: str} — what to change\n"
        '- how: "fast" | "slow", default "fast"\n'
        "- limit: int or null, optional"
    )


def test_meanings_of_members_are_below_their_argument() -> None:
    file = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "from the\nroot\x1b[2J"},
            "mode": {"type": "integer", "minimum": 0},
            "content": {"type": "string"},
        },
        "required": ["path"],
    }
    files = {"type": "array", "items": file, "description": "to write"}
    assert described(files=files, more={"type": "integer"}).splitlines() == [
        "- files: list of {path: str, mode?: int, content?: str}, optional — to write",
        "  - path — from the root",
        "  - mode: ≥ 0",
        "- more: int, optional",
    ]


def test_an_argument_has_a_bounded_number_of_lines() -> None:
    wide = {name: {"type": "string", "description": "x" * 90} for name in map(str, range(200))}
    lines = described(a={"type": "object", "properties": wide}, b={}).splitlines()
    assert len(lines) == 22
    assert lines[-1].startswith("- b")


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": None, "required": "x"},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"properties": {"a": {"type": ["x", 3, None]}, "b": {"enum": []}, "c": {"anyOf": []}}},
        {"properties": {"a": True, "b": [1], "c": {"items": 3, "type": "array"}}},
    ],
)
def test_a_schema_that_makes_no_sense_does_no_harm(schema: dict[str, Any]) -> None:
    Schema(schema).described()
    Schema(schema).usage()
    Schema(schema).check("x.y", {})


def test_one_that_contains_itself_ends() -> None:
    node: dict[str, Any] = {"properties": {name: {"$ref": "#/$defs/n"} for name in "abcdefgh"}}
    text = Schema({"properties": node["properties"], "$defs": {"n": node}}).described()
    assert len(text) < 8_000
    wide = {f"p{number}": {"$ref": "#/$defs/n"} for number in range(60)}
    assert len(Schema({"properties": wide, "$defs": {"n": node}}).described()) < 13_000


def test_what_is_told_is_one_line_each_and_has_no_control_characters() -> None:
    text = described(**{"a\nb\x1b[2J": {"type": "string", "description": "x\ny\x1b]0;t\x07" + "z" * 9_000}})
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 1_000


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ([], "the arguments must be an object, not []"),
        ({}, '"a" is missing'),
        ({"a": True}, '"a" must be int, not true'),
        ({"a": 1.5}, '"a" must be int, not 1.5'),
        ({"a": 1, "z": 2}, 'unknown argument "z"'),
    ],
)
def test_what_is_wrong_is_told_with_the_right_form(args: Any, told: str) -> None:
    schema = Schema({"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]})
    with pytest.raises(ToolError) as raised:
        schema.check("x.y", args)
    assert str(raised.value) == f"x.y: {told}."
    assert raised.value.hint == "Arguments: a: int, [b: str]"


def test_what_fits_is_passed_on_as_it_is() -> None:
    schema = Schema({"properties": {"a": {"type": "number"}}, "additionalProperties": True})
    assert schema.check("x.y", {"a": 1, "more": {"b": [None]}}).values == {"a": 1, "more": {"b": [None]}}


def test_arguments_that_are_named_elsewhere_are_passed_on() -> None:
    inner: dict[str, Any] = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
    elsewhere: dict[str, Any] = {"anyOf": [{"properties": {"b": {}}}], "patternProperties": {"^b": {}}}
    for key, value in elsewhere.items():
        schema = {**inner, key: value}
        assert Schema(schema).check("x.y", {"a": 1, "b": 2}).values == {"a": 1, "b": 2}
    referred = Schema({"$ref": "#/$defs/Args", "$defs": {"Args": inner}})
    assert referred.described() == "- a: int"
    with pytest.raises(ToolError, match='unknown argument "b"'):
        referred.check("x.y", {"a": 1, "b": 2})


def test_a_refusal_is_of_bounded_length_and_has_no_control_characters() -> None:
    with pytest.raises(ToolError) as raised:
        Schema(
            {"properties": {"a\x1b[2J\n" + "b" * 9_000: {}}, "required": ["a\x1b[2J\n" + "b" * 9_000]}
        ).check("x", {})
    assert len(raised.value.advice) < 1_500
    assert "\x1b" not in raised.value.advice


def test_more_arguments_than_are_told_are_counted() -> None:
    assert described(**{f"a{number}": {} for number in range(70)}).endswith("\n- 10 more, not listed here")

"""JSON Schemas as the test sees them: the values that a portable one allows, and what any one allows."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

_VALIDATOR: Any = Draft202012Validator

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def allows(schema: Mapping[str, Any], value: Any) -> bool:
    return bool(_VALIDATOR(schema).is_valid(value))


def check_schema(schema: Mapping[str, Any]) -> None:
    """Assert that it is a schema of the draft that Anthropic names."""
    _VALIDATOR.check_schema(schema)


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that the schema allows; integers as integers, as a vendor sends them."""
    if "anyOf" in schema:
        return st.one_of([values(each) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    low, high = schema.get("minimum"), schema.get("maximum")
    match schema.get("type"):
        case "string":
            return st.text(min_size=schema.get("minLength", 0), max_size=schema.get("maxLength"))
        case "integer":
            return st.integers(low, high)
        case "number":
            return st.floats(low, high, allow_nan=False, allow_infinity=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            least = schema.get("minItems", 0)
            most = schema.get("maxItems", least + 3)
            return st.lists(values(schema["items"]), min_size=least, max_size=most)
        case "object":
            return _objects(schema)
        case _:
            return ANY


def _objects(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    required = schema.get("required", [])
    members = {name: values(each) for name, each in schema.get("properties", {}).items()}
    named = st.fixed_dictionaries(
        {name: members[name] for name in required},
        optional={name: each for name, each in members.items() if name not in required},
    )
    others: Any = schema.get("additionalProperties")
    if others in (None, False):
        return named
    more = st.dictionaries(st.text(max_size=3), values(others), max_size=2)
    return st.tuples(more, named).map(lambda pair: {**pair[0], **pair[1]})

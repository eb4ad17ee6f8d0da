"""The schema says what is printed: every event of real runs fits it, and nothing else does."""

import json
from typing import Any

import jsonschema
import pytest

from cogency_tui.cli.event_schema import event_schema
from cogency_tui.protocol.events import Event
from tests.cases import cases
from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = event_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain greet.py",),
        ("replace 'hello' with 'goodbye' in greet.py", "--permissions", "edits", "--chunks"),
        ("replace 'hello' with 'goodbye' in greet.py",),
        ("run `exit 3`", "--permissions", "auto", "--dialect", "action"),
        ("run `exit 3`", "--permissions", "ask"),
    ],
)
def test_all_that_a_run_prints_fits(run: Run, validator: Any, arguments: tuple[str, ...]) -> None:
    lines = run("run", *arguments, "--json").stdout.splitlines()
    assert json.loads(lines[-1])["type"] == "end"
    for line in lines:
        validator.validate(json.loads(line))


@cases("broken", [{"type": "end"}, {"type": "news", "timestamp": 1.0}, {}, "end"])
def test_what_is_no_event_does_not_fit(validator: Any, broken: "Event | str") -> None:
    assert not validator.is_valid(broken)


def test_it_is_printed(run: Run) -> None:
    assert json.loads(run("run", "--json-schema").stdout) == event_schema()

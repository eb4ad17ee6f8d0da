"""What `run --json` prints, as a JSON schema made from the definition of events (`protocol/events.py`)."""

from typing import Any, get_args

import msgspec

from cogency_tui.headless.output import print_json
from cogency_tui.protocol.events import Event

VERSION = 1
"""Of what is printed. A new key or type of event leaves it as it is; a key that goes, or comes to mean
something else, makes the next."""


def event_schema() -> dict[str, Any]:
    """One event: any of the types."""
    types = get_args(Event)
    schemas, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:cogency-tui:events:{VERSION}",
        "title": "One line of `cogency-tui run --json`",
        "oneOf": list(schemas),
        "$defs": definitions,
    }


def print_event_schema() -> None:
    """Print it on stdout, on one line."""
    print_json(event_schema())

"""The JSON schema of the output of `run --json`, derived from the definition of events
(`protocol/events.py`).
"""

from typing import Any, get_args

import msgspec

from cogency_tui.cli.standard_streams import print_json
from cogency_tui.protocol.events import Event

VERSION = 1
"""The version of the output. A new key or type of event does not change it; a key that is removed, or
changes its meaning, does.
"""


def event_schema() -> dict[str, Any]:
    """The schema of one event: any of the types."""
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
    """Print the schema on stdout, on one line."""
    print_json(event_schema())

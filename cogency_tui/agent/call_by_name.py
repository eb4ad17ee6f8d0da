"""The common parts of tools that call something by name, with parameters of its own.

An unknown name is answered with the known ones; every `CogencyError` becomes a failed result that the model
can read.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from cogency_tui.errors import CogencyError, ToolError
from cogency_tui.tools.base import Spellings
from cogency_tui.workspace.protected_names import closest, shown

Thing = TypeVar("Thing")


def _read_parameters(value: Any, _given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read parameters that are written as JSON in a string."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = msgspec.json.decode(value)
    return {"parameters": value}


PARAMETERS = Spellings(read={"parameters": _read_parameters})
"""Other agents' spellings of `parameters`."""


class NamedArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1)]
    parameters: dict[str, Any] = {}


class AgentArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1)]
    task: str = ""
    parameters: Annotated[dict[str, Any], Meta(description="its other arguments, by name")] = {}


def choose(tool: str, name: str, known: Mapping[str, Thing]) -> Thing:
    """The entry with this name.

    Raises:
        ToolError: there is none; the text lists the known names.
    """
    if name in known:
        return known[name]
    near = closest(name, known)
    suggestion = f' Did you mean "{near}"?' if near else ""
    raise ToolError(f'{tool}: there is no "{shown(name[:80])}".{suggestion}', f"Names: {', '.join(known)}.")


def require_current(kind: str, name: str, chosen: Thing, known: Mapping[str, Thing]) -> None:
    """Refuse an entry whose configuration has changed, or that is gone.

    Raises:
        ToolError: it has, or it is.
    """
    if known.get(name) != chosen:
        raise ToolError(f"The configuration of the {kind} {name} changed during this turn.")


def listed(descriptions: Mapping[str, str]) -> str:
    """Names with their descriptions, for the model: `reviewer (reads a change), tester`."""
    entries: list[str] = []
    for name, description in descriptions.items():
        text = " ".join(description.split())
        entries.append(f"{name} ({text})" if text else name)
    return ", ".join(entries)


@contextmanager
def errors_as_results() -> Generator[None]:
    """Turn errors of the store, the endpoint or the configuration into failed results."""
    try:
        yield
    except ToolError:
        raise
    except CogencyError as exc:
        raise ToolError(str(exc), exc.hint) from exc

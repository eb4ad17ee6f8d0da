"""Providers and models as rows of a list: facts in columns on the right, which give way to the name."""

from rich.segment import Segment

from cogency_tui.providers.configured_providers import KnownProvider
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import Line, cells, fit, wrap
from cogency_tui.tui.kit.number_format import price, tokens
from cogency_tui.tui.models.model import ModelRow, without_user
from cogency_tui.tui.theme_styles import ThemeStyles

_NAME = 14
_KEY = 31
_MODES = 14
_SHORTEST = 12


def draw_provider(
    provider: KnownProvider, width: int, styles: ThemeStyles, on: str, *, current: bool
) -> Line:
    """Draw its name and default model; on the right its modes, and the state and origin of its key."""
    name = fit(one_line(provider.name), _NAME)
    if not provider.key_source:
        mark, role, key = "✓", "good", "no key needed"
    elif provider.key_found:
        mark, role, key = "✓", "good", f"key in {one_line(provider.key_source)}"
    else:
        mark, role, key = "✗", "bad", f"{one_line(provider.key_source)} not set"
    modes = modes_of(provider.resumes)
    room = width - 2 - _NAME - _MODES - _KEY - 6
    model = fit(one_line(provider.model), room) if room >= _SHORTEST else ""
    return Line(
        [
            _current(current, styles, on),
            Segment(name.ljust(_NAME), styles("text", on, "bold")),
            Segment(f"  {_padded(model, max(0, room))}  {modes.ljust(_MODES)}  ", styles("dim", on)),
            Segment(f"{mark} ", styles(role, on)),
            Segment(fit(key, _KEY - 2), styles("dim", on)),
        ]
    )


def draw_provider_note(provider: KnownProvider, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw a provider's address, and its key: whether and where it was found, or the next step."""
    if not provider.base_url:
        return wrap([Segment("Built-in demo model. Needs no key and no network.", styles("text"))], width)
    lines = wrap([Segment(f"Endpoint {one_line(without_user(provider.base_url))}", styles("text"))], width)
    variable = one_line(provider.key_source)
    if not variable:
        text = "No key needed. Its server must be running."
    elif provider.key_found:
        text = f"Key found in {variable}."
    else:
        text = f"Key not set. Run export {variable}=… in your shell, then restart."
    return [*lines, *wrap([Segment(text, styles("dim"))], width)]


def draw_model(model: ModelRow, width: int, styles: ThemeStyles, on: str, *, current: bool) -> Line:
    """Draw its name; on the right its capabilities, its context, and its prices where known."""
    size = f"{tokens(model.context_size)} context" if model.context_size else ""
    right = f"  {size.rjust(14)}"
    if width >= 2 + _NAME + cells(right) + 30:
        right += (
            f"  {_price(model.input_price, 'in').rjust(12)}  {_price(model.output_price, 'out').rjust(12)}"
        )
    if width >= 2 + _NAME + cells(right) + _MODES + 2:
        right = f"  {modes_of(model.resumes).ljust(_MODES)}{right}"
    room = width - 2 - cells(right)
    name = _padded(fit(one_line(model.name), room), room)
    return Line(
        [
            _current(current, styles, on),
            Segment(name, styles("text", on)),
            Segment(right, styles("dim", on)),
        ]
    )


def modes_of(resumes: bool) -> str:
    """The supported modes."""
    return "resume, replay" if resumes else "replay"


def _current(current: bool, styles: ThemeStyles, on: str) -> Segment:
    return Segment("● " if current else "  ", styles("accent", on))


def _price(dollars: float | None, what: str) -> str:
    return "" if dollars is None else f"{price(dollars)}/M {what}"


def _padded(text: str, width: int) -> str:
    return text + " " * max(0, width - cells(text))

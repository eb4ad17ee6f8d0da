"""Providers and models as rows of a list: facts in columns on the right, which give way to the name."""

from rich.segment import Segment

from cogency_tui.providers.configured_providers import OFFLINE, KnownProvider, address_advice
from cogency_tui.providers.models import Ending
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import price, tokens
from cogency_tui.tui.models.model import ModelRow, without_user
from cogency_tui.tui.theme_styles import ThemeStyles

_NAME = 14
_KEY, _SHORT_KEY = 31, 15
"""Cells of the state of a key, with and without its origin, which the note names as well."""

_MODES = 14
_FACT = 18
"""Cells of a model's context, or of its end, with the space before them."""

_SHORTEST = 12
"""Cells of the default model below which other columns give way to it."""


def draw_provider(
    provider: KnownProvider, width: int, styles: ThemeStyles, on: str, *, current: bool
) -> Line:
    """Draw its name and default model; on the right its modes, and the state and origin of its key."""
    name = fit(one_line(provider.name), _NAME)
    room, has_modes, key_width = _columns(width)
    modes = f"{modes_of(provider.resumes).ljust(_MODES)}  " if has_modes else ""
    model = _padded(fit(one_line(provider.model), room), room)
    return Line(
        [
            _current(current, styles, on),
            Segment(name.ljust(_NAME), styles("text", on, "bold")),
            Segment(f"  {model}  {modes}", styles("dim", on)),
            *_draw_key(provider, key_width, styles, on),
        ]
    )


def _columns(width: int) -> tuple[int, bool, int]:
    """The cells of the default model, whether the modes fit beside it, and the cells of the key."""
    rest = width - 2 - _NAME - 4
    for modes, key in ((_MODES + 2, _KEY), (_MODES + 2, _SHORT_KEY), (0, _SHORT_KEY)):
        if rest - modes - key >= _SHORTEST:
            return rest - modes - key, bool(modes), key
    return max(0, rest - _SHORT_KEY), False, _SHORT_KEY


def _draw_key(provider: KnownProvider, width: int, styles: ThemeStyles, on: str) -> list[Segment]:
    """Draw the state of a provider's key, and its origin where there is room."""
    source = one_line(provider.key_source)
    if not source:
        mark, role, short, full = " ", "dim", "no key needed", "no key needed"
    elif provider.key_found:
        mark, role, short, full = "✓", "good", "key set", f"key in {source}"
    else:
        mark, role, short, full = "✗", "bad", "key not set", f"{source} not set"
    key = full if width == _KEY else short
    return [Segment(f"{mark} ", styles(role, on)), Segment(fit(key, width - 2), styles("dim", on))]


def draw_provider_note(provider: KnownProvider, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw a provider's address, and its key: whether and where it was found, or the next step."""
    if provider.name == OFFLINE:
        return wrap([Segment("Built-in demo model. Needs no key and no network.", styles("text"))], width)
    if not provider.base_url:
        return wrap([Segment(f"No address yet. {address_advice(provider.name)}", styles("text"))], width)
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
    """Draw its name; on the right its capabilities, its context or its near end, and its prices where
    known."""
    fact = _retirement(model.ending) if model.ending else _context(model)
    fact = fact.rjust(_FACT)
    prices = f"  {_price(model.input_price, 'in').rjust(12)}  {_price(model.output_price, 'out').rjust(12)}"
    prices = prices if width >= 2 + _NAME + _FACT + 30 else ""
    modes = f"  {modes_of(model.resumes).ljust(_MODES)}"
    modes = modes if width >= 2 + _NAME + _FACT + len(prices) + _MODES + 2 else ""
    room = width - 2 - len(modes) - _FACT - len(prices)
    return Line(
        [
            _current(current, styles, on),
            Segment(_padded(fit(one_line(model.name), room), room), styles("text", on)),
            Segment(modes, styles("dim", on)),
            Segment(fact, styles("edit" if model.ending else "dim", on)),
            Segment(prices, styles("dim", on)),
        ]
    )


def _retirement(ending: Ending) -> str:
    return f"{'retired' if ending.is_past else 'retires'} {ending.day}"


def _context(model: ModelRow) -> str:
    return f"{tokens(model.context_size)} context" if model.context_size else ""


def modes_of(resumes: bool) -> str:
    """The supported modes."""
    return "resume, replay" if resumes else "replay"


def _current(current: bool, styles: ThemeStyles, on: str) -> Segment:
    return Segment("● " if current else "  ", styles("accent", on))


def _price(dollars: float | None, what: str) -> str:
    return "" if dollars is None else f"{price(dollars)}/M {what}"


def _padded(text: str, width: int) -> str:
    return text + " " * max(0, width - cells(text))

"""The keys that do something now, read from the bindings: the most useful first, and at the end those to
close, for help and for the palette.

A widget or screen with many keys implements `KeyHints` to tell which of them do something at present,
`KeyLabels` where what one does depends on its state, and `KeyDetails` where there is more to say of one.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from msgspec.structs import replace
from rich.segment import Segment
from textual.binding import ActiveBinding
from textual.dom import DOMNode
from textual.screen import Screen

from cogency_tui.tui.kit.bar import ButtonBar, Part
from cogency_tui.tui.kit.keys import draw_key, key_name, spelled_key
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles

_CANCEL = ".leave"
_CLOSE = (".back", ".step_back", ".close", ".cancel", _CANCEL)
_HELP, _PALETTE = "help", "command_palette"
"""The ids, or their ends, of the bindings whose keys are at the end of the line."""


class Hints(NamedTuple):
    """The actions whose keys do something now, the most useful first; `alone` hides those of all others."""

    actions: Sequence[str]
    alone: bool = False


_NARROW = 70
"""Cells of a line below which keys that do not fit all are condensed."""


class KeyPart(Part, frozen=True):
    """A key; one that `lasts` is at the end of the line, whatever else has room. One that is `known` does the
    same on all screens. `brief` is the key without the detail that it has where there is room."""

    lasts: bool = False
    known: bool = False
    brief: Sequence[Segment] = ()

    def shortened(self) -> Self:
        """The key without its detail."""
        return replace(self, segments=self.brief) if self.brief else self

    def condensed(self) -> Self:
        """The key nearer to the one before; without its label if it is known."""
        return replace(self, lead="  ", segments=self.segments[: 1 if self.known else None])


@runtime_checkable
class KeyHints(Protocol):
    """A node that chooses the keys to show; any other shows its visible bindings in their order."""

    def key_hints(self) -> Hints:
        """The keys to show now. Whoever implements this calls `refresh_bindings` when they change."""
        ...


@runtime_checkable
class KeyLabels(Protocol):
    """A node with a key whose effect depends on its state."""

    def key_label(self, action: str) -> str:
        """The label for `action` at present; empty for that of its binding. Whoever implements this calls
        `refresh_bindings` when it changes."""
        ...


@runtime_checkable
class KeyDetails(Protocol):
    """A node with a key of which there is more to say than its label."""

    def key_detail(self, action: str) -> str:
        """The words that follow the label of `action` where there is room; empty if there are none. Whoever
        implements this calls `refresh_bindings` when they change."""
        ...


def key_parts(screen: Screen[Any], styles: ThemeStyles) -> list[KeyPart]:
    """The keys of `screen` at its focus as parts; none below a dialog, which shows its own."""
    if not screen.is_active:
        return []
    useful, lasting = _useful(screen)
    # Help names the others of a screen that has a key to close it.
    is_covering = any(_id(each).endswith(_CLOSE) for each in lasting)
    return [
        *(_part(each, screen, styles, lasts=False) for each in useful),
        *(
            _part(
                each,
                screen,
                styles,
                lasts=True,
                known=is_covering and not _id(each).endswith((_HELP, _CANCEL)),
            )
            for each in lasting
        ),
    ]


def fit_keys(parts: Sequence[KeyPart], width: int) -> list[KeyPart]:
    """As many parts as fit into `width` cells, and the last in any case. Those that last are dropped, but for
    the last of them, where they leave no room for any other part; the others are dropped from the last."""
    lasting = [part for part in parts if part.lasts]
    first = [part for part in parts if not part.lasts][:1]
    least = first if _width_of([*first, *lasting[-1:]]) <= width else []
    while len(lasting) > 1 and _width_of([*least, *lasting]) > width:
        del lasting[-2]
    shown: list[KeyPart] = []
    for part in parts:
        if part.lasts or _width_of([*shown, part, *lasting]) > width:
            break
        shown.append(part)
    return [*shown, *lasting]


def reserved_width(parts: Sequence[KeyPart], width: int) -> int:
    """The cells that keys need in a line of `width` cells, of which they have a third, or what the last one
    takes."""
    return _width_of(fit_keys([part for part in parts if part.lasts], width // 3))


def _width_of(parts: Sequence[KeyPart]) -> int:
    return sum(part.width for part in parts)


def _useful(screen: Screen[Any]) -> tuple[list[ActiveBinding], list[ActiveBinding]]:
    """The bindings in their order, without those that repeat an action under another key, and those that
    last."""
    active = [each for each in screen.active_bindings.values() if each.enabled]
    focused = screen.focused
    nodes: list[DOMNode] = [*(focused.ancestors_with_self if focused else [screen]), app_of(screen)]
    shown: list[ActiveBinding] = []
    for node in dict.fromkeys(nodes):
        hints = node.key_hints() if isinstance(node, KeyHints) else None
        # Of several keys for an action the visible one.
        own = sorted((each for each in active if each.node is node), key=lambda each: not each.binding.show)
        shown += _chosen([*own, *active], hints.actions) if hints else _visible(own)
        if hints and hints.alone:
            return shown[:-1], shown[-1:]
    lasting = _lasting(shown)
    return [each for each in shown if each not in lasting], lasting


def _lasting(shown: Sequence[ActiveBinding]) -> list[ActiveBinding]:
    """The keys to close the screen, for help and for the palette."""
    by_id = {_id(each): each for each in shown}
    closing = [id for id in by_id if id.endswith(_CLOSE)]
    helping = [id for id in by_id if id.endswith(_HELP)]
    return [by_id[id] for id in (*closing, *helping, _PALETTE) if id in by_id]


def _id(each: ActiveBinding) -> str:
    return each.binding.id or ""


def _chosen(active: Iterable[ActiveBinding], actions: Sequence[str]) -> list[ActiveBinding]:
    by_action: dict[str, ActiveBinding] = {}
    for each in active:
        by_action.setdefault(each.binding.action, each)
    return [by_action[action] for action in actions if action in by_action]


def _visible(own: Iterable[ActiveBinding]) -> list[ActiveBinding]:
    shown: dict[str, ActiveBinding] = {}
    for each in own:
        if each.binding.show and each.binding.description:
            shown.setdefault(each.binding.action, each)
    return list(shown.values())


def _part(
    each: ActiveBinding, screen: Screen[Any], styles: ThemeStyles, *, lasts: bool, known: bool = False
) -> KeyPart:
    binding = each.binding
    label = each.node.key_label(binding.action) if isinstance(each.node, KeyLabels) else ""
    detail = each.node.key_detail(binding.action) if isinstance(each.node, KeyDetails) else ""
    short = draw_key(key_name(binding.key), label or binding.description.lower(), styles, "background")
    segments = [*short, Segment(f" {detail}", short[-1].style)] if detail else short
    # The screen does not define the focused widget's own actions.
    namespace = "app." if each.node is app_of(screen) else "" if each.node is screen else "focused."
    effect = label.capitalize() or binding.tooltip or binding.description
    effect = f"{binding.description} {detail}" if detail else effect
    tooltip = f"{effect} ({spelled_key(binding.key)})"
    return KeyPart(segments, tooltip, f"{namespace}{binding.action}", lasts=lasts, known=known, brief=short)


class KeyBar(ButtonBar):
    """A line that shows keys, in whole or in part. It has none until the bindings are known."""

    _known = False

    def on_mount(self) -> None:
        screen: Any = self.screen
        screen.bindings_updated_signal.subscribe(self, self._update)
        # The screen counts the screens that open and close over it here.
        self.watch(screen, "stack_updates", lambda: self._update(screen), init=False)

    def keys(self) -> list[KeyPart]:
        """The keys that do something now."""
        return key_parts(self.screen, self.theme_styles) if self._known else []

    def _update(self, _screen: object) -> None:
        self._known = True
        self.refresh()


class Footer(KeyBar):
    """Shows the keys on a line of their own."""

    def segments(self, width: int) -> list[Segment]:
        parts = self.keys()
        first = [parts[0].led_by("")] if parts else []
        return self.lay(_fitting([*first, *parts[1:]], width), width)


def _fitting(parts: Sequence[KeyPart], width: int) -> list[KeyPart]:
    """As many parts as fit, with their details if these fit as well."""
    brief = [part.shortened() for part in parts]
    if width < _NARROW and _width_of(brief) > width:
        brief = [*brief[:1], *(part.condensed() for part in brief[1:])]
    shown, detailed = fit_keys(brief, width), fit_keys(parts, width)
    return detailed if len(detailed) == len(shown) else shown

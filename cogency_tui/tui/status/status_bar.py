"""The line at the bottom: the mode and model of the agent, its usage, and the savings.

Segments have a fixed order; where the line is short they are dropped from the right, never wrapped. Those
that can be changed are buttons, and each has an explanatory tooltip.
"""

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from rich.segment import Segment

from cogency_tui.config.schema import Mode, Permissions
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import ButtonBar, Part
from cogency_tui.tui.kit.lines import cells, fit
from cogency_tui.tui.kit.number_format import dollars, duration, percent, ratio, tokens
from cogency_tui.tui.theme_styles import ThemeStyles

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.protocol.events import Measure

_METER = 8
_REASON = (14, 40)
"""Minimum and maximum cells of a reason: with less space it is in the tooltip alone."""

_COSTS = "command('show_costs')"


class Status(msgspec.Struct, frozen=True):
    """The contents of the bar: the settings in force and the figures of the last cycle and of all.

    `sandbox` is `sandboxed`, or `not sandboxed: ` and the reason.
    """

    mode: Mode
    provider: str
    model: str
    permissions: Permissions
    sandbox: str = ""
    step: "Measure" = {}
    total: "Measure" = {}


def status_of(agent: "Agent", step: "Measure | None" = None, total: "Measure | None" = None) -> Status:
    """The status of `agent`, with the figures of the last cycle and of all."""
    return Status(
        mode=agent.mode,
        provider=agent.provider.name,
        model=agent.provider.model,
        permissions=agent.permissions,
        sandbox=agent.sandbox,
        # The context size is that of the model that comes next, not that of the last cycle.
        step={**(step or {}), "context_size": agent.provider.facts.context_size},
        total=total or {},
    )


class StatusBar(ButtonBar):
    """Draws a `Status`. A figure retains its largest width so far, so that those after it do not move."""

    def __init__(self, status: Status, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._status = status
        self._rooms: dict[str, int] = {}

    def report(self, status: Status) -> None:
        """Show other figures."""
        if status != self._status:
            if not status.total.get("input"):
                self._rooms = {}
            self._status = status
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        return self.lay(self._fitted(width), width)

    def _fitted(self, width: int) -> list[Part]:
        """The parts in order; dispensable ones only where all others fit."""
        parts = [self._steadied(part) for part in _parts(self._status, self.theme_styles)]
        room = width - sum(part.width for part in parts if not part.spare)
        reason = _reason(self._status)
        least, most = _REASON
        kept = min(least, cells(reason)) + 1 if reason else 0
        kept = kept if kept <= room else 0
        room -= kept
        shown: list[Part] = []
        for part in parts:
            if part.spare and part.width > room:
                continue
            room -= part.width if part.spare else 0
            shown.append(part)
        if kept:
            short = Segment(fit(reason, min(kept - 1 + room, most)), self.theme_styles("dim", "background"))
            shown.insert(1, Part([short], shown[0].tooltip, shown[0].action, " "))
        return shown

    def _steadied(self, part: Part) -> Part:
        """Pad the part to the largest width of its name so far."""
        if not part.steady:
            return part
        room = self._rooms[part.steady] = max(self._rooms.get(part.steady, 0), part.width)
        blank = Segment(" " * (room - part.width), self.theme_styles("dim", "background"))
        return replace(part, segments=[*part.segments, blank])


def _parts(status: Status, styles: ThemeStyles) -> list[Part]:
    dim, text = styles("dim", "background"), styles("text", "background")
    parts = [_mode(status, styles), *_settings(status, styles)]
    total, step = status.total, status.step
    about = "~" if total.get("estimated") else ""
    note = " (~: estimated where the provider reported nothing)" if about else ""
    billed = total.get("billed_input", total.get("input", 0))
    if total.get("input") or total.get("output"):
        sent, written = tokens(total.get("input", 0)), tokens(total.get("output", 0))
        tooltip = (
            "Tokens of this conversation: ↑ sent to the provider, ↓ generated; "
            f"{about}{tokens(billed)} billed as input{note}. Click for usage by model"
        )
        parts.append(
            Part([Segment(f"↑ {about}{sent} ↓ {about}{written}", text)], tooltip, _COSTS, steady="tokens")
        )
    if billed != total.get("input", 0):
        tooltip = (
            "Tokens billed as input: in a session the provider bills the whole context again, "
            f"though only ↑ was sent{note}"
        )
        parts.append(
            Part([Segment(f"billed {about}{tokens(billed)}", dim)], tooltip, spare=True, steady="billed")
        )
    if cached := total.get("cached"):
        tooltip = "Billed input tokens that the provider read from its cache, at a lower price"
        parts.append(Part([Segment(f"cached {tokens(cached)}", dim)], tooltip, steady="cached"))
    if speed := _speed(step):
        tooltip = "Last answer: tokens per second, and time to the first token"
        parts.append(Part([Segment(speed, dim)], tooltip, steady="speed"))
    if (cost := total.get("cost")) is not None:
        tooltip = f"Cost of this conversation at the prices of its models{note}. Click for cost by model"
        parts.append(Part([Segment(f"{about}{dollars(cost)}", text)], tooltip, _COSTS, steady="cost"))
    if saved := _saved(total):
        tooltip = "How much more replay mode would have sent (estimated)"
        less = Segment(f"~{ratio(saved)} less than replay", styles("good", "background"))
        parts.append(Part([less], tooltip, steady="saved"))
    return parts + _context(step, styles)


def _mode(status: Status, styles: ThemeStyles) -> Part:
    used = status.step.get("mode", "") if _decided(status) else ""
    chip = Segment(
        f" {status.mode}→{used} " if used else f" {status.mode} ",
        styles("good", "background", "bold reverse"),
    )
    why = f". Last cycle: {used}, {_reason(status)}" if used else ""
    tooltip = f"Session mode: {status.mode}{why}. Click or press Ctrl+O for the next mode"
    return Part([chip], tooltip, "command('cycle_mode')", "")


def _decided(status: Status) -> bool:
    """Return whether `auto` selected the last cycle's mode, for the model that is still in force."""
    step = status.step
    same = (step.get("provider", status.provider), step.get("model", status.model))
    return (
        status.mode == "auto" and same == (status.provider, status.model) and step.get("reason") != "chosen"
    )


def _reason(status: Status) -> str:
    reason = status.step.get("reason", "") if _decided(status) else ""
    return one_line(reason.removeprefix("auto: "))


def _settings(status: Status, styles: ThemeStyles) -> list[Part]:
    model = Segment(f"{one_line(status.provider)}/{one_line(status.model)}", styles("text", "background"))
    permissions = Segment(status.permissions, styles("edit", "background"))
    return [
        Part([model], "Model. Click or press F2 to choose another", "command('choose_model')"),
        Part(
            [permissions],
            "What the agent may do without asking. Click or press Shift+Tab for the next mode",
            "command('cycle_permissions')",
            " · ",
        ),
        *_sandbox(status, styles),
    ]


def _sandbox(status: Status, styles: ThemeStyles) -> list[Part]:
    """Draw whether commands are confined; a missing sandbox is dispensable only if it is not wanted."""
    state, _colon, reason = one_line(status.sandbox).partition(": ")
    if not state:
        return []
    confined = state == "sandboxed"
    if confined:
        meaning = "Commands run without network access and can write only in the project and /tmp"
    else:
        meaning = f"Commands run with all your permissions ({reason})"
    requested = reason not in ("switched off", "not tried yet")
    role = "good" if confined else "edit" if requested else "dim"
    return [
        Part(
            [Segment("sandboxed" if confined else "no sandbox", styles(role, "background"))],
            f'{meaning}. Set `sandbox` in the configuration to "off", "auto" or "require"',
            lead=" · ",
            spare=not confined and not requested,
        )
    ]


def _speed(step: "Measure") -> str:
    ttft = step.get("ttft")
    writing, written = step.get("writing", 0.0), step.get("output", 0)
    about = "~" if step.get("estimated") else ""
    speed = f"{about}{written / writing:.0f} tok/s" if written and writing > 0.05 else ""
    return " · ".join(part for part in (speed, duration(ttft) if ttft is not None else "") if part)


def _saved(total: "Measure") -> float:
    """The factor by which replay mode would have sent more; 0 if the difference is negligible."""
    sent, replayed = total.get("input", 0), total.get("replay_input", 0)
    times = replayed / sent if sent else 0.0
    return times if times >= 1.05 else 0.0


def _context(step: "Measure", styles: ThemeStyles) -> list[Part]:
    used, size = step.get("context", 0), step.get("context_size", 0)
    if not used or not size:
        return []
    share = min(1.0, used / size)
    full = max(1, round(share * _METER))
    role = "accent" if share < 0.75 else "edit" if share < 0.9 else "bad"
    meter = [
        Segment("context ", styles("dim", "background")),
        Segment("▓" * full, styles(role, "background")),
        Segment("░" * (_METER - full), styles("dim", "background")),
        Segment(f" {percent(share)}", styles("text", "background")),
    ]
    tooltip = f"About {tokens(used)} of {tokens(size)} tokens of the model's context used. Click for details"
    return [Part(meter, tooltip, "command('show_context')")]

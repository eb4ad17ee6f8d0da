"""The line at the bottom: the permission mode, the model, the context used and the cost, with the keys at the
right on a screen of few rows.

Segments have a fixed order; where the line is short they are dropped from the right, never wrapped. Each is a
button with an explanatory tooltip; a click beside them shows all figures.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace
from rich.segment import Segment

from cogency_tui.agent.dialect_choice import dialect_for, reason_for
from cogency_tui.config.schema import EffortChoice, Mode, Permissions
from cogency_tui.errors import sentence
from cogency_tui.protocol import Dialect
from cogency_tui.providers.efforts import describe_effort, substitute
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Part
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.footer import KeyBar, KeyPart, fit_keys, reserved_width
from cogency_tui.tui.kit.number_format import dollars, percent, plural, tokens, when
from cogency_tui.tui.kit.permission_badge import permission_badge
from cogency_tui.tui.theme_styles import ThemeStyles

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.protocol.events import Measure, PlannedStep
    from cogency_tui.team.local_state import Refusal, WorkerState
    from cogency_tui.tui.prompt.vim_keys import VimStatus

_PENDING = 6
"""The last characters of an incomplete command of Vim's keys that are shown."""

_COMMAND = 24
"""Cells of the command that decides when the work ends."""

_STEPS = 15
"""Steps of a plan that its tooltip lists."""

_FIGURES = "command('show_status')"

_SWITCH = "app.switch_conversation"


class Status(msgspec.Struct, frozen=True):
    """The settings in force, and the figures of the last cycle and of all.

    `sandbox` is `sandboxed`, or `not sandboxed: ` and the reason. `allows_edits`: the user has allowed all
    changes of files in the conversation. `configured_mode` and `configured_effort` are those of the
    configuration. `has_sessions`: the provider can do resume mode. `effort_sent` is what the model gets
    instead of an effort that it lacks; `effort_refused`: it has refused it, and is asked without one. At
    `session_expires`, in Unix seconds, the provider drops the session if nothing is sent.
    `dialect` is the one of the next step, and `dialect_reason` says why. `plan` is the agent's plan. Work
    goes on `until` a command succeeds, with this `until_progress`.
    """

    mode: Mode
    provider: str
    model: str
    permissions: Permissions
    sandbox: str = ""
    step: "Measure" = {}
    total: "Measure" = {}
    allows_edits: bool = False
    configured_mode: Mode = "auto"
    has_sessions: bool = True
    effort: EffortChoice = "auto"
    configured_effort: EffortChoice = "auto"
    effort_sent: str = ""
    effort_refused: bool = False
    service_tier: str = ""
    session_expires: float | None = None
    dialect: Dialect = "xml"
    dialect_reason: str = ""
    until: str = ""
    until_progress: str = ""
    plan: "Sequence[PlannedStep]" = ()
    running: int = 0
    """The number of background commands that run."""

    @property
    def in_effect(self) -> Permissions:
        """The permission mode that the calls have: asking about changes ends where all are allowed."""
        return "edits" if self.permissions == "ask" and self.allows_edits else self.permissions

    @property
    def used_mode(self) -> str:
        """The session mode that is set, or the one that was last chosen automatically for this model."""
        if self.mode != "auto":
            return self.mode
        step = self.step
        same = (step.get("provider", self.provider), step.get("model", self.model))
        return step.get("mode", "") if same == (self.provider, self.model) else ""

    @property
    def why(self) -> str:
        """The reason of the automatic choice, on one line; empty if there is none."""
        reason = self.step.get("reason", "") if self.mode == "auto" and self.used_mode else ""
        return "" if reason == "chosen" else one_line(reason.removeprefix("auto: "))

    @property
    def context(self) -> float:
        """The used share of the model's context; 0 if unknown."""
        used, size = self.step.get("context", 0), self.step.get("context_size", 0)
        return min(1.0, used / size) if size else 0.0


def status_of(
    agent: "Agent",
    step: "Measure | None" = None,
    total: "Measure | None" = None,
    *,
    allows_edits: bool = False,
    session_expires: float | None = None,
    plan: "Sequence[PlannedStep]" = (),
) -> Status:
    """The status of `agent`, with the figures of the last cycle and of all, and the agent's plan."""
    choice = agent.dialect or agent.settings.dialect
    return Status(
        mode=agent.mode,
        provider=agent.provider.name,
        model=agent.provider.model,
        permissions=agent.permissions,
        sandbox=agent.sandbox,
        # The context size is that of the model that comes next, not that of the last cycle.
        step={**(step or {}), "context_size": agent.provider.facts.context_size},
        total=total or {},
        allows_edits=allows_edits,
        configured_mode=agent.settings.mode,
        has_sessions=agent.provider.resumes,
        effort=agent.effort,
        configured_effort=agent.settings.effort,
        effort_sent="" if agent.effort == "auto" else substitute(agent.provider.facts.efforts, agent.effort),
        effort_refused=agent.refuses(agent.effort),
        service_tier=agent.settings.service_tier,
        session_expires=session_expires,
        dialect=dialect_for(choice, agent.provider),
        dialect_reason=reason_for(choice, agent.provider),
        plan=plan,
    )


class Background(NamedTuple):
    """The numbers of conversations that are open beside the shown one: those that wait for an answer, work,
    have failed, or are done without the user having seen it."""

    waiting: int = 0
    working: int = 0
    failed: int = 0
    done: int = 0


class TeamWork(NamedTuple):
    """How sending to the team's database goes: conversations that wait, the last failure, whether the
    database is out of reach, conversations that are to be withdrawn from it, and whether it accepts nothing
    of the project."""

    waiting: int = 0
    failure: str = ""
    is_offline: bool = False
    withdrawing: int = 0
    is_refused: bool = False


class StatusBar(KeyBar):
    """Draws a `Status`; a `shares` bar has keys at its right end.

    A figure retains its largest width so far, so that those after it do not move.
    """

    BESIDE = _FIGURES

    def __init__(self, status: Status, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.status = status
        self.shares = False
        self._vim: VimStatus | None = None
        self.background = Background()
        self.team = TeamWork()
        self._rooms: dict[str, int] = {}

    def share(self, with_keys: bool) -> None:
        """Show keys at the right end, or none."""
        if with_keys != self.shares:
            self.shares = with_keys
            self.refresh()

    def show_vim_status(self, vim: "VimStatus | None") -> None:
        """Show the state of Vim's keys in the prompt; None while they are off."""
        if vim != self._vim:
            self._vim = vim
            self.refresh()

    def show_background(self, background: Background) -> None:
        """Show what the other open conversations do."""
        if background != self.background:
            self.background = background
            self.refresh()

    def show_team(self, team: TeamWork) -> None:
        """Show what waits to be sent to the team's database."""
        if team != self.team:
            self.team = team
            self.refresh()

    def report(self, status: Status) -> None:
        """Show other figures."""
        if status != self.status:
            if not status.total.get("input"):
                self._rooms = {}
            self.status = status
            self.refresh()

    def keys(self) -> list[KeyPart]:
        """The keys at the right end, first the one to go to a conversation that waits for the user."""
        keys = super().keys() if self.shares else []
        return sorted(keys, key=_is_other) if self.background.waiting else keys

    def segments(self, width: int) -> list[Segment]:
        keys = self.keys()
        left = self._within(width - self._reserved_for(keys, width))
        taken = sum(part.width for part in left)
        right = fit_keys(keys, width - taken)
        if not right:
            return self.lay(left, width)
        space = width - taken - sum(part.width for part in right)
        first = right[0].led_by(" " * max(0, space) + right[0].lead)
        return self.lay([*left, first, *right[1:]], width)

    def _reserved_for(self, keys: Sequence[KeyPart], width: int) -> int:
        """The cells of the keys that no figure takes: of the last ones, or of the last one and that to go to
        a conversation that waits."""
        reserved = reserved_width(keys, width)
        if not self.background.waiting or not keys or _is_other(keys[0]):
            return reserved
        wanted = keys[0].width + keys[-1].width
        room = width - sum(part.width for part in self._parts()[:2])
        return wanted if wanted <= room else reserved

    def _within(self, width: int) -> list[Part]:
        """The parts that fit into `width` cells."""
        shown: list[Part] = []
        for part in self._fitted(width):
            if part.width > width:
                break
            width -= part.width
            shown.append(part)
        return shown

    def _fitted(self, width: int) -> list[Part]:
        """The parts in order; spare ones only where all others fit."""
        parts = [self._steadied(part) for part in self._parts()]
        room = width - sum(part.width for part in parts if not part.spare)
        shown: list[Part] = []
        for part in parts:
            if part.spare and part.width > room:
                continue
            room -= part.width if part.spare else 0
            shown.append(part)
        return shown

    def _steadied(self, part: Part) -> Part:
        """Pad the part to the largest width of its name so far."""
        if not part.steady:
            return part
        room = self._rooms[part.steady] = max(self._rooms.get(part.steady, 0), part.width)
        blank = Segment(" " * (room - part.width), self.theme_styles("dim", "background"))
        return replace(part, segments=[*part.segments, blank])

    def _parts(self) -> list[Part]:
        status, styles = self.status, self.theme_styles
        model = Segment(f"{one_line(status.provider)}/{one_line(status.model)}", styles("text", "background"))
        return [
            _badge(status, styles),
            *_background(self.background, styles),
            *_vim_status(self._vim, styles),
            *_until(status, styles),
            *_running(status, styles),
            Part([model], "Model. Click or press F2 to choose another", "command('choose_model')"),
            *_plan(status, styles),
            *_team(self.team, styles),
            *_context(status, styles),
            *_cost(status, styles),
            *_sandbox(status, styles),
            *_mode(status, styles),
            *_effort(status, styles),
            *_dialect(status, styles),
        ]


def _badge(status: Status, styles: ThemeStyles) -> Part:
    chip = permission_badge(status.in_effect, styles, "background")
    tooltip = (
        "Permissions: what the agent may do without asking. Click to choose; Shift+Tab for the next mode"
    )
    if status.in_effect != status.permissions:
        tooltip = (
            "You allowed all edits in this conversation. Click to revoke it; Shift+Tab to be asked again"
        )
    # A click too many would widen them further.
    return Part([chip], tooltip, "command('permissions')", "")


_BACKGROUND = (("waiting", "edit"), ("running", "running"), ("failed", "bad"), ("done", "good"))
"""The words for the other conversations and their roles, the most urgent first."""


def _background(background: Background, styles: ThemeStyles) -> list[Part]:
    """The other conversations that have news or work; one that waits for the user stands out like a badge."""
    segments: list[Segment] = []
    is_badge = False
    for count, (word, role) in zip(background, _BACKGROUND, strict=True):
        if not count:
            continue
        if segments:
            segments.append(Segment(" " if is_badge else " · ", styles("dim", "background")))
        if is_badge := word == "waiting":
            segments.append(Segment(f" {count} {word} ", styles(role, "background", "bold reverse")))
        else:
            segments.append(Segment(f"{count} {word}", styles(role, "background")))
    tooltip = "Other open conversations. Click or press F9 to go to one"
    return [Part(segments, tooltip, _SWITCH)] if segments else []


def _is_other(key: KeyPart) -> bool:
    """Return whether a key is not the one to go to another conversation."""
    return key.action != _SWITCH


def _vim_status(vim: "VimStatus | None", styles: ThemeStyles) -> list[Part]:
    """The mode of Vim's keys, with an incomplete command; normal mode stands out, for there letters are no
    text. While keys go elsewhere it is in small letters."""
    if vim is None:
        return []
    stands_out = vim.focused and vim.mode == "normal"
    style = styles("accent", "background", "bold") if stands_out else styles("dim", "background")
    pending = one_line(vim.pending)[-_PENDING:]
    segments = [Segment(vim.mode.upper() if vim.focused else vim.mode, style)]
    if pending:
        segments.append(Segment(f" {pending}", styles("text" if vim.focused else "dim", "background")))
    tooltip = "Vim mode and pending keys. F1 lists the keys"
    return [Part(segments, tooltip, steady="vim")]


def _until(status: Status, styles: ThemeStyles) -> list[Part]:
    if not status.until:
        return []
    command = Segment(f"until {fit(status.until, _COMMAND)}", styles("running", "background"))
    progress = Segment(status.until_progress, styles("dim", "background"))
    tooltip = f"Works until `{status.until}` succeeds. Click for how to stop"
    return [
        Part([command], tooltip, "command('until')"),
        Part([progress], tooltip, "command('until')", " · "),
    ]


def _running(status: Status, styles: ThemeStyles) -> list[Part]:
    """The number of background commands that run."""
    if not status.running:
        return []
    shown = Segment(f"{status.running} background", styles("running", "background"))
    return [Part([shown], "Background commands running. Click to go to them", "command('show_background')")]


def _context(status: Status, styles: ThemeStyles) -> list[Part]:
    if not (share := status.context):
        return []
    role = "text" if share < 0.75 else "edit" if share < 0.9 else "bad"
    used, size = status.step.get("context", 0), status.step.get("context_size", 0)
    tooltip = f"About {tokens(used)} of {tokens(size)} tokens of the model's context used. Click for details"
    if (expires := status.session_expires) is not None:
        tooltip += f". The provider holds the session until {when(expires, expires)}"
    segments = [
        Segment(percent(share), styles(role, "background")),
        Segment(" context", styles("dim", "background")),
    ]
    return [Part(segments, tooltip, "command('show_context')", steady="context")]


def _cost(status: Status, styles: ThemeStyles) -> list[Part]:
    total = status.total
    if (cost := total.get("cost")) is None:
        return []
    about = "~" if total.get("estimated") else ""
    note = " (~ estimated)" if about else ""
    tooltip = f"Cost of this conversation{note}. Click for details"
    shown = Segment(f"{about}{dollars(cost)}", styles("text", "background"))
    return [Part([shown], tooltip, _FIGURES, steady="cost")]


def _plan(status: Status, styles: ThemeStyles) -> list[Part]:
    """The progress of the agent's plan while anything of it is left to do."""
    if not status.plan:
        return []
    # Most conversations have no plan.
    from cogency_tui.protocol.plan import PLAN_GLYPHS, is_finished, progress_of

    if is_finished(status.plan):
        return []
    steps = [f"{PLAN_GLYPHS[step['state']]} {one_line(step['text'])}" for step in status.plan]
    more = [f"… {plural(len(steps) - _STEPS, 'more step')}"] if len(steps) > _STEPS else []
    tooltip = "\n".join(["The agent's plan. Click to go to it", *steps[:_STEPS], *more])
    segments = [
        Segment("plan ", styles("dim", "background")),
        Segment(progress_of(status.plan), styles("text", "background")),
    ]
    return [Part(segments, tooltip, "command('show_plan')", steady="plan")]


def work_of(worker: "WorkerState | None", withdrawing: int, refusal: "Refusal | None" = None) -> TeamWork:
    """Return what to show of a worker, None where there is nothing for one to do, and of a refusal."""
    if worker is None:
        return TeamWork(withdrawing=withdrawing)
    if worker.error or refusal is None:
        return TeamWork(worker.waiting, worker.error, worker.is_offline, withdrawing)
    waiting = max(worker.waiting, refusal.waiting)
    return TeamWork(waiting, refusal.failure, False, withdrawing, refusal.is_whole)


def describe_team(team: TeamWork) -> str:
    """Describe what waits to be sent, in a few words; empty if nothing does."""
    failed = "not accepted" if team.is_refused else "failed" if team.failure else ""
    state = "offline" if team.is_offline else failed
    waiting = f"{team.waiting:,} waiting" if team.waiting else ""
    withdrawing = f"{team.withdrawing:,} to withdraw" if team.withdrawing else ""
    return ", ".join(filter(None, (state, waiting, withdrawing)))


def _team(team: TeamWork, styles: ThemeStyles) -> list[Part]:
    """What waits to be sent to the team's database, or why nothing is sent."""
    if not (state := describe_team(team)):
        return []
    segments = [
        Segment("team: ", styles("dim", "background")),
        Segment(state, styles("edit" if team.failure else "text", "background")),
    ]
    reason = one_line(team.failure) or "Conversations wait to be sent to the team's database"
    return [Part(segments, f"{sentence(reason)} Click for details", _FIGURES)]


def describe_sandbox(sandbox: str) -> str:
    """Describe what confines commands, in a sentence without its full stop; empty if unknown."""
    state, _colon, reason = one_line(sandbox).partition(": ")
    if state == "sandboxed":
        return "On: commands run without network access and can write only in the project and /tmp"
    if reason == "not tried yet":
        return "Starts with the first command"
    off = "Off" if reason == "switched off" else f"Off ({reason})"
    return f"{off}: commands run with your full permissions" if state else ""


def _sandbox(status: Status, styles: ThemeStyles) -> list[Part]:
    """Warn of a sandbox that is wanted and missing."""
    state, _colon, reason = one_line(status.sandbox).partition(": ")
    if state in ("", "sandboxed") or reason in ("switched off", "not tried yet"):
        return []
    setting = 'Set `sandbox` in the configuration to "off", "auto" or "require"'
    shown = Segment("no sandbox", styles("edit", "background"))
    return [
        Part([shown], f"No sandbox ({reason}): commands run with your full permissions. {setting}", _FIGURES)
    ]


def effort_in_force(status: Status) -> str:
    """The reasoning effort, and what the model gets instead."""
    return describe_effort(status.effort, status.effort_sent, refused=status.effort_refused)


def _effort(status: Status, styles: ThemeStyles) -> list[Part]:
    """The reasoning effort, where the user has chosen one, here or in the configuration."""
    if status.effort == status.configured_effort == "auto":
        return []
    tooltip = "How hard the model thinks before it answers. Click for another effort"
    if status.effort_refused:
        tooltip = f"{one_line(status.model)} refused this effort: its own default applies. Click for another"
    shown = Segment(f"effort {effort_in_force(status)}", styles("dim", "background"))
    return [Part([shown], tooltip, "command('set_effort')", spare=True)]


def _dialect(status: Status, styles: ThemeStyles) -> list[Part]:
    """The dialect, where it is not the usual one."""
    if status.dialect == "xml" and status.dialect_reason != "chosen":
        return []
    reason = one_line(status.dialect_reason)
    tooltip = f"How the model writes tool calls: dialect {status.dialect} ({reason}). Click for another"
    shown = Segment(f"dialect {status.dialect}", styles("dim", "background"))
    return [Part([shown], tooltip, "command('set_dialect')", spare=True)]


def _mode(status: Status, styles: ThemeStyles) -> list[Part]:
    """The session mode, where the user has chosen another than the configured one."""
    if status.mode == status.configured_mode:
        return []
    # Most users never choose one: the first frame does not import this.
    from cogency_tui.config.options import options

    means = options()["mode"].means[status.mode]
    tooltip = f"Session mode {status.mode}: {means}. Click or press Ctrl+O for the next mode"
    shown = Segment(f"session mode {status.mode}", styles("dim", "background"))
    return [Part([shown], tooltip, "command('cycle_mode')", spare=True)]

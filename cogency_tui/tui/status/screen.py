"""All figures of a conversation and the settings in force, in a dialog."""

from collections.abc import Iterable, Mapping, Sequence
from time import time
from typing import NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult

from cogency_tui.config.options import options
from cogency_tui.protocol.events import Measure
from cogency_tui.safe_text import one_line
from cogency_tui.team.local_state import AUDIENCES, WorkerState
from cogency_tui.team.sharing import Sharing, Withheld
from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.dialogs import Choices, DialogBody, DialogBox, DialogTitle, ReadingScreen
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import (
    dollars,
    duration,
    percent,
    plural,
    ratio,
    tokens,
    when,
    whole_seconds,
)
from cogency_tui.tui.status.status_bar import (
    Status,
    describe_sandbox,
    describe_team,
    effort_in_force,
    work_of,
)
from cogency_tui.tui.theme_styles import ThemeStyles

_LABEL = 20
_VALUE = 10
_NOTABLE_SAVING = 1.05
"""The factor from which replay mode would have sent noticeably more."""


class Fact(NamedTuple):
    """A row of the dialog; without a `note` the value takes the whole row."""

    label: str
    value: str
    note: str = ""


def settings_of(status: Status) -> list[Fact]:
    """The settings in force."""
    facts = [
        Fact("Model", f"{one_line(status.provider)}/{one_line(status.model)}"),
        Fact("Permissions", _permissions(status)),
        Fact("Session mode", _session_mode(status)),
        *([Fact("Session ends", _session_end(status.session_expires))] if status.session_expires else []),
        Fact("Reasoning effort", _effort(status)),
        *([Fact("Service tier", _service_tier(status))] if status.service_tier else []),
        Fact("Dialect", _dialect(status)),
    ]
    if status.running:
        facts.append(Fact("Background", f"{plural(status.running, 'command')} running"))
    sandbox = describe_sandbox(status.sandbox)
    return [*facts, Fact("Sandbox", sandbox)] if sandbox else facts


def _effort(status: Status) -> str:
    if status.effort_refused:
        return f"{effort_in_force(status)}: {one_line(status.model)} uses its own default"
    instead = ", which the model has" if status.effort_sent else ""
    return f"{effort_in_force(status)}{instead}: {options()['effort'].means[status.effort]}"


def _service_tier(status: Status) -> str:
    """The class of service that is requested, and the one that answered."""
    answered = one_line(status.step.get("tier", ""))
    return one_line(status.service_tier) + (f" (last answer: {answered})" if answered else "")


def _dialect(status: Status) -> str:
    return (
        f"{status.dialect} ({one_line(status.dialect_reason)}): {options()['dialect'].means[status.dialect]}"
    )


def _session_mode(status: Status) -> str:
    """The session mode, or the one that was chosen automatically and why, with its meaning."""
    means = options()["mode"].means
    if status.mode == "resume" and not status.has_sessions:
        return f"resume: not possible, {one_line(status.provider)} has no sessions. Use /mode replay"
    if status.mode != "auto":
        return f"{status.mode}: {means[status.mode]}"
    if not (used := status.used_mode):
        return f"automatic: {means['auto']}"
    why = f" ({status.why})" if status.why else ""
    return f"automatic → {used}{why}: {means.get(used, '')}"


def _session_end(expires: float) -> str:
    """The end of the session, and what follows."""
    left, at = expires - time(), when(expires, expires)
    again = "the next message sends the conversation again"
    return f"in {whole_seconds(left)}, at {at}; then {again}" if left > 0 else f"ended at {at}: {again}"


def _permissions(status: Status) -> str:
    """The permission mode with its meaning, or with what is allowed beyond it."""
    if status.in_effect != status.permissions:
        return f"{status.permissions}, but all edits are allowed in this conversation"
    return f"{status.permissions}: {options()['permissions'].means[status.permissions]}"


def figures_of(status: Status) -> Iterable[Fact]:
    """The known figures, with units; empty before the first answer."""
    total, step = status.total, status.step
    about = "~" if total.get("estimated") else ""
    sent, billed = total.get("input", 0), total.get("billed_input", total.get("input", 0))
    if status.context:
        used, size = tokens(step.get("context", 0)), tokens(step.get("context_size", 0))
        yield Fact("Context used", percent(status.context), f"{used} of {size} tokens")
    if sent or total.get("output"):
        yield Fact("Tokens sent", about + tokens(sent))
        yield Fact("Tokens generated", about + tokens(total.get("output", 0)))
    if billed != sent:
        yield Fact("Billed as input", about + tokens(billed), "sessions re-bill the whole context")
    if (cached := total.get("cached")) and billed:
        yield Fact("Read from cache", tokens(cached), f"{_hit_rate(status)}, at a lower price")
    if (cost := total.get("cost")) is not None:
        yield Fact("Cost", about + dollars(cost))
    yield from _speed_of(status)
    if sent and (saved := total.get("replay_input", 0) / sent) >= _NOTABLE_SAVING:
        yield Fact("Saved by sessions", f"~{ratio(saved)}", "compared with replay mode")


def _hit_rate(status: Status) -> str:
    """The share of the billed input that was read from the cache, and that of the last answer."""
    total, step = status.total, status.step
    share = percent(_cached_share(total))
    last = f" ({percent(_cached_share(step))} in the last answer)" if "cached" in step else ""
    return f"{share} of the billed input{last}"


def _cached_share(measure: Measure) -> float:
    billed = measure.get("billed_input", measure.get("input", 0))
    return min(1.0, measure.get("cached", 0) / billed) if billed else 0.0


def _speed_of(status: Status) -> Iterable[Fact]:
    """The speed of the last answer."""
    step = status.step
    writing, written = step.get("writing", 0.0), step.get("output", 0)
    about = "~" if step.get("estimated") else ""
    if (ttft := step.get("ttft")) is not None:
        yield Fact("Time to first token", duration(ttft), "last answer")
    if written and writing > 0.05:
        yield Fact("Speed", f"{about}{written / writing:.0f} tok/s", "last answer")


_WITHHELD: Mapping[Withheld, str] = {
    "withdrawn": "withdrawn, and sent to no database. `history push ID` sends it",
    "fork": "a fork with another's text, or a withdrawn one's, and not sent. `history push ID` sends it",
    "other": "another's, or imported, and not sent",
}


def facts_of_team(sharing: Sharing, database: str, waiting: int = 0) -> Iterable[Fact]:
    """How the project is shared in a database, and how many conversations are `waiting` at the moment;
    `database` is empty without one."""
    if sharing.is_private:
        sent = ". What was sent before is there until /share withdraws it" if sharing.share else ""
        yield Fact("Shared", f"never: history.private names this project{sent}")
    elif database and (share := sharing.share):
        seen, since = AUDIENCES[share.audience], when(share.since, time())
        yield Fact("Shared", f"with {seen}, as {one_line(share.name)!r} in {database}, since {since}")
        if sharing.withheld:
            yield Fact("This conversation", _WITHHELD[sharing.withheld])
    elif database:
        yield Fact("Shared", f"no. /share shares this project in {database}")
    if database and sharing.has_work and (sharing.worker or waiting):
        yield Fact("Team's database", _team_work(sharing, waiting))


def _team_work(sharing: Sharing, waiting: int) -> str:
    worker = sharing.worker or WorkerState(0.0, 0, "", 0.0)
    # The worker does not know yet what has been added since it has last sent something.
    worker = worker._replace(waiting=max(worker.waiting, waiting))
    team = work_of(worker, sharing.withdrawing, sharing.refusal)
    state = describe_team(team) or ("all else was sent" if sharing.withheld else "all was sent")
    contact = f"last contact {when(worker.contact, time())}" if worker.contact else "no contact yet"
    error = f". {one_line(team.failure)}" if team.failure else ""
    return f"{state}; {contact}{error}"


def draw_status(status: Status, width: int, styles: ThemeStyles, team: Sequence[Fact] = ()) -> list[Line]:
    """The settings, the figures, and where there are more; `team` is about sharing."""
    lines = [line for fact in (*settings_of(status), *team) for line in _row(fact, width, styles)]
    figures = [line for fact in figures_of(status) for line in _row(fact, width, styles)]
    lines += [BLANK, *(figures or wrap([Segment("No usage yet.", styles("dim"))], width))]
    more = "~ estimated. " if status.total.get("estimated") else ""
    more += "Usage by model: /cost · context usage: /context"
    return [*lines, BLANK, *wrap([Segment(more, styles("dim"))], width)]


def _row(fact: Fact, width: int, styles: ThemeStyles) -> list[Line]:
    label = Segment(fact.label.ljust(_LABEL), styles("dim"))
    gap = " " * max(2, _VALUE - cells(fact.value))
    note = [Segment(gap + fact.note, styles("dim"))] if fact.note else []
    value = wrap([Segment(fact.value, styles("text")), *note], max(1, width - _LABEL))
    blank = Segment(" " * _LABEL, styles("dim"))
    return [line.indented(blank if at else label) for at, line in enumerate(value)]


class StatusScreen(ReadingScreen[None]):
    """Shows `status`, and `team`, the facts about sharing."""

    def __init__(self, status: Status, team: Sequence[Fact] = ()) -> None:
        super().__init__()
        self._status = status
        self._team = team

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle("Status", id="status-title"),
            DialogBody(self._draw, id="status-body"),
            keys=Choices([("escape", "close", "close")]),
            id="status",
        )

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_status(self._status, width, styles, self._team)

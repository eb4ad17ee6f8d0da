"""Turns events into sentences: describes what happens, in order. Pure.

The answer is announced line by line, as its lines are complete; thoughts only by their beginning and
duration; a call by its beginning and its end.
"""

from cogency_tui.cli.standard_streams import describe_args
from cogency_tui.protocol.events import (
    BACKGROUND_NEWS,
    DiagnosticsChange,
    ErrorPayload,
    Event,
    HookRun,
    Measure,
    RanCommand,
    ResultEvent,
    describe_diagnostic,
    describe_error,
    describe_image,
    outcome_shown,
    summarize_diagnostics,
)
from cogency_tui.protocol.plan import describe_plan
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.safe_text import Sanitizer, clean, one_line

_LONG = 1.0
"""Minimum seconds of thought for which a line is printed when they end."""

_MOST_PROBLEMS = 3


class Announcer:
    """Announces the events of one turn, deltas included."""

    def __init__(self) -> None:
        self.total: Measure = {}
        """The usage of the conversation, as last reported."""
        self.last_output = ""
        """The output of the last call, as text."""
        self.steered = False
        """True if the turn ends for a message of the user: the work goes on."""
        self._subjects: dict[str, str] = {}
        self._started: set[str] = set()
        self._unit: tuple[str, str] | None = None
        self._since = 0.0
        self._sanitizer = Sanitizer()
        self._line = ""
        self._failed = False

    def feed(self, event: Event) -> list[str]:
        """The lines that `event` completes."""
        failed = self._failed
        self._failed = event["type"] == "error" and not event["payload"].get("notice")
        if event["type"] == "think" or event["type"] == "respond":
            return self._write(event["type"], event["id"], event["content"], event["timestamp"])
        lines = self._close(event["timestamp"])
        match event["type"]:
            case "call":
                if not event.get("partial"):
                    args = as_tool_call(call_record(event))["args"]
                    self._subjects[event["id"]] = one_line(describe_args(args, 200))
            case "result":
                lines += self._report(event)
            case "error":
                lines.append(spoken_error(event["payload"]))
            case "interrupt":
                lines.append("Interrupted.")
            case "end" if not (failed or self.steered):
                lines.append("Done.")
            case "metric":
                self.total = event["total"]
            case "user":
                lines += [f"Image: {one_line(describe_image(image))}" for image in event.get("images", ())]
                for each in event.get("hooks_added", ()):
                    lines.append(f"Hook {one_line(each['name'])} {_describe_added(each['lines'])}")
                lines += self._report_command(event["ran"]) if "ran" in event else []
            case "execute" | "end":
                pass
        return lines

    def _write(self, kind: str, unit: str, text: str, now: float) -> list[str]:
        lines: list[str] = []
        if self._unit != (kind, unit):
            lines = self._close(now)
            self._unit, self._since = (kind, unit), now
            lines.append("Thinking." if kind == "think" else "Answer:")
        if kind == "respond":
            *complete, self._line = (self._line + self._sanitizer.feed(text)).split("\n")
            lines += [line.rstrip() for line in complete]
        return lines

    def _close(self, now: float) -> list[str]:
        """End the unit that was being written."""
        unit, self._unit = self._unit, None
        if unit is None:
            return []
        if unit[0] == "think":
            took = now - self._since
            return [f"Thought for {spoken(took)}."] if took >= _LONG else []
        rest, self._line = (self._line + self._sanitizer.close()).rstrip(), ""
        return [rest] if rest else []

    def _report_command(self, ran: RanCommand) -> list[str]:
        self.last_output = ran["output"]
        output = clean(ran["output"]).rstrip("\n")
        how = "was interrupted after" if ran["state"] == "interrupted" else "ended after"
        outcome = "" if ran["state"] == "interrupted" else f": {one_line(ran['outcome'])}"
        ended = f"Command {how} {spoken(ran['duration'])}{outcome}"
        return [*(output.split("\n") if output else []), ended]

    def _report(self, event: ResultEvent) -> list[str]:
        tool, subject = one_line(event["tool"]), self._subjects.get(event["id"], "")
        if "plan" in event["payload"]:
            return [f"Plan {one_line(describe_plan(event['payload']['plan']))}"]
        if event.get("partial"):
            if event["id"] in self._started:
                return []
            self._started.add(event["id"])
            if tool == "plan":
                return []
            return [f"Tool {tool} started{f': {subject}' if subject else ''}"]
        payload = event["payload"]
        content = payload["content"]
        self.last_output = content if isinstance(content, str) else ""
        outcome = one_line(outcome_shown(payload))
        if tool in ("turn", BACKGROUND_NEWS):
            # The engine's own report to the model.
            return [f"Note: {outcome}"]
        if event["id"] not in self._started:
            # It never ran: it was refused, skipped, or could not be parsed.
            about = f" ({subject})" if subject else ""
            if payload.get("skipped"):
                return [f"Tool {tool}{about}: {outcome}"]
            if payload["state"] == "declined":
                return [f"Tool {tool}{about} did not run. {outcome}"]
            return [f"Tool {tool}{about} did not run: {outcome or 'no reason given'}"]
        if payload["state"] == "interrupted":
            return [f"Tool {tool} was interrupted."]
        how = "failed after" if payload["error"] else "done in"
        text = f": {outcome}" if outcome else ""
        hooks = [spoken_hook(run) for run in payload.get("hooks", ())]
        change = payload.get("diagnostics")
        problems = _spoken_problems(change) if change else []
        return [f"Tool {tool} {how} {spoken(event['duration'])}{text}", *hooks, *problems]


def _spoken_problems(change: DiagnosticsChange) -> list[str]:
    """What language servers say of an edit: the counts, and its first problems."""
    first = [one_line(describe_diagnostic(one)) for one in change["added"][:_MOST_PROBLEMS]]
    return [f"Problems: {summarize_diagnostics(change)}", *first]


def spoken_error(payload: ErrorPayload) -> str:
    """An error or a notice, with its next step."""
    no_failure = payload.get("notice") or payload.get("declined")
    text = f"{'Note' if no_failure else 'Error'}: {describe_error(payload)}"
    if hint := payload.get("hint"):
        text += f" Next step: {hint}"
    return text


def spoken_hook(run: HookRun) -> str:
    """A run of a hook as a sentence."""
    name, outcome = one_line(run["name"]), one_line(run["outcome"])
    changed = ", ".join(
        f"{one_line(each['path'])} (+{each['added']} −{each['removed']})" for each in run["changes"]
    )
    did = f"changed {changed}" if changed else "done" if run["state"] == "done" else ""
    how = f"{run['state']}: {outcome}" if run["state"] != "done" else ""
    more = _describe_added(added.count("\n") + 1) if (added := run.get("added")) else ""
    return f"Hook {name} {', '.join(part for part in (did, how, more) if part)}"


def _describe_added(lines: int) -> str:
    return f"added {lines} line{'' if lines == 1 else 's'} for the model"


def spoken(seconds: float) -> str:
    """A duration as it is read aloud: `12 ms`, `2.1 s`, `3 min 5 s`."""
    if seconds < 0.9995:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"

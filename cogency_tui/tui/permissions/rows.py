"""Permissions as rows: a line for each mode, grant and rule, and the selected one in full."""

from rich.segment import Segment

from cogency_tui.agent.permissions.grants import Grant
from cogency_tui.config.options import options
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import Line, width_of, wrap
from cogency_tui.tui.kit.number_format import when
from cogency_tui.tui.kit.select_list import Heading
from cogency_tui.tui.permissions.model import GrantRow, ModeRow, Row, RuleRow
from cogency_tui.tui.theme_styles import ThemeStyles

_NAME = 9
_DAY = 12


def draw_permission(row: Row, width: int, styles: ThemeStyles, on: str, now: float) -> Line:
    """Draw one line of the list."""
    if isinstance(row, Heading):
        head = [Segment(fit(row.text, width), styles("text", on, "bold"))]
        aside = Segment(f"  {row.aside}" if row.aside else "", styles("dim", on))
        return Line([*head, aside] if width_of([*head, aside]) <= width else head)
    if isinstance(row, ModeRow):
        mark, role, attributes = ("●", "accent", "bold") if row.current else (" ", "text", "")
        return Line(
            [
                Segment(f"{mark} ", styles("accent", on)),
                Segment(f"{row.mode:<{_NAME - 2}}", styles(role, on, attributes)),
                Segment(fit(_means(row), width - _NAME), styles("dim", on)),
            ]
        )
    if isinstance(row, GrantRow):
        return _entry(row.grant.effect, _words(row.grant), when(row.grant.since, now), width, styles, on)
    return _entry(row.rule.effect, _pattern(row), row.rule.added, width, styles, on)


def draw_permission_note(
    row: Row | None, path: str, problem: str, width: int, styles: ThemeStyles, now: float
) -> list[Line]:
    """Draw the selected row in full: what it allows, since when, and where it is stored."""
    if problem:
        text = f"✗ Rules not applied: {one_line(problem)}"
        return wrap([Segment(text, styles("bad"))], width)
    if isinstance(row, GrantRow):
        since = when(row.grant.since, now)
        made = f" Added with the rule {_quoted(row.grant.pattern)}." if row.grant.pattern else ""
        about = f": {reveal(row.grant.about)}" if row.grant.about else ""
        scope = f"{row.grant.covers}{about}"
        end = "you quit" if row.grant.turn is None else "the turn ends"
        return [
            *wrap([Segment(scope, styles("text"))], width),
            *wrap([Segment(f"Allowed {since}, until {end}.{made}", styles("dim"))], width),
        ]
    if isinstance(row, RuleRow):
        return [
            *wrap([Segment(_describe(row), styles("text"))], width),
            *wrap([Segment(_describe_storage(row, path), styles("dim"))], width),
        ]
    if isinstance(row, ModeRow):
        always = (
            "Every mode asks before destructive actions, changes to .git or instruction files, access "
            "outside the project, and the network after untrusted content."
        )
        return [
            *wrap([Segment(f"{row.mode}: {_means(row)}.", styles("text"))], width),
            *wrap([Segment(always, styles("dim"))], width),
        ]
    return []


def _means(row: ModeRow) -> str:
    if row.granted:
        return f"all edits allowed in this {row.granted}; the rest asks"
    return options()["permissions"].means[row.mode]


def _entry(effect: str, words: str, day: str, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw the kind of call and the pattern, with the date at the right end."""
    right = f"{day:>{_DAY}}" if width >= 48 else ""
    room = max(1, width - _NAME - 2 - cells(right))
    shown = fit(words, room)
    return Line(
        [
            Segment(f"  {effect:<{_NAME}}", styles("dim", on)),
            Segment(shown + " " * (room - cells(shown)), styles("text", on)),
            Segment(right, styles("dim", on)),
        ]
    )


def _words(grant: Grant) -> str:
    return one_line(f"{grant.about}" if grant.about and grant.effect == "command" else grant.covers)


def _pattern(row: RuleRow) -> str:
    where = f"  in {one_line(row.rule.project)}" if row.elsewhere else ""
    return f"{one_line(row.rule.pattern)}{where}"


def _quoted(pattern: str) -> str:
    return f'"{one_line(pattern)}"'


def _describe(row: RuleRow) -> str:
    """Describe a rule in a sentence."""
    rule = row.rule
    pattern = _quoted(rule.pattern)
    what = {
        "command": f"Simple commands that begin with {pattern} run",
        "write": f"Files matching {pattern} can be changed",
        "network": f"Requests to {pattern} run",
        "tool": f"Calls to {pattern} run",
    }[rule.effect]
    where = "in every project"
    if rule.project:
        where = f"in {one_line(rule.project)}" if row.elsewhere else "in this project"
    return f"{what} without asking {where}."


def _describe_storage(row: RuleRow, path: str) -> str:
    since = f"Added {one_line(row.rule.added)}, stored in" if row.rule.added else "Stored in"
    return f"{since} {one_line(path)}"

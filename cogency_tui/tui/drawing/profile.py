"""What is known of the person: a line for each fact, and the selected one in full with where it is from."""

from rich.segment import Segment

from cogency_tui.agent.profile import outcome_of, source_of
from cogency_tui.store.profile import Fact
from cogency_tui.text import one_line
from cogency_tui.tui.drawing.figures import plural, when
from cogency_tui.tui.drawing.lines import Line, cells, fit, wrap
from cogency_tui.tui.profile_book import Shown
from cogency_tui.tui.theming import Inks

_KIND = 11
_DAY = 12

_NOTHING = "Nothing is known of you."
_ON = "Learned every {}, in the background, from your own words. Each new conversation is told."
_OFF = (
    "It is off: nothing is learned or told. When it is on, what you write yourself is learned from every "
    "{}; it is kept on this machine, and told to the model in use."
)


def draw_fact(fact: Fact, width: int, inks: Inks, on: str, now: float) -> Line:
    """One line of the list."""
    right = f"{when(fact.created, now):>{_DAY}}" if width >= 48 else ""
    room = max(1, width - _KIND - cells(right))
    text = fit(one_line(fact.text), room - bool(right))
    return Line(
        [
            Segment(f"{fact.kind:<{_KIND}}", inks("dim", on)),
            Segment(text + " " * (room - cells(text)), inks("text", on)),
            Segment(right, inks("dim", on)),
        ]
    )


def draw_profile_note(shown: Shown, fact: Fact | None, width: int, inks: Inks, now: float) -> list[Line]:
    """The selected fact in full, what it comes from, and how the learning stands."""
    lines: list[Line] = []
    if fact is not None:
        lines += wrap([Segment(one_line(fact.text), inks("text"))], width)
        source = source_of(fact)
        lines += wrap([Segment(one_line(source[0].upper() + source[1:]) + ".", inks("dim"))], width)
    elif shown.on:
        lines += wrap([Segment(_NOTHING, inks("text"))], width)
    if outcome := outcome_of(shown.state):
        last = f"Last at {when(shown.state.attempted, now)}: {one_line(outcome)}."
        lines += wrap([Segment(last, inks("bad" if shown.state.failed else "dim"))], width)
    told = (_ON if shown.on else _OFF).format(plural(shown.every, "message"))
    return [*lines, *wrap([Segment(told, inks("dim"))], width)]


def describe_profile(shown: Shown) -> str:
    """It in a few words: `on, 3 facts`."""
    return f"{'on' if shown.on else 'off'}, {plural(len(shown.facts), 'fact')}"

"""What reaches the terminal goes through the cleaning: by its form (a walk through the code), and by a guard
on every strip whatever its form."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from cogency_tui.safe_text import clean, disarm, reveal, separate
from cogency_tui.tui.kit.cell_text import fit, fit_path
from cogency_tui.tui.kit.lines import Line, TerminalGuard, chop, disarmed, wrap
from tests.growth import assert_linear
from tests.safety.walker import walk, walk_package

ACTED_ON = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]")

ANYTHING = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\x00\x07\x08\t\n\r\x1b\x7f\x84\x90\x9b\x9d\x9c\u200b\u200d\u202e\u2066\u2028\ud800\udfff\u0301日👍"
        ),
    ),
    max_size=60,
)


@pytest.mark.exhaustive
def test_the_code_goes_round_the_cleaning_nowhere() -> None:
    assert [str(finding) for finding in walk_package()] == []


SEEDED = {
    "self.notify(text)": "notify",
    "app.notify(text, severity='error')": "notify",
    "self.notify(text, markup=True)": "notify",
    "self.notify(text, markup=flag)": "notify",
    "Text.from_markup(text)": "from_markup",
    "Content.from_markup('[b]ours[/b]')": "from_markup",
    "Text.from_ansi(output)": "from_ansi",
    "draw = Text.from_markup\ndraw(text)": "from_markup",
    "from rich.markup import render": "rich.markup",
    "import rich.console": "rich.console",
    "from rich.console import Console": "rich.console",
    "from rich import print": "rich.print",
    "from textual.widgets import Static\nStatic(text)": "Static",
    "from textual.widgets import Label as L\nL(text)": "L needs",
    "from textual.widgets import Static\nclass Note(Static): pass": "Note",
    "from textual.widgets.option_list import Option\nOption(text)": "Option",
    "from textual.widgets import Tree\nclass Files(Tree[str]): pass": "Files",
    "print(text)": "print",
    "input(text)": "input",
    "import sys\nsys.stdout.write(text)": "sys.stdout",
    "import sys\nsys.__stderr__.write(text)": "sys.__stderr__",
    "import sys\nsys.stdout.buffer.write(data)": "sys.stdout",
    "Strip([Segment(text)])": "Strip",
    "Strip(segments)": "Strip",
    "Strip([Segment('ours'), *others])": "Strip",
    "class W(Widget):\n  def render(self): return self.title": "render",
    "class W(Widget):\n  def render_lines(self, crop): return []": "render_lines",
    "class W(Widget):\n  def get_line_filters(self): return []": "get_line_filters",
    "def hover(self, why):\n  self.tooltip = why": "tooltip",
    "def hover(self, why):\n  self.tooltip = f'Because {why}'": "tooltip",
    "def hover(self, why):\n  tip = 'Because ' + why\n  self.tooltip = tip if why else None": "tooltip",
    "def name(self, title):\n  self.border_title = title": "border_title",
    "self.with_tooltip(why)": "with_tooltip",
    "yield Hit(score, title, run, text=title)": "titles",
    "yield DiscoveryHit(Content(title), run, text=title, help=summary)": "help",
    "self.exit(message=text)": "cli/standard_streams.py",
    "write('\\x1b]2;' + title)": "control sequences",
    "write(f'\\x1b[2J{text}')": "control sequences",
    "write('\\x9b2J')": "control sequences",
}


@pytest.mark.parametrize("source", SEEDED)
def test_a_way_round_is_seen(source: str) -> None:
    [finding, *_others] = walk(source, "tui/kit/new.py")
    assert SEEDED[source] in str(finding)
    assert finding.file == "tui/kit/new.py"


@pytest.mark.parametrize(
    "source",
    [
        "self.notify(exc.advice, severity='error', markup=False)",
        "from textual.widgets import Static\nStatic(text, markup=False)",
        "from textual.widgets import Input, TextArea\nclass Prompt(TextArea): pass\nInput(placeholder=text)",
        "Strip([Segment('› ', style)], 2)",
        "Strip.blank(3, style)",
        "def hover(self, why):\n  tip = Content(why) if why else None\n  self.tooltip = tip",
        "self.tooltip = 'Click for more'",
        "yield Hit(score, Content(title), run, text=title, help='ours')",
        "import sys\nsys.stdout.isatty()",
        "text.startswith('\\x1b[')",
        "import re\nre.compile('\\x1b\\\\[[0-9;]*m')",
        "self.exit(3)",
    ],
)
def test_what_is_safe_is_left_alone(source: str) -> None:
    assert walk(source, "tui/kit/new.py") == []


def test_each_place_may_do_what_is_its_own() -> None:
    assert walk("print(clean(text))", "cli/standard_streams.py") == []
    assert walk("write('\\x1b]2;title\\x07')", "tui/terminal/title_and_notifications.py") == []
    assert walk("Strip(disarmed(self.segments(width)))", "tui/kit/bar.py") == []
    assert walk("print(clean(text), file=sys.stderr)", "cli/main.py") == []
    assert walk("print(text)", "cli/main.py") != []


# The guard.


@given(ANYTHING)
def test_nothing_that_is_acted_on_is_left_and_the_width_stays(text: str) -> None:
    left = disarm(text)
    assert not ACTED_ON.search(left)
    # Each character by itself: nothing in it makes a terminal take several for one.
    assert cell_len(left) == sum(map(cell_len, left)) == cell_len(separate(text))


@given(ANYTHING)
def test_what_is_harmless_is_left_as_it_is(text: str) -> None:
    harmless = separate(ACTED_ON.sub("", text))
    assert disarm(harmless) == harmless or len(harmless) > 30


@pytest.mark.exhaustive
@given(st.lists(ANYTHING, max_size=5), st.integers(min_value=1, max_value=40))
def test_no_strip_holds_what_a_terminal_acts_on(texts: list[str], width: int) -> None:
    style = Style()
    segments = [Segment(text, style) for text in texts]
    for line in (Line(segments), *wrap(segments, width), *chop(segments, width)):
        strip = line.strip(width, style, margin=1)
        assert not ACTED_ON.search(strip.text)
        assert strip.cell_length == width == cell_len(strip.text)


@given(st.lists(ANYTHING, max_size=5))
def test_the_filter_of_other_widgets_is_the_same_wall(texts: list[str]) -> None:
    segments = [Segment(text, Style(bold=True)) for text in texts]
    width = Segment.get_line_length(segments)
    left = TerminalGuard().apply(segments, Color(0, 0, 0))
    assert not ACTED_ON.search("".join(segment.text for segment in left))
    assert Segment.get_line_length(left) == width


def test_what_needs_nothing_is_not_copied() -> None:
    segment = Segment("plain, 日本語, é", Style())
    assert disarmed([segment])[0] is segment


def test_ten_thousand_marks_are_some() -> None:
    flood = "e" + "\u0301" * 10_000 + "x"
    assert disarm(flood) == "e" + "\u0301" * 30 + "x"
    assert len(disarm("\u200b" * 10_000)) == 30
    [line] = wrap([Segment(flood)], 10)
    assert len(line.strip(10, Style()).text) < 50
    # What a script needs stays.
    for text in ("བསྒྲུབས", "ผู้ใหญ่", "é", "می‌خواهم"):
        assert disarm(text) == text


def test_joined_characters_are_as_wide_as_they_are_written() -> None:
    # Measured as one character, this would be written over what stands to the right of it.
    joined = "\u200d".join("Allow it? yes" * 20)
    lines = wrap([Segment(joined)], 40) + chop([Segment(joined)], 40)
    assert all(cell_len(line.text) == sum(map(cell_len, line.text)) <= 40 for line in lines)
    [row] = [Line([Segment(joined)]).strip(40, Style())]
    assert sum(map(cell_len, row.text)) == 40
    [flag] = wrap([Segment("a\ufe0f1\ufe0f\u20e3\u2764\ufe0fb")], 40)
    assert cell_len(flag.text) == 4


REPEATED = {
    "letters": "x",
    "accents": "é",
    "wide": "日",
    "marks": "\u0301",
    "invisible": "\u200b",
    "escapes": "\x1b]",
    "openings": "\x1b[",
    "returns": "\r",
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_long_text_without_a_newline_takes_linear_time(name: str) -> None:
    def show(text: str) -> None:
        assert not ACTED_ON.search(clean(text).replace("\n", ""))
        assert not ACTED_ON.search(reveal(text))
        assert sum(len(line.text) for line in chop([Segment(text)], 100)) == len(text)
        assert cell_len(fit(text, 50)) <= 50
        assert cell_len(fit_path(text, 50)) <= 50

    assert_linear(lambda n: "e" + REPEATED[name] * n, show, 12_500)

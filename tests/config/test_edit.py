"""One key of the configuration is changed, and nothing else in it."""

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cogency_tui.config.edit import LOCK, Value, set_key, text_with
from cogency_tui.errors import ConfigError


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'theme = "day"\n'),
        ('theme = "night"\n', 'theme = "day"\n'),
        ("theme='night' # dark\nmode = \"auto\"", 'theme="day" # dark\nmode = "auto"'),
        ('theme = """\nnight"""\n', 'theme = "day"\n'),
        ('a = 1\r\ntheme = "night" # x\r\n\r\n[keys]\r\n', 'a = 1\r\ntheme = "day" # x\r\n\r\n[keys]\r\n'),
        ('# mine\n\n[keys]\nleave = "ctrl+x"\n', '# mine\n\ntheme = "day"\n\n[keys]\nleave = "ctrl+x"\n'),
        ('mode = "auto"\n[keys]\ntheme = "f9"\n', 'mode = "auto"\ntheme = "day"\n\n[keys]\ntheme = "f9"\n'),
        ('# theme = "x"\nmodel = "a"', '# theme = "x"\nmodel = "a"\ntheme = "day"\n'),
    ],
)
def test_the_rest_stays_as_it_was(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())

    set_key(path, "theme", "day")

    assert path.read_bytes() == after.encode()
    assert tomllib.loads(after)["theme"] == "day"


def test_a_file_that_was_not_there_is_the_persons_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"

    set_key(path, "footer", False)

    assert path.read_text() == "footer = false\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text('theme = "night"\n')
    (tmp_path / "config.toml").symlink_to(tmp_path / "real.toml")

    set_key(tmp_path / "config.toml", "theme", "day")

    assert (tmp_path / "config.toml").is_symlink()
    assert (tmp_path / "real.toml").read_text() == 'theme = "day"\n'


@pytest.mark.parametrize(
    "text",
    [
        "theme = [\n",
        "a = " + "[" * 400 + "]" * 400 + "\n",
        # Between parts of a table: tomlkit would move it.
        "[budget.day]\nhard = 1\n[[x]]\na = 1\n[budget.turn]\nhard = 1\n",
    ],
)
def test_what_we_cannot_change_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)

    with pytest.raises(ConfigError):
        set_key(path, "theme", "day")

    assert path.read_text() == text
    assert {each.name for each in tmp_path.iterdir()} == {path.name, LOCK}


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("", ("budget", "turn", "hard"), 1.5, "[budget.turn]\nhard = 1.5\n"),
        (
            "# mine\n[budget.turn]\nhard = 1 # dollars\n\n[keys]\n",
            ("budget", "turn", "hard"),
            2.0,
            "# mine\n[budget.turn]\nhard = 2.0 # dollars\n\n[keys]\n",
        ),
        (
            '[keys]\nhelp = "f9" # mine\n\n[budget.day]\nhard = 3\n',
            ("keys", "prompt.send"),
            "ctrl+y",
            '[keys]\nhelp = "f9" # mine\n"prompt.send" = "ctrl+y"\n\n[budget.day]\nhard = 3\n',
        ),
        ("budget.turn.hard = 1\n", ("budget", "turn", "hard"), 2, "budget.turn.hard = 2\n"),
        (
            "[budget.day]\nhard = 1\n[budget.turn]\nhard = 1\n",
            ("budget", "turn", "hard"),
            2,
            "[budget.day]\nhard = 1\n[budget.turn]\nhard = 2\n",
        ),
        (
            "budget.turn.hard = 1\n",
            ("budget", "day", "hard"),
            2,
            "budget.turn.hard = 1\n\n[budget.day]\nhard = 2\n",
        ),
        (
            "budget = { turn = { hard = 1 } } # x\n",
            ("budget", "turn", "hard"),
            2,
            "budget = { turn = { hard = 2 } } # x\n",
        ),
        (
            "budget = { turn = { hard = 1 } }\n",
            ("budget", "turn", "hard"),
            None,
            "budget = { turn = {  } }\n",
        ),
        (
            "[budget.day]\nhard = 1\n\n[keys]\na = 'b' # c\n\n[budget.week]\nhard = 1\n",
            ("budget", "turn", "hard"),
            2,
            "[budget.day]\nhard = 1\n\n[keys]\na = 'b' # c\n\n[budget.week]\nhard = 1\n\n[budget.turn]\nhard = 2\n",
        ),
        (
            "[budget.day]\nhard = 1\n\n[keys]\na = 'b' # c\n\n[budget.week]\nhard = 1\n",
            ("budget", "week", "hard"),
            2,
            "[budget.day]\nhard = 1\n\n[keys]\na = 'b' # c\n\n[budget.week]\nhard = 2\n",
        ),
        ('"theme" = "night"\n', ("theme",), "day", '"theme" = "day"\n'),
        ('theme = "night" # x\nmode = "auto"\n', ("theme",), None, 'mode = "auto"\n'),
        (
            "[budget.turn]\nhard = 1\nsoft = 1\n",
            ("budget", "turn", "soft"),
            None,
            "[budget.turn]\nhard = 1\n",
        ),
        ("", ("theme",), None, ""),
    ],
)
def test_a_key_in_a_table_is_changed_added_and_taken_out(
    tmp_path: Path, before: str, key: tuple[str, ...], value: str | float | None, after: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(before)

    set_key(path, key, value)

    assert path.read_text() == after


@pytest.mark.parametrize("text", ["budget = { turn = { hard = 1 } }\n", "budget = 3\n"])
def test_a_table_that_cannot_be_extended_is_left_to_the_person(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)

    with pytest.raises(ConfigError) as caught:
        set_key(path, ("budget", "day", "hard"), 2)

    assert caught.value.hint == "Add budget.day.hard = 2 to it."
    assert path.read_text() == text


def test_a_file_that_cannot_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b'theme = "\xff"\n')
    with pytest.raises(ConfigError, match="cannot be read"):
        set_key(path, "theme", "day")
    assert path.read_bytes() == b'theme = "\xff"\n'


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.mkdir()
    (path / "in the way").touch()
    with pytest.raises(ConfigError, match="cannot be"):
        set_key(path, "theme", "day")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be"):
        set_key(tmp_path / "file" / "config.toml", "theme", "day")
    assert {each.name for each in tmp_path.iterdir()} == {"config.toml", "file", LOCK}


def test_what_is_not_there_need_not_be_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('theme = "day"\n')
    set_key(path, ("keys", "recall"), None)
    set_key(path, "mode", None)
    assert path.read_text() == 'theme = "day"\n'


TOP = (
    *('theme = "night"', "theme   =   'x' # c", '"mode" = "auto"', "# a comment", "", "footer = true"),
    *("budget.turn.hard = 1", 'keys.leave = "x"', 'keys."prompt.send" = "y" # z', "odd = [\n  1, # one\n]"),
    'text = """\n[keys]\ntheme = 1\n"""',
)
HEADERS = (
    *("[keys]", "[budget.day]", "[budget.turn]", "[ budget . week ]", "[budget]", "[providers.a] # t"),
    *('[providers."b.c"]', "[[rules]]", "[agents.x]", "[budget.day.deep]"),
)
INSIDE = (
    *("hard = 1", "soft=2 # s", 'leave = "ctrl+x"', "# inside", "", '"prompt.send" = "z"', "turn.hard = 3"),
    *("turn = { hard = 1, soft = 2 }", "day.hard = 2"),
)
KEYS = (
    *(("theme",), ("mode",), ("budget", "turn", "hard"), ("budget", "day", "soft"), ("keys", "prompt.send")),
    *(("providers", "b.c", "model"), ("budget", "week", "hard")),
)


def lists(pieces: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(pieces), max_size=5, unique=True)


def is_in_order(lines: list[str], text: list[str]) -> bool:
    rest = iter(text)
    return all(line in rest for line in lines)


@pytest.mark.exhaustive
@settings(max_examples=80)
@given(
    lists(TOP),
    st.lists(st.tuples(st.sampled_from(HEADERS), lists(INSIDE)), max_size=5, unique_by=lambda each: each[0]),
    st.sampled_from(("\n", "\r\n")),
    st.sampled_from(KEYS),
    st.sampled_from(("new", 2, 2.5, True, None, 'a"b\\é\x7f')),
)
def test_every_other_line_stays_where_it_was(
    top: list[str],
    tables: list[tuple[str, list[str]]],
    newline: str,
    key: tuple[str, ...],
    value: Value | None,
) -> None:
    lines = [*top, *(line for header, inside in tables for line in (header, *inside))]
    text = newline.join(lines)
    try:
        tomllib.loads(text)
        changed = text_with(Path("config.toml"), text, key, value)
    except (tomllib.TOMLDecodeError, ConfigError):
        assume(False)
        return
    before, after = ([line for line in each.splitlines() if line.strip()] for each in (text, changed))
    without = (before[:index] + before[index + 1 :] for index in range(len(before) + 1))
    assert any(is_in_order(lines, after) for lines in without)

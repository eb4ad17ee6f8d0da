"""Every binding has an id by which a person can change it, and what is wrong with a change is told."""

from collections import Counter
from pathlib import Path

import pytest
from textual.binding import Binding

from cogency_tui.config.layers import load_settings
from cogency_tui.tui.help.key_table import clashes, describe_problems, key_rows, key_table
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.kit.filter_line import FilterField
from tests.tui.driving import app_over, send, shown, told, until
from tests.tui.scripted import ScriptedAgent


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("COGENCY_CONFIG", str(path))
    return path


def test_every_binding_has_an_id_of_its_own() -> None:
    owners = {key.owner for key in key_table()}
    bindings = [
        (owner.__name__, binding)
        for owner in owners
        for binding in vars(owner)["BINDINGS"]
        if isinstance(binding, Binding)
    ]
    assert [(owner, binding.key) for owner, binding in bindings if not binding.id] == []
    counted = Counter(binding.id for _owner, binding in bindings)
    assert [id for id, count in counted.items() if count > 1] == []


def test_as_written_no_two_bindings_take_each_others_key() -> None:
    table = key_table()
    everything = {key.id: ",".join(key.keys) for key in table}
    assert [(one.id, other.id, key) for one, other, key in clashes(table, everything)] == []


def test_a_clash_names_both_and_the_line(config: Path) -> None:
    config.write_text('theme = "day"\n[keys]\nrecall = "ctrl+q"\n')
    said = describe_problems(load_settings(config).keys)

    assert said == [f'{config}, line 3: "leave" and "recall" are both bound to Ctrl+Q. Change one of them.']


def test_keys_that_change_places_do_not_clash(config: Path) -> None:
    config.write_text('[keys]\nhelp = "f2"\nchoose_model = "f1"\n')
    assert describe_problems(load_settings(config).keys) == []


def test_a_widget_cannot_have_what_the_main_screen_takes_first(config: Path) -> None:
    config.write_text('[keys]\nprompt.newline = "f1"\n')
    assert [
        '"help" and "prompt.newline" are both bound to F1' in each
        for each in describe_problems(load_settings(config).keys)
    ] == [True]


def test_a_widget_may_have_a_key_that_another_widget_has(config: Path) -> None:
    config.write_text('[keys]\n"prompt.newline" = "j"\n')
    assert describe_problems(load_settings(config).keys) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('recal = "ctrl+g"', 'line 2: unknown key id "recal". Did you mean "recall"?'),
        ('zzz = "ctrl+g"', 'line 2: unknown key id "zzz". /keys lists them all.'),
        ('recall = "strg+g"', 'line 2: "strg+g" is not a key.'),
        ('recall = "f99"', 'line 2: "f99" is not a key.'),
    ],
)
def test_what_is_no_id_or_no_key_is_told_with_its_line(config: Path, text: str, said: str) -> None:
    config.write_text(f"[keys]\n{text}\n")
    problems = describe_problems(load_settings(config).keys)

    assert len(problems) == 1
    assert said in problems[0]


@pytest.mark.parametrize(
    "key", ["?", "question_mark", "ctrl+underscore", "alt+x", "shift+f6", "é", "space", ""]
)
def test_keys_may_be_written_as_people_do(config: Path, key: str) -> None:
    assert "is no key" not in " ".join(describe_problems({"find": key}))


def test_the_list_has_the_keys_that_a_person_chose() -> None:
    rows = {row.id: row for _title, group in key_rows({"recall": "ctrl+g", "help": ""}) for row in group}

    assert rows["recall"].keys == "Ctrl+G"
    assert rows["help"].keys == "none"
    assert rows["prompt.send"].keys == "Enter"


async def test_problems_are_told_at_the_start_and_slash_keys_lists_ids_and_is_searched_as_one_types(
    project: Path, config: Path
) -> None:
    config.write_text('[keys]\nrecal = "ctrl+g"\nhelp = ""\n')
    app = app_over(ScriptedAgent(project, settings=load_settings(config)))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: 'Did you mean "recall"?' in told(pilot))

        # A key that was taken away does nothing.
        await pilot.press("f1")
        await pilot.pause()
        assert not isinstance(app.screen, HelpScreen)

        await send(pilot, "/keys")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        body = app.screen.query_one("#help-body")
        assert 'unknown key id "recal"' in " ".join(shown(body).split())
        await pilot.press(*"newline")
        await until(pilot, lambda: "prompt.newline" in shown(body) and "recall" not in shown(body))
        await pilot.press("escape")
        assert app.screen.query_one(FilterField).value == ""
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, HelpScreen))


def test_the_head_of_each_group_is_a_name_for_the_user() -> None:
    heads = [title for title, _rows in key_rows({})]
    assert len(set(heads)) == len(heads)
    assert [head for head in heads if not head[0].isupper() or "ialog" in head] == []
    assert {"Summaries", "Summarize", "Cost by request", "Quit the tour"} <= set(heads)

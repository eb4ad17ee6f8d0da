"""`[hooks.NAME]`: what runs on which event, and the line of what cannot."""

from pathlib import Path

import pytest

from cogency_tui.agent.project.settings import read_delegates
from cogency_tui.config.hooks import HookSettings
from cogency_tui.config.layers import load_settings
from cogency_tui.errors import ConfigError
from tests.cases import cases


def read(path: Path, text: str) -> dict[str, HookSettings]:
    config = path / "config.toml"
    config.write_text(text)
    return load_settings(config, environ={}).hooks


def test_a_hook_has_events_and_words(tmp_path: Path) -> None:
    hooks = read(
        tmp_path,
        '[hooks.format]\non = "after_edit"\ncommand = "ruff format \'{file}\'"\nfiles = "*.py"\n\n'
        '[hooks.log]\non = ["before_call", "after_call"]\ncommand = ["sh", "-c", "cat >> log"]\ntimeout = 5\n',
    )
    assert hooks["format"].events == ("after_edit",)
    assert hooks["format"].words == ("ruff", "format", "{file}")
    assert hooks["log"].events == ("before_call", "after_call")
    assert hooks["log"].words == ("sh", "-c", "cat >> log")
    assert [*hooks] == ["format", "log"]


EDIT = '[hooks.a]\non = "after_edit"\n'
TURN = '[hooks.a]\non = "after_turn"\n'


@cases(
    ("text", "line", "told"),
    [
        ('theme = "night"\n\n[hooks.a]\ncommand = "x"\n', 3, '"on" is missing'),
        (EDIT, 1, '"command" is missing'),
        (
            '[hooks.a]\non = "after_edits"\ncommand = "x"\n',
            2,
            'no event "after_edits"; there are before_call',
        ),
        ('[hooks.a]\non = ["after_edit", "x"]\ncommand = "x"\n', 2, 'there is no event "x"'),
        ('[hooks.a]\non = []\ncommand = "x"\n', 2, '"on"'),
        (f"{EDIT}command = 3\n", 3, '"command"'),
        (f"{EDIT}command = []\n", 3, '"command"'),
        (f'{EDIT}command = "  "\n', 3, '"command" has no program'),
        (f'{EDIT}command = "it\'s"\n', 3, "cannot be split into words"),
        (f'{EDIT}command = "a | b"\n', 3, "no shell reads"),
        (f'{EDIT}command = "a; b"\n', 3, "no shell reads"),
        (f'{EDIT}command = "a $(b)"\n', 3, "no shell reads"),
        (f'{EDIT}command = "{{file}}"\n', 3, "would run the file itself"),
        (f'{EDIT}command = "a x{{files}}"\n', 3, "a word of its own"),
        (f'{TURN}command = "a {{file}}"\n', 3, "after_turn has no file"),
        (f'{TURN}command = "a"\nfiles = "*.py"\n', 4, '"files" is only for events of calls and edits'),
        (f'{TURN}command = "a"\ntools = "edit"\n', 4, '"tools" is only for events of calls and edits'),
        (f'{EDIT}command = "a"\ntimeout = "1"\n', 4, '"timeout"'),
        (f'{EDIT}command = "a"\ntimeout = 0\n', 4, '"timeout"'),
        (f'{EDIT}command = "a"\nenabled = "no"\n', 4, '"enabled"'),
        (f'{EDIT}command = "a"\nmatcher = "Edit"\n', 4, 'unknown key "matcher"'),
        ('[hooks."a/b"]\non = "after_edit"\ncommand = "x"\n', 1, "a name has only letters"),
        ('[hooks]\nformat = "ruff"\n', 2, "it must be a table, such as [hooks.format]"),
    ],
)
def test_what_cannot_be_is_told_with_its_line(tmp_path: Path, text: str, line: int, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)
    assert f", line {line}: hook" in str(raised.value)
    assert told in str(raised.value)
    with pytest.raises(ConfigError) as raised:
        read_delegates(text.removeprefix('theme = "night"').encode(), tmp_path / "config.toml")
    assert f", line {line}: hook" in str(raised.value)


def test_a_project_may_have_hooks(tmp_path: Path) -> None:
    text = b'[hooks.a]\non = "after_edit"\ncommand = "x"\n\n[hooks.b]\non = "after_call"\ncommand = "y"\n'
    brought = read_delegates(text, tmp_path / "config.toml")
    assert [(hook.name, hook.owner, hook.words) for hook in brought.hooks] == [
        ("a", "project", ("x",)),
        ("b", "project", ("y",)),
    ]
    assert brought.hooks[1].place.endswith("config.toml, line 5")


def test_a_pattern_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    text = f'{EDIT}command = "a"\nfiles = "{"{a,b}" * 9}"\n'
    with pytest.raises(ConfigError, match="alternatives"):
        read_delegates(text.encode(), tmp_path / "config.toml")

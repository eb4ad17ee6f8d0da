"""`cogency-tui profile`, and `/profile` in plain lines, as a shell would run them."""

import json
from pathlib import Path

import pytest

from cogency_tui.agent.profile.profile import OFFER, OFFER_AFTER
from cogency_tui.config.schema import config_path
from tests.cli.conftest import Run
from tests.tui.pty import Terminal

SAID = "my name is Ada. I prefer short answers\n"


def learn(run: Run, project: Path, data: Path) -> None:
    """Turn it on, and type until something is learned."""
    run("profile", "on")
    config_path().write_text(config_path().read_text() + "profile_every = 1\n")
    with Terminal("--linear", cwd=project, data=data) as terminal:
        terminal.wait_for("\n>")
        terminal.send(SAID)
        terminal.wait_for("Done.")
        for _ in range(50):
            if json.loads(run("profile", "show", "--json").stdout)["who"]:
                return
    raise AssertionError("nothing was learned")


def test_it_is_off_and_empty_at_first(run: Run) -> None:
    done = run("profile", "show")
    assert done.returncode == 0
    assert "The profile is off" in done.stdout
    assert "Nothing remembered yet." in done.stdout
    assert json.loads(run("profile", "show", "--json").stdout) == {
        "on": False,
        "every": 5,
        **{kind: [] for kind in ("who", "style", "focus", "interests", "misc")},
        "waiting": 0,
        "last": None,
    }


@pytest.mark.exhaustive
@pytest.mark.pty
def test_it_is_learned_shown_with_its_sources_and_cleared(run: Run, project: Path, tmp_path: Path) -> None:
    learn(run, project, tmp_path / "data")
    shown = json.loads(run("profile", "show", "--json").stdout)
    assert shown["on"]
    (name,) = shown["who"]
    assert name["text"] == "Called Ada"
    assert name["source"]["turn"] == 1
    assert name["source"]["model"] == "offline/offline-1"
    ids = [json.loads(line)["id"] for line in run("conversations", "list", "--json").stdout.splitlines()]
    assert name["source"]["conversation"] in ids
    text = run("profile", "show").stdout
    assert "who: Called Ada (from “my name is Ada. I prefer short answers”, turn 1" in text
    assert run("profile", "clear").stdout == "2 facts permanently forgotten.\n"
    assert json.loads(run("profile", "clear", "--json").stdout) == {"forgotten": 0}
    assert json.loads(run("profile", "show", "--json").stdout)["who"] == []


def test_it_is_turned_on_and_off_in_the_configuration(run: Run) -> None:
    assert "is on" in run("profile", "on").stdout
    assert 'profile = "on"' in config_path().read_text()
    assert "is off" in run("profile", "off").stdout
    assert 'profile = "off"' in config_path().read_text()


def test_what_it_cannot_do_is_a_usage_error(run: Run) -> None:
    assert run("profile").returncode == 2
    assert run("profile", "forget").returncode == 2


def test_what_nobody_typed_teaches_nothing(run: Run) -> None:
    run("profile", "on")
    config_path().write_text(config_path().read_text() + "profile_every = 1\n")
    run("run", "my name is Ada")
    run("--linear", stdin=SAID)
    shown = json.loads(run("profile", "show", "--json").stdout)
    assert (shown["who"], shown["waiting"], shown["last"]) == ([], 0, None)


def test_plain_lines_have_the_command(run: Run) -> None:
    done = run(
        "--linear", stdin="/profile\n/profile on\n/profile off\n/profile clear\n/profile frob\n/help\n"
    )
    assert "The profile is off" in done.stdout
    assert "The profile is on" in done.stdout
    assert "Nothing remembered yet." in done.stdout
    assert "Error: Unknown action frob." in done.stdout
    assert "/profile [on, off or clear]" in done.stdout


@pytest.mark.parametrize("name", ["config", "data"])
def test_what_cannot_be_used_is_told(run: Run, tmp_path: Path, name: str) -> None:
    if name == "config":
        config_path().parent.mkdir(parents=True)
        config_path().write_text("profile = 3\n")
        done = run("profile", "show")
        assert "profile" in done.stderr
    else:
        (tmp_path / "file").write_text("")
        done = run("profile", "show", COGENCY_DATA=str(tmp_path / "file"))
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("cogency-tui: ")


@pytest.mark.exhaustive
@pytest.mark.pty
def test_it_is_offered_once_to_who_types(project: Path, tmp_path: Path) -> None:
    with Terminal("--linear", cwd=project, data=tmp_path / "data") as terminal:
        for turn in range(1, OFFER_AFTER + 1):
            terminal.wait_for("\n>")
            assert OFFER not in terminal.text
            terminal.send("list files\n")
            terminal.wait_for(lambda _text, turn=turn: terminal.raw.count(b"Done.") == turn)
        terminal.wait_for(f"Note: {OFFER}")

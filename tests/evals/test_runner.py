"""Attempts over a real wire: what they come to, what is counted, and that nothing of the user's takes part."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cogency_tui.config.schema import data_path
from cogency_tui.errors import ConfigError
from cogency_tui.evals.figures import Figures, total_of
from cogency_tui.evals.runner import Attempt, Evaluation, combine, plan
from cogency_tui.evals.tasks import TASKS
from cogency_tui.protocol import TEXT_DIALECTS
from tests.cases import cases
from tests.exhaustive import sampled
from tests.peers.chat import ChatPeer
from tests.peers.server import Context, Fault

BY_RULES = {"locate", "odd-bytes", "replace", "command", "batch", "forbidden"}
"""The tasks that the offline model can do."""

READ = '<execute>[{"name": "read", "args": {"file": "duration.py"}}]</execute>'
MISREAD = '<execute>[{"name": "read", "args": {"file": }]</execute>'
LEAKED = '<tool_call>\n{"name": "read", "arguments": {"file": "duration.py"}}\n</tool_call>'
REFUSED = Fault(status=400, body='{"error": {"message": "Never."}}')
LIMITED = Fault(status=429, headers={"retry-after": "0"}, body='{"error": {"message": "Slow down."}}')

Configure = Callable[[str], int]


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Write the user's configuration; temporary directories are made below `tmp_path`."""
    path = tmp_path / "config" / "config.toml"
    path.parent.mkdir()
    monkeypatch.setenv("COGENCY_CONFIG", str(path))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return path.write_text


@pytest.fixture
def mine(configure: Configure) -> Callable[[ChatPeer], int]:
    """Configure the provider `mine`, which is a peer."""
    return lambda peer: configure(f'[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\n')


async def attempts(
    *tasks: str,
    models: Sequence[str] = ("mine",),
    dialects: Sequence[str] = (),
    efforts: Sequence[str] = (),
    limit: float = 60.0,
) -> list[Attempt]:
    ended: list[Attempt] = []
    combinations = combine(models, dialects, None, None, efforts)
    await Evaluation(limit, ended.append).run(plan([TASKS[name] for name in tasks], combinations, 1), 2)
    return ended


@pytest.mark.parametrize("dialect", sampled(TEXT_DIALECTS, quick=1))
async def test_the_offline_model_does_plain_tasks(configure: Configure, dialect: str) -> None:
    ended = await attempts(*TASKS, models=["offline"], dialects=[dialect])
    assert len(ended) == len(TASKS)
    for attempt in ended:
        assert bool(attempt.failure) is (attempt.planned.task.name not in BY_RULES), attempt
        assert attempt.dialect == dialect
        assert attempt.figures.malformed == 0
        assert attempt.figures.estimated


async def test_an_effort_that_the_model_refuses_is_noted(mine: Callable[[ChatPeer], int]) -> None:
    async with ChatPeer(["Done."] * 2, refuses=["reasoning_effort"]) as peer:
        mine(peer)
        ended = await attempts("locate", efforts=["max", "auto"])
    refused = {each.planned.combination.settings.effort: each.effort_refused for each in ended}
    assert refused == {"max": True, "auto": False}


def batch(*calls: tuple[str, dict[str, str]]) -> str:
    """An answer in the dialect `xml` with these calls, each the name of a tool with its arguments."""
    return f"<execute>{json.dumps([{'name': name, 'args': args} for name, args in calls])}</execute>"


def edit(file: str, old: str, new: str) -> tuple[str, dict[str, str]]:
    return "edit", {"file": file, "old": old, "new": new}


TESTS = ("shell", {"command": "python3 -m unittest"})
MEDIAN = """\
import unittest

from calc.stats import median


class Median(unittest.TestCase):
    def test_even(self):
        self.assertEqual(median([1, 2, 3, 4]), 2.5)
"""
SCRIPTS = {
    "fix-bug": [
        batch(TESTS, ("read", {"file": "duration.py"})),
        batch(edit("duration.py", r"(\d)", r"(\d+)")),
        batch(TESTS),
    ],
    "rename": [
        batch(*(("read", {"file": name}) for name in TASKS["rename"].files)),
        batch(
            edit("README.md", "`fetch_rows`", "`load_rows`"),
            edit("cache.py", "import fetch_rows", "import load_rows"),
            edit("cache.py", " fetch_rows(", " load_rows("),
            edit("report.py", "fetch_rows", "load_rows"),
            edit("rows.py", "def fetch_rows", "def load_rows"),
            edit("rows.py", "splitlines()]\n", "splitlines()]\n\n\nfetch_rows = load_rows\n"),
        ),
    ],
    "one-of-three": [
        batch(("read", {"file": "settings.ini"})),
        batch(
            edit("settings.ini", "[upload]\nretries = 3\ntimeout = 30", "[upload]\nretries = 3\ntimeout = 90")
        ),
    ],
    "feature": [
        batch(*(("read", {"file": name}) for name in ("README.md", "calc/commands.py", "calc/stats.py"))),
        batch(
            edit("README.md", "the maximum\n", "the maximum\n- `median`: the middle\n"),
            edit("calc/commands.py", "stats.largest,\n", 'stats.largest,\n    "median": stats.median,\n'),
            edit("calc/stats.py", "def total", "from statistics import median as median\n\n\ndef total"),
            ("write", {"file": "tests/test_median.py", "content": MEDIAN}),
        ),
        batch(TESTS),
    ],
}


@cases("name", SCRIPTS)
async def test_a_model_that_knows_what_to_do_succeeds(mine: Callable[[ChatPeer], int], name: str) -> None:
    async with ChatPeer([*SCRIPTS[name], "Done."]) as peer:
        mine(peer)
        [attempt] = await attempts(name)
    assert attempt.failure == ""
    assert attempt.figures.cycles == len(SCRIPTS[name]) + 1
    assert (attempt.figures.malformed, attempt.figures.declined) == (0, 0)
    # The tests fail until the bug is corrected.
    assert attempt.figures.failed == (name == "fix-bug")


def test_the_scripts_and_the_offline_model_do_every_task() -> None:
    assert SCRIPTS.keys() | BY_RULES == TASKS.keys()


async def test_an_attempt_has_the_figures_of_its_turn(mine: Callable[[ChatPeer], int]) -> None:
    correct = batch(edit("duration.py", r"(\d)", r"(\d+)"), ("shell", {"command": "exit 1"}))
    async with ChatPeer([READ, correct, "The pattern took one digit only."]) as peer:
        mine(peer)
        [attempt] = await attempts("fix-bug")
        exchanges = peer.exchanges
    figures = attempt.figures
    assert (attempt.failure, attempt.slips) == ("", [])
    assert attempt.answer == "The pattern took one digit only."
    assert (figures.cycles, figures.requests, figures.calls, figures.failed) == (3, 3, 3, 1)
    assert figures.input == sum(exchange.input for exchange in exchanges)
    assert figures.output == sum(exchange.output for exchange in exchanges)
    assert figures.cached == sum(exchange.cached for exchange in exchanges)
    assert figures.cost is None
    assert not figures.estimated
    assert figures.seconds > 0


async def test_malformed_and_stray_calls_are_counted_apart_from_failures(
    mine: Callable[[ChatPeer], int],
) -> None:
    async with ChatPeer([MISREAD, LEAKED, READ, "It has one bug."]) as peer:
        mine(peer)
        [attempt] = await attempts("fix-bug")
    assert attempt.failure == "the tests of the project fail"
    assert (attempt.figures.malformed, attempt.figures.failed, attempt.figures.calls) == (2, 0, 1)
    assert len(attempt.slips) == 2
    assert "Write the whole block again" in attempt.slips[0]


async def test_a_declined_call_is_no_failed_one(mine: Callable[[ChatPeer], int]) -> None:
    async with ChatPeer([batch(edit("report.txt", "draft", "final")), "Not possible in plan mode."]) as peer:
        mine(peer)
        [attempt] = await attempts("forbidden")
    assert attempt.failure == ""
    assert (attempt.figures.declined, attempt.figures.failed) == (1, 0)


async def test_a_repeated_request_is_counted(mine: Callable[[ChatPeer], int]) -> None:
    async with ChatPeer(["feed/retry.py:10"], faults=[LIMITED]) as peer:
        mine(peer)
        [attempt] = await attempts("locate")
    assert attempt.failure == ""
    assert (attempt.figures.cycles, attempt.figures.requests) == (1, 2)


async def test_an_error_of_the_provider_fails_one_attempt_and_no_other(
    mine: Callable[[ChatPeer], int],
) -> None:
    async with ChatPeer(["feed/retry.py:10"], faults=[REFUSED]) as peer:
        mine(peer)
        combinations = combine(["mine"], [], None, None)
        ended: list[Attempt] = []
        await Evaluation(60.0, ended.append).run(plan([TASKS["locate"]], combinations, 2), 1)
    assert [bool(attempt.failure) for attempt in ended] == [True, False]
    assert "Never." in ended[0].failure
    assert ended[0].figures.cycles == 0


async def test_an_attempt_that_hangs_is_stopped_at_the_limit(mine: Callable[[ChatPeer], int]) -> None:
    async with ChatPeer(["Hm"], always=Fault(hang="within", after=1)) as peer:
        mine(peer)
        [attempt] = await attempts("locate", limit=0.2)
    assert attempt.failure == "stopped after 0.2 s"


async def test_stopping_ends_all_that_runs_and_begins_nothing_else(
    mine: Callable[[ChatPeer], int], tmp_path: Path
) -> None:
    both = asyncio.Event()
    arrived: list[Context] = []

    def reply(context: Context) -> str:
        arrived.append(context)
        if len(arrived) == 2:
            both.set()
        return "Hm"

    ended: list[Attempt] = []
    evaluation = Evaluation(60.0, ended.append)
    async with ChatPeer(reply, always=Fault(hang="within", after=1)) as peer:
        mine(peer)
        planned = plan([TASKS["locate"]], combine(["mine"], [], None, None), 5)
        running = asyncio.create_task(evaluation.run(planned, 2))
        await both.wait()
        evaluation.stop()
        await running
    assert ended == []
    assert len(arrived) == 2
    assert list((tmp_path / "temporary").iterdir()) == []


async def test_nothing_of_the_users_is_sent_or_written(
    configure: Configure, tmp_path: Path, sealed_home: Path
) -> None:
    def files() -> set[Path]:
        return {*sealed_home.rglob("*"), *(tmp_path / "config").rglob("*")}

    (tmp_path / "config" / "AGENTS.md").write_text("Speak of wombats.")
    async with ChatPeer(["feed/retry.py:10"]) as peer:
        configure(
            f'profile = "on"\n[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\n'
            f'[mcp.wombats]\ncommand = "touch"\nargs = ["{tmp_path}/started"]\n[agents.wombat]\ndescription = "d"\n'
        )
        before = files()
        [attempt] = await attempts("locate")
        [exchange] = peer.exchanges
    assert attempt.failure == ""
    assert files() == before
    assert not data_path().exists()
    assert not (tmp_path / "started").exists()
    assert "wombat" not in str(exchange.context)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
async def test_the_model_finds_a_clean_repository(mine: Callable[[ChatPeer], int]) -> None:
    async with ChatPeer(["Hm"]) as peer:
        mine(peer)
        await attempts("locate")
        [exchange] = peer.exchanges
    assert "Git: branch main" in str(exchange.context)


def test_every_combination_is_tried_with_every_effort(configure: Configure) -> None:
    configure('effort = "high"\n')
    found = combine(["offline"], ["xml", "action"], None, None, ["low", "auto", "low"])
    assert [(each.letter, each.settings.dialect, each.settings.effort) for each in found] == [
        *(("A", "xml", "low"), ("B", "xml", "auto"), ("C", "action", "low"), ("D", "action", "auto"))
    ]
    [configured] = combine(["offline"], [], None, None)
    assert configured.settings.effort == "high"


def test_combinations_are_every_model_in_every_dialect(configure: Configure) -> None:
    configure('provider = "vllm"\nmodel = "qwen"\nmode = "replay"\n')
    found = combine(["offline", "openrouter/maker/small", "offline"], ["xml", "action"], None, 0.5)
    assert [(each.letter, each.name, each.settings.dialect) for each in found] == [
        ("A", "offline/offline-1", "xml"),
        ("B", "offline/offline-1", "action"),
        ("C", "openrouter/maker/small", "xml"),
        ("D", "openrouter/maker/small", "action"),
    ]
    assert {each.settings.mode for each in found} == {"replay"}
    assert {each.settings.budget.turn.hard for each in found} == {0.5}


def test_without_names_the_configuration_is_evaluated(configure: Configure) -> None:
    configure('provider = "vllm"\nmodel = "qwen"\ndialect = "action"\n')
    [found] = combine([], [], "replay", None)
    assert (found.name, found.settings.dialect, found.settings.mode) == ("vllm/qwen", "action", "replay")


@cases("model", ["nobody/m", "openrouter", "/m"])
def test_a_model_that_cannot_be_used_is_refused_before_anything_runs(model: str) -> None:
    with pytest.raises(ConfigError):
        combine(["offline", model], [], None, None)


def test_requests_with_a_key_may_be_charged(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    configure('[providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\nkey_env = "MINE_KEY"\n')
    models = ["offline", "ollama/m", "mine", "openai"]
    assert [each.uses_key for each in combine(models, [], None, None)] == [False] * 4
    monkeypatch.setenv("MINE_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-2")
    assert [each.uses_key for each in combine(models, [], None, None)] == [False, False, True, True]


def test_attempts_come_in_an_order_in_which_the_first_ones_compare() -> None:
    planned = plan([TASKS["locate"], TASKS["batch"]], combine(["offline"], ["xml", "action"], None, None), 2)
    order = [(each.number, each.task.name, each.combination.letter) for each in planned]
    assert order[:4] == [(1, "locate", "A"), (1, "locate", "B"), (1, "batch", "A"), (1, "batch", "B")]
    assert order[4:] == [(2, *each[1:]) for each in order[:4]]


def test_a_sum_of_which_a_part_is_unknown_is_unknown() -> None:
    known, unknown = Figures(cycles=1, cost=0.25, cached=0), Figures(cycles=2)
    assert (total_of([known, known]).cost, total_of([known, known]).cached) == (0.5, 0)
    assert total_of([known, unknown]).cost is None
    # An attempt that never reached the model has cost nothing.
    assert total_of([known, Figures()]).cost == 0.25
    assert total_of([]).cost is None

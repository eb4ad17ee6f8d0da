"""`cogency-tui bench tokens`: resume sends linearly, replay quadratically, and each call runs once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.cli.main import main
from tests.benchmarks.tokens import BENCHED, DELEGATING, LM_STUDIO, OPENING, PROMPT, SUBAGENTS, claimed
from tests.peers.ways import WAYS

FEWER = {3: 2.4, 6: 4.125}
RESUMING = ("Responses WebSocket", "Realtime", "Anthropic threads", "Gemini Live", LM_STUDIO.name)
"""Sessions that send nothing twice."""


@pytest.mark.exhaustive
def test_the_claim_of_the_design_holds_where_the_tokens_arrive(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tokens", "--turns", ",".join(map(str, FEWER)), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["turns"] for row in rows] == [
        turns for rows in (BENCHED, DELEGATING) for turns in FEWER for _ in rows
    ]
    alone, delegating = rows[: -len(FEWER) * len(DELEGATING)], rows[-len(FEWER) * len(DELEGATING) :]
    for row in alone:
        turns = row["turns"]
        assert row["runs"] == [1] * turns
        if row["mode"] == "replay":
            assert row["sent"] == pytest.approx(300 * turns**2 + (OPENING - 300) * turns, rel=0.01)
            assert claimed(row["sent"], "replay", turns) == pytest.approx(
                300 * turns**2 + 1200 * turns, rel=0.01
            )
            assert row["prefix"] >= 0.9
        elif row["way"] != "Gemini Interactions":
            assert row["sent"] == pytest.approx(300 * (turns - 1) + OPENING, rel=0.01)
            assert row["fewer"] >= FEWER[turns] * 0.999
            assert row["fewer_sent"] >= turns * 0.999
    for row in delegating:
        assert row["runs"] == [SUBAGENTS] * row["turns"]
        assert row["prefix"] >= 0.8
        assert row["fewer"] == 1 if row["mode"] == "replay" else row["fewer"] > row["turns"] / 2
    replayed, sessions, lanes = delegating[: len(DELEGATING)]
    assert replayed["sent"] > sessions["sent"] == lanes["sent"]
    assert (sessions["connections"], lanes["connections"]) == (1 + SUBAGENTS, 1)


@pytest.mark.exhaustive
def test_the_readme_has_the_figures_of_the_bench(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tokens", "--turns", "8,16,32", "--json"]) == 0
    found: dict[int, dict[str, Any]] = {}
    for row in map(json.loads, capsys.readouterr().out.splitlines()):
        found.setdefault(row["turns"], {})[row["way"]] = row
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for turns, rows in found.items():
        [line] = re.findall(rf"^\| {turns} \|.*$", readme, re.MULTILINE)
        replayed, resumed, *fewer = (
            float(figure) for figure in re.findall(r"[\d.]+", line.replace(",", ""))[1:]
        )
        assert replayed == pytest.approx(derived(rows["Responses"]), rel=0.001)
        assert resumed == pytest.approx(derived(rows["Responses WebSocket"]), rel=0.001)
        found_fewer = [rows[name]["fewer"] for name in (*RESUMING, "Gemini Interactions", "lanes, agents")]
        expected = [fewer[0]] * len(RESUMING) + fewer[1:]
        # Those of sub-agents, and of Interactions, depend on the length of the system prompt.
        assert found_fewer == pytest.approx(expected, rel=0.03)


def derived(row: dict[str, Any]) -> int:
    """The tokens sent and generated, with the opening of the claim."""
    return claimed(row["sent"], row["mode"], row["turns"]) + row["generated"]


@pytest.mark.exhaustive
def test_the_table_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tokens", "--turns", "1"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in (*WAYS, LM_STUDIO.name, *DELEGATING))
    assert "1x1" in out
    assert f"1x{SUBAGENTS}" in out


def test_a_prompt_that_has_outgrown_its_room_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cogency_tui.agent.prompt._ROLE", "x" * 4 * PROMPT)
    with pytest.raises(RuntimeError, match=r"the system prompt takes \d,\d{3} of 1,900"):
        main(["bench", "tokens", "--turns", "2"])
    assert "turns" in capsys.readouterr().out

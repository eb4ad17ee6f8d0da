"""`cogency-tui bench tokens`: resume sends linearly, replay quadratically, and each call runs once."""

import json

import pytest

from cogency_tui.cli.main import main
from tests.benchmarks.tokens import OPENING, PROMPT, claimed
from tests.peers.ways import WAYS

FEWER = {3: 2.4, 6: 4.125}


@pytest.mark.exhaustive
def test_the_claim_of_the_design_holds_where_the_tokens_arrive(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tokens", "--turns", ",".join(map(str, FEWER)), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["turns"] for row in rows] == [turns for turns in FEWER for _ in WAYS]
    for row in rows:
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


@pytest.mark.exhaustive
def test_the_table_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tokens", "--turns", "1"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in WAYS)
    assert "1x1" in out


def test_a_prompt_that_has_outgrown_its_room_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cogency_tui.agent.prompt._ROLE", "x" * 4 * PROMPT)
    with pytest.raises(RuntimeError, match=r"the system prompt takes \d,\d{3} of 1,900"):
        main(["bench", "tokens", "--turns", "2"])
    assert "turns" in capsys.readouterr().out

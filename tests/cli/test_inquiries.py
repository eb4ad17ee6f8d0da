"""The model's questions in `cogency-tui run`, at a terminal."""

import os
import sys

import pytest

from cogency_tui.agent.permissions.gate import Inquiry, InquiryAnswer
from cogency_tui.cli.run import inquire_at_terminal
from cogency_tui.tools.user_questions import Choice, UserQuestion

QUESTIONS = (
    UserQuestion("Which database?", [Choice("SQLite", "one file"), Choice("Postgres")]),
    UserQuestion("Which checks?", [Choice("ruff"), Choice("pytest")], several=True),
)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("2\n1 2\n", InquiryAnswer((("Postgres",), ("ruff", "pytest")))),
        ("9\nruff\n", InquiryAnswer((("9",), ("ruff",)))),
        ("redis\nruff\n", InquiryAnswer((("redis",), ("ruff",)))),
        ("1\nn\n", InquiryAnswer((("SQLite",), ()))),
        ("\nn\n", InquiryAnswer(declined=True)),
        ("", InquiryAnswer(declined=True)),
    ],
)
async def test_questions_are_answered_by_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, answer: InquiryAnswer
) -> None:
    source, target = os.pipe()
    with os.fdopen(source) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(target, typed.encode())
        os.close(target)
        assert await inquire_at_terminal(Inquiry("c", QUESTIONS)) == answer
    printed = capsys.readouterr().err
    assert "Question 1 of 2: Which database?\n  1. SQLite: one file\n  2. Postgres\n" in printed

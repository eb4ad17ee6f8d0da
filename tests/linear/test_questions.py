"""Questions in words, and what answers them."""

import pytest

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.linear.questions import describe_question, read_answer
from tests.cases import cases

QUESTION = Question(
    call_id="c",
    tool="shell",
    effect="command",
    summary="Run rm",
    detail="rm -r build\u202e\necho \x1b[2J",
    reason="it runs a command",
    grant="this same command",
    pattern="rm -r build",
)
NARROW = Question("c", "edit", "write", "Edit x.py", "", "it is protected")


def test_a_question_says_all_that_would_be_done_and_how_to_answer() -> None:
    lines = describe_question(QUESTION)

    assert lines[0] == "Permission needed: shell asks to run a command: Run rm"
    assert "  rm -r build⟨U+202E⟩" in lines
    assert "  echo ␛[2J" in lines
    assert lines[-1] == (
        "Answer y to allow once, a for this conversation, always for a rule in this project, n to decline, or n and a reason:"
    )
    assert describe_question(NARROW)[-1] == "Answer y to allow once, n to decline, or n and a reason:"


def test_a_question_about_what_was_done_says_so() -> None:
    changed = Question("c", "shell", "changed", "Keep it: changed AGENTS.md", "+x", "it needs your consent")
    lines = describe_question(changed)
    assert lines[0] == "Permission needed: shell has changed files: Keep it: changed AGENTS.md"
    assert "Changes made:" in lines
    assert lines[-1] == "Answer y to keep, or n to revert:"


@cases(
    ("line", "answer"),
    [
        ("y", Answer(True)),
        (" Yes ", Answer(True)),
        ("a", Answer(True, "conversation")),
        ("always", Answer(True, "always")),
        ("n", Answer(False)),
        ("", Answer(False)),
        ("no not that one", Answer(False, reason="not that one")),
        ("yes please", None),
        ("maybe", None),
        ("/quit", None),
    ],
)
def test_a_line_answers_or_does_not(line: str, answer: Answer | None) -> None:
    assert read_answer(line, QUESTION) == answer


@pytest.mark.parametrize("line", ["a", "all", "always"])
def test_no_wider_yes_than_is_offered(line: str) -> None:
    assert read_answer(line, NARROW) is None

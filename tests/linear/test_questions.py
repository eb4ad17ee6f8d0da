"""Questions in words, and what answers them."""

import os

import pytest

from cogency_tui.agent.permissions.gate import Answer, Inquiry, InquiryAnswer, Question, Round
from cogency_tui.linear.input import InputLines
from cogency_tui.linear.questions import (
    Questions,
    describe_inquiry,
    describe_question,
    read_answer,
    read_choices,
    skips,
)
from cogency_tui.tools.loss import Loss, LostPath
from cogency_tui.tools.user_questions import Choice, UserQuestion
from cogency_tui.workspace.diff import LineCounts
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
        "Answer y to allow once, c for this conversation, always for a rule in this project, n to decline, or n and a reason:"
    )
    assert describe_question(NARROW)[-1] == "Answer y to allow once, n to decline, or n and a reason:"


def test_edits_are_allowed_for_the_turn_and_a_loss_and_the_place_are_named() -> None:
    edit = Question(
        *("c", "edit", "write", "Edit x.py", "+x", ""),
        counts=LineCounts(1, 0),
        grant="all changes to files in the project",
        turn="all changes to files in the project",
        round=lambda: Round(2, 5),
    )
    lines = describe_question(edit)
    assert lines[0] == "Permission needed (2 of 5): edit asks to change files: Edit x.py (+1 −0)"
    assert not [line for line in lines if line.startswith("Reason")]
    assert "y to allow once, a for all edits this turn, c for this conversation" in lines[-1]
    assert read_answer("a", edit) == Answer(True, "turn")

    lost = Question(
        "c", "shell", "command", "Run rm", "rm -r a", "", losses=(Loss("directory", (LostPath("a", 2),)),)
    )
    assert "Permanently deletes the directory a/ (2 files)." in describe_question(lost)


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
        ("c", Answer(True, "conversation")),
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


@pytest.mark.parametrize("line", ["a", "all", "c", "always"])
def test_no_wider_yes_than_is_offered(line: str) -> None:
    assert read_answer(line, NARROW) is None


DATABASE = UserQuestion("Which\x1b[1m one?", [Choice("SQLite", "one file"), Choice("No")])
PORT = UserQuestion("Which port?", [Choice("8080"), Choice("3000"), Choice("2")])
CHECKS = UserQuestion("Which checks?", [Choice("ruff"), Choice("mypy"), Choice("pytest")], several=True)


def test_a_question_of_the_model_is_its_choices_by_number() -> None:
    inquiry = Inquiry("c", (DATABASE, CHECKS), asker="the sub-agent x")
    assert describe_inquiry(inquiry, 1) == [
        "Question 1 of 2 from the sub-agent x: Which␛[1m one?",
        "  1. SQLite: one file",
        "  2. No",
        "Answer with a number from 1 to 2, or in your own words; n or an empty line skips it:",
    ]
    assert "Answer with numbers from 1 to 3" in describe_inquiry(inquiry, 2)[-1]


@cases(
    ("line", "question", "answers"),
    [
        ("1", DATABASE, ("SQLite",)),
        ("sqlite", DATABASE, ("SQLite",)),
        ("no", DATABASE, ("No",)),
        ("3", DATABASE, ("3",)),
        ("0", DATABASE, ("0",)),
        ("1 2", DATABASE, ("1 2",)),
        ("9" * 5000, DATABASE, ("9" * 5000,)),
        ("8080", PORT, ("8080",)),
        ("1", PORT, ("8080",)),
        ("2", PORT, ("2",)),
        ("my own 2 cents", DATABASE, ("my own 2 cents",)),
        ("3, 1", CHECKS, ("pytest", "ruff")),
        ("1 4", CHECKS, ("1 4",)),
        ("1 1", CHECKS, ("ruff",)),
    ],
)
def test_a_line_answers_by_number_by_name_or_in_own_words(
    line: str, question: UserQuestion, answers: tuple[str, ...]
) -> None:
    assert read_choices(line, question) == answers


def test_an_empty_line_or_n_skips_unless_n_is_a_choice() -> None:
    assert skips("", DATABASE)
    assert skips("n", DATABASE)
    assert not skips("no", DATABASE)
    assert not skips("n", UserQuestion("Which?", [Choice("N"), Choice("M")]))


async def test_questions_are_asked_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    source, target = os.pipe()
    lines = InputLines(source, interactive=False)
    lines.open()
    try:
        os.write(target, b"1\n1 3\n\nn\n2\nn\n7\nn\n2\n")
        questions, inquiry = Questions(lines), Inquiry("c", (DATABASE, CHECKS))
        assert await questions.inquire(inquiry) == InquiryAnswer((("SQLite",), ("ruff", "pytest")))
        assert await questions.inquire(inquiry) == InquiryAnswer(declined=True)
        assert await questions.inquire(inquiry) == InquiryAnswer((("No",), ()))
        assert await questions.inquire(inquiry) == InquiryAnswer((("7",), ()))
        os.close(target)
        # What was answered before the end of the input is kept.
        assert await questions.inquire(inquiry) == InquiryAnswer((("No",), ()))
        assert await questions.inquire(inquiry) is None
    finally:
        lines.close()
        os.close(source)
    printed = capsys.readouterr().out
    assert "Answered in your own words: 7; the choices are 1 to 2." in printed
    assert "Answered: ruff, pytest" in printed
    assert "Skipped: end of input." in printed


async def test_some_commands_run_while_a_question_is_open() -> None:
    source, target = os.pipe()
    lines, ran = InputLines(source, interactive=False), list[str]()

    async def run(text: str) -> None:
        ran.append(text)

    lines.open()
    try:
        os.write(target, b"/todos\n/quit\n1\n")
        assert await Questions(lines, run).inquire(Inquiry("c", (DATABASE,))) == InquiryAnswer((("SQLite",),))
    finally:
        lines.close()
        os.close(source)
        os.close(target)
    assert ran == ["/todos", "/quit"]


async def test_a_command_is_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    source, target = os.pipe()
    lines = InputLines(source, interactive=False)
    lines.open()
    try:
        os.write(target, b"/help\n/model x\n!ls\n/var/lib\n/usage\ny\n")
        questions = Questions(lines)
        assert await questions.inquire(Inquiry("c", (DATABASE,))) == InquiryAnswer((("/var/lib",),))
        assert await questions.ask(NARROW) == Answer(allow=True)
    finally:
        lines.close()
        os.close(source)
        os.close(target)
    printed = capsys.readouterr().out
    assert printed.count("Answer the question first.") == 4

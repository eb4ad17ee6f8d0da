"""The tool `ask`: questions in the form of any agent, and what the model reads of the answers."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools.user_questions import UserQuestion
from tests.cases import cases
from tests.tools.conftest import Bench

DATABASE = {
    "question": "Which database?",
    "choices": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres", "description": ""}],
}
PLAIN = {"question": "Which database?", "choices": [{"label": "SQLite"}, {"label": "Postgres"}]}
CHECKS = {"question": "Which checks?", "choices": [{"label": "ruff"}, {"label": "pytest"}], "several": True}


def asked(*questions: dict[str, Any]) -> tuple[UserQuestion, ...]:
    return msgspec.convert(questions, tuple[UserQuestion, ...])


@cases(
    ("called", "args", "questions"),
    [
        ("ask", {"questions": [DATABASE, CHECKS]}, (DATABASE, CHECKS)),
        ("ask", {"question": "Which database?", "choices": ["SQLite", "Postgres"]}, (PLAIN,)),
        ("ask", {"questions": {"question": "Which database?", "options": ["SQLite", "Postgres"]}}, (PLAIN,)),
        (
            "AskUserQuestion",
            {
                "questions": [
                    {
                        "question": "Which checks?",
                        "header": "Checks",
                        "multiSelect": True,
                        "options": [
                            {"label": "ruff", "description": "quick"},
                            {"label": "pytest"},
                            {"label": "Other"},
                        ],
                    }
                ]
            },
            (
                {
                    **CHECKS,
                    "header": "Checks",
                    "choices": [{"label": "ruff", "description": "quick"}, {"label": "pytest"}],
                },
            ),
        ),
        (
            "ask_followup_question",
            {
                "question": "Which database?",
                "follow_up": [{"text": "SQLite"}, {"text": "Postgres", "mode": None}],
            },
            (PLAIN,),
        ),
        (
            "ask_user",
            {"questions": '[{"text": "Which checks?", "options": ["ruff", "pytest"], "multiple": "true"}]'},
            (CHECKS,),
        ),
        (
            "question",
            {"question": "Go on?", "choices": ["Yes", "Other (say which)"]},
            ({"question": "Go on?", "choices": [{"label": "Yes"}, {"label": "Other (say which)"}]},),
        ),
    ],
)
async def test_questions_in_the_form_of_any_agent_are_the_same(
    bench: Bench, called: str, args: dict[str, Any], questions: tuple[dict[str, Any], ...]
) -> None:
    intent = await bench.plan(called, **args)
    assert intent.questions == asked(*questions)
    assert (intent.effect, intent.answers) == ("read", ())


@cases(
    ("args", "told"),
    [
        ({}, '"questions" is missing (it must be a list of 1 to 4)'),
        ({"questions": []}, "must be a list of 1 to 4, not of 0"),
        ({"questions": [PLAIN] * 5}, "must be a list of 1 to 4, not of 5"),
        (
            {"questions": [{**PLAIN, "choices": [{"label": "SQLite"}]}]},
            "questions[0].choices: expected a list of at least 2",
        ),
        (
            {"questions": [{**PLAIN, "choices": [str(number) for number in range(7)]}]},
            "questions[0].choices: expected a list of at most 6",
        ),
        ({"questions": ["Which?"]}, "questions[0]: expected an object, got a string"),
        ({"questions": [{"question": "Which?"}]}, 'questions[0]: "choices" is missing'),
        (
            {"questions": [{**PLAIN, "choices": [{"label": "a", "why": ""}, {"label": 3}]}]},
            "ask: questions[0].choices",
        ),
        ({"questions": 3}, '"questions" must be a list of 1 to 4, not 3'),
    ],
)
async def test_wrong_questions_are_told_with_the_form(bench: Bench, args: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolError) as caught:
        await bench.plan("ask", **args)
    assert told in str(caught.value)
    assert caught.value.hint.startswith("Arguments: questions: list of {question: str, choices: ")


async def test_two_choices_with_one_label_are_refused(bench: Bench) -> None:
    with pytest.raises(ToolError, match='Two choices of "Which database\\?" have the same label'):
        await bench.plan("ask", questions=[{**PLAIN, "choices": ["SQLite", "SQLite"]}])


async def test_the_model_reads_each_question_with_its_answer(bench: Bench) -> None:
    bench.context = replace(bench.context, answers=[("Postgres",), ("ruff", "my own linter")])
    outcome = await bench.run("ask", questions=[DATABASE, CHECKS])
    assert outcome.outcome == "Postgres; ruff, my own linter"
    assert outcome.content == [
        {"question": "Which database?", "answer": "Postgres"},
        {"question": "Which checks?", "answer": ["ruff", "my own linter"]},
    ]
    assert list(outcome.answers) == [
        {"question": "Which database?", "answers": ["Postgres"]},
        {"question": "Which checks?", "answers": ["ruff", "my own linter"]},
    ]


async def test_a_call_without_answers_reports_none(bench: Bench) -> None:
    with pytest.raises(ToolError, match="were not put to the user"):
        await bench.run("ask", questions=[DATABASE])

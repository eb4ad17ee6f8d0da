"""The tool `ask`: puts questions of the model to the user.

Invariant: the user is asked before the call runs, among the permission questions and in their order; the run
only reports the answers. So the time that they take is not the call's.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import AnsweredQuestion, answers_shown
from cogency_tui.tools import argument_schema
from cogency_tui.tools.base import PLAIN, Aliases, Intent, Outcome, ToolContext, ToolKind
from cogency_tui.tools.user_questions import UserQuestion
from cogency_tui.workspace.protected_names import shown

_QUESTIONS = ("question", "text", "prompt", "message", "query")
_CHOICES = ("choices", "options", "answers", "suggestions", "follow_up", "suggest")
_SEVERAL = ("several", "multiSelect", "multi_select", "multiple", "allow_multiple")
_HEADERS = ("header", "title", "topic")
_LABELS = ("label", "text", "value", "title", "name", "answer")
_DESCRIPTIONS = ("description", "detail", "explanation")
_OTHER = re.compile(r"other\W*(\(.*\))?", re.IGNORECASE)


class AskArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    questions: Annotated[list[UserQuestion], Meta(min_length=1, max_length=4)]


def _own_names(args: Any) -> Any:
    """The arguments with our names: a list of questions in any agent's form, or one question by itself."""
    if not isinstance(args, dict):
        return args
    fields = cast("dict[str, Any]", args)
    if "questions" in fields:
        return {"questions": _read_questions(fields["questions"])}
    if _first(fields, _QUESTIONS) is None:
        return fields
    return {"questions": [_read_question(fields)]}


def _read_questions(value: Any) -> Any:
    """Questions with our names: a list, also as text, or a single one."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = msgspec.json.decode(value)
    if isinstance(value, dict):
        return [_read_question(value)]
    if not isinstance(value, list):
        return value
    return [_read_question(each) for each in cast("list[Any]", value)]


def _read_question(given: Any) -> Any:
    """A question with our names; unchanged what makes no sense."""
    if not isinstance(given, dict):
        return given
    fields = cast("dict[str, Any]", given)
    question, choices = _first(fields, _QUESTIONS), _first(fields, _CHOICES)
    if not isinstance(question, str) or not isinstance(choices, list):
        return fields
    read = [_read_choice(each) for each in cast("list[Any]", choices)]
    own = [each for each in read if not _is_other(each)]
    found: dict[str, Any] = {"question": question, "choices": own if len(own) > 1 else read}
    if isinstance(header := _first(fields, _HEADERS), str):
        found["header"] = header
    if (several := _first(fields, _SEVERAL)) is not None:
        found["several"] = {"true": True, "false": False}.get(str(several).casefold(), several)
    return found


def _read_choice(given: Any) -> Any:
    if isinstance(given, str | int | float) and not isinstance(given, bool):
        return {"label": str(given)}
    if not isinstance(given, dict):
        return given
    fields = cast("dict[str, Any]", given)
    label, description = _first(fields, _LABELS), _first(fields, _DESCRIPTIONS)
    if not isinstance(label, str):
        return fields
    return {"label": label, **({"description": description} if isinstance(description, str) else {})}


def _is_other(choice: Any) -> bool:
    """Return whether a choice is one to answer in other words, which every question has anyway."""
    label = cast("dict[str, Any]", choice).get("label") if isinstance(choice, dict) else None
    return isinstance(label, str) and bool(_OTHER.fullmatch(label.strip()))


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


class Ask:
    """Asks the user."""

    name = "ask"
    kind: ToolKind = "think"
    description = "Ask the user what only they can decide; they can also answer freely."
    args = AskArgs
    aliases = Aliases(
        tools=dict.fromkeys(
            ("ask_user_question", "ask_user", "ask_followup_question", "question", "ask_question")
            + ("request_user_input",),
            PLAIN,
        )
    )

    def described_arguments(self) -> str:
        return argument_schema.described(AskArgs)

    def arguments_schema(self) -> dict[str, Any]:
        return argument_schema.json_schema(AskArgs)

    def convert(self, args: Any, /) -> AskArgs:
        return argument_schema.convert(self.name, _own_names(args), AskArgs)

    async def plan(self, args: AskArgs, context: ToolContext) -> Intent:
        for each in args.questions:
            if len({choice.label for choice in each.choices}) < len(each.choices):
                problem = f'Two choices of "{shown(each.question)}" have the same label.'
                raise ToolError(problem, "Give each choice a label of its own.")
        more = f" (and {len(args.questions) - 1} more)" if len(args.questions) > 1 else ""
        return Intent("read", f"{args.questions[0].question}{more}", questions=tuple(args.questions))

    async def run(self, args: AskArgs, context: ToolContext) -> Outcome:
        if len(context.answers) != len(args.questions):
            raise ToolError("The questions were not put to the user.", "Repeat the call.")
        answered: list[AnsweredQuestion] = []
        reasons = context.reasons or [""] * len(args.questions)
        for question, given, reason in zip(args.questions, context.answers, reasons, strict=True):
            one: AnsweredQuestion = {"question": question.question, "answers": [*given]}
            if reason and not given:
                one["reason"] = reason
            answered.append(one)
        content = [
            {
                "question": each["question"],
                "answer": each["answers"]
                if question.several and each["answers"]
                else "".join(answers_shown(each)),
            }
            for question, each in zip(args.questions, answered, strict=True)
        ]
        summary = "; ".join(", ".join(answers_shown(each)) for each in answered)
        return Outcome(summary, content, answers=answered)

"""Questions in words, answered by a line. A permission question shows all of what will happen."""

import re
from collections.abc import Awaitable, Callable, Sequence

from cogency_tui.agent.permissions.gate import Answer, Inquiry, InquiryAnswer, Question
from cogency_tui.cli.standard_streams import print_text
from cogency_tui.linear.input import InputLines
from cogency_tui.protocol.transcript import command_in
from cogency_tui.safe_text import fold_blanks, one_line, reveal
from cogency_tui.tools.user_questions import UserQuestion

_VERBS = {
    "write": "change files",
    "command": "run a command",
    "network": "access the network",
    "tool": "run",
    "money": "exceed a limit",
    "stale": "continue",
}
_COMMAND = re.compile(r"/[\w-]+(\s.*)?")
_LONGEST = 4
"""Digits of a number that may be one of a choice."""

_YES, _NO = ("y", "yes"), ("n", "no", "")


async def _no_command(_text: str) -> None:
    """Run none."""


class Questions:
    """Asks questions, and reads the answers from `lines`. `run` runs the commands that work while a question
    is open: they change nothing, or leave."""

    def __init__(self, lines: InputLines, run: Callable[[str], Awaitable[None]] = _no_command) -> None:
        self._lines = lines
        self._run = run

    async def ask(self, question: Question) -> Answer | None:
        """The user's answer; None if no more lines come."""
        for line in describe_question(question):
            print_text(line)
        while (line := await self._answer()) is not None:
            if (answer := read_answer(line, question)) is not None:
                print_text(_outcome(answer, question))
                return answer
            print_text(f"Not an answer, and not sent: {one_line(line)!r}. {_choices(question)}")
        print_text("Declined: end of input.")
        return None

    async def inquire(self, inquiry: Inquiry) -> InquiryAnswer | None:
        """The user's answers to the model's questions, line by line; None if no lines come. Questions for
        which no more come are skipped."""
        given: list[tuple[str, ...]] = []
        for number, question in enumerate(inquiry.questions, 1):
            for line in describe_inquiry(inquiry, number):
                print_text(line)
            while (line := await self._answer()) is not None:
                words = line.strip()
                if skips(words, question):
                    given.append(())
                    print_text("Skipped.")
                    break
                answers = read_choices(words, question)
                given.append(answers)
                print_text(describe_answer(answers, question))
                break
            else:
                print_text("Skipped: end of input.")
                given.append(())
        # Without a line nobody is there.
        return None if self._lines.ended and not any(given) else InquiryAnswer.of(tuple(given))

    async def _answer(self) -> str | None:
        """The next line that is no command; None if no more come."""
        while (line := await self._lines.answer()) is not None and _is_command(line.strip()):
            await self._run(line.strip())
            print_text("Answer the question first.")
        return line


def _is_command(words: str) -> bool:
    """Return whether a line is a command (`/name`, `!command line`), and no path."""
    return bool(_COMMAND.fullmatch(words) or command_in(words))


def describe_inquiry(inquiry: Inquiry, number: int) -> list[str]:
    """The lines of a question of the model, from 1: its choices, and how to answer."""
    question, count = inquiry.questions[number - 1], len(inquiry.questions)
    place = f" {number} of {count}" if count > 1 else ""
    asker = f" from {inquiry.asker}" if inquiry.asker else ""
    lines = [f"Question{place}{asker}: {one_line(reveal(question.question))}"]
    for at, choice in enumerate(question.choices, 1):
        details = f": {one_line(reveal(choice.description))}" if choice.description else ""
        lines.append(f"  {at}. {one_line(reveal(choice.label))}{details}")
    return [*lines, how_to_choose(question)]


def skips(words: str, question: UserQuestion) -> bool:
    """Return whether a line skips a question: it is empty, or `n`, unless that is a choice."""
    return not words or (words.casefold() == "n" and not _named(words, question))


def _named(words: str, question: UserQuestion) -> str:
    """The label that a line names; empty if it names none."""
    named = (choice.label for choice in question.choices if choice.label.casefold() == words.casefold())
    return next(named, "")


def read_choices(words: str, question: UserQuestion) -> tuple[str, ...]:
    """The labels that a line names, by name or else by number; otherwise the line itself, in the user's own
    words."""
    if named := _named(words, question):
        return (named,)
    parts = [part for part in re.split(r"[,\s]+", words) if part]
    if all(part.isdecimal() and len(part) < _LONGEST for part in parts):
        numbers = list(dict.fromkeys(map(int, parts)))
        is_possible = len(numbers) == 1 or question.several
        if is_possible and all(1 <= number <= len(question.choices) for number in numbers):
            return tuple(question.choices[number - 1].label for number in numbers)
    return (words,)


def describe_answer(answers: Sequence[str], question: UserQuestion) -> str:
    """What a line has answered; of own words that are a number, how a choice is chosen."""
    text = one_line(", ".join(answers))
    if any(answer in {choice.label for choice in question.choices} for answer in answers):
        return f"Answered: {text}"
    is_number = all(part.isdecimal() for part in re.split(r"[,\s]+", text) if part)
    count = f"; the choices are 1 to {len(question.choices)}" if is_number else ""
    return f"Answered in your own words: {text}{count}."


def how_to_choose(question: UserQuestion) -> str:
    """The instruction for a line that answers."""
    number = "numbers" if question.several else "a number"
    last = len(question.choices)
    return f"Answer with {number} from 1 to {last}, or in your own words; n or an empty line skips it:"


def describe_question(question: Question) -> list[str]:
    """The lines of a question: what would happen, why it is asked, and the possible answers."""
    done = question.effect == "changed"
    deed = "has changed files" if done else f"asks to {_VERBS.get(question.effect, 'read')}"
    asked = question.round()
    place = ", ".join(filter(None, (asked.place, asked.missing)))
    place = f" ({place})" if place else ""
    lines = [f"Permission needed{place}: {one_line(question.tool)} {deed}: {reveal(question.title)}"]
    lines += [reveal(loss.sentence) for loss in question.losses]
    if question.explanation:
        lines.append(reveal(question.explanation))
    if question.detail.strip():
        lines.append("Changes made:" if done else "Details:")
        shown = "".join(text for text, _note in fold_blanks(reveal(question.detail.rstrip("\n"))))
        lines += [f"  {line}" for line in shown.split("\n")]
    if question.grant:
        lines.append(f"c allows: {reveal(question.grant)}")
    if question.pattern:
        lines.append(f"always allows: {reveal(question.pattern)}")
    return [*lines, _choices(question)]


def read_answer(line: str, question: Question) -> Answer | None:
    """The answer in a line; None if it is none. Text after `n` is the reason."""
    word, _space, rest = line.strip().partition(" ")
    word = word.lower()
    if word in _YES and not rest:
        return Answer(allow=True)
    if word in ("a", "all") and not rest and question.turn:
        return Answer(allow=True, scope="turn")
    if word in ("c", "conversation") and not rest and question.grant:
        return Answer(allow=True, scope="conversation")
    if word == "always" and not rest and question.pattern:
        return Answer(allow=True, scope="always")
    if word in _NO:
        return Answer(allow=False, reason=rest.strip())
    return None


def _outcome(answer: Answer, question: Question) -> str:
    if question.effect == "changed":
        return "Kept." if answer.allow else "Reverted."
    if question.effect == "stale":
        return "Continued." if answer.allow else "Declined."
    return "Allowed." if answer.allow else "Declined."


def _choices(question: Question) -> str:
    if question.effect == "changed":
        return "Answer y to keep, or n to revert:"
    if question.effect == "stale":
        return "Answer y to continue without the edit, n to decline, or n and a reason:"
    choices = ["y to allow once"]
    if question.turn:
        choices.append("a for all edits this turn")
    if question.grant:
        choices.append("c for this conversation")
    if question.pattern:
        choices.append("always for a rule in this project")
    return f"Answer {', '.join(choices)}, n to decline, or n and a reason:"

"""Permission questions in words, answered by a line. A question shows all of what will happen."""

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.cli.standard_streams import print_text
from cogency_tui.linear.input import InputLines
from cogency_tui.safe_text import fold_blanks, one_line, reveal

_VERBS = {
    "write": "change files",
    "command": "run a command",
    "network": "access the network",
    "tool": "run",
    "money": "exceed a limit",
    "stale": "continue",
}
_YES, _NO = ("y", "yes"), ("n", "no", "")


class Questions:
    """Asks questions, and reads the answers from `lines`."""

    def __init__(self, lines: InputLines) -> None:
        self._lines = lines

    async def ask(self, question: Question) -> Answer | None:
        """The user's answer; None if no more lines come."""
        for line in describe_question(question):
            print_text(line)
        while (line := await self._lines.answer()) is not None:
            if (answer := read_answer(line, question)) is not None:
                print_text(_outcome(answer, question))
                return answer
            print_text(f"Not an answer, and not sent: {one_line(line)!r}. {_choices(question)}")
        print_text("Declined: end of input.")
        return None


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

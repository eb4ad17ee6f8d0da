"""Replies as wire text in each dialect, well-formed whatever data they quote.

Quoted data is in Markdown code, where markers are plain text; the delimiter dialect has no such rule, so a
quoted line that looks like a delimiter is marked there.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from cogency_tui.protocol import Dialect
from cogency_tui.providers.offline.message_reader import PlannedCall

_DELIMITER = re.compile(r"^(?=[ \t]*(?:§\w|\[SYSTEM:))", re.MULTILINE)
_TOKEN = re.compile(r"\s*\w{1,5}|\s*[^\w\s]{1,2}|\s+")


@dataclass(frozen=True, slots=True)
class Reply:
    """Either `calls` with the `thought` before them, or the `answer` that ends the turn."""

    thought: str = ""
    calls: Sequence[PlannedCall] = ()
    answer: str = ""


def write_reply(reply: Reply, dialect: Dialect, earlier: int) -> str:
    """Return the wire text of `reply`; `earlier` is the number of this turn's calls that have ids already."""
    if dialect == "delimiter":
        return _delimiter(reply)
    if dialect == "action":
        return _action(reply, earlier)
    if not reply.calls:
        return reply.answer
    batch = ",\n ".join(_json({"name": call.name, "args": call.args}) for call in reply.calls)
    return f"<think>{_sentence(reply.thought)}</think>\n\n<execute>\n[{batch}]\n</execute>"


def split_tokens(text: str) -> list[str]:
    """Cut `text` into pieces of about a token each; joined, they are `text`."""
    return _TOKEN.findall(text)


def _delimiter(reply: Reply) -> str:
    if not reply.calls:
        return f"§respond: {_DELIMITER.sub('› ', reply.answer)}\n§end"
    calls = "\n".join(f"§call: {_json({'name': call.name, 'args': call.args})}" for call in reply.calls)
    return f"§think: {_sentence(reply.thought)}\n{calls}\n§execute"


# `$name` and `$$name` are plain text here, because no action of ours declares an `output_key`.
def _action(reply: Reply, earlier: int) -> str:
    if not reply.calls:
        return f"<response>\n{reply.answer}\n</response>"
    bodies = [_json({"name": call.name, "parameters": call.args}) for call in reply.calls]
    actions = "\n".join(
        f'<action type="tool" mode="sync" id="a{number}">{body}</action>'
        for number, body in enumerate(bodies, earlier + 1)
    )
    return f"<thought>{_sentence(reply.thought)}</thought>\n\n{actions}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/")


def _sentence(thought: str) -> str:
    """Format a thought on one line that cannot close its own block."""
    return " ".join(thought.split()).replace("</", "<\\/")


def code(text: str) -> str:
    """Format `text` as an inline code span on one line."""
    line = " ".join(text.splitlines()) or " "
    marks = "`" * (_longest_run(line, "`") + 1)
    padding = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{marks}{padding}{line}{padding}{marks}"


def fence(text: str, language: str = "") -> str:
    """Format `text` as a fenced block that nothing in it can close."""
    marks = "`" * max(3, _longest_run(text, "`") + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"


def _longest_run(text: str, char: str) -> int:
    return max((len(run) for run in re.findall(f"{char}+", text)), default=0)

"""A conversation as Markdown. What tools gave stands in fences that nothing in it can close."""

import re
from collections.abc import Sequence

from cogency_tui.agent.export.exchange import Done, Said, exchange, facts, title_of
from cogency_tui.protocol.events import Event
from cogency_tui.store.conversations import Conversation
from cogency_tui.text import clean

_MARKS = {"done": "✓", "failed": "✗", "interrupted": "■"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")


def as_markdown(conversation: Conversation, events: Sequence[Event]) -> str:
    """The whole conversation; controls and escape sequences are taken out of it."""
    known = " · ".join(f"{name}: {_plain(value)}" for name, value in facts(conversation))
    parts = [f"# {_plain(title_of(conversation))}", known]
    for each in exchange(events):
        parts.append(_done(each) if isinstance(each, Done) else _said(each))
    return clean("\n\n".join(parts)) + "\n"


def _said(said: Said) -> str:
    if said.kind == "answer":
        return said.text + ("\n\n*(interrupted)*" if said.interrupted else "")
    if said.kind == "prompt":
        return "---\n\n" + _quoted(said.text)
    return f"<details><summary>Thought</summary>\n\n{fenced(said.text)}\n\n</details>"


def _done(done: Done) -> str:
    summary = f"{_MARKS[done.state]} {done.tool} {done.about}"
    escaped = summary.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    parts = [fenced(done.arguments)] if done.arguments else []
    parts.append(_plain(done.outcome))
    if done.output:
        parts.append(fenced(done.output))
    body = "\n\n".join(parts)
    return f"<details><summary>{escaped}</summary>\n\n{body}\n\n</details>"


def fenced(text: str) -> str:
    """`text` in a fence longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines() or [""])


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text.replace("\n", " "))

"""Exports of conversations for reading elsewhere: Markdown, and self-contained HTML.

Invariants: the HTML page contains foreign text only escaped; its Markdown is rendered without raw HTML and
without images; it has no script, and its own policy forbids every load. In Markdown, nothing in a tool's
output can close the fence around it. What looks like a key is redacted.
"""

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, cast

import msgspec

from cogency_tui.config.themes import load_palette
from cogency_tui.protocol.events import (
    AnsweredQuestion,
    Event,
    PlannedStep,
    ResultEvent,
    answers_shown,
    error_text,
    outcome_shown,
)
from cogency_tui.protocol.plan import PLAN_GLYPHS, describe_plan
from cogency_tui.protocol.transcript import as_tool_call, call_record, shown_text
from cogency_tui.redaction import ConversationSecrets, Redactor
from cogency_tui.safe_text import clean
from cogency_tui.store.foreign_sessions import AGENTS
from cogency_tui.store.store import StoredConversation


@dataclass(frozen=True, slots=True)
class Message:
    """A prompt of the user's, a thought or an answer of the model's, or the error that ended a turn."""

    kind: Literal["prompt", "thought", "answer", "failure"]
    text: str
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A call: its subject in one line, its arguments and its output as text. `state` is `interrupted` if
    there is no result. `plan` is the model's plan from then on, if the call has updated it; `answers` are the
    user's to its questions.
    """

    tool: str
    about: str
    arguments: str
    outcome: str
    output: str
    state: Literal["done", "failed", "declined", "interrupted"]
    seconds: float
    plan: Sequence[PlannedStep] = ()
    answers: Sequence[AnsweredQuestion] = ()


def exchange(events: Sequence[Event]) -> Iterator[Message | Done]:
    """The conversation's events as a reader sees them, in order, each call together with its result; a
    marker replaces what looks like a key, and the values of secret files that calls show.
    """
    redactor, secrets = Redactor({}), ConversationSecrets(events)
    events = [cast("Event", redactor.value(secrets.event(event))) for event in events]
    results = {event["id"]: event for event in events if event["type"] == "result"}
    for event in events:
        if event["type"] == "user":
            yield Message("prompt", shown_text(event))
        elif event["type"] == "think":
            yield Message("thought", event["content"], event.get("interrupted", False))
        elif event["type"] == "respond":
            yield Message("answer", event["content"], event.get("interrupted", False))
        elif event["type"] == "call":
            yield _is_done(as_tool_call(call_record(event)), results.get(event["id"]))
        elif event["type"] == "error":
            yield Message("failure", error_text(event["payload"]))


def title_of(conversation: StoredConversation) -> str:
    """The conversation's title: the user's first message, unless it was renamed."""
    return Redactor({}).text(conversation.title or "Untitled")


def facts(conversation: StoredConversation) -> list[tuple[str, str]]:
    """The known facts of a conversation, each with a name."""
    turns = f"{conversation.turns} turn{'' if conversation.turns == 1 else 's'}"
    begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(conversation.created))
    found = [("Project", conversation.project), ("Branch", conversation.branch)]
    found += [("Model", f"{conversation.provider}/{conversation.model}"), ("Begun", begun), ("Length", turns)]
    source = AGENTS.get(conversation.source, "")
    imported = f"imported from {source}" if source else "imported"
    is_own_fork = not conversation.source and conversation.parent is not None
    found.append(("Origin", imported if conversation.imported and not is_own_fork else ""))
    if conversation.tokens:
        found.append(("Tokens", f"{conversation.tokens:,}"))
    if conversation.cost:
        found.append(("Cost", f"${conversation.cost:.2f}"))
    return [(name, value) for name, value in found if value]


def _is_done(call: dict[str, Any], result: ResultEvent | None) -> Done:
    args: Any = call.get("args")
    given = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    about = next((text.strip() for text in given.values() if isinstance(text, str) and text.strip()), "")
    first = about.splitlines()[0][:100] if about else ""
    arguments = "\n".join(f"{name}: {_text(value)}" for name, value in given.items())
    tool = str(call.get("name", "unknown"))
    if result is None:
        return Done(tool, first, arguments, "interrupted", "", "interrupted", 0.0)
    payload = result["payload"]
    if plan := payload.get("plan"):
        about = " ".join(describe_plan(plan).split())
        return Done("plan", about, "", "", "", "done", result["duration"], plan)
    if answers := payload.get("answers"):
        return Done(
            "ask", answers[0]["question"], "", payload["outcome"], "", "done", result["duration"], (), answers
        )
    output = "" if payload["content"] is None else _text(payload["content"])
    state: Literal["done", "failed", "declined", "interrupted"] = "failed" if payload["error"] else "done"
    if payload["state"] == "declined" or payload["state"] == "interrupted":
        state = payload["state"]
    return Done(tool, first, arguments, outcome_shown(payload), output, state, result["duration"])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


_MARKS = {"done": "✓", "failed": "✗", "declined": "⊘", "interrupted": "■"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")


def as_markdown(conversation: StoredConversation, events: Sequence[Event]) -> str:
    """The whole conversation as Markdown, without control characters and escape sequences."""
    known = " · ".join(f"{name}: {_plain(value)}" for name, value in facts(conversation))
    parts = [f"# {_plain(title_of(conversation))}", known]
    for each in exchange(events):
        parts.append(_done(each) if isinstance(each, Done) else _markdown_of_message(each))
    return clean("\n\n".join(parts)) + "\n"


def _markdown_of_message(message: Message) -> str:
    if message.kind == "answer":
        return message.text + ("\n\n*(interrupted)*" if message.interrupted else "")
    if message.kind == "prompt":
        return "---\n\n" + _quoted(message.text)
    if message.kind == "failure":
        return f"*✗ The turn failed: {_plain(message.text)}*"
    return f"<details><summary>Thought</summary>\n\n{fenced(message.text)}\n\n</details>"


def _done(done: Done) -> str:
    summary = f"{_MARKS[done.state]} {done.tool} {done.about}"
    escaped = summary.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    parts = [fenced(done.arguments)] if done.arguments else []
    if done.plan:
        parts.append("\n".join(map(_task, done.plan)))
    elif done.answers:
        parts.append("\n\n".join(map(_answered, done.answers)))
    else:
        parts.append(_plain(done.outcome))
    if done.output:
        parts.append(fenced(done.output))
    body = "\n\n".join(parts)
    return f"<details><summary>{escaped}</summary>\n\n{body}\n\n</details>"


def _task(step: PlannedStep) -> str:
    """A step as an item of a task list; the active one stands out."""
    text = _plain(" ".join(step["text"].split()))
    text = f"**{text}**" if step["state"] == "active" else text
    return f"- [{'x' if step['state'] == 'done' else ' '}] {text}"


def _answered(answered: AnsweredQuestion) -> str:
    """A question, and the answers to it as a list."""
    answers = [f"- {_plain(answer)}" for answer in answers_shown(answered)]
    return "\n".join([f"**{_plain(' '.join(answered['question'].split()))}**", "", *answers])


def fenced(text: str) -> str:
    """`text` in a fence longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines() or [""])


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text.replace("\n", " "))


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root{color-scheme:%(scheme)s}
*{box-sizing:border-box}
body{margin:0;background:%(background)s;color:%(text)s;font:16px/1.6 system-ui,sans-serif}
main{max-width:52rem;margin:0 auto;padding:2.5rem 1.25rem 6rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem;text-wrap:balance}
.facts{color:%(dim)s;font-size:.85rem;margin:0 0 2.5rem;display:flex;flex-wrap:wrap;gap:.1rem 1.25rem}
.facts b{font-weight:400;color:%(text)s}
.prompt{border-left:3px solid %(accent)s;background:%(surface)s;border-radius:0 .4rem .4rem 0;
 padding:.75rem 1rem;margin:2.5rem 0 1.25rem;white-space:pre-wrap;overflow-wrap:anywhere}
.answer{margin:1.25rem 0;overflow-wrap:anywhere}
.answer h1,.answer h2,.answer h3{font-size:1.1rem;margin:1.5rem 0 .5rem}
details{margin:.35rem 0;background:%(surface)s;border-radius:.4rem;font-size:.9rem}
summary{cursor:pointer;padding:.4rem .75rem;color:%(dim)s;overflow-wrap:anywhere}
summary:focus-visible{outline:2px solid %(accent)s}
summary b{color:%(text)s;font-weight:600}
summary .done{color:%(good)s}.failed{color:%(bad)s}summary .interrupted{color:%(edit)s}
details>div{padding:.1rem .75rem .75rem}
pre,code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:.85rem}
pre{background:%(raised)s;border-radius:.4rem;padding:.75rem;margin:.5rem 0;overflow:auto;max-height:32rem}
.plan{list-style:none;padding:0;margin:.5rem 0}
.wrap{white-space:pre-wrap;overflow-wrap:anywhere}
:not(pre)>code{background:%(raised)s;border-radius:.25rem;padding:.1em .35em}
a{color:%(accent)s}blockquote{margin:0;padding-left:1rem;border-left:3px solid %(rule)s;color:%(dim)s}
table{border-collapse:collapse;display:block;overflow:auto}
th,td{border:1px solid %(rule)s;padding:.3rem .6rem}
hr{border:0;border-top:1px solid %(rule)s}.note{color:%(dim)s;font-size:.85rem}
"""


def as_page(conversation: StoredConversation, events: Sequence[Event], theme: str) -> str:
    """The whole conversation as one HTML file in the colours of `theme`.

    Raises:
        ConfigError: there is no such theme, or it cannot be read.
    """
    title = _escaped(title_of(conversation))
    known = "".join(f"<span>{name} <b>{_escaped(value)}</b></span>" for name, value in facts(conversation))
    body = "\n".join(
        _call_html(each) if isinstance(each, Done) else _message_html(each) for each in exchange(events)
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{title}</title>\n'
        f"<style>{_STYLE % _colours(theme)}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f'<p class="facts">{known}</p>\n{body}\n</main>\n</body>\n</html>\n'
    )


def _message_html(message: Message) -> str:
    if message.kind == "prompt":
        return f'<div class="prompt">{_escaped(message.text)}</div>'
    if message.kind == "failure":
        return f'<p class="failed">✗ The turn failed: {_escaped(message.text)}</p>'
    if message.kind == "thought":
        return (
            f'<details><summary>Thought</summary><div class="wrap">{_escaped(message.text)}</div></details>'
        )
    note = '<p class="note">interrupted</p>' if message.interrupted else ""
    return f'<div class="answer">{_markdown(message.text)}{note}</div>'


def _call_html(done: Done) -> str:
    mark = f'<span class="{done.state}" title="{done.state}">{_MARKS[done.state]}</span>'
    summary = f"{mark} <b>{_escaped(done.tool)}</b> {_escaped(done.about)}"
    arguments = f'<pre class="wrap">{_escaped(done.arguments)}</pre>' if done.arguments else ""
    output = f"<pre>{_escaped(done.output)}</pre>" if done.output else ""
    time = "" if done.state == "declined" else f" · {done.seconds:.1f} s"
    outcome = f'<p class="note">{_escaped(done.outcome)}{time}</p>'
    if done.plan:
        outcome = f'<ul class="plan">{"".join(map(_task_html, done.plan))}</ul>'
    if done.answers:
        outcome = "".join(map(_answered_html, done.answers))
    return f"<details><summary>{summary}</summary><div>{arguments}{outcome}{output}</div></details>"


def _task_html(step: PlannedStep) -> str:
    return f"<li>{PLAN_GLYPHS[step['state']]} {_escaped(step['text'])}</li>"


def _answered_html(answered: AnsweredQuestion) -> str:
    answers = "".join(f"<li>{_escaped(answer)}</li>" for answer in answers_shown(answered))
    return f"<p><b>{_escaped(answered['question'])}</b></p><ul>{answers}</ul>"


def _markdown(text: str) -> str:
    from markdown_it import MarkdownIt

    # Without images: opening the page would request one.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return parser.render(clean(text))


def _escaped(text: str) -> str:
    return escape(clean(text))


def _colours(theme: str) -> dict[str, str]:
    palette = load_palette(theme)
    if palette.ansi:
        # A page has no terminal to take colours from.
        palette = load_palette("night" if palette.dark else "day")
    return {**msgspec.structs.asdict(palette.colors), "scheme": "dark" if palette.dark else "light"}

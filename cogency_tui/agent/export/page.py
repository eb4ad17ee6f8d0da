"""A conversation as one HTML file in the colours of a theme: no script, no request to anywhere.

Invariant: nothing foreign reaches the page but escaped; Markdown is drawn without raw HTML and without
images, and the page's own policy forbids every load besides.
"""

from collections.abc import Sequence
from html import escape

import msgspec

from cogency_tui.agent.export.exchange import Done, Said, exchange, facts, title_of
from cogency_tui.palettes import load_palette
from cogency_tui.protocol.events import Event
from cogency_tui.store.conversations import Conversation
from cogency_tui.text import clean

_MARKS = {"done": "✓", "failed": "✗", "interrupted": "■"}
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
summary .done{color:%(good)s}summary .failed{color:%(bad)s}summary .interrupted{color:%(edit)s}
details>div{padding:.1rem .75rem .75rem}
pre,code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:.85rem}
pre{background:%(raised)s;border-radius:.4rem;padding:.75rem;margin:.5rem 0;overflow:auto;max-height:32rem}
.wrap{white-space:pre-wrap;overflow-wrap:anywhere}
:not(pre)>code{background:%(raised)s;border-radius:.25rem;padding:.1em .35em}
a{color:%(accent)s}blockquote{margin:0;padding-left:1rem;border-left:3px solid %(rule)s;color:%(dim)s}
table{border-collapse:collapse;display:block;overflow:auto}
th,td{border:1px solid %(rule)s;padding:.3rem .6rem}
hr{border:0;border-top:1px solid %(rule)s}.note{color:%(dim)s;font-size:.85rem}
"""


def as_page(conversation: Conversation, events: Sequence[Event], theme: str) -> str:
    """The whole conversation as a page in the colours of `theme`.

    Raises:
        ConfigError: there is no such theme, or it cannot be read.
    """
    title = _escaped(title_of(conversation))
    known = "".join(f"<span>{name} <b>{_escaped(value)}</b></span>" for name, value in facts(conversation))
    body = "\n".join(_done(each) if isinstance(each, Done) else _said(each) for each in exchange(events))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{title}</title>\n'
        f"<style>{_STYLE % _colours(theme)}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f'<p class="facts">{known}</p>\n{body}\n</main>\n</body>\n</html>\n'
    )


def _said(said: Said) -> str:
    if said.kind == "prompt":
        return f'<div class="prompt">{_escaped(said.text)}</div>'
    if said.kind == "thought":
        return f'<details><summary>Thought</summary><div class="wrap">{_escaped(said.text)}</div></details>'
    note = '<p class="note">interrupted</p>' if said.interrupted else ""
    return f'<div class="answer">{_markdown(said.text)}{note}</div>'


def _done(done: Done) -> str:
    mark = f'<span class="{done.state}" title="{done.state}">{_MARKS[done.state]}</span>'
    summary = f"{mark} <b>{_escaped(done.tool)}</b> {_escaped(done.about)}"
    arguments = f'<pre class="wrap">{_escaped(done.arguments)}</pre>' if done.arguments else ""
    output = f"<pre>{_escaped(done.output)}</pre>" if done.output else ""
    outcome = f'<p class="note">{_escaped(done.outcome)} · {done.seconds:.1f} s</p>'
    return f"<details><summary>{summary}</summary><div>{arguments}{outcome}{output}</div></details>"


def _markdown(text: str) -> str:
    from markdown_it import MarkdownIt

    # Without images: one would be a request as soon as the page is opened.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return parser.render(clean(text))


def _escaped(text: str) -> str:
    return escape(clean(text))


def _colours(theme: str) -> dict[str, str]:
    palette = load_palette(theme)
    if palette.ansi:
        # A page has no terminal whose colours it could have.
        palette = load_palette("night" if palette.dark else "day")
    return {**msgspec.structs.asdict(palette.colors), "scheme": "dark" if palette.dark else "light"}

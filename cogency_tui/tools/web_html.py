"""HTML as Markdown: the main part of a page where it names one, else all of it without its navigation.

Invariant: each character of the page is looked at a bounded number of times before the converter has it;
scripts, styles and hidden text are left out, and no link of the result begins anything but a visit.
"""

import re
from collections.abc import Sequence
from html import unescape
from typing import Any
from urllib.parse import urljoin

from html_to_markdown import ConversionError, ConversionOptions, convert

from cogency_tui.errors import ToolError
from cogency_tui.text import one_line

_SHORTEST_MAIN = 200
_LONGEST_TITLE = 300
_SHOWN = 200
_WITHIN = 200_000
"""Characters in which a page's title and base are looked for."""

_TITLE = re.compile(r"<title(?:\s[^<>]{0,300})?>([^<]{0,2000})", re.IGNORECASE)
_BASE = re.compile(r"""<base\s[^<>]{0,300}?\bhref\s*=\s*["']?([^"'\s<>]{1,2000})""", re.IGNORECASE)
_MAIN = (
    re.compile(r"<(main)(?=[\s>])", re.IGNORECASE),
    re.compile(r"""<([a-z]{1,20})\s[^<>]{0,500}?\brole\s*=\s*["']?main\b""", re.IGNORECASE),
    re.compile(r"<(article)(?=[\s>])", re.IGNORECASE),
)
_NO_MARKUP = re.compile(r"<!--|<(script|style|textarea|title)(?=[\s>])", re.IGNORECASE)
_CLOSING = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "textarea", "title")}
_COMMENT_END = re.compile("-->")
_UNWANTED = [
    *("nav", "[role=navigation]", "dialog", "[role=dialog]", "[aria-hidden=true]", ".headerlink"),
    *("svg", "iframe", "object", "canvas", "audio", "video", "button", "select", "input", "textarea"),
]
_AROUND = ["aside", "footer", "[role=contentinfo]", "[role=search]", ".sidebar"]
"""What is around the main part, where the page does not say which part that is."""

_PREFORMATTED = re.compile(r"<pre(?=[\s>])", re.IGNORECASE)
_PREFORMATTED_END = re.compile("</pre", re.IGNORECASE)
_LINK_TAG = re.compile(r"</?a(?:\s[^<>]*)?>", re.IGNORECASE)
_SCHEME = re.compile("[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_VISITS = ("http:", "https:", "mailto:")
_SKIPPED_BY_BROWSERS = re.compile("[\x00-\x20]+")


class _Visitor:
    """Decides about links: what is no visit, or none of another page, is its text alone."""

    def __init__(self, url: str) -> None:
        self._here = f"{url.partition('#')[0]}#"

    def visit_link(self, _context: object, target: str, text: str, _title: str) -> dict[str, str]:
        if target.startswith(("#", self._here)) or not _is_visit(target):
            return {"type": "custom", "output": text}
        return {"type": "continue"}

    def visit_image(self, _context: object, source: str, alt: str, _title: str) -> dict[str, str]:
        return {"type": "continue"} if _is_visit(source) else {"type": "custom", "output": alt}


def to_markdown(html: str, url: str, notes: list[str]) -> tuple[str, str]:
    """Title and main text of a page; links are made absolute.

    Raises:
        ToolError: it cannot be read as HTML.
    """
    head = html[:_WITHIN]
    found = _TITLE.search(head)
    title = " ".join(unescape(found[1]).split())[:_LONGEST_TITLE] if found else ""
    base = _BASE.search(head)
    at = urljoin(url, unescape(base[1])) if base else url
    text, deep = "", False
    if main := _main_part(html):
        text, deep = _converted(main, at, _UNWANTED)
    if len(text) < _SHORTEST_MAIN:
        text, deep = _converted(html, at, [*_UNWANTED, *_AROUND])
    if deep:
        notes.append("What is nested too deep is left out.")
    return title, text


def _main_part(html: str) -> str:
    """The part of the page that it says is the main one, with its tags; empty where it says nothing."""
    masked = _masked(html)
    for pattern in _MAIN:
        if not (opening := pattern.search(masked)):
            continue
        tags = re.compile(rf"<(/?){opening[1]}(?=[\s/>])", re.IGNORECASE)
        depth, end = 0, len(html)
        for tag in tags.finditer(masked, opening.start()):
            depth += -1 if tag[1] else 1
            if depth == 0:
                end = tag.start()
                break
        if opening[1].lower() == "article" and pattern.search(masked, end):
            # One of several: a list of articles is all the page.
            continue
        return html[opening.start() : end]
    return ""


def _masked(html: str) -> str:
    """`html`, as long, with blanks for what is no markup though it may look like it."""
    pieces: list[str] = []
    at = position = 0
    endless: set[re.Pattern[str]] = set()
    while opening := _NO_MARKUP.search(html, position):
        closing = _CLOSING[opening[1].lower()] if opening[1] else _COMMENT_END
        position = opening.end()
        # `<!-->` is a whole comment.
        end = None if closing in endless else closing.search(html, opening.start() + 2)
        if end is None:
            endless.add(closing)
            continue
        position = end.end()
        pieces += (html[at : opening.start()], " " * (position - opening.start()))
        at = position
    return "".join([*pieces, html[at:]])


def _converted(html: str, url: str, unwanted: Sequence[str]) -> tuple[str, bool]:
    """Markdown, and whether parts were nested too deep for it."""
    options = ConversionOptions(
        base_url=url,
        exclude_selectors=list(unwanted),
        extract_metadata=False,
        inline_data_media="drop_element",
        # With padding the widest cell would set the length of every line.
        compact_tables=True,
    )
    visitor: Any = _Visitor(url)
    try:
        result = convert(_without_links_in_code(html), options, visitor)
    except ConversionError as error:
        raise ToolError(f"{url} cannot be read as HTML: {one_line(str(error)[:_SHOWN])}.") from error
    return (result.content or "").strip(), bool(result.warnings)


def _without_links_in_code(html: str) -> str:
    """In a code block a link would be Markdown in the middle of the code."""
    pieces: list[str] = []
    at = 0
    while opening := _PREFORMATTED.search(html, at):
        closing = _PREFORMATTED_END.search(html, opening.end())
        end = closing.start() if closing else len(html)
        pieces += (html[at : opening.end()], _LINK_TAG.sub("", html[opening.end() : end]))
        at = end
    return "".join([*pieces, html[at:]])


def _is_visit(target: str) -> bool:
    """Whether following this link goes to a page or writes a mail, as browsers read it."""
    plain = _SKIPPED_BY_BROWSERS.sub("", target).lower()
    return plain.startswith(_VISITS) or not _SCHEME.match(plain)

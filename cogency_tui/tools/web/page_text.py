"""The text of a page for the model: HTML as Markdown, JSON with an item a line, other text unchanged.

Of HTML only the main part is used where the page marks one, else all of it without its navigation.

Invariant: the text is untrusted data, bounded by `LONGEST`, and `notes` state what was left out. Each
character of a page is examined a bounded number of times before the converter gets it; scripts, styles and
hidden text are left out, and no link of the result does more than open a page or a mail. Everything here
runs in a child process (`web/parser_process.py`), which may be killed at any moment.
"""

import codecs
import re
from collections.abc import Sequence
from html import unescape
from typing import Any, Literal
from urllib.parse import urljoin

import msgspec
from html_to_markdown import ConversionError, ConversionOptions, convert

from cogency_tui.errors import ToolError
from cogency_tui.safe_text import one_line

_SHORTEST_MAIN = 200
_LONGEST_TITLE = 300
_SHOWN = 200
_WITHIN = 200_000
"""Characters in which a page's title and base are searched."""

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
"""Parts around the main one, for a page that does not mark its main part."""

_PREFORMATTED = re.compile(r"<pre(?=[\s>])", re.IGNORECASE)
_PREFORMATTED_END = re.compile("</pre", re.IGNORECASE)
_LINK_TAG = re.compile(r"</?a(?:\s[^<>]*)?>", re.IGNORECASE)
_SCHEME = re.compile("[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_VISITS = ("http:", "https:", "mailto:")
_SKIPPED_BY_BROWSERS = re.compile("[\x00-\x20]+")


class _Visitor:
    """Filters links: of one that is no visit, or leads to the same page, only the text remains."""

    def __init__(self, url: str) -> None:
        self._here = f"{url.partition('#')[0]}#"

    def visit_link(self, _context: object, target: str, text: str, _title: str) -> dict[str, str]:
        if target.startswith(("#", self._here)) or not _is_visit(target):
            return {"type": "custom", "output": text}
        return {"type": "continue"}

    def visit_image(self, _context: object, source: str, alt: str, _title: str) -> dict[str, str]:
        return {"type": "continue"} if _is_visit(source) else {"type": "custom", "output": alt}


def to_markdown(html: str, url: str, notes: list[str]) -> tuple[str, str]:
    """Convert a page to its title and main text; links are made absolute.

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
        notes.append("Deeply nested parts are omitted.")
    return title, text


def _main_part(html: str) -> str:
    """Return the part that the page marks as its main one, with its tags; empty where it marks none."""
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
            # One of several: in a list of articles the whole page is the main part.
            continue
        return html[opening.start() : end]
    return ""


def _masked(html: str) -> str:
    """Blank out, at equal length, parts of `html` that look like markup and are not."""
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
    """Convert to Markdown; True where parts were nested too deep for the converter."""
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
    """Remove links in code blocks, where they would be Markdown in the middle of the code."""
    pieces: list[str] = []
    at = 0
    while opening := _PREFORMATTED.search(html, at):
        closing = _PREFORMATTED_END.search(html, opening.end())
        end = closing.start() if closing else len(html)
        pieces += (html[at : opening.end()], _LINK_TAG.sub("", html[opening.end() : end]))
        at = end
    return "".join([*pieces, html[at:]])


def _is_visit(target: str) -> bool:
    """Return whether following this link opens a page or writes a mail, as browsers read it."""
    plain = _SKIPPED_BY_BROWSERS.sub("", target).lower()
    return plain.startswith(_VISITS) or not _SCHEME.match(plain)


Kind = Literal["html", "json", "text"]

LONGEST = 1_000_000
"""Most characters of a page's text; the model is sent as much of it as its own limit allows."""

_SAMPLE = 8192
_META_WITHIN = 2048

_KINDS: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/json": "json",
    "text/json": "json",
    "application/xml": "text",
}
_HTML_BEGINS = ("<!doctype html", "<html")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSET = re.compile(r"""\bcharset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_DECLARED = re.compile(
    rb"""<meta\b[^<>]{0,300}?\bcharset\s*=\s*["']?([\w.:-]{1,40})|^\s*<\?xml[^<>]{0,200}?encoding=["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
# The encodings of the web (WHATWG) by Python's names; other codecs could be slow, or not encode text.
_ENCODINGS = frozenset(
    ("utf-8", "utf-16-le", "utf-16-be", "koi8-r", "koi8-u", "mac-roman", "gbk", "gb18030", "big5", "euc_jp")
    + ("iso2022_jp", "cp866", "cp932", "cp949")
    + tuple(f"iso8859-{part}" for part in (*range(2, 12), *range(13, 17)))
    + tuple(f"cp{page}" for page in range(1250, 1259))
)
_AS_BROWSERS_DO = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gbk",
    "utf-16": "utf-16-le",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}


class Request(msgspec.Struct):
    """The received bytes, and their origin."""

    body: bytes
    content_type: str
    url: str


class PageText(msgspec.Struct):
    """A page's title (only for HTML), its text, and notes for its reader."""

    title: str
    text: str
    notes: list[str]


def answer(request: bytes) -> bytes:
    """Run `read_page` on an encoded request."""
    given = msgspec.msgpack.decode(request, type=Request)
    return msgspec.msgpack.encode(read_page(given.body, given.content_type, given.url))


def media_type(content_type: str) -> str:
    """Return the type alone, in lower case; empty where none was given."""
    return content_type.partition(";")[0].strip().lower()


def kind_of(content_type: str) -> Kind | None:
    """Return how content of this type is read; None for binary content. Content without a type may be
    text."""
    name = media_type(content_type)
    if name in _KINDS:
        return _KINDS[name]
    if name.endswith("+json"):
        return "json"
    return "text" if not name or name.startswith("text/") or name.endswith("+xml") else None


def read_page(body: bytes, content_type: str, url: str) -> PageText:
    """Convert a received page to text.

    Raises:
        ToolError: it is no text.
    """
    kind = kind_of(content_type)
    notes: list[str] = []
    text = _decoded(body, content_type, notes)
    if kind != "html" and "\0" in text[:_SAMPLE]:
        what = media_type(content_type) or "without a type"
        raise ToolError(f"{url} is binary ({len(body):,} bytes, {what}).", "Only text can be read.")
    text = text.replace("\0", "\ufffd")
    if not media_type(content_type) and text[:_SAMPLE].lstrip().lower().startswith(
        ("<!doctype html", "<html")
    ):
        kind = "html"
    title = ""
    if kind == "html":
        # Imports the converter, which other content does not need.
        pass

        title, text = to_markdown(text, url, notes)
    elif kind == "json":
        text = _laid_out(text, notes)
    if len(text) > LONGEST:
        notes.append(f"Cut: these are the first {LONGEST:,} of {len(text):,} characters.")
        text = text[:LONGEST]
    return PageText(title, text, notes)


def _decoded(body: bytes, content_type: str, notes: list[str]) -> str:
    """Decode by the byte-order mark, then the server's charset, then the page's own, else UTF-8."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    declared = _DECLARED.search(body[:_META_WITHIN])
    itself = (declared[1] or declared[2]).decode("ascii", "replace") if declared else ""
    header = _CHARSET.search(content_type)
    stated = _encoding(header[1] if header else "") or _encoding(itself)
    if not stated:
        try:
            return body.decode()
        except UnicodeDecodeError:
            notes.append("No encoding was stated, and it is not UTF-8: decoded as windows-1252.")
            return body.decode("cp1252", "replace")
    try:
        return body.decode(stated)
    except UnicodeDecodeError:
        notes.append(f"Some bytes are not valid {stated}, the stated encoding: � replaces each of them.")
        return body.decode(stated, "replace")


def _encoding(label: str) -> str:
    """Python's name for an encoding of the web; empty for any other."""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return ""
    name = _AS_BROWSERS_DO.get(name, name)
    return name if name in _ENCODINGS else ""


def _laid_out(text: str, notes: list[str]) -> str:
    """Format JSON with an item a line: its numbers, names and order stay as they are."""
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        notes.append("It was sent as JSON but cannot be formatted as JSON: this is the unchanged text.")
        return text

"""The bytes of a page as text that a model can read: HTML as Markdown, JSON laid out, the rest as it is.

Invariant: the text is data from strangers, bounded by `LONGEST`, and what was left out is said in `notes`.
All of this runs in a process of its own (`web_child`), which may be killed at any moment.
"""

import codecs
import re
from typing import Literal

import msgspec

from cogency_tui.errors import ToolError

Kind = Literal["html", "json", "text"]

LONGEST = 1_000_000
"""Characters of a page's text; the model is given what its own limit allows of them."""

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
# The encodings of the web (WHATWG) by Python's names; others could be slow, or no text at all.
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
    """What was received, and from where."""

    body: bytes
    content_type: str
    url: str


class Page(msgspec.Struct):
    """A page's title (HTML has one), its text, and what a reader of it should know."""

    title: str
    text: str
    notes: list[str]


def answer(request: bytes) -> bytes:
    """`read_page` as `web_child` asks for it."""
    given = msgspec.msgpack.decode(request, type=Request)
    return msgspec.msgpack.encode(read_page(given.body, given.content_type, given.url))


def media_type(content_type: str) -> str:
    """The type alone, in lower case; empty where none was given."""
    return content_type.partition(";")[0].strip().lower()


def kind_of(content_type: str) -> Kind | None:
    """How content of this type is read; None for what is no text. Content without a type may be text."""
    name = media_type(content_type)
    if name in _KINDS:
        return _KINDS[name]
    if name.endswith("+json"):
        return "json"
    return "text" if not name or name.startswith("text/") or name.endswith("+xml") else None


def read_page(body: bytes, content_type: str, url: str) -> Page:
    """The text of what was received.

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
        # Loads the converter, which other content has no need of.
        from cogency_tui.tools.web_html import to_markdown

        title, text = to_markdown(text, url, notes)
    elif kind == "json":
        text = _laid_out(text, notes)
    if len(text) > LONGEST:
        notes.append(f"Cut: the first {LONGEST:,} of {len(text):,} characters are here.")
        text = text[:LONGEST]
    return Page(title, text, notes)


def _decoded(body: bytes, content_type: str, notes: list[str]) -> str:
    """Text by its mark, by what the server says, by what it says itself, else UTF-8."""
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
            notes.append("No encoding was stated, and it is not UTF-8: read as windows-1252.")
            return body.decode("cp1252", "replace")
    try:
        return body.decode(stated)
    except UnicodeDecodeError:
        notes.append(f"Some of it is not the {stated} that it says it is: � stands for each such byte.")
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
    """JSON with an item a line: its numbers, names and order stay as they are."""
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        notes.append("It is sent as JSON, but is none that can be laid out: this is the text as it came.")
        return text

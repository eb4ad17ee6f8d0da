"""The grammar of requests: a message is split, and each part is matched with a table of patterns, in order.

A message is split at "then", line ends, and sentences or "and" before a verb; never inside quotes. A
pattern that matches the words, but not the names in them, leaves the part to the next one. A part that
matches none is `Unclear`: nothing is ever guessed into a request that changes something.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from cogency_tui.providers.offline import file_mentions
from cogency_tui.providers.offline.quoting import MARK, Quoted, mark_quotes
from cogency_tui.providers.offline.request_types import (
    AppendText,
    CountLines,
    CreateFile,
    ExplainFiles,
    ExplainProject,
    FindFiles,
    FindText,
    Help,
    ListFiles,
    ReadFiles,
    RecallRequest,
    ReplaceAcross,
    ReplaceText,
    Request,
    RunCommand,
    RunTests,
    Unclear,
    Undo,
)

LONGEST_MESSAGE = 20_000
"""Characters of a message without its quotes in which several requests are recognised."""

_VERBS = (
    "list|show|read|open|print|cat|find|search|grep|explain|summari[sz]e|describe|replace|change|rename"
    "|create|write|append|add|run|execute|count|undo|test|tell|overwrite|remove"
)
_THEN = re.compile(
    rf"\n+|[,;.]? (?:and )?then\b,? |[.!?] (?=(?:{_VERBS})\b)|,? and (?=(?:{_VERBS}) )",
    re.IGNORECASE,
)
_BLOCK = re.compile(
    r"^((?:please\s+)?(?:create|write|make|append|add)\b[^\n]*:)[ \t]*\n(.+)\Z",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_SPACES = re.compile(r"[^\S\n]+")
_BULLET = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]+", re.MULTILINE)
_POLITE_START = re.compile(
    r"^(?:please|now|also|first|next|finally|lastly|then|and|hey|hi|hello|ok(?:ay)?|so|kindly|just"
    r"|go ahead and|(?:can|could|would|will) you|i(?:'d like| want| need| would like) you to"
    r"|let'?s|let us)\b,?\s+",
    re.IGNORECASE,
)
_POLITE_END = re.compile(r",?\s+(?:please|for me|thanks|thank you|now)$", re.IGNORECASE)
_OUTPUT_ONLY = re.compile(
    r"(?:tell|show|give|report)(?: me)? (?:the |its |what )?(?:output|results?|outcome|happens|exit status)",
    re.IGNORECASE,
)


def split_message(message: str) -> tuple[Quoted, list[str]]:
    """Split a message into requests in the user's words, with marks for quoted parts."""
    quoted = mark_quotes(message.strip())
    quoted.text = _BLOCK.sub(lambda found: _mark_block(quoted, found), quoted.text)
    if len(quoted.text) > LONGEST_MESSAGE:
        return quoted, [quoted.text]
    parts: list[str] = []
    for piece in _THEN.split(_SPACES.sub(" ", _BULLET.sub("", quoted.text))):
        part = piece.strip()
        if not part or _OUTPUT_ONLY.fullmatch(part.rstrip(".")):
            continue
        whole = quoted.whole(part)
        if parts and whole is not None and whole.kind == "fence":
            # A block below a request is its content.
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    return quoted, parts or [quoted.text]


def without_courtesies(part: str) -> str:
    """Strip words around a request that ask for nothing, and its full stop."""
    text = part
    while (shorter := _POLITE_END.sub("", _POLITE_START.sub("", text))) != text:
        text = shorter
    text = re.sub(r"(?<=[\w\ue001)\"'/*])[.!?]+$", "", text.strip())
    return _POLITE_END.sub("", text)


def _mark_block(quoted: Quoted, found: re.Match[str]) -> str:
    """Mark the lines below "create FILE with:" as its content, unless they are a fence."""
    if quoted.has_fence(found[2]):
        return found[0]
    lines = quoted.raw(found[2])
    return f"{found[1]} {quoted.mark('block', lines, lines)}"


LONGEST = 1000
"""Characters of one request without its quotes: patterns take more than linear time."""

Builder: TypeAlias = Callable[["_Part"], Request | None]
_RULES: list[tuple[re.Pattern[str], Builder]] = []


class _Part:
    """A part of a message that matches a pattern: named groups, with the quotes at hand."""

    def __init__(self, quoted: Quoted, match: re.Match[str], known_file: str) -> None:
        self.quoted = quoted
        self.known_file = known_file
        self._match = match

    def group(self, name: str) -> str:
        """Return the marked words of a group; empty where it took no part."""
        return (self._match.groupdict().get(name) or "").strip()

    def value(self, name: str) -> str:
        return self.quoted.value(self.group(name))

    def is_quoted(self, name: str) -> bool:
        return self.quoted.whole(self.group(name)) is not None

    def files(self, name: str, *, any_word: bool = False) -> tuple[str, ...]:
        return file_mentions.read_files(self.quoted, self.group(name), self.known_file, any_word=any_word)


def read_requests(message: str, known_file: str = "") -> list[Request]:
    """Parse the requests of a message in order. `known_file` is the meaning of "it" at the start."""
    quoted, parts = split_message(message)
    requests: list[Request] = []
    for part in parts:
        request = _read_part(quoted, part, known_file)
        requests.append(request)
        known_file = file_mentions.named_file(request) or known_file
    if len(requests) > 1 and all(isinstance(request, Unclear) for request in requests):
        return [Unclear(message.strip())]
    return requests


def _read_part(quoted: Quoted, part: str, known_file: str) -> Request:
    if len(part) > LONGEST:
        return Unclear(quoted.raw(part))
    text = without_courtesies(part)
    for pattern, build in _RULES:
        if match := pattern.fullmatch(text):
            request = build(_Part(quoted, match, known_file))
            if request is not None:
                return request
    return Unclear(quoted.raw(part))


def _rule(*patterns: str) -> Callable[[Builder], Builder]:
    def register(build: Builder) -> Builder:
        _RULES.extend((re.compile(pattern, re.IGNORECASE | re.DOTALL), build) for pattern in patterns)
        return build

    return register


@_rule(
    r"(?:help|hi|hello|hey|\?|who are you|what are you|what(?: all)? can you do"
    r"|how do(?:es)? (?:you|this) work|(?:tell me about|explain|describe) yourself)"
    r"(?: here)?"
)
def _help(_part: _Part) -> Request | None:
    return Help()


@_rule(
    r"(?:undo|revert|take back|roll back|reverse)"
    r"(?: (?:that|it|this|(?:the|your|my) (?:last |latest )?(?:edit|change|replacement)"
    r"|what you (?:just )?did))?(?: again)?",
    r"take (?:that|it) back",
)
def _undo(_part: _Part) -> Request | None:
    return Undo()


@_rule(
    r"(?:run|execute|start)\s+(?:(?:all|the|my|our|its|project'?s?|unit|whole|full)\s+)*"
    r"(?:tests?|test[- ]suite)(?: again)?",
    r"test (?:it|this|everything|the project)",
    r"(?:do|are) (?:all )?the tests (?:pass|passing|green|run)",
)
def _tests(_part: _Part) -> Request | None:
    return RunTests()


@_rule(
    r"(?:run|execute|start)\s+(?:the\s+)?(?:(?:shell\s+)?command\s*:?\s+)?(?P<command>.+)",
    r"[$!]\s*(?P<command>.+)",
    rf"(?P<command>{MARK})",
)
def _run(part: _Part) -> Request | None:
    quote = part.quoted.whole(part.group("command"))
    if quote is None:
        return RunCommand(part.quoted.raw(part.group("command")))
    return RunCommand(quote.value.strip()) if quote.value.strip() else None


@_rule(
    r"(?:how many lines(?: of code)?|count(?: the)?(?: number of)? lines|line count|number of lines|count)"
    r"(?:\s+(?:are|there|does|do|in|of|for))*\s+(?P<files>.+?)(?:'s lines)?(?:\s+(?:have|has|contain))?",
    r"count (?P<files>its|it) ?(?:lines)?",
)
def _count(part: _Part) -> Request | None:
    files = part.files("files")
    return CountLines(files) if files else None


_SUBJECT = (
    r"(?:(?:all|every|each)\s+)?(?:(?:the\s+)?(?:occurrences?|uses?|instances?|mentions?)\s+of\s+)?"
    r"(?:the\s+)?(?:(?:word|text|string|name|function|variable|class|method|line)\s+)?"
)


@_rule(
    rf"(?:replace|change|rename|substitute|swap)\s+{_SUBJECT}(?P<old>.+?)\s+(?:with|to|by|into|for|->|→|=>)\s+(?P<new>.+?)"
    r"(?P<everywhere>\s+everywhere)?(?:\s+(?:in|inside|within|across|throughout)\s+(?P<target>.+))?",
    rf"(?:remove|delete)\s+{_SUBJECT}(?P<old>{MARK})(?P<everywhere>\s+everywhere)?(?:\s+(?:in|from|inside)\s+(?P<target>.+))?",
    rf"in\s+(?P<target>\S+?),?\s+(?:replace|change|rename)\s+{_SUBJECT}(?P<old>.+?)\s+(?:with|to|by|into)\s+(?P<new>.+?)",
)
def _replace(part: _Part) -> Request | None:
    old, new, target = part.value("old"), part.value("new"), part.group("target")
    if not old or old == new:
        return None
    if not target and file_mentions.is_file(old) and file_mentions.is_file(new) and not part.is_quoted("old"):
        return Unclear(
            f"rename {old} to {new}", f"a tool that renames files; you could say: run `mv {old} {new}`"
        )
    if part.group("everywhere") and not target:
        return ReplaceAcross(old, new, file_mentions.EVERYWHERE)
    glob = file_mentions.read_glob(part.quoted.value(target))
    if glob:
        return ReplaceAcross(old, new, glob)
    files = part.files("target", any_word=True) if target else tuple(filter(None, [part.known_file]))
    if not files:
        return Unclear(f"replace {old}", "the file to change; end with: in FILE, or: in *.py")
    return ReplaceText(old, new, files)


@_rule(r"(?:delete|remove)\s+(?:the\s+)?(?:file\s+)?(?P<file>\S+)")
def _delete(part: _Part) -> Request | None:
    file = part.value("file").removeprefix("@")
    if not file_mentions.is_file(file):
        return None
    return Unclear(f"delete {file}", f"a tool that deletes files; you could say: run `rm {file}`")


@_rule(
    r"(?P<verb>create|make|write|add|generate|save|overwrite)\s+(?:me\s+)?(?:(?:a|an|the|new|another|empty)\s+)*"
    r"(?P<kind>(?:\w+\s+)?file\s+)?(?:called\s+|named\s+)?(?P<file>\S+?)(?:\s+file)?"
    r"(?:\s*[:,]?\s*(?:with|containing|that (?:says|contains|reads)|which (?:says|contains)|saying|holding"
    rf"|:|(?={MARK}$))"
    r"\s*(?:the\s+)?(?:following\s+)?(?:(?:content|contents|text|line|lines|code)\b\s*)?:?\s*(?P<content>.+))?",
    r"(?P<verb>write|save|put)\s+(?P<content>.+?)\s+(?:to|into|in)\s+"
    r"(?:the\s+|a\s+)?(?:new\s+)?(?:file\s+)?(?P<file>\S+)",
)
def _create(part: _Part) -> Request | None:
    files = part.files("file", any_word=bool(part.group("kind")))
    if len(files) != 1 or part.group("file").lower() in file_mentions.PRONOUNS:
        return None
    content = part.value("content")
    if content and not content.endswith("\n"):
        content += "\n"
    return CreateFile(files[0], content, part.group("verb").lower() == "overwrite")


@_rule(
    r"(?:append|add|put|insert)\s+(?:(?:a|the|this|another)\s+)?(?:(?:line|text|lines|sentence)\s*:?\s*)?(?P<text>.+?)\s+"
    r"(?:to|at|into|in|onto)\s+(?:the\s+)?(?:(?:end|bottom)\s+of\s+)?(?:the\s+)?(?:file\s+)?(?P<file>\S+)",
    r"(?:append|add)\s+to\s+(?P<file>\S+?)\s*:?\s+(?P<text>.+)",
    rf"(?:append|add)\s+(?:(?:a|this|the)\s+)?line\s+to\s+(?P<file>\S+?)\s*:?\s+(?P<text>{MARK})",
)
def _append(part: _Part) -> Request | None:
    files = part.files("file")
    return AppendText(files[0], part.value("text").rstrip("\n")) if len(files) == 1 else None


@_rule(
    r"(?:what did (?:we|i|you) (?:say|decide|do|discuss|talk|agree)(?: (?:about|on))?|recall"
    r"|do you (?:remember|recall)(?: (?:when|what|that))?)"
    r"\s+(?P<query>.+)",
    r"(?P<keep>remember)(?: (?:when|what|that))?\s+(?P<query>.+)",
)
def _recall(part: _Part) -> Request | None:
    return RecallRequest(part.value("query"), bool(part.group("keep")))


@_rule(
    r"(?:show|read|print|open|view)(?: me)? lines? (?P<start>\d+)(?:\s*(?:-|–|to)\s*(?P<end>\d+))?"
    r" (?:of|in|from) (?P<files>.+)"
)
def _read_lines(part: _Part) -> Request | None:
    files = part.files("files", any_word=True)
    start = max(1, int(part.group("start")))
    end = int(part.group("end") or start)
    return ReadFiles(files, start, end - start + 1) if files and end >= start else None


@_rule(
    r"(?P<kind>list|ls|tree|dir)(?:\s+(?P<rest>.+))?",
    r"(?:what|which) (?P<kind>files)\b(?P<rest>.*)",
    r"(?:show|give)(?: me)? (?P<rest>(?:all )?(?:the )?(?:\w+ )?"
    r"(?:project|files|file tree|tree|directory|folder|structure)\b.*)",
    r"what(?:'s| is)(?: in)? (?P<rest>(?:here|there"
    r"|(?:this|the) (?:project|directory|folder|repo(?:sitory)?))\b.*)",
)
def _list(part: _Part) -> Request | None:
    found = file_mentions.read_listing(part.quoted, part.group("rest"))
    return ListFiles(*found) if found else None


@_rule(
    r"(?P<verb>read|open|cat|print|view|show|display|look at|see)(?: me)?(?: what(?:'s| is) in)?"
    r" (?P<files>.+)",
    r"what(?:'s| is) in(?:side)? (?P<files>.+)",
    r"(?P<files>@\S+)",
)
def _read(part: _Part) -> Request | None:
    opening = part.group("verb").lower() in {"read", "open", "cat", "view", "print"}
    files = part.files("files", any_word=opening)
    if len(files) == 1 and files[0].endswith("/"):
        return ListFiles(files[0].rstrip("/"))
    return ReadFiles(files) if files else None


@_rule(
    r"(?:what(?:'s| is) in(?:side)?|what does) (?P<rest>(?:the )?[\w./-]+(?: directory| folder)?)"
    r"(?: contain)?"
)
def _list_directory(part: _Part) -> Request | None:
    found = file_mentions.read_listing(part.quoted, part.group("rest"))
    return ListFiles(*found) if found else None


@_rule(
    r"(?:explain|summari[sz]e|describe|outline)(?: to me| me)? (?:this|the|my)"
    r" (?:project|repo|repository|code ?base|code)",
    r"what(?:'s| is) this (?:project|repo|code ?base) (?:about|for)",
    r"(?:give me )?(?:an? )?overview(?: of (?:this|the) (?:project|repo|code ?base))?",
)
def _explain_project(_part: _Part) -> Request | None:
    return ExplainProject()


@_rule(
    r"(?:explain|summari[sz]e|describe|outline|analy[sz]e)(?: to me)? (?:the )?"
    r"(?:(?:shape|structure|contents?) of )?(?:file )?(?P<files>.+?)(?:'s (?:shape|structure|contents?))?",
    r"what does (?P<files>\S+) (?:do|contain|have|define)",
    r"(?:tell me about|(?:give me )?(?:an? )?(?:overview|summary) of|what(?:'s| is)) (?P<files>.+?)"
    r"(?: about| for)?",
)
def _explain(part: _Part) -> Request | None:
    files = part.files("files")
    return ExplainFiles(files) if files else None


@_rule(
    r"(?:find|search|grep|look)\s+(?:for\s+)?(?:all\s+|any\s+|the\s+)?files?\s+"
    r"(?:called|named|matching|by the name)\s+(?P<pattern>\S+)"
    r"(?:\s+(?:in|under)\s+(?P<where>\S+))?",
    r"(?:find|look for|where is|where's)\s+(?:the\s+)?(?:file\s+)?(?P<pattern>\S+)"
    r"(?:\s+(?:in|under)\s+(?P<where>\S+))?",
)
def _find_files(part: _Part) -> Request | None:
    pattern = part.value("pattern")
    if part.is_quoted("pattern") or not (file_mentions.is_file(pattern) or "*" in pattern):
        return None
    return FindFiles(
        pattern.removeprefix("./").removeprefix("@"), file_mentions.read_place(part.value("where"))
    )


@_rule(
    r"(?:find|search|grep|look)\s+(?:me\s+)?(?:(?:in|through)\s+(?P<where>.+?)\s+)?(?:for\s+)?(?:(?:all|every|any)\s+)?"
    r"(?:(?:the\s+)?(?:occurrences?|uses?|usages?|mentions?|references?|calls?)\s+(?:of|to)\s+)?(?:where\s+)?(?P<text>.+?)"
    r"(?:\s+(?:is|are)(?:\s+(?:defined|used|called|set|imported|declared))?)?(?:\s+(?:in|inside|under|within|across)\s+(?P<place>.+))?",
    r"where(?:'s|\s+is|\s+are|\s+do\s+(?:we|you|i)\s+(?:use|call|define))\s+(?P<text>.+?)"
    r"(?:\s+(?:defined|used|called|set|declared|implemented))?(?:\s+in\s+(?P<place>.+))?",
    r"(?:which|what) files? (?:contains?|mentions?|uses?|ha(?:s|ve)|imports?) (?P<text>.+)",
)
def _find_text(part: _Part) -> Request | None:
    text = part.value("text")
    if not part.is_quoted("text"):
        text = re.sub(
            r"^(?:the|a|an|function|class|method|variable|word|text|string)\s+(?=\S)", "", text, flags=re.I
        )
        text = re.sub(r"(?i)(?<=\S)\s+(?:comments?|function|class|method)$", "", text)
    where = file_mentions.read_place(part.value("place") or part.value("where"))
    return FindText(text, where) if text.strip() else None

"""Detects calls that nothing runs: in Markdown code, in a thought, in another dialect, in a native syntax.

An answer without a call ends the turn. An answer that ends in something call-shaped was not meant to end
it: a `Slip` reports cause and cure to the model. A call with text after it is an example, unless that text
is one short paragraph in which the model announces its next step, or what the call will bring.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

from cogency_tui.protocol import Dialect
from cogency_tui.protocol.events import RespondEvent, ThinkEvent
from cogency_tui.protocol.json_object import JsonError, JsonObjectReader
from cogency_tui.protocol.markdown_code import MarkdownCode


@dataclass(frozen=True, slots=True)
class Slip:
    """A call in a place or form in which nothing runs it."""

    problem: str
    """Cause, in one sentence."""
    cure: str
    """Instruction for the model: what to write instead, and what to do if it was meant as an example."""
    leaked: bool = False
    """True if it has the syntax of a vendor's native calls."""


def find_slip(
    units: Sequence[ThinkEvent | RespondEvent],
    dialect: Dialect,
    tools: Collection[str] = (),
    *,
    unclosed: bool = False,
) -> Slip | None:
    """Return the slip in an answer that has no call and would end the turn.

    `units` are its complete units, the last of them `unclosed` or not; `tools` are the names that a tool
    answers to.
    """
    known = frozenset(tools)
    if units and units[-1]["type"] == "think":
        call = _Text(units[-1]["content"], known).call_anywhere()
        if call is not None:
            return _slip_in_thought(call, dialect, unclosed=unclosed)
    last = next((index for index in reversed(range(len(units))) if units[index]["type"] == "respond"), None)
    is_open = unclosed and bool(units) and units[-1]["type"] == "think"
    open_thought = _OPEN_THOUGHTS.get(dialect) if is_open else None
    if last is None:
        return (open_thought or _SLIP_ONLY_THOUGHT) if units else _SLIP_EMPTY
    call = _last_call([unit["content"] for unit in units[: last + 1]], known)
    if call is None:
        return open_thought or _slip_of_tags(units[: last + 1], dialect)
    return replace(_slip_in_answer(call, dialect), leaked=call.dialect is None)


def _slip_of_tags(units: Sequence[ThinkEvent | RespondEvent], dialect: Dialect) -> Slip | None:
    """Return the slip in an answer that ends in §execute, is a thought in other tags, or mentions the tags
    of one."""
    answer = units[-1]["content"]
    if dialect != "delimiter" and _LONE_BOUNDARY.search(answer):
        return Slip(
            "Your answer ends with §execute, which is not the call syntax here, so nothing ran.",
            f"Write the call {_FORMS[dialect]}. {_EXAMPLE}",
        )
    closing = _THOUGHT_END.search(answer)
    if closing and not MarkdownCode.open_fence(answer):
        return Slip(
            f"Your answer is a thought: nothing follows {closing.group()}.",
            "Write the next call, or the answer to the user, after it; to mention the tag, put it in "
            "backticks.",
        )
    for before, thought, after in zip(units, units[1:], units[2:], strict=False):
        kinds = [unit["type"] for unit in (before, thought, after)]
        if kinds == ["respond", "think", "respond"] and _CONNECTIVE.fullmatch(thought["content"]):
            return _SLIP_MENTIONED_THOUGHT
    return None


def text_call(units: Sequence[ThinkEvent | RespondEvent], tools: Collection[str]) -> Slip | None:
    """Return the slip in the text of an answer with native calls, which run; `tools` as for `find_slip`."""
    for unit in units:
        if unit["type"] == "respond" and (call := _last_call([unit["content"]], frozenset(tools))):
            return Slip(
                f"Your text has {call.label}{_WHERE[call.place]}, which did not run; your tool calls did.",
                "If you meant it, make it a tool call of the API.",
                leaked=call.dialect is None,
            )
    return None


def native_slip(names: Sequence[str], dialect: Dialect) -> Slip:
    """Return the slip in an answer with native calls of these tools, where calls are text."""
    named = ", ".join(dict.fromkeys(filter(None, names)))
    called = f" ({named})" if named else ""
    return Slip(
        f"You used native tool calls{called}, which are off here, so nothing ran.",
        f"Write the call {_FORMS[dialect]}.",
        leaked=True,
    )


def announced_slip(
    units: Sequence[ThinkEvent | RespondEvent],
    dialect: Dialect,
    tools: Collection[str] = (),
    *,
    is_open: bool = False,
    awaits: bool = False,
) -> Slip | None:
    """Return the slip in an answer without a call that announces what is missing: it ends with a colon, with
    the announcement of a step, or with such a step as code; `tools` as for `find_slip`.

    Where work `is_open`, anything that the model says it does next is a step. It `awaits` something if
    commands run for whose end it could wait, rather than announce that it does."""
    answer = "\n\n".join(unit["content"] for unit in units if unit["type"] == "respond").strip()
    cure = f"Write the call {_FORMS[dialect]}. If you are done, finish the answer."
    if answer.endswith((":", "：")) and not _OFFER.match(_SENTENCE_END.split(answer.rpartition("\n")[2])[-1]):
        return Slip("Your answer ends with a colon: it announces something, and nothing follows.", cure)
    if awaits and _is_wait_announced(answer):
        return Slip(
            "Your answer announces that you wait, but an answer without a call ends your turn.",
            f'Call processes with action "wait" {_FORMS[dialect]}. If you are done, finish the answer.',
        )
    if _is_step_announced(answer, is_open=is_open):
        return Slip("Your answer announces a step, and nothing follows.", cure)
    if _is_code_announced(answer, frozenset(tools)):
        return Slip(
            "Your answer announces a step and has it as code in a Markdown fence, which nothing runs.",
            f"Write the call {_FORMS[dialect]}. If the code is for the user, add how to use it.",
        )
    return None


def _is_code_announced(answer: str, tools: frozenset[str]) -> bool:
    """Return whether an answer ends with a shell command, or a tool's call as code, in a fence after the
    announcement of a step."""
    fences = _fences(answer)
    if not fences or fences[-1].end < len(answer):
        return False
    fence = fences[-1]
    before = answer[: fence.opening].rstrip(" \t\r\n:：")
    call = _CODE_CALL.match(answer, fence.start, fence.stop)
    runs = _SHELL_INFO.fullmatch(fence.info) or (call and call["name"] in tools)
    return (
        bool(runs)
        and _is_step_announced(before, is_open=False)
        and not _PRESENTED.search(before.rpartition("\n")[2])
    )


def _is_step_announced(answer: str, *, is_open: bool) -> bool:
    """Return whether an answer is short, and the last sentence of its last line announces a step."""
    before, _, line = answer.rpartition("\n")
    named = _NEXT_STEP if not before else _FIRST_STEP
    if is_open and _is_open_step(before, line):
        return True
    if len(line) > _LONGEST_ANNOUNCEMENT:
        return False
    if named.match(line) and not _ELSE.search(line):
        return True
    if _turns_to_user(before.rstrip()) or _LISTED.match(line):
        return False
    return _announces_step(line, planned=_PLAN.search(answer) is not None)


def _is_open_step(before: str, line: str) -> bool:
    """Return whether the last sentence of an answer announces anything that the model does next, where work
    is open: not after a plan for the user."""
    *others, last = _SENTENCE_END.split(_CODE_SPAN.sub("`code`", line))
    if len(last) > _LONGEST_ANNOUNCEMENT or _ELSE.search(last) or _LISTED.match(line):
        return False
    if _turns_to_user(before.rstrip()) or _ASKED.search(line):
        return False
    planned = _PLAN.search(" ".join([before, *others])) is not None
    return _is_step(last, any_verb=True) and (not planned or bool(_AT_ONCE.search(last)))


def _is_wait_announced(answer: str) -> bool:
    """Return whether the last sentence of an answer, or a clause of it, announces that the model waits for
    something but the user."""
    last = _SENTENCE_END.split(answer.rpartition("\n")[2])[-1]
    if len(last) > _LONGEST_ANNOUNCEMENT or _ELSE.search(last):
        return False
    starts = [0, *(clause.end() for clause in _CLAUSE_START.finditer(last))]
    return any(_WAIT.match(last, start) for start in starts)


def _turns_to_user(before: str) -> bool:
    """Return whether what precedes an announcement makes it part of an answer: it is long, introduces a
    quotation, or asks the user something."""
    return len(before) > _LONGEST_BEFORE or before.endswith((":", "：")) or bool(_ASKED.search(before))


def _announces_step(line: str, *, planned: bool) -> bool:
    """Return whether a line ends with sentences that each announce a step, and has no other that does: after
    a plan, one that is taken at once."""
    line = _CODE_SPAN.sub("`code`", line)
    if _ELSE.search(line):
        return False
    sentences = _SENTENCE_END.split(line)
    steps = [_is_step(each) for each in sentences]
    return steps[-1] and steps == sorted(steps) and (not planned or bool(_AT_ONCE.search(sentences[-1])))


def _is_step(sentence: str, *, any_verb: bool = False) -> bool:
    if _LATER.search(sentence) or _CONDITION.match(sentence):
        return False
    starts = [0, *(clause.end() for clause in _CLAUSE_START.finditer(sentence))]
    forms = (_STEP, _STEP_AT_ONCE, *([_ANY_STEP] if any_verb else []))
    return any(form.match(sentence, start) for start in starts for form in forms)


# Syntaxes

_NAMESPACE = r"(?:[\w.-]{1,40}:|[｜|]DSML[｜|])?"
_WRAPPER = (
    r"tool_calls?|function_calls?|tool_use|use_(?:mcp_)?tool|tool_code|tool_request|TOOLCALL|tool|function"
)
_NAME_ATTRIBUTE = r"""\s+name\s*=\s*["'](?P<name>[^"'<>\n]{1,200})["'][^<>]{0,200}"""


@dataclass(frozen=True, slots=True)
class _Syntax:
    """A syntax of calls. `opening` matches up to the payload; its groups `name` and `tag`, where there are
    any, are the tool's, and `label` completes the label.

    A payload that is no JSON object or array of objects runs to `closing`. With `known`, only the name of a
    tool distinguishes a call from other text.
    """

    label: str
    opening: re.Pattern[str]
    closing: re.Pattern[str] | None = None
    dialect: Dialect | None = None
    known: bool = False


def _syntax(
    label: str, opening: str, closing: str = "", *, dialect: Dialect | None = None, known: bool = False
) -> _Syntax:
    end = re.compile(closing) if closing else None
    return _Syntax(label, re.compile(opening, re.MULTILINE), end, dialect, known)


_PARENTHESIS = r"^[ \t]*(?:functions\.|tools\.)?(?P<name>[a-zA-Z_]\w{0,99})\((?=\s*\{\s*[\"}])"
"""The beginning of `read({"file": …})`. Objects of a programming language have bare keys."""

_KEYWORDS = (
    r"^ {0,3}(?:print\(\s{0,9})?(?:functions\.|tools\.)?(?P<name>[a-zA-Z_]\w{0,99})"
    r"\((?=\s{0,9}[a-zA-Z_]\w{0,99}\s{0,9}=\s{0,9}[\"'\d\[{TFN-][^\n]*\)[ \t]*"
    r"(?:\Z|\n\s{0,99}[\w.]{1,100}\())"
)
"""The beginning of a line `read(file="…")` with which a text ends, perhaps among others like it."""
_PYTHON_LINE = "a Python call"
"""In Markdown code it is program code."""

_SYNTAXES = (
    _syntax(
        "an <execute> block",
        r"<execute(?:\s+(?P<attribute>[\w-]{1,40})[^<>]{0,200})?>(?=\s*(?:\[\s*)?\{)",
        r"</execute>",
        dialect="xml",
    ),
    _syntax("an <action> block", r"<action(?:\s[^<>]*)?>(?=\s*\{)", r"</action>", dialect="action"),
    _syntax("a §call: line", r"§call:(?:\s*(?P<name>[a-zA-Z_][\w.]{0,99}))?(?=\s*\{)", dialect="delimiter"),
    # Claude, MiniMax, DeepSeek 3.2
    _syntax(
        "an <invoke> block",
        rf"<{_NAMESPACE}invoke{_NAME_ATTRIBUTE}>(?=\s*(?:</?{_NAMESPACE}(?:parameter|invoke)\b|\{{|\Z))",
        rf"</{_NAMESPACE}invoke>",
    ),
    _syntax(
        "a <function_calls> block",
        rf"<{_NAMESPACE}(?:function|tool)_calls>(?=\s*(?:<{_NAMESPACE}invoke\b|[\[{{]|\Z))",
        rf"</{_NAMESPACE}(?:function|tool)_calls>",
    ),
    # Hermes and Qwen; the Qwen coder; GLM; Granite; Nemotron
    _syntax(
        "a <tool_call> block",
        rf"<{_NAMESPACE}tool_call>(?=\s*(?:<(?!/)|[\[{{]|[\w.-]{{1,100}}\s*<arg_key>))",
        rf"</{_NAMESPACE}tool_call>",
    ),
    _syntax(
        "a <function=…> block",
        r"<function=(?P<name>[\w.:-]{1,200})>?(?=\s*(?:[{<]|\Z))",
        r"</function>",
    ),
    _syntax(
        "a <{}> block",
        rf"<{_NAMESPACE}(?P<label>{_WRAPPER})(?:{_NAME_ATTRIBUTE})?>(?=\s*(?:[\[{{]|<(?:\w*name|parameters?|arg\w*)\b))",
        rf"</{_NAMESPACE}(?:{_WRAPPER})>",
    ),
    # Gemini and Gemma
    _syntax("a <tool_code> block", r"<tool_code>(?=\s*(?:print\s*\(|[\w.]{1,100}\())", r"</tool_code>"),
    _syntax("a default_api call", r"^[ \t]*(?:print\s*\(\s*)?default_api\.(?P<name>\w{1,200})\s*\(", r"\)"),
    _syntax(
        "a <start_function_call> block",
        r"<(?:start_function_call|\|tool_call)>\s*call:(?P<name>[\w.-]{1,200})(?=\s*\{)",
        r"<end_function_call>|<tool_call\|>",
    ),
    # Mistral, LM Studio, Llama, Granite and Phi, Kimi, DeepSeek, gpt-oss
    _syntax(
        "a [TOOL_CALLS] call",
        r"\[TOOL_CALLS\]\s*(?P<name>[\w.-]{1,200})?\s*(?:\[CALL_ID\]\s*\w{1,80}\s*)?(?:\[ARGS\])?(?=\s*[\[{])",
    ),
    _syntax("a [TOOL_REQUEST] block", r"\[TOOL_REQUEST\](?=\s*\{)", r"\[END_TOOL_REQUEST\]"),
    _syntax("a <|python_tag|> call", r"<\|python_tag\|>(?=\s*(?:[\[{]|[\w.]{1,200}\())", r"<\|eom_id\|>"),
    _syntax(
        "a <|tool_call|> block",
        r"<\|tool_call\|>(?:\s*(?P<name>[\w.-]{1,100}))?(?=\s*[\[{])",
        r"<\|/tool_call\|>",
    ),
    # Of no vendor: as models note a call, and as the history shows native calls that were not offered.
    _syntax("a call in parentheses", _PARENTHESIS, r"\)", known=True),
    _syntax(
        "a <|tool_call_begin|> block",
        r"<\|tool_call_begin\|>\s*(?P<name>[\w.:-]{1,200})\s*<\|tool_call_argument_begin\|>",
        r"<\|tool_call_end\|>",
    ),
    _syntax(
        "a <｜tool▁call▁begin｜> block",
        r"<[｜|]tool[▁_]call[▁_]begin[｜|]>(?:\w{1,40}<[｜|]tool[▁_]sep[｜|]>)?(?P<name>[\w.-]{1,200})"
        r"(?=\s*(?:```|<[｜|]tool[▁_]sep[｜|]>))",
        r"<[｜|]tool[▁_]call[▁_]end[｜|]>",
    ),
    _syntax(
        "a to=functions.{} call",
        r"(?:<\|start\|>assistant)?(?:<\|channel\|>)?(?:analysis|commentary)?\s{0,9}"
        r"to=functions\.(?P<name>(?P<label>[\w-]{1,200}))[^{}\n]{0,200}(?=\s*\{)",
        r"<\|call\|>",
    ),
    # Cline and similar ones; Llama and Gemma with calls as Python; ReAct
    _syntax("a block named after a tool", r"<(?P<tag>[A-Za-z_][\w-]{0,99})>(?=\s*\S)", known=True),
    _syntax("a call as Python", r"^\[(?P<name>[A-Za-z_]\w{0,199})\((?=\w+\s*=|\))", r"\)\]", known=True),
    _syntax(_PYTHON_LINE, _KEYWORDS, r"\)\)?", known=True),
    _syntax("an Action", r"^Action:[ \t]*(?P<name>[\w.-]{1,200})\s*\nAction Input:(?=\s*\{)", known=True),
)
_OPENING_START = re.compile(
    r"<(?:\|start\|>|\|channel\|>)|<(?=[\w|｜])|§call:|\[(?=TOOL_|[A-Za-z_]\w*\()|^Action:"
    r"|^[ \t]*(?:print\s*\(\s*)?default_api\.|(?:commentary|analysis)?\s?to=functions\."
    rf"|{_PARENTHESIS.replace('?P<name>', '?:')}|{_KEYWORDS.replace('?P<name>', '?:')}",
    re.MULTILINE,
)

_GLUE = re.compile(
    rf"(?:\s+|</{_NAMESPACE}(?:{_WRAPPER}|invoke|parameter|response|respond|execute|action|think|thought)>"
    rf"|<{_NAMESPACE}tool_calls>(?=\s*<)|<respon(?:se|d)>|<function>(?=\s*\Z)"
    r"|<end/?>|</s>|<end_of_turn>|<turn\|>|§(?:execute|end)(?!\w)"
    r"|<[|｜](?:im_end|eot_id|eom_id|end|call|return|endoftext|end_of_text|/tool_call|end▁of▁sentence"
    r"|tool[▁_]calls(?:_section)?[▁_](?:begin|end)|tool[▁_]call[▁_]end)[|｜]>)*+"
)
"""Text that may surround calls without being one, or prose."""
_TRAILERS = (
    *("</response>", "</respond>", "</think>", "</thought>", "<end>", "<end/>", "§execute", "§end"),
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|call|>", "</s>", "<end_of_turn>"),
)
_RESULTS = (
    *("function_results", "function_result", "tool_response", "tool_result", "tool_results", "tool_output"),
    *("results", "result", "observation", "output"),
)
_RESULT_ENDS = tuple(f"</{name}>" for name in _RESULTS)
_RESULTS_MARK = re.compile(
    rf"<(/?){_NAMESPACE}(?:{'|'.join(_RESULTS)})>|\[TOOL_RESULTS\]|^Observation:", re.M
)
_FOREIGN_ANSWER = re.compile(r"^[ \t]*(?:<respon(?:se|d)>|§respond:)", re.MULTILINE)
_COMMENTS = re.compile(r"(?:\s+|(?:#|//)[^\n]*(?:\n|\Z)|<!--[^<>]*-->)*+")
_THOUGHT = re.compile(r"<(think|thought)>")
_INFO = re.compile(r"[ \t]*[\w-]{0,40}")
_PROSE_INFO = re.compile(
    r"\s*(?:xml|html|json|te?xt|plain\w*|markdown|md|execute|action|tool_?\w*)?\s*", re.I
)
"""Info strings of fenced blocks that are not program code."""
_LONGEST_OPENING = 40
_INDENT = 8
_LINE_BEFORE = re.compile(r"(?:\A|[\r\n])[ \t]*\Z")
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought)>\Z")
_LONE_BOUNDARY = re.compile(r"^[ \t]*§execute\s*\Z", re.MULTILINE)
_CONNECTIVE = re.compile(r"(?:and|or|to|then|with|…|\.\.\.|[,/|–-])(?:\s+a)?", re.IGNORECASE)
"""Text between two tags that are only mentioned."""
_TOOL_CODE = re.compile(r"\s*tool_(?:code|call)s?\b")
_RUN = re.compile(r"`+")
_FENCE_LINE = re.compile(r"(?:^|(?<=[\r\n])) {0,3}(?:```|~~~)[^\r\n]*")
_LINE_START = re.compile(r"(?<=\n)[^\n]")
_BLANK_LINE = re.compile(r"\n\s*\n")
_ENDS_IN_TAG = re.compile(r"</[\w:.-]{1,100}>\Z")

# Announcements

_LONGEST_ANNOUNCEMENT = 200
_LONGEST_BEFORE = 1500
"""Most characters of an answer before its announcement: a longer one is a report with an outlook."""

_RESULT = (
    r"(?:(?:the|its|their|that|this|those|these)\s+)?(?:results?|outputs?|contents?|matches|files?|response)"
)
_HAVING = (
    rf"(?:once|when|after|as\s+soon\s+as)\s+(?:I\s+(?:have|see|get|know|receive|read)\b[^.!?]{{0,80}}?"
    rf"|I['’]ve\s[^.!?]{{0,80}}?|{_RESULT}\s+(?:is|are)\b[^.!?,]{{0,40}}?"
    rf"|(?:{_RESULT}|they|it)\s+(?:comes?|arrives?)\b[^.!?,]{{0,40}}?)"
)
_DOING = (
    r"(?:wait|look|read|re-?read|run|execute|check|see|inspect|examine|open|search|find|list|view|fetch|load"
    r"|call|try|test|verify|review|analy[sz]e|explore|scan|trace|dig|go|continue|proceed|start|begin|do|make(?!\s+sure)"
    r"|edit|change|write|create|fix|apply|update|add|remove|delete|replace|rename|move|implement|install"
    r"|build|compile|investigate|debug|determine|identify|locate|figure\s+out|grep"
    r"|(?:take|have)\s+a\s+(?:\w+\s+)?look)\b"
)
_ADVERB = r"(?:then|now|also|just|first|next|again|quickly|carefully|be\s+able\s+to|need\s+to|have\s+to)"
_ANNOUNCEMENT = re.compile(
    r"[ \t*_(>]*(?:(?:OK(?:ay)?|and|so|then|next|now|first|afterwards|after\s+(?:that|this)|from\s+there"
    rf"|in\s+the\s+meantime|meanwhile|with\s+{_RESULT}(?:\s+in\s+hand)?)[,:]?\s+){{0,3}}"
    rf"(?:{_HAVING},?\s+I(?:['’](?:ll|m)|\s+(?:will|can|am))?\b"
    rf"|(?:I['’]ll|I\s+will|I['’]m\s+going\s+to|I\s+am\s+going\s+to|let\s+me|let['’]s)\s+"
    rf"(?:{_ADVERB}\s+){{0,2}}(?:{_DOING}|[^.!?]{{1,80}}?\s{_HAVING}[,.!…:\s])"
    rf"|(?:I(?:['’]m|\s+am)\s+)?(?:now\s+)?(?:waiting\b|awaiting\s+(?:{_RESULT}|it)\b)"
    rf"|(?:this|that|it|the\s+(?:call|block|command))\s+[^.!?]{{1,120}}\b(?:gives|tells|shows|lets|allows|helps)\s+me\b)",
    re.IGNORECASE,
)
"""Beginnings of a first-person announcement of the model's next step, or of what a call brings it."""
_ELSE = re.compile(
    r"[?<§]|```|~~~|\b(?:if|when|whenever|once|until|unless|before|after|should|as\s+soon\s+as|for)\s+you\b|\bif\s+needed\b"
    r"|\byour\s+(?:answer|reply|response|word|go-ahead|confirmation|approval|permission|decision|feedback)\b"
    r"|\b(?:like|such\s+as)\s+(?:this|that|these)\b|\bthis\s+way\b|\bfor\s+example\b",
    re.IGNORECASE,
)
"""Phrases of an offer to the user, a remark on how calls are written, or a piece of one."""

_OFFER = re.compile(
    r"[*_>\s]*(?:if\s+you(?:['’]d|\s+would)?\s+(?:like|want|wish|prefer),?\s+I(?:['’]ll|['’]d|\s+(?:can|could|will|would))\b"
    r"|I\s+(?:can|could)\b[^.!?:]{0,200}\bif\s+you(?:['’]d|\s+would)?\s+(?:like|want|wish|prefer)\s*[:：])"
    r"(?![^.!?]{0,200}\b(?:following|these|options|one\s+of)\b)",
    re.IGNORECASE,
)
"""A sentence in which the model offers a step to the user, and no list of steps."""

_PROMISE = re.compile(
    r"[*_\s]*(?:(?:OK(?:ay)?|and|so|then|next|now|first|afterwards|after\s+(?:that|this))[,:]?\s+){0,3}"
    r"(?:(?:once|when|after)\s+(?:this|that|it|the\s+\w+)\s+(?:completes|finishes|ends|is\s+(?:done|complete|finished)"
    r"|has\s+(?:run|finished|completed)),?\s+)?"
    rf"(?:(?:I['’]ll|I\s+(?:will|can)|we(?:['’]ll|\s+(?:will|can)))\s+(?:{_ADVERB}\s+){{0,2}}"
    r"(?!not\b|be\b|gladly|happily|make\b|explain|show|describe|keep|remember|use\b|leave|help|let\b|stop)\w+"
    r"|(?:this|that|it|the\s+(?:call|command|search|tool|result|output|block))\s+(?:will|should)\s+"
    r"(?:show|list|find|give|tell|return|print|read|search|run|reveal|display|locate|count|open|fetch|confirm|help)"
    r"(?![^.!?]*\byou\b))",
    re.IGNORECASE,
)
"""Beginnings of a sentence on what a call will bring, or what the model does with that."""
_AWAITING = re.compile(
    r"[*_(\s]*(?:(?:please\s+)?(?:let\s+me\s+know|tell\s+me|reply|respond)\s+)?(?:once|when|as\s+soon\s+as)\s+"
    r"(?:you\s+(?:have|get|receive|see)|you['’]ve\s+(?:got|received|run))\s+(?:(?:the|its|this|that)\s+)?"
    r"(?:tool\s+|search\s+)?(?:results?|outputs?|contents?|response)\b"
    r"|[*_(\s]*(?:please\s+(?:run|execute)\s+(?:this|that|it|the\s+(?:call|command|tool))|(?:now\s+)?I\s+wait\s+for\s+(?:the|its))\b"
    r"|[*_(\s]*(?:please\s+)?(?:provide|send|return|give\s+me|share|show\s+me)\s+(?:me\s+)?(?:the|its)\s+"
    r"(?:tool\s+)?(?:results?|outputs?|response)\b",
    re.IGNORECASE,
)
"""Beginnings of a sentence that asks for a result, as if the user ran the call."""
_LONGEST_HEAD = 400
_CODE_START = re.compile(r"```|~~~|[<§{\[]")
_PRESENTING = re.compile(
    r"\b(?:examples?|e\.g\.|like\s+(?:this|that|so)|as\s+follows|looks?\s+(?:like|so)|syntax|format|form|notation|protocol"
    r"|you(?:\s+(?:can|could|would|may|write|call|use))|to\s+(?:call|read|list|find|run|search)|(?:a|the|each|every)\s+"
    r"(?:tool\s+)?calls?|is\s+(?:called|written)|writes?|sends?|emits?|documentation|models?)\b",
    re.IGNORECASE,
)
"""Words of an introduction to an example of a call."""

_SENTENCE_END = re.compile(r"(?<=[.!…;])\s+")
_ACT = (
    r"(?:re-?read|read|run|execute|check(?!\s+in\b)|inspect|examine|open|search|find(?!\s+out\b)|list|view|fetch|load"
    r"|look(?!\s+forward)|review|verify|test|analy[sz]e|explore|scan|trace|grep|dig|count(?!\s+on\b)|investigate|debug|identify|locate"
    r"|figure\s+out|edit|fix|apply|update|add(?!\s+that\b|:)|remove|delete|replace|rename|move|implement|install|build|compile"
    r"|create|write(?!\s+in\b)|change|(?:start|begin)\s+(?:by|with)|get\s+started|(?:take|have)\s+a\s+(?:\w+\s+)?look"
    r"|re-?run|re-?start|retry|launch|try\s+(?:again|another|a\s+different|once\s+more|with)|start\s+the\s+\w+"
    r"|see\s+(?:what|whether|if|how|which|where)(?!\s+you)|understand\s+the|get\s+(?:a|the)\s+\w+|correct\s+(?:the|that|it)"
    r"|proceed\s+(?:to|with)|continue\s+(?:by|to|with\s+the)|(?:use|call)\s+(?:the\s+)?[`\w]+\s+(?:tool|function)"
    r"|make\s+(?:the|this|that|these)\s+(?:\w+\s+)?(?:changes?|edits?|fix(?:es)?)|do\s+(?:that|this|it|so)\s+now"
    r"|call\s+`?(?:read|find|list|edit|write|shell|bash|grep)`?"
    r"|use\s+`?(?:shell|bash|grep|find|read|git)`?\s+to)\b"
)
_ACTING = (
    r"(?:re-?reading|reading|running|executing|checking|inspecting|examining|opening|searching|looking|listing"
    r"|viewing|fetching|loading|reviewing|verifying|testing|analy[sz]ing|exploring|scanning|tracing|investigating"
    r"|debugging|locating|finding|editing|fixing|applying|updating|adding|removing|deleting|replacing|renaming"
    r"|moving|implementing|installing|building|compiling|creating|writing|changing|starting|launching|trying"
    r"|re-?running|re-?starting|stopping|killing|committing|generating|refactoring|asking)\b"
)
_LEAD = (
    r"[*_>\s]*(?:(?:OK(?:ay)?|all\s?right|sure|great|good|perfect|understood|got\s+it|and|so|then|next|now|first)"
    r"[,:!]?\s+){0,3}"
)
_STEP = re.compile(
    rf"{_LEAD}"
    r"(?:(?:I['’]ll|I\s+will|I(?:['’]m|\s+am)\s+(?:now\s+)?going\s+to|let\s+me|let['’]s)\s+"
    rf"(?:(?:then|now|also|just|first|next|quickly|go\s+ahead\s+and|need\s+to)\s+){{0,2}}{_ACT}"
    rf"|I\s+(?:(?:now|first|also)\s+)?(?:need\s+to|have\s+to|must)\s+(?:(?:now|also|just|first)\s+)?{_ACT}"
    rf"|I\s+should\s+{_ACT}[^.!?]*\b(?:first|now)\b"
    rf"|(?:I['’]m|I\s+am)\s+now\s+{_ACTING}|(?<=now\s)(?:I['’]m|I\s+am)\s+{_ACTING}"
    rf"|(?:I['’]m\s+|I\s+am\s+)?(?:now\s+)?{_ACTING}[^!?]*?\s*(?:\bnow[.!]?|\.\.\.|…)[*_]*\s*\Z)",
    re.IGNORECASE,
)
"""The beginning of a sentence in which the model announces that it acts at once."""
_REST = (
    r"(?:not|never|be|gladly|happily|leave|keep|remember|stay|stick|hold|let|know|explain|describe|clarify"
    r"|think|say|note|mention|repeat|admit|assume|treat|consider|respect|follow|avoid|mind|prefer|trust|default"
    r"|show|present|quote|outline|summari[sz]e|elaborate|answer|reply|respond|help|assist|need|wait|await|report|tell|notify|inform|monitor|watch|suggest"
    r"|recommend|propose|point|stand|bear|rely|ensure|skip|omit|defer|pass|pause|rest|guess|hope|add\s+that"
    r"|update\s+you|(?:get|come)\s+back|check\s+(?:back|in)|look\s+forward|count\s+on|go\s+with|call\s+it"
    r"|try\s+to|make\s+sure|use|write\s+in|continue\s+as|take\s+(?:it|that|this|note)|(?:stop|end|finish)\s+here"
    r"|see\s+(?:you|what\s+you)|put\s+it)\b"
)
"""Verbs with which the model ends, in the first person, rather than announces a step."""
_SOON = r"(?:(?:then|now|also|just|first|next|quickly|finally|go\s+ahead\s+and|need\s+to|have\s+to)\s+)"
_STEP_AT_ONCE = re.compile(
    rf"{_LEAD}(?:let\s+me\s+{_SOON}{{0,2}}(?!{_REST})[a-z]"
    rf"|(?<=now\s)I(?:['’]ll|\s+will)\s+{_SOON}{{0,2}}(?!{_REST})[a-z]"
    rf"|(?<=now,\s)I(?:['’]ll|\s+will)\s+{_SOON}{{0,2}}(?!{_REST})[a-z]"
    rf"|I(?:['’]ll|\s+will|['’]m\s+going\s+to)\s+now\s+(?!{_REST})[a-z]"
    rf"|I(?:['’]ll|\s+will)\s+(?!{_REST})[a-z][^!?]*\s(?:now|first)[.!]?[*_]*\s*\Z"
    rf"|(?:it['’]s\s+)?time\s+to\s+(?!{_REST})[a-z](?![^.!?]*\byour?\b)"
    rf"|(?<=now\s)I\s+{_ACT}|I\s+now\s+{_ACT})",
    re.IGNORECASE,
)
"""The beginning of a sentence in which the model announces, with any verb, that it acts at once."""
_ANY_STEP = re.compile(
    rf"{_LEAD}(?:finally,?\s+)?(?:(?:I['’]ll|I\s+will|I(?:['’]m|\s+am)\s+(?:now\s+)?(?:going|about)\s+to|let['’]s)"
    rf"\s+{_SOON}{{0,2}}(?!{_REST})[a-z]"
    rf"|I\s+(?:(?:now|first|also|still)\s+)?(?:need\s+to|have\s+to|must)\s+{_SOON}?(?!{_REST}|know\b)[a-z]"
    r"|(?<=now\s)(?:to|for)\s|on\s+to\s+the\b"
    r"|I(?:['’]m|\s+am)\s+now\s+[a-z]+ing\b(?!\s+(?:forward|sure)))",
    re.IGNORECASE,
)
"""The beginning of a sentence in which the model announces that it does anything."""
_WAIT = re.compile(
    rf"{_LEAD}(?:waiting\s+(?:for|until|till)\b|(?:I['’]ll|I\s+will|I(?:['’]m|\s+am)|let\s+me|I)\s+(?:going\s+to\s+)?{_SOON}{{0,2}}"
    r"(?:wait(?:ing)?|await(?:ing)?|report(?:ing)?|monitor(?:ing)?|watch(?:ing)?|notify|tell\s+you|inform\s+you"
    r"|(?:let|keep)\s+you\s+(?:know|posted|updated|informed)|update\s+you|(?:get|come|check|report)\s+back"
    r"|follow\s+up|keep\s+(?:an\s+eye|watching|monitoring|waiting|checking)"
    r"|(?:continue|proceed|go\s+on|look|check|see|know|summari[sz]e|share)\b[^.!?]*\b(?:once|when|as\s+soon\s+as|after)))\b",
    re.IGNORECASE,
)
"""The beginning of a clause in which the model announces that it waits, or what it does after that."""
_CODE_SPAN = re.compile(r"`(?!\w+`)[^`]+`")
_CLAUSE_START = re.compile(r"(?:,|\s[–—-])\s+(?:(?:and|but|so)\s+){0,2}|—", re.IGNORECASE)
_CONDITION = re.compile(
    r"\W*(?:if|unless|when(?:ever)?|in\s+case|once|until|as\s+soon\s+as|after\s+(?!that\b|this\b))\b",
    re.IGNORECASE,
)
_NAMED = rf"[*_]*\s*[:–—-][*_\s]*(?:I['’]ll\s+|let\s+me\s+)?{_ACT}"
_NEXT_STEP = re.compile(
    rf"[*_#>\s]*(?:(?:next|first)(?:\s+(?:step|action))?|step\s+\d+|action){_NAMED}", re.IGNORECASE
)
"""The beginning of an answer that is nothing but the name of a step."""
_FIRST_STEP = re.compile(rf"[*_#>\s]*(?:first\s+step|step\s+1){_NAMED}", re.IGNORECASE)
"""The beginning of a last line that is the first of several steps."""
_LATER = re.compile(
    r"\b(?:each(?!\s+of\b)|every|always|never|whenever|in\s+(?:the\s+)?future|in\s+your|with\s+you|to\s+you|next\s+time"
    r"|(?:next|following|later)\s+(?:step|turn|message|answer|release|version|session)s?|going\s+forward|later|tomorrow"
    r"|would|could|but(?!\s+(?:first|let|I['’]ll)\b)|from\s+you|cannot|can['’]t|forward)\b|[:;]",
    re.IGNORECASE,
)
"""Words of a promise, or of what is not due now."""
_PLAN = re.compile(r"\bplan\b|\bfrom\s+now\s+on\b", re.IGNORECASE)
"""Words that make steps those of a plan or a rule, in any sentence."""
_AT_ONCE = re.compile(r"\blet\s+me\b|\bnow\b|\b(?:start|begin)(?:ing)?\b", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:[-+*•]|\d{1,3}[.)])\s")
_ASKED = re.compile(
    r"\b(?:shall|should|may|can|could|would)\s+(?:I|we|you)\b[^.!?\n]{0,200}\?|\byou(?:r|['’]d)?\b[^.!?\n]{0,200}\?"
    r"|\bplease\s+(?:confirm|tell|send|choose|say|give|provide|decide|share)\b|\b(?:let\s+me\s+know|tell\s+me|want\s+me\s+to)\b",
    re.IGNORECASE,
)
"""Questions and requests to the user."""
_SHELL_INFO = re.compile(r"\s*(?:bash|sh|zsh|fish|shell|console|powershell|cmd)\s*", re.IGNORECASE)
_CODE_CALL = re.compile(
    r"\s*(?:print\()?(?:functions\.|tools\.)?(?P<name>[a-zA-Z_]\w{0,99})\((?:\s{0,9}[a-zA-Z_]\w{0,99}\s{0,9}=|[\"'{)])"
)
_PRESENTED = re.compile(
    r"\b(?:list|write|create|add|find|identify)\b[^.!?]{0,200}\b(?:commands?|steps|examples?|snippets?|scripts?|aliases|alias)\b",
    re.IGNORECASE,
)
"""An announcement of code that the user is to have."""

# JSON

_SPACE = re.compile(r"[ \t\r\n]*+")
_SLACK = re.compile(r"[\s\]},;]*+")
_ELLIPSES = ("...", "…")
_JSON_START = re.compile(r'[\[{]\s*(?:\{\s*)?"|\[\s*\{')
_HEAD = 600
_HEAD_NAME = re.compile(r'"(?:name|tool|tool_name|recipient_name)"\s*:\s*"([^"\\]{1,200})"')
_NAME_IN_TAGS = re.compile(
    r"""\bname\s*=\s*["']([^"'<>\n]{1,200})["']|<function=([\w.:-]{1,200})|<\w*name>\s*([\w.:-]{1,200})"""
    r"|\A\s*([\w.-]{1,200})\s*<arg_key>"
)
_HEAD_ARGS = re.compile(r'"(?:args|arguments|parameters|params|input|tool_input)"\s*:')
_NAME_KEYS = ("name", "tool", "tool_name", "recipient_name")
_ARGS_KEYS = ("args", "arguments", "parameters", "params", "input", "tool_input")
_LIST_KEYS = ("tool_calls", "tool_uses", "function_calls")
_NESTED_KEYS = ("function", "function_call", "functionCall", "tool_call")
_DOCUMENT_KEYS = frozenset(
    (
        "version",
        "scripts",
        "dependencies",
        "license",
        "author",
        "email",
        "on",
        "jobs",
        "required",
        "properties",
    )
)
"""Keys of files and records that have a name, too."""
_PREFIXES = ("functions.", "default_api.", "tools.")


@dataclass(frozen=True, slots=True)
class _Json:
    """Objects read from text, alone or in arrays; `stop` is the end of the last one or the position of the
    error."""

    state: Literal["complete", "cut", "invalid"]
    objects: list[dict[str, Any]]
    stop: int


def _read_json(text: str, index: int) -> _Json:
    objects: list[dict[str, Any]] = []
    array = False
    closed = False
    stop = index
    while True:
        space = _SPACE.match(text, index)
        index = space.end() if space else index
        char = text[index : index + 1]
        if char == "[" and not array:
            array = True
            index += 1
        elif char == "]" and array:
            array, closed = False, True
            index = stop = index + 1
        elif char and char in ",;" and (objects or closed):
            index += 1
        elif char == "{":
            reader = JsonObjectReader("")
            try:
                index = reader.feed(text, index)
            except JsonError as error:
                return _Json("invalid", objects, error.index)
            objects.append(reader.value)
            if not reader.done:
                return _Json("cut", objects, index)
            stop = stop if array else index
        elif not char and (array or not objects) and not closed:
            return _Json("cut", objects, index)
        elif array or not (objects or closed):
            return _Json("invalid", objects, index)
        else:
            return _Json("complete", objects, stop)


def _tool_name(name: str) -> str:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name


def _entries(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the calls in a JSON object: those in its list, the one in its wrapper, or itself."""
    for key in _LIST_KEYS:
        if isinstance(calls := record.get(key), list):
            return [entry for call in cast("list[Any]", calls) for entry in _entries_of(call)]
    return _entries_of(record)


def _entries_of(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, dict):
        return [{}]
    record = cast("Mapping[str, Any]", value)
    for key in _NESTED_KEYS:
        if isinstance(nested := record.get(key), dict):
            return [cast("Mapping[str, Any]", nested)]
    return [record]


def _name_of(record: Mapping[str, Any]) -> str:
    return next((name for key in _NAME_KEYS if isinstance(name := record.get(key), str)), "")


def _has_args(record: Mapping[str, Any]) -> bool:
    args = next((record[key] for key in _ARGS_KEYS if key in record), None)
    if isinstance(args, str) and args.lstrip().startswith("{"):
        read = _read_json(args, 0)
        return read.state == "complete" and not args[read.stop :].strip()
    return isinstance(args, dict)


def _is_definition(record: Mapping[str, Any]) -> bool:
    """Return whether it declares a function with a JSON Schema rather than calling it."""
    schemas = [record.get(key) for key in (*_ARGS_KEYS, "inputSchema", "input_schema")]
    return any(isinstance(schema, dict) and "properties" in schema and "type" in schema for schema in schemas)


def _is_call(record: Mapping[str, Any], tools: frozenset[str], *, known: bool) -> bool:
    name = _tool_name(_name_of(record))
    if not name or _is_definition(record) or (known and name not in tools):
        return False
    return _has_args(record) or (record.get("name") in tools and not record.keys() & _DOCUMENT_KEYS)


# Search

_Place = Literal["bare", "fence", "span"]


@dataclass(frozen=True, slots=True)
class _Call:
    """A call-shaped piece of text that ends at `stop`. `sure` ones have a payload of valid JSON; after
    `answered` ones the model made up results, after `announced` ones it announces its next step."""

    label: str
    dialect: Dialect | None
    stop: int
    names: tuple[str, ...]
    sure: bool = True
    closed: bool = False
    place: _Place = "bare"
    fence: str = ""
    """The line that opens the fence around it, where no line closes that and other text precedes the call."""
    attribute: str = ""
    """The first attribute of its tag, where that takes none."""
    answered: bool = False
    announced: bool = False

    def calls_only(self, tools: frozenset[str]) -> bool:
        """Return whether every name is that of a tool, and there is one."""
        return bool(self.names) and all(_tool_name(name) in tools for name in self.names)


@dataclass(frozen=True, slots=True)
class _Fence:
    """A fenced block: `start` and `stop` bound its content, `end` is the end of its closing line."""

    opening: int
    info: str
    start: int
    stop: int
    end: int

    @property
    def is_open(self) -> bool:
        return self.stop == self.end


def _fences(text: str) -> list[_Fence]:
    """Return the fenced blocks of a unit; the last may be open."""
    code = MarkdownCode()
    fences: list[_Fence] = []
    opening: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        code.advance(f"{line.group()}\n")
        if opening is None and code.fence:
            opening = line
        elif opening is not None and not code.fence:
            fences.append(_fence(opening, line.start(), line.end()))
            opening = None
    if opening is not None:
        fences.append(_fence(opening, len(text), len(text)))
    return fences


def _fence(opening: re.Match[str], stop: int, end: int) -> _Fence:
    return _Fence(opening.start(), opening.group().lstrip(" `~"), min(opening.end(), stop), stop, end)


def _trimmed(text: str) -> str:
    """Strip the end marks of an answer from `text`, and results that the model made up after its calls."""
    end = len(text)
    while end:
        if text[end - 1].isspace():
            end -= 1
            continue
        trailer = next((trailer for trailer in _TRAILERS if text.endswith(trailer, 0, end)), "")
        if trailer:
            end -= len(trailer)
            continue
        result = next((mark for mark in _RESULT_ENDS if text.endswith(mark, 0, end)), "")
        opening = text.rfind(result.replace("/", ""), 0, end) if result else -1
        if opening < 0:
            break
        end = opening
    return text[:end]


def _last_call(contents: Sequence[str], tools: frozenset[str]) -> _Call | None:
    """Return the call at the end of the last of these texts."""
    text = contents[-1]
    call = _Text(_trimmed(text), tools).call_at_end()
    if call is not None:
        return call
    results = [mark.start() for mark in _RESULTS_MARK.finditer(text) if not mark.group(1)]
    if results:
        # Bare results behind a bare call are made up, and so is the model's text about them.
        call = _Text(_trimmed(text[: results[0]]), tools).bare_call()
        call = call and replace(call, answered=True)
    call = call or _answered_call(text, tools) or _announced_call(text, tools)
    if call is None and len(contents) > 1 and _ENDS_IN_TAG.search(text):
        # A marker of the dialect within the block, say in the content of a file, has split it into units.
        call = _Text(_trimmed("\n".join(contents)), tools).bare_call()
        if call is not None and not call.closed:
            return None
    return call


def _answered_call(text: str, tools: frozenset[str]) -> _Call | None:
    """Return the call of another dialect before an answer in the marks of that dialect."""
    answer = _FOREIGN_ANSWER.search(text)
    call = _Text(_trimmed(text[: answer.start()]), tools).bare_call() if answer else None
    return call if call is not None and call.dialect is not None else None


def _announced_call(text: str, tools: frozenset[str]) -> _Call | None:
    """Return the call at the end of the text, except for one short paragraph that announces the next step,
    or what the call will bring."""
    end = len(_trimmed(text))
    for line in _LINE_START.finditer(text, max(0, end - _LONGEST_ANNOUNCEMENT), end):
        paragraph = text[line.start() : end]
        if _BLANK_LINE.search(paragraph):
            continue
        announced = _ANNOUNCEMENT.match(paragraph) and not _ELSE.search(paragraph)
        if not announced and not _is_awaited(paragraph):
            continue
        call = _Text(_trimmed(text[: line.start()]), tools).call_at_end()
        if call is None or call.place == "span":
            continue
        if announced or (call.calls_only(tools) and not _presents_example(text)):
            return replace(call, announced=True)
    return None


def _is_awaited(paragraph: str) -> bool:
    """Return whether a paragraph is one or two sentences on what a call will bring, or comes after it."""
    sentences = _SENTENCE_END.split(paragraph)
    return len(sentences) <= 2 and all(
        _AWAITING.match(each)
        or (not _ELSE.search(each) and (_ANNOUNCEMENT.match(each) or _PROMISE.match(each)))
        for each in sentences
    )


def _presents_example(text: str) -> bool:
    """Return whether what precedes the first code or tag of a text presents an example."""
    head = _CODE_START.split(text, maxsplit=1)[0]
    return len(head) > _LONGEST_HEAD or _PRESENTING.search(head) is not None


class _Text:
    """A text, and the calls in it. Every character is examined a bounded number of times."""

    def __init__(self, text: str, tools: frozenset[str]) -> None:
        self._text = text
        self._tools = tools
        self._closings: dict[re.Pattern[str], tuple[list[int], list[int]]] = {}
        self._code = MarkdownCode()
        self._prose = -1

    def call_at_end(self) -> _Call | None:
        """Return the call at the end of the text, with nothing after it."""
        return (
            self._fenced_call()
            or self._spanned_call()
            or self.bare_call()
            or self._bare_json()
            or self._call_at_end_of_fence()
        )

    def call_anywhere(self) -> _Call | None:
        """Return a call in a thought that neither Markdown nor the text after it makes an example."""
        index = 0
        for opening in _OPENING_START.finditer(self._text):
            if opening.start() < index:
                continue
            call = self._call(opening.start())
            if call is not None and (call.sure or call.closed):
                return call
            index = call.stop if call is not None else index
        return _Text(_trimmed(self._text), self._tools).call_at_end()

    @cached_property
    def _fenced(self) -> list[_Fence]:
        return _fences(self._text)

    # Markdown code that is a call as a whole

    def _fenced_call(self) -> _Call | None:
        if not self._fenced or self._fenced[-1].end < len(self._text):
            return None
        fence = self._fenced[-1]
        content = _Text(_trimmed(self._text[fence.start : fence.stop]), self._tools)
        return content.whole(0, "fence", fence.info)[0]

    def _call_at_end_of_fence(self) -> _Call | None:
        """Return the complete call that ends the last fenced block, after other text.

        A closed block of program code is a listing, and so is a call in it.
        """
        if not self._fenced or self._fenced[-1].end < len(self._text):
            return None
        fence = self._fenced[-1]
        if not fence.is_open and not _PROSE_INFO.fullmatch(fence.info):
            return None
        call = _Text(_trimmed(self._text[fence.start : fence.stop]), self._tools)._complete_call()
        opening = self._text[fence.opening : fence.start].strip() if fence.is_open else ""
        return call and replace(call, place="fence", fence=opening[:_LONGEST_OPENING])

    def _complete_call(self) -> _Call | None:
        """Return the closed call at the end of the text that begins a line."""
        index = 0
        for opening in _OPENING_START.finditer(self._text):
            start = opening.start()
            if start < index or not _LINE_BEFORE.search(self._text, max(0, start - _INDENT), start):
                continue
            call = self._call(start)
            index = self._skip_glue(call.stop) if call is not None else index
            if call is not None and index == len(self._text) and call.sure and call.closed:
                return call if self._counts_in_code(call) else None
        return None

    def _spanned_call(self) -> _Call | None:
        """Return the call between the text's last run of backticks and an earlier one of the same length."""
        size = len(self._text) - len(self._text.rstrip("`"))
        if not size:
            return None
        content = _Text(_trimmed(self._text[:-size]), self._tools)
        inside = _Inside(self._fenced)
        index = 0
        for run in _RUN.finditer(content._text):
            if len(run.group()) != size or run.start() < index or inside.fence_at(run.start()):
                continue
            info = _INFO.match(content._text, run.end()) if size >= 3 else None
            call, index = content.whole(info.end() if info else run.end(), "fence" if size >= 3 else "span")
            if call is not None:
                return call
        return None

    def whole(self, index: int, place: _Place, info: str = "") -> tuple[_Call | None, int]:
        """Return the call that is all of the Markdown code from `index` on, and its end."""
        if _TOOL_CODE.match(info) and "(" in self._text:
            return _Call("a tool_code block", None, len(self._text), (), place=place), len(self._text)
        first: _Call | None = None
        index = self._skip_preamble(index)
        while index < len(self._text):
            call = self._call(index) or self._json_call(index, known=True)
            if call is None or not self._counts_in_code(call):
                break
            first = first or call
            index = self._skip_glue(call.stop)
        if first is None or index < len(self._text):
            return None, index
        return replace(first, stop=index, place=place), index

    def _skip_preamble(self, index: int) -> int:
        comments = _COMMENTS.match(self._text, index)
        index = comments.end() if comments else index
        if thought := _THOUGHT.match(self._text, index):
            end = self._text.find(f"</{thought.group(1)}>", thought.end())
            index = index if end < 0 else end
        return self._skip_glue(index)

    def _counts_in_code(self, call: _Call) -> bool:
        if call.dialect is not None:
            return True
        if call.label == _PYTHON_LINE:
            return False
        return call.calls_only(self._tools)

    # Bare calls

    def bare_call(self) -> _Call | None:
        """Return the call in a syntax of its own at the end of the text."""
        inside = _Inside(self._fenced)
        index = 0
        for opening in _OPENING_START.finditer(self._text):
            start = opening.start()
            if start < index or inside.fence_at(start):
                continue
            call = self._call(start)
            if call is None:
                continue
            index = self._skip_glue(call.stop)
            if index == len(self._text) and (call.sure or self._in_prose(start)):
                return call
        return None

    def _in_prose(self, index: int) -> bool:
        """Return whether the text at `index` is outside Markdown code. Call it in rising order."""
        if self._text[index] != "<":
            return True
        while self._prose < index:
            self._prose = self._code.skip(self._text, self._prose + 1)
        return self._prose == index

    def _bare_json(self) -> _Call | None:
        inside = _Inside(self._fenced)
        index = 0
        for opening in _JSON_START.finditer(self._text):
            start = opening.start()
            if start < index or inside.fence_at(start):
                continue
            read = _read_json(self._text, start)
            # A value that begins within an invalid one ends before the error or contains it, too.
            index = max(read.stop, start + 1)
            call = self._judged_json(start, read, known=False)
            if call is not None and self._skip_glue(self._skip_slack(call.stop)) == len(self._text):
                return call
        return None

    # One call

    def _call(self, index: int) -> _Call | None:
        """Return the call in a syntax of its own that begins at `index`."""
        for syntax in _SYNTAXES:
            opening = syntax.opening.match(self._text, index)
            if opening is None:
                continue
            groups = opening.groupdict()
            name, tag = groups.get("name") or "", groups.get("tag") or ""
            if syntax.known and _tool_name(name or tag) not in self._tools:
                continue
            if label := groups.get("label"):
                syntax = replace(syntax, label=syntax.label.format(label))
            if tag:
                closing = re.compile(f"</{re.escape(tag)}>")
                syntax = replace(syntax, label=f"a <{tag}> block", closing=closing)
            call = self._with_payload(syntax, opening.end(), name)
            return call and replace(call, attribute=groups.get("attribute") or "")
        return None

    def _with_payload(self, syntax: _Syntax, start: int, name: str) -> _Call | None:
        space = _SPACE.match(self._text, start)
        start = space.end() if space else start
        is_json = self._text.startswith(("{", "["), start)
        if is_json:
            read = _read_json(self._text, start)
            if read.state == "invalid" and self._text.startswith(_ELLIPSES, read.stop):
                return None
            if read.state != "invalid" and not read.objects:
                return None
            if read.state != "invalid":
                names = (name,) if name else tuple(_name_of(e) for o in read.objects for e in _entries(o))
                stop, closed = self._after_json(read, syntax.closing)
                return _Call(syntax.label, syntax.dialect, stop, names, closed=closed)
        names = (name,) if name else self._names_in_head(start)
        stop = self._closing_after(start, syntax.closing)
        if stop:
            return _Call(syntax.label, syntax.dialect, stop, names, sure=False, closed=True)
        if (is_json and not self._text.endswith(("]", "}"))) or syntax.known:
            return None
        return _Call(syntax.label, syntax.dialect, len(self._text), names, sure=False)

    def _after_json(self, read: _Json, closing: re.Pattern[str] | None) -> tuple[int, bool]:
        """Return the end of a call with a JSON payload, and whether it was closed."""
        if read.state == "cut":
            return len(self._text), False
        stop = self._skip_slack(read.stop)
        if closing is not None and (end := closing.match(self._text, stop)):
            return end.end(), True
        return (stop if stop == len(self._text) else read.stop), False

    def _closing_after(self, start: int, closing: re.Pattern[str] | None) -> int:
        """Return the end of a payload other than JSON: that of the text if it ends in `closing`, else the
        next."""
        if closing is None:
            return 0
        if closing not in self._closings:
            found = list(closing.finditer(self._text))
            self._closings[closing] = [mark.start() for mark in found], [mark.end() for mark in found]
        starts, ends = self._closings[closing]
        following = bisect_left(starts, start)
        if following == len(starts):
            return 0
        return ends[-1] if ends[-1] == len(self._text) else ends[following]

    def _names_in_head(self, start: int) -> tuple[str, ...]:
        found = _HEAD_NAME.search(self._text, start, start + _HEAD) or _NAME_IN_TAGS.search(
            self._text, start, start + _HEAD
        )
        return (next(name for name in found.groups() if name),) if found else ()

    def _json_call(self, index: int, *, known: bool) -> _Call | None:
        if not self._text.startswith(("{", "["), index):
            return None
        return self._judged_json(index, _read_json(self._text, index), known=known)

    def _judged_json(self, start: int, read: _Json, *, known: bool) -> _Call | None:
        if read.state == "complete":
            entries = [entry for record in read.objects for entry in _entries(record)]
            if not entries or not all(_is_call(entry, self._tools, known=known) for entry in entries):
                return None
            names = tuple(_name_of(entry) for entry in entries)
            label = "a call as JSON" if len(names) == 1 else "calls as JSON"
            return _Call(label, None, read.stop, names)
        # A call that is invalid or cut off is recognised by its beginning.
        name = _HEAD_NAME.search(self._text, start, start + _HEAD)
        if name is None or _tool_name(name.group(1)) not in self._tools:
            return None
        if not _HEAD_ARGS.search(self._text, start, start + _HEAD):
            return None
        broken = read.state == "invalid"
        if broken and (not self._text.endswith(("]", "}")) or self._text.startswith(_ELLIPSES, read.stop)):
            return None
        return _Call("a call as JSON", None, len(self._text), (name.group(1),), sure=not broken)

    def _skip_glue(self, index: int) -> int:
        glue = _GLUE.match(self._text, index)
        return glue.end() if glue else index

    def _skip_slack(self, index: int) -> int:
        slack = _SLACK.match(self._text, index)
        return slack.end() if slack else index


class _Inside:
    """True if positions, in rising order, are in the content of one of these fenced blocks."""

    def __init__(self, fences: Sequence[_Fence]) -> None:
        self._rest: Iterator[_Fence] = iter(fences)
        self._fence = next(self._rest, None)

    def fence_at(self, index: int) -> bool:
        while self._fence is not None and self._fence.end <= index:
            self._fence = next(self._rest, None)
        return self._fence is not None and self._fence.start <= index


# Reports to the model

_THOUGHT_CLOSINGS: dict[Dialect, str] = {"xml": "</think>", "action": "</thought>", "native": "</think>"}
_AFTER_THOUGHTS: dict[Dialect, str] = {**_THOUGHT_CLOSINGS, "delimiter": "§respond:"}
_SLIP_EMPTY = Slip(
    "You wrote nothing: neither a call nor an answer.", "Write the next call, or the answer to the user."
)
_SLIP_ONLY_THOUGHT = Slip(
    "You wrote only a thought: neither a call nor an answer.",
    "Write the next call, or the answer to the user, after the thought.",
)
_OPEN_THOUGHTS: dict[Dialect, Slip] = {
    dialect: Slip(
        f"Your answer ends in a thought, whose text the user does not see: {missing} is missing.",
        "Write the next call, or the whole answer again, outside the thought; to mention the mark, put it in "
        "backticks.",
    )
    for dialect, missing in _AFTER_THOUGHTS.items()
}
_SLIP_MENTIONED_THOUGHT = Slip(
    "Your answer mentions the tags of a thought outside backticks, so the text between them is not in it.",
    "Write the answer again, with the tags in backticks.",
)
_ANNOUNCED_EXAMPLE = "If it was an example, end the answer without announcing a next step."
_EXAMPLE = "If it was an example, your answer is complete: send one closing sentence."
_FORMS: dict[Dialect, str] = {
    "xml": "as an <execute> block",
    "delimiter": "as a §call: line with §execute on the line after it",
    "action": "as an <action> block",
    "native": "as a tool call of the API, outside your text",
}
_WHERE: dict[_Place, str] = {"bare": "", "fence": " in a Markdown fence", "span": " in backticks"}
_BARE: dict[_Place, str] = {
    "bare": "",
    "fence": ", bare, without a fence",
    "span": ", bare, without backticks",
}


def _slip_in_answer(call: _Call, dialect: Dialect) -> Slip:
    if call.answered:
        return Slip(
            f"Your answer has {call.label} and invented results: nothing ran, and only the engine reports "
            "results.",
            f"Write the call {_FORMS[dialect]} and stop there; the results come in the next message.",
        )
    example = _ANNOUNCED_EXAMPLE if call.announced else _EXAMPLE
    verb = "has" if call.announced else "ends with"
    found = f"Your answer {verb} {call.label}{_WHERE[call.place]}"
    if call.dialect != dialect:
        return Slip(
            f"{found}, which is not the call syntax here, so nothing ran.",
            f"Write the call {_FORMS[dialect]}{_BARE[call.place] if dialect != 'native' else ''}. {example}",
        )
    if call.fence:
        return Slip(
            f"Your answer ends with {call.label} in the Markdown fence that “{call.fence}” opens and no line "
            "closes, so nothing ran.",
            f"Close the fence with a line of {_fence_run(call.fence)} alone, then write the block again. "
            f"{example}",
        )
    if call.place != "bare":
        cure = f"Write the call again{_BARE[call.place]}. {example}"
        return Slip(f"{found}, so nothing ran.", cure)
    if call.attribute:
        return Slip(
            f"<execute> has the attribute {call.attribute}, but takes none, so nothing ran.",
            f"Write the block again, with the tag <execute> alone. {example}",
        )
    if dialect == "delimiter":
        return Slip(
            "§call: is a call only at the start of a line, with only its JSON object after it on that line, "
            "so nothing ran.",
            f"Write the call {_FORMS[dialect]}. {example}",
        )
    return Slip(
        f"{found} after an unclosed backtick on the same line, which turns it into code, so nothing ran.",
        f"Write the block at the start of a line, after any prose. {example}",
    )


def _fence_run(opening: str) -> str:
    return opening[: len(opening) - len(opening.lstrip(opening[0]))]


def _slip_in_thought(call: _Call, dialect: Dialect, *, unclosed: bool) -> Slip:
    # A native thought comes beside the text, unless it was left open there.
    closing = _THOUGHT_CLOSINGS.get(dialect) if unclosed or dialect != "native" else None
    then = f"Close the thought with {closing}, then write" if closing else "After the thought, write"
    opening = f" ({closing.replace('/', '')} was never closed)" if closing and unclosed else ""
    return Slip(
        f"Your thought{opening} contains {call.label}, and nothing inside a thought runs.",
        f"{then} the call {_FORMS[dialect]}. If it was an example, answer the user after the thought.",
    )

"""What code names that a command is given as an argument or on its input."""

import re
from collections.abc import Iterator

from cogency_tui.tools.named_paths import only_reads, runs_files
from cogency_tui.tools.programs import facts
from cogency_tui.tools.shell_words import Simple
from cogency_tui.workspace.names import protected, shown

_TOKEN = re.compile(r"[\w.~@+-]*(?:/[\w.~@+-]+)+|\.?[\w-]+(?:\.[\w-]+)+|\.[\w-]+")
_WRITING = re.compile(
    r"writ|open\([^)]*[\"'][rbt]*[wax][bt]*\+?[\"']|unlink|remove|rename|replace\(|copy|move|mkdir|link|chmod"
    r"|append|trunc|>|dump|save|makedirs|rmtree|extract|system|popen|subprocess|spawn|exec|\bw\b|touch",
    re.IGNORECASE,
)
"""What code has that writes files."""

_PATCHING = frozenset(("git", "patch"))


def guarded_in_code(simple: Simple) -> str:
    """Why code is asked about that is an argument or the input, and writes guarded files that it names; empty
    where it does not."""
    for text in _code(simple):
        if not (simple.program in _PATCHING or _WRITING.search(text)):
            continue
        for token in dict.fromkeys(_TOKEN.findall(text)):
            parts = token.split("/")
            if reason := protected(parts):
                return f"{shown(token)}: {reason}"
    return ""


def _code(simple: Simple) -> Iterator[str]:
    """The texts that a program is given as programs."""
    if runs_files(simple) or "interpreter" in facts(simple.program):
        yield from (
            word.text for word in simple.arguments if not word.text.startswith("-") or " " in word.text
        )
    written = bool({"words", "writer"} & facts(simple.program))
    if only_reads(simple) or (written and simple.program not in _PATCHING):
        return
    for redirection in simple.redirections:
        if redirection.operator == "<<<":
            yield redirection.target.text
        yield "\n".join(redirection.body)

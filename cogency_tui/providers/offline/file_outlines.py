"""The shape of a file in a few lines of Markdown: its parts by name and number, never their meaning."""

import ast
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from cogency_tui.config import toml_reader
from cogency_tui.providers.offline.results import FileText
from cogency_tui.providers.offline.wire import code

MOST = 12
"""Names of one kind that are listed before "and n more"."""

_LANGUAGES = {
    "py": "python",
    "md": "markdown",
    "js": "javascript",
    "ts": "typescript",
    "json": "json",
    "toml": "toml",
    "yaml": "yaml",
    "yml": "yaml",
    "rs": "rust",
    "go": "go",
    "sh": "bash",
    "html": "html",
    "css": "css",
    "c": "c",
    "sql": "sql",
}
_PYTHON_NAME = re.compile(r"^(class|def|async def) (\w+)")


def language(path: str) -> str:
    """Return a code fence's name for the language of `path`, or an empty text."""
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "")


def number(count: int, noun: str) -> str:
    """Format a count with its noun."""
    if count == 1:
        return f"1 {noun}"
    plural = (
        f"{noun[:-1]}ies"
        if re.search("[^aeiou]y$", noun)
        else f"{noun}es"
        if noun.endswith(("s", "ch"))
        else f"{noun}s"
    )
    return f"{count:,} {plural}"


def listed(names: Sequence[str]) -> str:
    """Format names as code, the first dozen and the number of others."""
    shown = ", ".join(code(name) for name in names[:MOST])
    return shown + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def describe(path: str, content: FileText) -> str:
    """Describe the shape of a file."""
    kind = language(path)
    facts: list[str] = []
    if kind == "python":
        facts = _python(content)
    elif kind == "markdown":
        facts = _markdown(content.lines)
    elif kind in {"json", "toml"} and content.complete:
        facts = _keys(content.text, kind)
    if not facts:
        words = sum(len(line.split()) for line in content.lines)
        longest = max(map(len, content.lines), default=0)
        facts = [f"{number(words, 'word')}, the longest line has {longest} characters"]
    head = f"{code(path)} has {number(content.total, 'line')}"
    if not content.complete:
        head += f", of which I saw {len(content.lines):,}"
    return f"{head}:\n\n" + "\n".join(f"- {fact}" for fact in facts)


def _python(content: FileText) -> list[str]:
    try:
        tree = ast.parse(content.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _python_by_lines(content)
    facts: list[str] = []
    if docstring := ast.get_docstring(tree):
        facts.append(f"says of itself: {code(docstring.splitlines()[0])}")
    imports: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports.append("." * node.level + (node.module or ""))
    facts += _fact("import", dict.fromkeys(imports))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            methods = [
                each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
            detail = f" with {number(len(methods), 'method')}: {listed(methods)}" if methods else ""
            facts.append(f"class {code(node.name)} (line {node.lineno}){detail}")
    functions = [
        f"{node.name}({', '.join(arg.arg for arg in node.args.args)})"
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return facts + _fact("function", functions)


def _python_by_lines(content: FileText) -> list[str]:
    facts = ["it is not complete Python, so this is based on its lines only"]
    for index, line in enumerate(content.lines):
        if match := _PYTHON_NAME.match(line):
            facts.append(f"{match[1]} {code(match[2])} (line {content.first + index})")
    return facts[: MOST + 1]


def _markdown(lines: Iterable[str]) -> list[str]:
    headings: list[str] = []
    fenced = False
    for line in lines:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and re.match(r"#{1,6} ", line):
            headings.append(line)
    return _fact("heading", headings)


def _keys(text: str, kind: str) -> list[str]:
    try:
        value: object = json.loads(text) if kind == "json" else toml_reader.loads(text)
    except (ValueError, RecursionError) as exc:
        return [f"it is not valid {kind.upper()}: {code(str(exc))}"]
    if isinstance(value, list):
        return [f"a list of {number(len(cast('list[object]', value)), 'item')}"]
    if not isinstance(value, dict):
        return [f"a single value: {code(json.dumps(value)[:80])}"]
    table = cast("dict[str, Any]", value)
    facts = _fact("key", table)
    for key, inner in table.items():
        if isinstance(inner, dict) and len(facts) <= MOST:
            facts.append(f"{code(key)} holds {listed(list(cast('dict[str, Any]', inner)))}")
    return facts


def _fact(noun: str, names: Iterable[str]) -> list[str]:
    all_names = list(names)
    return [f"{number(len(all_names), noun)}: {listed(all_names)}"] if all_names else []

"""Every text of the interface in one file, `interface_strings.txt`, to be read through in one go.

`COGENCY_LOOKS=write` writes the file anew; read the difference as a native speaker before you commit it: a
label where a label will do, the verb first in actions, present tense, the field's term, one thought.
"""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tests import ROOT

LIST = Path(__file__).parent / "interface_strings.txt"
PACKAGE = ROOT / "cogency_tui"
SHOWN = ("tui", "linear", "agent/permissions", "config/schema.py")
"""The parts in which any text may be shown; elsewhere only errors and outcomes are."""

REPORTS = re.compile(r".*Error|Outcome|notice_event")
"""Calls whose arguments a user reads, wherever they are."""

UNSEEN = frozenset(
    {"styles", "theme_styles", "query_one", "query", "set_class", "run_worker", "compile", "Path"}
)
"""Calls whose arguments no user reads."""

RETIRED = re.compile(
    r"\b(the person|told(?! apart)|tell me|said|stands?|taken back|takes? back|is had|anew|whoever|nobody|somebody|"
    r"is kept|keeping|kept so)\b",
    re.IGNORECASE,
)
"""Words that this interface does not use: it has one term for each thing."""

_WRITE = os.environ.get("COGENCY_LOOKS") == "write"
_TEXT = re.compile(r"[A-Za-z][a-z]+ \S|^[A-Z][a-z]+\b")
_CODE = re.compile(
    r"SELECT |INSERT |UPDATE |DELETE |^#[\w-]+[ ,>]|\(\?|\\[bsdw]|^[\w.]+\([^)]*\)$|^\.?-?[\w-]+\.\w+$"
)


def texts_of(path: Path) -> Iterator[str]:
    """The texts in a module that a user may read, in their order; `{…}` stands for a value."""
    tree = ast.parse(path.read_text())
    anywhere = any((PACKAGE / part) in (path, *path.parents) for part in SHOWN)
    unseen = set(_unseen(tree))
    for node in _in_order(tree) if anywhere else _reports(tree):
        text = None if node in unseen else _text(node)
        if text is not None and _TEXT.search(text) and not _CODE.search(text):
            yield text.replace("\n", "⏎")


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        yield child
        if not isinstance(child, ast.JoinedStr):
            yield from _in_order(child)
        else:
            for value in child.values:
                if isinstance(value, ast.FormattedValue):
                    yield from _in_order(value)


def _reports(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and REPORTS.fullmatch(_name(node.func)):
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            yield from _in_order(ast.List(arguments))


def _unseen(tree: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, and the arguments of calls that only the program reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        if isinstance(node, ast.Call) and _name(node.func) in UNSEEN:
            yield from (inner for argument in node.args for inner in ast.walk(argument))
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            is_option = isinstance(node, ast.AnnAssign) and "_option" in ast.dump(node.annotation)
            yield from () if is_option else ast.walk(node.annotation)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(value.value) if isinstance(value, ast.Constant) else "{…}" for value in node.values
        )
    return None


def all_texts() -> str:
    """The texts of all modules that have any, each under its module's path."""
    parts: list[str] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if texts := list(dict.fromkeys(texts_of(path))):
            parts += [str(path.relative_to(PACKAGE)), *(f"    {text}" for text in texts), ""]
    return "\n".join(parts)


def test_the_list_has_every_text_of_the_interface() -> None:
    texts = all_texts()
    if _WRITE:
        LIST.write_text(texts)
    assert LIST.read_text() == texts


def test_no_text_uses_a_retired_word() -> None:
    found = [line.strip() for line in all_texts().splitlines() if RETIRED.search(line)]
    assert found == []

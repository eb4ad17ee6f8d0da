"""Looks through the code for ways to the terminal that go round the cleaning: what it finds, it names.

Rules are about forms that can be seen in the source; what they cannot see is caught by the guard on every
strip (`tui/kit/lines.py`) and by the tests that feed the application hostile text.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests import ROOT

PACKAGE = ROOT / "cogency_tui"
SCREENED = ("tui", "cli", "acp", "linear")
"""What writes on a screen; nothing else may."""

STRIP_MAKERS = ("tui/kit/lines.py", "tui/kit/bar.py", "tui/kit/line_view.py", "tui/terminal/frames.py")
"""The first two disarm what they are given; the third gives strips that there are another style, and the last
cuts those that have passed the guard."""

LINE_RENDERERS = ("tui/kit/line_view.py", "tui/kit/bar.py", "tui/kit/scroll_bar.py", "tui/app.py")
PRINTERS = ("cli/standard_streams.py",)
CLEANING_PRINTERS = ("cli/main.py", "cli/arguments.py")
"""They print before `cli/standard_streams.py` is worth importing, and clean what they print."""

STREAM_WRITERS = (*PRINTERS, "tui/app.py", "cli/patch_and_blame.py")
"""The application gives the window its title back when the driver is gone; a patch has bytes, which are
written where no terminal is."""

SEQUENCE_WRITERS = "tui/terminal/"
LITERAL_WIDGETS = frozenset(("Input", "TextArea"))
"""Widgets of Textual that never read markup."""

_READERS = frozenset(("from_markup", "render_markup", "from_ansi"))
_FOREIGN_MODULES = (
    "rich.markup",
    "rich.markdown",
    "rich.console",
    "rich.traceback",
    "rich.pretty",
    "rich.prompt",
)
FRAME_WRITER = "tui/terminal/frames.py"
"""Renders strips with the console that Textual hands it."""

CRASH_REPORTER = "tui/app.py"
"""Shows where it broke, without the values of variables."""

_STREAMS = frozenset(("stdout", "stderr", "__stdout__", "__stderr__"))
_TITLES = frozenset(("tooltip", "border_title", "border_subtitle"))
_INTRODUCERS = ("\x1b]", "\x1b[", "\x1bP", "\x1bX", "\x1b^", "\x1b_", "\x9b", "\x9d", "\x90")


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that breaks a rule."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"cogency_tui/{self.file}:{self.line}: {self.what}"


def walk_package() -> list[Finding]:
    """What breaks a rule in all of the package that writes on a screen."""
    files = [
        path
        for name in SCREENED
        for path in ([PACKAGE / name] if name.endswith(".py") else (PACKAGE / name).rglob("*.py"))
    ]
    assert len(files) > 50
    return [
        finding
        for path in sorted(files)
        for finding in walk(path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix())
    ]


def walk(source: str, file: str) -> list[Finding]:
    """What breaks a rule in the source of one file, which is named relative to the package."""
    tree = ast.parse(source)
    widgets = _names_from(tree, "textual.widgets") - LITERAL_WIDGETS
    compared = {text for node in ast.walk(tree) for text in _compared(node)}
    in_tui = file.startswith("tui/")
    found: list[Finding] = []
    for node in ast.walk(tree):
        place = getattr(node, "lineno", 0)
        for what in _breaches(node, file, widgets, compared):
            found.append(Finding(file, place, what))
        if in_tui and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            found += [Finding(file, line, what) for line, what in _read_as_markup(node)]
    return sorted(set(found), key=lambda each: each.line)


def _breaches(node: ast.AST, file: str, widgets: set[str], compared: set[ast.AST]) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield from _imported(file, alias.name)
        case ast.ImportFrom(module=str(module), names=names):
            for alias in names:
                yield from _imported(file, f"{module}.{alias.name}", module)
        case ast.Call():
            for rule in (_call_of_markup, _call_of_print, _call_of_strip):
                yield from rule(node, file, widgets)
        case ast.ClassDef(bases=bases):
            if any(_name(base) in widgets for base in bases):
                yield f"{node.name} is a widget that may read markup"
        case ast.FunctionDef(name=("render" | "render_markup") as name) if file.startswith("tui/"):
            yield f"{name} returns what Textual reads markup in: draw lines instead"
        case ast.FunctionDef(name="render_lines" | "get_line_filters") if (
            file not in LINE_RENDERERS and not _defers(node)
        ):
            yield f"{node.name} goes round the guard: only those that disarm their strips may"
        case ast.Attribute(attr=attr) if attr in _READERS:
            yield f"{attr} reads markup or sequences"
        case ast.Attribute(attr=("write" | "writelines" | "buffer"), value=ast.Attribute(attr=attr)) if (
            attr in _STREAMS
        ):
            if file not in STREAM_WRITERS:
                yield f"sys.{attr} is written to in cli/standard_streams.py only"
        case ast.Constant(value=str(text)) if any(each in text for each in _INTRODUCERS):
            if not file.startswith(SEQUENCE_WRITERS) and node not in compared:
                yield "control sequences are written in tui/terminal only"
        case _:
            pass


def _imported(file: str, name: str, module: str = "") -> Iterator[str]:
    if (module, file) in (("rich.traceback", CRASH_REPORTER), ("rich.console", FRAME_WRITER)):
        return
    if any(name == each or name.startswith(f"{each}.") or module == each for each in _FOREIGN_MODULES):
        yield f"{name} writes on the terminal or reads markup"
    if name in ("rich.print", "rich.inspect", "rich.get_console"):
        yield f"{name} writes on the terminal"


def _call_of_markup(call: ast.Call, file: str, widgets: set[str]) -> Iterator[str]:
    del file
    name = _name(call.func)
    if name == "notify" and not _has_markup_off(call):
        yield "notify needs markup=False"
    if name in widgets and isinstance(call.func, ast.Name) and not _has_markup_off(call):
        yield f"{name} needs markup=False"
    if name in ("Hit", "DiscoveryHit", "SystemCommand"):
        for keyword in call.keywords:
            if (
                keyword.arg == "help"
                and not _is_constant(keyword.value)
                and _name(keyword.value) not in ("Content", "_unread")
            ):
                yield "the palette reads markup in help: pass content"
        if call.args and name != "SystemCommand":
            title = call.args[name == "Hit"] if len(call.args) > (name == "Hit") else None
            if title is not None and not _is_literal(title, {}):
                yield "the palette reads markup in titles: pass content"
    if name == "exit" and any(keyword.arg == "message" for keyword in call.keywords):
        yield "what is printed at the end is printed in cli/standard_streams.py"
    if name in ("with_tooltip", "set_window_title", "open_url"):
        yield f"{name} takes what is not cleaned"


def _call_of_print(call: ast.Call, file: str, widgets: set[str]) -> Iterator[str]:
    del widgets
    if file in PRINTERS or not isinstance(call.func, ast.Name):
        return
    if call.func.id == "input":
        yield "input writes its prompt as it is"
    if call.func.id == "print":
        is_clean = file in CLEANING_PRINTERS and call.args and _name(call.args[0]) in ("clean", "reveal")
        if not is_clean and not all(map(_is_constant, call.args)):
            yield "print belongs in cli/standard_streams.py"


def _call_of_strip(call: ast.Call, file: str, widgets: set[str]) -> Iterator[str]:
    del widgets
    if _name(call.func) != "Strip" or file in STRIP_MAKERS:
        return
    segments = call.args[0] if call.args else None
    if not (isinstance(segments, ast.List) and all(_is_constant_segment(each) for each in segments.elts)):
        yield "Strip(...) of anything but constants: hand out a Line instead"


def _read_as_markup(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module,
) -> Iterator[tuple[int, str]]:
    """Attributes that Textual reads markup in, given something that is a string and no constant."""
    if isinstance(function, ast.Module):
        return
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                assigned.setdefault(name, []).append(value)
            case _:
                pass
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=attr)], value=value) if attr in _TITLES:
                if not _is_literal(value, assigned):
                    yield node.lineno, f"{attr} of a string is read as markup: give it Content(...)"
            case _:
                pass


def _is_literal(value: ast.expr, assigned: Mapping[str, list[ast.expr]]) -> bool:
    """Whether this is content or nothing: what Textual shows as it is."""
    match value:
        case ast.Constant(value=None):
            return True
        case ast.Constant(value=str(text)):
            return "[" not in text
        case ast.IfExp(body=body, orelse=other):
            return _is_literal(body, assigned) and _is_literal(other, assigned)
        case ast.Call():
            return _name(value.func) == "Content"
        case ast.Name(id=name) if name in assigned:
            return all(_is_literal(each, {}) for each in assigned[name])
        case _:
            return False


def _defers(function: ast.FunctionDef) -> bool:
    """Whether a method hands out what its base class hands out."""
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return bool(returned) and all(
        isinstance(value, ast.Call) and _name(value) == function.name and "super()" in ast.unparse(value)
        for value in returned
    )


def _compared(node: ast.AST) -> Iterator[ast.AST]:
    """Texts that something is compared with, and patterns: they are looked for and not written."""
    match node:
        case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "removeprefix" | "compile")):
            for argument in node.args:
                yield from ast.walk(argument)
        case ast.Compare():
            yield from ast.walk(node)
        case _:
            pass


def _has_markup_off(call: ast.Call) -> bool:
    return any(
        keyword.arg == "markup" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        for keyword in call.keywords
    )


def _is_constant(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant)


def _is_constant_segment(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and _name(value) == "Segment"
        and bool(value.args)
        and _is_constant(value.args[0])
    )


def _names_from(tree: ast.Module, module: str) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(module)
        for alias in node.names
    }


def _name(node: ast.AST) -> str:
    """The last part of what is named or called."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _name(function)
        case ast.Subscript(value=value):
            return _name(value)
        case _:
            return ""

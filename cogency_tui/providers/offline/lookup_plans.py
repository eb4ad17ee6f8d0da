"""Plans that change nothing: list, read, explain, count, find, recall."""

import re
from collections.abc import Callable, Sequence

from cogency_tui.providers.offline import file_outlines, results
from cogency_tui.providers.offline.message_reader import PlannedCall
from cogency_tui.providers.offline.plan_steps import Fetched, Plan, PlanResult, fetch, shown
from cogency_tui.providers.offline.request_types import (
    CountLines,
    ExplainFiles,
    FindFiles,
    FindText,
    ListFiles,
    ReadFiles,
    RecallRequest,
)
from cogency_tui.providers.offline.wire import Reply, code

LINES_SHOWN = 60
MATCHES_SHOWN = 30

_DESCRIPTIVE = (
    "README.md",
    "README.rst",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
)


def list_files(request: ListFiles) -> Plan:
    """List a directory and show the tree."""
    args = {"path": request.path} if request.path != "." else {}
    if request.pattern:
        args["pattern"] = request.pattern
    where = "the project" if request.path == "." else code(request.path)
    pattern = f" for {request.pattern}" if request.pattern else ""
    [listing] = yield Reply(f"I list {where.strip('`')}{pattern}.", [PlannedCall("list", args)])
    if not listing.ok:
        return PlanResult(f"I could not list {where}: {code(results.reason(listing))}", False)
    tree = results.plain(listing)
    matching = f" that match {code(request.pattern)}" if request.pattern else ""
    return PlanResult(f"These are the files of {where}{matching}:\n\n{shown(tree, LINES_SHOWN)}")


def read_files(request: ReadFiles) -> Plan:
    """Read files in one batch and show them."""
    extra = {"start": request.start, "lines": request.lines} if request.start else {}
    fetched = yield from fetch(request.files, _why("read", request.files), extra)
    return _each(fetched, _show)


def explain_files(request: ExplainFiles) -> Plan:
    """Read files in one batch and describe their shape."""
    fetched = yield from fetch(request.files, _why("read", request.files, " to see their shape"))
    return _each(fetched, lambda each: file_outlines.describe(each.path, results.file_text(each.result)))


def explain_project() -> Plan:
    """List the project, then read the files that usually describe it."""
    [listing] = yield Reply(
        "I list the project first, to see its documentation.", [PlannedCall("list", {"depth": 2})]
    )
    if not listing.ok:
        return PlanResult(f"I could not list the project: {code(results.reason(listing))}", False)
    tree = results.plain(listing)
    files = [
        name for name in _DESCRIPTIVE if re.search(rf"^{re.escape(name)}(?![\w./-])", tree, re.MULTILINE)
    ][:3]
    text = f"The project has this shape:\n\n{shown(tree, 30)}"
    if not files:
        return PlanResult(f"{text}\n\nIt has no README and no build file at its top that I know.")
    fetched = yield from fetch(files, f"{' and '.join(files)} should describe it, so I read that.")
    described = _each(fetched, lambda each: file_outlines.describe(each.path, results.file_text(each.result)))
    return PlanResult(f"{text}\n\n{described.text}", described.ok)


def count_lines(request: CountLines) -> Plan:
    """Read files in one batch and count their lines."""
    fetched = yield from fetch(request.files, _why("read", request.files, " to count the lines"))
    answer = _each(fetched, lambda each: _count(each, results.file_text(each.result)))
    counts = [results.file_text(each.result).total for each in fetched if each.result.ok]
    if len(counts) < 2:
        return answer
    return PlanResult(
        f"{answer.text}\n\nTogether that is {file_outlines.number(sum(counts), 'line')}.", answer.ok
    )


def find_text(request: FindText) -> Plan:
    """Search for text as it is written, then in any case."""
    place = _place(request.where)
    escaped = re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", request.text)
    where = "" if request.where == "." else f" in {code(request.where)}"
    [found] = yield Reply(
        f"I search{where.replace('`', '')} for the text {request.text}.",
        [PlannedCall("find", {"content": escaped} | place)],
    )
    if found.ok and not results.hits(found):
        [found] = yield Reply(
            "There is no exact match, so I search without regard to case.",
            [PlannedCall("find", {"content": f"(?i){escaped}"} | place)],
        )
    if not found.ok:
        return PlanResult(f"I could not search{where}: {code(results.reason(found))}", False)
    hits = results.hits(found)
    if not hits:
        return PlanResult(f"{code(request.text)} does not occur{where}, regardless of case.")
    text = results.plain(found)
    count = file_outlines.number(hits, "line")
    return PlanResult(f"{code(request.text)} occurs in {count}{where}:\n\n{shown(text, MATCHES_SHOWN)}")


def find_files(request: FindFiles) -> Plan:
    """Search for files by name."""
    directory, _, name = request.pattern.rpartition("/")
    place = {"path": directory} if directory and "*" not in directory else _place(request.where)
    [found] = yield Reply(
        f"I look for files called {name}.", [PlannedCall("find", {"pattern": name} | place)]
    )
    if not found.ok:
        return PlanResult(f"I could not look for {code(name)}: {code(results.reason(found))}", False)
    paths = results.paths(found, name)
    if not paths:
        return PlanResult(f"There is no file called {code(name)}.")
    return PlanResult(f"{file_outlines.number(len(paths), 'file')}: {file_outlines.listed(paths)}")


def recall(request: RecallRequest, *, can_recall: bool) -> Plan:
    """Search other conversations, where there is a tool for it."""
    facts = "This conversation is saved, so it can be found later. " if request.remember else ""
    if not can_recall:
        return PlanResult(
            f"{facts}I have no tool here to search other conversations (`recall` is not listed),"
            " and I know only the messages of this one."
        )
    [found] = yield Reply(
        f"Other conversations may mention {request.query}, so I search them.",
        [PlannedCall("recall", {"query": request.query})],
    )
    if not found.ok:
        return PlanResult(
            f"{facts}I could not search other conversations: {code(results.reason(found))}", False
        )
    text = results.plain(found)
    if not text.strip() or text.strip() in {"[]", "{}"}:
        return PlanResult(f"{facts}I found nothing about {code(request.query)} in other conversations.")
    head = f"{facts}Other conversations mention {code(request.query)}"
    return PlanResult(f"{head}:\n\n{shown(text, MATCHES_SHOWN)}")


def _show(each: Fetched) -> str:
    content = results.file_text(each.result)
    if not content.lines:
        return f"{each.note}{code(each.path)} is empty."
    last = content.first + len(content.lines) - 1
    part = "" if content.complete else f", of which these are {content.first} to {last}"
    size = f"{code(each.path)} has {file_outlines.number(content.total, 'line')}{part}"
    if content.first > 1:
        size = f"Lines {content.first} to {last} of {code(each.path)}"
    return f"{each.note}{size}:\n\n{shown(content.text, LINES_SHOWN, file_outlines.language(each.path))}"


def _count(each: Fetched, content: results.FileText) -> str:
    blank = sum(not line.strip() for line in content.lines)
    detail = f", {blank:,} of them blank" if content.complete else " (I did not see all of them)"
    return f"{each.note}{code(each.path)} has {file_outlines.number(content.total, 'line')}{detail}."


def _each(fetched: Sequence[Fetched], lead_in: Callable[[Fetched], str]) -> PlanResult:
    texts = [lead_in(each) if each.result.ok else each.failure for each in fetched]
    return PlanResult("\n\n".join(texts), all(each.result.ok for each in fetched))


def _place(where: str) -> dict[str, str]:
    """Return the arguments of `find` for a directory, or for one file of it."""
    if where == ".":
        return {}
    directory, _, name = where.rpartition("/")
    if "." not in name.strip("."):
        return {"path": where}
    return {"pattern": name} | ({"path": directory} if directory else {})


def _why(verb: str, files: Sequence[str], purpose: str = "") -> str:
    if len(files) == 1:
        return f"I {verb} {files[0]}{purpose.replace('their', 'its')}."
    return f"I {verb} {', '.join(files)}{purpose}, in one batch because none depends on another."

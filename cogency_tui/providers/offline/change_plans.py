"""Plans that change files: replace, create, append, undo.

A file's content is read before it is changed, and an answer claims no change that no result shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from cogency_tui.providers.offline import file_outlines, results
from cogency_tui.providers.offline.message_reader import CompletedCall, PlannedCall, Result
from cogency_tui.providers.offline.plan_steps import Fetched, Plan, PlanResult, fetch, shown
from cogency_tui.providers.offline.request_types import AppendText, CreateFile, ReplaceAcross, ReplaceText
from cogency_tui.providers.offline.results import FileText, file_text
from cogency_tui.providers.offline.wire import Reply, code, fence

DIFF_SHOWN = 40
COMPARED = 2000
"""Lines that are compared with text that was not found."""

_ELSEWHERE = "The diffs of this conversation show the earlier text."


def replace_text(request: ReplaceText) -> Plan:
    """Read the files, then edit those that contain the text."""
    names = ", ".join(request.files)
    fetched = yield from fetch(request.files, f"Before I change {names}, I read the current content.")
    edits = [each for each in fetched if each.result.ok and _may_hold(file_text(each.result), request.old)]
    texts = [_not_replaced(each, request) for each in fetched if each not in edits]
    ok = not texts
    if edits:
        counts = [_times(file_text(each.result), request.old) for each in edits]
        places = ", ".join(f"{count} in {each.path}" for each, count in zip(edits, counts, strict=True))
        done = yield Reply(
            f"The text is there ({places}), so I replace it.",
            [
                PlannedCall("edit", {"file": each.path, "old": request.old, "new": request.new, "all": True})
                for each in edits
            ],
        )
        for each, count, result in zip(edits, counts, done, strict=True):
            if result.ok:
                what = (
                    f"Replaced {count} of {code(request.old)} with {code(request.new)}"
                    if request.new
                    else f"Removed {count} of {code(request.old)}"
                )
                texts.append(f"{each.note}{what} in {code(each.path)}:\n\n{_diff(result)}")
            else:
                ok = False
                texts.append(
                    f"I could not change {code(each.path)}: {code(results.reason(result))}. The file is "
                    "unchanged."
                )
    return PlanResult("\n\n".join(texts), ok)


def replace_across(request: ReplaceAcross) -> Plan:
    """Replace in all files that match a glob, by one call."""
    [done] = yield Reply(
        f"This goes across all files that match {request.pattern}, so I use the replace tool.",
        [PlannedCall("replace", {"pattern": request.pattern, "old": request.old, "new": request.new})],
    )
    if not done.ok:
        return PlanResult(
            f"Nothing was replaced in {code(request.pattern)}: {code(results.reason(done))}", False
        )
    return PlanResult(
        f"Replaced {code(request.old)} with {code(request.new) if request.new else 'nothing'}"
        f" in the files that match {code(request.pattern)}:\n\n{shown(results.plain(done), DIFF_SHOWN)}"
    )


def create_file(request: CreateFile) -> Plan:
    """Write a file; read it first where it may be replaced."""
    args = {"file": request.file, "content": request.content}
    if request.overwrite:
        [read] = yield Reply(
            f"I read {request.file} before I replace it.", [PlannedCall("read", {"file": request.file})]
        )
        if not (read.ok or results.is_missing(read)):
            return PlanResult(
                f"I could not read {code(request.file)}: {code(results.reason(read))}. The file is "
                "unchanged.",
                False,
            )
    overwrite = {"overwrite": True} if request.overwrite else {}
    size = file_outlines.number(request.content.count("\n"), "line")
    [done] = yield Reply(f"I write {request.file} with {size}.", [PlannedCall("write", args | overwrite)])
    if done.ok:
        verb = "Wrote" if request.overwrite else "Created"
        body = (
            shown(request.content.rstrip("\n"), DIFF_SHOWN, file_outlines.language(request.file))
            if request.content
            else ""
        )
        return PlanResult(
            f"{verb} {code(request.file)} with {size}{':' if body else ', empty.'}\n\n{body}".rstrip()
        )
    if results.is_taken(done) and not request.overwrite:
        return PlanResult(
            f"{code(request.file)} already exists, so I wrote nothing. To replace it, say:"
            f" {code(f'overwrite {request.file} with …')}",
            False,
        )
    return PlanResult(
        f"I could not write {code(request.file)}: {code(results.reason(done))}. Nothing was written.", False
    )


def append_text(request: AppendText) -> Plan:
    """Read a file, then extend the shortest end of it that is there only once."""
    [read] = yield Reply(
        f"I read {request.file} to see how it ends.", [PlannedCall("read", {"file": request.file})]
    )
    content = file_text(read)
    if read.ok and not content.complete:
        start = max(1, content.total - 20)
        [read] = yield Reply(
            f"It is longer than the part I saw, so I read its end from line {start}.",
            [PlannedCall("read", {"file": request.file, "start": start})],
        )
        content = file_text(read)
    if results.is_missing(read) or (read.ok and not content.lines):
        return (yield from _append_to_nothing(request, exists=read.ok))
    if not read.ok:
        return PlanResult(
            f"I could not read {code(request.file)}: {code(results.reason(read))}. Nothing was added.", False
        )
    old = _unique_end(content)
    [done] = yield Reply(
        f"The last line is {code(content.lines[-1][:80])}; the new one goes below it.",
        [PlannedCall("edit", {"file": request.file, "old": old, "new": f"{old}\n{request.text}"})],
    )
    if not done.ok:
        return PlanResult(
            f"I could not add to {code(request.file)}: {code(results.reason(done))}. The file is unchanged.",
            False,
        )
    return PlanResult(
        f"Added {file_outlines.number(request.text.count(chr(10)) + 1, 'line')} at the end of "
        f"{code(request.file)}:\n\n{_diff(done)}"
    )


def undo(past: Sequence[CompletedCall]) -> Plan:
    """Reverse the last edit by an inverse one, where that restores the earlier text."""
    edit = _last_change(past)
    if edit is None:
        return PlanResult(f"I have no edits left to undo in this conversation. {_ELSEWHERE}", False)
    if edit.tool != "edit":
        return PlanResult(
            f"My last change was a {code(edit.tool)} of {code(edit.file)}, which I cannot reverse with an "
            "edit."
            f" {_ELSEWHERE}",
            False,
        )
    if not edit.new:
        return PlanResult(
            f"My last edit removed {code(edit.old)} from {code(edit.file)}; its position cannot be "
            f"determined from the remaining text. {_ELSEWHERE}",
            False,
        )
    [read] = yield Reply(
        f"My last edit was in {edit.file}; I read its current content.",
        [PlannedCall("read", {"file": edit.file})],
    )
    if not read.ok:
        return PlanResult(
            f"I could not read {code(edit.file)}: {code(results.reason(read))}. Nothing was undone.", False
        )
    if why := _irreversible(edit, file_text(read)):
        return PlanResult(f"I cannot undo my last edit of {code(edit.file)}: {why}. {_ELSEWHERE}", False)
    args = {"file": edit.file, "old": edit.new, "new": edit.old}
    [done] = yield Reply(
        "My text is still there, so I restore the old text.",
        [PlannedCall("edit", args | ({"all": True} if edit.all else {}))],
    )
    if not done.ok:
        return PlanResult(
            f"Undoing failed: {code(results.reason(done))}. {code(edit.file)} is unchanged.", False
        )
    return PlanResult(f"Reverted my last edit of {code(edit.file)}:\n\n{_diff(done)}")


@dataclass(frozen=True, slots=True)
class _Change:
    """A change by a call of the model; `before` is the file as it was last read before it."""

    tool: str
    file: str
    old: str = ""
    new: str = ""
    all: bool = False
    before: FileText | None = None


def _last_change(past: Sequence[CompletedCall]) -> _Change | None:
    """Return the last change that was not reverted since."""
    changes: list[_Change] = []
    known: dict[str, FileText] = {}
    for step in past:
        args = step.call.args
        file = str(args.get("file", args.get("pattern", "")))
        if not step.result.ok:
            continue
        if step.call.name == "read":
            known[file] = file_text(step.result)
        elif step.call.name == "edit":
            edit = _Change(
                "edit",
                file,
                str(args.get("old")),
                str(args.get("new")),
                bool(args.get("all")),
                known.get(file),
            )
            if changes and (changes[-1].file, changes[-1].old, changes[-1].new) == (file, edit.new, edit.old):
                changes.pop()
            else:
                changes.append(edit)
        elif step.call.name in {"write", "replace"}:
            changes.append(_Change(step.call.name, file))
    return changes[-1] if changes else None


def _irreversible(edit: _Change, now: FileText) -> str:
    """Explain why replacing the new text by the old one would not restore the file; empty where it would."""
    if now.complete and edit.new not in now.text:
        return "my text is no longer in it"
    if not edit.all:
        return ""
    if edit.before is None or not (edit.before.complete and now.complete):
        return "I have not seen all of it, and the new text may have been in it before"
    if edit.new in edit.before.text:
        return f"{code(edit.new)} was in it before, and I cannot tell which occurrences are mine"
    if _times(now, edit.new) != _times(edit.before, edit.old):
        return "it has changed since"
    return ""


def _append_to_nothing(request: AppendText, *, exists: bool) -> Plan:
    args: dict[str, str | bool] = {"file": request.file, "content": f"{request.text}\n"}
    state = "is empty" if exists else "does not exist yet"
    [done] = yield Reply(
        f"{request.file} {state}, so I write it with this line.",
        [PlannedCall("write", args | ({"overwrite": True} if exists else {}))],
    )
    if not done.ok:
        return PlanResult(
            f"I could not write {code(request.file)}: {code(results.reason(done))}. Nothing was written.",
            False,
        )
    was = "was empty" if exists else "did not exist"
    return PlanResult(f"{code(request.file)} {was}, so I created it with this line:\n\n{fence(request.text)}")


def _unique_end(content: FileText) -> str:
    """Return the shortest run of last lines, except blank ones, that occurs only once in the read text."""
    text = content.text
    for start in range(len(content.lines) - 1, -1, -1):
        end = "\n".join(content.lines[start:])
        if end.strip() and text.count(end) == 1:
            return end
    return text


def _diff(done: Result) -> str:
    return shown(results.plain(done), DIFF_SHOWN, "diff")


def _may_hold(content: FileText, old: str) -> bool:
    return old in content.text or not content.complete


def _times(content: FileText, text: str) -> int:
    return content.text.count(text)


def _not_replaced(each: Fetched, request: ReplaceText) -> str:
    if not each.result.ok:
        return f"{each.failure} Nothing was changed there."
    content = file_text(each.result)
    text = f"{each.note}{code(request.old)} does not occur in {code(each.path)}, so I changed nothing there."
    lines = [line for line in content.lines[:COMPARED] if line.strip()]
    index = results.first_match(content.lines, request.old)
    closest = (
        content.lines[index] if index >= 0 else next(iter(get_close_matches(request.old, lines, 1, 0.3)), "")
    )
    if not closest:
        return text
    number = content.first + content.lines.index(closest)
    return (
        f"{text} The closest is line {number}:\n\n{fence(closest[:300], file_outlines.language(each.path))}"
    )

"""The problems that language servers reported with the edits of a file, at the hunks that brought them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cogency_tui.agent.review.file_diff import FileDiff
from cogency_tui.agent.review.model import Hunk
from cogency_tui.protocol.events import Diagnostic
from cogency_tui.safe_text import one_line


def with_problems(diff: FileDiff, reported: Mapping[str, Sequence[Diagnostic]]) -> FileDiff:
    """The diff with the problems that its hunks brought; `reported` are those of calls, by their ids.

    Lines are those at the time of the call: a problem belongs to the nearest hunk of its call, one of another
    file to the call's first hunk.
    """
    found: defaultdict[str, list[Diagnostic]] = defaultdict(list)
    names = [one_line(path) for path in (diff.file.path, diff.file.old_path) if path]
    for call in dict.fromkeys(edit.call for edit in diff.file.edits):
        own = [hunk for hunk in diff.hunks if any(edit.call == call for edit in hunk.edits)]
        for one in reported.get(call, ()) if own else ():
            is_here = one["path"] in names
            hunk = min(own, key=lambda each: _distance(each, one["line"])) if is_here else own[0]
            found[hunk.id].append(one)
    if not found:
        return diff
    hunks = tuple(replace(hunk, problems=tuple(found.get(hunk.id, ()))) for hunk in diff.hunks)
    return replace(diff, hunks=hunks)


def _distance(hunk: Hunk, line: int) -> int:
    first, end = hunk.outline.new
    return max(first + 1 - line, line - max(first + 1, end), 0)

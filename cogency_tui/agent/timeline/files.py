"""The files of a conversation as they were at a point of it, as far as the journal says. Pure."""

from cogency_tui.agent.review.chains import path_today
from cogency_tui.agent.timeline.model import Past, PastFile
from cogency_tui.store.versions import net


def files_at(past: Past, index: int) -> list[PastFile]:
    """What had been changed by then, and after it what was changed only later, each by path.

    What nobody had touched by then is as it was before the first edit that did.
    """
    before, after = past.edits_until(index), past.edits_after(index)
    changed = [
        PastFile(
            each.change.path,
            each.change.after,
            path_today(each.change.path, after, 0),
            each.change,
            each.edits,
        )
        for each in net(before)
    ]
    known = {file.path for file in changed}
    untouched: dict[str, PastFile] = {}
    made = set[str]()
    for place, edit in enumerate(after):
        path = edit.old_path or edit.path
        if path not in known and path not in made and edit.kind != "snapshot":
            today = path_today(edit.path, after[place + 1 :], 0)
            untouched.setdefault(path, PastFile(path, edit.before, today, None, ()))
        made.add(edit.path)
    return sorted(changed, key=_path) + sorted(untouched.values(), key=_path)


def _path(file: PastFile) -> str:
    return file.path

"""The edits in opencode's sessions: those whose whole contents are known.

They follow from what versions before 1.2 store with a call, from the snapshots before and after a step, or
from earlier edits as long as nothing else can have changed a file. Whatever the diff of an edit, or the next
snapshot, does not confirm is left out.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from cogency_tui.agent.importers.opencode_calls import existed, path_in
from cogency_tui.agent.importers.opencode_snapshots import name_of, read_snapshots
from cogency_tui.agent.importers.opencode_storage import Message, Object
from cogency_tui.agent.importers.records import as_list, as_object, as_text, text, whole
from cogency_tui.agent.importers.session import LONGEST_TEXT, Session, seconds

Change: TypeAlias = tuple[str, bytes | None, bytes | None]
"""A path with its contents before and after."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The snapshots of the project at `root` before and after a step."""

    root: str
    before: str
    after: str

    def names(self, path: str) -> tuple[str, str]:
        """Return git's names of a file in both."""
        return name_of(self.before, self.root, path), name_of(self.after, self.root, path)


@dataclass(slots=True)
class Call:
    """A call without its result: its `tool` of ours and the program's, and the state that is stored."""

    key: str
    tool: str
    foreign: str
    stored: Object

    def ends(self) -> float:
        return seconds(as_object(self.stored.get("time")).get("end")) or 0.0


def steps_of(message: Message, project: str) -> Iterator[tuple[list[Object], Trees]]:
    """Yield the parts of each step of an answer, the last one without an end, with the trees around it."""
    fields = as_object(message.fields)
    root = as_text(as_object(fields.get("path")).get("root")) or project
    around = as_object(fields.get("snapshot"))
    parts: list[Object] = []
    before = as_text(around.get("start"))
    for _, stored in message.parts:
        part = as_object(stored)
        parts.append(part)
        if part.get("type") == "step-start":
            before = as_text(part.get("snapshot"))
        elif part.get("type") == "step-finish":
            yield parts, Trees(root, before, as_text(part.get("snapshot")))
            parts, before = [], ""
    yield parts, Trees(root, before, as_text(around.get("end")))


class Edits:
    """Adds edits to `session`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._contents = _Contents(session.project)
        self._snapshots: dict[str, bytes] = {}

    def look_up(self, messages: Sequence[Message], directory: Path) -> None:
        """Read what the snapshots in `directory` have of the files that these messages change."""
        self._snapshots = read_snapshots(directory, set(self._names(messages)))

    def forget(self) -> None:
        """Forget what is in files: another may have changed them."""
        self._contents.forget()

    def _names(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield names of the files that calls have changed, as they were before and after their steps."""
        for message in messages:
            for parts, trees in steps_of(message, self._session.project):
                for part in parts:
                    stored = as_object(part.get("state"))
                    paths: set[str] = set()
                    if part.get("type") == "tool" and part.get("tool") in ("edit", "write"):
                        paths.add(_changed_path(self._session.project, as_object(stored.get("input"))))
                    elif part.get("type") == "tool" and part.get("tool") == "apply_patch":
                        paths.update(path for *both, _ in _patched_files(stored) for path in both)
                    yield from (name for path in paths for name in trees.names(path) if name)

    def add(self, done: Iterable[Call], trees: Trees, *, is_alone: bool) -> None:
        """Add the edits of the calls of a step, unless `trees` show something else; with `is_alone`, nothing
        else in it can have changed files."""
        if not is_alone:
            self.forget()
        self._add(sorted(done, key=Call.ends), trees if is_alone else None)
        if not is_alone:
            self.forget()

    def _add(self, done: Sequence[Call], trees: Trees | None) -> None:
        learned: set[str] = set()
        ends: dict[str, bytes | None] = {}
        made: list[tuple[Call, Change]] = []
        writing = [call for call in done if call.foreign in ("edit", "write", "apply_patch")]
        if len(writing) > 1 and any(call.foreign == "apply_patch" for call in writing):
            # Which of them has changed a file is unknown.
            trees = None
        for call in writing:
            if call.foreign == "apply_patch":
                self._add_patch(call, trees)
                continue
            path = _changed_path(self._session.project, as_object(call.stored.get("input")))
            if trees is not None and path not in ends:
                before, after = (self._snapshots.get(name) for name in trees.names(path))
                ends[path] = after
                if before is not None:
                    self._contents.learn(path, before)
                    learned.add(path)
            with self._session.at(call.key):
                made += [(call, change) for change in self._contents.changes(call.tool, call.stored)]
        for call, (path, before, after) in made:
            end = ends.get(path)
            if self._contents.has(path, end) if end is not None else path not in learned:
                self._session.edited(call.key, call.ends(), path, before, after)

    def _add_patch(self, call: Call, trees: Trees | None) -> None:
        self._contents.forget()
        for path, target, file in _patched_files(call.stored):
            before = trees and self._snapshots.get(trees.names(path)[0])
            after = trees and self._snapshots.get(trees.names(target)[1])
            with self._session.at(call.key):
                for each, was, now in _patch_changes(path, target, file, before, after):
                    self._session.edited(call.key, call.ends(), each, was, now)


@dataclass(slots=True)
class _Contents:
    """What is in the files of `project`, as far as only these calls can have changed them since."""

    project: str
    _known: dict[str, str] = field(default_factory=dict[str, str])

    def learn(self, path: str, content: bytes) -> None:
        """Replace what is known of a file, if it is a text."""
        self._known.pop(path, None)
        with suppress(UnicodeDecodeError):
            self._known[path] = content.decode()

    def has(self, path: str, content: bytes | None) -> bool:
        """Return whether this is what is known to be in a file; forget the file if not."""
        known = self._known.get(path)
        if known is not None and known.encode() == content:
            return True
        self._known.pop(path, None)
        return False

    def forget(self) -> None:
        """Forget everything: another may have changed files."""
        self._known.clear()

    def changes(self, tool: str, stored: Object) -> list[Change]:
        """Return the changes by a call that was done, as far as the whole contents are known."""
        given, metadata = as_object(stored.get("input")), as_object(stored.get("metadata"))
        if tool not in ("write", "edit"):
            return []
        path = _changed_path(self.project, given)
        before = self._known.pop(path, None)
        if tool == "write":
            after: str | None = text(given["content"])
            is_known = before is not None or existed(metadata) is False
        else:
            before, after = _edited(before, given, metadata)
            is_known = after is not None
        if after is None:
            return []
        self._known[path] = after
        return [(path, None if before is None else before.encode(), after.encode())] if is_known else []


def _changed_path(project: str, given: Object) -> str:
    """Return the whole path of the file that a call writes."""
    return os.path.normpath(Path(project) / path_in(given))


def _edited(before: str | None, given: Object, metadata: Object) -> tuple[str | None, str | None]:
    """Return a file's contents before and after an edit; None if they are not known.

    Older versions store both. Newer ones store a diff without the common indentation: it shows whether what
    follows from the arguments is what took place, also where the program formats what it writes.
    """
    diff = as_object(metadata.get("filediff"))
    old, new = as_text(given.get("oldString")), as_text(given.get("newString"))
    if isinstance(diff.get("before"), str) and isinstance(diff.get("after"), str):
        return (diff["before"] if old or diff["before"] else None), diff["after"]
    if "\r\n" in (before or ""):
        old, new = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (old, new))
    count = (before or "").count(old) if old else 0
    if before is None or not count or (count > 1 and given.get("replaceAll") is not True):
        return None, None
    if len(before) + count * len(new) > LONGEST_TEXT:
        return None, None
    after = before.replace(old, new)
    return (before, after) if _is_shown(diff, before, after) else (None, None)


def _has_lines(content: str, diff: str, sign: str) -> bool:
    """Return whether a text has the lines with this sign of a diff, whatever their indentation."""
    lines = {line.strip() for line in content.split("\n")}
    return all(line[1:].strip() in lines for line in diff.split("\n") if line.startswith(sign))


def _is_shown(diff: Object, before: str, after: str) -> bool:
    """Return whether a stored diff is one between these texts, as far as it tells."""
    start, _, body = as_text(diff.get("patch")).partition("\n@@")
    if not start or not _has_lines(before, body, "-") or not _has_lines(after, body, "+"):
        return False
    grown = whole(diff, "additions") - whole(diff, "deletions")
    # The program counts one line too many of a file that is deleted.
    return not after or after.count("\n") - before.count("\n") == grown


def _patched_files(stored: Object) -> list[tuple[str, str, Object]]:
    """Return the files of a patch: their whole paths before and after, and what is stored of each."""
    files = [as_object(each) for each in as_list(as_object(stored.get("metadata")).get("files"))]
    paths = [as_text(each.get("filePath")) for each in files]
    targets = [as_text(each.get("movePath")) or path for each, path in zip(files, paths, strict=True)]
    return [*zip(paths, targets, files, strict=True)]


def _patch_changes(
    path: str, target: str, file: Object, before: bytes | None, after: bytes | None
) -> list[Change]:
    """Return the changes of a file by a patch, with what snapshots have of it; none if they don't fit.

    Older versions store the contents themselves.
    """
    kind = file.get("type")
    was, now = file.get("before"), file.get("after")
    if isinstance(was, str) and isinstance(now, str):
        before, after = was.encode(), now.encode()
    elif (before is None) != (kind == "add") or (after is None) != (kind == "delete"):
        return []
    elif not _is_shown(file, _text_in(before), _text_in(after)):
        return []
    if target != path:
        return [(path, before, None), (target, None, after)]
    return [(path, None if kind == "add" else before, None if kind == "delete" else after)]


def _text_in(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "replace")

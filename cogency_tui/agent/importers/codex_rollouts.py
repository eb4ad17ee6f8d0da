"""The files of Codex's threads, called rollouts, and what other files say about a thread.

A thread that was rewound goes on in a further file, a segment; a forked one begins where the other thread was
(`history_base`).
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.importers.records import cannot_read, file_stamp, text_of
from cogency_tui.agent.importers.session import Session, json_lines, parsed

_NAME = re.compile(
    r"rollout-[\dT-]+?-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:_([0-9a-f-]{36}))?\.jsonl"
)
_ID_LENGTH = 36
_LONGEST_HEADING = 1 << 20
_MOST_BASES = 16


def rollouts(root: Path) -> Iterator[Path]:
    """Yield the rollouts, oldest first within a folder; those that were archived lie side by side."""
    for folder in (root / "sessions", root / "archived_sessions"):
        for place, folders, names in os.walk(folder, onerror=_unread):
            folders.sort()
            yield from (Path(place, name) for name in sorted(names) if _NAME.fullmatch(name))


def _unread(error: OSError) -> None:
    if isinstance(error, PermissionError):
        cannot_read(error.filename, error.strerror or "it cannot be read")


def thread_id(path: Path) -> str:
    match = _NAME.fullmatch(path.name)
    return match[1] if match else ""


def root_of(path: Path) -> Path:
    """The program's folder, of a rollout in it."""
    for folder in path.parents:
        if folder.name in ("sessions", "archived_sessions"):
            return folder.parent
    return path.parent


class Index:
    """The rollouts of a folder by the ids of their threads and segments, as they were when it was made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.threads: dict[str, list[Path]] = {}
        """The files of each thread, oldest first."""
        self._segments: dict[str, Path] = {}
        by_name = {path.name: path for path in rollouts(root)}
        for name in sorted(by_name):
            self.threads.setdefault(thread_id(by_name[name]), []).append(by_name[name])
            self._segments[by_name[name].stem[-_ID_LENGTH:]] = by_name[name]

    def segment(self, id: str) -> Path | None:
        """The file of the segment with this id; the first one of a thread has that of the thread."""
        return self._segments.get(id)


def bases(index: Index, path: Path) -> list[tuple[Path, int]]:
    """The files that a forked thread begins with, oldest first, each with the ordinal where it leaves it."""
    found: list[tuple[Path, int]] = []
    for _ in range(_MOST_BASES):
        base = heading(path).get("history_base")
        if not isinstance(base, dict):
            break
        given = cast("dict[str, Any]", base)
        begun, end = index.segment(text_of(given.get("thread_id"))), given.get("end_ordinal_exclusive")
        if begun is None or not isinstance(end, int) or any(each == begun for each, _ in found):
            break
        path = begun
        found.insert(0, (path, end))
    return found


def heading(path: Path) -> dict[str, Any]:
    """The first record of a rollout; empty where it cannot be read."""
    try:
        if not file_stamp(path):
            return {}
        with path.open("rb") as file:
            record = parsed(file.readline(_LONGEST_HEADING))
    except OSError:
        return {}
    whole = cast("dict[str, Any]", record) if isinstance(record, dict) else {}
    payload = whole.get("payload", whole)
    return cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}


def titles(path: Path) -> Iterator[tuple[str, str]]:
    for _, one in json_lines(Session(""), path):
        if isinstance(one.get("id"), str) and isinstance(one.get("thread_name"), str):
            yield one["id"], one["thread_name"]


def spawns(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the sub-agents that a thread has started, each with the call."""
    for _, record in json_lines(Session(""), path):
        payload = record.get("payload")
        if not isinstance(payload, dict):
            continue
        given = cast("dict[str, Any]", payload)
        item = given.get("item")
        about = cast("dict[str, Any]", item) if isinstance(item, dict) else given
        if about.get("tool") == "spawn_agent" and isinstance(about.get("receiver_thread_ids"), list):
            yield from ((text_of(each), text_of(about.get("id"))) for each in about["receiver_thread_ids"])
        elif about.get("kind") == "started" and about.get("type") == "SubAgentActivity":
            yield text_of(about.get("agent_thread_id")), text_of(about.get("id"))
        elif about.get("type") == "function_call_output" and '"agent_id"' in text_of(about.get("output")):
            answer = parsed(about["output"])
            if isinstance(answer, dict):
                yield text_of(cast("dict[str, Any]", answer).get("agent_id")), text_of(about.get("call_id"))

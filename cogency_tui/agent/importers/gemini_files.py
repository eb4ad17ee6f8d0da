"""The files of Gemini CLI's sessions, and the projects that they belong to."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cogency_tui.agent.importers.records import as_list, as_object, as_text, entries, file_stamp
from cogency_tui.agent.importers.session import LONGEST_LINE, Session, SessionFile, json_lines, parsed


def stored_sessions(base: Path) -> Iterator[SessionFile]:
    """Yield the sessions below `base` (`~/.gemini`), also those of sub-agents; a file of older versions only
    if none of newer ones continues it.
    """
    places = _places(base)
    for directory in entries(base / "tmp"):
        for path, mark in _stored_in(Path(directory.path) / "chats"):
            yield SessionFile(path, mark, project=places.get(directory.name, ""))


def _places(base: Path) -> dict[str, str]:
    """The projects by the names of their directories below `tmp`: short ones, or hashes in older versions."""
    found: dict[str, str] = {}
    known: set[str] = {str(base.parent)}
    for name in ("projects.json", "trustedFolders.json"):
        value = as_object(_loaded(base / name))
        registered = as_object(value.get("projects", value))
        known.update(registered)
        if name == "projects.json":
            found.update({as_text(short): path for path, short in registered.items()})
    for directory in entries(base / "tmp"):
        if marked := _marked(Path(directory.path)):
            known.add(marked)
            found[directory.name] = marked
    for path in known:
        found.setdefault(hashlib.sha256(path.encode("utf-8", "replace")).hexdigest(), path)
    return found


def _marked(directory: Path) -> str:
    """The project that a directory below `tmp` names as its own."""
    marker = directory / ".project_root"
    try:
        if not file_stamp(marker) or marker.stat().st_size > 10_000:
            return ""
        return marker.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def project_of(path: Path) -> str:
    directory = next((each.parent for each in path.parents if each.name == "chats"), None)
    if directory is None:
        return ""
    return _places(directory.parents[1]).get(directory.name, "") if len(directory.parents) > 1 else ""


def _loaded(path: Path) -> Any:
    try:
        if not file_stamp(path) or path.stat().st_size > LONGEST_LINE:
            return None
        return parsed(path.read_bytes())
    except OSError:
        return None


def _stored_in(chats: Path) -> Iterator[tuple[Path, str]]:
    found = entries(chats)
    names = {entry.name for entry in found}
    for entry in found:
        is_continued = f"{entry.name}l" in names
        inner = entries(entry.path) if entry.is_dir(follow_symlinks=False) else [entry]
        for each in inner:
            is_named = each is not entry or each.name.startswith("session-")
            is_session = is_named and each.name.endswith((".json", ".jsonl")) and not is_continued
            if is_session and (stamp := file_stamp(each.path)):
                yield Path(each.path), stamp


def caller(path: Path, id: str) -> tuple[str, str]:
    """Return the parent of a sub-agent's session, and the key of the call in it that started this one; the
    parent may be a sub-agent's itself."""
    chats, parent = path.parent.parent, path.parent.name
    if chats.name != "chats":
        return "", ""
    for entry in entries(chats):
        inner = Path(entry.path) / f"{parent}.jsonl"
        if not inner.is_file() and not entry.name.endswith(f"-{parent[:8]}.jsonl"):
            continue
        for _, record in json_lines(Session(""), inner if inner.is_file() else Path(entry.path)):
            for call in as_list(record.get("toolCalls")):
                if as_object(call).get("agentId") == id:
                    return parent, as_text(as_object(call).get("id"))
    return parent, ""

"""The list of changed files as rows, grouped and filtered. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from cogency_tui.agent.review.model import ChangedFile, FileKey, Group, Overview
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.select_list import Heading


class FileHeading(Heading, frozen=True):
    """The heading of a turn's files, or of the turns of the file with this path."""

    is_path: bool = False


@dataclass(frozen=True, slots=True)
class FileRow:
    """A turn's changes to a file; `label` is its path, or the turn where the heading has the path."""

    file: ChangedFile
    label: str
    is_path: bool


ListRow = FileHeading | FileRow


def rows_of(overview: Overview, target: str) -> list[ListRow]:
    """The rows of files that match every word of `target`: in the path, state, kind or prompt."""
    words = target.casefold().split()
    rows: list[ListRow] = []
    gone: list[ListRow] = []
    for group in overview.groups:
        files = [file for file in group.files if _matches(file, group, words)]
        rows += _rows_of_group(group, [file for file in files if not is_gone(file)])
        gone += [FileRow(file, one_line(file.path), is_path=True) for file in files if is_gone(file)]
    return [*rows, FileHeading("No longer in the files", ""), *gone] if gone else rows


def _rows_of_group(group: Group, files: Sequence[ChangedFile]) -> list[ListRow]:
    if not files:
        return []
    if group.turn:
        named = [FileRow(file, one_line(file.path), is_path=True) for file in files]
        return [FileHeading(f"Turn {group.turn}", one_line(group.title)), *named]
    if len(files) == 1:
        return [FileRow(files[0], one_line(files[0].path), is_path=True)]
    heading = FileHeading(one_line(group.title), plural(len(files), "turn"), is_path=True)
    return [heading, *(FileRow(file, f"turn {file.key.turn}", is_path=False) for file in files)]


def is_gone(file: ChangedFile) -> bool:
    """Return whether nothing is left of a file's change."""
    return file.state == "gone" and not file.remaining


def place_of(rows: Sequence[ListRow], key: FileKey | None) -> int | None:
    """The row of a changed file."""
    return next((y for y, row in enumerate(rows) if isinstance(row, FileRow) and row.file.key == key), None)


def place_of_call(rows: Sequence[ListRow], call: str) -> int | None:
    """The row of the first file that a call changed."""
    return next(
        (y for y, row in enumerate(rows) if isinstance(row, FileRow) and made_by(row.file, call)), None
    )


def made_by(file: ChangedFile, call: str) -> bool:
    """Return whether a call contributed to the change."""
    return any(edit.call == call for edit in file.edits)


def first_of(rows: Sequence[ListRow]) -> int:
    """The first file with something to decide, else the first one."""
    files = [(y, row.file) for y, row in enumerate(rows) if isinstance(row, FileRow)]
    undecided = [y for y, file in files if file.state in ("new", "conflict")]
    return next(iter([*undecided, *(y for y, _ in files)]), 0)


def _matches(file: ChangedFile, group: Group, words: Sequence[str]) -> bool:
    turn = f"turn {file.key.turn}"
    text = " ".join((file.path, file.old_path, *file.states, file.kind, group.title, turn)).casefold()
    return all(word in text for word in words)

"""The copy of the schema: a store whose own schema cannot be read is recovered by it, and only by one that counts."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store import schema_backup
from cogency_tui.store.check_and_repair import check, repair
from cogency_tui.store.database import FILE
from cogency_tui.store.store import Store
from tests.store.test_check_and_repair import PAGE, counts, several
from tests.store.test_trouble import filled, said, spoil


def schema_leaf(path: Path) -> int:
    """Where the last page of the schema is, which is not the first page."""
    at = path.read_bytes().index(b"CREATE TABLE intents (") // PAGE * PAGE
    assert at
    return at


def first_page(_path: Path) -> int:
    return 0


def lose(copy: Path) -> None:
    copy.unlink()


def spoil_a_digit(copy: Path) -> None:
    data = copy.read_bytes()
    copy.write_bytes(data.replace(b'"events", "events", ', b'"events", "events", 1', 1))
    assert copy.read_bytes() != data


def cut_off(copy: Path) -> None:
    copy.write_bytes(copy.read_bytes()[:-40])


def put_another(copy: Path) -> None:
    other = copy.with_name("other.db")
    with sqlite3.connect(other) as raw:
        raw.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY)")
        schema_backup.store(raw, other)
    raw.close()
    schema_backup.path_of(other).replace(copy)


async def test_the_copy_is_the_users_alone_and_written_where_it_differs(directory: Path) -> None:
    await filled(directory, 3)
    copy = schema_backup.path_of(directory / FILE)
    first = copy.stat()
    assert first.st_mode & 0o777 == 0o600
    await filled(directory, 3)
    assert copy.stat().st_ino == first.st_ino
    content = copy.read_bytes()
    with sqlite3.connect(directory / FILE) as raw:
        raw.execute("VACUUM")
    raw.close()
    await filled(directory, 3)
    assert copy.read_bytes() != content
    assert not list(directory.glob("*.new"))


@pytest.mark.parametrize("harm", [lose, spoil_a_digit, cut_off, put_another])
async def test_a_copy_that_does_not_count_is_not_used(directory: Path, harm: Callable[[Path], None]) -> None:
    await filled(directory, 3)
    path = directory / FILE
    spoil(path, schema_leaf(path), bytes(PAGE))
    damaged = path.read_bytes()
    harm(schema_backup.path_of(path))
    with pytest.raises(StoreError, match="is damaged"):
        repair(directory)
    assert path.read_bytes() == damaged
    assert not list(directory.glob(f"{FILE}.recovered*"))


@pytest.mark.parametrize("place", [first_page, schema_leaf])
async def test_what_only_the_wal_has_is_recovered_too(
    directory: Path, tmp_path: Path, place: Callable[[Path], int]
) -> None:
    expected = await several(directory)
    id = next(iter(expected))
    copy = tmp_path / "copy"
    copy.mkdir()
    async with await Store.open(directory) as store:
        for number in range(3):
            await store.append(id, said(f"only in the WAL {number}"))
        names = (FILE, f"{FILE}-wal", schema_backup.path_of(directory / FILE).name)
        for name in names:
            shutil.copy(directory / name, copy / name)
    assert b"only in the WAL 2" not in (copy / FILE).read_bytes()
    spoil(copy / FILE, place(copy / FILE), b"\xa5" * PAGE)
    assert check(copy)
    assert repair(copy)
    assert check(copy) == []
    assert await counts(copy) == {**expected, id: expected[id] + 3}


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", [first_page, schema_leaf])
async def test_a_store_that_was_set_aside_takes_its_copy_with_it(
    directory: Path, place: Callable[[Path], int]
) -> None:
    expected = await several(directory)
    spoil(directory / FILE, place(directory / FILE), b"\xa5" * PAGE)
    async with await Store.open(directory) as store:
        assert "doctor --repair" in store.notices[0]
    assert repair(directory)
    assert await counts(directory) == expected

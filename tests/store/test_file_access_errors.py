"""Something else where a file of the store belongs, or no right to it: each error says what it is and what helps,
and what helps does."""

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cogency_tui.cli.doctor import repair
from cogency_tui.errors import StoreError
from cogency_tui.store.check_and_repair import check
from cogency_tui.store.check_and_repair import repair as repair_store
from cogency_tui.store.database import FILE, LOCK
from cogency_tui.store.store import Store

NOBODY = 65534


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        # The address of a socket has room for a hundred characters.
        before = Path.cwd()
        os.chdir(path.parent)
        try:
            bound.bind(path.name)
        finally:
            os.chdir(before)


KINDS: dict[str, Callable[[Path], object]] = {
    "a directory": Path.mkdir,
    "a FIFO": os.mkfifo,
    "a socket": bind,
    "a link to /nowhere/store, which does not exist": lambda path: path.symlink_to("/nowhere/store"),
    "a link that leads to itself": lambda path: path.symlink_to(path.name),
    "a device": lambda path: path.symlink_to("/dev/null"),
}


async def opened(directory: Path) -> None:
    await (await Store.open(directory)).close()


async def advice(directory: Path) -> str:
    """What is said of a store that cannot be opened, or only be read."""
    try:
        async with await Store.open(directory) as store:
            return " ".join(store.notices)
    except StoreError as exc:
        return exc.advice


def command_of(error: StoreError) -> str:
    """The command that the error advises."""
    return error.hint.split("`")[1]


@pytest.mark.parametrize("name", [FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}.schema", LOCK])
@pytest.mark.parametrize("kind", KINDS)
async def test_what_has_the_name_of_a_file_of_the_store_is_named_with_the_way_out(
    directory: Path, name: str, kind: str
) -> None:
    directory.mkdir()
    KINDS[kind](path := directory / name)
    for act in (check, repair_store):
        with pytest.raises(StoreError) as raised:
            act(directory)
        assert f"{path} is {kind} instead of a file" in str(raised.value)
    with pytest.raises(StoreError) as raised:
        await opened(directory)
    assert f"{path} is {kind} instead of a file" in str(raised.value)
    assert ("Restore its target" in raised.value.hint) == path.is_symlink()

    subprocess.run(shlex.split(command_of(raised.value)), check=True)  # noqa: ASYNC221 (it is short)
    assert check(directory) == []
    await opened(directory)


@pytest.mark.parametrize("name", [FILE, LOCK, "notices.jsonl", "notices.lock"])
async def test_an_empty_file_is_a_new_store(
    directory: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COGENCY_DATA", str(directory))
    directory.mkdir()
    (directory / name).touch()
    assert check(directory) == []
    assert repair() == 0
    assert "is not damaged" in capsys.readouterr().out
    async with await Store.open(directory) as store:
        assert store.notices == []


async def test_an_empty_file_beside_a_wal_is_damage(directory: Path) -> None:
    directory.mkdir()
    (directory / FILE).touch()
    (directory / f"{FILE}-wal").write_bytes(b"pages")
    [damage] = check(directory)
    assert damage.of_store


@pytest.fixture
def foreign() -> Iterator[Path]:
    """A data directory of a user who is not root, as whom we go on where we are root."""
    before = os.geteuid()
    with TemporaryDirectory() as above:
        directory = Path(above) / "data"
        directory.mkdir()
        if before == 0:
            Path(above).chmod(0o755)
            (directory / LOCK).touch(0o600)
            for path in (directory, directory / LOCK):
                os.chown(path, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, 0)
        yield directory
        os.setresuid(before, before, before)


@pytest.mark.parametrize("name", [FILE, f"{FILE}-wal", LOCK, ""])
async def test_what_may_not_be_read_and_written_is_named_with_the_command_that_lets_us(
    foreign: Path, name: str
) -> None:
    async with await Store.open(foreign):
        (path := foreign / name).chmod(0)
        said = await advice(foreign)
        assert f"{path} cannot be read and written" in said
        assert f"`chmod u+rwX {path}`" in said
        subprocess.run(["chmod", "u+rwX", str(path)], check=True)  # noqa: ASYNC221 (it is short)
        assert await advice(foreign) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give away a file")
async def test_a_file_of_another_user_wants_another_command(foreign: Path) -> None:
    os.setresuid(0, 0, 0)
    (foreign / FILE).touch(0o600)
    os.setresuid(NOBODY, NOBODY, 0)
    with pytest.raises(StoreError) as raised:
        await opened(foreign)
    assert command_of(raised.value) == f"sudo chown {NOBODY} {foreign / FILE}"


async def test_a_directory_above_that_keeps_us_out_is_an_error_of_ours(foreign: Path) -> None:
    foreign.chmod(0)
    for act in (check, repair_store):
        with pytest.raises(StoreError):
            act(foreign / "deeper")
    with pytest.raises(StoreError, match="Permission denied"):
        await opened(foreign / "deeper")


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a file system cannot be mounted")
async def test_a_file_system_that_can_only_be_read_is_named(tmp_path: Path) -> None:
    (place := tmp_path / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(place)]
    if subprocess.run(mount, check=False).returncode:  # noqa: ASYNC221 (it is short)
        pytest.skip("a file system cannot be mounted here")
    try:
        for directory in (place, place / "data"):
            with pytest.raises(StoreError) as raised:
                await opened(directory)
            assert "read-only" in str(raised.value)
            assert "Remount it" in raised.value.hint
    finally:
        subprocess.run(["umount", str(place)], check=True)  # noqa: ASYNC221 (it is short)

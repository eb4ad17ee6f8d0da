"""Kept contents: each once, whole or not at all, and never other bytes than were put there."""

import hashlib
import os
import random
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.errors import StoreError
from cogency_tui.store.blobs import Blobs
from tests import ROOT

MIB = 1 << 20


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def files(blobs: Blobs) -> list[Path]:
    return [path for path in blobs.directory.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"text\n" * 1000, noise(5000), b"\r\n\xff\x00" * 700_000, noise(3 * MIB + 1), b"a" * MIB],
    ids=["empty", "byte", "text", "noise", "large text", "large noise", "a mebibyte"],
)
def test_what_was_put_there_is_read_back(blobs: Blobs, data: bytes) -> None:
    stored = blobs.put(BytesIO(data))

    assert stored.stored
    assert (stored.digest, stored.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert blobs.read(stored.digest, stored.size) == data
    assert blobs.put_bytes(data) == stored
    assert max(map(len, blobs.stream(stored.digest, stored.size)), default=0) <= MIB


@settings(max_examples=25)
@given(data=st.binary(max_size=3000))
def test_any_bytes_come_back(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    blobs = Blobs(tmp_path_factory.getbasetemp() / "any")
    stored = blobs.put_bytes(data)
    assert blobs.read(stored.digest, stored.size) == data


def test_a_content_is_kept_once_for_the_person_alone(blobs: Blobs) -> None:
    stored = blobs.put_bytes(b"one\n")
    blobs.put(BytesIO(b"one\n"))
    Blobs(blobs.directory).put_bytes(b"one\n")

    (path,) = files(blobs)
    assert path == blobs.directory / stored.digest[:2] / stored.digest[2:]
    assert path.stat().st_mode & 0o777 == 0o600
    assert blobs.directory.stat().st_mode & 0o777 == 0o700


def test_text_is_compressed_and_noise_is_not_made_larger(blobs: Blobs) -> None:
    text = blobs.put_bytes(b"the same line\n" * 10_000)
    rest = blobs.put_bytes(noise(100_000))

    sizes = {path.parent.name + path.name: path.stat().st_size for path in files(blobs)}
    assert sizes[text.digest] < 5000
    assert sizes[rest.digest] == 100_001
    assert blobs.used == sum(sizes.values())


def test_a_content_above_the_limit_is_told_but_not_kept(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs", limit=2 * MIB)
    data = noise(2 * MIB + 1)

    stored = blobs.put(BytesIO(data))

    assert (stored.digest, stored.size, stored.stored) == (hashlib.sha256(data).hexdigest(), len(data), False)
    assert files(blobs) == []
    assert not blobs.has(stored.digest)
    assert blobs.put(BytesIO(data[:-1])).stored
    assert not blobs.put_bytes(b"abc", limit=2).stored


@pytest.mark.exhaustive
def test_a_file_larger_than_memory_should_be_is_hashed_in_pieces(tmp_path: Path) -> None:
    """Run where the memory holds less than the file; the file is sparse."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(280 << 20)
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))\n"
        "from cogency_tui.store.blobs import Blobs\n"
        "with open(sys.argv[1], 'rb') as file:\n"
        "    stored = Blobs(Path(sys.argv[2])).put(file)\n"
        "print(stored.size, stored.stored, stored.digest)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(path), str(tmp_path / "blobs")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        run.stdout == f"{280 << 20} False 26832c9bac2ab307625a75fb42b364b46b26b0db90d15eaa3b6e1716284aefee\n"
    )


def test_the_quota_is_kept_to_and_room_comes_back_with_a_clean_up(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs", quota=10_000)
    first = blobs.put_bytes(noise(6000))
    second = noise(5000)

    assert first.stored
    assert not blobs.crowded
    assert not blobs.put_bytes(second).stored
    assert Blobs(blobs.directory, quota=6600).crowded
    # What is there already takes no room.
    assert blobs.put_bytes(noise(6000)).stored
    blobs.clean((), grace=-1)
    assert blobs.put_bytes(second).stored


def test_clean_up_leaves_what_is_referred_to_and_what_was_used_just_now(blobs: Blobs) -> None:
    old, needed, fresh, used = (blobs.put_bytes(text) for text in (b"old", b"needed", b"fresh", b"used"))
    broken_off = blobs.directory / "0123.tmp"
    broken_off.write_bytes(b"half")
    for path in (*files(blobs), broken_off):
        if not path.match(f"*/{fresh.digest[2:]}"):
            os.utime(path, (1, 1))
    assert blobs.put_bytes(b"used").stored

    cleaned = blobs.clean({needed.digest})

    assert cleaned.contents == 2
    assert [blobs.has(each.digest) for each in (old, needed, fresh, used)] == [False, True, True, True]
    assert not broken_off.exists()
    assert blobs.used == sum(path.stat().st_size for path in files(blobs))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-12],
    "empty": lambda data: b"",
    "changed": lambda data: data[:1] + b"\0" + data[2:],
    "form": lambda data: b"?" + data[1:],
    "other": lambda data: b"=other bytes",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("data", [b"line\n" * 500, noise(600)], ids=["text", "noise"])
def test_a_damaged_content_is_an_error_and_put_again_is_whole(blobs: Blobs, data: bytes, damage: str) -> None:
    stored = blobs.put_bytes(data)
    (path,) = files(blobs)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))

    assert not blobs.has(stored.digest)
    with pytest.raises(StoreError, match="damaged"):
        blobs.read(stored.digest, stored.size)
    assert blobs.put_bytes(data).stored
    assert blobs.read(stored.digest, stored.size) == data


def _link_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, _link_to_zeros])
def test_what_is_no_file_in_place_of_a_content_is_an_error(
    blobs: Blobs, make: Callable[[Path], object]
) -> None:
    stored = blobs.put_bytes(b"line\n" * 500)
    (path,) = files(blobs)
    path.unlink()
    make(path)

    assert not blobs.has(stored.digest)
    with pytest.raises(StoreError, match=r"no regular file|Is a directory"):
        blobs.read(stored.digest, stored.size)


def test_a_bomb_in_place_of_a_content_is_not_unpacked(blobs: Blobs) -> None:
    stored = blobs.put_bytes(b"small\n" * 100)
    (path,) = files(blobs)
    path.write_bytes(b"z" + zlib.compress(bytes(32 * MIB)))

    read = 0
    with pytest.raises(StoreError, match="damaged"):  # noqa: PT012
        for piece in blobs.stream(stored.digest, stored.size):
            read += len(piece)
    assert read == 0


def test_a_missing_content_and_a_name_that_is_none_are_errors(blobs: Blobs) -> None:
    with pytest.raises(StoreError, match="missing"):
        blobs.read("0" * 64, 1)
    with pytest.raises(StoreError, match="not a digest"):
        blobs.read("../../etc/passwd", 1)


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("in the way")
    with pytest.raises(StoreError, match="blobs") as caught:
        Blobs(tmp_path / "blobs").put_bytes(b"x")
    assert caught.value.hint


def test_a_source_that_grows_past_the_limit_is_not_kept(tmp_path: Path) -> None:
    class Growing(BytesIO):
        """More at the second reading."""

        grown = False

        def seek(self, offset: int, whence: int = 0, /) -> int:
            if self.grown:
                super().seek(0, 2)
                self.write(bytes(2 * MIB))
            self.grown = self.tell() > 0
            return super().seek(offset, whence)

    blobs = Blobs(tmp_path / "blobs", limit=2 * MIB)
    source = Growing(noise(MIB + 1))
    stored = blobs.put(source)
    assert not stored.stored
    assert files(blobs) == []


def test_threads_that_keep_the_same_content_do_not_meet(blobs: Blobs) -> None:
    data = noise(300_000)
    failures: list[BaseException] = []

    def put() -> None:
        try:
            assert blobs.put_bytes(data).stored
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=put) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(files(blobs)) == 1

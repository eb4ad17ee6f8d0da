"""`cogency-tui sync` as a user's shell runs it on two machines, however it ends."""

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import pytest

from cogency_tui.cli import sync
from cogency_tui.errors import UsageError
from cogency_tui.store import events
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.directory_sync import AGAIN
from cogency_tui.store.event_chain import verify
from cogency_tui.store.increments import own_conversations
from cogency_tui.store.store import Store
from cogency_tui.temporary_files import prefix
from tests import ROOT
from tests.cli.conftest import Run
from tests.exhaustive import sampled
from tests.store.test_directory_sync import Machine, assert_same
from tests.store.test_export_import import full
from tests.store.test_increments import begun, said

KEY_LINE = "AGE-SECRET-KEY-1"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    directory = tmp_path / "shared"
    directory.mkdir()
    return directory


def on(name: str, tmp_path: Path, **more: str) -> dict[str, str]:
    """The environment of a machine."""
    return {"COGENCY_DATA": str(tmp_path / name), "USER": name, "LOGNAME": name, **more}


def give_key(tmp_path: Path, there: str, here: str) -> None:
    (tmp_path / here).mkdir(exist_ok=True)
    (tmp_path / here / "sync.key").write_bytes((tmp_path / there / "sync.key").read_bytes())
    (tmp_path / here / "sync.key").chmod(0o600)


def test_two_machines(run: Run, shared: Path, tmp_path: Path) -> None:
    ada, bob = on("ada", tmp_path), on("bob", tmp_path)
    run("run", "read greet.py", **ada)

    first = run("sync", str(shared), **ada)

    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("Sent 1 conversation (")
    key = tmp_path / "ada/sync.key"
    assert f"Created the key {key}." in first.stderr
    assert KEY_LINE not in first.stderr + first.stdout
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    refused = run("sync", str(shared), **bob)
    assert refused.returncode == 2
    assert "has bundles, and this machine has no key for them" in refused.stderr
    assert not (tmp_path / "bob/sync.key").exists()

    give_key(tmp_path, "ada", "bob")
    second = run("sync", str(shared), **bob)
    assert second.returncode == 0, second.stderr
    assert second.stdout.startswith("Received 1 conversation (")
    assert " from ada@" in second.stdout
    listed = run("conversations", "list", **bob).stdout
    assert "(from ada@" in listed
    assert "read greet.py" in listed
    assert run("sync", str(shared), **bob).stdout == "Nothing new.\n"
    assert "read greet.py" in run("recall", "greet", **bob).stdout
    shown = run("conversations", "show", listed.split()[0], **bob)
    assert "(from ada@" in shown.stdout
    found = json.loads(run("sync", str(shared), "--json", **bob).stdout)
    assert found["sent"] == {"conversations": 0, "events": 0}
    assert found["problems"] == []


def test_a_fork_of_a_received_conversation_is_listed_as_ours(run: Run, shared: Path, tmp_path: Path) -> None:
    ada, bob = on("ada", tmp_path), on("bob", tmp_path)
    run("run", "read greet.py", **ada)
    run("sync", str(shared), **ada)
    give_key(tmp_path, "ada", "bob")
    run("sync", str(shared), **bob)
    [id] = [line.split()[0] for line in run("conversations", "list", **bob).stdout.splitlines()]

    run("run", "find greet", "--conversation", id, **bob)

    lines = run("conversations", "list", **bob).stdout.splitlines()
    assert sorted(line.rpartition("  ")[2].partition("@")[0] for line in lines) == [
        "(fork of an imported conversation)",
        "(from ada",
    ]


def test_the_key_is_in_the_environment_or_a_file(run: Run, shared: Path, tmp_path: Path) -> None:
    ada, bob = on("ada", tmp_path), on("bob", tmp_path)
    run("run", "read greet.py", **ada)
    run("sync", str(shared), **ada)
    file = tmp_path / "ada/sync.key"
    [key] = [line for line in file.read_text().splitlines() if line.startswith(KEY_LINE)]

    assert run("sync", str(shared), "--dry-run", COGENCY_SYNC_KEY=key, **bob).stdout.startswith(
        "To receive: 1"
    )
    by_file = run("sync", str(shared), "--key", str(file), **bob)
    assert by_file.stdout.startswith("Received 1")
    assert not (tmp_path / "bob/sync.key").exists()

    wrong = run("sync", str(shared), COGENCY_SYNC_KEY="nonsense", **bob)
    assert wrong.returncode == 2
    assert "COGENCY_SYNC_KEY is not a key for sync." in wrong.stderr
    assert "nonsense" not in wrong.stderr
    (tmp_path / "other").write_text("# a comment\n")
    for name in ("other", "nowhere"):
        bad = run("sync", str(shared), "--key", str(tmp_path / name), **bob)
        assert bad.returncode == 2
        assert name in bad.stderr
    file.chmod(0o644)
    assert f"chmod 600 {file}" in run("sync", str(shared), "--key", str(file), **bob).stderr


def test_a_key_beside_the_bundles_is_refused(run: Run, shared: Path, tmp_path: Path) -> None:
    ada = on("ada", tmp_path)
    run("run", "read greet.py", **ada)
    run("sync", str(shared), **ada)
    key = shared / "sub" / "sync.key"
    key.parent.mkdir()
    (tmp_path / "ada/sync.key").rename(key)
    (tmp_path / "link").symlink_to(shared)

    for given in (key, tmp_path / "link/sub/sync.key"):
        refused = run("sync", str(shared), "--key", str(given), **ada)
        assert refused.returncode == 2
        assert f"The key {given} is in {shared}: who gets the bundles can read them." in refused.stderr
    above = run("sync", str(tmp_path), **ada)
    assert above.returncode == 2
    assert "is in" in above.stderr


def test_a_second_key_is_written_only_if_the_user_says_so(run: Run, shared: Path, tmp_path: Path) -> None:
    ada, bob = on("ada", tmp_path), on("bob", tmp_path)
    for machine in (ada, bob):
        run("run", "read greet.py", **machine)
    run("sync", str(shared), **ada)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run("sync", str(elsewhere), **bob)

    refused = run("sync", str(shared), **bob)
    assert refused.returncode == 2
    assert "encrypted with another key" in refused.stderr
    assert len([*shared.iterdir()]) == 1

    allowed = run("sync", str(shared), "--new-key", **bob)
    assert allowed.returncode == 0
    assert "1 bundle left out: encrypted with another key" in allowed.stderr
    assert len([*shared.iterdir()]) == 2


def test_edits_are_listed_where_their_directory_is_not(
    run: Run, project: Path, shared: Path, tmp_path: Path
) -> None:
    ada, bob = on("ada", tmp_path), on("bob", tmp_path)
    run("run", "replace 'hello' with 'bye' in greet.py", "--permissions", "edits", **ada)
    run("sync", str(shared), **ada)
    give_key(tmp_path, "ada", "bob")
    project.rename(tmp_path / "gone")
    here = tmp_path / "here"
    here.mkdir()
    run("sync", str(shared), cwd=here, **bob)
    [listed] = run("conversations", "list", "--all", "--json", cwd=here, **bob).stdout.splitlines()
    id = json.loads(listed)["id"]

    edits = run("edits", "list", "--conversation", id, cwd=here, **bob)
    reverted = run("edits", "revert", "--conversation", id, "--dry-run", cwd=here, **bob)

    assert edits.returncode == 0, edits.stderr
    assert "greet.py" in edits.stdout
    assert reverted.returncode == 1
    assert f"The directory of this conversation, {project}, is not here." in reverted.stderr


def test_what_a_killed_sync_has_left_is_removed_an_hour_later(run: Run, shared: Path, tmp_path: Path) -> None:
    ada = on("ada", tmp_path)
    script = (
        "import os, pathlib, signal, sys; from cogency_tui.temporary_files import prefix;"
        "[(pathlib.Path(sys.argv[1]) / f\".{prefix('sync')}{n}.tmp\").touch() for n in (1, 2)];"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run(
        [sys.executable, "-c", script, shared], env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
    )
    old, recent = sorted(shared.iterdir())
    alive, other = shared / f".{prefix('sync')}3.tmp", shared / ".syncthing.cogency-sync-1.tmp"
    for file in (alive, other):
        file.touch()
    age = time.time() - 3_700
    for file in (old, alive, other):
        os.utime(file, (age, age))

    assert run("sync", str(shared), **ada).returncode == 0

    assert {*shared.iterdir()} == {recent, alive, other}


def test_a_directory_is_not_made_up(run: Run, tmp_path: Path) -> None:
    done = run("sync", str(tmp_path / "unmounted"))
    assert done.returncode == 2
    assert "is no directory" in done.stderr
    assert not (tmp_path / "unmounted").exists()


def test_a_damaged_bundle_is_named(run: Run, shared: Path, tmp_path: Path) -> None:
    ada, bob = on("ada", tmp_path), on("bob", tmp_path)
    run("run", "read greet.py", **ada)
    run("sync", str(shared), **ada)
    [file] = shared.iterdir()
    data = file.read_bytes()
    file.write_bytes(data[:-20])
    give_key(tmp_path, "ada", "bob")

    done = run("sync", str(shared), **bob)

    assert done.returncode == 1
    assert f"{file.name}: it is cut off or damaged. {AGAIN}" in done.stderr
    file.write_bytes(data)
    assert run("sync", str(shared), **bob).returncode == 0


async def test_sync_needs_an_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(_name: str) -> None:
        return None

    monkeypatch.setattr(sync, "find_spec", missing)
    async with await Store.open(tmp_path / "data") as store:
        with pytest.raises(UsageError) as raised:
            await sync.sync_directory(store, tmp_path, sync.SyncOptions())
    assert "pip install 'cogency-tui[sync]'" in raised.value.advice


def started(directory: Path, environ: dict[str, str], *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "cogency_tui", "sync", str(directory), *options],
        env={**os.environ, **environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(directory: Path, environ: dict[str, str]) -> str:
    """Return the output of a sync that has succeeded."""
    with started(directory, environ) as process:
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


async def test_following_goes_on_until_an_interrupt(shared: Path, tmp_path: Path) -> None:
    """What another machine sends meanwhile is received, and the sum of it printed."""
    ada, bob = on("ada", tmp_path), on("bob", tmp_path)
    async with await Store.open(tmp_path / "ada") as store:
        machine = Machine(store, shared)
        await store.append((await begun(machine)).id, said("one"))
    process = started(shared, bob, "--follow")
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "Nothing new.\n"
        give_key(tmp_path, "bob", "ada")
        sent = started(shared, ada)
        assert sent.communicate(timeout=60)[0] == "Sent 1 conversation (1 event).\n"
        assert process.stdout.readline().startswith("Received 1 conversation (1 event) from ")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("kills", sampled([4, 200], 1))
async def test_a_killed_sync_loses_nothing_and_stores_nothing_twice(
    kills: int, shared: Path, tmp_path: Path
) -> None:
    chance = random.Random(kills)
    names = ("ada", "bob")
    for name in names:
        await _fill(tmp_path / name, 2_500)
    began = time.monotonic()
    assert "Sent 2 conversations" in finished(shared, on("ada", tmp_path))
    took = time.monotonic() - began
    give_key(tmp_path, "ada", "bob")
    for number in range(kills):
        name = chance.choice(names)
        if chance.random() < 0.5:
            await _fill(tmp_path / name, 20)
        process = started(shared, on(name, tmp_path))
        try:
            process.wait(chance.uniform(0.1, took * 1.5))
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), number

    output = ""
    for name in (*names, *names):
        output = finished(shared, on(name, tmp_path))
    assert output == "Nothing new.\n"
    machines = [Machine(await Store.open(tmp_path / name), shared) for name in names]
    try:
        for each, other in (machines, reversed(machines)):
            assert (await each.store.database.read(verify)).is_whole
            for id in await each.store.database.read(own_conversations):
                await assert_same(each, other, id)
            sql = "SELECT count(*), sum(turns) FROM conversations"
            each.sent = {}
        counts = [
            await each.store.database.read(lambda connection: connection.execute(sql).fetchone())
            for each in machines
        ]
        assert counts[0] == counts[1]
    finally:
        for each in machines:
            await each.store.close()


async def _fill(directory: Path, count: int) -> None:
    """Let a user work on a machine: new conversations with edits, and a long one that goes on."""
    async with await Store.open(directory) as store:
        machine = Machine(store, directory)
        mine = [one for one in await store.conversations(limit=99) if not one.source]
        conversation = mine[-1] if mine else await begun(machine)
        await full(store, await begun(machine), Blobs(directory / "blobs"))

        def work(connection: Any) -> None:
            for number in range(count):
                events.append(connection, conversation.id, cast("Any", said(f"said {number} " * 20)))

        await store.database.write(work)

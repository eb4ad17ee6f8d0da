"""The store and the configuration after everything that can happen to them, by the whole program."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.peers.chat import ChatPeer
from tests.safety.arena import Arena, Ran, block

pytestmark = pytest.mark.exhaustive

PROSE = "It sleeps before it checks whether another attempt is left. " * 100


async def test_of_two_instances_in_one_project_one_is_killed_and_the_other_goes_on(arena: Arena) -> None:
    mark = block(("shell", {"command": "echo ran >> runs.txt"}))
    async with ChatPeer([f"On it.\n{mark}", PROSE], token=8, latency=0.02) as slow:
        arena.config.write_text(f'[providers.slow]\nbase_url = "{slow.base_url}"\nmodel = "m"\n')
        killed = await asyncio.create_subprocess_exec(
            *arena.command(
                "run", "first", "--provider", "slow", "--permissions", "auto", "--json", "--chunks"
            ),
            cwd=arena.project,
            env=arena.environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert killed.stdout is not None
        shown = ""
        while len(shown) < 200:
            event = json.loads(await killed.stdout.readline())
            shown += event["content"] if event["type"] == "respond" else ""
        beginning = shown
        # What was shown half a second ago and more is in the store; three, where the machine is busy.
        await asyncio.sleep(3.0)
        other = asyncio.create_task(
            arena.converse([f"Me too.\n{mark}", PROSE], peer=ChatPeer([f"Me too.\n{mark}", PROSE], token=400))
        )
        await asyncio.sleep(0.3)
        killed.kill()
        await killed.wait()
        ran = await other
    assert ran.status == 0
    assert ran.answer.endswith(PROSE.strip())
    assert len((arena.project / "runs.txt").read_text().splitlines()) == 2
    _sound(arena)
    listed = await _events(arena, "conversations", "list", "--json")
    [first] = [each for each in listed if each["title"] == "first"]
    again = await arena.converse(["And on."], "--conversation", first["id"])
    assert again.answer == "And on."
    stored = await _events(arena, "conversations", "show", first["id"], "--json")
    assert "".join(event["content"] for event in stored if event["type"] == "respond").startswith(
        beginning[:100]
    )
    assert [event for event in stored if event.get("interrupted")]
    # The call that was done before is not done again.
    assert len((arena.project / "runs.txt").read_text().splitlines()) == 2


async def test_with_a_clock_that_was_set_back_order_is_that_of_what_happened(
    arena: Arena, tmp_path: Path
) -> None:
    back = tmp_path / "back"
    back.mkdir()
    (back / "sitecustomize.py").write_text(
        "import time\nnow = time.time\ntime.time = lambda: now() - 400 * 86400\n"
        "now_ns = time.time_ns\ntime.time_ns = lambda: now_ns() - 400 * 86400 * 10**9\n"
    )
    assert (await arena.converse(["One."])).status == 0
    [known] = await _events(arena, "conversations", "list", "--json")
    later = await arena.converse(
        [block(("edit", {"file": "plain.txt", "old": "plain", "new": "fancy"})), "Two."],
        "--conversation",
        known["id"],
        environ={"PYTHONPATH": str(back)},
        forked=False,
    )
    assert later.answer == "Two."
    assert later.events[0]["timestamp"] < known["updated"] - 300 * 86400
    third = await arena.converse(["Three."], "--conversation", known["id"])
    assert third.answer == "Three."
    shown = await arena.run("conversations", "show", known["id"], "--json")
    edits, reverted = [
        await arena.run("edits", action, "--conversation", known["id"]) for action in ("list", "revert")
    ]
    stored = shown.events
    said = [event["content"] for event in stored if event["type"] in ("user", "respond")]
    assert said == ["go", "One.", "go", "Two.", "go", "Three."]
    assert "plain.txt" in edits.stdout
    assert reverted.status == 0
    assert (arena.project / "plain.txt").read_text() == "plain\n"


PLANTED = (
    '{"type": "respond", "content": ',
    "",
    "null",
    "[" * 100_000,
    '{"type": "user", "timestamp": "yesterday", "content": 5}',
    '{"timestamp": 1e999, "content": "x", "id": "r"}',
    '{"timestamp": 1, "content": "\\ud800\\u001b[2J", "id": "r"}',
    "\x1b[2J\x00\udc80",
)


async def test_rows_that_were_planted_cost_themselves_only(arena: Arena) -> None:
    assert (await arena.converse([block(("read", {"file": "plain.txt"})), "One."])).status == 0
    [known] = await _events(arena, "conversations", "list", "--json")
    database = sqlite3.connect(arena.data / "cogency.db")
    columns = [row[1] for row in database.execute("PRAGMA table_info(events)")]
    [last] = database.execute(
        "SELECT * FROM events WHERE type = 'respond' ORDER BY rowid DESC LIMIT 1"
    ).fetchall()
    for number, planted in enumerate(PLANTED):
        row = dict(zip(columns, last, strict=True))
        row["body"] = planted.encode("utf-8", "surrogatepass")
        row["id" if "id" in row else columns[0]] = 1000 + number
        names = ", ".join(row)
        database.execute(
            f"INSERT INTO events ({names}) VALUES ({', '.join('?' * len(row))})", [*row.values()]
        )
    database.execute("UPDATE conversations SET title = ?", ("\x1b]0;PWNED\x07[/]\u202e",))
    database.commit()
    database.close()

    commands = (["show", known["id"]], ["show", known["id"], "--json"], ["list"])
    shown = [
        await arena.run(*each) for each in (*(("conversations", *each) for each in commands), ("doctor",))
    ]
    assert [ran.status for ran in shown[:3]] == [0, 0, 0]
    assert "One." in shown[0].stdout
    assert shown[3].status in (0, 1)
    ran = await arena.converse(["Two."], "--conversation", known["id"])
    assert ran.answer == "Two."
    _sound(arena)


BROKEN = {
    "bom": (b"\xef\xbb\xbfmode = 'replay'\n", ""),
    "bom and utf-16": ("\ufeffmode = 'replay'\n".encode("utf-16"), "config.toml"),
    "type": (b"mode = 3\n", "mode"),
    "types below": (b"[providers.mine]\nbase_url = []\n", "base_url"),
    "table for value": (b"[mode]\nx = 1\n", "mode"),
    "unknown": (b"sudo = true\n", "sudo"),
    "syntax": (b"mode = [", "config.toml"),
    "twice": (b"mode = 'auto'\nmode = 'auto'\n", "config.toml"),
    "encoding": (b"mode = '\xff'\n", "config.toml"),
    "control": (b"mode = '\x1b[2J'\n", "config.toml"),
    "control in a name": (b"'\x1b' = 1\n", "config.toml"),
    "nul": (b"\x00" * 100, "config.toml"),
    "nested": (b"x = " + b"[" * 100_000, "config.toml"),
    "nested tables": (b"[" + b"a." * 20_000 + b"a]\n", "config.toml"),
    "digits": (b"max_iterations = " + b"9" * 10_000, "config.toml"),
    "huge number": (b"max_iterations = 99999999999999999999\n", "max_iterations"),
    "infinite": (b"max_iterations = inf\n", "max_iterations"),
    "date": (b"mode = 2026-99-99\n", "config.toml"),
    "10 MB of comment": (b"# " + b"x" * (10 << 20) + b"\nmode = 'replay'\n", "more than 1,048,576 bytes"),
    "10 MB of nothing": (b"x" * (10 << 20), "config.toml"),
    "very many keys": (b"".join(b"k%d = 1\n" % number for number in range(20_000)), "config.toml"),
}


async def test_a_broken_configuration_is_told_with_its_place_and_left_as_it_is(arena: Arena) -> None:
    paths = [arena.config.with_name(f"{number}.config.toml") for number in range(len(BROKEN))]
    for path, (content, _said) in zip(paths, BROKEN.values(), strict=True):
        path.write_bytes(content)
    ask = ["run", "read plain.txt", "--provider", "offline"]
    runs = await arena.run_each(
        [ask] * len(paths), environs=[{"COGENCY_CONFIG": str(path)} for path in paths]
    )
    for ran, path, (name, (content, said)) in zip(runs, paths, BROKEN.items(), strict=True):
        assert ran.status == (2 if said else 0), (name, ran.stderr)
        assert said in ran.stderr, (name, ran.stderr[:500])
        assert len(ran.stderr) < 3000, name
        assert path.read_bytes() == content, name


async def _events(arena: Arena, *arguments: str) -> list[dict[str, Any]]:
    ran: Ran = await arena.run(*arguments)
    assert ran.status == 0, ran.stderr
    return ran.events


def _sound(arena: Arena) -> None:
    database = sqlite3.connect(arena.data / "cogency.db")
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()

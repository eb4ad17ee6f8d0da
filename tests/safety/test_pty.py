"""The real program in a real terminal, fed hostile text: of all bytes that it writes, none are theirs."""

import asyncio
import os
import pty
import re
import time

import pytest

from tests import forkserver
from tests.peers.chat import ChatPeer
from tests.peers.server import Fault
from tests.safety.arena import Arena, block
from tests.safety.hostile import CONTROLS, HIDDEN
from tests.tui.pty import Terminal

pytestmark = pytest.mark.pty

SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
OURS = re.compile(
    rb"\x1b\[[0-9;:]*m|\x1b\[\d+;\d+H|\x1b\[H|\x1b\[\?\d+(;\d+)*\$?[hlp]|\x1b\[[<>=]?\d*(;\d+)*u|\x1b\[2[23];2t|\x1b\[c"
    rb"|\x1b\[\?\d+(;\d+)*h|\x1b\[2J|\x1b\]2;[^\x1b\x07]* cogency\x07|\x1b\]22;[a-z-]*\x07|\x1b[78]|\x1b\[K|\x1b\[\?u|\x1b\[14t"
    rb"|\x1b\]11;\?\x1b\\"
)
"""What Textual writes (the pointer's shape is one of it), our window title, and the question for the background."""

THEIRS = (b"\x1b[31A", b"\x1b[38;5;m", b"\x1b[99M", b"\x1b[10@", b"\x1bc", b"\x1b(0", b"\x1b#8", b"\x1b[6n")


ALL = (
    "".join(f"{name}: {text}\n\n" for name, text in {**CONTROLS, **HIDDEN}.items())
    .replace("\ud800", "")
    .replace("\udfff", "")
)
PRINTED = "".join(f"\\{byte:03o}" for byte in ALL.encode()[:3000])


@pytest.mark.exhaustive
async def test_no_byte_of_theirs_reaches_the_terminal(arena: Arena) -> None:
    for text in CONTROLS.values():
        name = text.replace("/", "∕").replace("\0", "")[:60]
        (arena.project / name).write_text(ALL)
    (arena.project / ".git").mkdir()
    (arena.project / ".git" / "HEAD").write_text(f"ref: refs/heads/{CONTROLS['title']}{CONTROLS['clear']}\n")
    calls = block(
        ("shell", {"command": f"printf '{PRINTED}'; : {CONTROLS['cursor up over a question']}"}),
        ("read", {"file": CONTROLS["clear"]}),
        ("list", {}),
    )
    first = f"<think>{ALL}</think>{ALL}\n```\n{ALL}\n```\n{calls}"
    # Each sequence is cut in two.
    cut = Fault(deltas=re.split(r"(?<=\x1b)", first))
    async with ChatPeer([f"{ALL} All done."], faults=[cut], token=5) as peer:
        arena.config.write_text(
            f'provider = "mine"\n[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m[/]"\n'
        )

        def drive() -> bytes:
            with Terminal(
                cwd=arena.project,
                data=arena.data,
                columns=140,
                rows=45,
                environ={"COGENCY_CONFIG": str(arena.config)},
            ) as terminal:
                terminal.wait_for("Ask, @file")
                terminal.send("go\r")
                # The first has a control character in it, and is asked about even here.
                text = terminal.wait_for("say why", timeout=60)
                assert "␛" in text
                for _ in range(60):
                    # A yes counts after a pause in typing.
                    time.sleep(1)
                    terminal.send("y")
                    if "All done." in terminal.text:
                        break
                terminal.wait_for("All done.", timeout=60)
                assert terminal.leave() == 0
                return bytes(terminal.raw)

        received = await asyncio.to_thread(drive)
    for each in THEIRS:
        assert each not in received, each
    foreign = {each for each in SEQUENCE.findall(received) if not OURS.fullmatch(each)}
    assert not [each for each in foreign if b"PWNED" in each or each[1:2] in b"]PX^_c#(N~"], foreign
    left = SEQUENCE.sub(b"", received).decode("utf-8", "replace")
    assert not re.search("[\x00-\x06\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", left)

    shown = await asyncio.to_thread(
        _in_a_terminal, arena, ("conversations", "list"), ("conversations", "list", "--json")
    )
    [id] = set(re.findall(r"^(\S+)  \d{4}-", shown.replace("\r", ""), re.MULTILINE))
    shown += await asyncio.to_thread(
        _in_a_terminal,
        arena,
        ("conversations", "show", id),
        ("conversations", "show", id, "--json"),
        *(("conversations", "export", id, "--format", form) for form in ("md", "html", "jsonl")),
        ("edits", "list"),
        ("doctor",),
    )
    assert "All done." in shown
    assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


def _in_a_terminal(arena: Arena, *commands: tuple[str, ...]) -> str:
    """What commands write when a terminal is all that they have."""
    received = b""
    for command in commands:
        primary, secondary = pty.openpty()
        program = forkserver.start(
            command, arena.project, arena.environ, stdin=secondary, stdout=secondary, stderr=secondary
        )
        os.close(secondary)
        while True:
            try:
                data = os.read(primary, 65536)
            except OSError:
                break
            if not data:
                break
            received += data
        program.wait()
        os.close(primary)
    return received.decode("utf-8")


def test_the_patterns_tell_theirs_from_ours() -> None:
    theirs = {each for text in CONTROLS.values() for each in SEQUENCE.findall(text.encode())}
    assert len([each for each in theirs if not OURS.fullmatch(each)]) > 25
    assert any(b"PWNED" in each for each in theirs)

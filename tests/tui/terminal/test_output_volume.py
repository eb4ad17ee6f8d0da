"""While only a spinner and a clock move, little is written."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.peers.chat import ChatPeer
from tests.peers.server import Fault
from tests.tui.pty import Terminal

pytestmark = pytest.mark.pty

LITTLE = 8_000
"""Bytes in two seconds, in which a pane redrawn with each frame takes 60,000."""


async def test_thinking_writes_little(tmp_path: Path) -> None:
    thinks = Fault(reasoning="Let me think about it.", hang="within", after=2)
    async with ChatPeer(always=thinks, model="m") as peer:
        config = tmp_path / "config.toml"
        config.write_text(f'provider = "mine"\n[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\n')

        def drive() -> None:
            with Terminal(
                cwd=tmp_path,
                data=tmp_path / "data",
                columns=160,
                rows=45,
                environ={"COGENCY_CONFIG": str(config)},
            ) as terminal:
                terminal.wait_for("mine/m")
                terminal.send("go on\r")
                terminal.wait_for(lambda text: re.search(r"Thinking\W+2 s", text))
                before = len(terminal.raw)
                terminal.wait_for(lambda text: re.search(r"Thinking\W+4 s", text))
                assert len(terminal.raw) - before < LITTLE

        await asyncio.to_thread(drive)

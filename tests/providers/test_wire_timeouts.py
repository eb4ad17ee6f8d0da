"""Endpoints that fall silent, over each wire protocol. The clock is put on when they have, so that nothing
has to arrive within a time-out, however slow the machine is."""

import asyncio
import logging

import pytest

from cogency_tui.errors import ProviderTimeoutError
from cogency_tui.providers.http_transport import Timeouts
from tests.peers.server import Fault
from tests.providers.asked import MESSAGES, PATIENCE, VENDORS, Asked, Vendor, time_passes, until

TIMEOUTS = Timeouts(first_byte=300, idle=200)

every_wire = pytest.mark.parametrize("vendor", VENDORS, ids=str)


@pytest.mark.parametrize("hang", ["headers", "body"])
@every_wire
async def test_silence_before_the_first_byte_times_out_and_is_retried(
    vendor: Vendor, hang: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # httpx says it when the head of an answer has come.
    caplog.set_level(logging.INFO, "httpx")
    async with vendor.peer(["Hello."], faults=[Fault(hang=hang)]) as peer:
        asked = Asked()
        provider = vendor.provider(peer, asked, timeouts=TIMEOUTS)
        task = asyncio.create_task(asked.read(provider.stream(MESSAGES)))
        await until(lambda: peer.requests if hang == "headers" else "HTTP Request" in caplog.text)
        time_passes(monkeypatch, TIMEOUTS.first_byte)
        await asyncio.wait_for(task, PATIENCE)
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), PATIENCE)
        await provider.close()
    assert asked.text == "Hello."
    assert asked.waits == [0.5]
    assert ["sent nothing for 300 s" in notice.cause for notice in asked.retries] == [True]


@every_wire
async def test_silence_after_the_first_token_times_out_and_what_came_is_kept(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with vendor.peer(always=Fault(hang="within", after=vendor.opening + 2)) as peer:
        asked = Asked()
        provider = vendor.provider(peer, asked, timeouts=TIMEOUTS)
        task = asyncio.create_task(asked.read(provider.stream(MESSAGES)))
        await until(lambda: asked.text == "Hello.")
        time_passes(monkeypatch, TIMEOUTS.idle)
        with pytest.raises(ProviderTimeoutError, match="sent nothing for 200 s") as caught:
            await asyncio.wait_for(task, PATIENCE)
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), PATIENCE)
        await provider.close()
    assert caught.value.hint
    assert asked.text == "Hello."
    assert len(peer.requests) == 1
    assert not asked.waits

"""What goes wrong on the way to the model, by the whole program: each is told or tried again as what it is,
what was shown stays, and a call is run once or not at all."""

import asyncio
import json
import socket
from collections.abc import Mapping

import pytest

from tests.peers.chat import ChatPeer
from tests.peers.server import Fault
from tests.safety.arena import Arena, Case, Ran, block

KEY = "sk-proj-very-secret-0123456789abcdef"
MARK = block(("shell", {"command": "echo ran >> runs.txt"}))
AT_ONCE = {"retry-after": "0"}


def vendor(message: str, code: str = "") -> str:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": code or None}})


REPORTED = {
    "401": (Fault(status=401, body=vendor(f"Incorrect API key: {KEY}\x1b[2J", "invalid_api_key")), "key"),
    "403": (Fault(status=403, body=vendor("Country not supported")), "Country not supported"),
    "404": (Fault(status=404, body=vendor("no such model", "model_not_found")), "model"),
    "400": (Fault(status=400, body=vendor("bad [@click=app.quit] request")), "bad [@click=app.quit] request"),
    "html": (Fault(status=502, headers=AT_ONCE, body="<html>\x1b]0;x\x07Bad gateway" + "x" * 100_000), "502"),
    "200 that is an error": (
        Fault(body=vendor("insufficient funds", "insufficient_quota")),
        "insufficient funds",
    ),
    "200 that is a page": (Fault(body="<!doctype html><title>Sign in</title>", content_type="text/html"), ""),
    "empty body": (Fault(body="", content_type="text/event-stream"), ""),
    "redirect": (
        Fault(status=302, headers={"location": "http://169.254.169.254/latest"}, body=""),
        "redirect",
    ),
    "binary": (Fault(body="\x00\x01\x02\ufffd" * 1000, content_type="application/octet-stream"), ""),
    "bad retry-after": (Fault(status=400, headers={"retry-after": "9" * 4000}, body="{}"), ""),
}


TRIED_AGAIN = {
    "429": Fault(status=429, headers=AT_ONCE, body=vendor("Slow down.")),
    "500": Fault(status=500, headers=AT_ONCE, body="oops"),
    "503": Fault(status=503, headers=AT_ONCE, body=""),
    "529": Fault(status=529, headers=AT_ONCE, body=vendor("Overloaded")),
    "reset": Fault(drop="before"),
}


async def test_what_may_pass_is_tried_again_and_nothing_is_run_twice(arena: Arena) -> None:
    faults = [fault for fault in TRIED_AGAIN.values() for _ in range(2)]
    peer = ChatPeer([MARK, "Done."], faults=[*faults[:3], None, *faults[3:6]])
    ran = await arena.converse([], peer=peer)
    assert ran.status == 0
    assert ran.answer == "Done."
    assert _runs(arena) == 1


CUT = {
    "in mid-answer": Fault(drop="within", after=3),
    "in an execute block": Fault(drop="within", after=5),
    "malformed": Fault(frame="{not json", after=4),
    "an error in the stream": Fault(frame=vendor("The server had an error"), after=4),
    "without an end": Fault(no_done=True, no_finish=True),
    "one byte a packet": Fault(one_byte=True),
    "comments": Fault(comments=True),
    "no usage": Fault(no_usage=True),
    "a finish of its own": Fault(finish="content_filter"),
}


BEGUN = "I begin to say something.\n"


@pytest.mark.exhaustive
async def test_each_failure_is_told_or_tried_again_as_what_it_is(arena: Arena) -> None:
    cases = {
        **{name: Case(always=fault) for name, (fault, _said) in REPORTED.items()},
        **{name: Case(faults=[fault]) for name, fault in TRIED_AGAIN.items()},
        **{
            name: Case([f"{BEGUN}{MARK}", f"Again.\n{MARK}", "Done."], faults=[fault], token=20)
            for name, fault in CUT.items()
        },
    }
    assert len(cases) == len(REPORTED) + len(TRIED_AGAIN) + len(CUT)
    # All in one process, the start of which is most of what they cost.
    runs = await arena.converse_each(cases, settings='key_env = "MINE"', environ={"MINE": KEY})
    _what_cannot_be_helped_is_told_for_what_it_is(arena, runs)
    _what_is_tried_again_is_told_while_it_is_waited(runs)
    _what_came_of_a_broken_stream_is_kept_and_a_call_run_once_or_never(arena, runs)


def _what_cannot_be_helped_is_told_for_what_it_is(arena: Arena, runs: Mapping[str, Ran]) -> None:
    for name, (_fault, said) in REPORTED.items():
        ran = runs[name]
        assert ran.status == 1, name
        assert [event["type"] for event in ran.events[-2:]] == ["error", "end"], name
        assert said.lower() in ran.errors.lower(), (name, ran.errors)
        assert len(ran.errors) < 1500, name
        assert KEY not in ran.stdout + ran.stderr
    stored = b"".join(path.read_bytes() for path in arena.data.rglob("*") if path.is_file())
    assert KEY.encode() not in stored


def _what_is_tried_again_is_told_while_it_is_waited(runs: Mapping[str, Ran]) -> None:
    for name in TRIED_AGAIN:
        ran = runs[name]
        assert (ran.status, ran.answer) == (0, "Hi."), name
        [notice] = [event["payload"] for event in ran.of("error")]
        assert notice["notice"], name
        assert name in notice["error"] or name == "reset", notice


def _what_came_of_a_broken_stream_is_kept_and_a_call_run_once_or_never(
    arena: Arena, runs: Mapping[str, Ran]
) -> None:
    done: list[str] = []
    for name in CUT:
        ran = runs[name]
        own = [event["id"] for event in ran.of("result") if not event["payload"]["error"]]
        assert set(own) <= {event["id"] for event in ran.of("call")}
        assert ran.answer.startswith("I begin"), name
        assert ran.status in (0, 1), name
        done += own
    assert len(done) == len(set(done)) == _runs(arena) > 0
    for name in ("malformed", "an error in the stream", "in mid-answer", "in an execute block"):
        assert runs[name].of("error"), name


@pytest.mark.exhaustive
async def test_nobody_listens_and_somebody_hangs_up(arena: Arena) -> None:
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    arena.config.write_text(f'[providers.mine]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "m"\n')
    go = ("run", "go", "--provider", "mine", "--json")
    ran = await arena.run(*go)
    assert ran.status == 1
    assert "Nothing is listening" in ran.errors

    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x1b[2J\x15\x03\x01 no http at all\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", port)
    async with server:
        ran = await arena.run(*go)
    assert ran.status == 1
    assert ran.errors


def _runs(arena: Arena) -> int:
    path = arena.project / "runs.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0

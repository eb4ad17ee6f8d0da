"""`run --max-cost` and `run --timeout`: the turn ends with status 1, and says why."""

import asyncio

import pytest

from cogency_tui.config.schema import config_path
from tests.cli.conftest import Run
from tests.peers.chat import ChatPeer
from tests.peers.server import Fault

PRICES = '["mine/m"]\nprices = { input = 1000, output = 1000 }\n'


def configure(address: str) -> None:
    path = config_path()
    path.parent.mkdir(parents=True)
    path.write_text(f'provider = "mine"\n[providers.mine]\nbase_url = "{address}"\nmodel = "m"\n')
    path.with_name("models.toml").write_text(PRICES)


async def test_a_turn_that_would_cost_more_is_not_begun(run: Run) -> None:
    async with ChatPeer(lambda _context: "Fine.") as peer:
        # By this address it is none of this machine's, whose models have no price.
        configure(peer.base_url.replace("127.0.0.1", "0.0.0.0"))
        done = await asyncio.to_thread(run, "run", "hi", "--max-cost", "0.01")
        assert (done.returncode, done.stdout) == (1, "")
        assert peer.requests == []
        refused = "Request not sent (no user is available to approve it). Spending limit per turn: $0 of"
        assert refused in done.stderr
        assert "budget.turn.hard in config.toml" in done.stderr
        assert "--permissions" not in done.stderr

        done = await asyncio.to_thread(run, "run", "hi", "--max-cost", "1000")
        assert (done.returncode, done.stdout) == (0, "Fine.\n")


def test_tokens_are_counted_where_there_is_no_price(run: Run) -> None:
    done = run("run", "hello", COGENCY_BUDGET_TURN_HARD_TOKENS="10")
    assert done.returncode == 1
    assert "Token limit per turn: 0 of 10 tokens used" in done.stderr
    assert done.stdout == ""


async def test_a_turn_that_takes_too_long_is_stopped(run: Run) -> None:
    async with ChatPeer(always=Fault(hang="headers")) as peer:
        configure(peer.base_url)
        done = await asyncio.to_thread(run, "run", "hi", "--timeout", "0.2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Error: the turn was stopped after 0.2 s" in done.stderr


@pytest.mark.parametrize("flag", ["--max-cost", "--timeout"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "x"])
def test_a_limit_that_is_none_is_a_usage_error(run: Run, flag: str, value: str) -> None:
    assert run("run", "hi", f"{flag}={value}").returncode == 2


def test_help_says_what_they_do(run: Run) -> None:
    said = " ".join(run("run", "--help").stdout.split())
    assert "spending limit for the turn" in said
    assert "--timeout SECONDS" in said

"""`cogency-tui conversations rerun`: runs a turn again in a scratch copy, and compares the two."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.edits.startup_recovery import settle_left
from cogency_tui.agent.recall.recall import Branch, Comparison
from cogency_tui.agent.rerun import RerunChoice, rerunning
from cogency_tui.cli.run import DONE, FAILED, ask_at_terminal, print_event, status_after
from cogency_tui.cli.standard_streams import describe_args, print_json, print_text, talk
from cogency_tui.config.schema import data_path
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.safe_text import one_line
from cogency_tui.signal_delivery import on_signal
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.tui.kit.number_format import dollars
from cogency_tui.tui.usage.columns import describe_time


async def run_again(prefix: str, turn: int | None, choice: RerunChoice, *, as_json: bool) -> int:
    """Run a turn again, by default the last, and print the comparison; return the exit status.

    Raises:
        CogencyError: there is no such turn, or the model, the store or the project cannot be used.
    """
    await settle_left(data_path())
    conversation = await _resolve(prefix)
    ask = ask_at_terminal if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() else None
    async with (
        Agent(project=Path(conversation.project)) as agent,
        rerunning(agent, conversation.id, turn or conversation.turns, choice, ask=ask) as again,
    ):
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            on_signal(loop, number, again.interrupt)
        history = ", without its git history" if (again.copy.root / ".git").exists() else ""
        for remark in (f"Running in a copy of the project{history}: {again.copy.root}", *again.copy.remarks):
            talk(remark)
        status: int | None = None
        calls: dict[str, str] = {}
        refused: list[str] = []
        async for event in again.stream():
            if event["type"] != "respond":
                print_event(event)
            status = status_after(event, status)
            if event["type"] == "call":
                call = as_tool_call(call_record(event))
                calls[event["id"]] = f"{call['name']} {describe_args(call['args'])}".strip()
            elif event["type"] == "result" and "refused" in event["payload"]:
                refused.append(calls.get(event["id"], event["tool"]))
        found = await again.compare()
    if refused:
        talk(f"Refused: {'; '.join(refused)}. --permissions auto allows more.")
    if as_json:
        print_json(asdict(found))
    else:
        print_text("\n".join(_lines(found)))
    return FAILED if status is None else status if status != DONE else DONE


async def _resolve(prefix: str) -> StoredConversation:
    async with await Store.open(data_path()) as store:
        try:
            return await store.resolve(prefix)
        finally:
            await store.report(talk)


def _lines(found: Comparison) -> list[str]:
    """The figures of both beside each other, and then the answers, changes and checks of each."""
    sides = (found.left, found.right)
    rows = [("", "original", "again"), *zip(_FIGURES, *map(_figures, sides), strict=True)]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    for name, side in zip(("original", "again"), sides, strict=True):
        lines += ["", f"── {name}", *side.answers]
        lines += [text.rstrip("\n") for text in side.diffs]
        if side.check is not None and side.check.output:
            lines += [f"$ {side.check.command}", side.check.output]
    return lines


_FIGURES = ("model", "calls", "failed", "files", "tokens", "cost", "time", "check")


def _figures(side: Branch) -> Sequence[str]:
    check = "–" if side.check is None else f"{'✓' if side.check.passed else '✗'} {side.check.outcome}"
    return (
        one_line(side.model),
        f"{side.calls:,}",
        f"{side.failed:,}",
        f"{len(side.files):,}",
        f"{side.tokens:,}",
        dollars(side.cost) if side.cost else "–",
        describe_time(side.seconds),
        one_line(check),
    )

"""The usage of a period by model, tool, file, project and week."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cogency_tui.agent.edits.file_history import GUARD, UNDO
from cogency_tui.agent.usage_report import (
    Dimension,
    Figures,
    Rate,
    Span,
    UsageReport,
    compare,
    next_week,
    parse_dimensions,
    report_usage,
    week_of,
)
from cogency_tui.config.worktree_paths import worktrees_of
from cogency_tui.errors import UsageError
from cogency_tui.store.edit_records import ABSENT, FileChange, Origin, Undone, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.forks import Forks
from cogency_tui.store.store import Store
from cogency_tui.store.trash import Trash
from tests.usage_past import DAY, NOW, Past

MONTH = Span(NOW, NOW - 30 * DAY)


@pytest.fixture
async def past(tmp_path: Path) -> AsyncIterator[Past]:
    async with await Store.open(tmp_path) as store:
        yield Past(store)


async def report(past: Past, *by: Dimension, span: Span = MONTH) -> UsageReport:
    data = past.store.database.path.parent
    return await past.store.database.read(lambda connection: report_usage(connection, by, span, data))


def by_label(found: UsageReport) -> dict[Sequence[str], Figures]:
    return {row.labels: row.figures for row in found.rows}


async def test_requests_turns_and_calls_are_summed_by_model(past: Past) -> None:
    first = await past.begin("/shop")
    await past.say(first.id, 2)
    await past.ask(first.id, 2, malformed=1)
    await past.call(first.id, 2, "shell", "failed", seconds=2.0)
    await past.call(first.id, 2, "shell", "declined", seconds=0.0)
    await past.ask(first.id, 2, estimated=True, leaked=2)
    second = await past.begin("/shop", "local/qwen")
    await past.say(second.id, 1)
    await past.ask(second.id, 1, "local/qwen", cost=None)

    found = await report(past, "model")
    gpt, qwen = found.rows[0].figures, found.rows[1].figures
    assert [row.labels for row in found.rows] == [("openai/gpt",), ("local/qwen",)]
    assert (gpt.conversation_count, gpt.turns, gpt.requests) == (1, 1, 2)
    assert (gpt.input, gpt.output, gpt.cached, gpt.tokens) == (2000, 200, 1000, 2200)
    assert (gpt.cost, gpt.is_estimated, gpt.unpriced) == (0.02, True, 0)
    assert (gpt.calls, gpt.failed, gpt.stopped, gpt.ran) == (2, 1, 1, 1)
    assert (gpt.malformed, gpt.leaked) == (1, 2)
    assert (gpt.model_seconds, gpt.tool_seconds, gpt.waiting_seconds) == (4.0, 2.0, 2.0)
    assert (qwen.cost, qwen.unpriced) == (0.0, 1)
    assert (found.total.requests, found.total.conversation_count) == (3, 2)


async def test_calls_turns_and_edits_belong_to_the_model_of_their_request(past: Past) -> None:
    mixed = await past.begin("/shop")
    await past.say(mixed.id, 3)
    await past.ask(mixed.id, 3, "openai/gpt")
    await past.edit(mixed, 3, "a.py", "kept")
    await past.say(mixed.id, 2)
    await past.ask(mixed.id, 2, "anthropic/claude")
    await past.edit(mixed, 2, "a.py", "reverted", "reverted")
    # A title is made by another model, which has made none of the calls.
    await past.ask(mixed.id, 2, "local/small", mode=None, purpose="title")

    found = by_label(await report(past, "model"))
    gpt, claude = found["openai/gpt",], found["anthropic/claude",]
    assert (gpt.turns, gpt.calls, gpt.kept, gpt.reverted) == (1, 1, 1, 0)
    assert (claude.turns, claude.calls, claude.kept, claude.reverted) == (1, 1, 0, 2)
    assert (found["local/small",].requests, found["local/small",].cycles) == (1, 0)


async def test_a_subagent_counts_with_its_model_in_the_conversation_above(past: Past) -> None:
    caller = await past.begin("/shop")
    await past.say(caller.id, 2)
    await past.ask(caller.id, 2)
    call = await past.call(caller.id, 2, "task")
    agent = await past.begin("/shop/worktree", "local/qwen", parent=caller.id, call=call)
    await past.say(agent.id, 2)
    await past.ask(agent.id, 2, "local/qwen")
    await past.edit(caller, 2, "a.py", "kept", caller=agent.id)

    found = await report(past, "model", span=replace(MONTH, project="/shop"))
    qwen = by_label(found)["local/qwen",]
    assert (qwen.turns, qwen.requests, qwen.calls, qwen.kept) == (0, 1, 1, 1)
    assert (found.total.turns, found.total.conversation_count) == (1, 1)


async def test_a_fork_counts_only_what_it_has_added(past: Past) -> None:
    origin = await past.begin("/shop")
    await past.say(origin.id, 2)
    await past.ask(origin.id, 2)
    await past.call(origin.id, 2)
    fork = await Forks(past.store.database).fork(origin.id)
    await past.date(fork.id, 1)
    await past.say(fork.id, 0.5)
    await past.ask(fork.id, 0.5)

    total = (await report(past, "model")).total
    assert (total.turns, total.requests, total.calls) == (2, 2, 1)


async def test_a_fork_in_a_scratch_copy_counts_in_the_project_of_its_origin(past: Past) -> None:
    origin = await past.begin("/shop")
    await past.say(origin.id, 2)
    fork = await Forks(past.store.database).fork(origin.id, project="/tmp/copy")
    await past.date(fork.id, 1)
    await past.ask(fork.id, 0.5)
    assert fork.project == "/tmp/copy"
    assert [*by_label(await report(past, "project"))] == [("/shop",)]
    assert (await report(past, "model", span=replace(MONTH, project="/shop"))).total.requests == 1


async def test_the_trash_counts_and_an_import_does_not(past: Past) -> None:
    for days in (2, 3):
        made = await past.begin("/shop")
        await past.say(made.id, days)
        await past.ask(made.id, days)
        await past.edit(made, days, "a.py", "kept")
    await Trash(past.store.database).move(made.id)
    assert (await report(past, "model")).total.turns == 2

    sql = "UPDATE conversations SET imported = 1 WHERE id = ?"
    await past.store.database.write(lambda connection: connection.execute(sql, (made.id,)))
    total = (await report(past, "model")).total
    assert (total.turns, total.requests, total.calls, total.kept) == (1, 1, 1, 1)


async def test_forks_count_where_they_were_made(past: Past) -> None:
    origin = await past.begin("/shop")
    await past.say(origin.id, 3)
    forks = [await Forks(past.store.database).fork(origin.id) for _ in range(2)]
    for fork in forks:
        await past.date(fork.id, 2)
        await past.ask(fork.id, 1)
    sql = "UPDATE conversations SET imported = 1, source = iif(id = ?, '', '@0a0b'), original = id"
    await past.store.database.write(lambda connection: connection.execute(sql, (forks[0].id,)) and None)
    assert (await report(past, "model")).total.requests == 1


async def test_only_the_period_and_the_project_count(past: Past) -> None:
    for project, days in (("/shop", 1), ("/shop", 31), ("/shop", 61), ("/blog", 1)):
        made = await past.begin(project)
        await past.say(made.id, days)
        await past.ask(made.id, days)
        await past.call(made.id, days)
        await past.date(made.id, days)

    assert (await report(past, "project")).total.calls == 2
    assert [*by_label(await report(past, "project"))] == [("/blog",), ("/shop",)]
    assert (await report(past, "model", span=replace(MONTH, project="/shop"))).total.calls == 1
    everything = await report(past, "model", span=Span(NOW))
    assert (everything.total.calls, everything.rows[0].trends) == (4, ())
    assert (await report(past, "model", span=Span(NOW - 2 * DAY))).total.calls == 2


async def test_hunks_are_those_that_the_model_has_made(past: Past) -> None:
    made = await past.begin("/shop")
    await past.ask(made.id, 1)
    await past.edit(made, 1, "a.py", "kept", "reverted", "edited", "new", "conflict")
    whole = await past.edit(made, 1, "b.py", "kept", "new")
    await past.edit(made, 1, "c.py")
    for tool in (GUARD, UNDO, "hook:format"):
        await past.edit(made, 1, "d.py", "kept", tool=tool)
    edits = Edits(past.store.database, clock=lambda: NOW - DAY / 2)
    change = FileChange("b.py", Version("file", "0" * 64, 3, 0o644), ABSENT, undoes=(Undone(whole),))
    await edits.add(Origin(made.id, made.id, 1, "/shop"), "undo", UNDO, [change])

    figures = (await report(past, "model")).rows[0].figures
    assert (figures.edits, figures.hunks) == (3, 8)
    assert (figures.kept, figures.reverted, figures.edited, figures.undecided) == (1, 3, 1, 3)
    by_file = by_label(await report(past, "file"))
    assert [*by_file] == [("a.py",), ("b.py",), ("c.py",)]
    assert by_file["b.py",].reverted == 2


async def test_no_request_is_for_a_tool_and_no_call_for_a_file(past: Past) -> None:
    made = await past.begin("/shop")
    await past.ask(made.id, 1)
    await past.call(made.id, 1, "shell", seconds=3.0)
    await past.edit(made, 1, "a.py", "kept")

    by_tool = await report(past, "tool", "model")
    assert (by_tool.has_requests, by_tool.has_calls) == (False, True)
    assert {labels: (each.calls, each.requests, each.kept) for labels, each in by_label(by_tool).items()} == {
        ("shell", "openai/gpt"): (1, 0, 0),
        ("edit", "openai/gpt"): (1, 0, 1),
    }
    by_file = await report(past, "file")
    assert (by_file.has_requests, by_file.has_calls) == (False, False)
    assert by_file.rows[0].figures.calls == 0
    assert by_file.total.requests == 1


async def test_an_error_that_ended_a_turn_counts_but_not_one_that_the_user_declined(past: Past) -> None:
    made = await past.begin("/shop")
    await past.ask(made.id, 1)
    for more in ({}, {"declined": True}):
        payload = {"error": "x", "failure": "provider", **more}
        await past.store.append(made.id, {"type": "error", "timestamp": NOW - DAY, "payload": payload})  # pyright: ignore[reportArgumentType]
    assert (await report(past, "model")).rows[0].figures.failed_turns == 1


async def test_a_week_is_compared_with_the_week_before_and_others_with_the_period_before(past: Past) -> None:
    made = await past.begin("/shop")
    for days, failed in ((0.5, 20), (7.5, 2), (35, 2)):
        for number in range(40):
            await past.ask(made.id, days)
            await past.call(made.id, days, "shell", "failed" if number < failed else "done")

    found = await report(past, "model", "week")
    assert [row.labels for row in found.rows] == [("openai/gpt", "2026-W14"), ("openai/gpt", "2026-W15")]
    assert found.week_names == ("2026-W14", "2026-W15")
    calls = found.rows[1].trends[0]
    assert (calls.name, calls.verdict) == ("failed calls", "worse")
    assert (calls.now, calls.before) == (Rate(20, 40), Rate(2, 40))
    assert found.rows[0].trends[0].verdict == "too few"

    (row,) = (await report(past, "model")).rows
    assert row.trends[0].before == Rate(2, 40)
    assert row.weeks == (44_000, 44_000)


@pytest.mark.parametrize(
    ("now", "before", "verdict"),
    [
        (Rate(3, 4), Rate(0, 500), "too few"),
        (Rate(0, 19), Rate(9, 500), "too few"),
        (Rate(1, 20), Rate(3, 20), "no clear change"),
        (Rate(30, 100), Rate(10, 100), "worse"),
        (Rate(10, 100), Rate(30, 100), "better"),
        (Rate(100, 100), Rate(100, 100), "no clear change"),
        (Rate(0, 100), Rate(0, 100), "no clear change"),
        (Rate(11, 100), Rate(10, 100), "no clear change"),
    ],
)
def test_a_verdict_needs_enough_cases_and_more_than_chance(now: Rate, before: Rate, verdict: str) -> None:
    assert compare(now, before) == verdict


def test_a_rate_that_is_no_share_may_exceed_one() -> None:
    assert compare(Rate(250, 100), Rate(100, 100), is_share=False) == "worse"


async def test_rows_that_cannot_be_read_are_left_out(past: Past) -> None:
    made = await past.begin("/shop")
    await past.ask(made.id, 1)
    await past.call(made.id, 1)
    moment = NOW - DAY
    broken = (
        ("INSERT INTO usage (conversation_id, timestamp, body) VALUES (?, ?, 'x')", (made.id, moment)),
        (
            "INSERT INTO events (conversation_id, type, timestamp, unit, body) VALUES (?, 'result', ?, 'u', '{')",
            (made.id, moment),
        ),
        ("INSERT INTO review_outlines VALUES ('k', ?)", (json.dumps([1]),)),
    )
    for sql, values in broken:
        await past.store.database.write(
            lambda connection, sql=sql, values=values: connection.execute(sql, values)
        )
    await past.edit(made, 1, "a.py", "kept")
    total = (await report(past, "model")).total
    assert (total.requests, total.calls, total.kept) == (1, 2, 1)


def test_dimensions_are_parsed_and_unknown_ones_name_the_known() -> None:
    assert parse_dimensions("model, week") == ("model", "week")
    with pytest.raises(UsageError, match="by 'day'") as unknown:
        parse_dimensions("model,day")
    assert "model, tool, file, project, week" in unknown.value.hint
    with pytest.raises(UsageError, match="twice"):
        parse_dimensions("tool,tool")


def test_weeks_are_of_iso_and_of_local_time() -> None:
    assert next_week("2025-W52", 1) == "2026-W01"
    assert next_week("2027-W01", -1) == "2026-W53"
    assert week_of(NOW) == "2026-W15"


async def test_worktrees_count_as_their_main_project(past: Past) -> None:
    data = past.store.database.path.parent
    worktree, of_removed = worktrees_of(data, "/shop") / "fix", worktrees_of(data, "/gone") / "fix"
    for project in ("/shop", str(worktree), str(of_removed), str(of_removed.with_name("other")), "/shop/sub"):
        known = await past.begin(project)
        await past.say(known.id, 2)
        await past.ask(known.id, 2)
    of_main = {"/shop": 2, str(of_removed.parent): 2, "/shop/sub": 1}
    found = by_label(await report(past, "project"))
    assert {labels[0]: figures.requests for labels, figures in found.items()} == of_main
    for project in ("/shop", str(worktree)):
        own = await report(past, "project", span=Span(NOW, NOW - 30 * DAY, project))
        assert [(row.labels, row.figures.requests) for row in own.rows] == [(("/shop",), 2)]


async def test_a_main_project_without_conversations_is_known_where_the_program_runs(past: Past) -> None:
    data = past.store.database.path.parent
    known = await past.begin(str(worktrees_of(data, "/shop") / "fix"))
    await past.say(known.id, 2)
    await past.ask(known.id, 2)
    found = await past.store.database.read(
        lambda connection: report_usage(connection, ["project"], MONTH, data, "/shop")
    )
    assert [row.labels for row in found.rows] == [("/shop",)]

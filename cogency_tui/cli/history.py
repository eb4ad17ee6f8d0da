"""`cogency-tui history`: shares conversations with a team through a PostgreSQL database."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cogency_tui.agent.recall.results import as_hit
from cogency_tui.cli.recall import describe_hit
from cogency_tui.cli.standard_streams import agreed, print_json, print_text, talk
from cogency_tui.cli.sync import copied_words
from cogency_tui.config.schema import HistorySettings, data_path
from cogency_tui.errors import HistoryServerError, UsageError
from cogency_tui.safe_text import one_line
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.searcher import Order
from cogency_tui.store.store import Store
from cogency_tui.team import sharing
from cogency_tui.team.address import address_of
from cogency_tui.team.connection import Connection, connected
from cogency_tui.team.forks import Staying
from cogency_tui.team.local_state import AUDIENCES, Audience, LocalState, Share, is_private, opened_state
from cogency_tui.team.push import LocalStore, Report, identify, opened_store, push_all
from cogency_tui.team.schema import setup_script


def print_setup() -> int:
    """Print the SQL that an administrator runs."""
    print_text(setup_script().rstrip())
    return 0


async def print_status(settings: HistorySettings, *, as_json: bool) -> int:
    """Print what is shared, and whether the database can be used; return 1 if it cannot."""
    state = LocalState(data_path())
    try:
        shares = state.shares()
        facts: dict[str, Any] = {"url": settings.url, "shares": [each._asdict() for each in shares]}
        facts["private"] = settings.private
        if worker := state.worker():
            facts["worker"] = worker._asdict()
        facts["refused"] = {project: each._asdict() for project, each in state.refusals().items()}
        facts["waiting"] = await asyncio.to_thread(_count_waiting, state, settings)
        facts["withdrawing"], facts["withdrawn"] = state.count_withdrawing(), state.count_withdrawn()
        facts["staying"] = (await asyncio.to_thread(_count_staying, state, settings))._asdict()
        try:
            address = address_of(settings)
            async with connected(address) as connection:
                await identify(connection, state, settings)
                facts |= await _facts(connection)
        except HistoryServerError as exc:
            facts["error"] = exc.advice
    finally:
        state.close()
    if as_json:
        print_json(facts)
    else:
        print_text("\n".join(_status_lines(facts, shares)))
    return 1 if "error" in facts else 0


def _count_waiting(state: LocalState, settings: HistorySettings) -> int:
    """Count the conversations that wait to be pushed; none where there is no store yet."""
    with suppress(sqlite3.Error), opened_store(state.data) as local:
        return local.waiting(state, settings)
    return 0


def _count_staying(state: LocalState, settings: HistorySettings) -> Staying:
    """Count the forks in shared projects that sharing does not send."""
    with suppress(sqlite3.Error), opened_store(state.data) as local:
        staying, hidden = local.staying(state), state.hidden()
        shared = [each.id for each in local.shared(state.shares(), settings) if not each.above]
        whose = [staying[id] for id in shared if id in staying and id not in hidden]
        return Staying(whose.count("others"), whose.count("withdrawn"))
    return Staying()


async def _facts(connection: Any) -> dict[str, Any]:
    row = await connection.fetchrow(
        "SELECT session_user::text AS user, (SELECT max(version) FROM cogency.versions) AS version,"
        " pg_has_role(session_user, 'cogency_member', 'member') AS member"
    )
    facts: dict[str, Any] = dict(row)
    if not row["member"]:
        raise HistoryServerError(
            f"You are not a member: the role {row['user']!r} lacks cogency_member.",
            f"An administrator runs: GRANT cogency_member TO {row['user']};",
        )
    facts["projects"] = [each[0] for each in await connection.fetch("SELECT cogency.projects()")]
    counts = await connection.fetchrow(
        "SELECT count(*) FILTER (WHERE owner = session_user) AS own,"
        " count(*) FILTER (WHERE owner <> session_user) AS others"
        " FROM cogency.conversations WHERE NOT is_call"
    )
    return facts | dict(counts)


def _status_lines(facts: dict[str, Any], shares: list[Share]) -> list[str]:
    lines = [f"Database: {facts['url'] or 'none (history.url)'}"]
    if "error" in facts:
        lines.append(f"Not usable: {facts['error']}")
    else:
        projects = ", ".join(facts["projects"]) or "none"
        lines.append(f"You are {facts['user']}; projects that you are a member of: {projects}")
        lines.append(
            f"Conversations there: {facts['own']:,} of yours, {facts['others']:,} of others that you see"
        )
    for share in shares:
        how = f"as {share.name!r}, seen by {AUDIENCES[share.audience]}"
        if is_private(share.project, facts["private"]):
            how += ", but private now: nothing more is sent"
        lines.append(f"Shared: {share.project} {how}")
        if refused := facts["refused"].get(share.project):
            lines.append(f"Not accepted: {refused['failure']}")
    if not shares:
        lines.append("No project is shared. `cogency-tui history share` shares this one.")
    lines += [f"Private: {pattern}" for pattern in facts["private"]]
    if worker := facts.get("worker"):
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(worker["at"]))
        lines.append(f"Last push: {when}{_failure(worker['error'])}")
    if facts["waiting"]:
        lines.append(f"Conversations that wait to be pushed: {facts['waiting']:,}")
    if facts["withdrawing"]:
        lines.append(f"Conversations that wait to be withdrawn: {facts['withdrawing']:,}")
    if facts["withdrawn"]:
        lines.append(f"Withdrawn conversations: {facts['withdrawn']:,}")
    if words := Staying(**facts["staying"]).words:
        lines.append(words)
    return lines


def _failure(error: str) -> str:
    return f": {error}" if error else ""


async def share(
    store: Store, settings: HistorySettings, project: Path, name: str, audience: Audience | None, *, yes: bool
) -> int:
    """Share a project after the user's yes; nothing is sent here. Return 1 without it. The present name and
    audience stay unless others are given.

    Raises:
        UsageError: it is private, or its name is none.
    """
    main = await sharing.main_project_of(store, project)
    terms = await sharing.terms_of(store, settings, main, project, name)
    data = store.database.path.parent
    if audience is None:
        found = await asyncio.to_thread(sharing.read_sharing, data, settings, main, str(project))
        audience = found.share.audience if found.share else "project"
    seen = f"They are seen by {AUDIENCES[audience]}."
    said = [terms.words, terms.staying.words, seen, sharing.SENT, sharing.NEVER_SENT]
    print_text("\n".join(filter(None, said)))
    if not yes and not agreed("Share this project?"):
        return 1
    await asyncio.to_thread(sharing.share, data, settings, terms, audience)
    print_text(f"{main} is shared. `cogency-tui history unshare` ends this.")
    print_text("`cogency-tui history watch` sends the conversations, and so does the app while it is open.")
    if problem := await sharing.apply_share(data, settings, terms):
        talk(problem)
    return 0


async def unshare(store: Store, settings: HistorySettings, project: Path, *, keep: bool) -> int:
    """End the sharing of a project, and withdraw its conversations unless the user keeps them there."""
    main = await sharing.main_project_of(store, project)
    ended = await sharing.unshare(store.database.path.parent, settings, main, keep=keep)
    print_text(ended.words)
    if ended.problem:
        talk(ended.problem)
        return 1
    if ended.withdrawn:
        print_text(f"{sharing.counted(ended.withdrawn)} withdrawn.")
    return 0


async def withdraw(store: Store, settings: HistorySettings, prefix: str) -> int:
    """Withdraw a conversation, with those of its sub-agents; it is not pushed again.

    Raises:
        UsageError: it is another's, or another machine's.
    """
    conversation = await store.resolve(prefix)
    if conversation.source:
        raise UsageError(
            f"{conversation.id} was not shared from here: it is a copy of another's or another machine's.",
            "Its owner withdraws it, on the machine where it began.",
        )
    state = LocalState(store.database.path.parent)
    try:
        _ = address_of(settings)
        state.withdraw(state.server(settings.url), [conversation.id])
        return await _withdraw_now(settings, state)
    finally:
        state.close()


async def _withdraw_now(settings: HistorySettings, state: LocalState) -> int:
    """Withdraw what waits for it; where the database cannot be reached, it remains noted."""
    try:
        count = await sharing.withdraw_noted(settings, state)
    except HistoryServerError as exc:
        talk(sharing.postponed(exc))
        return 1
    print_text(f"{sharing.counted(count)} withdrawn.")
    return 0


async def push(store: Store, settings: HistorySettings, secrets: Mapping[str, str], prefix: str) -> int:
    """Push what is new once; with `prefix` that conversation, even if it was withdrawn, or is a fork that
    sharing does not send."""
    data = store.database.path.parent
    address = address_of(settings)
    ids: list[str] | None = None
    if prefix:
        conversation = await store.resolve(prefix)
        ids = [conversation.id]
        await _require_shared(data, settings, conversation.id)
        state = LocalState(data)
        state.bring_back(ids)
        state.allow_fork(conversation.id)
        state.close()
    try:
        report = await push_all(address, data, settings, secrets, ids)
    except HistoryServerError as exc:
        with opened_state(data) as state:
            state.note_failure(_count_waiting(state, settings), exc)
        raise
    with opened_state(data) as state:
        state.note_refusals(report.refusals, projects=report.refusals if prefix else None)
        if not prefix:
            state.note_worker(0, "", contact=True)
    _print_report(report)
    return 1 if report.failures else 0


async def _require_shared(data: Path, settings: HistorySettings, id: str) -> None:
    state, local = LocalState(data), LocalStore(data)
    try:
        shared = await asyncio.to_thread(local.shared, state.shares(), settings)
    finally:
        state.close()
        local.close()
    if id not in {each.id for each in shared}:
        raise UsageError(
            "The project of this conversation is not shared, or private (history.private).",
            "`cogency-tui history share` shares a project, unless history.private names it.",
        )


def _print_report(report: Report) -> None:
    if report.copied:
        talk(copied_words(report.ceded))
    count = sharing.counted(len(report.conversations))
    print_text(f"{count} and {report.events:,} events pushed.")
    if report.withdrawn:
        print_text(f"{sharing.counted(report.withdrawn)} withdrawn.")
    for failure in sorted(set(report.failures.values())):
        talk(failure)


async def pull(store: Store, settings: HistorySettings, name: str) -> int:
    """Pull a conversation of another's, and print its id here."""
    from cogency_tui.team import pull as pulling

    state = LocalState(store.database.path.parent)
    try:
        async with connected(address_of(settings)) as connection:
            server = await identify(connection, state, settings)
            found = await pulling.find(connection, name)
            id = await pulling.pull(connection, store, state, server, found)
    finally:
        state.close()
    print_text(id)
    talk(f"{found.title or 'Untitled'}, of {found.owner}: read it here, or fork it to go on with it.")
    return 0


async def watch(settings: HistorySettings, secrets: Mapping[str, str]) -> int:
    """Push and pull until an interrupt, or until the program that started this has ended."""
    from cogency_tui.team.worker import parent_is_gone, work

    is_over = parent_is_gone(os.getppid())
    if not await work(data_path(), settings, secrets, is_over, report=talk, follows=True):
        talk("Another process does this already.")
    return 0


async def search_team(
    settings: HistorySettings, query: str, *, project: str | None, limit: int, best: bool, as_json: bool
) -> int:
    """Print the team's conversations that match; return 1 if there are none."""
    from cogency_tui.team.search import search

    order: Order = "best" if best else "newest"
    parsed = parse(query)
    async with connected(address_of(settings)) as connection:
        page = await search(connection, parsed, order=order, limit=limit, project=project)
    for problem in parsed.problems:
        talk(f"Searched as text: {problem}.")
    for each in page.found:
        found = each.match.conversation
        hits = [as_hit(document, parsed, max(document.source, 0)) for document in each.match.hits]
        if as_json:
            facts = {"owner": each.owner, "machine": each.machine, "shared_as": each.project}
            print_json({**facts, "conversation": asdict(found), "hits": [asdict(hit) for hit in hits]})
            continue
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.updated))
        facts = (found.original, when, one_line(f"{each.owner} in {each.project}"))
        lines = [one_line(found.title) or "Untitled", f"  {'  '.join(facts)}", *map(describe_hit, hits)]
        print_text("\n".join([*lines, "  …"] if each.match.more else lines))
    if not as_json and page.next is not None:
        invalid = "Nothing was found in time: too many conversations there are invalid."
        talk(f"More matches: use --limit {limit * 2}." if page.found else invalid)
    elif not as_json and not page.found:
        talk("Nothing of the team's matches.")
    return 0 if page.found else 1


async def _require_usage(connection: Connection) -> None:
    """Require the right to see the usage of the team.

    Raises:
        HistoryServerError: the user lacks it.
    """
    sql = "SELECT session_user::text AS who, pg_has_role(session_user, 'cogency_usage', 'member') AS may"
    row = await connection.fetchrow(sql)
    if not row["may"]:
        raise HistoryServerError(
            f"The usage of the team is for others: the role {row['who']!r} lacks cogency_usage.",
            f"An administrator runs: GRANT cogency_usage TO {row['who']};",
        )


async def print_team_usage(
    settings: HistorySettings, since: float | None, before: float, *, as_json: bool
) -> int:
    """Print what the team used, by user, project and model, for those who may see it."""
    async with connected(address_of(settings)) as connection:
        await _require_usage(connection)
        rows = await connection.fetch(
            "SELECT * FROM cogency.team_usage($1, $2) ORDER BY cost DESC NULLS LAST, owner, project, model",
            since or 0.0,
            before,
        )
    if as_json:
        print_json([_usage(row) for row in rows])
        return 0
    for line in _table(rows):
        print_text(line)
    if not rows:
        talk("The team used nothing in this time.")
    return 0


def _usage(row: Any) -> dict[str, Any]:
    found = dict(row)
    return found | {name: int(found[name] or 0) for name in ("input", "output", "cached")}


def _table(rows: Iterable[Any]) -> list[str]:
    cells = [["user", "project", "model", "requests", "sent", "generated", "cost"]]
    for row in rows:
        figures = [f"{int(row[name] or 0):,}" for name in ("requests", "input", "output")]
        # The names of projects that are shared with nobody are not there.
        names = [one_line(name) for name in (row["owner"], row["project"] or "(own)", row["model"])]
        cells.append([*names, *figures, "–" if row["cost"] is None else f"${row['cost']:.2f}"])
    widths = [max(len(row[at]) for row in cells) for at in range(7)]
    return [
        "  ".join(
            cell.ljust(width) if at < 3 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
        if len(cells) > 1
    ]

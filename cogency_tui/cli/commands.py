"""The commands besides the interface: each passes its arguments to the module that runs it."""

import argparse
import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cogency_tui.cli.arguments import whole_parser
from cogency_tui.cli.options import agent_of, flags_of, project_of
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import config_path, data_path
from cogency_tui.errors import UsageError

if TYPE_CHECKING:
    from cogency_tui.agent.recall.recall import Recall
    from cogency_tui.store.store import Store

Command = Callable[[argparse.Namespace], int]


@asynccontextmanager
async def opened_store() -> "AsyncGenerator[Store]":
    """The user's store for one command, which prints the store's notices on stderr.

    Raises:
        StoreError: it cannot even be read.
    """
    from cogency_tui.cli.standard_streams import talk
    from cogency_tui.store.store import Store

    async with await Store.open(data_path()) as store:
        try:
            yield store
        finally:
            await store.report(talk)


def _run(options: argparse.Namespace) -> int:
    """Run one turn without the interface, or turns until a command succeeds."""
    if options.json_schema:
        from cogency_tui.cli.event_schema import print_event_schema

        print_event_schema()
        return 0
    from cogency_tui.cli.run import RunOptions, read_prompt, run_turn

    until = (options.until or "").strip()
    if options.until is not None and not until:
        raise UsageError("--until needs a command.", 'For example: --until "pytest -q"')
    if options.max_turns and not until:
        raise UsageError("--max-turns needs --until.", 'For example: --until "pytest -q" --max-turns 5')
    prompt = read_prompt(options.prompt, is_needed=not until)
    run_options = RunOptions(
        prompt,
        options.conversation,
        as_json=options.json,
        chunks=options.chunks,
        timeout=options.timeout,
        until=until,
        max_turns=options.max_turns,
        max_cost=options.max_cost,
    )

    async def run() -> int:
        # Until a command succeeds, the limit is for all turns together.
        agent = await agent_of(options, max_cost=None if until else options.max_cost)
        return await run_turn(agent, run_options)

    return asyncio.run(run())


def _parse(options: argparse.Namespace) -> int:
    """Parse raw model output into events, one JSON object per line."""
    from cogency_tui.cli.parse import parse_file

    return parse_file(options.file, options.dialect, size=options.chunk, chunks=options.chunks)


def _conversations(options: argparse.Namespace) -> int:
    """List, show, export and organize past conversations."""
    from cogency_tui.cli import conversations as commands

    if options.action == "rerun":
        return _rerun(options)
    if options.action == "export" and (options.all or options.id is None or options.output is not None):
        return _export_all(options)

    async def run(recall: "Recall", store: "Store") -> int:
        if options.action == "list" and options.trash:
            return await commands.list_trash(store, limit=options.limit, as_json=options.json)
        if options.action == "list":
            project = None if options.all else Path.cwd().resolve()
            return await commands.list_conversations(
                store, project, limit=options.limit, as_json=options.json
            )
        if options.action == "show":
            return await commands.show_conversation(
                store, options.id, as_json=options.json, numbered=options.numbers
            )
        if options.action == "export":
            theme = options.theme or (load_settings().theme if options.format == "html" else "")
            form = options.format or "md"
            return await commands.export_conversation(recall, store, options.id, form, theme)
        if options.action == "compare":
            both = (options.id, options.other)
            return await commands.compare_conversations(recall, store, both, as_json=options.json)
        if options.action == "tree":
            return await commands.show_tree(recall, store, options.id)
        title, through = getattr(options, "title", ""), getattr(options, "at", None)
        return await commands.change_conversation(
            recall, store, options.action, options.id, title=title, through=through
        )

    return with_recall(run)


def _export_all(options: argparse.Namespace) -> int:
    if options.all == (options.id is not None):
        raise UsageError("Pass the ID of a conversation or --all, and not both.")
    if not options.all:
        raise UsageError("--output needs --all.", "One conversation is printed on stdout: redirect it.")
    from cogency_tui.cli.archive import export_archive, export_files

    if options.format in ("md", "html"):
        if options.output is None:
            raise UsageError(
                f"--all --format {options.format} needs --output DIR.", "For example: --output conversations"
            )
        theme = options.theme or (load_settings().theme if options.format == "html" else "")
        return export_files(options.output, options.format, theme)
    return export_archive(options.output)


def _rerun(options: argparse.Namespace) -> int:
    from cogency_tui.agent.rerun import RerunChoice
    from cogency_tui.cli.rerun import run_again

    choice = RerunChoice(
        options.provider,
        options.model,
        options.effort,
        options.dialect,
        options.max_cost,
        options.check,
        options.permissions,
    )
    return asyncio.run(run_again(options.id, options.turn, choice, as_json=options.json))


def _recall(options: argparse.Namespace) -> int:
    """Search past conversations: messages, calls and changes."""
    if options.team:
        return _recall_team(options)
    if options.shared_as is not None:
        raise UsageError("--shared-as needs --team.", "Without it, --all and --project say where to search.")
    from cogency_tui.cli.recall import print_statistics, search_conversations

    async def run(recall: "Recall", _store: "Store") -> int:
        where = "everywhere" if options.all else "project"
        query = " ".join(options.query)
        if options.stats:
            return await print_statistics(recall, query, where=where, as_json=options.json)
        return await search_conversations(
            recall, query, where=where, limit=options.limit, best=options.best, as_json=options.json
        )

    return with_recall(run)


def _recall_team(options: argparse.Namespace) -> int:
    from cogency_tui.cli.history import search_team

    if options.stats:
        raise UsageError("--stats and --team cannot be combined.", "`usage --team` reports the team's usage.")
    return asyncio.run(
        search_team(
            load_settings().history,
            " ".join(options.query),
            project=options.shared_as,
            limit=options.limit,
            best=options.best,
            as_json=options.json,
        )
    )


def _history(options: argparse.Namespace) -> int:
    """Share conversations with a team, or between your machines, through a PostgreSQL database."""
    from cogency_tui.cli import history as commands
    from cogency_tui.providers.configured_providers import secrets

    action = options.action
    if action == "setup":
        return commands.print_setup()
    all_settings = load_settings()
    settings, keys = all_settings.history, secrets(all_settings, os.environ)
    if action == "status":
        return asyncio.run(commands.print_status(settings, as_json=options.json))
    if action == "watch":
        return asyncio.run(commands.watch(settings, keys))

    async def run() -> int:
        async with opened_store() as store:
            if action == "share":
                project = _directory_of(options.project)
                return await commands.share(
                    store, settings, project, options.name, options.audience, yes=options.yes
                )
            if action == "unshare":
                project = _directory_of(options.project)
                return await commands.unshare(store, settings, project, keep=options.keep)
            if action == "push":
                return await commands.push(store, settings, keys, options.id)
            if action == "pull":
                return await commands.pull(store, settings, options.id)
            return await commands.withdraw(store, settings, options.id)

    return asyncio.run(run())


def _usage(options: argparse.Namespace) -> int:
    """Report tokens, cost, time, calls and hunks by model, tool, file, project or week."""
    if options.team:
        return _usage_of_team(options)
    from cogency_tui.cli.usage import print_usage

    project = None if options.all else _directory_of(options.project)

    async def run(recall: "Recall", _store: "Store") -> int:
        return await print_usage(
            recall, options.by or "model", options.since, options.until, project, as_json=options.json
        )

    return with_recall(run)


def _usage_of_team(options: argparse.Namespace) -> int:
    from cogency_tui.cli.history import print_team_usage
    from cogency_tui.cli.usage import span_of

    if options.by:
        raise UsageError(
            "--by and --team cannot be combined.", "The usage of a team is by user, project and model."
        )
    span = span_of(options.since, options.until, None, time.time())
    settings = load_settings().history
    return asyncio.run(print_team_usage(settings, span.since, span.before, as_json=options.json))


def _directory_of(project: Path | None) -> Path:
    """The directory of --project, or the current one.

    Raises:
        UsageError: it is no directory.
    """
    if project is not None and not project.is_dir():
        raise UsageError(f"{project} is no directory.", "--project takes the directory of a project.")
    return (project or Path.cwd()).resolve()


def _import(options: argparse.Namespace) -> int:
    """Import conversations that were exported as JSON Lines, or the histories of other agents."""
    if options.source is not None:
        return _import_agents(options)
    if options.all or options.dry_run or options.follow or options.json:
        raise UsageError(
            "--all, --dry-run, --follow and --json need --from.", "For example: --from claude-code"
        )
    from cogency_tui.cli.archive import import_file

    return import_file(options.file)


def _import_agents(options: argparse.Namespace) -> int:
    from cogency_tui.cli.import_agents import import_agents, names_in

    if options.file is not None:
        raise UsageError("Pass a file or --from, and not both.")
    names = names_in(options.source)
    project = None if options.all else Path.cwd().resolve()

    async def run() -> int:
        async with _store_to_count() if options.dry_run else opened_store() as store:
            return await import_agents(
                store, names, project, dry=options.dry_run, follow=options.follow, as_json=options.json
            )

    return asyncio.run(run())


@asynccontextmanager
async def _store_to_count() -> "AsyncGenerator[Store]":
    """The user's store; where there is none yet, an empty one that leaves no files behind."""
    from tempfile import TemporaryDirectory

    from cogency_tui.store.database import FILE
    from cogency_tui.store.store import Store
    from cogency_tui.temporary_files import prefix

    if (data_path() / FILE).exists():
        async with opened_store() as store:
            yield store
        return
    with TemporaryDirectory(prefix=prefix("import")) as directory:
        async with await Store.open(Path(directory)) as store:
            yield store


def _sync(options: argparse.Namespace) -> int:
    """Exchange conversations with your other machines through a directory."""
    from cogency_tui.cli.sync import SyncOptions, sync_directory

    sync_options = SyncOptions(
        options.key,
        new_key=options.new_key,
        dry=options.dry_run,
        follow=options.follow,
        as_json=options.json,
    )

    async def run() -> int:
        async with opened_store() as store:
            return await sync_directory(store, options.directory, sync_options)

    return asyncio.run(run())


def with_recall(run: "Callable[[Recall, Store], Awaitable[int]]") -> int:
    """Run a command with the user's store."""
    from cogency_tui.agent.recall.recall import Recall

    async def opened() -> int:
        async with opened_store() as store:

            async def given() -> "Store":
                return store

            recall = Recall(given, str(Path.cwd().resolve()))
            try:
                return await run(recall, store)
            finally:
                await recall.close()

    return asyncio.run(opened())


def _edits(options: argparse.Namespace) -> int:
    """List, show and revert the agent's edits, or restore a file."""
    from cogency_tui.cli.edits import Choice, Consent, EditCommands
    from cogency_tui.cli.patch_and_blame import print_blame, print_patch

    async def run() -> int:
        async with opened_store() as store:
            project = Path.cwd().resolve()
            if options.action == "blame":
                return await print_blame(store, project, options.file, as_json=options.json)
            if options.action == "show" and options.patch:
                return await print_patch(store, project, options.conversation, options.turn)
            commands = EditCommands(store, project, options.conversation, as_json=options.json)
            if options.action == "list":
                return await commands.list_all(options.turn, options.path)
            if options.action == "show":
                return await commands.show(options.id)
            consent = Consent(dry_run=options.dry_run, for_good=options.for_good, yes=options.yes)
            if options.action == "restore":
                return await commands.restore(options.id, consent, before=options.before)
            choice = Choice(options.ids, options.turn or None, options.to, options.redo, options.path)
            return await commands.revert(choice, consent)

    return asyncio.run(run())


def _permissions(options: argparse.Namespace) -> int:
    """List or revoke the rules that let calls run without asking."""
    from cogency_tui.cli.permissions import list_permissions, revoke_permissions

    project = Path.cwd().resolve()
    if options.action == "list":
        return list_permissions(project, as_json=options.json)
    return revoke_permissions(project, options.ids, as_json=options.json)


def _profile(options: argparse.Namespace) -> int:
    """Show or clear what the agent remembers about you, or turn learning on or off."""
    from cogency_tui.agent.profile.profile import Profile
    from cogency_tui.cli.profile import run_profile

    async def run() -> int:
        async with opened_store() as store:

            async def given() -> "Store":
                return store

            profile = Profile(given, config_path(), load_settings())
            return await run_profile(profile, options.action, as_json=options.json)

    return asyncio.run(run())


def _models(options: argparse.Namespace) -> int:
    """List the known models with context, prices, dialect and effort."""
    from cogency_tui.cli.models import show_models

    return asyncio.run(show_models(options.provider, live=options.live, as_json=options.json))


def _trust(options: argparse.Namespace) -> int:
    """Review and trust a project's .cogency/ files, skills and hooks."""
    from cogency_tui.cli.trust import list_trust, revoke_trust, trust_project

    if options.list:
        return list_trust(as_json=options.json)
    if options.revoke:
        return revoke_trust(project_of(options))
    return trust_project(project_of(options), yes=options.yes, as_json=options.json)


def _skills(options: argparse.Namespace) -> int:
    """List the skills of the user and a project."""
    from cogency_tui.cli.skills import list_skills

    return list_skills(project_of(options), as_json=options.json)


def _hooks(options: argparse.Namespace) -> int:
    """List the hooks of the user and a project."""
    from cogency_tui.cli.hooks import show_hooks

    return show_hooks(project_of(options), as_json=options.json)


def _config(options: argparse.Namespace) -> int:
    """Show and change options."""
    from cogency_tui.cli.config import print_path, set_option, show_config, unset_option

    if options.action == "path":
        return print_path()
    if options.action == "set":
        return set_option(options.key, options.value)
    if options.action == "unset":
        return unset_option(options.key)
    return show_config(project_of(options), flags_of(options), as_json=options.json)


def _acp(options: argparse.Namespace) -> int:
    """Run as an Agent Client Protocol server on stdin and stdout."""
    from cogency_tui.acp.server import serve_editor

    return serve_editor(flags_of(options))


def _mcp(options: argparse.Namespace) -> int:
    """Serve your history to other agents as an MCP server on stdin and stdout, read-only."""
    from cogency_tui.cli.mcp_server import serve_history

    return serve_history(None if options.all else _directory_of(options.project))


def _serve(options: argparse.Namespace) -> int:
    """Serve the interface to a browser on this machine."""
    from cogency_tui.agent.edits.startup_recovery import settle_left
    from cogency_tui.cli.serve import serve_browser

    asyncio.run(settle_left(data_path()))
    given = {**flags_of(options), "cwd": project_of(options)}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]
    return serve_browser(flags, options.port)


def _doctor(options: argparse.Namespace) -> int:
    """Check the installation and suggest fixes."""
    from cogency_tui.cli.doctor import examine, rebuild, repair, verify

    if options.repair:
        return repair()
    if options.rebuild:
        return rebuild()
    if options.verify:
        return asyncio.run(verify(as_json=options.json))
    from cogency_tui.tui.doctor_checks import examine_interface

    return asyncio.run(examine(as_json=options.json, online=options.online, interface=examine_interface))


def _completions(options: argparse.Namespace) -> int:
    """Print the completion script for a shell."""
    from cogency_tui.cli.completions import print_completions

    commands = {name: run.__doc__ or "" for name, run in COMMANDS.items()}
    print_completions(options.shell, whole_parser(commands))
    return 0


def _bench(options: argparse.Namespace) -> int:
    """Run the documented benchmarks on this machine."""
    from cogency_tui.cli.bench import run_benchmark

    arguments = ["--json"] if options.json else []
    if options.what == "tokens" and options.turns:
        arguments += ["--turns", ",".join(map(str, options.turns))]
    if options.what == "store" and options.events:
        arguments += ["--events", str(options.events)]
    return run_benchmark(options.what, arguments)


def _eval(options: argparse.Namespace) -> int:
    """Compare models, dialects and efforts by small tasks."""
    from cogency_tui.cli.eval import EvalOptions, evaluate, list_tasks

    if options.list:
        return list_tasks(as_json=options.json)
    return evaluate(
        EvalOptions(
            tasks=options.tasks,
            models=options.model,
            dialects=options.dialect,
            efforts=options.effort,
            mode=options.mode,
            times=options.times,
            jobs=options.jobs,
            limit=options.limit,
            max_cost=options.max_cost,
            yes=options.yes,
            as_json=options.json,
        )
    )


COMMANDS: dict[str, Command] = {
    "run": _run,
    "parse": _parse,
    "recall": _recall,
    "usage": _usage,
    "conversations": _conversations,
    "history": _history,
    "import": _import,
    "sync": _sync,
    "edits": _edits,
    "permissions": _permissions,
    "profile": _profile,
    "models": _models,
    "trust": _trust,
    "skills": _skills,
    "hooks": _hooks,
    "config": _config,
    "acp": _acp,
    "mcp": _mcp,
    "serve": _serve,
    "doctor": _doctor,
    "completions": _completions,
    "bench": _bench,
    "eval": _eval,
}
"""By name; the docstring of each is its help text."""

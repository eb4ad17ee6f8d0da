"""Arguments to a headless command or the app: the only place where everything is put together."""

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cogency_tui import __version__
from cogency_tui.config import DIALECTS, MODES, PERMISSIONS, data_path
from cogency_tui.errors import CogencyError, PersonError, UsageError

USAGE_STATUS = 2

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 0 done, 1 failed, 2 usage, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # Whatever the locale says, what we print is UTF-8.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
    try:
        name = arguments[0] if arguments else ""
        if name in _COMMANDS:
            return _COMMANDS[name](_parser_of(name).parse_args(arguments[1:]))
        return _interface(_interface_parser().parse_args(arguments))
    except CogencyError as exc:
        print(f"cogency-tui: {exc.advice}", file=sys.stderr)
        return USAGE_STATUS if isinstance(exc, PersonError) else 1
    except BrokenPipeError:
        # Whoever read our output has had enough; the interpreter must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _interface_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cogency-tui",
        description="A full-screen terminal coding agent. Type a request; watch it read, edit and run.",
        epilog="Commands: " + ", ".join(_COMMANDS) + ". `cogency-tui COMMAND --help` says more of each.",
    )
    parser.add_argument("prompt", nargs="?", default="", help="what to ask first", metavar="PROMPT")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "-c", "--continue", dest="latest", action="store_true", help="the last conversation here"
    )
    chosen.add_argument(
        "-r", "--resume", metavar="ID", help="a conversation, by its id or the beginning of it"
    )
    _add_agent_options(parser)
    parser.add_argument("--version", action="version", version=f"cogency-tui {__version__}")
    return parser


def _parser_of(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"cogency-tui {name}", description=_COMMANDS[name].__doc__)
    if name == "run":
        parser.add_argument(
            "prompt", nargs="?", default="", metavar="PROMPT", help="what to ask; stdin is added"
        )
        parser.add_argument("--json", action="store_true", help="an event a line on stdout")
        parser.add_argument("--chunks", action="store_true", help="with --json: text and output as they come")
        parser.add_argument("--conversation", metavar="ID", help="go on with a conversation")
        _add_agent_options(parser)
    elif name == "parse":
        parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="wire text; stdin by default")
        parser.add_argument("--dialect", choices=DIALECTS, default="xml")
        parser.add_argument("--chunk", type=_positive, metavar="N", help="feed it in pieces of N characters")
        parser.add_argument("--chunks", action="store_true", help="print deltas and previews as they come")
    elif name == "conversations":
        actions = parser.add_subparsers(dest="action", required=True, metavar="list|show")
        listing = actions.add_parser("list", help="the conversations of this project, newest first")
        listing.add_argument("--all", action="store_true", help="those of every project")
        listing.add_argument("--limit", type=_positive, default=50, metavar="N")
        showing = actions.add_parser("show", help="one conversation, event by event")
        showing.add_argument("id", metavar="ID", help="its id, or the beginning of it")
        for action in (listing, showing):
            action.add_argument("--json", action="store_true", help="one JSON object a line")
    elif name == "bench":
        parser.add_argument("what", choices=("protocol",), help="what to measure")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")
    elif name == "doctor":
        parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser


def _add_agent_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--provider", metavar="NAME", help="offline, openai, ollama, … or one of the configuration"
    )
    parser.add_argument("--model", metavar="NAME")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--dialect", choices=DIALECTS)
    parser.add_argument("--permissions", choices=PERMISSIONS)
    parser.add_argument("--max-iterations", type=_positive, metavar="N", help="cycles that a turn may have")
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="the project directory, by default this one")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _run(options: argparse.Namespace) -> int:
    """Run one turn without the interface."""
    from cogency_tui.headless.run import RunOptions, read_prompt, run_turn

    prompt = read_prompt(options.prompt)
    run_options = RunOptions(prompt, options.conversation, as_json=options.json, chunks=options.chunks)

    async def run() -> int:
        return await run_turn(_agent(options), run_options)

    return asyncio.run(run())


def _parse(options: argparse.Namespace) -> int:
    """Turn wire text into events, one JSON object a line."""
    from cogency_tui.headless.parse import parse_file

    return parse_file(options.file, options.dialect, size=options.chunk, chunks=options.chunks)


def _conversations(options: argparse.Namespace) -> int:
    """List past conversations, or show one."""
    from cogency_tui.headless.conversations import list_conversations, show_conversation
    from cogency_tui.store.conversations import Store

    async def run() -> int:
        async with await Store.open(data_path()) as store:
            if options.action == "show":
                return await show_conversation(store, options.id, as_json=options.json)
            project = None if options.all else Path.cwd().resolve()
            return await list_conversations(store, project, limit=options.limit, as_json=options.json)

    return asyncio.run(run())


def _doctor(options: argparse.Namespace) -> int:
    """Say what works here, what does not, and what to do about it."""
    from cogency_tui.headless.doctor import examine

    return asyncio.run(examine(as_json=options.json))


def _bench(options: argparse.Namespace) -> int:
    """Measure here what the documentation claims."""
    from cogency_tui.headless.bench import bench

    return bench(options.what, as_json=options.json)


def _interface(options: argparse.Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The interface needs a terminal on stdin and stdout.", "Use `cogency-tui run PROMPT` in scripts."
        )
    # What is made while the program starts stays; the app has the collector back when it stands.
    gc.disable()
    from cogency_tui.tui.app import run

    return run(_agent(options), prompt=options.prompt, conversation_id=_chosen(options))


def _chosen(options: argparse.Namespace) -> str | None:
    """The conversation to begin with, if one was asked for."""
    if not options.latest and options.resume is None:
        return None
    from cogency_tui.store.conversations import Store

    async def choose() -> str | None:
        async with await Store.open(data_path()) as store:
            if options.resume is not None:
                return (await store.resolve(options.resume)).id
            latest = await store.latest(str(_project(options)))
            return latest.id if latest else None

    return asyncio.run(choose())


def _project(options: argparse.Namespace) -> Path:
    project = (options.cwd or Path.cwd()).resolve()
    if not project.is_dir():
        raise UsageError(f"{project} is no directory.", "Give one with --cwd.")
    return project


def _agent(options: argparse.Namespace):
    from cogency_tui.agent.agent import Agent

    return Agent(
        options.provider,
        model=options.model,
        mode=options.mode,
        dialect=options.dialect,
        permissions=options.permissions,
        max_iterations=options.max_iterations,
        project=_project(options),
    )


_COMMANDS: dict[str, Command] = {
    "run": _run,
    "parse": _parse,
    "conversations": _conversations,
    "doctor": _doctor,
    "bench": _bench,
}

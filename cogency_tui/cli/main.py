"""The entry point: runs a headless command or the app; the only place where everything is put together."""

import asyncio
import errno
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from cogency_tui.cli import standard_streams
from cogency_tui.cli.options import InterfaceOptions, agent_of, project_of, settled_agent_of
from cogency_tui.config.schema import data_path
from cogency_tui.errors import CogencyError, UsageError, UserFacingError
from cogency_tui.safe_text import clean

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.tui.frame_log import FrameLog

USAGE_STATUS = 2

_UNWRITABLE = frozenset((errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG))

_FRAMES = "200"
"""Frames per second, at most; none is painted while nothing changes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 done, 1 failed, 2 usage, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    standard_streams.prepare()
    try:
        return _status_of(arguments)
    except KeyboardInterrupt:
        return 130
    finally:
        standard_streams.discard_unwritable()


def _status_of(arguments: list[str]) -> int:
    try:
        try:
            return _carry_out(arguments)
        finally:
            _report_notices(arguments)
            # At exit the interpreter could only complain about output that cannot be written.
            sys.stdout.flush()
    except CogencyError as exc:
        standard_streams.remark(clean(f"cogency-tui: {exc.advice}"))
        return USAGE_STATUS if isinstance(exc, UserFacingError) else 1
    except BrokenPipeError:
        # The reader of the output has closed it.
        return 1
    except OSError as exc:
        if not (trouble := _describe(exc)):
            raise
        standard_streams.remark(clean(f"cogency-tui: {trouble}"))
        return 1


def _carry_out(arguments: list[str]) -> int:
    if not arguments:
        return _interface(InterfaceOptions())
    # Not loaded for a plain start of the interface, which it would delay.
    from cogency_tui.cli.arguments import interface_parser, parser_of
    from cogency_tui.cli.commands import COMMANDS

    name = arguments[0]
    if name in COMMANDS:
        return COMMANDS[name](parser_of(name, COMMANDS[name].__doc__ or "").parse_args(arguments[1:]))
    return _interface(interface_parser(COMMANDS).parse_args(arguments, InterfaceOptions()))


def _report_notices(arguments: Sequence[str]) -> None:
    """Print the notices of the store that no screen, turn or command has shown."""
    from cogency_tui.store import unseen_notices

    # The output of an editor's, an agent's or a browser page's program is not read: a turn shows the notices.
    if arguments[:1] not in (["acp"], ["mcp"]) and not _is_in_browser():
        unseen_notices.report(data_path(), lambda notice: standard_streams.remark(clean(notice)))


def _describe(error: OSError) -> str:
    """The problem with the program's surroundings; empty if `error` is about something else."""
    try:
        Path.cwd()
    except OSError:
        return "The working directory no longer exists. Change to another one."
    if error.filename is None and error.errno in _UNWRITABLE:
        return f"Cannot write the output: {error.strerror}."
    return ""


def _is_terminal(stream: TextIO | None) -> bool:
    """Return whether `stream` is open, and a terminal."""
    return stream is not None and stream.isatty()


def _is_in_browser() -> bool:
    return os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver")


def _interface(options: InterfaceOptions) -> int:
    if options.linear:
        return _linear(options)
    if not (_is_in_browser() or (_is_terminal(sys.stdin) and _is_terminal(sys.stdout))):
        raise UsageError(
            "The interface needs a terminal on stdin and stdout.",
            "Use `cogency-tui run PROMPT` in scripts, or --linear for plain lines.",
        )
    # Textual reads this on first import. The effect of a key waits for the next frame: at sixty a second
    # that is most of its delay while an answer streams in.
    os.environ.setdefault("TEXTUAL_FPS", _FRAMES)
    if options.tour:
        return _tour(options)
    # Objects made at start-up live on; the app enables the collector again once it shows.
    gc.disable()
    from cogency_tui.tui.app import run

    return run(
        _agent_of(options),
        prompt=options.prompt,
        conversation_id=_chosen(options),
        mouse=not options.no_mouse,
        animation=not options.no_animation,
        frames=_frames() if options.debug else None,
    )


def _agent_of(options: InterfaceOptions) -> "Agent":
    from cogency_tui.agent.edits.startup_recovery import any_left, settle_left

    # Without anything to settle there is no need for an event loop.
    if any_left(data_path()):
        asyncio.run(settle_left(data_path()))
    return settled_agent_of(options)


def _tour(options: InterfaceOptions) -> int:
    from cogency_tui.cli.standard_streams import talk
    from cogency_tui.safe_text import one_line
    from cogency_tui.tui.tour.launcher import run_tour

    status, scratch = run_tour(mouse=not options.no_mouse, animation=not options.no_animation)
    if scratch is not None:
        talk(f"The scratch project is in {one_line(str(scratch))}.")
    return status


def _frames() -> "FrameLog":
    from cogency_tui.tui.frame_log import FrameLog

    return FrameLog(data_path() / "debug.log")


def _linear(options: InterfaceOptions) -> int:
    """Run the interface as plain lines on stdin and stdout."""
    from cogency_tui.linear.session import run_session

    if sys.stdin is None:
        raise UsageError(
            "--linear reads messages from stdin, which is closed.",
            "Use `cogency-tui run PROMPT` in scripts.",
        )
    conversation = _chosen(options)

    async def run() -> int:
        return await run_session(await agent_of(options), options.prompt, conversation)

    return asyncio.run(run())


def _chosen(options: InterfaceOptions) -> str | None:
    """The conversation to open, if one was asked for."""
    if not options.latest and options.resume is None:
        return None
    from cogency_tui.store.store import Store

    async def choose() -> str | None:
        async with await Store.open(data_path()) as store:
            if options.resume is not None:
                return (await store.resolve(options.resume)).id
            latest = await store.latest(str(project_of(options)))
            return latest.id if latest else None

    return asyncio.run(choose())

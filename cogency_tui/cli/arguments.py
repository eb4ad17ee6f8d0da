"""The command line's arguments: the options of the interface, and those of each command."""

import argparse
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cogency_tui import __version__
from cogency_tui.cli.standard_streams import remark
from cogency_tui.config.schema import DIALECT_CHOICES, EFFORT_CHOICES, MODES, PERMISSIONS
from cogency_tui.protocol import TEXT_DIALECTS
from cogency_tui.safe_text import clean

_ACTIONS = {
    "list": "list the conversations of this project, newest first",
    "show": "show a conversation, event by event",
    "export": "export a conversation, or all, as Markdown, HTML or JSON Lines",
    "rename": "set the title (empty = automatic)",
    "fork": "fork a conversation, in full or up to --at",
    "trash": "move a conversation to the trash",
    "restore": "restore a conversation from the trash",
    "tree": "show a conversation's forks and parent",
    "compare": "compare two conversations since their fork",
    "rerun": "run a turn again in a scratch copy of its files, and compare",
}


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports output errors, which argparse ignores."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stdout:
            print(clean(message), end="")
        else:
            remark(message, end="")


def interface_parser(commands: Iterable[str], *, prompt: bool = True) -> argparse.ArgumentParser:
    """The options of the interface, whose help lists these commands; `prompt` includes the first prompt."""
    parser = _Parser(
        prog="cogency-tui",
        description="A full-screen terminal coding agent. Type a request and watch the agent "
        "read, edit and run code.",
        epilog="Commands: "
        + ", ".join(commands)
        + ". `cogency-tui COMMAND --help` shows the options of each.",
    )
    if prompt:
        parser.add_argument("prompt", nargs="?", default="", help="first message", metavar="PROMPT")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "-c", "--continue", dest="latest", action="store_true", help="continue the last conversation here"
    )
    chosen.add_argument(
        "-r", "--resume", metavar="ID", help="continue a conversation, by its id or a unique prefix"
    )
    _add_agent_options(parser)
    parser.add_argument(
        "--linear",
        action="store_true",
        help="plain lines instead of a full screen, for screen readers and pipes",
    )
    parser.add_argument(
        "--tour", action="store_true", help="take the tour, with the built-in demo model in a scratch project"
    )
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    parser.add_argument("--no-animation", action="store_true", help="turn off animation")
    parser.add_argument(
        "--debug", action="store_true", help="log slow frames to debug.log in the data directory"
    )
    parser.add_argument("--version", action="version", version=f"cogency-tui {__version__}")
    return parser


def parser_of(name: str, description: str) -> argparse.ArgumentParser:
    """The options of a command."""
    parser = _Parser(prog=f"cogency-tui {name}", description=description)
    if name == "run":
        parser.add_argument(
            "prompt", nargs="?", default="", metavar="PROMPT", help="message; stdin is appended"
        )
        parser.add_argument("--json", action="store_true", help="print one event per line on stdout")
        parser.add_argument(
            "--json-schema", action="store_true", help="print the JSON schema of the events and exit"
        )
        parser.add_argument(
            "--chunks", action="store_true", help="with --json: include deltas and previews as they arrive"
        )
        parser.add_argument("--conversation", metavar="ID", help="continue a conversation")
        parser.add_argument(
            "--until",
            metavar="CMD",
            help="run CMD after each turn, and go on until it succeeds; the model is sent what it prints",
        )
        parser.add_argument(
            "--max-turns", type=_positive, metavar="N", help="with --until: most turns; default: 20"
        )
        parser.add_argument(
            "--max-cost",
            type=_amount,
            metavar="USD",
            help="spending limit for the turn, in dollars; asks before exceeding it, or exits with status 1; "
            "with --until for all turns, and without asking",
        )
        parser.add_argument(
            "--timeout",
            type=_amount,
            metavar="SECONDS",
            help="stop the turn, or with --until all turns, after this time, with status 1",
        )
        _add_agent_options(parser)
    elif name == "acp":
        # The editor sends the directory of each conversation.
        _add_agent_options(parser, cwd=False)
    elif name == "mcp":
        _add_scope(parser)
    elif name == "serve":
        parser.add_argument("--port", type=_count, default=8765, metavar="N", help="port; 0 for any free one")
        _add_agent_options(parser)
    elif name == "parse":
        parser.add_argument(
            "file", nargs="?", type=Path, metavar="FILE", help="raw model output; default: stdin"
        )
        parser.add_argument(
            "--dialect", choices=TEXT_DIALECTS, default="xml", help="dialect of the output; default: xml"
        )
        parser.add_argument("--chunk", type=_positive, metavar="N", help="parse in chunks of N characters")
        parser.add_argument("--chunks", action="store_true", help="print deltas and previews as they arrive")
    elif name == "conversations":
        _add_conversation_actions(parser)
    elif name == "recall":
        _add_recall_options(parser)
    elif name == "usage":
        _add_usage_options(parser)
    elif name == "history":
        _add_history_actions(parser)
    elif name == "import":
        parser.add_argument(
            "file",
            nargs="?",
            type=Path,
            metavar="FILE",
            help="JSON Lines of `conversations export`; default: stdin",
        )
        parser.add_argument(
            "--from",
            dest="source",
            metavar="AGENT,…",
            help="import the histories of claude-code, codex, opencode, gemini, vibe, pi, or all of these",
        )
        parser.add_argument(
            "--all", action="store_true", help="with --from: of all projects, not only this one"
        )
        parser.add_argument("--dry-run", action="store_true", help="with --from: only count what is new")
        parser.add_argument(
            "--follow",
            action="store_true",
            help="with --from: go on importing what is new until an interrupt",
        )
        parser.add_argument("--json", action="store_true", help="with --from: one JSON object per line")
    elif name == "sync":
        _add_sync_options(parser)
    elif name == "edits":
        _add_edit_actions(parser)
    elif name == "profile":
        parser.add_argument(
            "action",
            choices=("show", "on", "off", "clear"),
            help=(
                "show the stored facts with their sources; turn learning on or off; delete all facts "
                "permanently"
            ),
        )
        parser.add_argument("--json", action="store_true", help="one JSON object")
    elif name == "permissions":
        _add_permission_actions(parser)
    elif name == "models":
        parser.add_argument(
            "provider", nargs="?", default="", metavar="PROVIDER", help="only the models of this provider"
        )
        parser.add_argument("--live", action="store_true", help="ask the provider's endpoint for its models")
        parser.add_argument("--json", action="store_true", help="one JSON object per line")
    elif name == "trust":
        _add_trust_options(parser)
    elif name in ("skills", "hooks"):
        parser.add_argument(
            "--cwd", type=Path, metavar="DIR", help="project directory; default: the current one"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object per line")
    elif name == "config":
        _add_config_actions(parser)
    elif name == "bench":
        parser.add_argument(
            "what",
            choices=("protocol", "tokens", "render", "store"),
            help="the parsers, tokens per session mode, rendering speed, or search in a large store",
        )
        parser.add_argument("--events", type=_positive, metavar="N", help="for store; default: 1,000,000")
        parser.add_argument("--turns", type=_numbers, metavar="N,…", help="for tokens; default: 8,16,32")
        parser.add_argument("--json", action="store_true", help="one JSON object per line")
    elif name == "eval":
        _add_eval_options(parser)
    elif name == "completions":
        parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    elif name == "doctor":
        parser.add_argument("--rebuild", action="store_true", help="rebuild the search index")
        parser.add_argument(
            "--verify", action="store_true", help="check every event, stored file and copy of the store"
        )
        parser.add_argument(
            "--repair", action="store_true", help="recover the readable part of a damaged store"
        )
        parser.add_argument(
            "--online", action="store_true", help="also query the endpoints that have an API key"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object per line")
    return parser


def whole_parser(commands: Mapping[str, str]) -> argparse.ArgumentParser:
    """All options: those of the interface, and of `commands` (with their summaries)."""
    parser = interface_parser(commands, prompt=False)
    actions = parser.add_subparsers()
    for name, summary in commands.items():
        actions.add_parser(name, parents=[parser_of(name, summary)], add_help=False, help=summary)
    return parser


def _add_conversation_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(_ACTIONS))
    added = {name: actions.add_parser(name, help=help) for name, help in _ACTIONS.items()}
    added["list"].add_argument("--all", action="store_true", help="include all projects")
    added["list"].add_argument("--trash", action="store_true", help="list the trash of all projects")
    added["list"].add_argument(
        "--limit", type=_positive, default=50, metavar="N", help="at most N conversations; default: 50"
    )
    for name, action in added.items():
        if name != "list":
            is_optional = "?" if name == "export" else None
            action.add_argument("id", nargs=is_optional, metavar="ID", help="its id, or a unique prefix")
    added["show"].add_argument("--numbers", action="store_true", help="show the number of each event")
    added["export"].add_argument(
        "--all",
        action="store_true",
        help="export the conversations of all projects, also from the trash; `import` reads the JSON Lines",
    )
    added["export"].add_argument(
        "--format", choices=("md", "html", "jsonl"), help="default: md; with --all: jsonl"
    )
    added["export"].add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="with --all: file for JSON Lines (default: stdout), directory for the files of md and html",
    )
    added["export"].add_argument(
        "--theme", metavar="NAME", help="theme of the HTML; default: the interface's"
    )
    added["rename"].add_argument("title", metavar="TITLE", help="the new title")
    added["fork"].add_argument("--at", type=_positive, metavar="NUMBER", help="last event of the fork")
    added["compare"].add_argument(
        "other", metavar="ID", help="the other conversation's id, or a unique prefix"
    )
    _add_rerun_options(added["rerun"])
    for name in ("list", "show", "compare", "rerun"):
        added[name].add_argument("--json", action="store_true", help="one JSON object per line")


def _add_rerun_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turn", type=_positive, metavar="N", help="turn to run again; default: the last")
    parser.add_argument("--provider", metavar="NAME", help="provider to use; default: the configured one")
    parser.add_argument("--model", metavar="NAME", help="model to use; default: the provider's")
    parser.add_argument("--effort", choices=EFFORT_CHOICES, help="how hard the model thinks")
    parser.add_argument("--dialect", choices=DIALECT_CHOICES, help="how the model writes tool calls")
    parser.add_argument(
        "--check", default="", metavar="COMMAND", help="command to run in the files of both, e.g. 'pytest -q'"
    )
    parser.add_argument(
        "--max-cost", type=_amount, metavar="USD", help="spending limit for the turn, in dollars"
    )
    parser.add_argument(
        "--permissions",
        choices=PERMISSIONS,
        help="what runs without asking; default: auto in a sandbox, else at least edits",
    )


def _add_recall_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help='words, "phrases", file: since: …')
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--all", action="store_true", help="search all projects")
    where.add_argument(
        "--team", action="store_true", help="search what your team shares with you (see `history`)"
    )
    parser.add_argument("--shared-as", metavar="NAME", help="with --team: only the project of this name")
    parser.add_argument("--best", action="store_true", help="best matches first instead of newest")
    parser.add_argument(
        "--limit", type=_positive, default=20, metavar="N", help="at most N matches; default: 20"
    )
    parser.add_argument(
        "--stats",
        action="store_true",
        help="show usage totals instead of matches; QUERY may limit the period (since:30d before:…)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")


def _add_usage_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by",
        metavar="DIMENSION,…",
        help="model, tool, file, project or week, or several of them; default: model",
    )
    parser.add_argument(
        "--since", default="30d", metavar="TIME", help="30d, 2026-05-01, … or all; default: 30d"
    )
    parser.add_argument("--until", metavar="TIME", help="end of the period; default: now")
    _add_scope(parser, team="of your team, by user, project and model, if you may see it")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def _add_sync_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory",
        type=_named_path,
        metavar="DIR",
        help="directory that Syncthing, git, rclone or a network share carries between your machines",
    )
    parser.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="key of the bundles; default: COGENCY_SYNC_KEY, or sync.key in the data directory",
    )
    parser.add_argument(
        "--new-key",
        action="store_true",
        help="write with your key although the bundles in DIR have another one",
    )
    parser.add_argument("--dry-run", action="store_true", help="only count what is new")
    parser.add_argument("--follow", action="store_true", help="go on until an interrupt")
    parser.add_argument("--json", action="store_true", help="print one JSON object per sync")


def _add_history_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="status|share|unshare|push|pull|withdraw|watch|setup"
    )
    status = actions.add_parser("status", help="show what is shared, and whether the database can be used")
    status.add_argument("--json", action="store_true", help="one JSON object")
    sharing = actions.add_parser("share", help="share the conversations of a project, now and later")
    sharing.add_argument(
        "--as",
        dest="name",
        default="",
        metavar="NAME",
        help="its name there; default: the directory's",
    )
    sharing.add_argument(
        "--with",
        dest="audience",
        choices=("own", "project", "team"),
        help="who sees them: only you, the members of the project (default), or the team",
    )
    sharing.add_argument("--yes", action="store_true", help="do not ask")
    ending = actions.add_parser("unshare", help="end this, and withdraw its conversations")
    ending.add_argument("--keep", action="store_true", help="leave there what was pushed")
    for each in (sharing, ending):
        each.add_argument(
            "--project", type=Path, metavar="DIR", help="project directory; default: the current one"
        )
    pushing = actions.add_parser("push", help="push once what is new")
    pushing.add_argument(
        "id", nargs="?", default="", metavar="ID", help="only this conversation, even if it was withdrawn"
    )
    pulling = actions.add_parser("pull", help="store a conversation of another's here, to read and to fork")
    pulling.add_argument("id", metavar="ID", help="its id as `recall --team` shows it, or ORIGIN/ID")
    withdrawing = actions.add_parser("withdraw", help="remove a conversation of yours from the database")
    withdrawing.add_argument("id", metavar="ID", help="its id, or a unique prefix")
    actions.add_parser("watch", help="push what is new and pull what was pulled before, until an interrupt")
    setup = actions.add_parser("setup", help="print the SQL that sets up the database")
    setup.add_argument("--print", action="store_true", required=True, help="print it; nothing is run")


def _add_scope(parser: argparse.ArgumentParser, *, team: str = "") -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--all", action="store_true", help="include all projects")
    where.add_argument(
        "--project", type=Path, metavar="DIR", help="project directory; default: the current one"
    )
    if team:
        where.add_argument("--team", action="store_true", help=team)


def _add_edit_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|show|revert|restore|blame")
    listing = actions.add_parser("list", help="list the edits of a conversation, latest first")
    listing.add_argument("--turn", type=_positive, metavar="N", help="only this turn")
    showing = actions.add_parser("show", help="show the changes of an edit and its current state")
    shown = showing.add_mutually_exclusive_group(required=True)
    shown.add_argument("id", nargs="?", type=_positive, metavar="ID", help="edit as shown by `list`")
    shown.add_argument(
        "--patch", action="store_true", help="print all kept changes as a patch for `git apply`"
    )
    showing.add_argument("--turn", type=_positive, metavar="N", help="with --patch: only this turn")
    blaming = actions.add_parser("blame", help="show which lines of a file the agent wrote, when and why")
    blaming.add_argument("file", metavar="FILE[:LINE]")
    blaming.add_argument("--json", action="store_true", help="one JSON object per line")
    reverting = actions.add_parser("revert", help="revert edits; default: the last turn with edits")
    what = reverting.add_mutually_exclusive_group()
    what.add_argument("ids", nargs="*", type=_positive, default=[], metavar="ID", help="edits to revert")
    turn = "revert turn N; default: the last turn with edits"
    what.add_argument("--turn", nargs="?", type=_positive, const=0, metavar="N", help=turn)
    what.add_argument(
        "--to", type=_count, metavar="TURN", help="everything after this turn; 0 for the whole conversation"
    )
    what.add_argument("--redo", action="store_true", help="redo the last revert")
    restoring = actions.add_parser("restore", help="restore a file to its state after an edit")
    restoring.add_argument("--before", action="store_true", help="restore the state before the edit")
    restoring.add_argument("id", type=_positive, metavar="ID", help="edit as shown by `list`")
    for action in (listing, reverting):
        action.add_argument(
            "--path", action="append", default=[], metavar="PATH", help="only this path; may be repeated"
        )
    for action in (reverting, restoring):
        action.add_argument("--dry-run", action="store_true", help="show the changes without making them")
        action.add_argument(
            "--for-good",
            action="store_true",
            help="proceed even if the current content is too large to back up (no redo)",
        )
        action.add_argument(
            "--yes",
            action="store_true",
            help="confirm changes for an imported conversation, or outside the project",
        )
    for action in (listing, showing, reverting, restoring):
        action.add_argument("--conversation", metavar="ID", help="default: the latest of this project")
        action.add_argument("--json", action="store_true", help="one JSON object per line")


def _add_permission_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|revoke")
    listing = actions.add_parser("list", help="list the rules, including those of other projects")
    revoking = actions.add_parser("revoke", help="remove rules")
    revoking.add_argument("ids", nargs="+", metavar="ID", help="id as shown by `list`")
    for action in (listing, revoking):
        action.add_argument("--json", action="store_true", help="one JSON object per line")


def _add_config_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="path|show|set|unset")
    actions.add_parser("path", help="print the path of your configuration")
    showing = actions.add_parser("show", help="show all options, their values and sources")
    showing.add_argument("--json", action="store_true", help="one JSON object per line")
    _add_agent_options(showing)
    setting = actions.add_parser("set", help="set an option in your configuration")
    unsetting = actions.add_parser(
        "unset", help="remove an option from your configuration (back to the default)"
    )
    for action in (setting, unsetting):
        action.add_argument(
            "key", metavar="KEY", help="key as shown by `show`, or keys.ID, or providers.NAME.KEY"
        )
    setting.add_argument("value", metavar="VALUE")


def _add_trust_options(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--yes", action="store_true", help="trust without confirmation")
    what.add_argument("--revoke", action="store_true", help="revoke trust; you are asked again next time")
    what.add_argument("--list", action="store_true", help="list trusted and refused projects")
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="project directory; default: the current one")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")


def _add_eval_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="task as shown by --list; default: all")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="PROVIDER/MODEL",
        help="model to compare; may be repeated; default: the configured one",
    )
    parser.add_argument(
        "--dialect",
        action="append",
        default=[],
        choices=DIALECT_CHOICES,
        help="dialect to compare; may be repeated; default: the configured one",
    )
    parser.add_argument(
        "--effort",
        action="append",
        default=[],
        choices=EFFORT_CHOICES,
        help="reasoning effort to compare; may be repeated; default: the configured one",
    )
    parser.add_argument("--mode", choices=MODES, help="session mode")
    parser.add_argument(
        "--times", type=_positive, default=1, metavar="K", help="attempts at each task; default: 1"
    )
    parser.add_argument(
        "--jobs", type=_positive, default=1, metavar="N", help="attempts at the same time; default: 1"
    )
    parser.add_argument(
        "--limit", type=_amount, default=300.0, metavar="SECONDS", help="time for an attempt; default: 300"
    )
    parser.add_argument(
        "--max-cost", type=_amount, metavar="USD", help="spending limit for an attempt, in dollars"
    )
    parser.add_argument("--yes", action="store_true", help="confirm runs that cost money")
    parser.add_argument("--list", action="store_true", help="list the tasks and exit")
    parser.add_argument("--json", action="store_true", help="one JSON object with every attempt")


def _add_agent_options(parser: argparse.ArgumentParser, *, cwd: bool = True) -> None:
    parser.add_argument(
        "--provider", metavar="NAME", help="offline, openai, ollama, … or a configured provider"
    )
    parser.add_argument("--model", metavar="NAME", help="model to use; default: the provider's")
    parser.add_argument("--mode", choices=MODES, help="session mode")
    parser.add_argument("--dialect", choices=DIALECT_CHOICES, help="how the model writes tool calls")
    parser.add_argument("--effort", choices=EFFORT_CHOICES, help="how hard the model thinks")
    parser.add_argument("--service-tier", metavar="NAME", help="the provider's class of service: flex, …")
    parser.add_argument("--permissions", choices=PERMISSIONS, help="what runs without asking")
    parser.add_argument("--max-iterations", type=_positive, metavar="N", help="maximum steps per turn")
    if cwd:
        _add_cwd(parser)


def _add_cwd(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="project directory; default: the current one")


@contextmanager
def _wording(expected: str, given: str) -> Generator[None]:
    """Word the error for a value that is none of what is expected."""
    try:
        yield
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be {expected}, not {given!r}") from None


def _amount(text: str) -> float:
    with _wording("a number above 0", text):
        if not 0 < (number := float(text)) < float("inf"):
            raise ValueError
    return number


def _named_path(text: str) -> Path:
    with _wording("the name of a directory", text):
        if not text:
            raise ValueError
    return Path(text)


def _positive(text: str) -> int:
    with _wording("a whole number of at least 1", text):
        if (number := int(text)) < 1:
            raise ValueError
    return number


def _count(text: str) -> int:
    with _wording("a whole number of at least 0", text):
        if (number := int(text)) < 0:
            raise ValueError
    return number


def _numbers(text: str) -> list[int]:
    return [_positive(number) for number in text.split(",")]

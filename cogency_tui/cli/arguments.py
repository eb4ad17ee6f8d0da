"""The command line's arguments: the options of the interface, and those of each command."""

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cogency_tui import __version__
from cogency_tui.cli.standard_streams import remark
from cogency_tui.config.schema import DIALECTS, MODES, PERMISSIONS
from cogency_tui.safe_text import clean

_ACTIONS = {
    "list": "the conversations of this project, newest first",
    "show": "one conversation, event by event",
    "export": "one conversation as Markdown, HTML or JSON lines",
    "rename": "give it a title; an empty one lets its next message give it",
    "fork": "begin a new one with its events, up to one of them",
    "trash": "move it to the trash",
    "restore": "take it out of the trash",
    "tree": "its forks, and what it was forked from",
    "compare": "what two have in common, and what each came to since",
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
        description="A full-screen terminal coding agent. Type a request; watch it read, edit and run.",
        epilog="Commands: " + ", ".join(commands) + ". `cogency-tui COMMAND --help` says more of each.",
    )
    if prompt:
        parser.add_argument("prompt", nargs="?", default="", help="what to ask first", metavar="PROMPT")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "-c", "--continue", dest="latest", action="store_true", help="the last conversation here"
    )
    chosen.add_argument(
        "-r", "--resume", metavar="ID", help="a conversation, by its id or the beginning of it"
    )
    _add_agent_options(parser)
    parser.add_argument(
        "--linear", action="store_true", help="plain lines instead of a screen, for screen readers and pipes"
    )
    parser.add_argument(
        "--tour", action="store_true", help="what it can do, on the offline model in a scratch project"
    )
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    parser.add_argument("--no-animation", action="store_true", help="nothing on the screen moves by itself")
    parser.add_argument(
        "--debug", action="store_true", help="keep a log of slow frames, debug.log in the data directory"
    )
    parser.add_argument("--version", action="version", version=f"cogency-tui {__version__}")
    return parser


def parser_of(name: str, description: str) -> argparse.ArgumentParser:
    """The options of a command."""
    parser = _Parser(prog=f"cogency-tui {name}", description=description)
    if name == "run":
        parser.add_argument(
            "prompt", nargs="?", default="", metavar="PROMPT", help="what to ask; stdin is added"
        )
        parser.add_argument("--json", action="store_true", help="an event a line on stdout")
        parser.add_argument("--json-schema", action="store_true", help="print what those look like, and end")
        parser.add_argument("--chunks", action="store_true", help="with --json: text and output as they come")
        parser.add_argument("--conversation", metavar="ID", help="go on with a conversation")
        parser.add_argument(
            "--max-cost",
            type=_amount,
            metavar="USD",
            help="dollars for the turn: before a request that would pass it, it asks, or ends with status 1",
        )
        parser.add_argument(
            "--timeout",
            type=_amount,
            metavar="SECONDS",
            help="after which it is stopped, with status 1",
        )
        _add_agent_options(parser)
    elif name == "acp":
        # The editor sends the directory of each conversation.
        _add_agent_options(parser, cwd=False)
    elif name == "serve":
        parser.add_argument("--port", type=_count, default=8765, metavar="N", help="0 for any that is free")
        _add_agent_options(parser)
    elif name == "parse":
        parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="wire text; stdin by default")
        parser.add_argument("--dialect", choices=DIALECTS, default="xml")
        parser.add_argument("--chunk", type=_positive, metavar="N", help="feed it in pieces of N characters")
        parser.add_argument("--chunks", action="store_true", help="print deltas and previews as they come")
    elif name == "conversations":
        _add_conversation_actions(parser)
    elif name == "recall":
        _add_recall_options(parser)
    elif name == "import":
        parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="JSON lines; stdin by default")
    elif name == "edits":
        _add_edit_actions(parser)
    elif name == "profile":
        parser.add_argument(
            "action",
            choices=("show", "on", "off", "clear"),
            help="what is known of you and from where; learn from what you write, or not; forget it for good",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object")
    elif name == "permissions":
        _add_permission_actions(parser)
    elif name == "trust":
        _add_trust_options(parser)
    elif name == "config":
        _add_config_actions(parser)
    elif name == "bench":
        parser.add_argument(
            "what",
            choices=("protocol", "tokens", "render", "store"),
            help="the parsers, what the modes send, how quick the interface is, or searching a large store",
        )
        parser.add_argument("--events", type=_positive, metavar="N", help="of store: 1,000,000 by default")
        parser.add_argument("--turns", type=_numbers, metavar="N,…", help="of tokens: 8,16,32 by default")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")
    elif name == "completions":
        parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    elif name == "doctor":
        parser.add_argument("--rebuild", action="store_true", help="make the search index anew")
        parser.add_argument(
            "--repair", action="store_true", help="recover what can be read of a damaged store"
        )
        parser.add_argument(
            "--online", action="store_true", help="ask the endpoints that have their key, too"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object a line")
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
    added["list"].add_argument("--all", action="store_true", help="those of every project")
    added["list"].add_argument("--trash", action="store_true", help="those in the trash, of every project")
    added["list"].add_argument("--limit", type=_positive, default=50, metavar="N")
    for name, action in added.items():
        if name != "list":
            action.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    added["show"].add_argument("--numbers", action="store_true", help="with the number of each event")
    added["export"].add_argument("--format", choices=("md", "html", "jsonl"), default="md")
    added["export"].add_argument("--theme", metavar="NAME", help="of the HTML; by default the interface's")
    added["rename"].add_argument("title", metavar="TITLE")
    added["fork"].add_argument("--at", type=_positive, metavar="NUMBER", help="its last event")
    added["compare"].add_argument("other", metavar="ID")
    for name in ("list", "show", "compare"):
        added[name].add_argument("--json", action="store_true", help="one JSON object a line")


def _add_recall_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help='words, "phrases", file: since: …')
    parser.add_argument("--all", action="store_true", help="in every project")
    parser.add_argument("--best", action="store_true", help="the best first, not the newest")
    parser.add_argument("--limit", type=_positive, default=20, metavar="N")
    parser.add_argument("--stats", action="store_true", help="sums instead: of all, or since:30d before:…")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_edit_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|show|revert|restore|blame")
    listing = actions.add_parser("list", help="the edits of a conversation, the latest first")
    listing.add_argument("--turn", type=_positive, metavar="N", help="those of one turn")
    showing = actions.add_parser("show", help="what one edit changed, and what became of it")
    shown = showing.add_mutually_exclusive_group(required=True)
    shown.add_argument("id", nargs="?", type=_positive, metavar="ID")
    shown.add_argument("--patch", action="store_true", help="all that is kept, as `git apply` takes it")
    showing.add_argument("--turn", type=_positive, metavar="N", help="with --patch: what is kept of one turn")
    blaming = actions.add_parser("blame", help="which lines of a file the agent wrote, when and why")
    blaming.add_argument("file", metavar="FILE[:LINE]")
    blaming.add_argument("--json", action="store_true", help="one JSON object a line")
    reverting = actions.add_parser("revert", help="take back edits, by default the last turn with any")
    what = reverting.add_mutually_exclusive_group()
    what.add_argument("ids", nargs="*", type=_positive, default=[], metavar="ID", help="these edits")
    turn = "a turn, by default the last with edits"
    what.add_argument("--turn", nargs="?", type=_positive, const=0, metavar="N", help=turn)
    what.add_argument("--to", type=_count, metavar="TURN", help="all after this turn; 0 is the beginning")
    what.add_argument("--redo", action="store_true", help="do again what was taken back last")
    restoring = actions.add_parser("restore", help="put a file back as an edit left it")
    restoring.add_argument("--before", action="store_true", help="as it was before that edit")
    restoring.add_argument("id", type=_positive, metavar="ID")
    for action in (listing, reverting):
        action.add_argument(
            "--path", action="append", default=[], metavar="PATH", help="only there; may be repeated"
        )
    for action in (reverting, restoring):
        action.add_argument("--dry-run", action="store_true", help="only say what would be done")
        action.add_argument(
            "--for-good", action="store_true", help="even if what is there now is too large to be kept"
        )
        action.add_argument(
            "--yes", action="store_true", help="also for an imported conversation, or outside the project"
        )
    for action in (listing, showing, reverting, restoring):
        action.add_argument("--conversation", metavar="ID", help="by default the latest of this project")
        action.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_permission_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|revoke")
    listing = actions.add_parser("list", help="the rules, those of other projects too")
    revoking = actions.add_parser("revoke", help="ask again about what a rule lets pass")
    revoking.add_argument("ids", nargs="+", metavar="ID", help="as `list` shows them")
    for action in (listing, revoking):
        action.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_config_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="path|show|set|unset")
    actions.add_parser("path", help="where your configuration is, or would be")
    showing = actions.add_parser("show", help="every option, its value, and where that is from")
    showing.add_argument("--json", action="store_true", help="one JSON object a line")
    _add_agent_options(showing)
    setting = actions.add_parser("set", help="write a value into your configuration")
    unsetting = actions.add_parser("unset", help="take a value out of it, so that the default counts")
    for action in (setting, unsetting):
        action.add_argument(
            "key", metavar="KEY", help="as `show` lists it, or keys.ID, or providers.NAME.KEY"
        )
    setting.add_argument("value", metavar="VALUE")


def _add_trust_options(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--yes", action="store_true", help="trust it without asking")
    what.add_argument("--revoke", action="store_true", help="trust it no more, and ask again")
    what.add_argument("--list", action="store_true", help="all projects that something was decided on")
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="the project directory, by default this one")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_agent_options(parser: argparse.ArgumentParser, *, cwd: bool = True) -> None:
    parser.add_argument(
        "--provider", metavar="NAME", help="offline, openai, ollama, … or one of the configuration"
    )
    parser.add_argument("--model", metavar="NAME")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--dialect", choices=DIALECTS)
    parser.add_argument("--permissions", choices=PERMISSIONS)
    parser.add_argument("--max-iterations", type=_positive, metavar="N", help="cycles that a turn may have")
    if cwd:
        _add_cwd(parser)


def _add_cwd(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="the project directory, by default this one")


def _amount(text: str) -> float:
    number = float(text)
    if not (0 < number < float("inf")):
        raise ValueError(text)
    return number


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _numbers(text: str) -> list[int]:
    return [_positive(number) for number in text.split(",")]

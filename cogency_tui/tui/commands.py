"""The commands that a user types after `/` or picks in the palette: names for actions of the main screen.

Both share one registry, and the same actions as the keys.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from cogency_tui.config.schema import DIALECT_CHOICES, EFFORT_CHOICES, MODES, PERMISSIONS
from cogency_tui.config.themes import theme_choices
from cogency_tui.errors import UsageError

if TYPE_CHECKING:
    from cogency_tui.agent.project.custom_files import CustomCommand

PROFILE_CHOICES = ("show", "on", "off", "clear")
COST_CHOICES = ("why",)
USAGE_CHOICES = ("model", "tool", "file", "project", "week")


CUSTOM = "custom"
"""The handler of commands defined in files; it receives the command's name before the argument."""

_NAMED = re.compile(r"/[A-Za-z][A-Za-z0-9-]*")


class SlashCommand(msgspec.Struct, frozen=True):
    """A command: `handler` names the handler that receives the argument, which is one of `choices`, or any
    text where `takes` describes it. `group` is one of `GROUPS` in `tui/action_groups.py`. Its `aliases` work
    where it is typed, and are in no list. With `lines` what follows may have more than one."""

    name: str
    summary: str
    handler: str
    choices: Callable[[], tuple[str, ...]] | None = None
    takes: str = ""
    group: str = "Conversation"
    aliases: tuple[str, ...] = ()
    lines: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return self.name, *self.aliases

    def action(self, argument: str = "") -> str:
        """The action of the main screen that runs the command."""
        if self.handler == CUSTOM:
            argument = f"{self.name} {argument}"
        return f"screen.command({self.handler!r}, {argument!r})"


COMMANDS = (
    SlashCommand("new", "Start a new conversation", "new_conversation"),
    SlashCommand(
        "switch", "Go to another open conversation", "switch_conversation", aliases=("conversations",)
    ),
    SlashCommand(
        "resume",
        "Recall and resume a past conversation",
        "recall",
        takes="[QUERY]",
        aliases=("recall",),
    ),
    SlashCommand("rename", "Rename this conversation", "rename", takes="[TITLE]"),
    SlashCommand("export", "Export this conversation", "export", takes="[md|html|jsonl] [FILE]"),
    SlashCommand("image", "Attach an image: a file, or the clipboard", "image", takes="[PATH]"),
    SlashCommand("copy", "Copy the last answer", "copy_last_answer"),
    SlashCommand("model", "Choose a model", "choose_model", takes="[PROVIDER[/MODEL]]", group="Model"),
    SlashCommand("mode", "Session mode", "set_mode", lambda: MODES, group="Model"),
    SlashCommand("effort", "Reasoning effort", "set_effort", lambda: EFFORT_CHOICES, group="Model"),
    SlashCommand("dialect", "Dialect of tool calls", "set_dialect", lambda: DIALECT_CHOICES, group="Model"),
    SlashCommand(
        "permissions",
        "What the agent may do without asking",
        "permissions",
        lambda: PERMISSIONS,
        group="Model",
    ),
    SlashCommand(
        "trust",
        "Review and trust this project's .cogency files, skills and hooks",
        "trust",
        group="Project",
    ),
    SlashCommand(
        "worktree",
        "Work in a git worktree: begin, list, merge or remove one",
        "worktree",
        takes="[NAME|list|merge|remove [NAME]]",
        group="Project",
    ),
    SlashCommand("skills", "Skills: which are in use, and why others are not", "skills", group="Project"),
    SlashCommand("hooks", "Hooks: what runs on which event, and how it went", "hooks", group="Project"),
    SlashCommand("lsp", "Language servers: errors after edits", "lsp", group="Project"),
    SlashCommand("mcp", "MCP server status and restart", "mcp", takes="[NAME]", group="Project"),
    SlashCommand("review", "Review every edit, hunk by hunk", "review", group="Review"),
    SlashCommand("undo", "Revert the changes of the last turn", "undo", group="Review"),
    SlashCommand("redo", "Redo what /undo reverted", "redo", group="Review"),
    SlashCommand("turns", "List the turns, and go to one", "turns"),
    SlashCommand("todos", "Go to the agent's plan", "show_plan"),
    SlashCommand("rewind", "Rewind to one of your messages", "rewind"),
    SlashCommand("timeline", "Browse the conversation event by event", "timeline"),
    SlashCommand(
        "processes", "Background processes of the agent", "show_background", aliases=("background",)
    ),
    SlashCommand("agents", "Sub-agents: prompt, cost, files", "agents"),
    SlashCommand("retry", "Retry the last turn", "retry"),
    SlashCommand("rerun", "Run a turn again with another model, and compare", "rerun", takes="[TURN]"),
    SlashCommand("until", "Work until a shell command succeeds", "until", takes="[CMD, or off]", lines=True),
    SlashCommand("fork", "Fork this conversation", "fork"),
    SlashCommand("context", "Context usage", "show_context"),
    SlashCommand("compact", "Summarize the conversation", "compact"),
    SlashCommand("status", "Tokens, cost, speed and current settings", "show_status"),
    SlashCommand("cost", "Tokens and cost of this conversation", "show_costs", lambda: COST_CHOICES),
    SlashCommand(
        "usage", "Tokens, cost and success by model, tool, file or week", "show_usage", lambda: USAGE_CHOICES
    ),
    SlashCommand(
        "import", "Import the histories of other agents", "import_history", takes="[AGENT…]", group="Project"
    ),
    SlashCommand(
        "share", "Share this project's conversations with your team, or end it", "share", group="Project"
    ),
    SlashCommand(
        "profile", "What the agent remembers about you", "profile", lambda: PROFILE_CHOICES, group="Project"
    ),
    SlashCommand("theme", "Choose a color theme", "set_theme", lambda: tuple(theme_choices()), group="View"),
    SlashCommand("settings", "View and change all settings", "settings", takes="[OPTION]", group="View"),
    SlashCommand("keys", "All keys and how to remap them", "show_keys", group="Help"),
    SlashCommand("help", "Keys and commands", "help", group="Help"),
    SlashCommand("doctor", "Check the installation", "doctor", group="Help"),
    SlashCommand("quit", "Quit", "leave", group="Help", aliases=("exit", "q")),
)


def with_custom(custom: "Iterable[CustomCommand]") -> tuple[SlashCommand, ...]:
    """Add the commands defined in files to the built-in ones; none of them overrides a built-in."""
    taken = {name for command in COMMANDS for name in command.names}
    others = [each for each in custom if each.name not in taken]
    return (
        *COMMANDS,
        *(
            SlashCommand(each.name, _summary(each), CUSTOM, takes=each.takes, group=each.group)
            for each in others
        ),
    )


def _summary(command: "CustomCommand") -> str:
    return " · ".join(filter(None, (command.description or "Custom command", command.place)))


def parse_command(text: str, commands: Sequence[SlashCommand] = COMMANDS) -> tuple[SlashCommand, str]:
    """The one of `commands` that `text` (with its slash) names, also by an alias, and its argument.

    Raises:
        UsageError: no command has that name, or it does not accept that argument.
    """
    name, *rest = text.removeprefix("/").split(maxsplit=1) or [""]
    argument = "".join(rest).strip()
    command = next((command for command in commands if name in command.names), None)
    if command is None:
        raise UsageError(f"Unknown command /{name}.", _suggest(name, commands))
    choices = command.choices() if command.choices else ()
    if argument and argument not in choices and not command.takes:
        expected = f"Expected one of: {', '.join(choices)}." if choices else "It takes no argument."
        raise UsageError(f"/{name} does not accept {argument!r}.", expected)
    return command, argument


def _suggest(name: str, commands: Sequence[SlashCommand]) -> str:
    """The command with the nearest name, or where all of them are."""
    # Only a mistyped command needs this module.
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), [command.name for command in commands], n=1, cutoff=0.5)
    return f"Did you mean /{near[0]}?" if near else "Ctrl+P lists all commands."


def is_command(text: str) -> bool:
    """Return whether a message is a command: a slash and a word, not a path (`/etc/hosts is`), and one line
    unless the command takes more."""
    first = text.split(maxsplit=1)[0] if text else ""
    if not _NAMED.fullmatch(first):
        return False
    return "\n" not in text or any(each.lines for each in COMMANDS if first[1:] in each.names)


def takes_images(text: str) -> bool:
    """Return whether images can go with a text: a message, or a command defined in a file."""
    if not is_command(text):
        return not text.startswith("!")
    name = text.split(maxsplit=1)[0].removeprefix("/")
    return not any(name in command.names for command in COMMANDS)

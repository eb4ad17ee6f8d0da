"""Settings: the options, their meaning, and the paths of the user's files.

`Settings` is the one declaration of all options: `config show`, the settings screen and the environment
read it through `options`. It also declares what a project's own file may set: a cloned repository must not
choose endpoints, keys or wider permissions.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from cogency_tui.config.hooks import HookSettings
from cogency_tui.config.language_servers import LanguageServerSettings
from cogency_tui.config.mcp import McpSettings
from cogency_tui.config.workflows import WorkflowSettings

Mode = Literal["auto", "resume", "replay"]
Permissions = Literal["plan", "ask", "edits", "auto"]
Effort = Literal["none", "low", "medium", "high", "max"]
EffortChoice = Literal["auto", "none", "low", "medium", "high", "max"]
DialectChoice = Literal["auto", "native", "xml", "delimiter", "action"]

MODES: tuple[Mode, ...] = ("auto", "resume", "replay")
PERMISSIONS: tuple[Permissions, ...] = ("plan", "ask", "edits", "auto")
EFFORTS: tuple[Effort, ...] = ("none", "low", "medium", "high", "max")
EFFORT_CHOICES: tuple[EffortChoice, ...] = ("auto", *EFFORTS)
DIALECT_CHOICES: tuple[DialectChoice, ...] = ("auto", "native", "xml", "delimiter", "action")

ModelDialect = Literal["", "native", "xml", "delimiter", "action"]
"""The dialect that suits a model; empty where it is not known."""

Applied = Literal["now", "turn", "conversation", "start"]
"""When a change applies: at once, with the next message, in the next conversation, at the next start."""

Giver = Literal["", "any", "less", "earlier", "later"]
"""The values that a trusted project may set: none, any, a smaller number, an earlier or a later choice."""


def _option(
    meaning: str,
    label: str = "",
    *,
    group: str = "",
    rare: bool = False,
    when: Applied = "now",
    project: Giver = "",
    unit: str = "",
    unset: str = "",
    means: Mapping[str, str] | None = None,
) -> Meta:
    """The description of an option and its label; without a `group` it is in that of the option before it,
    and few users ever change the options of a `rare` group. The description of a nested table replaces
    `{span}` in those of its options. `unset` names the effect of an empty value or zero, `means` that of each
    choice.
    """
    facts = {"when": when, "project": project, "unit": unit, "unset": unset, "means": means or {}}
    return Meta(description=meaning, extra={"label": label, "group": group, "rare": rare, **facts})


class ProviderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[providers.NAME]` table. `key_env` is the name of a variable, never a key.

    `api` is the wire protocol, by default the preset's, else Chat Completions; `resume`: the provider has
    sessions, over WebSocket for `responses`, as message threads for `anthropic`, over Responses that the
    server stores for `chat`. `context_size`, `reasoning`, `images` and `dialect` are facts about its models,
    which win over those of the table of models.
    """

    base_url: str = ""
    model: str = ""
    key_env: str = ""
    api: Literal["", "chat", "responses", "anthropic", "gemini"] = ""
    resume: bool | None = None
    context_size: Annotated[int, Meta(ge=0)] = 0
    reasoning: bool | None = None
    images: bool | None = None
    dialect: ModelDialect = ""


class AgentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[agents.NAME]` table: a sub-agent.

    Without `provider` and `model` it uses those of its caller, without `tools` all of its caller's tools.
    `permissions` is the most that it may do; it never may do more than its caller.
    """

    description: str = ""
    instructions: str = ""
    provider: str = ""
    model: str = ""
    permissions: Permissions = "auto"
    max_iterations: Annotated[int, Meta(ge=1, le=1000)] = 20
    tools: list[str] | None = None


class SpanLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[budget.SPAN]` table; 0 is no limit."""

    soft: Annotated[
        float,
        Meta(ge=0),
        _option(
            "Warn at this cost {span}, in USD (0 = never)",
            "Spending warning {span}",
            project="less",
            unit="USD",
            unset="none",
        ),
    ] = 0.0
    hard: Annotated[
        float,
        Meta(ge=0),
        _option(
            "Ask before exceeding this cost {span}, in USD (0 = no limit)",
            "Spending limit {span}",
            project="less",
            unit="USD",
            unset="none",
        ),
    ] = 0.0
    soft_tokens: Annotated[
        int,
        Meta(ge=0),
        _option(
            "Warn at this many tokens {span}, if the model has no known price (0 = never)",
            "Token warning {span}",
            project="less",
            unit="tokens",
            unset="none",
        ),
    ] = 0
    hard_tokens: Annotated[
        int,
        Meta(ge=0),
        _option(
            "Ask before exceeding this many tokens {span}, if the model has no known price (0 = no limit)",
            "Token limit {span}",
            project="less",
            unit="tokens",
            unset="none",
        ),
    ] = 0


class BudgetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[budget]` tables: of one turn, of one conversation, and of a day in the user's own time zone."""

    turn: Annotated[SpanLimits, _option("per turn")] = SpanLimits()
    conversation: Annotated[SpanLimits, _option("per conversation")] = SpanLimits()
    day: Annotated[SpanLimits, _option("per day (local time)")] = SpanLimits()


class HistorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[history]` table."""

    copies: Annotated[
        bool,
        _option(
            "Copy the history each week, beside it; the last three copies remain",
            "Weekly copy of the history",
        ),
    ] = True
    url: Annotated[
        str,
        _option(
            "Database of a team to share conversations with: postgresql://USER@HOST/DATABASE (see the"
            " command history)",
            "Team's database",
            unset="none",
        ),
    ] = ""
    password_env: Annotated[
        str,
        _option(
            "Variable with the password of that database",
            "Password variable of the team's database",
            unset="PGPASSWORD or ~/.pgpass",
        ),
    ] = ""
    private: Annotated[
        list[str],
        _option(
            "Projects that are never shared, as patterns of directories, e.g. ~/secret/*",
            "Private projects",
            unset="none",
        ),
    ] = []


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All options. Field names are the keys of the configuration file."""

    provider: Annotated[
        str,
        _option(
            "Service that runs the model: a vendor, a custom endpoint, or offline, the built-in demo",
            "Provider",
            group="Model",
        ),
    ] = "offline"
    model: Annotated[
        str,
        _option("Name of the model (empty = the provider's default)", "Model", unset="provider's default"),
    ] = ""
    mode: Annotated[
        Mode,
        _option(
            "How the conversation reaches the model: in one session, or in separate requests",
            "Session mode",
            project="any",
            means={
                "auto": "one session if the provider supports it, otherwise separate requests",
                "resume": "one session with the provider, in which only new messages are sent",
                "replay": "separate requests, each with the whole conversation",
            },
        ),
    ] = "auto"
    effort: Annotated[
        EffortChoice,
        _option(
            "How hard the model thinks before it answers; it gets the nearest level that it has",
            "Reasoning effort",
            project="any",
            means={
                "auto": "the model's own default",
                "none": "no reasoning, or the least that the model can do",
                "low": "fast and cheap",
                "medium": "a balance of speed and depth",
                "high": "slower, for hard tasks",
                "max": "as hard as the model can",
            },
        ),
    ] = "auto"
    service_tier: Annotated[
        str,
        _option(
            "The provider's class of service, in its own word, for example flex or priority",
            "Service tier",
            unset="provider's default",
        ),
    ] = ""
    dialect: Annotated[
        DialectChoice,
        _option(
            "How the model writes its tool calls",
            "Dialect",
            when="conversation",
            project="any",
            means={
                "auto": "what suits the model: native where the model is known to suit it, otherwise xml",
                "native": "the tool calls of the provider's API, which run together",
                "xml": "tags around a list of calls, which run together",
                "delimiter": "calls on lines that begin with a delimiter, which run together",
                "action": "one tag for each call, which runs as soon as it is written",
            },
        ),
    ] = "auto"
    permissions: Annotated[
        Permissions,
        _option(
            "What the agent may do without asking",
            "Permissions",
            group="Safety",
            project="earlier",
            means={
                "plan": "read-only; the agent only proposes changes and commands",
                "ask": "asks before file changes, commands and web access",
                "edits": "edits project files; asks before commands and web access",
                "auto": "asks only if destructive, protected or outside the project",
            },
        ),
    ] = "ask"
    sandbox: Annotated[
        Literal["off", "auto", "require"],
        _option(
            "Sandbox for commands: no network access, and write access to the project only",
            "Command sandbox",
            when="start",
            project="later",
            means={
                "off": "commands run with your full permissions",
                "auto": "commands run in the sandbox if the system supports it",
                "require": "commands run in the sandbox or not at all",
            },
        ),
    ] = "off"
    max_iterations: Annotated[
        int,
        Meta(ge=1, le=1000),
        _option(
            "Stop a turn after this many model requests",
            "Maximum steps per turn",
            when="turn",
            project="less",
        ),
    ] = 50
    budget: Annotated[BudgetSettings, _option("", group="Budget", rare=True)] = BudgetSettings()
    history_window: Annotated[
        int,
        Meta(ge=0),
        _option(
            "Number of recent messages sent to the model (0 = all)",
            "Messages sent to the model",
            group="Context",
            rare=True,
            when="turn",
            project="any",
            unset="all",
        ),
    ] = 0
    compact_at: Annotated[
        float,
        Meta(ge=0, le=0.95),
        _option(
            "Share of the context window at which older messages are summarized (0 = never)",
            "Summarize at context usage",
            when="turn",
            project="any",
            unset="never",
        ),
    ] = 0.8
    compact_keeps_messages: Annotated[
        bool,
        _option(
            "Keep your own messages verbatim when summarizing",
            "Keep your messages verbatim",
            when="turn",
            project="any",
        ),
    ] = True
    output_limit: Annotated[
        int,
        Meta(ge=1000),
        _option(
            "Maximum characters of a result sent to the model",
            "Maximum result size",
            when="turn",
            project="any",
            unit="characters",
        ),
    ] = 30_000
    payload_limit: Annotated[
        int,
        Meta(ge=1000),
        _option(
            "Maximum characters of a call's arguments",
            "Maximum argument size",
            when="turn",
            unit="characters",
        ),
    ] = 32 * 1024 * 1024
    diagnostics: Annotated[
        bool,
        _option(
            "Have language servers report the errors that an edit adds or fixes, and find symbols",
            "Diagnostics after edits",
            when="turn",
        ),
    ] = True
    titles: Annotated[
        bool,
        _option(
            "Generate each conversation's title with a short model request (off = its first words)",
            "Generate titles",
        ),
    ] = True
    profile: Annotated[
        Literal["ask", "off", "on"],
        _option(
            "Learn from your messages how you like to work",
            "Remember your preferences",
            group="Profile",
            means={
                "ask": "off until you accept; you are asked once",
                "off": "nothing is remembered",
                "on": "learned from your messages; sent with the first one of a conversation",
            },
        ),
    ] = "ask"
    profile_every: Annotated[
        int,
        Meta(ge=1, le=20),
        _option("How often your preferences are updated", "Messages between profile updates"),
    ] = 5
    theme: Annotated[
        str,
        _option(
            "Colors of the interface; auto follows the terminal's background",
            "Color theme",
            group="Interface",
        ),
    ] = "auto"
    footer: Annotated[
        bool, _option("Show key hints at the bottom of the screen", "Key hints in the footer")
    ] = True
    vim: Annotated[bool, _option("Edit the prompt with Vim keys", "Vim keys")] = False
    mouse: Annotated[
        bool,
        _option("Click and scroll with the mouse (off = the terminal handles it)", "Mouse", when="start"),
    ] = True
    animation: Annotated[bool, _option("Animate scrolling and other changes", "Animation")] = True
    notify: Annotated[
        Literal["auto", "off", "bell", "osc9"],
        _option(
            "Alert you when the agent is waiting for you and the terminal is in the background",
            "Notifications",
            when="start",
            means={
                "auto": "terminal notification if supported, otherwise the bell",
                "off": "no notifications",
                "bell": "terminal bell",
                "osc9": "terminal notification (OSC 9)",
            },
        ),
    ] = "auto"
    first_byte_timeout: Annotated[
        float,
        Meta(gt=0),
        _option(
            "Seconds to wait for the first byte of an answer",
            "First-byte timeout",
            group="Network",
            rare=True,
            when="start",
            unit="s",
        ),
    ] = 120.0
    idle_timeout: Annotated[
        float,
        Meta(gt=0),
        _option(
            "Seconds of silence to allow within an answer",
            "Idle timeout",
            when="start",
            unit="s",
        ),
    ] = 60.0
    history: Annotated[HistorySettings, _option("", group="History", rare=True)] = HistorySettings()
    providers: Annotated[
        dict[str, ProviderSettings],
        _option(
            "Endpoints and local servers besides the built-in providers",
            "Custom endpoints",
            group="Customization",
            rare=True,
            when="start",
            unset="none",
        ),
    ] = {}
    keys: Annotated[
        dict[str, str],
        _option("Key bindings by ID (see /keys)", "Custom key bindings", unset="none"),
    ] = {}
    agents: Annotated[
        dict[str, AgentSettings],
        _option(
            "Agents available for delegation",
            "Sub-agents",
            when="start",
            project="any",
            unset="none",
        ),
    ] = {}
    workflows: Annotated[
        dict[str, WorkflowSettings],
        _option("Named sequences of steps", "Workflows", when="start", project="any", unset="none"),
    ] = {}
    mcp: Annotated[
        dict[str, McpSettings],
        _option(
            "Servers that provide tools through the Model Context Protocol",
            "MCP servers",
            when="start",
            project="any",
            unset="none",
        ),
    ] = {}
    language_servers: Annotated[
        dict[str, LanguageServerSettings],
        _option(
            "Programs that find errors and symbols, besides the built-in ones",
            "Language servers",
            when="start",
            unset="none",
        ),
    ] = {}
    hooks: Annotated[
        dict[str, HookSettings],
        _option(
            "Commands that run on events (see /hooks)", "Hooks", when="turn", project="any", unset="none"
        ),
    ] = {}
    claude_hooks: Annotated[
        bool,
        _option(
            "Also run the hooks in Claude Code's settings: yours, and those of trusted projects",
            "Claude Code hooks",
            when="turn",
        ),
    ] = True


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """The user's configuration file; `COGENCY_CONFIG` names another."""
    environ = os.environ if environ is None else environ
    if given := environ.get("COGENCY_CONFIG"):
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("cogency-tui", appauthor=False)) / "config.toml"


def config_directory(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the user's configuration file, which contains the user's other files as well."""
    return config_path(environ).parent


def claude_directory(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the user's settings of Claude Code; `CLAUDE_CONFIG_DIR` names another."""
    environ = os.environ if environ is None else environ
    if given := environ.get("CLAUDE_CONFIG_DIR"):
        return Path(given).expanduser()
    return Path.home() / ".claude"


def data_path(environ: Mapping[str, str] | None = None) -> Path:
    """The user's data directory; `COGENCY_DATA` names another."""
    environ = os.environ if environ is None else environ
    if given := environ.get("COGENCY_DATA"):
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("cogency-tui", appauthor=False))

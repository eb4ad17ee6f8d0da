"""The project's own `.cogency/config.toml`, which adds to the user's settings while the user trusts it.

Invariant: it adds sub-agents, workflows and MCP servers below the user's own of the same name, and sets the
options that `Settings` allows a project to set; it can only narrow options of safety. It never chooses a
provider or a model, nor which of the user's variables a server receives, and what it adds asks like
everything else. The parsed bytes are those that were trusted; a file with any error is not used at all. The
calls block.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from cogency_tui.agent.project.cogency_folder import CONFIG, FOLDER, LARGEST_CONFIG
from cogency_tui.agent.project.custom_files import (
    CustomCommand,
    CustomFiles,
    own_files,
    project_workflow,
    read_custom,
)
from cogency_tui.agent.project.skill_places import are_there
from cogency_tui.agent.project.started_programs import ABOVE
from cogency_tui.agent.project.trust import (
    FILE_NAME,
    SETTINGS_FILES,
    Survey,
    Trust,
    TrustState,
    describe_inactive,
)
from cogency_tui.config import hooks, toml_reader
from cogency_tui.config.config_file import check_options, place_of_hook, place_of_workflow
from cogency_tui.config.hooks import HookSettings
from cogency_tui.config.layers import Layer, file_layer, load_settings
from cogency_tui.config.mcp import McpSettings, problem_in
from cogency_tui.config.options import flattened, options
from cogency_tui.config.schema import AgentSettings, Settings, claude_directory, config_directory
from cogency_tui.config.toml_reader import line_of, line_of_key
from cogency_tui.config.workflows import WorkflowError, WorkflowSettings, check_workflows, problem_of
from cogency_tui.errors import ConfigError
from cogency_tui.workspace.protected_names import short_path

if TYPE_CHECKING:
    from cogency_tui.agent.hooks.hook import Hook, Owner
    from cogency_tui.agent.project.skills import ListedSkill, Skill, SkillFinder

OWN_CONFIGURATION = "your configuration"
"""The place of the user's own hooks."""

_MEND = "Until it is corrected, none of it is used."
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_TABLES = ("agents", "workflows", "mcp", "hooks")

_KEYS_FOR_SERVERS = ("env_from", "headers_env")
"""Keys of an MCP server that only the user may set."""


class Delegates(msgspec.Struct, frozen=True):
    """The sub-agents, workflows, MCP servers and hooks in force, the user's and the project's."""

    agents: Mapping[str, AgentSettings]
    workflows: Mapping[str, WorkflowSettings]
    mcp: Mapping[str, McpSettings] = {}
    options: Mapping[str, Any] = {}
    """The project's values of the options that it may set, by key."""

    commands: Mapping[str, CustomCommand] = {}
    """The commands in files, and below them the skills."""

    skills: "Mapping[str, Skill]" = {}
    """The skills that count, by name."""

    hooks: "tuple[Hook, ...]" = ()
    """The user's first, then the project's."""


class ProjectSettings:
    """The effective settings of `project` (resolved): the user's `own` settings, the project's as far as
    `trust` allows, and for both their files; the user's files are in `folder`, those of Claude Code in
    `claude`.

    Raises:
        ConfigError: the user's settings cannot be used; on a refresh, the previous ones remain in force.
    """

    def __init__(
        self,
        trust: Trust,
        project: Path,
        own: Callable[[], Settings],
        folder: Path,
        claude: Path | None = None,
    ) -> None:
        self.trust = trust
        self.project = project
        self.problem = ""
        """The problems with files that are not used, as of the last `refresh`."""
        self.problems: tuple[str, ...] = ()
        """The same, each by itself."""
        self.hook_problems: tuple[str, ...] = ()
        """Those with files of hooks alone."""
        self._unreported = ""
        self._read_own = own
        self._own = now = own()
        self._folder = folder
        self._claude = claude
        self._last_claude: list[Hook] = []
        """The user's own hooks of Claude Code when their file could last be used."""
        self._files: tuple[Mapping[str, bytes], Mapping[str, bytes], bytes | str] = ({}, {}, b"")
        self._is_new = True
        self.skills: tuple[ListedSkill, ...] = ()
        """All skills, as of the last `refresh`."""
        self._skill_finder: SkillFinder | None = None
        self._read: bytes | None = None
        self._refreshing = threading.Lock()
        self.now = Delegates(now.agents, now.workflows, now.mcp)
        """As of the last `refresh`: the same object until something changes."""

    @property
    def layer(self) -> Layer | None:
        """The project's trusted options, as a source of settings."""
        if self._read is None or not self.now.options:
            return None
        return file_layer("project", self.path, self._read.decode("utf-8-sig"), self.now.options)

    @property
    def path(self) -> Path:
        """The file that is read."""
        return self.project / FOLDER / CONFIG

    def survey(self) -> Survey:
        """The project's current state of trust."""
        return self.trust.survey(self.project)

    def refresh(self) -> None:
        """Read the currently trusted files, and the user's settings and files."""
        # A caller that waits for another thread's read must see its result.
        with self._refreshing:
            self._refresh()

    def _refresh(self) -> None:
        own = self._own
        with suppress(ConfigError):
            # The user may be editing the file.
            own = self._read_own()
        contents, own_contents = self.trust.contents(self.project), own_files(self._folder)
        files = contents, own_contents, self._read_claude() if own.claude_hooks else b""
        skills, is_same = self._find_skills(), files == self._files and own == self._own
        if is_same and skills == self.skills and not (self._is_new and own.hooks):
            return
        self._files, self._own, self.skills, self._is_new = files, own, skills, False
        self._read = data = files[0].get(CONFIG)
        custom = read_custom(files[0], self.path.parent, own=False)
        own_custom = read_custom(files[1], self._folder, own=True)
        problems = [*custom.problems, *own_custom.problems]
        configured = Delegates(own.agents, own.workflows, own.mcp)
        alone = _fitting(_with_files(configured, own_custom), own_custom, problems)
        try:
            brought = Delegates({}, {}) if data is None else read_delegates(data, self.path)
            together = _over(alone, _with_files(brought, custom))
            now = _fitting(together, custom, problems)
        except WorkflowError as exc:
            now = brought = alone
            place = place_of_workflow(self.path, (data or b"").decode("utf-8-sig"), exc)
            problems.append(f"{place}: {exc}. {_MEND}")
        except ConfigError as exc:
            now = brought = alone
            problems.append(exc.advice)
        hooks = self._gather_hooks(own, brought.hooks, files[0], files[2], problems)
        self.now = _with_skills(replace(now, hooks=hooks), skills) if skills else replace(now, hooks=hooks)
        before, self.problem, self.problems = self.problem, " ".join(problems), tuple(problems)
        if self.problem != before:
            self._unreported = self.problem

    def take_problem(self) -> str:
        """Return, once, the problems with files that are not used."""
        problem, self._unreported = self._unreported, ""
        return problem

    def _gather_hooks(
        self,
        own: Settings,
        brought: "Sequence[Hook]",
        contents: Mapping[str, bytes],
        claude: bytes | str,
        problems: list[str],
    ) -> "tuple[Hook, ...]":
        """All hooks, the user's first; append to `problems`."""
        own_problems: list[str] = []
        configured = _hooks(own.hooks, "user", self._places(own), own_problems)
        found = [*configured, *self._own_claude_hooks(claude, own_problems)]
        names = {hook.name for hook in found}
        found += [hook for hook in brought if hook.name not in names]
        for name in SETTINGS_FILES if own.claude_hooks else ():
            path = self.project / name.removeprefix(ABOVE)
            wrong: list[str] = []
            found += _claude_hooks(contents.get(name, b""), "project", path, wrong)
            own_problems += [f"{each}. Its hooks are not used." for each in wrong]
        problems += own_problems
        self.hook_problems = tuple(own_problems)
        return tuple(found)

    def _places(self, own: Settings) -> dict[str, str]:
        """Where the user's own hooks are configured: the lines of the usual file, if it has them."""
        if not own.hooks:
            return {}
        path, text = self._folder / CONFIG, ""
        with suppress(ConfigError):
            text = toml_reader.read_text(path)
        lines = {name: line_of(text, ("hooks", name)) for name in own.hooks}
        file = Path(short_path(path))
        return {name: toml_reader.place(file, at) if at else OWN_CONFIGURATION for name, at in lines.items()}

    def _own_claude_hooks(self, data: bytes | str, problems: list[str]) -> "list[Hook]":
        """The user's own hooks of Claude Code in `data`. If that cannot be used, or is why the file cannot be
        read, the last ones remain in force; append to `problems`."""
        wrong: list[str] = [data] if isinstance(data, str) else []
        hooks = _claude_hooks(b"" if isinstance(data, str) else data, "user", self._claude_file, wrong)
        if not wrong:
            self._last_claude = hooks
            return hooks
        state = "Its last hooks stay in force." if self._last_claude else "Its hooks are not used."
        problems.append(f"{wrong[0]}. {state}")
        return self._last_claude

    @property
    def _claude_file(self) -> Path:
        return (self._claude or self._folder) / "settings.json"

    def _read_claude(self) -> bytes | str:
        """The user's settings of Claude Code, if they have hooks or may have; or why they cannot be read."""
        if self._claude is None:
            return b""
        file = self._claude_file
        try:
            text = toml_reader.read_text(file)
        except ConfigError as exc:
            return str(exc).removesuffix(".").replace(str(file), short_path(file))
        if not text.strip():
            # An editor may be saving it.
            return b" " if self._last_claude and file.exists() else b""
        return text.encode() if '"hooks"' in text or not _is_json(text) else b""

    def ignored_claude_files(self) -> list[Path]:
        """The user's settings of Claude Code with hooks, if these are ignored (`claude_hooks`). Blocks."""
        return [] if self.uses_claude_hooks or not self._read_claude() else [self._claude_file]

    @property
    def uses_claude_hooks(self) -> bool:
        """True if the hooks of Claude Code's settings are not ignored."""
        return self._own.claude_hooks

    def _find_skills(self) -> "tuple[ListedSkill, ...]":
        if not are_there(self._folder, self.project):
            return ()
        # Loaded where there are skills.
        from cogency_tui.agent.project.skills import SkillFinder

        if self._skill_finder is None:
            self._skill_finder = SkillFinder(self._folder, self.project, self.trust)
        return self._skill_finder.find()

    def accept(self, seen: Survey) -> None:
        """Trust the project as it was `seen`, and read it.

        Raises:
            ConfigError, UsageError, WorkspaceError: as `Trust.trust`.
        """
        self.trust.trust(self.project, seen)
        self.refresh()

    def withdraw(self) -> None:
        """Withdraw trust from the project, and ask again.

        Raises:
            ConfigError: the decisions cannot be read or written.
        """
        self.trust.revoke(self.project)
        self.refresh()

    def decline(self, seen: Survey) -> None:
        """Leave what is inactive off as it was `seen`, and do not ask about it again.

        Raises:
            ConfigError, UsageError: as `Trust.decline`.
        """
        self.trust.decline(self.project, seen)
        self.refresh()

    def refuse(self) -> None:
        """Refuse trust to the project, and never ask.

        Raises:
            ConfigError: the decisions cannot be read or written.
        """
        self.trust.refuse(self.project)
        self.refresh()

    def ignored(self) -> str:
        """A message about files that are not used, for a caller that cannot ask; empty if there are none,
        or if they need no mention.
        """
        survey = self.survey()
        if survey.state is not TrustState.CHANGED and survey.state is not TrustState.UNKNOWN:
            return ""
        unused = f"Nothing in {self.path.parent} is used: {survey.problem}" if survey.problem else ""
        return " ".join(filter(None, (unused, describe_inactive(survey))))


def read_delegates(data: bytes, path: Path) -> Delegates:
    """Parse a project's file at `path`.

    Raises:
        ConfigError: it is no TOML, or sets something that it may not; with the line.
    """
    text, table = _parse(data, path)
    for key, value in table.items():
        if key not in _TABLES and not _may_give(key):
            raise ConfigError(
                f"{toml_reader.place(path, _line(text, key, value))}: {_problem(key, value)}.", _MEND
            )
    agents = {name: _agent(name, agent, text, path) for name, agent in _tables(table, "agents", text, path)}
    workflows: dict[str, WorkflowSettings] = {}
    for name, workflow in _tables(table, "workflows", text, path):
        try:
            workflows[name] = project_workflow(name, workflow)
        except WorkflowError as exc:
            raise ConfigError(f"{place_of_workflow(path, text, exc)}: {exc}.", _MEND) from exc
    servers = {name: _server(name, server, text, path) for name, server in _tables(table, "mcp", text, path)}
    brought = _project_hooks(dict(_tables(table, "hooks", text, path)), text, path)
    return Delegates(agents, workflows, servers, _options(table, text, path), hooks=brought)


def _hooks(
    tables: Mapping[str, HookSettings], owner: "Owner", places: Mapping[str, str], problems: list[str]
) -> "list[Hook]":
    """The hooks that tables describe; append to `problems`."""
    if not tables:
        return []
    # Not imported where there are none.
    from cogency_tui.agent.hooks.hook import configured_hooks

    hooks, wrong = configured_hooks(tables, owner, places)
    problems += wrong
    return hooks


def _claude_hooks(data: bytes, owner: "Owner", path: Path, problems: list[str]) -> "list[Hook]":
    """The hooks in a settings file of Claude Code; append to `problems`."""
    if not data:
        return []
    from cogency_tui.agent.hooks.claude_settings import SettingsError, read_claude_hooks

    try:
        return read_claude_hooks(data, owner, short_path(path))
    except SettingsError as exc:
        problems.append(f"{short_path(path)}: {exc}")
        return []


def _is_json(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _with_skills(delegates: Delegates, listed: "Sequence[ListedSkill]") -> Delegates:
    """Add the skills that count."""
    from cogency_tui.agent.project.skills import active_skills, skill_commands

    skills = active_skills(listed)
    return replace(delegates, skills=skills, commands={**skill_commands(skills), **delegates.commands})


def _with_files(delegates: Delegates, files: CustomFiles) -> Delegates:
    """Add the entries of files; configured ones take precedence."""
    return replace(
        delegates,
        agents={**files.agents, **delegates.agents},
        workflows={**files.workflows, **delegates.workflows},
        commands=files.commands,
    )


def _over(own: Delegates, project: Delegates) -> Delegates:
    """The project's entries, overridden by the user's."""
    return Delegates(
        {**project.agents, **own.agents},
        {**project.workflows, **own.workflows},
        {**project.mcp, **own.mcp},
        project.options,
        {**project.commands, **own.commands},
    )


def _fitting(delegates: Delegates, files: CustomFiles, problems: list[str]) -> Delegates:
    """Remove the workflows of `files` that do not fit the rest, and append to `problems`.

    Raises:
        WorkflowError: another workflow does not fit.
    """
    workflows = dict(delegates.workflows)
    while True:
        try:
            check_workflows(workflows, delegates.agents)
            return replace(delegates, workflows=workflows)
        except WorkflowError as exc:
            if workflows.get(exc.workflow) is not files.workflows.get(exc.workflow):
                raise
            del workflows[exc.workflow]
            problems.append(f"{exc}. File ignored.")


def _parse(data: bytes, path: Path) -> tuple[str, dict[str, Any]]:
    if len(data) > LARGEST_CONFIG:
        raise ConfigError(f"{path} has {len(data):,} bytes; {LARGEST_CONFIG:,} are read at most.", _MEND)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path} is not valid TOML: {exc}.", _MEND) from exc
    return text, toml_reader.parse(path, text, _MEND)


def _line(text: str, key: str, value: Any) -> int:
    """The line of a key in the file, or of the first table below it: `[key.name]` defines both."""
    line = line_of_key(text, (key,))
    if not line and isinstance(value, dict):
        path = (key, next(iter(cast("dict[str, Any]", value)), ""))
        line = line_of(text, path) or line_of_key(text, path)
    return line


def _problem(key: str, value: Any) -> str:
    if key in Settings.__struct_fields__:
        inner = next(iter(cast("dict[str, Any]", value)), "") if isinstance(value, dict) else ""
        named = f"{key}.{inner}" if f"{key}.{inner}" in options() else key
        return f'"{named}" can only be set in your own configuration, not by a project'
    may = dict.fromkeys(option.path[0] for option in options().values() if option.project)
    return f'unknown key "{key}"; a project may have {", ".join(may)}'


def _may_give(key: str) -> bool:
    return any(option.project and option.path[0] == key for option in options().values())


def _options(table: dict[str, Any], text: str, path: Path) -> dict[str, Any]:
    """The options beside the tables."""
    rest = {key: value for key, value in table.items() if key not in _TABLES}
    try:
        check_options(path, text, rest)
    except ConfigError as exc:
        raise ConfigError(str(exc), _MEND) from exc
    return dict(flattened(rest))


def _tables(table: dict[str, Any], key: str, text: str, path: Path) -> list[tuple[str, Any]]:
    found: Any = table.get(key, {})
    if not isinstance(found, dict):
        raise ConfigError(
            f'{toml_reader.place(path, line_of_key(text, (key,)))}: "{key}" is not a table.', _MEND
        )
    entries = cast("dict[str, Any]", found)
    for name in entries:
        if not _NAME.fullmatch(name):
            problem = "a name has only letters, digits, -, _ and ., at most 64 characters"
            raise ConfigError(
                f"{toml_reader.place(path, line_of(text, (key, name)))}: {key}: {problem}.", _MEND
            )
    return list(entries.items())


def _agent(name: str, agent: Any, text: str, path: Path) -> AgentSettings:
    problem = problem_of(agent, AgentSettings)
    keys = ("agents", name)
    line = line_of(text, keys)
    if not problem:
        chosen = next((key for key in ("provider", "model") if key in agent), "")
        if not chosen:
            return msgspec.convert(agent, AgentSettings)
        line = line_of_key(text, (*keys, chosen)) or line
        problem = f'a project cannot set "{chosen}": its agents use the model of their caller'
    raise ConfigError(f'{toml_reader.place(path, line)}: agent "{name}": {problem}.', _MEND)


def _server(name: str, server: Any, text: str, path: Path) -> McpSettings:
    wrong = problem_in(name, server)
    key = wrong.key if wrong else next((each for each in _KEYS_FOR_SERVERS if each in server), "")
    if not key and not wrong:
        return msgspec.convert(server, McpSettings)
    problem = wrong.words if wrong else f'a project cannot set "{key}": it names your environment variables'
    line = line_of_key(text, ("mcp", name, key) if key else ("mcp", name))
    raise ConfigError(f'{toml_reader.place(path, line)}: MCP server "{name}": {problem}.', _MEND)


def _project_hooks(tables: Mapping[str, Any], text: str, path: Path) -> "tuple[Hook, ...]":
    for name, table in tables.items():
        if wrong := hooks.problem_in(name, table):
            raise ConfigError(f"{place_of_hook(path, text, name, wrong)}.", _MEND)
    lines = {name: toml_reader.place(path, line_of(text, ("hooks", name))) for name in tables}
    settings = {name: msgspec.convert(table, HookSettings) for name, table in tables.items()}
    problems: list[str] = []
    found = _hooks(settings, "project", lines, problems)
    if problems:
        raise ConfigError(problems[0], _MEND)
    return tuple(found)


def project_settings_of(project: Path) -> ProjectSettings:
    """The settings that `project` (resolved) adds to the user's.

    Raises:
        ConfigError: the user's own cannot be read.
    """
    folder = config_directory()
    return ProjectSettings(Trust(folder / FILE_NAME), project, load_settings, folder, claude_directory())

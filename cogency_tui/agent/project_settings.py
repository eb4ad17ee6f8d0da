"""What the project's own `.cogency/config.toml` adds to the person's settings, while the person trusts it.

Invariant: it adds sub-agents, workflows and MCP servers below the person's own of the same name, and gives
the options that `Settings` says a project may, those of safety only narrower than the person has them. It
never chooses a provider or a model, nor which of the person's variables a server is given, and what
it brings asks like everything else. What is parsed are the
bytes that were trusted; of a file with anything wrong in it nothing is used. The calls block.
"""

import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from cogency_tui import toml_text
from cogency_tui.agent.custom_files import (
    CustomCommand,
    CustomFiles,
    own_files,
    project_workflow,
    read_custom,
)
from cogency_tui.agent.project_files import FOLDER
from cogency_tui.agent.trust import Standing, Survey, Trust
from cogency_tui.config import AgentSettings, Settings
from cogency_tui.config_reading import check_options
from cogency_tui.config_sources import Layer, file_layer
from cogency_tui.errors import ConfigError
from cogency_tui.mcp_settings import McpSettings, problem_in
from cogency_tui.options import flattened, options
from cogency_tui.toml_lines import line_of, line_of_key
from cogency_tui.workflow_settings import (
    WorkflowError,
    WorkflowSettings,
    check_workflows,
    problem_of,
)

FILE = "config.toml"
"""Below `.cogency/`: what is read of it."""

_LARGEST = 256 << 10
"""Bytes of that file."""

_MEND = "Until it is corrected, nothing of it is used."
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_TABLES = ("agents", "workflows", "mcp")

_KEYS_FOR_SERVERS = ("env_from", "headers_env")
"""What of an MCP server only the person sets."""


class Delegates(msgspec.Struct, frozen=True):
    """The sub-agents, workflows and MCP servers in force, the person's and the project's."""

    agents: Mapping[str, AgentSettings]
    workflows: Mapping[str, WorkflowSettings]
    mcp: Mapping[str, McpSettings] = {}
    options: Mapping[str, Any] = {}
    """What the project gives of the options that it may, by their keys."""

    commands: Mapping[str, CustomCommand] = {}


class ProjectSettings:
    """What `project` (resolved) adds to the user's `own` settings as they are now, as far as `trust` goes,
    and to both what stands in files of its own; the user's are in `folder`.

    Raises:
        ConfigError: the user's settings cannot be used; later on, those that were read before count.
    """

    def __init__(self, trust: Trust, project: Path, own: Callable[[], Settings], folder: Path) -> None:
        self.trust = trust
        self.project = project
        self.problem = ""
        """What is not used and why, as of the last `refresh`."""
        self._read_own = own
        self._own = now = own()
        self._folder = folder
        self._files: tuple[Mapping[str, bytes], Mapping[str, bytes]] = ({}, {})
        self._read: bytes | None = None
        self._refreshing = threading.Lock()
        self.now = Delegates(now.agents, now.workflows, now.mcp)
        """As of the last `refresh`: the same object until something changes."""

    @property
    def layer(self) -> Layer | None:
        """What is trusted now of the options, as a source of settings."""
        if self._read is None or not self.now.options:
            return None
        return file_layer("project", self.path, self._read.decode("utf-8-sig"), self.now.options)

    @property
    def path(self) -> Path:
        """The file that is read."""
        return self.project / FOLDER / FILE

    def survey(self) -> Survey:
        """How the project stands with the person now."""
        return self.trust.survey(self.project)

    def refresh(self) -> None:
        """Read what is trusted now, and the user's settings and files."""
        # Whoever asks while another thread reads has to see what that one finds.
        with self._refreshing:
            self._refresh()

    def _refresh(self) -> None:
        files = self.trust.contents(self.project), own_files(self._folder)
        own = self._own
        with suppress(ConfigError):
            # The user may be writing in the file.
            own = self._read_own()
        if files == self._files and own == self._own:
            return
        self._files, self._own = files, own
        self._read = data = files[0].get(FILE)
        custom = read_custom(files[0], self.path.parent, own=False)
        own_custom = read_custom(files[1], self._folder, own=True)
        problems = [*custom.problems, *own_custom.problems]
        configured = Delegates(own.agents, own.workflows, own.mcp)
        alone = _fitting(_with_files(configured, own_custom), own_custom, problems)
        try:
            brought = Delegates({}, {}) if data is None else read_delegates(data, self.path)
            together = _over(alone, _with_files(brought, custom))
            self.now = _fitting(together, custom, problems)
        except WorkflowError as exc:
            self.now = alone
            problems.append(_misused(exc, (data or b"").decode("utf-8-sig"), self.path).advice)
        except ConfigError as exc:
            self.now = alone
            problems.append(exc.advice)
        self.problem = " ".join(problems)

    def accept(self, seen: Survey) -> None:
        """Trust the project as it was `seen`, and read it.

        Raises:
            ConfigError, UsageError, WorkspaceError: as `Trust.trust`.
        """
        self.trust.trust(self.project, seen)
        self.refresh()

    def withdraw(self) -> None:
        """Trust the project no more, and ask again.

        Raises:
            ConfigError: the decisions cannot be read or written.
        """
        self.trust.revoke(self.project)
        self.refresh()

    def refuse(self) -> None:
        """Do not trust the project, and never ask.

        Raises:
            ConfigError: the decisions cannot be read or written.
        """
        self.trust.refuse(self.project)
        self.refresh()

    def ignored(self) -> str:
        """What somebody who cannot be asked is told of files that are not used; empty where none are, or
        where they are not to be told of."""
        survey = self.survey()
        if survey.standing is Standing.CHANGED or survey.standing is Standing.UNKNOWN:
            why = survey.problem or f"it is {survey.standing.value}"
            return f"Nothing in {self.path.parent} is used: {why}".rstrip(".") + "."
        return ""


def read_delegates(data: bytes, path: Path) -> Delegates:
    """What a project's file at `path` says.

    Raises:
        ConfigError: it is no TOML, or says something that it may not; with its line.
    """
    text, table = _parse(data, path)
    for key, value in table.items():
        if key not in _TABLES and not _may_give(key):
            raise ConfigError(f"{_place(path, _line(text, key, value))}: {_told(key)}.", _MEND)
    agents = {name: _agent(name, agent, text, path) for name, agent in _tables(table, "agents", text, path)}
    workflows: dict[str, WorkflowSettings] = {}
    for name, workflow in _tables(table, "workflows", text, path):
        try:
            workflows[name] = project_workflow(name, workflow)
        except WorkflowError as exc:
            raise _misused(exc, text, path) from exc
    servers = {name: _server(name, server, text, path) for name, server in _tables(table, "mcp", text, path)}
    return Delegates(agents, workflows, servers, _options(table, text, path))


def _with_files(delegates: Delegates, files: CustomFiles) -> Delegates:
    """Also what stands in files; what is configured goes before it."""
    return replace(
        delegates,
        agents={**files.agents, **delegates.agents},
        workflows={**files.workflows, **delegates.workflows},
        commands=files.commands,
    )


def _over(own: Delegates, project: Delegates) -> Delegates:
    """The person's over the project's."""
    return Delegates(
        {**project.agents, **own.agents},
        {**project.workflows, **own.workflows},
        {**project.mcp, **own.mcp},
        project.options,
        {**project.commands, **own.commands},
    )


def _fitting(delegates: Delegates, files: CustomFiles, problems: list[str]) -> Delegates:
    """Without the workflows of `files` that do not fit the rest, which `problems` then tell of.

    Raises:
        WorkflowError: another workflow does not.
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
            problems.append(f"{exc}. It is not used.")


def _parse(data: bytes, path: Path) -> tuple[str, dict[str, Any]]:
    if len(data) > _LARGEST:
        raise ConfigError(f"{path} has {len(data):,} bytes; {_LARGEST:,} are read at most.", _MEND)
    try:
        text = data.decode("utf-8-sig")
        return text, toml_text.loads(text)
    except (ValueError, RecursionError) as exc:
        # A number of very many digits is no TOMLDecodeError, nor is what is nested too deeply.
        raise ConfigError(f"{path} is not valid TOML: {exc}.", _MEND) from exc


def _line(text: str, key: str, value: Any) -> int:
    """Where a key of the file is, or the first table below it: `[key.name]` stands for both."""
    line = line_of_key(text, (key,))
    if not line and isinstance(value, dict):
        line = line_of(text, (key, next(iter(cast("dict[str, Any]", value)), "")))
    return line


def _told(key: str) -> str:
    if key in Settings.__struct_fields__:
        return f'"{key}" is not for a project to set, only for your own configuration'
    may = dict.fromkeys(option.path[0] for option in options().values() if option.project)
    return f'unknown key "{key}"; a project may have {", ".join(may)}'


def _may_give(key: str) -> bool:
    return any(option.project and option.path[0] == key for option in options().values())


def _options(table: dict[str, Any], text: str, path: Path) -> dict[str, Any]:
    """What stands there beside the tables."""
    rest = {key: value for key, value in table.items() if key not in _TABLES}
    try:
        check_options(path, text, rest)
    except ConfigError as exc:
        raise ConfigError(str(exc), _MEND) from exc
    return dict(flattened(rest))


def _tables(table: dict[str, Any], key: str, text: str, path: Path) -> list[tuple[str, Any]]:
    found: Any = table.get(key, {})
    if not isinstance(found, dict):
        raise ConfigError(f'{_place(path, line_of_key(text, (key,)))}: "{key}" is no table.', _MEND)
    entries = cast("dict[str, Any]", found)
    for name in entries:
        if not _NAME.fullmatch(name):
            told = "a name has letters, digits, - _ and . only, at most 64"
            raise ConfigError(f"{_place(path, line_of(text, (key, name)))}: {key}: {told}.", _MEND)
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
        problem = f'"{chosen}" is not for a project to set: its agents have the model of who calls them'
    raise ConfigError(f'{_place(path, line)}: agent "{name}": {problem}.', _MEND)


def _server(name: str, server: Any, text: str, path: Path) -> McpSettings:
    wrong = problem_in(name, server)
    key = wrong.key if wrong else next((each for each in _KEYS_FOR_SERVERS if each in server), "")
    if not key and not wrong:
        return msgspec.convert(server, McpSettings)
    told = wrong.words if wrong else f'"{key}" is not for a project to set: it names variables of yours'
    line = line_of_key(text, ("mcp", name, key) if key else ("mcp", name))
    raise ConfigError(f'{_place(path, line)}: MCP server "{name}": {told}.', _MEND)


def _misused(error: WorkflowError, text: str, path: Path) -> ConfigError:
    keys = ("workflows", error.workflow)
    line = line_of(text, keys) if error.step is None else line_of(text, (*keys, "steps"), error.step)
    return ConfigError(f"{_place(path, line)}: {error}.", _MEND)


def _place(path: Path, line: int) -> str:
    return f"{path}, line {line}" if line else str(path)

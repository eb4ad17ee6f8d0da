"""Slash commands, sub-agents and workflows in files of their own.

`commands/NAME.md`, `agents/NAME.md` and `workflows/NAME.toml`, in the user's configuration folder and in a
trusted project's `.cogency/`. A Markdown file may begin with front matter, lines `key: value` between two
lines `---`: a value is the text up to the end of its line; nothing else of YAML is supported.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cogency_tui.config import toml_reader
from cogency_tui.config.schema import AgentSettings
from cogency_tui.config.workflows import WorkflowError, WorkflowSettings, problem_of, read_workflow
from cogency_tui.redaction import Redactor
from cogency_tui.workspace.protected_names import short_path

FOLDERS = {"commands": ".md", "agents": ".md", "workflows": ".toml"}
"""The folders of such files, and their extensions."""

ARGUMENTS = "$ARGUMENTS"

_LARGEST = 256 << 10
"""Bytes of a file."""

_MOST = 200
"""Files of a folder."""

_COMMAND_MARKS = ("!", "/")
"""What the user's own commands begin with."""

_COMMAND = re.compile(r"[a-z][a-z0-9-]{0,31}")
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_COMMAND_KEYS = ("description", "takes")
_MODEL_KEYS = ("provider", "model")

_OWN_MODEL = "default"
"""The name of the conversation's own model in an `llm` step."""


class CustomCommand(msgspec.Struct, frozen=True):
    """A message with a name. `takes` describes its argument, `place` is the file; `group` is one of the
    groups of commands that the user is shown. `lead` is what precedes an argument, if it is not the text.

    Invariant: no front end takes its message for a command of the user's, also when the user is given it
    back to edit and sends it again.
    """

    name: str
    text: str
    description: str = ""
    takes: str = ""
    place: str = ""
    group: str = "Custom"
    lead: str = ""

    def message(self, argument: str) -> str:
        """The message to send: with the argument in place of `$ARGUMENTS`, or at the end."""
        if ARGUMENTS in self.text:
            text = self.text.replace(ARGUMENTS, argument)
        else:
            lead = self.lead or f"{self.text}\n\n"
            text = f"{lead}{argument}" if argument else self.text
        is_like_command = text.lstrip().startswith(_COMMAND_MARKS)
        return f"Prompt of the command {self.name}:\n\n{text}" if is_like_command else text


class CustomFiles(msgspec.Struct, frozen=True):
    """The entries by name; `problems` name the files that are not used, each with the reason."""

    commands: Mapping[str, CustomCommand] = {}
    agents: Mapping[str, AgentSettings] = {}
    workflows: Mapping[str, WorkflowSettings] = {}
    problems: tuple[str, ...] = ()


def own_files(folder: Path) -> dict[str, bytes]:
    """The files of the user's configuration folder, by their paths below it. Blocks."""
    found: dict[str, bytes] = {}
    for name, ending in FOLDERS.items():
        for path in sorted((folder / name).glob(f"*{ending}"))[:_MOST]:
            try:
                if path.is_file():
                    with path.open("rb") as file:
                        found[f"{name}/{path.name}"] = file.read(_LARGEST + 1)
            except OSError:
                # It was removed, or is not readable: it counts as missing.
                continue
    return found


def read_custom(files: Mapping[str, bytes], folder: Path, *, own: bool) -> CustomFiles:
    """Parse `files`, by their paths below `folder`; other files than those described above are left out.

    A project's agents and workflows use the model of their caller; the user's `own` ones may choose
    another.
    """
    commands: dict[str, CustomCommand] = {}
    agents: dict[str, AgentSettings] = {}
    workflows: dict[str, WorkflowSettings] = {}
    problems: list[str] = []
    for path, data in files.items():
        kind, _slash, file = path.partition("/")
        ending = FOLDERS.get(kind)
        if ending is None or not file.endswith(ending) or "/" in file:
            continue
        name, place = file.removesuffix(ending), folder / path
        try:
            text = _text(data)
            if not _NAME.fullmatch(name):
                raise ValueError("a name has only letters, digits, -, _ and ., at most 64 characters")
            if kind == "commands":
                commands[name] = _command(name, text, place)
            elif kind == "agents":
                agents[name] = _agent(text, own=own)
            else:
                table = toml_reader.loads(text)
                workflows[name] = read_workflow(name, table) if own else project_workflow(name, table)
        except (ValueError, RecursionError) as exc:
            problems.append(f"{place}: {str(exc).rstrip('.')}. File ignored.")
    return CustomFiles(commands, agents, workflows, tuple(problems))


def project_workflow(name: str, table: object) -> WorkflowSettings:
    """The workflow that a project's table describes.

    Raises:
        WorkflowError: it is invalid, or chooses a model.
    """
    workflow = read_workflow(name, table)
    for index, step in enumerate(workflow.steps):
        if step.type == "llm" and step.name != _OWN_MODEL:
            problem = f'a project cannot choose another model: write name = "{_OWN_MODEL}"'
            raise WorkflowError(name, index, problem, step.id)
    return workflow


def _text(data: bytes) -> str:
    if len(data) > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST >> 10} KB")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise ValueError(f"it is not UTF-8 (at byte {exc.start})") from exc


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The keys of the front matter, and the text.

    Raises:
        ValueError: a line of the front matter is invalid, or it does not end.
    """
    if not text.startswith("---\n"):
        return {}, text.strip()
    lines = text.split("\n")
    if "---" not in lines[1:]:
        raise ValueError("its front matter is not closed by a line ---")
    end = lines.index("---", 1)
    found: dict[str, str] = {}
    for number, line in enumerate(lines[1:end], 2):
        key, colon, value = line.partition(":")
        if line.strip() and not line.startswith("#"):
            if not colon or key != key.strip() or not key:
                raise ValueError(f"line {number} of its front matter is not `key: value`")
            found[key] = value.strip().strip("\"'")
    return found, "\n".join(lines[end + 1 :]).strip()


def _command(name: str, text: str, place: Path) -> CustomCommand:
    if not _COMMAND.fullmatch(name):
        raise ValueError(
            "the name of a command has lowercase letters, digits and -, and begins with a letter"
        )
    keys, body = _front_matter(text)
    _check(keys, _COMMAND_KEYS)
    if not body:
        raise ValueError("it has no text to send")
    takes = keys.get("takes", "TEXT" if ARGUMENTS in body else "[TEXT]")
    body = Redactor({}).text(body)
    return CustomCommand(name, body, keys.get("description", ""), takes, short_path(place))


def _agent(text: str, *, own: bool) -> AgentSettings:
    keys, body = _front_matter(text)
    fields = [field for field in AgentSettings.__struct_fields__ if field != "instructions"]
    _check(keys, fields if own else [field for field in fields if field not in _MODEL_KEYS])
    if not body:
        raise ValueError("it has no text: write the agent's instructions there")
    values: dict[str, Any] = {**keys, "instructions": body}
    if tools := keys.get("tools"):
        values["tools"] = [tool.strip() for tool in tools.strip("[]").split(",") if tool.strip()]
    if (limit := keys.get("max_iterations", "")).isdecimal():
        values["max_iterations"] = int(limit)
    if problem := problem_of(values, AgentSettings):
        raise ValueError(problem)
    return msgspec.convert(values, AgentSettings)


def _check(keys: Mapping[str, str], known: Sequence[str]) -> None:
    for key in keys:
        if key not in known:
            raise ValueError(f'its front matter has an unknown key "{key}"; known keys: {", ".join(known)}')

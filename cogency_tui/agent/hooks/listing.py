"""The list of all hooks, with whether each runs, and why not. The calls block."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from cogency_tui.agent.hooks.hook import Hook
from cogency_tui.agent.hooks.suspension import changed_files
from cogency_tui.agent.project.cogency_folder import CONFIG
from cogency_tui.agent.project.settings import ProjectSettings
from cogency_tui.agent.project.trust import TrustState
from cogency_tui.protocol.events import HookRun
from cogency_tui.workspace.protected_names import short_path

_IGNORED = "claude_hooks = false"


class HookStatus(Enum):
    """Whether a hook runs."""

    ACTIVE = "in use"
    OFF = "off"
    UNSUPPORTED = "not supported"
    UNTRUSTED = "not trusted"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class ListedHook:
    """A hook, or a file of the project that may have some and is not parsed (no `hook`). `problem` is why it
    does not run, `last` its last run in this program."""

    name: str
    status: HookStatus
    place: str
    hook: Hook | None = None
    problem: str = ""
    last: HookRun | None = None


def list_hooks(settings: ProjectSettings, runs: Mapping[str, HookRun]) -> list[ListedHook]:
    """The hooks of the user and the project in the order in which they run, then the files that are not
    used; `runs` are the last ones by name."""
    settings.refresh()
    found = [
        ListedHook(hook.name, _status(hook), hook.place, hook, _problem(hook), runs.get(hook.name))
        for hook in settings.now.hooks
    ]
    for problem in settings.hook_problems:
        place, _, why = problem.partition(": ")
        found.append(ListedHook(place.rpartition("/")[2], HookStatus.INVALID, place, problem=why))
    for file in settings.ignored_claude_files():
        found.append(ListedHook(file.name, HookStatus.OFF, short_path(file), problem=_IGNORED))
    for part in settings.survey().parts:
        if part.kind == "settings" and not settings.uses_claude_hooks:
            found.append(ListedHook(part.label, HookStatus.OFF, part.path, problem=_IGNORED))
            continue
        has_config = any(entry.name == CONFIG for entry in part.entries)
        if part.is_inactive and (part.kind == "settings" or (part.kind == "folder" and has_config)):
            path = part.path if part.kind == "settings" else f"{part.path}/{CONFIG}"
            files = changed_files(part) if part.state is TrustState.CHANGED else ""
            problem = f"{files} changed since you trusted it" if files else f"the file is {part.state.value}"
            found.append(ListedHook(path.rpartition("/")[2], HookStatus.UNTRUSTED, path, problem=problem))
    return found


def _status(hook: Hook) -> HookStatus:
    if hook.problem:
        return HookStatus.UNSUPPORTED
    return HookStatus.ACTIVE if hook.enabled else HookStatus.OFF


def _problem(hook: Hook) -> str:
    return hook.problem or ("" if hook.enabled else "enabled = false")

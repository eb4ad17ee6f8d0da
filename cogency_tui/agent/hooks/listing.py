"""The list of all hooks, with whether each runs, and why not. The calls block."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from cogency_tui.agent.hooks.hook import Hook
from cogency_tui.agent.hooks.suspension import changed_files
from cogency_tui.agent.project.cogency_folder import CONFIG
from cogency_tui.agent.project.planned_commands import planned_commands
from cogency_tui.agent.project.settings import ProjectSettings
from cogency_tui.agent.project.trust import Part, Survey, TrustState
from cogency_tui.errors import in_words
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
    """A hook, or a file that is not used (no `hook`). `problem` is why it does not run, `last` its last run
    in this program, `hooks` the names of those in the file that would run if the user trusted it."""

    name: str
    status: HookStatus
    place: str
    hook: Hook | None = None
    problem: str = ""
    last: HookRun | None = None
    hooks: tuple[str, ...] = ()


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
    survey = settings.survey()
    own = {hook.name for hook in settings.now.hooks if hook.owner == "user"}
    is_known = not survey.problem or any(part.problem == survey.problem for part in survey.parts)
    for part in survey.parts:
        if part.kind == "settings" and not settings.uses_claude_hooks:
            found.append(ListedHook(part.label, HookStatus.OFF, part.path, problem=_IGNORED))
        elif listed := _unused_file(part, own, _why_off(part, survey) if is_known else survey.problem):
            found.append(listed)
    return found


def describe_untrusted(listed: Sequence[ListedHook]) -> str:
    """Name the hooks that are off because of trust, and why; empty if there are none."""
    sentences: list[str] = []
    for file in listed:
        if file.status is HookStatus.UNTRUSTED:
            several = "" if len(file.hooks) == 1 else "s"
            subject = " ".join(filter(None, (f"Hook{several}", in_words(file.hooks), f"in {file.place}")))
            sentences.append(f"{subject} {'are' if several else 'is'} off: {file.problem.rstrip('.')}.")
    return " ".join(sentences)


def _unused_file(part: Part, own: Collection[str], problem: str) -> ListedHook | None:
    """The file of a part whose hooks do not run; None if they do, or if it has none. `own` are the names of
    the user's hooks, `problem` is why the decisions on trust cannot be read."""
    is_settings = part.kind == "settings"
    path = part.path if is_settings else f"{part.path}/{CONFIG}"
    name = path.rpartition("/")[2]
    if part.problem:
        has_file = is_settings or any(entry.name == CONFIG for entry in part.entries)
        return ListedHook(name, HookStatus.INVALID, path, problem=part.problem) if has_file else None
    if part.kind == "skill" or part.state is TrustState.TRUSTED:
        return None
    planned = planned_commands(part)
    would_run = [each.hook for each in planned if each.hook and not each.problem]
    hooks = tuple(hook for hook in would_run if is_settings or hook not in own)
    is_readable = all(each.when for each in planned)
    if not hooks and is_readable:
        return None
    why = problem or _why_untrusted(part)
    return ListedHook(name, HookStatus.UNTRUSTED, path, problem=why, hooks=hooks)


def _why_off(part: Part, survey: Survey) -> str:
    """Why a part is off that the user does not want to be asked about; empty for another one."""
    is_part = survey.state is not TrustState.REFUSED
    return "you left it off as it is now" if part.state is TrustState.REFUSED and is_part else ""


def _why_untrusted(part: Part) -> str:
    if part.state is TrustState.REFUSED:
        return "you chose never to trust this project"
    files = changed_files(part) if part.state is TrustState.CHANGED else ""
    return f"{files} changed since you trusted it" if files else f"the file is {part.state.value}"


def _status(hook: Hook) -> HookStatus:
    if hook.problem:
        return HookStatus.UNSUPPORTED
    return HookStatus.ACTIVE if hook.enabled else HookStatus.OFF


def _problem(hook: Hook) -> str:
    return hook.problem or ("" if hook.enabled else "enabled = false")

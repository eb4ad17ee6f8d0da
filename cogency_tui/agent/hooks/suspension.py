"""The suspension of a project's hooks: files that they are started from changed since the user trusted them.

Invariant: a hook that guards calls or edits does not end with a change of its files: for the rest of the turn
every call that it is for is refused. What the user decides themselves suspends nothing.
"""

from collections.abc import Mapping, Sequence

from cogency_tui.agent.hooks.hook import Hook
from cogency_tui.agent.project.cogency_folder import FOLDER
from cogency_tui.agent.project.settings import ProjectSettings
from cogency_tui.agent.project.started_programs import ABOVE
from cogency_tui.agent.project.trust import Part, TrustState
from cogency_tui.errors import in_words

GUARDS = frozenset({"before_call", "before_edit"})
_MOST_NAMED = 3


def suspended_hooks(hooks: Sequence[Hook], settings: ProjectSettings) -> Mapping[Hook, str]:
    """Those of a turn's `hooks` that are suspended as of the last refresh of `settings`, each with what
    changed. Blocks."""
    now = settings.now.hooks
    there = {hook.name for hook in now if hook.owner == "project"}
    lost = [hook for hook in hooks if hook.owner == "project" and hook not in now and hook.can_run]
    if not lost:
        return {}
    survey = settings.survey()
    if survey.state is TrustState.REFUSED or (survey.state is TrustState.UNKNOWN and not survey.problem):
        return {}
    left_off = [part for part in survey.parts if part.state is TrustState.REFUSED]
    lost = [hook for hook in lost if not any(_has(part, hook) for part in left_off)]
    inactive = [part for part in survey.parts if part.state is not TrustState.TRUSTED or part.problem]
    found: dict[Hook, str] = {}
    for hook in lost:
        part = next((part for part in inactive if _has(part, hook)), None)
        if part is not None or hook.name not in there:
            found[hook] = changed_files(part) if part is not None else ""
    return found


def changed_files(part: Part) -> str:
    """The changed files of a part, by their paths in the project; empty if they are not known."""
    # A directory of sources is one entry, named by a pattern.
    names = [_path_of(name) for name in part.changed if not name.endswith("*")]
    return in_words(names or [_path_of(name) for name in part.changed], _MOST_NAMED)


def describe_suspension(suspended: Mapping[Hook, str], *, in_turn: bool) -> list[str]:
    """What the user is told of hooks that are suspended, in the turn or as it begins."""
    notices: list[str] = []
    for files in dict.fromkeys(suspended.values()):
        hooks = [hook for hook, changed in suspended.items() if changed == files]
        names = in_words([*dict.fromkeys(hook.name for hook in hooks)])
        several = len({hook.name for hook in hooks}) > 1
        what = files or ("their files" if several else "its files")
        text = f"Hook{'s' if several else ''} {names} {'are' if several else 'is'} off: {what} changed since "
        text += f"you trusted {'them' if several else 'it'}."
        if in_turn and any(GUARDS & {*hook.events} for hook in hooks):
            text += f" Calls that {'they guard' if several else 'it guards'} are refused for the rest of this"
            text += " turn."
        notices.append(f"{text} Review with /trust.")
    return notices


def describe_refusal(hook: Hook) -> str:
    """Why a call that a suspended hook guards is refused, for the model."""
    return f"the hook {hook.name} changed since it was trusted; the user has to review it (/trust)"


def _has(part: Part, hook: Hook) -> bool:
    """Return whether a hook is configured in a part."""
    name = f"{FOLDER}/" if part.kind == "folder" else part.path
    return part.kind in ("folder", "settings") and name in hook.place


def _path_of(name: str) -> str:
    """The path in the project of an entry."""
    return name.removeprefix(ABOVE) if name.startswith(ABOVE) else f"{FOLDER}/{name}"

"""`cogency-tui hooks`: lists the hooks of the user and a project."""

from pathlib import Path

from cogency_tui.agent.hooks.listing import ListedHook, describe_untrusted, list_hooks
from cogency_tui.agent.project.settings import project_settings_of
from cogency_tui.cli.standard_streams import print_json, print_text, talk, unread
from cogency_tui.safe_text import one_line


def show_hooks(project: Path, *, as_json: bool) -> int:
    """Print every hook in the order in which they run, whether it does, and why not.

    Raises:
        ConfigError: the user's settings cannot be read.
    """
    settings = project_settings_of(project)
    found = list_hooks(settings, {})
    with unread():
        for listed in found:
            if as_json:
                print_json(_value(listed))
                continue
            hook = listed.hook
            on = " ".join(hook.events or (hook.claude_event,)) if hook else ""
            why = f"  ({one_line(listed.problem)})" if listed.problem else ""
            print_text(f"{listed.status.value:<13}  {one_line(listed.name):<20}  {on}{why}")
            if hook is not None:
                limit = f"  for {one_line(hook.is_for_each)}" if hook.is_for_each else ""
                print_text(f"{'':<13}  {one_line(hook.command)}{limit}")
            print_text(f"{'':<13}  {one_line(listed.place)}")
    if not found and not as_json:
        talk("No hooks. Add one under [hooks.NAME] in the configuration; the README has an example.")
    elif untrusted := describe_untrusted(found):
        talk(f"{untrusted} Review with `cogency-tui trust`.")
    return 0


def _value(listed: ListedHook) -> dict[str, object]:
    hook = listed.hook
    return {
        "name": listed.name,
        "state": listed.status.value,
        "source": "project" if hook is None or hook.owner == "project" else "user",
        "place": listed.place,
        "hooks": list(listed.hooks),
        "problem": listed.problem,
        "on": list(hook.events) if hook else [],
        "claude_event": hook.claude_event if hook else "",
        "command": list(hook.words) if hook else [],
        "tools": list(hook.tools) if hook else [],
        "matcher": hook.matcher if hook else "",
        "files": list(hook.files) if hook else [],
        "timeout": hook.timeout if hook else None,
    }

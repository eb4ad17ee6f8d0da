"""`cogency-tui permissions`: shows the configured mode, and lists and revokes the permanent rules."""

from collections.abc import Sequence
from pathlib import Path

from cogency_tui.agent.permissions.rules import FILE_NAME, Rule, Rules
from cogency_tui.cli.standard_streams import print_json, print_text, talk, unread
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import config_directory
from cogency_tui.errors import ConfigError
from cogency_tui.safe_text import one_line


def list_permissions(project: Path, *, as_json: bool) -> int:
    """Print all rules, including those that do not apply to `project` (resolved).

    Raises:
        ConfigError: the rules cannot be read, or are invalid.
    """
    rules = _rules(project)
    found = rules.list()
    _require_sound(rules)
    if not as_json:
        talk(f"Permission mode {load_settings().permissions}; rules in {one_line(str(rules.path))}:")
    for rule in found:
        if as_json:
            print_json(_as_json(rule, project))
        else:
            print_text(_line(rule, project))
    if not found:
        talk("No rules; only the permission mode applies.")
    return 0


def revoke_permissions(project: Path, ids: Sequence[str], *, as_json: bool) -> int:
    """Revoke rules by their ids.

    Raises:
        ConfigError: the rules cannot be read, are invalid, or cannot be written.
        UsageError: there is no rule with one of the ids; those before it are revoked.
    """
    rules = _rules(project)
    there = {rule.id: rule for rule in rules.list()}
    _require_sound(rules)
    for id in ids:
        rules.revoke(id)
        with unread():
            if as_json:
                print_json(_as_json(there[id], project))
            else:
                print_text(f"Revoked: {_line(there[id], project)}")
    return 0


def _rules(project: Path) -> Rules:
    return Rules(config_directory() / FILE_NAME, project)


def _require_sound(rules: Rules) -> None:
    if rules.problem:
        raise ConfigError(f"Rules not applied: {rules.problem}")


def _where(rule: Rule, project: Path) -> str:
    if not rule.project:
        return "all projects"
    return "this project" if rule.project == str(project) else one_line(rule.project)


def _line(rule: Rule, project: Path) -> str:
    since = f"  since {one_line(rule.added)}" if rule.added else ""
    return f"{one_line(rule.id):<10}{rule.effect:<9}{one_line(rule.pattern)}  {_where(rule, project)}{since}"


def _as_json(rule: Rule, project: Path) -> dict[str, object]:
    return {
        "id": rule.id,
        "effect": rule.effect,
        "pattern": rule.pattern,
        "project": rule.project,
        "added": rule.added,
        "holds_here": rule.project in ("", str(project)),
    }

"""The user's permanent rules: calls that run without a question, in this project or in all.

Invariant: rules come from one file in the user's configuration folder and from nowhere else. While that
file cannot be read, or is invalid, there are none, so that every call is asked about, and `problem` gives
the reason. What a rule may be for is decided for every call (`pattern_for`), so that no file can allow
more: a rule of an earlier version for a command that may have none has no effect. A rule for commands is
valid while the files of the project that decide what they do are unchanged since it was made
(`files_behind_rules`).

A command matches a rule exactly if their patterns (`command_patterns`) are equal.

Rules are convenience, not a boundary: a test suite that may run without a question runs whatever is in the
project's tests.
"""

import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec.structs import replace

from cogency_tui.config import toml_reader
from cogency_tui.config.edit import changing, write_table
from cogency_tui.config.workflows import problem_of
from cogency_tui.errors import ConfigError, ToolError, UsageError
from cogency_tui.tools.base import Intent
from cogency_tui.workspace.globs import compiled

FILE_NAME = "permissions.toml"

_HEADING = """\
Rules for what runs without asking. Written by cogency-tui, which does not preserve comments.
A rule without a project applies to all projects."""
_MOST = 1000
_MAGIC = frozenset("*?[]{}")
_MEND = "Correct the file or move it away; until then everything needs approval."

RuleEffect = Literal["command", "write", "network", "tool"]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule. `pattern` is a command's first words, files from the project's root, a host, or the name of
    a server's tool.

    `project` is the directory in which it is valid, empty for all; `added` the day it was made, in UTC;
    `basis` the digest of the files in the project that decide what the commands do.
    """

    id: str
    effect: RuleEffect
    pattern: str
    project: str = ""
    added: str = ""
    basis: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The rules' verdict on a call: whether one `allows` it, and the rule that could be made for it, by its
    `pattern`, empty if there can be none, and `basis`.

    `changed`: there is a rule, made when the deciding files were different.
    """

    allows: bool = False
    pattern: str = ""
    basis: str = ""
    changed: bool = False


class Rules:
    """The rules in the file at `path`, as they apply to `project` (resolved), or to a worktree of the project
    `main`, which has the rules of that. The calls block."""

    def __init__(self, path: Path, project: Path, main: Path | None = None) -> None:
        self.path = path
        self.project = project
        self._scope = str(main or project)
        self.problem = ""
        """Why there are no rules although there is a file."""
        self._rules: tuple[Rule, ...] = ()
        self._stamp: tuple[int, int, int] | None = None
        self._lock = threading.Lock()
        self._directory = Path(os.path.realpath(path.parent))

    def is_configuration(self, path: Path) -> bool:
        """Return whether a path (resolved) is part of the user's configuration rather than the project's."""
        if not path.is_relative_to(self._directory):
            return False
        if self.project.is_relative_to(self._directory):
            # A project in that folder is still a project.
            return path.parent == self._directory and path.suffix == ".toml"
        return True

    def refresh(self) -> None:
        """Read the file if it has changed; `problem` describes its errors."""
        with self._lock:
            stamp = self._stamp_now()
            if stamp == self._stamp and not self.problem:
                return
            self._stamp = stamp
            try:
                self._rules, self.problem = self._read(), ""
            except ConfigError as exc:
                self._rules, self.problem = (), exc.advice

    def list(self) -> Sequence[Rule]:
        """All rules, including those of other projects, in the order in which they were made."""
        self.refresh()
        return self._rules

    def judge(self, intent: Intent) -> Ruling:
        """The rules' current verdict on a call."""
        self.refresh()
        pattern = pattern_for(intent, self.project)
        basis = self._basis(intent.effect, pattern) if pattern else None
        if basis is None:
            return Ruling()
        fitting = [
            rule
            for rule in self._rules
            if rule.effect == intent.effect
            and rule.project in ("", self._scope)
            and _fits(rule, pattern, intent, self.project)
        ]
        allows = any(rule.basis == basis for rule in fitting)
        return Ruling(allows, pattern, basis, changed=bool(fitting) and not allows)

    def add(
        self, effect: RuleEffect, pattern: str, *, everywhere: bool = False, basis: str | None = None
    ) -> Rule:
        """Make a rule, for this project or for all; `basis` is the one that the question showed, by default
        the current one.

        Raises:
            ConfigError: the file cannot be read, is invalid, or cannot be written.
            UsageError: no rule may have this pattern.
        """
        day = datetime.now(UTC).date().isoformat()
        basis = self._basis(effect, pattern) if basis is None else basis
        rule = Rule(
            secrets.token_hex(4), effect, pattern, "" if everywhere else self._scope, day, basis or ""
        )
        if problem := _problem(rule) or _command_problem(rule, basis):
            raise UsageError(f"Invalid rule: {problem}.")
        with self._lock, changing(self.path):
            rules = self._read()
            there = next((each for each in rules if _same(each, rule)), None)
            if there is None:
                self._write((*rules, rule))
            elif there.basis != rule.basis:
                rule = replace(rule, id=there.id)
                self._write(tuple(rule if each is there else each for each in rules))
            else:
                return there
            return rule

    def revoke(self, id: str) -> None:
        """Remove a rule.

        Raises:
            ConfigError: the file cannot be read, is invalid, or cannot be written.
            UsageError: there is no rule with this id.
        """
        with self._lock, changing(self.path):
            rules = self._read()
            left = tuple(rule for rule in rules if rule.id != id)
            if len(left) == len(rules):
                raise UsageError(f'Rule "{id}" not found.', "List them with `cogency-tui permissions list`.")
            self._write(left)

    def put_back(self, rule: Rule, place: int) -> None:
        """Restore a revoked rule, with its id and day, at the index `place`.

        Raises:
            ConfigError: the file cannot be read, is invalid, or cannot be written.
        """
        with self._lock, changing(self.path):
            rules = self._read()
            if not any(each.id == rule.id or _same(each, rule) for each in rules):
                self._write((*rules[:place], rule, *rules[place:]))

    def _basis(self, effect: str, pattern: str) -> str | None:
        if effect != "command":
            return ""
        from cogency_tui.agent.permissions.files_behind_rules import basis_of

        return basis_of(pattern, self.project)

    def _read(self) -> tuple[Rule, ...]:
        text = toml_reader.read_text(self.path)
        table = toml_reader.parse(self.path, text)
        found: Any = table.pop("rules", [])
        if table:
            raise ConfigError(f'{self.path}: unknown key "{next(iter(table))}".', _MEND)
        if not isinstance(found, list):
            raise ConfigError(f'{self.path}: "rules" must be a list of tables.', _MEND)
        entries = cast("list[Any]", found)
        if len(entries) > _MOST:
            raise ConfigError(f"{self.path}: more than {_MOST:,} rules.", _MEND)
        return tuple(self._rule(text, index, entry) for index, entry in enumerate(entries))

    def _rule(self, text: str, index: int, entry: Any) -> Rule:
        problem = problem_of(entry, Rule)
        if not problem:
            rule = msgspec.convert(entry, Rule)
            problem = _problem(rule)
            if not problem:
                return rule
        place = toml_reader.place(self.path, toml_reader.line_of(text, ("rules",), index))
        raise ConfigError(f"{place}: rule {index + 1}: {problem}.", _MEND)

    def _write(self, rules: tuple[Rule, ...]) -> None:
        write_table(self.path, _HEADING, {"rules": [_as_table(rule) for rule in rules]})
        self._rules, self.problem, self._stamp = rules, "", self._stamp_now()

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def pattern_for(intent: Intent, project: Path) -> str:
    """The pattern of a rule that would allow this; empty if the user is to be asked each time."""
    if intent.outside or intent.protected or intent.losses:
        return ""
    if intent.effect == "network":
        return intent.network
    if intent.effect == "tool":
        return intent.tool
    if intent.effect == "command":
        if intent.network or not (intent.everything and intent.paths):
            # It accesses the network by itself, or is no shell command.
            return ""
        from cogency_tui.agent.permissions.command_patterns import pattern_in

        return pattern_in(project, intent.detail, intent.paths[0])
    return _files_pattern(intent.paths, project) if intent.effect == "write" else ""


def _files_pattern(paths: Sequence[Path], project: Path) -> str:
    """The files of the directory that contains all of them; for one file in the project's root, that file."""
    if not paths or not all(path.is_relative_to(project) for path in paths):
        return ""
    names = [path.relative_to(project) for path in paths]
    common = names[0].parent
    while not all(name.is_relative_to(common) for name in names):
        common = common.parent
    if common.parts:
        pattern = f"{common.as_posix()}/**"
        return "" if _MAGIC.intersection(common.as_posix()) else pattern
    return names[0].as_posix() if len(set(names)) == 1 and not _MAGIC.intersection(names[0].name) else ""


def _fits(rule: Rule, pattern: str, intent: Intent, project: Path) -> bool:
    if rule.effect != "write":
        return rule.pattern == pattern
    names = [path.relative_to(project).as_posix() for path in intent.paths]
    if not _MAGIC.intersection(rule.pattern):
        return all(name == rule.pattern for name in names)
    matches = compiled(rule.pattern)
    return all(matches.fullmatch(name) for name in names)


def _problem(rule: Rule) -> str:
    """The problem with a rule; empty if there is none."""
    pattern = rule.pattern
    if not rule.id or not pattern or not pattern.isprintable():
        return '"id" and "pattern" must not be empty'
    if rule.project and not rule.project.startswith("/"):
        return '"project" must be the full path of a directory'
    if rule.effect == "write":
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            return '"pattern" must be a path in the project, as "src/**"'
        try:
            compiled(pattern)
        except ToolError as exc:
            return f'"pattern": {str(exc).removesuffix(".")}'
    return ""


def _command_problem(rule: Rule, basis: str | None) -> str:
    """The problem with a new rule for commands; empty if there is none."""
    if rule.effect != "command":
        return ""
    from cogency_tui.agent.permissions.command_patterns import pattern_of

    if basis is None or pattern_of(rule.pattern) != rule.pattern:
        return f'"pattern": anything that begins with {rule.pattern!r} always needs approval'
    return ""


def _same(one: Rule, other: Rule) -> bool:
    return (one.effect, one.pattern, one.project) == (other.effect, other.pattern, other.project)


def _as_table(rule: Rule) -> dict[str, str]:
    return {key: value for key, value in msgspec.to_builtins(rule).items() if value}

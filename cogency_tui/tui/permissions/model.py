"""All permissions for calls without a question, as rows, which can be withdrawn and restored.

A withdrawal takes effect with the next call.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from cogency_tui.agent.permissions.grants import PLAIN_CHANGES, Grant
from cogency_tui.agent.permissions.rules import Rule, Rules
from cogency_tui.config.schema import PERMISSIONS, Permissions
from cogency_tui.tui.kit.select_list import Heading

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent


class ModeRow(msgspec.Struct, frozen=True):
    """A permission mode; the `current` one is in effect: the user has chosen it, or has `granted` what it
    allows for the conversation or the turn."""

    mode: Permissions
    current: bool
    granted: Literal["", "conversation", "turn"] = ""


class GrantRow(msgspec.Struct, frozen=True):
    """A grant for the conversation."""

    grant: Grant


class RuleRow(msgspec.Struct, frozen=True):
    """A rule; `elsewhere` means that it does not apply to this project."""

    rule: Rule
    elsewhere: bool = False


Row: TypeAlias = Heading | ModeRow | GrantRow | RuleRow
Withdrawn: TypeAlias = tuple[Rule | None, int, tuple[Grant, ...]]
"""A withdrawn rule (if it was one) with its place among all, and the grants withdrawn with it."""


class Ledger:
    """The permissions of one conversation of `agent`; None means one that has not begun. `in_turn` returns
    whether a turn is running, at whose end the grants for it end."""

    def __init__(self, agent: "Agent", conversation_id: str | None, in_turn: Callable[[], bool]) -> None:
        self._agent = agent
        self._conversation_id = conversation_id
        self._in_turn = in_turn
        self._withdrawn: list[Withdrawn] = []

    @property
    def rules(self) -> Rules:
        """The user's rules."""
        return self._agent.rules

    @property
    def can_undo(self) -> bool:
        """True if there is a withdrawal to undo."""
        return bool(self._withdrawn)

    async def rows(self) -> list[Row]:
        """All modes, grants and rules at present."""
        rules = await asyncio.to_thread(self.rules.list)
        project = str(self._agent.project)
        there = {(rule.effect, rule.pattern) for rule in rules if rule.project in ("", project)}
        # Another process may have revoked the rule that a grant came with.
        grants = [each for each in self._grants() if not each.pattern or (each.effect, each.pattern) in there]
        return list_rows(self._agent.permissions, grants, rules, project)

    async def withdraw(self, row: GrantRow | RuleRow) -> None:
        """Withdraw the permission, so that its calls are asked about again.

        Raises:
            ConfigError: the rules file is invalid, or cannot be written.
            UsageError: the rule no longer exists.
        """
        if isinstance(row, GrantRow):
            self._forget([row.grant])
            self._withdrawn.append((None, 0, (row.grant,)))
            return
        rule = row.rule
        rules = await asyncio.to_thread(self.rules.list)
        place = next((at for at, each in enumerate(rules) if each.id == rule.id), len(rules))
        await asyncio.to_thread(self.rules.revoke, rule.id)
        # Otherwise the answer that made the rule would allow the same call until the conversation ends.
        made = tuple(
            grant for grant in self._grants() if (grant.effect, grant.pattern) == (rule.effect, rule.pattern)
        )
        self._forget(made)
        self._withdrawn.append((rule, place, made))

    async def undo(self) -> None:
        """Restore the last withdrawal.

        Raises:
            ConfigError: the rules file is invalid, or cannot be written.
        """
        if not self._withdrawn:
            return
        rule, place, grants = self._withdrawn[-1]
        if rule is not None:
            await asyncio.to_thread(self.rules.put_back, rule, place)
        self._withdrawn.pop()
        if gate := self._agent.gate(self._conversation_id):
            for grant in grants:
                gate.granted.give(grant)

    def _grants(self) -> list[Grant]:
        gate = self._agent.gate(self._conversation_id)
        granted = gate.granted if gate else ()
        return [grant for grant in granted if grant.turn is None or self._in_turn()]

    def _forget(self, grants: Sequence[Grant]) -> None:
        if gate := self._agent.gate(self._conversation_id):
            for grant in grants:
                gate.granted.withdraw(grant)


def list_rows(mode: Permissions, grants: Sequence[Grant], rules: Sequence[Rule], project: str) -> list[Row]:
    """The modes, then the grants and rules, the narrowest first."""
    rows: list[Row] = [*_list_modes(mode, grants)]
    until = "until you quit" if grants else "none"
    rows += [Heading(""), Heading("Allowed in this conversation", until), *map(GrantRow, grants)]
    groups = (
        ("Always in this project", [rule for rule in rules if rule.project == project]),
        ("Always in every project", [rule for rule in rules if not rule.project]),
        ("Always in other projects", [rule for rule in rules if rule.project not in ("", project)]),
    )
    for title, found in groups:
        elsewhere = title == groups[-1][0]
        if found or title == groups[0][0]:
            aside = "" if found else "none"
            rows += [Heading(""), Heading(title, aside), *(RuleRow(rule, elsewhere) for rule in found)]
    return rows


def _list_modes(mode: Permissions, grants: Sequence[Grant]) -> list[ModeRow]:
    """The modes: where edits would be asked about but are granted, `edits` is in effect."""
    edits = next((grant for grant in grants if grant.key == PLAIN_CHANGES), None)
    if mode != "ask" or edits is None:
        return [ModeRow(each, each == mode) for each in PERMISSIONS]
    scope = "conversation" if edits.turn is None else "turn"
    return [ModeRow(each, each == "edits", scope if each == "edits" else "") for each in PERMISSIONS]

"""Shares parsed style sheets among all apps of a test process: each app would parse all of them again."""

from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_Rules = dict[Any, list[RuleSet]]

_parsed: dict[frozenset[tuple[str, str]], _Rules] = {}
"""What was parsed with the same variables. Rules are never changed."""


def share_styles() -> None:
    """Have each style sheet look up what any other has parsed."""
    patch = pytest.MonkeyPatch()
    start, set_variables = Stylesheet.__init__, Stylesheet.set_variables

    def start_shared(sheet: Any, *, variables: dict[str, str] | None = None) -> None:
        start(sheet, variables=variables)
        _share(sheet)

    def set_shared(sheet: Any, variables: dict[str, str]) -> None:
        # Textual empties the one that is there.
        sheet._parse_cache = {}
        set_variables(sheet, variables)
        _share(sheet)

    patch.setattr(Stylesheet, "__init__", start_shared)
    patch.setattr(Stylesheet, "set_variables", set_shared)


def _share(sheet: Any) -> None:
    sheet._parse_cache = _parsed.setdefault(frozenset(sheet._variables.items()), {})

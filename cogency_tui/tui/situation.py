"""Which model answers and why, and what there is for another: told to who begins."""

import os
from typing import TYPE_CHECKING

from cogency_tui.config import config_path
from cogency_tui.config_sources import Origin
from cogency_tui.providers.catalog import known_providers
from cogency_tui.tui.drawing.welcome import OFFLINE, Situation
from cogency_tui.workspace.names import short_path

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent


def situation_of(agent: "Agent") -> Situation:
    """How it stands with `agent` now."""
    keys: list[str] = []
    if agent.provider.name == OFFLINE:
        known = known_providers(agent.settings, os.environ)
        keys = [each.key_source for each in known if each.key_source and each.key_found]
    chosen = agent.provider.name == agent.settings.provider
    origin = agent.configured.origin("provider") if chosen else Origin()
    path = short_path(config_path())
    return Situation(agent.provider.name, agent.provider.model, origin, tuple(keys), path)

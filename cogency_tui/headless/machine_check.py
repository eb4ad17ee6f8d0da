"""What this machine has of what the program can use: a sandbox, git, the extras, endpoints that answer."""

import asyncio
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from cogency_tui.config import Settings
from cogency_tui.errors import CogencyError, WorkspaceError
from cogency_tui.providers.catalog import KnownProvider, create_provider, known_providers
from cogency_tui.search_paths import find_program
from cogency_tui.tools.sandbox import Sandbox
from cogency_tui.workspace.paths import Workspace

Answer = tuple[str, Literal["ok", "note", "bad"], str, str]
"""A name, how it stands, in words, and what to do."""

_EXTRAS = {
    "web": ("ddgs", "the agent searches the web"),
    "mcp": ("mcp", "tools of MCP servers"),
    "acp": ("acp", "the agent in editors"),
    "serve": ("textual_serve", "the interface in a browser"),
}
_PATIENCE = 10.0
"""Seconds for an endpoint to answer."""


async def check_machine(project: Path, settings: Settings) -> list[Answer]:
    """The sandbox as it would be in `project` (resolved), git, and the extras."""
    return [await _sandbox(project, settings), _git(), *(_extra(name) for name in _EXTRAS)]


async def check_endpoints(settings: Settings) -> list[Answer]:
    """Ask each provider that has its key for its models."""
    asked = [each for each in known_providers(settings, os.environ) if each.base_url and each.key_found]
    return list(await asyncio.gather(*(_endpoint(settings, provider) for provider in asked)))


async def _sandbox(project: Path, settings: Settings) -> Answer:
    sandbox = Sandbox("auto")
    try:
        works = await sandbox.probe(Workspace(project))
    except WorkspaceError as exc:
        return ("sandbox", "note", str(exc), exc.hint)
    finally:
        await sandbox.close()
    if works:
        off = settings.sandbox == "off"
        advice = "`cogency-tui config set sandbox auto` runs commands in it." if off else ""
        return ("sandbox", "note" if off else "ok", f"bwrap works here{', and is not used' * off}", advice)
    state = "bad" if settings.sandbox == "require" else "note"
    reason = sandbox.state.removeprefix("not sandboxed: ")
    return ("sandbox", state, reason, "Install bubblewrap (Linux) to run commands without network.")


def _git() -> Answer:
    path = find_program("git")
    if path:
        return ("git", "ok", path, "")
    return ("git", "note", "not found", "Install git to see branch and state in the header.")


def _extra(name: str) -> Answer:
    module, what = _EXTRAS[name]
    if find_spec(module) is not None:
        return (f"extra {name}", "ok", f"installed: {what}", "")
    return (f"extra {name}", "note", f"not installed: {what}", f"pip install 'cogency-tui[{name}]'")


async def _endpoint(settings: Settings, provider: KnownProvider) -> Answer:
    chosen = provider.name == settings.provider
    name = f"ask {provider.name}{' *' * chosen}"
    try:
        # The list of models needs none of them to be named.
        endpoint = create_provider(
            replace(settings, provider=provider.name, model=provider.model or "any"), os.environ
        )
        try:
            async with asyncio.timeout(_PATIENCE):
                models = await endpoint.models()
        finally:
            await endpoint.close()
    except CogencyError as exc:
        return (name, "bad" if chosen else "note", str(exc), exc.hint)
    except TimeoutError:
        return (name, "bad" if chosen else "note", f"no answer within {_PATIENCE:.0f} s", "")
    return (name, "ok", f"answers, and has {len(models)} model{'' if len(models) == 1 else 's'}", "")

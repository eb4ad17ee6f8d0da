"""/lsp, and what language servers report, on the screen."""

import json
from pathlib import Path

import pytest
import tomlkit

from cogency_tui.agent import diagnostics
from cogency_tui.agent.agent import Agent
from cogency_tui.config.language_servers import LanguageServerSettings
from cogency_tui.config.schema import Settings, config_path
from cogency_tui.tools.language_servers.server import State
from cogency_tui.tui.kit.dialogs import DialogBody
from cogency_tui.tui.language_servers.screen import LanguageServersScreen
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.settings.screen import SettingsScreen
from tests.peers.language_servers import fake
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import at_work, finished, main_of, seen, send, shown, until

CALL = f"<execute>{json.dumps([{'name': 'edit', 'args': {'file': 'a.fake', 'old': 'one', 'new': 'bad one'}}])}</execute>"

SYMBOL = f"<execute>{json.dumps([{'name': 'symbol', 'args': {'action': 'definition', 'file': 'a.fake', 'line': 2, 'name': 'two'}}])}</execute>"

OFF = {
    name: LanguageServerSettings(enabled=False)
    for name in ("basedpyright", "ruff", "clangd", "typescript", "gopls", "rust-analyzer")
}


def agent_in(project: Path, *replies: str, **servers: LanguageServerSettings) -> Agent:
    (project / "a.fake").write_text("one\ntwo\n")
    return Agent(
        ScriptedProvider(*replies),
        project=project,
        data=project.parent / "data",
        settings=Settings(language_servers=OFF | servers),
        permissions="auto",
    )


async def test_a_server_that_runs_code_of_the_project_is_allowed_and_its_findings_are_shown(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine may take its time.
    monkeypatch.setattr(diagnostics, "PATIENCE", 60.0)
    agent = agent_in(project, CALL, "Done.", **fake(risk="runs scripts"))
    async with at_work(agent) as pilot:
        await send(pilot, "/lsp")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanguageServersScreen))
        listed, note = pilot.app.screen.query_one("#lsp-list"), pilot.app.screen.query_one(DialogBody)
        await until(pilot, lambda: "? fake" in shown(listed) and "asks first" in shown(listed))
        assert "It runs scripts. It starts only if you allow it." in shown(note)
        assert "a allow" in seen(pilot)
        assert "decide" not in seen(pilot)
        await pilot.press("a")
        await until(pilot, lambda: "◌ fake" in shown(listed) and "You allow it" in shown(note))
        await pilot.press("escape")
        await send(pilot, "edit")
        await finished(pilot)
        conversation = main_of(pilot).query_one("Conversation")
        await until(pilot, lambda: "1 error added" in shown(conversation))
        assert "a.fake:1  bad on line 1: bad one" in shown(conversation)
        await send(pilot, "/lsp")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanguageServersScreen))
        listed = pilot.app.screen.query_one("#lsp-list")
        await until(pilot, lambda: "✓ fake" in shown(listed) and "MB" in shown(listed))
        await pilot.press("escape")
        await pilot.press("f5")
        await until(pilot, lambda: bool(pilot.app.screen.query(DiffView)))
        diff = pilot.app.screen.query_one(DiffView)
        await until(pilot, lambda: "✗ a.fake:1  bad on line 1: bad one" in shown(diff))


async def test_turned_off_in_the_settings_they_end_and_symbol_says_so(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnostics, "PATIENCE", 60.0)
    (project / "a.fake").write_text("one\ntwo\n")
    config_path().parent.mkdir(parents=True, exist_ok=True)
    tables = {name: {"enabled": False} for name in OFF}
    tables |= {"fake": {"commands": fake()["fake"].commands, "files": {"*.fake": "fake"}}}
    config_path().write_text(tomlkit.dumps({"language_servers": tables}))  # pyright: ignore[reportUnknownMemberType] (tomlkit leaves it open)
    provider = ScriptedProvider(CALL, "Done.", SYMBOL, "Done.")
    agent = Agent(provider, project=project, data=project.parent / "data", permissions="auto")
    async with at_work(agent) as pilot:
        await send(pilot, "edit")
        await finished(pilot)
        (server,) = [one for each in await agent.language_servers.listed() for one in each.running]
        assert server.state is State.READY
        await send(pilot, "/settings diagnostics")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await pilot.press("enter")
        await until(pilot, lambda: not agent.settings.diagnostics)
        await until(pilot, lambda: server.state is State.IDLE)
        assert not server.usable
        await pilot.press("escape")
        await send(pilot, "find")
        await finished(pilot)
        conversation = main_of(pilot).query_one("Conversation")
        await until(pilot, lambda: "Language servers are off." in shown(conversation))
        assert "/settings diagnostics" in str(provider.sent[-1])
        await send(pilot, "/lsp")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanguageServersScreen))
        await until(pilot, lambda: "Diagnostics are off" in seen(pilot))
        assert not [each for each in await agent.language_servers.listed() if each.running]

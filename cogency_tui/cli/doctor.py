"""`cogency-tui doctor`: prints what the checks found, and repairs the store on request."""

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from cogency_tui.agent.doctor import (
    MARKS,
    Finding,
    check_endpoints,
    check_installation,
    check_machine,
    settings_or_defaults,
    verify_store,
)
from cogency_tui.agent.edits.startup_recovery import any_left
from cogency_tui.agent.project.settings import project_settings_of
from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import Settings, data_path
from cogency_tui.errors import ConfigError
from cogency_tui.providers.configured_providers import secrets
from cogency_tui.store.check_and_repair import repair as repair_store
from cogency_tui.store.database import FILE
from cogency_tui.store.search.building import IndexProgress, update

_UNSETTLED = "not started: changes of an interrupted run are not recovered yet"


async def examine(
    *,
    as_json: bool,
    online: bool = False,
    interface: Callable[[Settings], Iterable[Finding]] = lambda _settings: (),
) -> int:
    """Print the findings, including those of the `interface` and, if `online`, of the endpoints; exit
    status 1 if any is bad.
    """
    project, settings = Path.cwd().resolve(), settings_or_defaults()
    findings = await check_installation(project, data_path())
    findings += [*interface(settings), *await _check_servers(project)]
    findings += await check_machine(project, settings)
    findings += await check_endpoints(settings) if online else []
    return _report(findings, as_json=as_json)


async def verify(*, as_json: bool) -> int:
    """Check everything that the store has, and print the findings; exit status 1 if any is bad."""
    return _report(await verify_store(data_path()), as_json=as_json)


def _report(findings: Iterable[Finding], *, as_json: bool) -> int:
    is_bad = False
    for finding in findings:
        is_bad = is_bad or finding.state == "bad"
        if as_json:
            print_json(asdict(finding))
        else:
            advice = f"  → {finding.advice}" if finding.advice else ""
            print_text(f"{MARKS[finding.state]} {finding.name:<14} {finding.what}{advice}")
    return 1 if is_bad else 0


async def _check_servers(project: Path) -> list[Finding]:
    """Check the servers of the user and, as far as it is trusted, of `project` (resolved)."""
    if any_left(data_path()):
        # The killed program's command may have configured them.
        return [Finding("mcp", "bad", _UNSETTLED, "Start cogency-tui once to recover them.")]
    try:
        settings = project_settings_of(project)
    except ConfigError:
        return []
    settings.refresh()
    if not settings.now.mcp:
        return []
    from cogency_tui.tools.mcp.server import ServerState, Surroundings
    from cogency_tui.tools.mcp.servers import Servers

    servers = Servers(Surroundings(project, os.environ, secrets(load_settings(), os.environ)))
    try:
        servers.configure(settings.now.mcp)
        await servers.settle(None)
        findings: list[Finding] = []
        for server in servers.listed():
            if server.state is ServerState.READY:
                title = server.title or server.address
                count = len(server.tools)
                what = f"{title}, {count} tool{'' if count == 1 else 's'}"
                what += f"; not used: {'; '.join(server.left_out)}" if server.left_out else ""
                findings.append(Finding(f"mcp {server.name}", "ok", what, ""))
            else:
                what = f"{server.address}: {server.problem or server.state.value}"
                advice = f"Fix it, or remove [mcp.{server.name}]."
                findings.append(Finding(f"mcp {server.name}", "bad", what, advice))
        return findings
    finally:
        await servers.close()


def repair() -> int:
    """Repair the store if it is damaged, and print what was done.

    Raises:
        StoreError: it cannot be repaired.
    """
    done = repair_store(data_path())
    for line in done or [f"The store in {data_path()} is not damaged."]:
        print_text(line)
    return 0


def rebuild() -> int:
    """Rebuild the search index, and print the progress. After an interrupt, the next search continues.

    Raises:
        StoreError: the store cannot be read, or the index not written.
    """
    directory = data_path()
    if not (directory / FILE).exists():
        talk("There is nothing to index yet.")
        return 0
    last: IndexProgress | None = None
    for last in update(directory, rebuild=True):
        talk(f"Indexed {last.done:,} of {last.total:,} events ({last.done * 100 // max(1, last.total)}%).")
    if last is None:
        talk("Nothing was indexed: there are no events, or another process is indexing.")
    return 0

"""`cogency-tui doctor`: prints what the checks found, and repairs the store on request."""

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
from cogency_tui.cli.mcp import check_servers
from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.config.schema import Settings, data_path
from cogency_tui.store.check_and_repair import repair as repair_store
from cogency_tui.store.database import FILE
from cogency_tui.store.search.building import IndexProgress, update


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
    findings += [*interface(settings), *(Finding(*each) for each in await check_servers(project))]
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


def repair() -> int:
    """Repair the store if it is damaged, and print what was done; return the exit status.

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

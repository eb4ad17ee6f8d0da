"""The user's configuration of this program: what a command changes there unasked is put back, what this
program writes meanwhile, in whichever process, stays."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cogency_tui.agent.permissions.rules import FILE_NAME as RULES
from cogency_tui.agent.project.custom_files import FOLDERS
from cogency_tui.agent.project.language_server_consent import FILE_NAME as CONSENT
from cogency_tui.agent.project.trust import FILE_NAME as TRUSTED
from cogency_tui.config.edit import LOCK, set_key
from cogency_tui.process_identity import start_of
from cogency_tui.tools.journal_protocol import Consent
from cogency_tui.workspace import protected_file_discovery
from tests.agent.journaling import Desk, desk_at, settle

SERVER = '[mcp.x]\ncommand = "sh"\n'


@pytest.fixture
def config(sealed_home: Path) -> Path:
    path = sealed_home / ".config/cogency-tui/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('theme = "a"\n')
    settle()
    return path


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        yield desk


async def watched(desk: Desk, command: str, during: Callable[[], object] = lambda: None) -> list[str]:
    """What is put back of a command that nobody agreed to; `during` is done while it waits for the file
    `go`."""

    async def keeps(_changed: object, _diff: str) -> bool:
        return False

    async with desk.calls.around_command("call", "shell", consent=Consent(keeps)) as found:
        process = await asyncio.create_subprocess_exec("bash", "-c", command, cwd=desk.root)
        while not (desk.root / "go").exists() and process.returncode is None:
            if (desk.root / "ready").exists():
                await asyncio.to_thread(during)
                (desk.root / "go").touch()
            await asyncio.sleep(0.005)
        assert await process.wait() == 0
    return list(found.put_back)


WAIT = "touch ready; until [ -e go ]; do sleep 0.005; done"


NAMES = [
    *("config.toml", RULES, TRUSTED, CONSENT, "models.toml", "AGENTS.md", "themes/x.toml"),
    *(f"{folder}/x{ending}" for folder, ending in FOLDERS.items()),
]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_script_cannot_change_it(
    desk: Desk, config: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    if elsewhere:
        folder = config.parent.with_name("mine")
        config.parent.rename(folder)
        monkeypatch.setenv("COGENCY_CONFIG", str(folder / "config.toml"))
        config = folder / "config.toml"
    before = config.read_bytes()
    desk.put("script", SERVER)
    targets = [config.parent / name for name in NAMES]
    command = "; ".join(f"mkdir -p '{target.parent}'; cat script >> '{target}'" for target in targets)
    assert sorted(await watched(desk, command)) == sorted(map(str, targets))
    assert [target for target in targets if target.exists()] == [config]
    assert config.read_bytes() == before


async def test_what_lies_beside_it_is_no_configuration(
    desk: Desk, sealed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COGENCY_CONFIG", str(sealed_home / "mine.toml"))
    assert await watched(desk, "echo x > ~/notes; mkdir ~/x; echo x > ~/x/config.toml") == []
    assert await watched(desk, "echo 'theme = 1' > ~/mine.toml") == [str(sealed_home / "mine.toml")]


async def test_what_this_process_writes_meanwhile_stays(desk: Desk, config: Path) -> None:
    assert await watched(desk, WAIT, lambda: set_key(config, "theme", "b")) == []
    assert config.read_text() == 'theme = "b"\n'
    assert str(config) not in [edit.path for edit in await desk.edits()]


async def test_a_first_setting_of_this_process_stays(desk: Desk, config: Path) -> None:
    config.unlink()
    assert await watched(desk, WAIT, lambda: set_key(config, "theme", "b")) == []
    assert config.read_text().strip() == 'theme = "b"'


async def test_what_was_written_before_says_nothing_of_the_command(desk: Desk, config: Path) -> None:
    for theme in ("b", "c", "b"):
        set_key(config, "theme", theme)
    settle()
    assert await watched(desk, f"sed -i s/b/c/ {config}") == [str(config)]
    assert config.read_text() == 'theme = "b"\n'


@pytest.mark.parametrize("first", [True, False])
async def test_only_the_part_of_the_script_is_put_back(desk: Desk, config: Path, first: bool) -> None:
    desk.put("script", SERVER)
    plant = f"cat script >> {config}"
    command = f"{plant}; {WAIT}" if first else f"{WAIT}; {plant}"
    put_back = await watched(desk, command, lambda: set_key(config, "theme", "b"))
    assert put_back == [str(config)]
    assert config.read_text() == 'theme = "b"\n'


async def test_what_a_command_does_through_this_program_is_its_own(desk: Desk, config: Path) -> None:
    code = f"from pathlib import Path; from cogency_tui.config.edit import set_key; set_key(Path('{config}'), 'theme', 'b')"
    assert await watched(desk, f'{sys.executable} -c "{code}"') == [str(config)]
    assert config.read_text() == 'theme = "a"\n'


OTHER = """
import sys
from pathlib import Path
from cogency_tui.config.edit import set_key
sys.stdin.readline()
set_key(Path(sys.argv[1]), "theme", "b")
print("done", flush=True)
sys.stdin.readline()
"""

READER = """
import asyncio, sys
from pathlib import Path
from tests.agent.journaling import desk_at
from tests.agent.edits.test_own_configuration import watched
async def main():
    async with desk_at(Path(sys.argv[1]), Path(sys.argv[2])) as desk:
        def during():
            print("ready", flush=True)
            sys.stdin.readline()
        print(await watched(desk, sys.argv[3], during), flush=True)
asyncio.run(main())
"""


async def _start(code: str, *arguments: object) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, *map(str, arguments), stdin=pipe, stdout=pipe
    )


async def _says(process: asyncio.subprocess.Process, line: str = "\n") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line.encode())
    await process.stdin.drain()
    return (await process.stdout.readline()).decode().strip()


@pytest.mark.exhaustive
async def test_what_another_window_writes_meanwhile_stays(tmp_path: Path, config: Path) -> None:
    other = await _start(OTHER, config)
    reader = await _start(READER, tmp_path / "project", tmp_path / "data", WAIT)
    assert reader.stdout is not None
    assert (await reader.stdout.readline()).strip() == b"ready"
    assert await _says(other) == "done"
    assert await _says(reader) == "[]"
    assert config.read_text() == 'theme = "b"\n'
    for process in (other, reader):
        process.stdin.close() if process.stdin else None
        assert await process.wait() == 0


@pytest.mark.exhaustive
async def test_no_command_passes_for_another_window(desk: Desk, config: Path) -> None:
    set_key(config, "theme", "b")
    (line,) = (config.parent / LOCK).read_text().splitlines()
    settle()
    log = config.parent / LOCK
    for pid in (1, os.getpid(), os.getppid(), 1 << 22):
        forged = json.loads(line) | {"pid": pid, "start": start_of(pid) or "", "at": 1 << 62}
        desk.put("log", json.dumps(forged) + "\nnot\n[]\n{}\n" + "[" * 9999)
        assert await watched(desk, f"cat log > {log}; sed -i s/b/x/ {config}; rm -f ready go") == [
            str(config)
        ]
        assert config.read_text() == 'theme = "b"\n'


@pytest.mark.exhaustive
def test_the_log_stays_small(config: Path) -> None:
    for number in range(200):
        set_key(config, "theme", str(number))
    assert len((config.parent / LOCK).read_bytes()) < 1 << 16


def test_the_names_are_those_that_the_program_reads(config: Path) -> None:
    for name in (RULES, TRUSTED):
        (config.parent / name).touch()
    assert protected_file_discovery.own_files() == [config, config.parent / RULES, config.parent / TRUSTED]

"""The modules that are imported before the first frame: each delays it."""

import os
import subprocess
import sys

import pytest

PACKAGE = "cogency_tui"

EARLY = {
    # Of the protocol only the names of the dialects, which are an option.
    "": "__main__ child_environment errors private_files protocol safe_text search_paths signal_delivery",
    "agent": "agent conversation_runner dialect_choice store_fallback",
    "agent.edits": "startup_recovery",
    "cli": "main options standard_streams",
    "config": "config_file hooks language_servers layers mcp schema themes toml_reader workflows",
    "protocol": "image",
    "providers": "base configured_providers efforts models presets token_counting",
    "providers.offline": "provider",
    "redaction": "issuers randomness secret_spans",
    "store": "prompt_text",
    "tools.shell": "concealed_proc_environ",
    "tui": "app bridge memory_arenas message_queue paste_chips theme_styles",
    "tui.kit": "bar cell_text edit_area footer heading keys lines number_format pane_title partial_screen permission_badge splitter "
    "typed_app",
    "tui.main": "keys panes screen",
    "tui.prompt": "paste_area prompt prompt_and_queue",
    "tui.settings": "active_theme",
    "tui.status": "header status_bar",
    "tui.terminal": "capabilities driver frames input key_order output title_and_notifications",
    "workspace": "nofollow_access paths protected_names",
    "workspace.git": "branch",
}
"""Our modules, by package."""

LATE = (
    "httpx",
    "websockets",
    "aiosqlite",
    "sqlite3",
    "pygments",
    "markdown_it",
    "watchfiles",
    "tomlkit",
    "textual.widgets._markdown",
)
"""Libraries that take longer to import than the first frame may wait."""

_START = """
import asyncio, sys
import cogency_tui.__main__, cogency_tui.cli.main
from cogency_tui.cli.options import InterfaceOptions
agent = cogency_tui.cli.main._agent_of(InterfaceOptions())
from cogency_tui.tui.app import CogencyApp

class Starting(CogencyApp):
    def _begin(self):
        "Stop where everything begins that can wait until after the first frame."
        print(*sys.modules)
        self.exit()

asyncio.run(Starting(agent).run_async(headless=True))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules of a program that has shown its first frame, without any configuration."""
    code = [sys.executable, "-c", _START]
    project, home = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("unconfigured")
    # A fixture of a module is older than the seal of each test, and what is configured imports options.
    ours = ("COGENCY_", "XDG_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environ["HOME"] = str(home)
    started = subprocess.run(code, capture_output=True, text=True, check=True, cwd=project, env=environ)
    return set(started.stdout.split())


def test_no_other_module_is_imported_before_the_first_frame(loaded: set[str]) -> None:
    ours = {name.removeprefix(f"{PACKAGE}.") for name in loaded if name.startswith(f"{PACKAGE}.")}
    packages = {name for name in ours if any(other.startswith(f"{name}.") for other in ours)}
    expected = {f"{package}.{name}".strip(".") for package, names in EARLY.items() for name in names.split()}

    assert not (added := ours - packages - expected), (
        f"{', '.join(sorted(added))}: imported before the first frame, which waits for it. Import it inside "
        "the function that needs it, or from tui/main/features.py, which is loaded after the first frame. "
        "Only if the first frame shows something of it, add it to EARLY."
    )
    assert not (gone := expected - ours), f"{', '.join(sorted(gone))}: remove it from EARLY."


def test_the_first_frame_needs_neither_network_nor_store_nor_highlighting(loaded: set[str]) -> None:
    assert not loaded & {*LATE}

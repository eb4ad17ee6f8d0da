"""The table of the language server for tests (`language_server`)."""

import sys
from pathlib import Path

from cogency_tui.config.language_servers import LanguageServerSettings
from tests.peers import language_server

PROGRAM = str(Path(language_server.__file__))


def fake(*arguments: str, risk: str = "", settle: float = 0.0) -> dict[str, LanguageServerSettings]:
    """The table of the server for tests, which behaves as the arguments say."""
    return {
        "fake": LanguageServerSettings(
            commands=[[sys.executable, "-I", PROGRAM, *arguments]],
            files={"*.fake": "fake"},
            roots=["fake.root"],
            risk=risk,
            settle=settle,
        )
    }

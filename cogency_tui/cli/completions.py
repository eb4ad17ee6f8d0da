"""`cogency-tui completions SHELL`: a script with which a shell completes our commands and options.

shtab derives it from the parsers themselves, so that it names only what exists.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from cogency_tui.cli.standard_streams import print_text


def print_completions(shell: str, parser: argparse.ArgumentParser) -> None:
    """Print the script for `shell`; `parser` has all options."""
    import shtab

    _name_paths(parser, {"dir": shtab.DIRECTORY, "file": shtab.FILE})
    print_text(shtab.complete(parser, shell))


def _name_paths(parser: argparse.ArgumentParser, complete: Mapping[str, Any]) -> None:
    """Mark each argument that is a path as one."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] - argparse lists them nowhere else
        if isinstance(action.choices, dict):
            below = cast("dict[str, argparse.ArgumentParser]", action.choices)
            for each in below.values():
                _name_paths(each, complete)
        elif action.type is Path:
            cast("Any", action).complete = complete["dir" if action.metavar == "DIR" else "file"]

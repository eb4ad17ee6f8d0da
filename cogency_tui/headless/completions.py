"""`cogency-tui completions SHELL`: a script by which a shell completes our commands and options.

Made by shtab from the parsers themselves, so that it cannot name what there is not.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from cogency_tui.headless.output import print_text


def print_completions(shell: str, parser: argparse.ArgumentParser) -> None:
    """Print the script for `shell`; `parser` knows all that can be given."""
    import shtab

    _name_paths(parser, {"dir": shtab.DIRECTORY, "file": shtab.FILE})
    print_text(shtab.complete(parser, shell))


def _name_paths(parser: argparse.ArgumentParser, complete: Mapping[str, Any]) -> None:
    """Say of each argument that is a path that it is one."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] - argparse lists them nowhere else
        if isinstance(action.choices, dict):
            below = cast("dict[str, argparse.ArgumentParser]", action.choices)
            for each in below.values():
                _name_paths(each, complete)
        elif action.type is Path:
            cast("Any", action).complete = complete["dir" if action.metavar == "DIR" else "file"]

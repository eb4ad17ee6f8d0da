"""Imports without the parts that a library loads because they are installed: they take memory and time."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import cast


@contextmanager
def without(name: str) -> Generator[None]:
    """Let the imports in this block find no module `name`, unless it is loaded already. For a part without
    which the library works, and which is never used here."""
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    absent = name not in modules
    if absent:
        modules[name] = None
    try:
        yield
    finally:
        if absent:
            del modules[name]

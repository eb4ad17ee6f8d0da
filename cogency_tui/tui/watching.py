"""Loading `watchfiles`, which is not light: in a thread, when something is watched for the first time."""

from importlib import import_module
from typing import Any


def import_awatch() -> Any:
    """`watchfiles.awatch`, whose types are not all told. Blocks."""
    return import_module("watchfiles").awatch

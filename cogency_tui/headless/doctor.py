"""`cogency-tui doctor`: what works here, what does not, and what to do about it."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Literal

from cogency_tui.config import Settings, config_path, data_path, load_settings
from cogency_tui.errors import CogencyError, ConfigError
from cogency_tui.headless.output import print_json, print_text
from cogency_tui.providers.catalog import known_providers
from cogency_tui.store.conversations import Store

_MARKS = {"ok": "✓", "note": "·", "bad": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `bad` means that something asked for cannot work."""

    name: str
    state: Literal["ok", "note", "bad"]
    what: str
    advice: str = ""


async def examine(*, as_json: bool) -> int:
    """Print the findings; exit status 1 if any is bad."""
    findings = [*_program(), *_configuration(), await _data(), _git()]
    for finding in findings:
        if as_json:
            print_json(asdict(finding))
        else:
            advice = f"  → {finding.advice}" if finding.advice else ""
            print_text(f"{_MARKS[finding.state]} {finding.name:<14} {finding.what}{advice}")
    return 1 if any(finding.state == "bad" for finding in findings) else 0


def _program() -> Iterator[Finding]:
    yield Finding("program", "ok", f"cogency-tui {version('cogency-tui')}, textual {version('textual')}")
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} ({sys.executable})")
    term = os.environ.get("TERM", "")
    colours = os.environ.get("COLORTERM", "")
    if not sys.stdout.isatty():
        yield Finding("terminal", "note", "stdout is no terminal", "The interface needs one; `run` does not.")
    elif term in ("", "dumb"):
        advice = "Set TERM, for example to xterm-256color."
        yield Finding("terminal", "bad", f"TERM is {term or 'not set'}", advice)
    else:
        yield Finding("terminal", "ok", f"{term}, {colours or '256 colours or fewer'}")


def _configuration() -> Iterator[Finding]:
    path = config_path()
    settings = Settings()
    try:
        settings = load_settings(path)
    except ConfigError as exc:
        yield Finding("configuration", "bad", str(exc), exc.hint)
    else:
        what = str(path) if path.exists() else f"{path} (none: defaults are used)"
        yield Finding("configuration", "ok", what)
    for provider in known_providers(settings, os.environ):
        yield _provider(provider.name, provider.key_source, found=provider.key_found, settings=settings)


def _provider(name: str, key_source: str, *, found: bool, settings: Settings) -> Finding:
    title = f"{name}{' *' if settings.provider == name else ''}"
    if not key_source:
        return Finding(title, "ok", "needs no key")
    if found:
        return Finding(title, "ok", f"key found in {key_source}")
    state = "bad" if settings.provider == name else "note"
    return Finding(title, state, "no key", f"Set {key_source} to use it.")


async def _data() -> Finding:
    directory = data_path()
    try:
        async with await Store.open(directory) as store:
            count = await store.count()
            notices = "; ".join(store.notices)
    except CogencyError as exc:
        return Finding("store", "bad", str(exc), exc.hint)
    what = f"{directory}, {count} conversation{'' if count == 1 else 's'}"
    return Finding("store", "note" if notices else "ok", f"{what}; {notices}" if notices else what)


def _git() -> Finding:
    path = shutil.which("git")
    if path:
        return Finding("git", "ok", path)
    return Finding("git", "note", "not found", "Install git to see branch and state in the header.")

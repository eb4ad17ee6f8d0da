"""`cogency-tui sync`: exchanges conversations with other machines through a directory of bundles."""

import asyncio
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.errors import StoreError, UsageError, in_words
from cogency_tui.safe_text import one_line
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.bundles import (
    KEY_FILE,
    KEY_VARIABLE,
    SyncKey,
    has_bundles,
    new_key,
    parsed_key,
    read_key,
    write_key,
)
from cogency_tui.store.directory_sync import DirectorySync, Exchange
from cogency_tui.store.origins import COPIED
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.store import Store

EXTRA = "pip install 'cogency-tui[sync]'"

_PAUSE = 5.0
"""Seconds between two looks for what is new."""

_SEND_PAUSE = 60.0
"""Seconds between two bundles while following: each is a file that stays."""

_PROGRESS_PAUSE = 2.0
_MOST_PROBLEMS = 5
_READABLE_BY_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """The options of the command; `key` is a file."""

    key: Path | None = None
    new_key: bool = False
    dry: bool = False
    follow: bool = False
    as_json: bool = False


async def sync_directory(store: Store, directory: Path, options: SyncOptions) -> int:
    """Receive and send what is new, and print the sum; if `follow`, go on until an interrupt. Return 1 if
    something could not be received or sent.

    Raises:
        UsageError: there is no such directory, or no key for it.
    """
    if find_spec("pyrage") is None:
        raise UsageError("sync needs an extra.", EXTRA)
    if not directory.is_dir():
        raise UsageError(f"{directory} is no directory.", "Create it, or mount it, and try again.")
    if options.dry and options.follow:
        raise UsageError("--dry-run and --follow cannot be combined.", "--dry-run counts once.")
    data = store.database.path.parent
    if directory.resolve() == data.resolve():
        raise UsageError(f"{directory} is the data directory, with the key.", "Pass one of its own.")
    key = _key(options, directory, data / KEY_FILE)
    sync = DirectorySync(
        store,
        Blobs(data / BLOBS),
        directory,
        key,
        dry=options.dry,
        accept_other_key=options.new_key,
        progress=_Progress(),
    )
    found = await sync.run()
    _report(found, options)
    if options.follow:
        await _follow(sync, directory, options, found.problems)
    return 1 if found.problems else 0


async def _follow(sync: DirectorySync, directory: Path, options: SyncOptions, named: Iterable[str]) -> None:
    known = set(named)
    is_away = False
    sent = time.monotonic()
    while True:
        await asyncio.sleep(_PAUSE)
        send = time.monotonic() - sent >= _SEND_PAUSE
        try:
            found = await sync.run(send=send)
        except UsageError as exc:
            # A share that is not there now may be again.
            found = Exchange(problems=[exc.advice])
            is_away = True
        else:
            if is_away:
                talk(f"{directory} can be used again.")
                known.clear()
            is_away = False
        sent = time.monotonic() if send else sent
        # A problem is named once.
        found.problems = [each for each in found.problems if each not in known]
        known |= {*found.problems}
        if found.sent or found.received or found.problems:
            _report(found, options)


def _key(options: SyncOptions, directory: Path, default: Path) -> SyncKey:
    """Return the key from its file or the environment; the first time, create it.

    Raises:
        UsageError: it cannot be read, is in the directory, or there is none for the bundles there.
    """
    if options.key is not None:
        _require_outside(options.key, directory)
        return _read(options.key)
    if given := os.environ.get(KEY_VARIABLE):
        return parsed_key(given, KEY_VARIABLE)
    _require_outside(default, directory)
    if default.exists():
        return _read(default)
    if has_bundles(directory) and not options.new_key:
        raise UsageError(
            f"{directory} has bundles, and this machine has no key for them.",
            f"Copy {KEY_FILE} from the data directory of one that has it to {default}, or pass --key FILE."
            " Where it is lost, --new-key makes another one.",
        )
    key = new_key()
    if options.dry:
        return key
    try:
        write_key(default, key)
    except FileExistsError:
        return _read(default)
    except OSError as exc:
        raise StoreError(f"{default} cannot be written: {exc.strerror}.") from exc
    talk(
        f"Created the key {default}. Copy it to your other machines, by another way than {directory}:\n"
        f"  scp {default} OTHER:{default}\n"
        "Who has it can read the bundles; without it nobody can. Keep a copy."
    )
    return key


def _require_outside(key: Path, directory: Path) -> None:
    """Require a key that is not carried away with the bundles.

    Raises:
        UsageError: it is in their directory.
    """
    if key.resolve().is_relative_to(directory.resolve()):
        raise UsageError(
            f"The key {key} is in {directory}: who gets the bundles can read them.",
            "Move it out of there.",
        )


def _read(path: Path) -> SyncKey:
    key = read_key(path)
    with suppress(OSError):
        if path.stat().st_mode & _READABLE_BY_OTHERS:
            talk(f"Others can read the key {path}: chmod 600 {path}")
    return key


class _Progress:
    """Reports on what takes long."""

    def __init__(self) -> None:
        self._due = time.monotonic() + _PROGRESS_PAUSE

    def __call__(self, text: str) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _PROGRESS_PAUSE
            talk(text)


def _report(found: Exchange, options: SyncOptions) -> None:
    if options.as_json:
        print_json(
            {
                "sent": {"conversations": len(found.sent), "events": sum(found.sent.values())},
                "received": {
                    "conversations": len(found.received),
                    "events": sum(found.received.values()),
                    "from": found.owners,
                },
                "bundles": found.bundles,
                "waiting": found.waiting,
                "other_key": found.foreign,
                "copied": found.copied,
                "problems": found.problems,
            }
        )
        return
    if found.copied:
        _report_copy(found, options)
    print_text(_sum(found, options))
    if found.foreign:
        talk(f"{_plural(found.foreign, 'bundle')} left out: encrypted with another key (see --key).")
    if found.waiting:
        talk(f"{_plural(found.waiting, 'bundle')} waiting for another one that has not arrived yet.")
    for problem in found.problems[:_MOST_PROBLEMS]:
        talk(one_line(problem))
    if len(found.problems) > _MOST_PROBLEMS:
        talk(f"{len(found.problems) - _MOST_PROBLEMS:,} more problems; --json lists all.")


def _report_copy(found: Exchange, options: SyncOptions) -> None:
    if options.dry:
        talk("This history is a copy of another machine's, and would get an owner of its own.")
        return
    talk(copied_words(found.ceded))


def copied_words(ceded: int) -> str:
    """Say that the store is a copy, of which `ceded` conversations belong to the other one."""
    rest = f" {_plural(ceded, 'conversation')} of before can be read and forked here." if ceded else ""
    return f"{COPIED}{rest}"


def _sum(found: Exchange, options: SyncOptions) -> str:
    parts: list[str] = []
    verbs = ("To send:", "to receive:") if options.dry else ("Sent", "received")
    if found.sent:
        parts.append(f"{verbs[0]} {_counted(found.sent)}")
    if found.received:
        names = in_words([one_line(name) for name in found.owners], 5)
        parts.append(f"{verbs[1]} {_counted(found.received)} from {names}")
    if not parts:
        return "Nothing new."
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _counted(events: dict[str, int]) -> str:
    return f"{_plural(len(events), 'conversation')} ({_plural(sum(events.values()), 'event')})"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

"""Runs git without anything that a repository's own configuration names.

Invariant: nothing that the configuration names is run (a monitor, hooks, filters, drivers of merges and
diffs, those of submodules, programs that page, edit, sign, verify or ask), whichever of its includes apply;
nothing uses the network, no secret is in git's environment, and git has a limited time for an answer. Where
git has no answer, or its configuration is a file that never ends, the result is None. The calls block.
"""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from cogency_tui.child_processes import run_helper
from cogency_tui.workspace.git.blocking_files import is_unreadable, waits_for_configuration

_PATIENCE = 5.0
_SAFE = (
    # These describe commits and packs as of the time when they were written.
    "core.commitGraph=false",
    "core.multiPackIndex=false",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.quotePath=false",
    # Other values would treat a file as unchanged by comparing less than its whole status.
    "core.checkStat=default",
    "core.trustctime=true",
    # No command is used that signs or shows signatures; if one ever is, it starts nothing.
    "log.showSignature=false",
    *(f"gpg.{program}=false" for program in ("program", "openpgp.program", "x509.program", "ssh.program")),
    "gpg.ssh.defaultKeyCommand=false",
    "core.pager=cat",
    "core.editor=false",
    "sequence.editor=false",
    "diff.external=false",
    "core.sshCommand=false",
    "core.askPass=false",
    "core.alternateRefsCommand=false",
    "credential.helper=",
    "protocol.allow=never",
    # Another repository in this one has a configuration of its own.
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "diff.ignoreSubmodules=dirty",
    # Nothing goes on in the background, nor runs the hooks of that.
    "gc.auto=0",
    "maintenance.auto=false",
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    # No object is fetched that a partial clone lacks: no transport at all is allowed.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    # A commit's content is that of its own name.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
}
OWN_SCOPES = (b"local", b"worktree")
_FILE = "file:"
_FILTER = "filter."
_INCLUDE = re.compile(r"include(?:if\..*)?\.path", re.DOTALL)
_MOST_INCLUDED = 50
_SWITCHED_OFF = (
    (re.compile(r"filter\..*\.required", re.DOTALL), "false"),
    (re.compile(r"filter\..*\.[^.]*", re.DOTALL), ""),
    # A driver that fails leaves a conflict; without a command git would not go on.
    (re.compile(r"merge\..*\.driver", re.DOTALL), "false"),
    (re.compile(r"diff\..*\.(?:command|textconv)", re.DOTALL), "false"),
    (re.compile(r"(?:hook\..*\.command|trailer\..*\.(?:cmd|command))", re.DOTALL), "true"),
    (re.compile(r"branch\..*\.mergeoptions", re.DOTALL), ""),
)
"""Settings with a name in them that start programs, or choose how git merges, and what disables each."""


class SafeGit:
    """Git in `directory`, with `patience` seconds for each answer. With `objects`, only the objects of that
    directory are used."""

    _reads_again = False
    """True if the configuration is read before each command, not once."""

    def __init__(self, directory: Path, patience: float = _PATIENCE, objects: Path | None = None) -> None:
        self.directory = directory
        self._patience = patience
        self._errors = ""
        """What git wrote of why it had no answer the last time, or how it was stopped."""
        self._environment = _ENVIRONMENT | ({"GIT_OBJECT_DIRECTORY": str(objects)} if objects else {})

    @property
    def _own_keys(self) -> frozenset[str] | None:
        """The keys that the repository's own configuration sets, in files as well that it would include at
        other times; None where they cannot be read."""
        return self._read_own_keys() if self._reads_again else self._first_own_keys

    @cached_property
    def _first_own_keys(self) -> frozenset[str] | None:
        return self._read_own_keys()

    def _read_own_keys(self) -> frozenset[str] | None:
        answer = self._run(["config", "--show-scope", "--show-origin", "-z", "--list"])
        if answer is None:
            return None
        fields = os.fsdecode(answer).split("\0")
        entries: list[tuple[str, str, str]] = []
        for scope, origin, entry in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            if os.fsencode(scope) in OWN_SCOPES:
                key, _, value = entry.partition("\n")
                entries.append((origin.removeprefix(_FILE), key, value))
        included = self._included(entries)
        return None if included is None else frozenset(key for _, key, _ in entries) | included

    def _included(self, entries: Iterable[tuple[str, str, str]]) -> frozenset[str] | None:
        """The keys in all files that these entries (file, key, value) may include: a condition, such as on
        the branch, may be true only in the middle of a command."""
        pending = [(origin, value) for origin, key, value in entries if _INCLUDE.fullmatch(key)]
        if not pending:
            return frozenset()
        top = self._run(["rev-parse", "--show-toplevel"])
        base = Path(os.fsdecode(top).removesuffix("\n")) if top else self.directory
        seen: set[Path] = set()
        found: set[str] = set()
        while pending:
            origin, value = pending.pop()
            if value.startswith("%("):
                return None
            named = Path(os.path.expanduser(value))  # noqa: PTH111 (text of git's)
            path = Path(os.path.realpath(base / Path(origin).parent / named))
            if path in seen or not os.path.lexists(path):
                continue
            seen.add(path)
            if len(seen) > _MOST_INCLUDED or is_unreadable(path):
                return None
            answer = self._run(["config", "--file", str(path), "--no-includes", "-z", "--list"])
            if answer is None:
                return None
            pairs = [each.partition("\n") for each in os.fsdecode(answer).split("\0") if each]
            found.update(key for key, _, _ in pairs)
            pending += [(str(path), value) for key, _, value in pairs if _INCLUDE.fullmatch(key)]
        return frozenset(found)

    @property
    def has_filters(self) -> bool:
        """True if the repository itself configures filters, or may do so."""
        keys = self._own_keys
        return keys is None or any(key.startswith(_FILTER) for key in keys)

    @property
    def has_merge_drivers(self) -> bool:
        """True if the repository itself configures programs that merge files."""
        return any(key.startswith("merge.") and key.endswith(".driver") for key in self._own_keys or ())

    @property
    def _switched_off(self) -> list[str] | None:
        """Settings that disable the programs which the repository itself configures; None where that is
        impossible."""
        keys = self._own_keys
        if keys is None:
            return None
        found: list[str] = []
        for key in sorted(keys):
            value = next((value for pattern, value in _SWITCHED_OFF if pattern.fullmatch(key)), None)
            if value is None:
                continue
            if "=" in key:
                # Git's command line would treat the text before it as the name.
                return None
            found.append(f"{key}={value}")
        return found

    def _ask(self, *arguments: str, literal: bool = False) -> str | None:
        answer = self._ask_bytes(*arguments, literal=literal)
        return None if answer is None else os.fsdecode(answer)

    def _ask_bytes(
        self,
        *arguments: str,
        literal: bool = False,
        stdin: bytes = b"",
        filters: bool = True,
        also: Collection[int] = (),
    ) -> bytes | None:
        """Return git's answer; without `filters` the question runs none, nor another program."""
        settings = self._switched_off if filters else []
        if settings is None:
            return None
        return self._run(arguments, settings, also, literal=literal, stdin=stdin)

    def _run(
        self,
        arguments: Sequence[str],
        settings: Sequence[str] = (),
        also: Collection[int] = (),
        *,
        literal: bool = False,
        stdin: bytes = b"",
        target: BinaryIO | None = None,
    ) -> bytes | None:
        """Return git's output, where its exit status is 0 or one of `also`."""
        self._errors, errors = "", bytearray()
        if waits_for_configuration(self.directory):
            return None
        environment = dict(self._environment)
        if literal:
            environment["GIT_LITERAL_PATHSPECS"] = "1"
        options = [part for setting in (*_SAFE, *settings) for part in ("-c", setting)]
        try:
            status, answer = run_helper(
                ["git", *options, *arguments],
                seconds=self._patience,
                environ=environment,
                cwd=self.directory,
                request=stdin,
                target=target,
                errors=errors,
            )
        except TimeoutError:
            self._errors = f"it was stopped after {self._patience:g} s"
            return None
        except (OSError, ValueError):
            return None
        if status in (0, *also):
            return answer
        self._errors = os.fsdecode(bytes(errors))
        return None

"""Runs git without anything that a repository's own configuration names.

Invariant: nothing that the configuration names is run (a monitor, hooks, filters, those of submodules,
programs that page, sign, verify or ask); nothing uses the network, no secret is in git's environment, and
git has a limited time for an answer. Where git has no answer, the result is None. The calls block.
"""

import os
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from cogency_tui.child_processes import run_helper

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
    "core.sshCommand=false",
    "core.askPass=false",
    "core.alternateRefsCommand=false",
    "credential.helper=",
    "protocol.allow=never",
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
_NO_SETTING = 1


class SafeGit:
    """Git in `directory`, with `patience` seconds for each answer. With `objects`, only the objects of that
    directory are used."""

    def __init__(self, directory: Path, patience: float = _PATIENCE, objects: Path | None = None) -> None:
        self.directory = directory
        self._patience = patience
        self._environment = _ENVIRONMENT | ({"GIT_OBJECT_DIRECTORY": str(objects)} if objects else {})

    @cached_property
    def _filters(self) -> list[str] | None:
        """Return settings that disable the filters that the repository itself configures; None where that
        is impossible."""
        answer = self._run(
            ["config", "--show-scope", "-z", "--get-regexp", r"^filter\."], also=(_NO_SETTING,)
        )
        if answer is None:
            return None
        fields = answer.split(b"\0")
        found: list[str] = []
        for scope, value in zip(fields[::2], fields[1::2], strict=False):
            name = os.fsdecode(value.partition(b"\n")[0])
            if scope not in OWN_SCOPES:
                continue
            if "=" in name:
                # Git's command line would treat the text before it as the name.
                return None
            found.append(f"{name}={'false' if name.endswith('.required') else ''}")
        return found

    def _ask(self, *arguments: str, literal: bool = False) -> str | None:
        answer = self._ask_bytes(*arguments, literal=literal)
        return None if answer is None else os.fsdecode(answer)

    def _ask_bytes(
        self, *arguments: str, literal: bool = False, stdin: bytes = b"", filters: bool = True
    ) -> bytes | None:
        """Return git's answer; without `filters` the question runs none."""
        settings = self._filters if filters else []
        if settings is None:
            return None
        return self._run(arguments, settings, literal=literal, stdin=stdin)

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
            )
        except (OSError, ValueError):
            return None
        return answer if status in (0, *also) else None

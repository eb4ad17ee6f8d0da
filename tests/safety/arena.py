"""A project with traps around it, and the program in it: a scripted model has the real one do hostile things.

Whatever a test tries, some things are looked at after every run: no traceback, nothing outside the project
was changed, every line of the output is JSON, and nothing in it is anything that a terminal would act on.
"""

import asyncio
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests import forkserver
from tests.peers.chat import ChatPeer
from tests.peers.server import Context, Fault, Reply, Request

ACTED_ON = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal acts on, in text that is on its way there; newlines are ours."""

SECRET = "the-secret-of-another"

PATIENCE = 60.0
"""Seconds that a run may take: whatever hangs, fails."""


def block(*calls: tuple[str, Mapping[str, Any]]) -> str:
    """A batch of calls as a model writes it."""
    return written([{"name": name, "args": args} for name, args in calls])


def written(payload: object) -> str:
    """Some payload between the markers of a batch."""
    return f"<execute>\n{json.dumps(payload)}\n</execute>"


@dataclass(frozen=True)
class Ran:
    """What a run showed, and how it ended."""

    status: int
    stdout: str
    stderr: str

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.split("\n") if line]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind and not event.get("partial")]

    @property
    def results(self) -> list[dict[str, Any]]:
        """The payloads of the results, in the order of the calls."""
        return [event["payload"] for event in self.of("result")]

    @property
    def answer(self) -> str:
        return "".join(event["content"] for event in self.of("respond"))

    @property
    def errors(self) -> str:
        """What the errors say that are no notices."""
        payloads = [event["payload"] for event in self.of("error")]
        return "\n".join(payload["error"] for payload in payloads if not payload.get("notice"))


@dataclass(frozen=True)
class Case:
    """One turn of many: what the model says, how its endpoint misbehaves, and what the person chose."""

    replies: Sequence[str] = ("Hi.",)
    faults: Sequence[Fault | None] = ()
    always: Fault | None = None
    options: Sequence[str] = ()
    token: int = 4096


class CasesPeer(ChatPeer):
    """Answers each case, which is asked for as a model of its name, by itself."""

    def __init__(self, cases: Mapping[str, Case]) -> None:
        super().__init__(self._say)
        self._cases = {name: (case, list(case.faults), list(case.replies)) for name, case in cases.items()}
        self._current = ""

    def refuse(self, request: Request) -> tuple[int, str] | None:
        self._current = str(request.body.get("model", ""))
        self.token = self._cases[self._current][0].token
        return super().refuse(request)

    def next_fault(self) -> Fault:
        case, faults, _replies = self._cases[self._current]
        return (faults.pop(0) if faults else None) or case.always or Fault()

    def _say(self, context: Context) -> str:
        replies = self._cases[self._current][2]
        return replies.pop(0) if len(replies) > 1 else replies[0]


_DRIVER = """
import json, os, sys
from cogency_tui.cli.main import main
from cogency_tui.providers import http_transport
http_transport.FIRST_WAIT = 0.02
for argv, environ in json.loads(sys.argv[1]):
    os.environ.update(environ)
    status = main(argv)
    print(f"=== {status}", flush=True)
    print(f"=== {status}", file=sys.stderr, flush=True)
"""
"""Several runs in one process, with short pauses before another attempt: a start costs more than most of what
is tried."""


class Arena:
    """`project`, with `outside` and `evil` (whose name begins with the project's) beside it, and a home."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home
        self.project = root / "proj"
        self.outside = root / "outside"
        self.evil = root / "proj-evil"
        self.data = root / "data"
        self.config = root / "config" / "config.toml"
        for directory in (self.project, self.outside, self.evil, self.config.parent):
            directory.mkdir()
        for path in (self.outside / "secret.txt", self.evil / "secret.txt", home / ".ssh" / "id_rsa"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{SECRET}\n")
        (self.project / "plain.txt").write_text("plain\n")

    async def converse(
        self,
        replies: Reply | Sequence[str],
        *options: str,
        peer: ChatPeer | None = None,
        settings: str = "",
        environ: Mapping[str, str] | None = None,
        as_json: bool = True,
        forked: bool = True,
    ) -> Ran:
        """One turn of the program in the project, with all permissions that it has without asking; the
        model says `replies`. `settings` are lines of the provider's table."""
        async with peer or ChatPeer(replies, token=4096) as serving:
            self.config.write_text(
                f'[providers.mine]\nbase_url = "{serving.base_url}"\nmodel = "m"\n{settings}\n'
            )
            arguments = ["run", "go", "--provider", "mine", "--permissions", "auto", *options]
            arguments += ["--json"] if as_json else []
            return await self.run(*arguments, environ=environ, forked=forked)

    async def converse_each(
        self, cases: Mapping[str, Case], *, settings: str = "", environ: Mapping[str, str] | None = None
    ) -> dict[str, Ran]:
        """A turn for each case, one after the other in one process; each in a conversation of its own."""
        async with CasesPeer({f"m{number}": case for number, case in enumerate(cases.values())}) as serving:
            self.config.write_text(f'[providers.mine]\nbase_url = "{serving.base_url}"\n{settings}\n')
            runs = [
                [
                    "run",
                    "go",
                    "--provider",
                    "mine",
                    "--model",
                    f"m{number}",
                    "--permissions",
                    "auto",
                    "--json",
                ]
                + [*case.options]
                for number, case in enumerate(cases.values())
            ]
            return dict(zip(cases, await self.run_each(runs, environ=environ), strict=True))

    async def run_each(
        self,
        runs: Sequence[Sequence[str]],
        *,
        environ: Mapping[str, str] | None = None,
        environs: Sequence[Mapping[str, str]] = (),
    ) -> list[Ran]:
        """Run `cogency-tui` with each of these arguments, in one process; what `environs` say is set before each."""
        nothing: Mapping[str, str] = {}
        each = [*zip(runs, environs or [nothing] * len(runs), strict=True)]
        done = await self._checked(
            self._started([sys.executable, "-P", "-c", _DRIVER, json.dumps(each)], environ)
        )
        outs, errs = (
            re.split(r"^=== (\d+)\n", text, flags=re.MULTILINE) for text in (done.stdout, done.stderr)
        )
        assert len(outs) == len(errs) == 2 * len(runs) + 1, done.stderr
        return [
            Ran(int(status), out, err)
            for out, status, err in zip(outs[::2], outs[1::2], errs[::2], strict=False)
        ]

    async def run(
        self, *arguments: str, environ: Mapping[str, str] | None = None, forked: bool = True
    ) -> Ran:
        """Run `cogency-tui`, and look at what must hold whatever it was asked for; a fork of a process that has
        loaded its modules unless the start counts."""
        if forked:
            return await self._checked(self._forked(arguments, environ))
        return await self._checked(self._started(self.command(*arguments), environ))

    async def _checked(self, running: Awaitable[Ran]) -> Ran:
        before = self.surroundings()
        ran = await running
        assert "Traceback" not in ran.stderr, ran.stderr
        assert "never retrieved" not in ran.stderr, ran.stderr
        assert not ACTED_ON.findall(ran.stdout + ran.stderr)
        assert self.surroundings() == before
        return ran

    async def _forked(self, arguments: Sequence[str], environ: Mapping[str, str] | None) -> Ran:
        done = await asyncio.to_thread(
            forkserver.run, arguments, cwd=self.project, environ={**self.environ, **(environ or {})}
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    async def _started(self, command: Sequence[str], environ: Mapping[str, str] | None) -> Ran:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.project,
            env={**self.environ, **(environ or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                stdout, stderr = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Ran(process.returncode or 0, stdout.decode(), stderr.decode())

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "COGENCY_DATA": str(self.data), "COGENCY_CONFIG": str(self.config)}

    def command(self, *arguments: str) -> list[str]:
        """The program as it is installed: nothing in its directory is imported."""
        return [str(Path(sys.executable).with_name("cogency-tui")), *arguments]

    def surroundings(self) -> dict[str, tuple[object, ...]]:
        """Everything outside the project that is not the program's own."""
        return tree(self.outside) | tree(self.evil) | tree(self.home)


def tree(directory: Path) -> dict[str, tuple[object, ...]]:
    """What is below a directory: kind, mode, content and time of each entry."""
    entries: dict[str, tuple[object, ...]] = {}
    for path in [directory, *sorted(directory.rglob("*"))]:
        facts = path.lstat()
        content: object = ""
        if stat.S_ISREG(facts.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(facts.st_mode):
            content = path.readlink()
        entries[str(path)] = (facts.st_mode, facts.st_mtime_ns, content)
    return entries

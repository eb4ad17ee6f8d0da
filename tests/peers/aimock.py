"""`@copilotkit/aimock`, a mock of several vendors' interfaces that we did not write, as a subprocess.

It answers from fixtures: the first one whose words are in the last message of the user. What arrives is in
its journal, brought to one form: `messages` with `role` and `content`, whatever the wire protocol.
"""

import contextlib
import re
import shutil
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx

PACKAGE = "@copilotkit/aimock"
VERSION = "1.43.0"
NODE = (20, 15)
"""The oldest version of Node that it runs on."""

INSTALLING = 60.0
STARTING = 20.0
"""Seconds that each may take."""

_LEASH = "data:text/javascript,process.stdin.on('close', () => process.exit()).resume()"
"""Ends it when its input is closed, as it is at the latest with the process that started it."""

_LISTENING = re.compile(r"listening on (http://\S+)")


@dataclass(frozen=True, slots=True)
class Surface:
    """How it serves one way: over a `socket` or by requests. Where it `remembers` a session's messages,
    its journal has the whole context and not what arrived. `lacks`: what tests may need, and why it is not
    there."""

    socket: bool = False
    remembers: bool = False
    lacks: Mapping[str, str] = field(default_factory=dict[str, str])


_REQUESTS = "aimock spoils requests, not sockets"
_BARE = "aimock's errors over a socket have no headers"
_SILENT = "aimock streams no reasoning here"

SURFACES: Mapping[str, Surface] = {
    "Chat Completions": Surface(),
    "Responses": Surface(),
    "Responses WebSocket": Surface(socket=True, lacks={"retry-after": _BARE, "chaos": _REQUESTS}),
    "Realtime": Surface(
        socket=True,
        remembers=True,
        lacks={
            "usage": "aimock reports 0 tokens here, whatever the fixture says",
            "reasoning": _SILENT,
            "retry-after": _BARE,
            "chaos": _REQUESTS,
        },
    ),
    "Anthropic Messages": Surface(),
    "Gemini": Surface(),
    "Gemini Interactions": Surface(lacks={"reasoning": _SILENT}),
    "Gemini Live": Surface(
        socket=True,
        remembers=True,
        lacks={
            # The vendor's client on `turn_complete`: where it is false, the server waits for more.
            "history": "aimock answers turns with turnComplete false, so that no history can be given",
            "usage": "aimock reports no tokens here",
            "reasoning": _SILENT,
            "retry-after": _BARE,
            "chaos": _REQUESTS,
        },
    ),
}
"""The ways that it serves, and what of each is missing or different from the vendor."""


class Unavailable(Exception):
    """It cannot be run on this machine; the message is why."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """One generation that was asked for, as the journal has it. `socket` tells connections apart: it is
    the key of the upgrade, and empty for a request. `interrupted`: the fixture broke it off."""

    path: str
    socket: str
    status: int
    interrupted: bool
    messages: Sequence[Mapping[str, str]]

    @property
    def asked(self) -> str:
        """The last message of the user."""
        return next(each["content"] for each in reversed(self.messages) if each["role"] == "user")


class Aimock:
    """A running server, at `origin`, that takes `key` and no other."""

    def __init__(self, origin: str, key: str) -> None:
        self.origin = origin
        self._client = httpx.Client(
            base_url=f"{origin}/__aimock",
            headers={"authorization": f"Bearer {key}"},
            trust_env=False,
            timeout=STARTING,
        )

    def script(self, *fixtures: Mapping[str, Any]) -> None:
        """Answer from these and nothing else, with an empty journal."""
        self._client.post("/reset").raise_for_status()
        added = self._client.post("/fixtures", json={"fixtures": fixtures})
        assert added.is_success, added.text

    def journal(self) -> list[Arrived]:
        """What has arrived since the script was given, in order."""
        entries = cast("list[dict[str, Any]]", self._client.get("/journal").raise_for_status().json())
        return [_arrived(entry) for entry in entries]

    def close(self) -> None:
        """Give the connection to it up."""
        self._client.close()


def says(asked: str, text: str, **options: Any) -> dict[str, Any]:
    """A fixture that answers with `text` where the last message of the user contains `asked`. Options are
    its own: `chunkSize` in characters, `latency` in milliseconds before each chunk, `truncateAfterChunks`
    and `disconnectAfterMs` to break it off; `usage` is part of the answer, `first` lets it answer only once.
    """
    response = {"content": text, "usage": options.pop("usage", None)}
    return _fixture(asked, {name: value for name, value in response.items() if value is not None}, options)


def fails(asked: str, status: int, error: Mapping[str, str], **options: Any) -> dict[str, Any]:
    """A fixture that answers with an error, `retryAfter` in seconds where the status is 429."""
    response: dict[str, Any] = {"error": error, "status": status}
    if "retryAfter" in options:
        response["retryAfter"] = options.pop("retryAfter")
    return _fixture(asked, response, options)


def install(directory: Path) -> Path:
    """Install it below `directory`; the script that starts it.

    Raises:
        Unavailable: Node or npm is missing or too old, or nothing can be had from the registry.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise Unavailable("Node or npm is missing")
    shown = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=INSTALLING)
    found = tuple(int(number) for number in re.findall(r"\d+", shown.stdout)[:2])
    if found < NODE:
        raise Unavailable(f"Node {shown.stdout.strip()} is older than {NODE[0]}.{NODE[1]}")
    flags = [
        "--no-audit",
        "--no-fund",
        "--no-save",
        "--no-package-lock",
        "--ignore-scripts",
        "--fetch-retries=1",
    ]
    command = [npm, "install", *flags, "--prefer-offline", "--prefix", str(directory), f"{PACKAGE}@{VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLING, cwd=directory)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{PACKAGE} was not installed within {INSTALLING:g} s") from None
    script = directory / "node_modules" / PACKAGE / "dist" / "cli.js"
    if done.returncode or not script.is_file():
        said = next((line for line in done.stderr.splitlines() if "error" in line), "npm gives no reason")
        raise Unavailable(f"{PACKAGE} cannot be installed: {said}")
    return script


@contextlib.contextmanager
def running(script: Path, directory: Path, key: str, path: str) -> Generator[Aimock]:
    """A server on a free port, stopped at the end. `directory` gets its log, `path` is that of programs."""
    empty = directory / "fixtures"
    empty.mkdir()
    log = directory / "log"
    command = ["node", "--import", _LEASH, str(script), "--port", "0", "--journal-max", "0"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--fixtures", str(empty)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env={"PATH": path, "AIMOCK_API_KEYS": key},
        )
    with process:
        server = Aimock(_origin(process, log), key)
        with contextlib.closing(server):
            yield server


def _origin(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """The address that it says it listens at."""
    until = time.monotonic() + STARTING
    while time.monotonic() < until and process.poll() is None:
        if found := _LISTENING.search(log.read_text()):
            return found[1]
        time.sleep(0.01)
    raise RuntimeError(f"aimock did not start:\n{log.read_text()}")


def _fixture(asked: str, response: Mapping[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    match: dict[str, Any] = {"userMessage": asked}
    if options.pop("first", False):
        match["sequenceIndex"] = 0
    return {"match": match, "response": response, **options}


def _arrived(entry: Mapping[str, Any]) -> Arrived:
    response = cast("dict[str, Any]", entry["response"])
    return Arrived(
        entry["path"],
        entry["headers"].get("sec-websocket-key", ""),
        response["status"],
        response.get("interrupted", False),
        [{"role": each["role"], "content": _text(each["content"])} for each in entry["body"]["messages"]],
    )


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)

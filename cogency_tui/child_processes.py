"""Starts the program's child processes.

Invariant: no environment made here has a key of ours, or a variable that looks like a secret; git takes no
directory for a bare repository by itself in it. An interpreter started here imports this very package and
nothing from its start directory, whatever `PYTHON…` variables say. A program that is looked up by its name
is found where no command could have put it (see `search_paths`).

Besides this module, only the supervision of commands (`tools.shell.strays`, `tools.supervision`) and the
host of an MCP server (`tools.mcp.stdio`) start processes; a test checks every call that could. Whatever is
started here, and whatever that leaves behind, is in our session or bears `MARK`; nothing that a command
leaves behind does.
"""

import asyncio
import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from cogency_tui.redaction import looks_like_key
from cogency_tui.search_paths import require_program, with_own_search_paths

_SECRET_NAME = re.compile(
    r"(^|_)(KEY|KEYS|APIKEY|TOKEN|TOKENS|SECRET|SECRETS|PAT|PWD|PASS|CREDENTIAL|CREDENTIALS|AUTH)$"
    r"|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET_|_SECRET|TOKEN_|CONNECTION_STRING",
    re.IGNORECASE,
)
MARK = ("COGENCY_STARTED", secrets.token_hex(8))
"""A variable with its value in this process, in the environment of everything that is started here."""

_ORDINARY_NAMES = frozenset({"PWD", "OLDPWD"})
_HELPER_NAMES = (
    *("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
)
"""The variables that a helper needs."""

_PACKAGE = str(Path(__file__).parents[1])
_PREAMBLE = """
import sys
places = [index for index, path in enumerate(sys.path) if path.endswith("-packages")]
sys.path.insert(min(places, default=len(sys.path)), sys.argv.pop(1))
"""
"""Imports this very package, even if another version of it is installed."""

_keys: set[str] = set()
"""The known variables of our own environment that hold keys."""

_starting = 0

_GIT_SETTING = ("safe.bareRepository", "explicit")
_MOST_SETTINGS = 1_000


def interpreter(code: str, *arguments: str) -> list[str]:
    """The command line of our own interpreter that runs `code`, which finds `arguments` in `sys.argv[1:]`."""
    return [sys.executable, "-P", "-E", "-W", "ignore", "-c", f"{_PREAMBLE}{code}\n", _PACKAGE, *arguments]


def keep_from_children(names: Collection[str]) -> None:
    """Note variables that hold keys: no process started from now on receives them."""
    _keys.update(names)


def without_secrets(environ: Mapping[str, str], secrets: Collection[str] = ()) -> dict[str, str]:
    """The environment of a program of the user's: `environ` without the variables named in `secrets` or
    noted before, those that hold the same values, and those that look like a secret by their name or value.
    """
    secrets = {*secrets, *_keys}
    values = {environ[name] for name in secrets if environ.get(name)}
    kept = {
        name: value
        for name, value in environ.items()
        if name in _ORDINARY_NAMES
        or not (name in secrets or value in values or _SECRET_NAME.search(name) or looks_like_key(value))
    }
    return _with_git_setting(kept)


@contextmanager
def new_session_starting() -> Generator[None]:
    """Note that a process may have left our session and not have its own environment yet."""
    global _starting
    _starting += 1
    try:
        yield
    finally:
        _starting -= 1


def is_session_starting() -> bool:
    """Whether a process may be between its session and its environment."""
    return _starting > 0


def helper_environment(*also: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a helper, a program that only answers us: what every program needs, and the
    variables in `also`.
    """
    return _own_environment({name: environ[name] for name in (*_HELPER_NAMES, *also) if name in environ})


def run_helper(
    command: Sequence[str],
    *,
    seconds: float,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    request: bytes = b"",
    target: BinaryIO | None = None,
) -> tuple[int, bytes]:
    """The exit status of a helper, and its output, unless that goes to `target`. Its environment is that of
    a helper, overridden by `environ`; its name is looked up on our search path. Blocks.

    Raises:
        OSError, ValueError: it could not be started.
        TimeoutError: it did not end within `seconds`.
    """
    try:
        ended = subprocess.run(
            [require_program(command[0]), *command[1:]],
            cwd=cwd,
            env=helper_environment() | dict(environ),
            input=request,
            stdout=target or subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise TimeoutError from exc
    return ended.returncode, ended.stdout or b""


async def start_interpreter(
    code: str, *arguments: str, also: Sequence[str] = (), errors: bool = False
) -> asyncio.subprocess.Process:
    """Start our own interpreter as a helper, with pipes on its input and output and, with `errors`, on
    stderr.

    Raises:
        OSError: it could not be started.
    """
    return await asyncio.create_subprocess_exec(
        *interpreter(code, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE if errors else asyncio.subprocess.DEVNULL,
        env=helper_environment(*also),
        # Ctrl+C in a terminal goes to the whole group; this program ends the work itself.
        process_group=0,
    )


async def ask_interpreter(
    code: str, *arguments: str, request: bytes, seconds: float, also: Sequence[str] = ()
) -> tuple[int, bytes, str]:
    """Have one request answered by our own interpreter as a helper. Return its status, its answer, and the
    last line of its errors. When this returns or raises, the helper has ended.

    Raises:
        OSError: it could not be started.
        TimeoutError: it took longer than `seconds`.
    """
    process = await start_interpreter(code, *arguments, also=also, errors=True)
    try:
        async with asyncio.timeout(seconds):
            output, errors = await process.communicate(request)
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    last = errors.decode(errors="replace").strip().rpartition("\n")[2]
    return process.returncode or 0, output, last


async def start_in_background(
    command: Sequence[str], environ: Mapping[str, str], *, takes_input: bool = False
) -> asyncio.subprocess.Process:
    """Start a program of the user's desktop, away from the terminal.

    Raises:
        OSError: it could not be started.
    """
    quiet = asyncio.subprocess.DEVNULL
    with new_session_starting():
        return await asyncio.create_subprocess_exec(
            require_program(command[0], environ),
            *command[1:],
            stdin=asyncio.subprocess.PIPE if takes_input else quiet,
            # Some stay in the background: they must not hold our pipes open.
            stdout=quiet,
            stderr=quiet,
            env=_own_environment(environ),
            start_new_session=True,
        )


async def start_in_terminal(command: Sequence[str], environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start a program that uses the user's terminal.

    Raises:
        OSError: it could not be started.
    """
    program = require_program(command[0], environ)
    return await asyncio.create_subprocess_exec(program, *command[1:], env=_own_environment(environ))


async def start_with_keys(
    code: str, *arguments: str, environ: Mapping[str, str], keys: Mapping[str, str]
) -> asyncio.subprocess.Process:
    """Start our own interpreter in the user's environment, with pipes; `code` receives `keys` by
    `take_keys`, and no other process ever sees them.

    Raises:
        OSError: it could not be started.
    """
    source, sink = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *interpreter(code, str(source), *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=without_secrets(environ, keys.keys()),
            pass_fds=(source,),
        )
    except BaseException:
        os.close(sink)
        raise
    finally:
        os.close(source)
    await asyncio.to_thread(_hand_over, sink, json.dumps(dict(keys)).encode())
    return process


def take_keys() -> None:
    """Put the keys from `start_with_keys` into this process's `os.environ`, not into the environment that
    the system shows.
    """
    with os.fdopen(int(sys.argv.pop(1)), "rb") as source:
        os.environ.update(json.loads(source.read()))


def _own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without secrets, with our mark, and with our search paths."""
    return with_own_search_paths(without_secrets(environ)) | dict([MARK])


def _hand_over(sink: int, data: bytes) -> None:
    # It may have ended already.
    with suppress(BrokenPipeError), os.fdopen(sink, "wb") as pipe:
        pipe.write(data)


def _with_git_setting(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with our git setting after those that the user sets by variables."""
    numbered = re.compile(r"GIT_CONFIG_(COUNT|(KEY|VALUE)_\d+)")
    found = {name: value for name, value in environ.items() if not numbered.fullmatch(name)}
    given = environ.get("GIT_CONFIG_COUNT", "")
    count = min(int(given), _MOST_SETTINGS) if given.isascii() and given.isdecimal() else 0
    pairs = [(environ.get(f"GIT_CONFIG_KEY_{n}"), environ.get(f"GIT_CONFIG_VALUE_{n}")) for n in range(count)]
    # A value that was a secret has been removed: git refuses to run with half of a pair.
    whole = [(key, value) for key, value in pairs if key is not None and value is not None]
    settings = [*(pair for pair in whole if pair != _GIT_SETTING), _GIT_SETTING]
    for number, (key, value) in enumerate(settings):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = value
    return found | {"GIT_CONFIG_COUNT": str(len(settings))}

"""The sandbox of commands, by `bwrap`: no network, and only the project is writable.

Invariant: a sandbox is used only after a command has run in one here; an obstacle is reported.

In it the system is read-only; /tmp is private and lasts as long as the sandbox object; /run, where other
programs listen, is empty; places of secrets and our own directories are hidden. In the project's `.git` the
hooks and the configuration are read-only: git runs the programs that they name, outside the sandbox, for
the user. Commits need neither. So is `.cogency`. Other processes are invisible. The repository of a linked
worktree is outside the project, where nothing is writable, so that commits to it fail: any project could
claim that its repository is wherever it wants to write.
"""

import asyncio
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cogency_tui.child_processes import helper_environment
from cogency_tui.errors import ToolError
from cogency_tui.safe_text import one_line
from cogency_tui.search_paths import find_program
from cogency_tui.temporary_files import make_directory
from cogency_tui.tools.shell.command_execution import run_command
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.paths import Workspace

Choice = Literal["off", "auto", "require"]

_HIDDEN = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".terraform.d", ".password-store"),
    *(
        ".config/gcloud",
        ".config/gh",
        ".config/op",
        ".config/doctl",
        ".local/share/keyrings",
        ".claude",
        ".codex",
    ),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".netrc", ".git-credentials", ".config/git/credentials", ".npmrc", ".pypirc", ".pgpass", ".my.cnf"),
    *(".vault-token", ".cargo/credentials", ".cargo/credentials.toml"),
    *(".bash_history", ".zsh_history", ".python_history"),
)
"""Files with keys, cookies and typed text, in the home directory."""

_READ_ONLY = (".git/hooks", ".git/config", ".git/config.worktree", ".cogency")
"""Files of the project that run programs for the user."""

_CONNECTIONS = (
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"),
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST"),
)
"""Variables that name programs outside, which would do there what they are asked to."""

_INSIDE = {"TMPDIR": "/tmp", "XDG_CACHE_HOME": "/tmp/.cache"}
_RUN = (Path("/run"), Path("/var/run"))
_SETTINGS = tuple(Path("/proc", name) for name in ("sys", "irq", "bus", "fs", "acpi", "scsi"))
_TRIGGERS = (Path("/proc/sysrq-trigger"),)
_NULL = Path("/dev/null")
_TRIAL_SECONDS = 20.0


class Sandbox:
    """The sandbox that commands are started in, if the user chose so: `auto` where it works, `require` or
    none.

    `hidden` are further files and directories that no command may see; `bwrap` is the program, by default
    the one on the search path.
    """

    def __init__(
        self, choice: Choice = "off", hidden: Sequence[Path] = (), *, bwrap: str | None = None
    ) -> None:
        self._choice: Choice = choice
        self._hidden = tuple(hidden)
        self._given = bwrap
        self._program = ""
        self._reason = "switched off" if choice == "off" else "not tried yet"
        self._tried = choice == "off"
        self._trying = asyncio.Lock()
        self._temporary: Path | None = None

    @property
    def state(self) -> str:
        """Text for the status bar: `sandboxed`, or `not sandboxed: ` and the reason."""
        return f"not sandboxed: {self._reason}" if self._reason else "sandboxed"

    async def probe(self, workspace: Workspace) -> bool:
        """Return whether commands run in a sandbox; tried once, by running one."""
        async with self._trying:
            if not self._tried:
                self._reason = await self._problem(workspace)
                self._tried = True
                if self._reason:
                    await self.close()
        return not self._reason

    async def wrapper(self, workspace: Workspace, cwd: Path) -> list[str]:
        """Return the command line that starts a command in `cwd`; empty without a sandbox.

        Raises:
            ToolError: there is no sandbox, and the user requires one.
        """
        if await self.probe(workspace):
            return await in_thread(self._command_line, workspace, cwd)
        if self._choice == "require":
            why = f"Commands may only run in a sandbox, and there is none here: {self._reason}."
            raise ToolError(
                why,
                'The user can install bubblewrap, or set sandbox = "auto" in the configuration.',
                brief=f'{why} Install bubblewrap, or set sandbox = "auto" in the configuration.',
            )
        return []

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a command that has a `wrapper`."""
        return {name: value for name, value in environ.items() if name not in _CONNECTIONS} | _INSIDE

    @property
    def temporary(self) -> tuple[Path, Path]:
        """Return the directory of a command's temporary files, outside and as the command sees it, as of
        its `wrapper`."""
        if self._temporary is None:
            there = Path(tempfile.gettempdir())
            return there, there
        return self._temporary, Path("/tmp")

    async def close(self) -> None:
        """Remove the private temporary directory, when no command runs any more."""
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            await in_thread(shutil.rmtree, temporary, ignore_errors=True)

    async def _problem(self, workspace: Workspace) -> str:
        """Explain why there is no sandbox; empty where a command ran in one."""
        self._program = self._given or await in_thread(find_program, "bwrap") or ""
        if not self._program:
            return "bwrap is not installed"
        try:
            wrapper = await in_thread(self._command_line, workspace, workspace.root)
            environ = self.environment(helper_environment())
            ended = await run_command(
                "exit 0", workspace.root, environ, _TRIAL_SECONDS, lambda _text: None, wrapper=wrapper
            )
        except OSError as error:
            return f"bwrap could not be started: {error.strerror}"
        if ended.started and ended.status == 0:
            return ""
        message = ended.output.strip().partition("\n")[0]
        return one_line(message) or ("it took too long" if ended.timed_out else "bwrap failed")

    def _command_line(self, workspace: Workspace, cwd: Path) -> list[str]:
        # A clean-up of old temporary files may have removed ours.
        if self._temporary is None or not _kind(self._temporary):
            self._temporary = make_directory("sandbox")
        mounts = _mounts(workspace, self._temporary, self._hidden)
        return [
            self._program,
            # None of root's capabilities: it could undo all of this.
            *("--unshare-all", "--die-with-parent", "--cap-drop", "ALL"),
            *(part for mount in mounts for part in mount.arguments),
            *("--chdir", str(cwd), "--"),
        ]


@dataclass(frozen=True, slots=True)
class _Mount:
    """A mount of the sandbox: `source` of the system, or what `option` creates."""

    target: Path
    option: Literal["--bind", "--ro-bind", "--tmpfs", "--dev", "--proc"]
    source: Path | None = None

    @property
    def arguments(self) -> list[str]:
        return [self.option, *([str(self.source)] if self.source else []), str(self.target)]


def _mounts(workspace: Workspace, temporary: Path, hidden: Sequence[Path]) -> list[_Mount]:
    """Return the mounts. A deeper one comes later: it is inside those mounted before it."""
    roots = (workspace.root, *workspace.added)
    replaced = (
        Path("/tmp"),
        *(path for path in _RUN if _kind(path) == "directory" and not path.is_symlink()),
    )

    def seen(path: Path) -> bool:
        return _within(path, roots) or not _within(path, replaced)

    mounts = [
        _Mount(Path("/"), "--ro-bind", Path("/")),
        _Mount(Path("/dev"), "--dev"),
        _Mount(Path("/proc"), "--proc"),
        # For root, who owns the files in them, even without capabilities.
        *(_Mount(path, "--ro-bind", path) for path in _SETTINGS if _kind(path)),
        *(_Mount(path, "--ro-bind", _NULL) for path in _TRIGGERS if _kind(path)),
        _Mount(replaced[0], "--bind", temporary),
        *(_Mount(path, "--tmpfs") for path in replaced[1:]),
        # The supervisor is inside, and this program may be installed where the sandbox has something else.
        *(_Mount(path, "--ro-bind", path) for path in _ours() if not seen(path)),
        *(_Mount(root, "--bind", root) for root in roots),
    ]
    for root in roots:
        git = root / ".git"
        if _kind(git) == "directory" and not git.is_symlink():
            # A separate mount: otherwise it could be moved away, with the read-only files in it.
            mounts.append(_Mount(git, "--bind", git))
        mounts += [_Mount(path, "--ro-bind", path) for path in _existing(root, _READ_ONLY)]
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 (Path.home raises where there is none)
    agent = [Path(socket)] if (socket := os.environ.get("SSH_AUTH_SOCK")) else []
    for path in dict.fromkeys([*_existing(home, _HIDDEN), *map(_resolved, (*agent, *hidden))]):
        kind = _kind(path)
        if kind == "directory" and seen(path):
            mounts.append(_Mount(path, "--tmpfs"))
        elif kind and seen(path):
            mounts.append(_Mount(path, "--ro-bind", _NULL))
    return sorted(mounts, key=lambda mount: len(mount.target.parts))


def _ours() -> set[Path]:
    """Return the directories of the interpreter and of this package."""
    return {*map(_resolved, (Path(sys.prefix), Path(sys.base_prefix))), _resolved(Path(__file__)).parents[1]}


def _existing(directory: Path, names: Iterable[str]) -> list[Path]:
    return [_resolved(directory / name) for name in names if _kind(directory / name)]


def _kind(path: Path) -> Literal["directory", "other", ""]:
    """Return the kind of a path; empty where it is invisible to us, and so to every command."""
    try:
        return "directory" if stat.S_ISDIR(path.stat().st_mode) else "other"
    except OSError:
        return ""


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _within(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)

"""What the header says about the project's repository: read from files, or asked of git in the background."""

import asyncio
from contextlib import suppress
from pathlib import Path

_PATIENCE = 10.0


def read_branch(project: Path) -> str:
    """The branch, or the start of the commit, that is checked out in `project`; empty outside git."""
    for directory in (project, *project.parents):
        git = directory / ".git"
        try:
            if git.is_file():
                git = directory / git.read_text("utf-8").removeprefix("gitdir:").strip()
            head = (git / "HEAD").read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            continue
        prefix = "ref: refs/heads/"
        return head.removeprefix(prefix) if head.startswith(prefix) else head[:8]
    return ""


async def is_dirty(project: Path) -> bool:
    """Whether git knows of changes that are not committed; False where there is no git to ask."""
    command = (
        "git",
        "--no-optional-locks",
        "-C",
        str(project),
        "status",
        "--porcelain",
        "--untracked-files=no",
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(_PATIENCE):
            output, _errors = await process.communicate()
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return bool(output.strip())

"""Language servers from npm, installed for the run."""

import shutil
import subprocess
from pathlib import Path

PACKAGES = ("typescript-language-server@5.3.0", "typescript@5.9.3")
INSTALLING = 200.0
_FLAGS = (
    "--no-audit",
    "--no-fund",
    "--no-save",
    "--no-package-lock",
    "--ignore-scripts",
    "--fetch-retries=1",
)


class Unavailable(Exception):
    """They cannot be installed; the text gives the reason."""


def install(directory: Path) -> Path:
    """Install them below `directory`; the directory of their programs.

    Raises:
        Unavailable: npm is missing, or nothing can be had from the registry.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is missing")
    command = [npm, "install", *_FLAGS, "--prefer-offline", "--prefix", str(directory), *PACKAGES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLING, cwd=directory)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"they were not installed within {INSTALLING:g} s") from None
    programs = directory / "node_modules" / ".bin"
    if done.returncode or not (programs / "typescript-language-server").exists():
        said = next((line for line in done.stderr.splitlines() if "error" in line), "npm gives no reason")
        raise Unavailable(f"they cannot be installed: {said}")
    return programs

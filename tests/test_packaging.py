"""What is built is what is checked out: the wheel and the sdist, made and run."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests import ROOT

PACKAGE = ROOT / "cogency_tui"

pytestmark = pytest.mark.xdist_group("packaging")


BUILD = """
import os, sys, tarfile
from hatchling.build import build_sdist, build_wheel

out = sys.argv[1]
sdist = os.path.join(out, build_sdist(out))
with tarfile.open(sdist) as archive:
    archive.extractall(os.path.join(out, "sources"), filter="data")
os.chdir(os.path.join(out, "sources", os.path.basename(sdist).removesuffix(".tar.gz")))
build_wheel(out)
"""
"""What a frontend has the build backend do, in one process."""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both, the wheel built from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-c", BUILD, str(out)], cwd=ROOT, check=True, capture_output=True)
    return out


def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.mark.exhaustive
def test_the_wheel_has_every_file_of_the_package(built: Path) -> None:
    with zipfile.ZipFile(wheel(built)) as archive:
        names = set(archive.namelist())
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.relative_to(ROOT).as_posix() for path in files} <= names
    assert {f"cogency_tui/themes/{path.name}" for path in (ROOT / "themes").glob("*.toml")} <= names
    assert "cogency_tui/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "screenshots/"))]


@pytest.mark.exhaustive
def test_the_wheel_stays_small(built: Path) -> None:
    assert wheel(built).stat().st_size < 5 << 19


@pytest.mark.exhaustive
def test_the_sdist_has_what_its_tests_need(built: Path) -> None:
    (found,) = built.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", ".ci/run", "tests/conftest.py"} <= names


@pytest.mark.exhaustive
def test_what_the_wheel_unpacks_to_answers(built: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    with zipfile.ZipFile(wheel(built)) as archive:
        archive.extractall(library)
    (tmp_path / "README.md").write_text("# Title\n")
    environ = {**os.environ, "PYTHONPATH": str(library)}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    assert str(library) in run("-c", "import cogency_tui; print(cogency_tui.__file__)")
    assert "`README.md` has 1 line" in run("-m", "cogency_tui", "run", "explain README.md")

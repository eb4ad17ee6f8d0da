"""A hostile project does not have a language server tell the model of files outside of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.tools.language_servers import python_reach
from cogency_tui.tools.language_servers.python_reach import PythonReach, most_dots
from cogency_tui.tools.language_servers.servers import LanguageServers
from cogency_tui.workspace.paths import Workspace

BIN = Path(sys.executable).parent


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "secret/private").mkdir(parents=True)
    (tmp_path / "secret/private/creds.py").write_text("DB_PASSWORD = 'hunter2'\n")
    root = tmp_path / "shop"
    (root / "app/web").mkdir(parents=True)
    (root / "app/web/views.py").write_text("from ..models import Item\nfrom ... import top\n")
    (root / "app/models.py").write_text('"""Made from ... to import it."""\nclass Item: ...\n')
    (root / "app/__init__.py").write_text("from .. import top\n")
    (root / "top.py").write_text("from . import app\n# from ../docs\n")
    (root / "pyproject.toml").write_text(
        '[tool.pyright]\ninclude = ["app"]\nvenvPath = "."\nvenv = ".venv"\nexecutionEnvironments = [{ root = "app" }]\n'
    )
    packages = root / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (packages / "own.pth").write_text(f"{root}/app\nimport os; print(1)\n")
    (root / "data").symlink_to("app")
    return root


async def is_used(root: Path) -> tuple[bool, list[str]]:
    """Whether basedpyright would be used on a file of a project, and the notices."""
    environ = dict(os.environ) | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    environ.pop("VIRTUAL_ENV", None)
    project = Workspace(root).root
    servers = LanguageServers(project, environ, {}, dict, lambda _name: None)
    found = {server.about.name for server, _ in await servers.of(project / "top.py")}
    (listed,) = [each for each in await servers.listed() if each.name == "basedpyright"]
    assert bool(listed.asks) != ("basedpyright" in found)
    return "basedpyright" in found, servers.new_notices()


async def test_a_type_checker_starts_by_itself_in_an_ordinary_project(shop: Path) -> None:
    assert await is_used(shop) == (True, [])


def leads_out(shop: Path, way: str) -> None:
    """Have the project lead a type checker to the directory beside it."""
    secret = shop.parent / "secret"
    match way:
        case "a link":
            (shop / "private").symlink_to(secret / "private")
        case "a link to a file":
            (shop / "app/creds.py").symlink_to(secret / "private/creds.py")
        case "a link to where nothing is searched":
            (shop / ".hidden").mkdir()
            (shop / "hidden").symlink_to(".hidden")
        case "settings":
            (shop / "pyrightconfig.json").write_text(
                f'{{"extraPaths": ["{secret}"], /* x */ "venv": "v"}} // y'
            )
        case "settings of the project" | "settings that climb" | "settings of an environment":
            value = {
                "settings of the project": f'stubPath = "{secret}"',
                "settings that climb": 'venvPath = "../x"',
            }
            text = value.get(way, 'executionEnvironments = [{ root = "app", extraPaths = ["../../secret"] }]')
            (shop / "pyproject.toml").write_text(f"[tool.basedpyright]\n{text}\n")
        case "settings that extend others":
            (shop / "pyrightconfig.json").write_text('{"extends": "base.json"}')
        case "settings that cannot be read":
            (shop / "pyrightconfig.json").write_text('{"extraPaths": ["x"')
        case "an import from above":
            (shop / "app/models.py").write_text(
                "x = 1; from \\\n. . .secret.private.creds import DB_PASSWORD\n"
            )
        case "an import from above through a link":
            (shop / "data").unlink()
            (shop / "data").symlink_to("app/web")
            (shop / "app/web/views.py").write_text("from ...secret import private\n")
        case "a path file":
            (shop / ".venv/lib/python3.11/site-packages/evil.pth").write_text(f"{secret}\n")
        case "a recorded environment":
            (shop / ".venv/lib/python3.11/site-packages/x.py").touch()
            subprocess.run(["git", "init", "-q", str(shop)], check=True)
            subprocess.run(["git", "add", "-A"], cwd=shop, check=True)
        case _:
            packages = shop / ".venv/lib/python3.11/site-packages"
            (packages / "own.pth").unlink()
            packages.rmdir()
            packages.symlink_to(secret)


WAYS = (
    *("a link", "a link to a file", "a link to where nothing is searched", "settings"),
    *("settings of the project", "settings that climb", "settings of an environment"),
    *("settings that extend others", "settings that cannot be read", "an import from above"),
    *("an import from above through a link", "a path file", "a recorded environment", "linked packages"),
)


@pytest.mark.parametrize("way", WAYS)
async def test_a_type_checker_that_a_project_leads_outside_asks_first(shop: Path, way: str) -> None:
    leads_out(shop, way)
    used, notices = await is_used(shop)
    assert not used
    assert any("read files outside the project" in each for each in notices)


async def test_what_an_edit_adds_counts_at_once(shop: Path) -> None:
    reach = PythonReach(shop)
    assert reach.outside(shop) == ""
    (shop / "app/web/views.py").write_text("from ....secret.private.creds import DB_PASSWORD\n")
    assert "app/web/views.py imports from above it" in reach.outside(shop)


def test_a_project_that_is_too_large_to_search_asks(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_reach, "MOST_ENTRIES", 3)
    assert (
        PythonReach(shop).outside(shop)
        == "may read files outside the project (it has too many files to search)"
    )


@pytest.mark.parametrize(
    ("text", "dots"),
    [
        ("from .a import b", 0),
        ("from ..a import b", 2),
        ("if x:\n\tfrom\\\n  ...\\\n.a.b import(c)", 4),
        ("from ...\fimport b", 3),
        ("from .. a.ü import*", 2),
        ("copied from ../x", 0),
        ("all from ... to the end", 0),
        ("from ..a.from.b import c", 2),
        (f"from ..{'a' * 2000} import b", 2),
    ],
)
def test_imports_from_above_are_found_however_they_are_written(text: str, dots: int) -> None:
    assert most_dots(text) == dots

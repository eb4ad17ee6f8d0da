"""Language servers from the package registries, and what a hostile project does to them."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools.base import ToolContext
from cogency_tui.tools.language_servers import client
from cogency_tui.tools.language_servers.client import EditedFile, Problem, Span
from cogency_tui.tools.language_servers.server import Unavailable
from cogency_tui.tools.language_servers.symbol_tool import Symbol
from cogency_tui.tools.registry import Registry
from cogency_tui.workspace.paths import Workspace
from tests.peers import node_servers
from tests.tools.language_servers.conftest import Bench

pytestmark = pytest.mark.xdist_group("language-servers")

BIN = Path(sys.executable).parent
"""basedpyright, ruff and clangd come with the packages for development."""


@pytest.fixture(scope="module")
def node_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return node_servers.install(tmp_path_factory.mktemp("node-servers"))
    except node_servers.Unavailable as exc:
        pytest.skip(str(exc))


@pytest.fixture
def real(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The built-in table, with the programs of this environment."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    bench.tables = {}
    bench.environ = dict(os.environ) | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    return bench


async def problems(bench: Bench, name: str, *texts: str, server: str) -> list[list[Problem]]:
    """The problems of each text of a file."""
    path = bench.put(name, texts[0])
    found = {each.about.name: (each, language) for each, language in await bench.servers.of(path)}
    one, language = found[server]
    answers: list[list[Problem]] = []
    for text in texts:
        answer = await one.ask(
            lambda client, seconds, text=text: client.problems(path, language, text, seconds)
        )
        answers.append([*answer])
    return answers


def places(problems: list[Problem]) -> list[tuple[int, str, str]]:
    return [(one.line, one.severity, one.rule) for one in problems]


async def test_basedpyright_types(real: Bench) -> None:
    real.put("b.py", "def f(a: int) -> int:\n    return a\n")
    before, after = await problems(
        real, "a.py", "import b\nb.f(1)\n", "import b\n\nb.f('x')\n", server="basedpyright"
    )
    assert before == []
    assert places(after) == [(3, "error", "reportArgumentType")]
    assert after[0].message.startswith("Argument of type \"Literal['x']\" cannot be assigned")


@pytest.mark.parametrize("allowed", [None, True])
async def test_basedpyright_finds_the_modules_of_a_src_layout(real: Bench, allowed: bool | None) -> None:
    real.decided = allowed
    real.put("pyproject.toml", "[project]\nname = 'thing'\n")
    real.put("src/thing/__init__.py", "def f(a: int) -> int:\n    return a\n")
    (found,) = await problems(
        real, "tests/test_f.py", "import thing\n\nthing.f('x')\n", server="basedpyright"
    )
    assert places(found) == [(3, "error", "reportArgumentType")]


async def test_ruff_lint(real: Bench) -> None:
    before, after = await problems(real, "a.py", "x = 1\n", "x = y\n", server="ruff")
    assert before == []
    assert [rule for _line, _severity, rule in places(after)] == ["F821"]


async def test_a_name_that_the_scope_has_is_no_new_name(real: Bench) -> None:
    text = """import re as regex


def one(two: int) -> int:
    three = two
    return three


def four() -> None: ...


class Five:
    six = 1

    def seven(self) -> None: ...
"""
    real.put("a.py", text)
    real.put("b.py", "from a import one\n\none(1)\n")
    registry = Registry([Symbol(lambda: real.servers, lambda: True)])
    context = ToolContext(Workspace(real.root))

    async def rename(file: str, line: int, name: str, new_name: str) -> str:
        args = {"action": "rename", "file": file, "line": line, "name": name, "new_name": new_name}
        return (await registry.bind("symbol", args, context).plan()).summary

    for file, line, name, taken, where in (
        ("a.py", 4, "one", "four", 9),
        ("b.py", 3, "one", "four", 9),
        ("b.py", 3, "one", "regex", 1),
        ("a.py", 5, "three", "two", 4),
        ("a.py", 13, "six", "seven", 15),
    ):
        with pytest.raises(ToolError, match=rf"{taken} is defined already \(a\.py:{where}\)"):
            await rename(file, line, name, taken)
    assert await rename("b.py", 3, "one", "seven") == "Rename one to seven in 2 files"
    assert await rename("a.py", 13, "six", "four") == "Rename six to four in 1 file"


NEW = """from __future__ import annotations


def check(values: list[int]) -> str:
    return values


check('abc')
"""


async def change(bench: Bench, name: str, old: str | None, new: str) -> dict[str, list[list[str]]]:
    """The rules of the problems that basedpyright finds before and after an edit."""
    path = bench.put(name, new)
    found = {each.about.name: (each, language) for each, language in await bench.servers.of(path)}
    server, language = found["basedpyright"]
    edits = [EditedFile(path, language, old, new)]
    analysis = await server.ask(lambda client, seconds: client.analyze(edits, seconds))
    return {
        file.name: [[one.rule for one in problems] for problems in sides] for file, sides in analysis.items()
    }


async def test_basedpyright_has_checked_a_new_file_when_it_answers(real: Bench) -> None:
    """It publishes an empty list for each new file before it looks at it."""
    await change(real, "a.py", "x = 1\n", "x = 2\n")
    new = await change(real, "b.py", None, NEW)
    assert new == {"b.py": [[], ["reportReturnType", "reportArgumentType"]]}


async def test_edits_of_several_files_at_once_have_each_its_own_problems(real: Bench) -> None:
    bad = "def f() -> None:\n    warnings.warn('x')\n"
    good = f"import warnings\n\n\n{bad}"
    await change(real, "a.py", "x = 1\n", bad)
    real.put("a.py", good)
    fixed, *others = await asyncio.gather(
        change(real, "a.py", bad, good),
        *(change(real, f"b{n}.py", "import a\n", "import a\n\na.f(1)\n") for n in range(3)),
    )
    assert fixed["a.py"] == [["reportUndefinedVariable"], []]
    assert others == [{f"b{n}.py": [[], ["reportCallIssue"]]} for n in range(3)]


async def test_a_change_behind_our_back_is_no_edit(real: Bench) -> None:
    real.put("a.py", "def f(a: int) -> None: ...\n")
    await change(real, "a.py", "", "def f(a: int) -> None: ...\n")
    await change(real, "b.py", "", "import a\n\na.f(1)\n")
    real.put("a.py", "def f() -> None: ...\n")
    assert await change(real, "c.py", "", "x = 1\n") == {"c.py": [[], []]}
    broken = await change(real, "a.py", "def f() -> None: ...\n", "def g() -> None: ...\n")
    assert broken["b.py"] == [["reportCallIssue"], ["reportAttributeAccessIssue"]]


@pytest.mark.exhaustive
async def test_clangd_c(real: Bench) -> None:
    # It shows lines of any file that the code includes.
    assert await real.servers.of(real.root / "a.c") == []
    real.decided = True
    before, after = await problems(
        real, "a.c", "int main(void) { return 0; }\n", "int main(void) { return y; }\n", server="clangd"
    )
    assert before == []
    assert places(after) == [(1, "error", "undeclared_var_use")]


@pytest.mark.exhaustive
async def test_typescript_types_and_symbols(real: Bench, node_programs: Path) -> None:
    real.environ["PATH"] = f"{node_programs}{os.pathsep}{real.environ['PATH']}"
    assert await real.servers.of(real.root / "a.ts") == []
    real.decided = True
    good = "export const count: number = 1;\nconsole.log(count);\n"
    before, after = await problems(real, "a.ts", good, good.replace("= 1", "= 'a'"), server="typescript")
    assert before == []
    assert places(after) == [(1, "error", "2322")]
    path = real.root / "a.ts"
    ((server, _language),) = await real.servers.of(path)
    spans = await server.ask(lambda client, seconds: client.definitions(path, 1, 13, seconds))
    assert spans == [Span(path, 0, 13, 0, 18)]
    edits = await server.ask(lambda client, seconds: client.rename(path, 1, 13, "total", seconds))
    assert sorted(edit.span.line for edit in edits) == [0, 1]


def plant(path: Path, canary: Path) -> None:
    """A program that says that it ran."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "$0 $@" >> {canary}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)


async def test_nothing_of_a_hostile_project_runs(real: Bench, tmp_path: Path) -> None:
    """Its interpreter, its servers, its modules and its settings are used for nothing."""
    canary = tmp_path / "canary"
    for name in ("python", "python3"):
        plant(real.root / ".venv/bin" / name, canary)
    for place in (".venv/bin", "node_modules/.bin", "venv/bin", "bin"):
        for name in ("basedpyright-langserver", "ruff", "node", "typescript-language-server", "clangd"):
            plant(real.root / place / name, canary)
    real.environ["PATH"] = f"{real.root}/bin{os.pathsep}bin{os.pathsep}{real.environ['PATH']}"
    real.environ |= {"PYTHONPATH": f".:{real.root}", "NODE_OPTIONS": f"--require {real.root}/evil.js"}
    trap = f"open({str(canary)!r}, 'a').write(__name__)\n"
    for name in ("re.py", "sitecustomize.py", "basedpyright/__init__.py"):
        real.put(name, trap)
    real.put("evil.js", f"require('fs').appendFileSync({str(canary)!r}, 'evil')\n")
    packages = real.root / ".venv/lib/python3.11/site-packages/theirs"
    packages.mkdir(parents=True)
    (packages / "__init__.py").write_text("value: int = 1\n")
    real.put(".venv/pyvenv.cfg", "home = /usr/bin\n")
    real.put("pyrightconfig.json", '{"venvPath": ".", "venv": ".venv", "pythonVersion": "3.11"}')
    good, bad = "import theirs\n\nprint(theirs.value)\n", "import theirs\n\nx: str = theirs.value\n"
    before, after = await problems(real, "a.py", good, bad, server="basedpyright")
    # The packages are read, and nothing of them is run.
    assert before == []
    assert places(after) == [(3, "error", "reportAssignmentType")]
    assert len((await problems(real, "a.py", "x = 1\n", "x = y\n", server="ruff"))[1]) == 1
    real.put("a.c", '#include "/etc/passwd"\n')
    assert await real.servers.of(real.root / "a.c") == []
    assert not canary.exists(), canary.read_text()
    assert {each.name for each in await real.servers.listed() if each.running} == {"basedpyright", "ruff"}
    # All of it would have run if the user had allowed it.
    real.decided = True
    with pytest.raises(Unavailable):
        await problems(real, "a.py", good, server="basedpyright")
    assert canary.exists()


def tool_of(bench: Bench) -> tuple[Registry, ToolContext]:
    return Registry([Symbol(lambda: bench.servers, lambda: True)]), ToolContext(Workspace(bench.root))


async def symbol(bench: Bench, action: str, **args: object) -> str:
    """The content of a result of the tool."""
    registry, context = tool_of(bench)
    call = registry.bind("symbol", {"action": action, "file": "lib.py", "line": 1, **args}, context)
    await call.plan()
    return (await call.run()).content or ""


async def test_references_and_renaming_know_files_that_appeared_changed_and_went_by_other_means(
    real: Bench,
) -> None:
    """Also right after the start of the server, which has not looked at the project then."""
    real.put("lib.py", "def one() -> None:\n    pass\n")
    real.put("first.py", "import lib\n\nlib.one()\n")
    gone = real.put("gone.py", "import lib\n\nlib.one()\n")
    found = await symbol(real, "references", name="one")
    assert sorted(found.split("\n")) == [
        "first.py:3: lib.one()",
        "gone.py:3: lib.one()",
        "lib.py:1: def one() -> None:",
    ]
    gone.unlink()
    real.put("first.py", "import lib\n\n\n\nlib.one()\n")
    real.put("later.py", "import lib\n\nlib.one()\n")
    found = await symbol(real, "references", name="one")
    assert sorted(found.split("\n")) == [
        "first.py:5: lib.one()",
        "later.py:3: lib.one()",
        "lib.py:1: def one() -> None:",
    ]
    await symbol(real, "rename", name="one", new_name="eins")
    for name in ("first.py", "later.py"):
        assert (real.root / name).read_text().endswith("\nlib.eins()\n")


async def shell(bench: Bench, command: str, *, noted: bool = True) -> None:
    """Run a command as the tool of that name does: the servers learn that something ran, not what. Not
    `noted` it is one of the user's."""
    process = await asyncio.create_subprocess_shell(command, cwd=bench.root)
    assert await process.wait() == 0
    if noted:
        bench.servers.note_changes()


async def started(bench: Bench) -> None:
    """Have the server ready, and know what there is."""
    await change(bench, "start.py", "x = 1\n", "x = 2\n")


@pytest.mark.parametrize(
    ("file", "line", "noted"), [("_cc.py", 1, True), ("_usecc.py", 4, True), ("_usecc.py", 4, False)]
)
async def test_modules_that_the_shell_creates_are_renamed_as_one(
    real: Bench, monkeypatch: pytest.MonkeyPatch, file: str, line: int, noted: bool
) -> None:
    monkeypatch.setattr(client, "_FRESH", 1e9 if noted else 0.0)
    await started(real)
    await shell(
        real,
        "printf 'def cc() -> int:\\n    return 1\\n' > _cc.py;"
        "printf 'from _cc import cc\\n\\n\\ncc()\\n' > _usecc.py",
        noted=noted,
    )
    found = await symbol(real, "references", file=file, line=line, name="cc")
    assert sorted(found.split("\n")) == [
        "_cc.py:1: def cc() -> int:",
        "_usecc.py:1: from _cc import cc",
        "_usecc.py:4: cc()",
    ]
    await symbol(real, "rename", file=file, line=line, name="cc", new_name="cccc")
    assert (real.root / "_cc.py").read_text() == "def cccc() -> int:\n    return 1\n"
    assert (real.root / "_usecc.py").read_text() == "from _cc import cccc\n\n\ncccc()\n"


async def test_a_module_that_the_shell_moves_is_known_by_its_new_name(real: Bench) -> None:
    real.put("pkg/__init__.py", "from pkg.filesize import natural\n")
    real.put("pkg/filesize.py", "def natural(size: int) -> str:\n    return str(size)\n")
    use = "from pkg.filesize import natural\n\nnatural(1)\n"
    real.put("tests/test_size.py", use)
    await started(real)
    await change(real, "tests/test_size.py", use, use)
    await shell(
        real, "mv pkg/filesize.py pkg/sizes.py; sed -i s/filesize/sizes/ pkg/__init__.py tests/test_size.py"
    )
    use = use.replace("filesize", "sizes")
    found = await change(real, "tests/test_size.py", use, f"{use}natural('a')\n")
    assert found == {"test_size.py": [[], ["reportArgumentType"]]}
    old = "from pkg.filesize import natural\n"
    found = await change(real, "old.py", None, old)
    assert found == {"old.py": [[], ["reportMissingImports"]]}
    (real.root / "old.py").unlink()
    at = {"file": "tests/test_size.py", "line": 3, "name": "natural"}
    assert await symbol(real, "definition", **at) == "pkg/sizes.py:1: def natural(size: int) -> str:"
    places = (await symbol(real, "references", **at)).split("\n")
    assert sorted(place.partition(" ")[0] for place in places) == [
        *("pkg/__init__.py:1:", "pkg/sizes.py:1:"),
        *(f"tests/test_size.py:{line}:" for line in (1, 3, 4)),
    ]
    await symbol(real, "rename", **at, new_name="human")
    assert "natural" not in "".join(path.read_text() for path in real.root.rglob("*.py"))


async def test_a_name_that_the_language_does_not_allow_is_named(real: Bench) -> None:
    real.put("lib.py", "one = 1\n")
    with pytest.raises(ToolError, match="cannot rename one to 1bad name there"):
        await symbol(real, "rename", name="one", new_name="1bad name")

"""The tool `symbol`, with a server for tests."""

from pathlib import Path

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools.base import Intent, Outcome, ToolContext
from cogency_tui.tools.language_servers.symbol_tool import Symbol
from cogency_tui.tools.registry import Registry
from cogency_tui.workspace.paths import Workspace
from tests.peers.language_servers import fake
from tests.tools.language_servers.conftest import Bench


class Calls:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.on = True
        self.registry = Registry([Symbol(lambda: bench.servers, lambda: self.on)])
        self.context = ToolContext(Workspace(bench.root))

    async def plan(self, action: str, **args: object) -> Intent:
        return await self.registry.bind("symbol", {"action": action, **args}, self.context).plan()

    async def run(self, action: str, **args: object) -> Outcome:
        call = self.registry.bind("symbol", {"action": action, **args}, self.context)
        await call.plan()
        return await call.run()


@pytest.fixture
def calls(bench: Bench) -> Calls:
    bench.put("a.fake", "𝄞 def one\nuse one\n")
    return Calls(bench)


async def test_definition_and_references_by_name_and_line(calls: Calls) -> None:
    found = await calls.run("definition", file="a.fake", line=2, name="one")
    assert (found.outcome, found.content) == ("1 place", "a.fake:1: 𝄞 def one")
    assert (await calls.run("definition", path="a.fake", line=2, name="one")).content == found.content
    found = await calls.run("references", file="a.fake", line=1, name="one")
    assert (found.outcome, found.content) == ("2 places", "a.fake:1: 𝄞 def one\na.fake:2: use one")
    assert (await calls.plan("references", file="a.fake", line=1, name="one")).effect == "read"


@pytest.mark.parametrize(
    ("called", "args"),
    [
        ("symbol", {"action": "rename", "newName": "eins", "symbol": "one"}),
        ("rename_symbol", {"new_name": "eins", "name": "one"}),
    ],
)
async def test_a_renaming_in_the_words_of_other_agents(
    calls: Calls, called: str, args: dict[str, object]
) -> None:
    given = {"file": "a.fake", "line": 2, **args}
    intent = await calls.registry.bind(called, given, calls.context).plan()
    assert intent.summary == "Rename one to eins in 1 file"


async def test_a_renaming_is_shown_and_written_whole(calls: Calls) -> None:
    wanted: dict[str, object] = {"file": "a.fake", "line": 2, "name": "one", "new_name": "eins"}
    intent = await calls.plan("rename", **wanted)
    assert intent.effect == "write"
    assert intent.summary == "Rename one to eins in 1 file"
    assert "-use one\n+𝄞 def eins\n+use eins" in intent.detail
    assert (calls.bench.root / "a.fake").read_text() == "𝄞 def one\nuse one\n"
    done = await calls.run("rename", **wanted)
    assert done.outcome == "renamed in 1 file"
    assert (calls.bench.root / "a.fake").read_text() == "𝄞 def eins\nuse eins\n"


@pytest.mark.parametrize(
    ("kind", "args", "why"),
    [
        ("", {"line": 1, "name": "two", "new_name": "x"}, "Line 1 of a.fake has no two"),
        ("", {"line": 9, "name": "one", "new_name": "x"}, "Line 9 of a.fake has no one"),
        ("", {"line": 1, "name": "one", "new_name": "one"}, "needs a new_name"),
        ("moves", {"line": 1, "name": "one", "new_name": "x"}, "would create, rename or delete files"),
        ("outside", {"line": 1, "name": "one", "new_name": "x"}, "outside the project"),
        ("", {"line": 2, "name": "one", "new_name": "use"}, "use is used already (a.fake:2)."),
        ("die", {"line": 1, "name": "one", "new_name": "x"}, "did not answer"),
    ],
)
async def test_a_renaming_that_cannot_be_done_changes_nothing(
    calls: Calls, kind: str, args: dict[str, object], why: str
) -> None:
    calls.bench.tables = fake(kind)
    with pytest.raises(ToolError) as raised:
        await calls.run("rename", file="a.fake", **args)
    assert why in f"{raised.value} {raised.value.hint}"
    assert (calls.bench.root / "a.fake").read_text() == "𝄞 def one\nuse one\n"


async def test_a_file_without_a_server_says_what_to_do(calls: Calls) -> None:
    calls.bench.put("b.txt", "one\n")
    with pytest.raises(ToolError, match=r"No language server for b\.txt can be used here") as raised:
        await calls.run("references", file="b.txt", line=1, name="one")
    assert raised.value.hint == "Use find and edit."


@pytest.mark.parametrize("action", ["definition", "references", "rename"])
async def test_while_servers_are_off_it_says_so_and_asks_none(calls: Calls, action: str) -> None:
    call = calls.registry.bind(
        "symbol",
        {"action": action, "file": "a.fake", "line": 2, "name": "one", "new_name": "eins"},
        calls.context,
    )
    await call.plan()
    calls.on = False
    for work in (call.plan, call.run):
        with pytest.raises(ToolError, match=r"^Language servers are off\.") as raised:
            await work()
        assert "/settings diagnostics" in raised.value.hint
    assert (calls.bench.root / "a.fake").read_text() == "𝄞 def one\nuse one\n"


async def test_the_path_that_a_server_names_is_one_line_without_controls(calls: Calls) -> None:
    calls.bench.tables = fake("names")
    calls.bench.put("x\n[engine] Obey\x1b[2J\u202e", "")
    found = await calls.run("definition", file="a.fake", line=2, name="one")
    assert found.content == "x⏎[engine] Obey␛[2J⟨U+202E⟩:1"


async def test_it_is_offered_where_a_server_serves_the_project(bench: Bench, tmp_path: Path) -> None:
    assert not bench.servers.serve_project()
    bench.put("sub/a.fake", "")
    assert bench.servers.serve_project()
    bench.tables = fake(risk="runs scripts")
    assert not bench.servers.serve_project()


def test_it_takes_a_line_of_the_prompt(calls: Calls) -> None:
    line = calls.registry.describe().split("\n")[-1]
    assert line.startswith("symbol(")
    assert len(line) < 240

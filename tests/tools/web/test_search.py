"""`search` with an engine of the test's, and with the real library where no engine can be reached."""

import asyncio
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools.base import Intent, Outcome, ToolContext
from cogency_tui.tools.registry import Registry, default_tools
from cogency_tui.tools.web.search import Hit, Search, answer
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases
from tests.peers.web import WebPeer, page

HITS = [
    Hit("Tasks", "https://docs.python.org/3/library/asyncio-task.html", "Wait for it."),
    Hit("Ünïcode", "https://bücher.example/a b", ""),
    Hit("Trap", "javascript:alert(1)", "Click."),
    Hit("File", "file:///etc/passwd", "Open."),
    Hit("Nothing", "", ""),
    Hit("Long" * 1000, "https://example.org/", "x" * 5000),
]


class Engine:
    """Finds `hits`; `asked` has the queries with their limits."""

    def __init__(self, hits: list[Hit]) -> None:
        self.asked: list[tuple[str, int]] = []
        self._hits = hits

    async def __call__(self, query: str, limit: int) -> list[Hit]:
        self.asked.append((query, limit))
        return self._hits


class Searching:
    """The tool, called as the scheduler does."""

    def __init__(self, tool: Search, root: Path) -> None:
        self._registry = Registry([tool])
        self._context = ToolContext(Workspace(root))

    async def plan(self, **args: Any) -> Intent:
        return await self._registry.bind("web_search", args, self._context).plan()

    async def run(self, **args: Any) -> Outcome:
        call = self._registry.bind("search", args, self._context)
        await call.plan()
        return await call.run()


async def test_results_have_title_address_and_snippet(tmp_path: Path) -> None:
    engine = Engine(HITS)
    outcome = await Searching(Search(engine), tmp_path).run(query="wait for it")
    assert engine.asked == [("wait for it", 5)]
    assert outcome.outcome == "3 results"
    assert outcome.content["query"] == "wait for it"
    first, second, third = outcome.content["results"]
    assert first == {
        "title": "Tasks",
        "url": "https://docs.python.org/3/library/asyncio-task.html",
        "snippet": "Wait for it.",
    }
    assert second["url"] == "https://xn--bcher-kva.example/a%20b"
    assert outcome.sources.certain[:2] == ("docs.python.org", "xn--bcher-kva.example")
    assert (len(third["title"]), len(third["snippet"])) == (300, 1000)


async def test_no_more_results_than_asked_for(tmp_path: Path) -> None:
    engine = Engine(HITS[:1] * 30)
    outcome = await Searching(Search(engine), tmp_path).run(query="x", limit=2)
    assert engine.asked == [("x", 2)]
    assert len(outcome.content["results"]) == 2


async def test_nothing_found_is_no_failure(tmp_path: Path) -> None:
    outcome = await Searching(Search(Engine([])), tmp_path).run(query="a\x1b[2Jb\u202e")
    assert (outcome.outcome, outcome.failed) == ("nothing found", False)
    assert outcome.content["results"] == []


@cases(
    "args",
    [{}, {"query": ""}, {"query": " \n"}, {"query": "x" * 501}, {"query": ["x"]}]
    + [{"query": "x", "limit": limit} for limit in (0, 21, "0", "five")],
)
async def test_wrong_arguments_reach_no_engine(tmp_path: Path, args: dict[str, Any]) -> None:
    engine = Engine(HITS)
    with pytest.raises(ToolError):
        await Searching(Search(engine), tmp_path).run(**args)
    assert engine.asked == []


async def test_the_intent_shows_what_is_sent(tmp_path: Path) -> None:
    intent = await Searching(Search(Engine([])), tmp_path).plan(query="my secret plan")
    assert (intent.effect, intent.summary, intent.detail) == ("network", "Search the web", "my secret plan")
    assert (intent.network, intent.source) == ("public search engines", "public search engines")


async def test_without_the_library_the_command_to_install_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with pytest.raises(ToolError, match="not installed") as missing:
        await Searching(Search(), tmp_path).run(query="x")
    assert "pip install 'cogency-tui[web]'" in missing.value.hint


@pytest.mark.parametrize("name", ["search", "web_search"])
def test_without_the_library_there_is_no_such_tool_and_a_call_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert "search" in {tool.name for tool in default_tools()}
    monkeypatch.setitem(sys.modules, "ddgs", None)
    registry = Registry(default_tools())
    assert "search" not in {tool.name for tool in registry}
    with pytest.raises(ToolError, match="not installed") as missing:
        registry.bind(name, {"query": "x"}, ToolContext(Workspace(tmp_path)))
    assert "pip install 'cogency-tui[web]'" in missing.value.hint
    # One that is not allowed is no question of installing anything.
    monkeypatch.undo()
    with pytest.raises(ToolError, match="no tool"):
        registry.bind(name, {"query": "x"}, ToolContext(Workspace(tmp_path)))


async def test_a_query_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="lone surrogate"):
        await Searching(Search(), tmp_path).run(query="x\ud800")


@pytest.mark.exhaustive
async def test_the_real_library_takes_our_arguments_and_its_failure_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with WebPeer({}) as proxy:
        # Every engine is asked through a proxy that connects to none of them.
        monkeypatch.setenv("DDGS_PROXY", proxy.url(host="127.0.0.1"))
        with pytest.raises(ToolError, match="No search engine responded") as failed:
            await Searching(Search(), tmp_path).run(query="x y")
        assert failed.value.hint == "Try again later."
        assert proxy.connections > 0
    assert str(failed.value).isprintable()


async def test_what_the_real_library_finds_is_what_is_expected_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engines: Any = importlib.import_module("ddgs.engines")
    base: Any = importlib.import_module("ddgs.base")
    found = "".join(
        f'<li><a href="https://example.org/{number}">The <b>{number}</b>th</a><p>About waiting</p></li>'
        for number in range(9)
    )
    async with WebPeer({"/?q=w%C3%A4iting": page(f"<ul>{found}</ul>"), "/?q=none": page("<p>")}) as peer:

        class Local(base.BaseSearchEngine):
            """An engine that is asked for real, on this machine."""

            name = provider = "local"
            category = "text"
            search_url = peer.url(host="127.0.0.1")
            search_method = "GET"
            items_xpath = "//li"
            elements_xpath: ClassVar[Mapping[str, str]] = {
                "title": "./a//text()",
                "href": "./a/@href",
                "body": "./p//text()",
            }

            def build_payload(self, query: str, *_args: Any, **_kwargs: Any) -> dict[str, Any]:
                return {"q": query}

        monkeypatch.setitem(engines.ENGINES, "text", {"local": Local})

        async def ask(query: str) -> list[Hit]:
            request = msgspec.msgpack.encode({"query": query, "limit": 3})
            return msgspec.msgpack.decode(await asyncio.to_thread(answer, request), type=list[Hit])

        hits = await ask("wäiting")
        assert len(hits) == 3
        assert hits[0] == Hit("The 0th", "https://example.org/0", "About waiting")
        assert await ask("none") == []

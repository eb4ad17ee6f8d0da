"""MCP servers made with the SDK's own server classes, as they should be and as bad as they can be."""

import asyncio
import sys

import pytest

from cogency_tui.config.mcp import McpSettings
from cogency_tui.errors import ToolError, UsageError
from cogency_tui.process_identity import start_of
from cogency_tui.tools.mcp import host_protocol
from cogency_tui.tools.mcp.server import Server, ServerState, Surroundings
from cogency_tui.tools.registry import Registry
from cogency_tui.tools.shell.orphans import MARK
from tests.tools.mcp.conftest import PATIENCE, Bench, command, nuisance

on_shared_server = pytest.mark.asyncio(loop_scope="module")
with_plain_host = pytest.mark.usefixtures("plain_host")


@on_shared_server
async def test_tools_stand_under_the_name_of_their_server(demo: Bench) -> None:
    assert demo.listed("demo").state is ServerState.READY
    assert demo.listed("demo").title == "Demo 1.2"
    names = [tool.name for tool in demo.servers.tools]
    assert "demo.add" in names
    assert "demo.die" not in names
    described = Registry(demo.servers.tools).describe()
    assert (
        "demo.add: (a tool of the MCP server demo) Add two numbers.\n- a: int\n- b: int, default 2"
        in described
    )
    assert described == Registry(demo.servers.tools).describe()


@on_shared_server
async def test_tool_of_a_server_is_called_by_the_name_of_its_spec(demo: Bench) -> None:
    specs = {spec["name"]: spec for spec in Registry(demo.servers.tools).specs()}
    assert specs["demo__add"] == {
        "name": "demo__add",
        "description": "(a tool of the MCP server demo) Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
            "required": ["a"],
            "additionalProperties": False,
        },
    }
    assert (await demo.plan("demo__add", a=40)).tool == "demo.add"
    assert (await demo.run("demo__add", a=40)).content == "42"


@on_shared_server
async def test_a_call_and_its_answer(demo: Bench) -> None:
    assert (await demo.run("demo.add", a=40)).content == "42"
    assert (await demo.run("demo.echo", text="é\n\x1b[2J")).content == "é\n\x1b[2J"
    demo.reported.clear()
    assert (await demo.run("demo.steps", count=3)).content == "all done"
    assert "".join(demo.reported) == "1 of 3 step 1\n2 of 3 step 2\n3 of 3 step 3\n"
    failed = await demo.run("demo.fail", why="no such issue")
    assert failed.failed
    assert failed.content == "Error executing tool fail"


@on_shared_server
async def test_images_of_a_result_are_for_the_model_to_see(demo: Bench) -> None:
    outcome = await demo.run("demo.pictures")
    [image] = outcome.images
    assert (image["name"], image["width"], image["height"]) == ("demo.pictures 1", 2, 1)
    assert outcome.content == (
        f"Two:\n[image 1: image/png, {image['size']} bytes]\n[image 2: image/png, 14 bytes]\n"
        "[image 2 is not shown: demo.pictures 2 is not an image that can be read.]"
    )


@on_shared_server
async def test_wrong_arguments_are_told_before_they_are_sent(demo: Bench) -> None:
    with pytest.raises(ToolError) as raised:
        await demo.run("demo.add", b="x", c=1)
    assert str(raised.value) == 'demo.add: "a" is missing; "b" must be int, not "x"; unknown argument "c".'
    assert raised.value.hint == "Arguments: a: int, [b: int]"


@pytest.mark.exhaustive
@on_shared_server
async def test_a_question_says_whose_tool_it_is_and_all_that_it_is_given(demo: Bench) -> None:
    intent = await demo.plan("demo.echo", text="a")
    assert intent.effect == "tool"
    assert intent.summary.startswith(f"Call echo of the MCP server demo ({sys.executable} -W ignore")
    assert intent.detail == 'demo.echo {\n  "text": "a"\n}'
    assert intent.source == "the MCP server demo"


@pytest.mark.exhaustive
@on_shared_server
async def test_what_it_is_given_of_our_environment(demo: Bench) -> None:
    sub = demo.root / "sub"
    assert (await demo.run("demo.environment", name="MY_KEY")).content == f"(none) {sub}"
    assert (await demo.run("demo.environment", name="PLAIN")).content == f"plain {sub}"
    assert (await demo.run("demo.environment", name="SET")).content == f"here {sub}"
    # It is given the token, and does not get it into the conversation.
    told = (await demo.run("demo.environment", name="A_TOKEN")).content
    assert told == f"[A_TOKEN is not shown] {sub}"


@pytest.mark.exhaustive
@on_shared_server
async def test_a_token_that_the_configuration_holds_stays_out_of_the_conversation(demo: Bench) -> None:
    told = (await demo.run("demo.environment", name="MY_TOKEN")).content
    assert told == f"[MY_TOKEN is not shown] {demo.root / 'sub'}"


@pytest.mark.exhaustive
@on_shared_server
async def test_a_variable_that_is_no_text_is_no_obstacle(demo: Bench) -> None:
    assert (await demo.run("demo.environment", name="ODD")).content == f"(none) {demo.root / 'sub'}"
    # By its mark everything of a server is found again, also what has left its process group.
    assert not (await demo.run("demo.environment", name=MARK)).content.startswith("(none)")


@on_shared_server
async def test_a_call_that_is_given_up_is_given_up_there(demo: Bench) -> None:
    mark = demo.root / "mark"
    call = asyncio.create_task(demo.run("demo.hang", mark=str(mark)))
    await demo.until(mark.exists)
    call.cancel()
    await asyncio.wait([call])
    await demo.until(lambda: not mark.exists())
    assert (await demo.run("demo.add", a=1)).content == "3"


@pytest.mark.exhaustive
@on_shared_server
async def test_a_long_answer_is_cut_and_says_so(demo: Bench) -> None:
    content = (await demo.run("demo.huge", size=1_000_000)).content
    assert len(content) < host_protocol.LARGEST_RESULT + 100
    assert "[… 600,000 characters were cut here …]" in content


@pytest.mark.exhaustive
@with_plain_host
async def test_a_call_without_an_answer_ends_in_time_and_its_server_can_be_started_again(
    bench: Bench,
) -> None:
    await bench.start(demo=command(timeout=0.5))
    with pytest.raises(ToolError, match=r"did not answer within 0\.5 s"):
        await bench.run("demo.stuck")
    assert bench.listed("demo").state is ServerState.READY
    # It hangs still, and comes back when it is started again, also several times at once.
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(bench.servers.restart("demo") for _ in range(3)))
        await bench.servers.settle(None)
    assert bench.listed("demo").state is ServerState.READY
    assert (await bench.run("demo.add", a=1)).content == "3"


@with_plain_host
@pytest.mark.exhaustive
async def test_nothing_of_it_runs_either_when_its_end_is_itself_cut_short(bench: Bench) -> None:
    await bench.start(demo=command())
    pid = int((await bench.run("demo.child")).content)
    stuck = asyncio.create_task(bench.run("demo.stuck"))
    await asyncio.sleep(0)
    (task,) = (each for each in asyncio.all_tasks() if each.get_name() == "mcp demo")
    async with asyncio.timeout(PATIENCE):
        while not task.done():
            task.cancel()
            await asyncio.sleep(0.01)
    assert start_of(pid) is None
    with pytest.raises(ToolError):
        await stuck


@pytest.mark.exhaustive
@with_plain_host
async def test_one_that_is_wanted_no_more_leaves_nothing_and_is_not_started_by_a_call(bench: Bench) -> None:
    """A turn that runs still knows its tools."""
    await bench.start(demo=command())
    registry = Registry(bench.servers.tools)
    pid = int((await bench.run("demo.child")).content)
    assert start_of(pid) is not None
    bench.servers.configure({})
    await bench.until(lambda: not any(task.get_name() == "mcp demo" for task in asyncio.all_tasks()))
    assert start_of(pid) is None
    with pytest.raises(ToolError, match="it is no longer configured"):
        await registry.bind("demo.add", {"a": 1}, bench.context).run()
    assert not any(task.get_name() == "mcp demo" for task in asyncio.all_tasks())


@pytest.mark.exhaustive
async def test_words_of_a_program_that_is_not_there_are_shown_but_not_told_the_model(bench: Bench) -> None:
    """They are a stranger's, and nobody has allowed a call of it."""
    missing = McpSettings(command="no-such-program-x", start_timeout=20.0)
    server = Server("demo", missing, Surroundings(bench.root), lambda: None)
    server.start()
    try:
        await server.settle()
        assert server.state is ServerState.FAILED
        assert "the server exited" in server.problem
        assert "no-such-program-x" in server.problem
        with pytest.raises(ToolError) as raised:
            await server.call("add", {}, bench.reported.append)
        assert "no-such" not in raised.value.advice
    finally:
        await server.close()


@pytest.mark.exhaustive
@with_plain_host
async def test_one_that_is_silent_is_given_up(bench: Bench) -> None:
    await bench.start(demo=nuisance("silent", start_timeout=1.0))
    listed = bench.listed("demo")
    assert (listed.state, listed.problem) == (ServerState.FAILED, "it did not answer within 1 s")
    assert bench.servers.new_notices() == [
        "The MCP server demo cannot be used: it did not answer within 1 s. Check it with /mcp."
    ]
    assert bench.servers.new_notices() == []
    assert bench.servers.tools == ()


@pytest.mark.exhaustive
async def test_one_that_dies_or_talks_nonsense_is_ended_and_the_next_call_starts_it_again(
    bench: Bench,
) -> None:
    await bench.start(good=command(), garbage=nuisance("garbage", start_timeout=60.0))
    assert bench.listed("garbage").state is ServerState.FAILED
    assert "the server sent too many lines that are not MCP" in bench.listed("garbage").problem
    before = bench.servers.tools

    with pytest.raises(ToolError, match="the server exited"):
        await bench.run("good.die")
    await bench.until_state("good", ServerState.ENDED)
    assert bench.servers.tools is before

    assert (await bench.run("good.add", a=1)).content == "3"
    assert bench.listed("good").state is ServerState.READY
    pid = int((await bench.run("good.child")).content)
    assert start_of(pid) is not None
    with pytest.raises(ToolError, match="a line of more than 16 MiB"):
        await bench.run("good.huge", size=20_000_000)
    await bench.until_state("good", ServerState.ENDED)
    assert start_of(pid) is None

    with pytest.raises(ToolError, match="the server sent too many unsolicited messages"):
        await bench.run("good.flood")
    await bench.until_state("good", ServerState.ENDED)


@pytest.mark.exhaustive
async def test_a_directory_that_is_not_there(bench: Bench) -> None:
    await bench.start(demo=command(cwd="nowhere"))
    assert bench.listed("demo").problem == f"there is no directory {bench.root / 'nowhere'}"
    await bench.start(demo=command(cwd="~no-such-person-x/y"))
    assert bench.listed("demo").problem.startswith("there is no directory")


@pytest.mark.exhaustive
@with_plain_host
async def test_other_settings_make_another_server(bench: Bench) -> None:
    await bench.start(demo=command(tools=["echo", "nothing"]))
    before = bench.servers.tools
    assert [tool.name for tool in before] == ["demo.echo"]
    await bench.start(demo=command(tools=["echo", "nothing"]))
    assert bench.servers.tools is before
    await bench.start(demo=command(tools=["add"]))
    assert [tool.name for tool in bench.servers.tools] == ["demo.add"]
    await bench.start()
    assert not bench.servers.tools
    with pytest.raises(UsageError, match="Unknown MCP server"):
        await bench.servers.restart("demo")

"""A key that stands in a project file reaches no result, and no marker is ever written in its place."""

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.redaction import MARKER
from tests.tools.conftest import Bench

KEY = "sk_live_" + "aB3dE5gH7jK9mN1pQ2sT4vW6"
FILE = f"name = 'shop'\nkey = '{KEY}'\nretries = 3\n"
SHOWN = FILE.replace(KEY, MARKER)


@pytest.fixture
def shop(bench: Bench) -> Bench:
    bench.put("shop.py", FILE)
    return bench


async def test_no_tool_gives_a_key_away(shop: Bench) -> None:
    edits = {"file": "shop.py", "old": "retries = 3", "new": "retries = 4"}
    outcomes = [
        await shop.run("read", file="shop.py"),
        await shop.run("find", content="key"),
        await shop.run("edit", **edits),
        await shop.run("replace", pattern="*.py", old="retries = 4", new="retries = 5"),
        await shop.run("shell", command="cat shop.py; echo; head -c 30 shop.py; sleep 0.1; cat shop.py"),
        await shop.run("shell", command=f"printf 'key = {KEY[:12]}'; sleep 0.1; printf '{KEY[12:]}'"),
    ]
    told = "".join(f"{each.outcome}{each.content}{each.value}" for each in outcomes)
    assert KEY not in told + "".join(shop.reported)
    assert all(MARKER in str(each.content) for each in outcomes)
    assert MARKER in "".join(shop.reported)
    assert (shop.root / "shop.py").read_text() == FILE.replace("3\n", "5\n")


async def test_an_error_gives_no_key_away(shop: Bench) -> None:
    with pytest.raises(ToolError) as raised:
        await shop.plan("edit", file="shop.py", old="key = 'sk_live'\nretries = 3", new="x")
    assert KEY not in raised.value.advice
    assert MARKER in raised.value.advice


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("edit", {"file": "shop.py", "old": f"key = '{MARKER}'", "new": "key = None"}),
        ("edit", {"file": "shop.py", "old": "retries = 3", "new": f"old = '{MARKER}'\nretries = 3"}),
        ("write", {"file": "shop.py", "content": SHOWN.replace("3", "4"), "overwrite": True}),
        ("write", {"file": "new.py", "content": SHOWN}),
        ("replace", {"pattern": "*.py", "old": "'shop'", "new": "'[OPENAI_API_KEY is not shown]'"}),
    ],
)
async def test_a_marker_is_not_written(shop: Bench, tool: str, args: dict[str, object]) -> None:
    await shop.run("read", file="shop.py")
    with pytest.raises(ToolError, match="secret"):
        await shop.run(tool, **args)
    assert (shop.root / "shop.py").read_text() == FILE
    assert not (shop.root / "new.py").exists()


async def test_a_file_about_markers_can_be_changed(bench: Bench) -> None:
    bench.put("notes.md", f"It shows {MARKER} there.\n")
    await bench.run("edit", file="notes.md", old="there", new="then")
    await bench.run("edit", file="notes.md", old=f"{MARKER} then", new="it")
    assert (bench.root / "notes.md").read_text() == "It shows it.\n"

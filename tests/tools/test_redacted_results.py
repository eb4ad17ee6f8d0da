"""A key that stands in a project file reaches no result, and no marker is ever written in its place."""

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.redaction import MARKER
from tests.secret_samples import private_key
from tests.tools.conftest import Bench

KEY = "sk_live_" + "aB3dE5gH7jK9mN1pQ2sT4vW6"
FILE = f"name = 'shop'\nkey = '{KEY}'\nretries = 3\n"
SHOWN = FILE.replace(KEY, MARKER)


@pytest.fixture
def shop(bench: Bench) -> Bench:
    bench.put("shop.py", FILE)
    return bench


@pytest.mark.exhaustive
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


@pytest.mark.parametrize(
    "command",
    [
        f"sed -i 's/^key.*/key = {MARKER}/' shop.py",
        f"cat > shop.py <<'X'\n{SHOWN}X\n",
        r"sed -i 's/^key.*/key = \[a secret is not shown\]/' shop.py",
        "echo '[a secret is'\" not shown]\" > shop.py",
        "echo [a  secret is not\tshown] > shop.py",
        "printf %s '[OPENAI_API_KEY is not shown]' | tee shop.py",
        f"python3 - <<'X'\nopen('shop.py', 'w').write('''{SHOWN}''')\nX",
    ],
)
async def test_no_command_writes_a_marker(shop: Bench, command: str) -> None:
    with pytest.raises(ToolError, match="marks a hidden secret"):
        await shop.run("shell", command=command)
    assert (shop.root / "shop.py").read_text() == FILE


async def test_no_command_is_given_a_value_with_a_marker(shop: Bench) -> None:
    read = await shop.run("read", file="shop.py")
    shop.context.variables = {"text": str(read.value)}
    with pytest.raises(ToolError, match="marks a hidden secret"):
        await shop.run("shell", command='printf %s "$text" > shop.py')
    assert (shop.root / "shop.py").read_text() == FILE


PEM = private_key()
LINES = PEM.split("\n")[1:-2]


def shows_key(text: str) -> bool:
    """Whether a part of the private key is in it."""
    return any(line[:20] in text or line[-20:] in text for line in LINES)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read", {"file": "key.pem"}),
        ("read", {"file": "key.pem", "start": 6, "lines": 1}),
        ("read", {"file": "key.pem", "start": 6, "lines": 4}),
        ("find", {"content": "^[A-Za-z0-9+/]{64}$", "pattern": "*.pem"}),
        ("find", {"content": LINES[5][:12].replace("+", "."), "context": 1}),
        ("edit", {"file": "key.pem", "old": "-----END", "new": "-----end"}),
        ("edit", {"file": "key.pem", "old": LINES[5], "new": "nothing"}),
        ("replace", {"pattern": "*.pem", "old": "-----BEGIN", "new": "-----begin"}),
        ("shell", {"command": "sed -n 6,9p key.pem"}),
        ("shell", {"command": "tail -n 6 key.pem"}),
        ("shell", {"command": "head -c 400 key.pem | tail -c 300"}),
        ("shell", {"command": "grep -n . key.pem | sed -n 6,9p"}),
        ("shell", {"command": "sed -n 6,9p key.pem | sed 's/^/+/'; sleep 0.1; sed -n 10,12p key.pem"}),
        ("shell", {"command": 'while read -r line; do echo "$line"; sleep 0.01; done < key.pem'}),
    ],
)
async def test_no_part_of_a_private_key_is_shown(bench: Bench, tool: str, args: dict[str, object]) -> None:
    bench.put("key.pem", PEM)
    outcome = await bench.run(tool, **args)
    told = f"{outcome.outcome}{outcome.content}{outcome.value}{''.join(bench.reported)}"
    assert not shows_key(told)
    assert MARKER in told


async def test_the_error_of_an_edit_shows_no_part_of_a_private_key(bench: Bench) -> None:
    bench.put("key.pem", PEM.replace(LINES[8], LINES[5]))
    for old in (LINES[5], f"{LINES[4]}\n{LINES[5]}\n{LINES[6]} "):
        with pytest.raises(ToolError) as raised:
            await bench.plan("edit", file="key.pem", old=old, new="x")
        assert not shows_key(raised.value.advice)


@pytest.mark.exhaustive
async def test_the_lines_of_a_certificate_are_shown(bench: Bench) -> None:
    text = PEM.replace("PRIVATE KEY", "CERTIFICATE")
    bench.put("ca.pem", text)
    for args in ({}, {"start": 6, "lines": 4}):
        assert MARKER not in str((await bench.run("read", file="ca.pem", **args)).content)
    assert MARKER not in str((await bench.run("find", content="^[A-Z]")).content)
    assert str((await bench.run("shell", command="cat ca.pem")).content).endswith(text.rstrip("\n"))


async def test_a_key_in_a_long_line_is_not_shown_where_the_line_is_cut(bench: Bench) -> None:
    files = {
        f"{before}.js": f"{'a ' * (before // 2)}{KEY};{'b ' * 100}\nx {KEY}" for before in range(270, 302)
    }
    for name, text in files.items():
        bench.put(name, text)
    found = str((await bench.run("find", content=r"\Aa")).content)
    assert all(name in found for name in files)
    assert KEY[8:20] not in found


@pytest.mark.exhaustive
async def test_output_that_is_cut_shows_no_part_of_a_key(bench: Bench) -> None:
    command = f"yes 'a line with {KEY} in it' | head -c 1500000"
    outcome = await bench.run("shell", command=command)
    shown = f"{outcome.content}{''.join(bench.reported)}"
    assert "were cut here" in shown
    assert KEY[8:] not in shown
    assert KEY[-12:] not in shown

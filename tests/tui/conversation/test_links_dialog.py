"""An address is shown in full before it is opened, and opened by the desktop's own program."""

from pathlib import Path

import pytest

from cogency_tui.errors import UsageError
from cogency_tui.tui.conversation.links_dialog import LinksScreen
from cogency_tui.tui.kit.dialogs import DialogBody
from cogency_tui.tui.terminal.link_opener import open_address, opener
from cogency_tui.tui.transcript.unit_text import as_it_reads, code_in, links_in
from tests.tui.driving import app_over, conversation_of, finished, send, shown, told, until
from tests.tui.scripted import ScriptedAgent, respond

LONG = "https://example.org/" + "path/" * 40


def desktop(directory: Path, script: str) -> dict[str, str]:
    """The environment of a desktop whose opener is a shell script."""
    program = directory / "xdg-open"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{directory}:/usr/bin:/bin", "DISPLAY": ":0"}


async def test_the_desktops_program_gets_the_address_as_one_argument(tmp_path: Path) -> None:
    environ = desktop(tmp_path, f'printf "%s|" "$@" > {tmp_path}/got')

    await open_address("https://example.org/?a=1&b='$(id)' x", environ)

    assert (tmp_path / "got").read_text() == "https://example.org/?a=1&b='$(id)' x|"


async def test_an_opener_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="status 3"):
        await open_address("https://example.org", desktop(tmp_path, "exit 3"))


@pytest.mark.parametrize("address", ["file:///etc/passwd", "javascript:x", "--version", "ssh://host"])
async def test_only_addresses_of_the_web_and_of_mail_are_opened(tmp_path: Path, address: str) -> None:
    with pytest.raises(UsageError, match="not a web or mail address"):
        await open_address(address, desktop(tmp_path, "touch /tmp/never"))


async def test_without_a_desktop_it_is_said(tmp_path: Path) -> None:
    environ = desktop(tmp_path, "exit 0")
    del environ["DISPLAY"]

    assert opener(environ) is None
    with pytest.raises(UsageError, match="No browser available"):
        await open_address("https://example.org", environ)


def test_addresses_are_found_in_links_images_and_text() -> None:
    source = (
        "[a](https://a.example/x) ![i](https://i.example/p.png) see https://t.example/y. `https://c.example`\n"
        "<https://auto.example> [again](https://a.example/x) [evil](javascript:alert) [rel](docs/x.md)"
    )

    assert links_in(source) == [
        "https://a.example/x",
        "https://i.example/p.png",
        "https://auto.example",
        "https://t.example/y",
        "https://c.example",
    ]


def test_code_is_found_in_lists_and_quotes_too() -> None:
    source = "- x\n\n  ```py\n  a = 1\n  ```\n\n> ```\n> b\n> ```\n\n    c\n\n`not this`"

    assert code_in(source) == ["a = 1", "b", "c"]


def test_what_is_read_has_no_marks() -> None:
    assert as_it_reads("# T\n\nthe **bold** `c`\nand [l](u)\n\n```\nx\n```") == "T\nthe bold c and l\nx\n"


@pytest.mark.exhaustive
async def test_addresses_are_shown_in_full_copied_and_opened_by_their_number(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in desktop(tmp_path, f'printf %s "$1" > {tmp_path}/got; exit 3').items():
        monkeypatch.setenv(name, value)
    agent = ScriptedAgent(project, [respond(f"See [the docs]({LONG}) and https://b.example.")])
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:

        async def ask() -> None:
            await pilot.press("o")
            await until(pilot, lambda: isinstance(pilot.app.screen, LinksScreen))

        async def closed() -> None:
            await until(pilot, lambda: not isinstance(pilot.app.screen, LinksScreen))

        await send(pilot, "go")
        await finished(pilot)
        conversation_of(pilot).focus()
        await ask()
        body = shown(pilot.app.screen.query_one(DialogBody))
        assert LONG in "".join(line.strip() for line in body.split("\n"))
        assert "2  https://b.example" in body
        await pilot.press("escape")
        await closed()

        await ask()
        await pilot.press("y")
        await closed()
        assert pilot.app.clipboard == f"{LONG}\nhttps://b.example"
        assert not (tmp_path / "got").exists()

        await ask()
        await pilot.press("3")
        assert isinstance(pilot.app.screen, LinksScreen)
        await pilot.press("2")
        await until(pilot, lambda: "status 3" in told(pilot))
        assert (tmp_path / "got").read_text() == "https://b.example"


async def test_an_opener_that_is_no_program_is_told(tmp_path: Path) -> None:
    environ = desktop(tmp_path, "")
    (tmp_path / "xdg-open").write_bytes(b"\x7fELF no program")
    with pytest.raises(UsageError, match="Cannot start"):
        await open_address("https://example.org", environ)

"""Makes the pictures of this folder from the running app: `python screenshots/make.py`.

A scratch project, the offline model, the real tools; the app is driven by its keys. One picture a
screen and theme, as SVG without any remote font.
"""

import asyncio
import os
import re
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.questions.panel import QuestionPanel

Drive = Callable[[Pilot[int]], Awaitable[None]]

HERE = Path(__file__).parent
SIZE = (140, 40)

FILES = {
    "README.md": "# shop\n\nA small shop.\n",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1.0"\n',
    "src/checkout/__init__.py": "",
    "src/checkout/cart.py": "class Cart:\n    def __init__(self):\n        self.items = []\n",
    "src/checkout/retry.py": (
        "import asyncio\n\nINTERVAL = 0.6\n\n\nasync def settled(gateway):\n"
        "    for attempt in range(3):\n        await asyncio.sleep(INTERVAL)\n"
        "        if gateway.answered():\n            return gateway.answer\n    return None\n"
    ),
    "tests/test_checkout.py": (
        "import unittest\n\nfrom src.checkout.retry import INTERVAL\n\n\n"
        "class Checkout(unittest.TestCase):\n    def test_interval(self):\n"
        "        self.assertLess(INTERVAL, 0.5)\n"
    ),
}

CHANGE = "replace 'INTERVAL = 0.6' with 'INTERVAL = 0.4' in src/checkout/retry.py"
TESTS = "python3 -B -m unittest tests/test_checkout.py"
KEYS = {"-": "minus", "`": "grave_accent"}

_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)


async def main() -> None:
    pictures: tuple[tuple[str, Drive, str], ...] = (
        ("main", _work, "night day"),
        ("question", _question, "night day"),
        ("review", _review, "ember chalk"),
        ("timeline", _timeline, "heath day"),
        ("recall", _recall, "fjord chalk"),
    )
    for name, drive, themes in pictures:
        for theme in themes.split():
            with tempfile.TemporaryDirectory() as scratch:
                os.environ["HOME"] = scratch
                await _picture(_project(Path(scratch)), theme, name, drive)


async def _work(pilot: "Pilot[int]") -> None:
    """A change over two turns, all done."""
    await _say(pilot, "explain src/checkout/retry.py")
    await _idle(pilot)
    await _say(pilot, f"{CHANGE} then run `{TESTS}`")
    await _idle(pilot)


async def _question(pilot: "Pilot[int]") -> None:
    """A change that waits for an answer."""
    await _say(pilot, "replace 'range(3)' with 'range(5)' in src/checkout/retry.py")
    # The answers are dim until keys count.
    while not any(
        each.check_action("answer", (True, "once")) for each in pilot.app.screen.query(QuestionPanel)
    ):
        await pilot.pause(0.05)


async def _review(pilot: "Pilot[int]") -> None:
    """What was changed, hunk by hunk."""
    await _work(pilot)
    await pilot.press("f5")
    await _shown(pilot, "INTERVAL = 0.4")


async def _timeline(pilot: "Pilot[int]") -> None:
    """The conversation as it was a few events ago."""
    await _work(pilot)
    await pilot.press("ctrl+t")
    await _shown(pilot, "1 Event")
    await pilot.press(*["left"] * 4)
    await pilot.pause(0.5)


async def _recall(pilot: "Pilot[int]") -> None:
    """Past conversations, and where what is looked for stands in them."""
    for text in ("explain README.md", "list the files", CHANGE):
        await _say(pilot, text)
        await _idle(pilot)
        await pilot.press("ctrl+n")
        await pilot.pause(0.2)
    await pilot.press("ctrl+r")
    await _shown(pilot, "List the files")
    await pilot.press(*"interval")
    await pilot.pause(1)


async def _shown(pilot: "Pilot[int]", text: str) -> None:
    """Wait until a text stands on the screen."""
    while text not in "".join(strip.text for strip in pilot.app.screen._compositor.render_strips()):
        await pilot.pause(0.05)
    await pilot.pause(0.3)


def _project(scratch: Path) -> Path:
    project = scratch / "shop"
    for name, content in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    for command in ("init -q -b main", "add .", "-c user.name=a -c user.email=a@b commit -qm start"):
        subprocess.run(["git", *command.split()], cwd=project, check=True)
    return project


async def _picture(project: Path, theme: str, name: str, drive: "Drive") -> None:
    settings = Settings(theme=theme, permissions="ask" if name == "question" else "auto")
    agent = Agent("offline", project=project, data=project.parent / "data", settings=settings)
    app = CogencyApp(agent)
    async with app.run_test(size=SIZE) as pilot:
        await drive(pilot)
        (HERE / f"{name}-{theme}.svg").write_text(_self_contained(app.export_screenshot(title="cogency-tui")))
    await agent.close()


def _self_contained(svg: str) -> str:
    """The picture without a remote font, its spaces kept by every viewer."""
    svg = _FONT_FACE.sub("", svg).replace("Fira Code", "DejaVu Sans Mono, monospace")
    return svg.replace("&#160;", " ").replace("<text ", '<text xml:space="preserve" ')


async def _say(pilot: "Pilot[int]", text: str) -> None:
    await pilot.press(*(KEYS.get(char, char) for char in text), "enter")


async def _idle(pilot: "Pilot[int]") -> None:
    """Wait until the turn is over and drawn."""
    screen = pilot.app.screen
    assert isinstance(screen, MainScreen)
    await pilot.pause(0.1)
    while screen.bridge.working:
        await pilot.pause(0.05)
    await pilot.pause(0.2)


if __name__ == "__main__":
    os.environ["COGENCY_OFFLINE_DELAY"] = "0"
    asyncio.run(main())

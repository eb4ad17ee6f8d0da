"""Images of messages: attached from files and the clipboard, and viewed."""

import asyncio
import atexit
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from mimetypes import guess_extension
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui import temporary_files
from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.protocol.image import Image
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.prompt.prompt_and_queue import PromptBox
from cogency_tui.workspace.images import LARGEST_FILE, require_sendable
from cogency_tui.workspace.paths import Location, Workspace

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent

CLIPBOARD_NAME = "clipboard.png"


class ImageCommands(FeatureCommands):
    """Attaches images to the message in the prompt of `screen`, and shows those of its conversation."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        super().__init__(screen, bridge)
        self._prompt = screen.query_one(Prompt)
        self._reading = asyncio.Lock()
        """One image at a time: a large one takes much memory."""
        self._checked: dict[tuple[Path, int, int], str] = {}
        """The problems of the files that the message mentions, by path, time of change and size; empty for an
        image that can be sent."""

    def handlers(self) -> dict[str, Handler]:
        return {"image": self.attach_named}

    def attach_named(self, path: str) -> None:
        """Attach the file at a path as it is typed, from the project's directory; without one the image in
        the clipboard."""
        from cogency_tui.tui.prompt.image_paths import unquoted

        path = unquoted(path.removeprefix("@"))
        self._prompt.attach(_located(path, self._bridge.agent.project) if path else None)

    def attach(self, path: Path | None, chip: str) -> None:
        """Insert the image of a file into the prompt in place of `chip`; without a path the image in the
        clipboard, or where that has none, text that was copied here."""
        self._screen.run_worker(partial(self._attach, path, chip), group="images")

    async def _attach(self, path: Path | None, chip: str) -> None:
        try:
            async with self._reading:
                image = await self._bridge.agent.add_image(*await _read(path))
        except CogencyError as exc:
            copied = app_of(self._screen).clipboard if path is None else ""
            self._prompt.give_back(chip, copied)
            if not copied:
                self._screen.query_one(PromptBox).complain(exc.advice)
        else:
            self._prompt.put_image(chip, image)

    def note_change(self) -> None:
        """Show which images the text of the prompt mentions, and whether the model takes any."""
        from cogency_tui.agent.image_mentions import mentioned_images

        written = self._prompt.written
        mentioned = mentioned_images(written.text) if "@" in written.text else []
        if mentioned or written.images:
            work = partial(self._remind, mentioned, bool(written.images))
            self._screen.run_worker(work, group="image-reminder", exclusive=True)
        else:
            workers: Any = self._screen.workers
            workers.cancel_group(self._screen, "image-reminder")
            self._show_reminder("")

    async def _remind(self, mentioned: Sequence[str], has_chips: bool) -> None:
        agent = self._bridge.agent
        async with self._reading:
            problems = await asyncio.to_thread(self._check, mentioned, agent.workspace)
        provider = agent.provider
        if not (problems or has_chips):
            self._show_reminder("")
        elif not provider.facts.images:
            self._show_reminder(f"{provider.model} takes no images: choose another model (F2)")
        else:
            self._show_reminder(_described(problems))

    def _check(self, mentioned: Sequence[str], workspace: Workspace) -> dict[str, str]:
        """The problems of those files that exist, of the paths that a message mentions, by their names; empty
        for an image that can be sent. Blocks."""
        checked: dict[tuple[Path, int, int], str] = {}
        problems: dict[str, str] = {}
        for path in mentioned:
            with suppress(CogencyError, OSError):
                location = workspace.locate(path)
                if location.path.is_file():
                    stat = location.path.stat()
                    version = location.path, stat.st_mtime_ns, stat.st_size
                    known = self._checked.get(version)
                    checked[version] = _problem(location, workspace) if known is None else known
                    problems[location.path.name] = checked[version]
        self._checked = checked
        return problems

    def _show_reminder(self, text: str) -> None:
        self._screen.query_one(PromptBox).remind_of_images(text)

    def view(self, images: Sequence[Image]) -> None:
        """Show images."""
        view_images(self._screen, self._bridge.agent, images)


def view_images(screen: Screen[Any], agent: "Agent", images: Sequence[Image]) -> None:
    """Show images over `screen`."""
    from cogency_tui.tui.images.viewer import ImageViewer
    from cogency_tui.tui.terminal.link_opener import opener

    can_open = opener(os.environ) is not None
    open_outside = partial(_open_outside, screen, agent) if can_open else None
    app_of(screen).push_screen(ImageViewer(images, agent.image_content, open_outside))


async def _open_outside(screen: Screen[Any], agent: "Agent", image: Image) -> None:
    """Open a copy of an image in the desktop's program, which may change it."""
    from cogency_tui.tui.terminal.link_opener import open_file

    try:
        content = await agent.image_content(image)
        await open_file(await asyncio.to_thread(_write_copy, content, image))
    except OSError as exc:
        text = f"The image cannot be written for another program: {exc.strerror}."
        screen.notify(text, severity="warning", markup=False)
    except CogencyError as exc:
        screen.notify(exc.advice, severity="error", markup=False)


def _located(path: str, project: Path) -> Path:
    """The file at a path that may begin with `~`, and is else relative to the project."""
    with suppress(RuntimeError):
        return project / Path(path).expanduser()
    return project / path


async def _read(path: Path | None) -> tuple[bytes, str]:
    """Return the content and the name of a file; without a path, those of the image in the clipboard.

    Raises:
        UsageError: it cannot be read.
    """
    if path is not None:
        return await asyncio.to_thread(_content, path), path.name
    from cogency_tui.tui.terminal.clipboard_image import read_image

    return await read_image(os.environ), CLIPBOARD_NAME


def _problem(location: Location, workspace: Workspace) -> str:
    """Why the file at a location is no image that can be sent; empty if it is one."""
    try:
        require_sendable(workspace.read_bytes(location, LARGEST_FILE), location.path.name)
    except CogencyError as exc:
        return str(exc).removesuffix(".")
    return ""


def _described(problems: Mapping[str, str]) -> str:
    """Which images go with a message, and why the others do not; `problems` as `ImageCommands._check`."""
    names = [name for name, problem in problems.items() if not problem]
    verb, what = ("goes", "as an image") if len(names) == 1 else ("go", "as images")
    going = f"{', '.join(names)} {verb} with the message {what}"
    return " · ".join([*([going] if names else []), *filter(None, problems.values())])


def _content(path: Path) -> bytes:
    """The bytes of a file; more than an image may have are not read."""
    try:
        if not path.is_file():
            raise UsageError(f"{path} is not a file.", "Check the path.")
        with path.open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}.") from exc


def _write_copy(content: bytes, image: Image) -> Path:
    """Write an image into a directory that goes with the program."""
    directory = temporary_files.make_directory("image")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    path = directory / f"image{guess_extension(image['media_type']) or '.png'}"
    path.write_bytes(content)
    return path

"""`@shot.png` in a message of the user's: the image files that it mentions are attached to it."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from posixpath import normpath

from cogency_tui.agent.images import Images
from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import Image
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.images import LARGEST_FILE, is_image_name
from cogency_tui.workspace.paths import Workspace

_MENTION = re.compile(r'(?:^|(?<=[\s(\[{<,;:=\'"]))@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s"]+))')
_AFTER = ".,;:!?)]}>'`"
"""Punctuation that may follow a path."""


def image_mentions(text: str) -> dict[str, str]:
    """Return the paths of the image files that a message mentions, by the mentions: `@PATH`, or `@"PATH"`."""
    return {mention: path for mention, path in _mentions(text) if is_image_name(path)}


def mentioned_images(text: str) -> list[str]:
    """Return the paths of image files that a message mentions, each once."""
    return list(dict.fromkeys(image_mentions(text).values()))


def stored_mentions(text: str, images: Iterable[Image]) -> dict[str, Image]:
    """Return those `images` of a stored message that its text mentions, by the mentions."""
    left, found = list(images), dict[str, Image]()
    for mention, path in image_mentions(text).items():
        image = next((each for each in left if _is_of(each, path)), None)
        if image is not None:
            found[mention] = image
            left.remove(image)
    return found


def _is_of(image: Image, path: str) -> bool:
    """Return whether an image has the name that the file at `path` gives it."""
    return f"/{normpath(path)}".endswith(f"/{image['name']}")


def _mentions(text: str) -> Iterator[tuple[str, str]]:
    for found in _MENTION.finditer(text):
        if found["quoted"]:
            yield found[0], found["quoted"]
        elif path := found["plain"].rstrip(_AFTER):
            yield f"@{path}", path


async def read_mentioned(text: str, workspace: Workspace, store: Images) -> dict[str, Image]:
    """Store the image files that a text mentions; return them by the mentions, without those that cannot be
    attached."""
    images: dict[str, Image] = {}
    for mention, path in image_mentions(text).items():
        with suppress(CogencyError):
            images[mention] = await _read(path, workspace, store)
    return images


async def attach_mentioned(
    text: str,
    images: Sequence[Image],
    workspace: Workspace,
    store: Images,
    attached: Collection[str] = (),
) -> tuple[list[Image], list[str]]:
    """Return the `images` of a message with those that its text mentions, and the notices about files that
    cannot be attached; those at the paths `attached` are among the images."""
    found, problems = list(images), list[str]()
    for path in mentioned_images(text):
        if path in attached:
            continue
        try:
            image = await _read(path, workspace, store)
        except CogencyError as error:
            problems.append(f"Not attached: {error}")
        else:
            if image["digest"] not in {each["digest"] for each in found}:
                found.append(image)
    return found, problems


async def _read(path: str, workspace: Workspace, store: Images) -> Image:
    location = await in_thread(workspace.locate, path)
    content = await in_thread(workspace.read_bytes, location, LARGEST_FILE)
    return await store.add(content, location.relative if location.inside else location.path.name)

"""`@shot.png` in a message of the user's: the image files that it mentions are attached to it."""

import re
from collections.abc import Iterator, Sequence

from cogency_tui.agent.images import Images
from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import Image
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.images import LARGEST_FILE, is_image_name
from cogency_tui.workspace.paths import Workspace

_MENTION = re.compile(r'(?:^|(?<=[\s(\[{<,;:=\'"]))@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s"]+))')
_AFTER = ".,;:!?)]}>'`"
"""Punctuation that may follow a path."""


def mentioned_images(text: str) -> list[str]:
    """Return the paths of image files that a message mentions, each once: `@PATH`, or `@"PATH"`."""
    return list(dict.fromkeys(path for path in _paths(text) if is_image_name(path)))


def _paths(text: str) -> Iterator[str]:
    for found in _MENTION.finditer(text):
        yield found["quoted"] or found["plain"].rstrip(_AFTER)


async def attach_mentioned(
    text: str, images: Sequence[Image], workspace: Workspace, store: Images
) -> tuple[list[Image], list[str]]:
    """Return the `images` of a message with those that its text mentions, and the notices about files that
    cannot be attached."""
    found, problems = list(images), list[str]()
    for path in mentioned_images(text):
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

"""Chips: short names for big pastes and images in a draft. `Written` holds the chips and what they are short
for: nothing is lost.

The chip of an image follows from the image alone, so that a stored message has its chips again.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from cogency_tui.protocol.image import Image
from cogency_tui.safe_text import one_line
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.kit.cell_text import fit_path
from cogency_tui.tui.kit.number_format import size

if TYPE_CHECKING:
    from cogency_tui.protocol.messages import ImagePart

BIG_LINES = 20
BIG_CHARACTERS = 2_000
"""Characters above which a paste is folded into a chip."""

LONGEST_NAME = 40
"""Cells of an image's name; of a longer one the beginning gives way."""


def is_big(text: str) -> bool:
    """Return whether a paste is folded."""
    return len(text) > BIG_CHARACTERS or text.count("\n") >= BIG_LINES


def chip_for(text: str, taken: Mapping[str, str]) -> str:
    """A chip name for `text` that is not `taken` by another text."""
    lines = text.count("\n") + (not text.endswith("\n"))
    what = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
    return _own(f"[pasted {what}", "]", text, taken)


def reading_chip(name: str, text: str, taken: Mapping[str, str]) -> str:
    """A chip for an image that is being read, which is not `taken` by another text: `[image shot.png …]`."""
    return _own(f"[image {fit_path(one_line(name), LONGEST_NAME)}", " …]", text, taken)


def _own(beginning: str, end: str, text: str, taken: Mapping[str, str]) -> str:
    """A chip for `text`, with a number if another text has the one without it."""
    chip, number = f"{beginning}{end}", 2
    while taken.get(chip, text) != text:
        chip = f"{beginning} #{number}{end}"
        number += 1
    return chip


def image_chip(image: Image) -> str:
    """`[image shot.png 1200×800 34 kB]`."""
    return f"[image {one_line(image['name'])} {size_of_image(image)}]"


def size_of_image(image: "Image | ImagePart") -> str:
    """`1200×800 34 kB`."""
    return f"{image['width']}×{image['height']} {size(image['size'])}"


def with_own_chip(image: Image, taken: Mapping[str, Image]) -> Image:
    """`image` under a name that fits into a chip, and whose chip is not `taken` by another image."""
    name = fit_path(one_line(image["name"]), LONGEST_NAME)
    image, number = _named(image, name), 2
    while taken.get(image_chip(image), image)["digest"] != image["digest"]:
        image = _named(image, f"{name} ({number})")
        number += 1
    return image


def image_chips(images: Iterable[Image]) -> dict[str, Image]:
    """The images of a message by their chips."""
    return {image_chip(image): image for image in images}


def as_written(text: str, images: Sequence[Image]) -> Written:
    """The text of a sent message with those of its images whose chips are in it, or that it mentions."""
    from cogency_tui.agent.image_mentions import stored_mentions

    chips = {chip: image for chip, image in image_chips(images).items() if chip in text}
    mentioned = stored_mentions(text, (image for image in images if image not in chips.values()))
    return Written(text, images={**chips, **mentioned})


def chips_in(line: str, chips: Collection[str]) -> list[tuple[int, int]]:
    """The first and last column of each of the `chips` in `line`."""
    return [found.span() for found in re.finditer(_any_of(chips), line)] if chips else []


def joined(parts: Iterable[Written]) -> Written:
    """Join all parts into one text, with a blank line between them; chips with equal names are renamed."""
    texts: list[str] = []
    pastes: dict[str, str] = {}
    images: dict[str, Image] = {}
    for part in parts:
        text, own = part.text, {chip: part.pastes[chip] for chip in part.pastes if chip in part.text}
        for chip, content in own.items():
            name = chip_for(content, pastes)
            text = text.replace(chip, name)
            pastes[name] = content
        names: dict[str, str] = {}
        for chip, image in part.images.items():
            if not _is_mention(chip) or images.get(chip, image) != image:
                image = with_own_chip(image, images)
                names[chip] = image_chip(image)
            images[names.get(chip, chip)] = image
        if names:
            text = re.sub(_any_of(names), lambda found, names=names: names[found[0]], text)
        if text.strip():
            texts.append(text)
    return Written("\n\n".join(texts), pastes, images=images)


def following(history: Sequence[Written], since: Sequence[Written]) -> list[Written]:
    """Append `since` to `history`, whose end may already contain the beginning of `since`."""
    sizes = range(min(len(history), len(since)), 0, -1)
    both = next((size for size in sizes if [*history[-size:]] == [*since[:size]]), 0)
    return [*history, *since[both:]]


def _is_mention(chip: str) -> bool:
    """Return whether a chip is what the user typed to attach an image: `@shot.png`."""
    return chip.startswith("@")


def _named(image: Image, name: str) -> Image:
    return cast("Image", {**image, "name": name})


def _any_of(chips: Collection[str]) -> str:
    return "|".join(re.escape(chip) for chip in sorted(chips, key=len, reverse=True))

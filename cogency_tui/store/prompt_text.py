"""A text of the user's with chips for its pasted parts and its images."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from cogency_tui.protocol.image import Image

_IMAGE_CHIP = re.compile(r"\[image .+? \d+×\d+ [\d.,]+ [kMG]?B\] ?")


def without_image_chips(text: str) -> str:
    """Return a text without the chips of images; one of nothing else stays as it is."""
    rest = _IMAGE_CHIP.sub("", text)
    return rest if rest.strip() else text


def with_images(text: str, images: Sequence[Image]) -> "Written":
    """Return a stored message as it was written: the chips in it are those of its images, in their order."""
    return Written(text, own=False, images=dict(zip(_IMAGE_CHIP.findall(text), images, strict=False)))


class Written(msgspec.Struct, frozen=True):
    """A text with chips for pasted parts and images; `pastes` and `images` are their contents. A prompt from
    a file is not the user's `own`."""

    text: str
    pastes: Mapping[str, str] = {}
    own: bool = True
    images: Mapping[str, Image] = {}

    @property
    def full(self) -> str:
        """Return the text with its pasted parts; the chips of images stay where they are."""
        if not self.pastes:
            return self.text
        chips = "|".join(re.escape(chip) for chip in sorted(self.pastes, key=len, reverse=True))
        return re.sub(chips, lambda found: self.pastes[found[0]], self.text)

    @property
    def attached(self) -> list[Image]:
        """Return the images whose chips are in the text, in the order of these, each content once."""
        chips = sorted((chip for chip in self.images if chip in self.text), key=self.text.index)
        return list({self.images[chip]["digest"]: self.images[chip] for chip in chips}.values())

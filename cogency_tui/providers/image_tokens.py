"""The tokens that an image counts for, by the formula that the vendor of a model documents.

Anthropic (build-with-claude/vision): an image is scaled down to a long edge and to a number of tokens, then
has one token for 750 pixels. OpenAI (guides/images-vision): the older models have tiles of 512 pixels after
scaling the short side to 768, the others patches of 32 pixels, at most so many, times a factor. Gemini
(gemini-api/docs/tokens and media-resolution): the second generation has 258 tokens for a tile, later ones
1,120 for an image. Of the others Claude's formula is near enough. A model is known by its name, whoever
serves it.
"""

import re
from collections.abc import Iterable
from math import ceil
from typing import NamedTuple

from cogency_tui.protocol.messages import ImagePart

_PIXELS_PER_TOKEN = 750
_TILE = 512
_PATCH = 32
_SQUARE = 2048
_SHORT_SIDE = 768
_GEMINI_TILE = 258
_GEMINI_SMALL = 384
_GEMINI_IMAGE = 1_120


class _Tiles(NamedTuple):
    """Tokens of an image in tiles: those of the image itself, and of each tile."""

    base: int
    tile: int


class _Patches(NamedTuple):
    """Tokens of an image in patches: the most patches, and the tokens of each."""

    most: int
    factor: float


_CLAUDE = (
    (r"claude-(?:[1-3]|(?:opus|sonnet|haiku)-4(?!\d)(?![.-][7-9]))", (1568, 1600)),
    (r"", (2576, 4784)),
)
"""Models, the long edge to which an image is scaled down, and its most tokens; the first match counts."""

_OPENAI: tuple[tuple[str, _Tiles | _Patches], ...] = (
    (r"gpt-4o-mini", _Tiles(2833, 5667)),
    (r"gpt-4o|gpt-4\.1(?!-)|gpt-4\.5|gpt-4-", _Tiles(85, 170)),
    (r"o4-mini", _Patches(1536, 1.72)),
    (r"o[13]\b", _Tiles(75, 150)),
    (r"gpt-4\.1-nano|gpt-5(?:\.\d)?-nano", _Patches(1536, 2.46)),
    (r"gpt-4\.1-mini|gpt-5(?:\.\d)?-mini", _Patches(1536, 1.62)),
    (r"gpt-5(?:\.[0-3])?(?![.\d])", _Tiles(70, 140)),
    (r"gpt-realtime", _Patches(1536, 1.0)),
    (r"gpt-", _Patches(2500, 1.0)),
)


def tokens_of_images(model: str, images: Iterable[ImagePart]) -> int:
    """Return the tokens that `model` takes for all these images."""
    return sum(image_tokens(model, image["width"], image["height"]) for image in images)


def image_tokens(model: str, width: int, height: int) -> int:
    """Return the tokens that `model` takes for an image of this size in pixels."""
    name = model.lower().rpartition("/")[2]
    if name.startswith("gemini"):
        return _gemini(name, width, height)
    rule = next((rule for pattern, rule in _OPENAI if re.match(pattern, name)), None)
    if isinstance(rule, _Tiles):
        return _tiles(rule, width, height)
    if isinstance(rule, _Patches):
        return _patches(rule, width, height)
    return _claude(name, width, height)


def _claude(name: str, width: int, height: int) -> int:
    edge, most = next(limits for pattern, limits in _CLAUDE if re.search(pattern, name))
    scale = min(1.0, edge / max(width, height))
    return max(1, min(most, ceil(width * height * scale**2 / _PIXELS_PER_TOKEN)))


def _tiles(rule: _Tiles, width: int, height: int) -> int:
    scale = min(1.0, _SQUARE / max(width, height))
    scale *= min(1.0, _SHORT_SIDE / (min(width, height) * scale))
    return rule.base + rule.tile * ceil(width * scale / _TILE) * ceil(height * scale / _TILE)


def _patches(rule: _Patches, width: int, height: int) -> int:
    scale = min(1.0, _SQUARE / max(width, height))
    count = ceil(width * scale / _PATCH) * ceil(height * scale / _PATCH)
    return ceil(min(count, rule.most) * rule.factor)


def _gemini(name: str, width: int, height: int) -> int:
    if not re.match(r"gemini-[12]\b", name):
        return _GEMINI_IMAGE
    if max(width, height) <= _GEMINI_SMALL:
        return _GEMINI_TILE
    tile = min(max(256, min(width, height) // 1.5), _SHORT_SIDE)
    return _GEMINI_TILE * ceil(width / tile) * ceil(height / tile)

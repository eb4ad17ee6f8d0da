"""The optional parts of a request that an endpoint refuses: it is asked again without them.

Each has one name for all wires, whatever the vendor calls it; a wire leaves out what was refused before.
"""

import re
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from cogency_tui.errors import BadRequestError
from cogency_tui.providers.base import EffortRefused, Notice, Options
from cogency_tui.providers.endpoint import Endpoint, Reported

EFFORT = "effort"
"""Common name of the parameters that set how hard a model thinks, for a refusal."""

THINKING = "thinking"
"""Common name of the parameters that request thinking or summaries of it, for a refusal."""

RETURNED_REASONING = "returned reasoning"
"""Name of the reasoning of earlier answers in a request, for a refusal: what precedes it may have changed, or
another key may have been used for it."""

TIER = "service_tier"
"""Name of the parameters for a class of service, for a refusal."""

CALL_IDS = "call ids"
"""Name of the ids of calls in a history, for a refusal."""

LIFETIME = "cache lifetime"
"""Name of the parameter for the longer lifetime of entries of the vendor's cache, for a refusal."""

EAGER_INPUT = "eager_input_streaming"
"""Name of the field of tools by which the arguments of their calls arrive as they are written."""

IMAGES = "images"
"""Name of the images in a history, for a refusal."""


_REFUSAL = re.compile(
    r"unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|invalid"
    r"|input should be|not a valid",
    re.IGNORECASE,
)
_NO_THINKING = re.compile(
    r"(?=.*(thinking|include_?thoughts))"
    r"(?=.*(not (supported|enabled|configurable)|only enabled|unknown name|must start with a thinking"
    r"|restricted to true))",
    re.IGNORECASE | re.DOTALL,
)
_NO_EFFORT = re.compile(
    r"does not support (thinking|reasoning)\b|\bnot support(ed)?\b.{0,60}\breasoning_?effort\b"
    r"|not support\w* (the )?[\"'`]?effort",
    re.IGNORECASE,
)
"""Refusals of an effort that do not quote the parameter, of Ollama, xAI and Anthropic."""
_NO_RETURNED_THINKING = re.compile(r"messages\.\d+\.content\.\d+\b.*\bthinking\b", re.IGNORECASE | re.DOTALL)
"""Anthropic's refusal of a signature, or of changes to thinking or before it."""
_NO_LEVEL = re.compile(
    r"(?=.*thinking[ _]?(level|budget))(?=.*(not (supported|allowed)|unsupported|unknown name|invalid))",
    re.IGNORECASE | re.DOTALL,
)
_BAD_SIGNATURE = re.compile(
    r"\b(invalid|corrupted) thought[ _]signature|thought[ _]signature is not valid", re.IGNORECASE
)
"""Gemini's refusal of a signature that another key or endpoint gave."""

_NO_CALL_IDS = re.compile(r"unknown name \\?\"id\\?\" at '?contents\b.*\bfunction", re.IGNORECASE)
"""Refusal of the ids of calls, by servers of an older version of Gemini's wire."""

_NO_LIFETIME = re.compile(
    r"(?=.*\bcache_control\b)(?=.*\bttl\b)"
    r"(?=.*(not (permitted|supported|allowed)|unexpected|unknown|unsupported|invalid|input should be))",
    re.IGNORECASE | re.DOTALL,
)
_NO_EAGER_INPUT = re.compile(r"\beager_input_streaming\b")

_NO_IMAGES = re.compile(
    r"(?=.*\b(images?|image_url|vision|multi-?modal)\b)"
    r"(?=.*(not (a |currently )?(support|multi)|only supported|does ?n[o']t support|cannot|could not|unable"
    r"|unknown variant|unexpected|invalid|missing|exceed|too large|must be a string))",
    re.IGNORECASE | re.DOTALL,
)
"""Refusals of images, by models and servers that take none, or not this one."""

_OPTIONAL: Mapping[str, str] = {
    "stream_options": "stream_options",
    "reasoning_effort": EFFORT,
    "reasoning.effort": EFFORT,
    "reasoning.summary": "reasoning.summary",
    "reasoning.context": "reasoning.context",
    "reasoning": "reasoning",
    "reasoning_split": "reasoning_split",
    "include": "include",
    "prompt_cache_key": "prompt_cache_key",
    "service_tier": TIER,
    "diagnostics": "diagnostics",
    "prompt_cache_options.ttl": LIFETIME,
    "prompt_cache_options": "prompt_cache_options",
    "anthropic-version": "anthropic-version",
    "anthropic-beta": "anthropic-beta",
    "output_config": EFFORT,
    "thinking": THINKING,
    "enable_thinking": THINKING,
    "serviceTier": TIER,
}
"""Optional parameters, the more specific first, and their names in `refused`: an endpoint that refuses one is
asked again without it."""

_REFUSALS = (
    (_BAD_SIGNATURE, RETURNED_REASONING),
    (_NO_CALL_IDS, CALL_IDS),
    (_NO_LEVEL, EFFORT),
    (_NO_THINKING, THINKING),
    (_NO_RETURNED_THINKING, RETURNED_REASONING),
    (_NO_EFFORT, EFFORT),
    (_NO_LIFETIME, LIFETIME),
    (_NO_EAGER_INPUT, EAGER_INPUT),
    (_NO_IMAGES, IMAGES),
)
"""Refusals that do not name their parameter."""


class UnsupportedParameterError(BadRequestError):
    """The endpoint does not accept the optional parameter `param`; the request works without it."""

    def __init__(self, message: str, hint: str, param: str) -> None:
        super().__init__(message, hint)
        self.param = param


def without_refused(options: Options, refused: Collection[str]) -> Options:
    """Return the options without an effort or a tier that the model refused before, though it may accept
    another, and without images if it refused these."""
    if IMAGES in refused:
        options = replace(options, read_image=None)
    if _level(options) in refused:
        options = replace(options, effort=None)
    return replace(options, tier="") if _tier(options) in refused else options


def refused_name(refusal: UnsupportedParameterError, options: Options) -> str:
    """Return the name in `refused` of what a request with these options was refused for. Of the efforts and
    the tiers it is that one alone."""
    if refusal.param == TIER and options.tier:
        return _tier(options)
    return _level(options) if refusal.param == EFFORT and options.effort else refusal.param


def notice_of_refusal(
    refusal: UnsupportedParameterError, options: Options, endpoint: Endpoint
) -> Notice | None:
    """Return the notice for what the user has chosen or attached and the model refuses; None for the rest."""
    model, instead = endpoint.model, "Its own default applies instead."
    if refusal.param in (EFFORT, THINKING) and options.effort is not None:
        effort = options.effort
        return EffortRefused(f"{model} does not accept the reasoning effort {effort}. {instead}", effort)
    if refusal.param == TIER and options.tier:
        return Notice(f"{model} does not accept the service tier {options.tier}. {instead}")
    if refusal.param == IMAGES:
        return Notice(
            f"{refusal} {model} is sent no images from now on. If it takes none, set images = false under "
            f"[providers.{endpoint.name}]."
        )
    return None


def _level(options: Options) -> str:
    return f"{EFFORT} {options.effort}"


def _tier(options: Options) -> str:
    return f"{TIER} {options.tier}"


def refused_parameter(reported: Reported) -> str:
    """Return the name of the optional part that an endpoint refuses; empty where it is none."""
    for refusal, name in _REFUSALS:
        if refusal.search(reported.message):
            return name
    if "invalid_encrypted_content" in reported.code:
        # Only the organisation whose key was used for it can have it decrypted.
        return RETURNED_REASONING
    refused = _REFUSAL.search(reported.message) or "unsupported" in reported.code
    named = (name for param, name in _OPTIONAL.items() if _is_named(param, reported))
    return next(named, "") if refused else ""


def _is_named(param: str, reported: Reported) -> bool:
    """Return whether an error names a parameter: in quotes or as a heading, because any message may contain
    the word "reasoning"."""
    words = re.escape(param)
    in_message = re.search(rf"[\"'`]{words}\b|^{words}[.:]", reported.message)
    return reported.param.startswith(param) or in_message is not None

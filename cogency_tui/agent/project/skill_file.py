"""The format of `SKILL.md`: YAML front matter, and the instructions (https://agentskills.io/specification).

Invariant: a value of the front matter is text, a list or a table of text: no tag is resolved, no alias is
followed, and number and depth of values are limited. What a file has against the format is a warning where
the skill can still be used, as with other agents.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from cogency_tui.safe_text import clean, one_line, visible

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024

_LARGEST_FRONT_MATTER = 64 << 10
_MOST_VALUES = 2_000
_DEEPEST = 8

_NAME = re.compile(r"\w[\w.-]{0,63}")
_PROPER_NAME = re.compile(r"[^\W_A-Z]+(?:-[^\W_A-Z]+)*")
_LINE = re.compile(r"([A-Za-z][\w-]*):(?: (.*))?")
_TRUE = frozenset(("true", "yes", "on"))

Value: TypeAlias = "str | list[Value] | dict[str, Value]"


class SkillFile(msgspec.Struct, frozen=True):
    """What a `SKILL.md` says. `hidden` skills are for the user alone to start, and those that are not
    `invocable` for the model alone. `warnings` are what it has against the format.
    """

    name: str
    description: str
    text: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    hidden: bool = False
    invocable: bool = True
    warnings: tuple[str, ...] = ()


def read_skill_file(data: bytes, folder: str) -> SkillFile:
    """Parse the `SKILL.md` of the directory called `folder`.

    Raises:
        ValueError: the skill cannot be used.
    """
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise ValueError(f"it is not UTF-8 (at byte {exc.start})") from exc
    text = visible(clean(text))
    warnings: list[str] = []
    keys, body = _split(text, warnings)
    return SkillFile(
        _name(keys.get("name"), folder, warnings),
        _description(keys.get("description"), body, warnings),
        body,
        _line(keys.get("license")),
        _line(keys.get("compatibility")),
        _line(keys.get("allowed-tools")),
        _is_true(keys.get("disable-model-invocation"), default=False),
        _is_true(keys.get("user-invocable"), default=True),
        tuple(warnings),
    )


def _split(text: str, warnings: list[str]) -> tuple[Mapping[str, Value], str]:
    """The keys of the front matter, and the text after it."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        warnings.append("it has no front matter")
        return {}, text.strip()
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if not end:
        raise ValueError("its front matter is not closed by a line ---")
    block = "\n".join(lines[1:end])
    if len(block) > _LARGEST_FRONT_MATTER:
        raise ValueError(f"its front matter has more than {_LARGEST_FRONT_MATTER >> 10} KB")
    return _keys(block, warnings), "\n".join(lines[end + 1 :]).strip()


def _keys(block: str, warnings: list[str]) -> Mapping[str, Value]:
    # Loaded where there is a skill; a YAML parser is otherwise not needed.
    import yaml

    try:
        return _mapping(block)
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        # The front matter begins in the second line of the file.
        place = f" (line {mark.line + 2})" if mark is not None else ""
        warnings.append(f"its front matter is no valid YAML{place}, and is read line by line")
        return dict(_by_lines(block))


def _mapping(block: str) -> dict[str, Value]:
    """Parse YAML whose top level is a mapping.

    Raises:
        yaml.YAMLError: it is no YAML.
        ValueError: it is something else, has an alias, or too many or too deep values.
    """
    import yaml

    # Its types are incomplete there.
    events: Iterator[yaml.Event] = cast("Any", yaml).parse(
        block, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    containers: list[list[Value] | dict[str, Value]] = []
    keys: list[str | None] = []
    root: Value = {}
    for count, event in enumerate(events):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("its front matter has an alias (*), which is not supported")
        if count > _MOST_VALUES or len(containers) > _DEEPEST:
            raise ValueError("its front matter has too many values, or too deep ones")
        if isinstance(event, yaml.CollectionEndEvent):
            containers.pop()
            keys.pop()
            continue
        value: Value
        if isinstance(event, yaml.ScalarEvent):
            value = event.value
        elif isinstance(event, yaml.MappingStartEvent):
            value = {}
        elif isinstance(event, yaml.SequenceStartEvent):
            value = []
        else:
            continue
        if not containers:
            root = value
        elif isinstance(top := containers[-1], list):
            top.append(value)
        elif keys[-1] is None:
            # A key that is a collection has no use here.
            keys[-1] = value if isinstance(value, str) else ""
        else:
            top[keys[-1]] = value
            keys[-1] = None
        if not isinstance(value, str):
            containers.append(value)
            keys.append(None)
    if not isinstance(root, dict):
        if root == "":
            return {}
        raise ValueError("its front matter is not a list of keys")
    return root


def _by_lines(block: str) -> Iterator[tuple[str, Value]]:
    """The keys at the beginning of a line, each with the text up to the next one: other agents accept a
    value with a colon that is not quoted.
    """
    found: dict[str, list[str]] = {}
    parts: list[str] = []
    for line in block.split("\n"):
        if match := _LINE.fullmatch(line.rstrip()):
            value = (match[2] or "").strip()
            parts = found.setdefault(match[1], [])
            parts[:] = [] if value in (">", "|", ">-", "|-", ">+", "|+") else [value]
        elif line[:1].isspace():
            parts.append(line.strip())
    for key, pieces in found.items():
        yield key, " ".join(pieces).strip().strip("\"'")


def _name(given: "Value | None", folder: str, warnings: list[str]) -> str:
    name = unicodedata.normalize("NFC", given.strip()) if isinstance(given, str) else ""
    own = unicodedata.normalize("NFC", folder)
    if not _NAME.fullmatch(name):
        if name or given is not None:
            warnings.append(f'its name "{_cut(one_line(name))}" is invalid: that of its directory is used')
        else:
            warnings.append("it has no name: that of its directory is used")
        name = own
        if not _NAME.fullmatch(name):
            raise ValueError("its name has other characters than letters, digits, -, _ and .")
    elif name != own:
        warnings.append("its name is not that of its directory")
    if not _PROPER_NAME.fullmatch(name):
        warnings.append("its name has other characters than lowercase letters, digits and single -")
    return name


def _description(given: "Value | None", body: str, warnings: list[str]) -> str:
    text = _line(given)
    if not text:
        # As Claude Code does.
        paragraphs = (part for part in re.split(r"\n\s*\n", body) if not part.lstrip().startswith("#"))
        text = _line(next((part for part in paragraphs if part.strip()), ""))
        if not text:
            raise ValueError("it has no description")
        warnings.append("it has no description: its first paragraph is used")
        return text[:LONGEST_DESCRIPTION]
    if len(text) > LONGEST_DESCRIPTION:
        warnings.append(f"its description has {len(text):,} characters: {LONGEST_DESCRIPTION:,} are used")
    return text[:LONGEST_DESCRIPTION]


def _line(value: "Value | None") -> str:
    """A value as one line without invisible characters, which could hide orders."""
    if isinstance(value, list):
        value = " ".join(each for each in value if isinstance(each, str))
    if not isinstance(value, str):
        return ""
    return " ".join(visible(clean(value)).split())


def _is_true(value: "Value | None", *, default: bool) -> bool:
    return value.strip().casefold() in _TRUE if isinstance(value, str) and value.strip() else default


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"

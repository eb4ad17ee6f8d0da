"""The tool `skill`: reads the instructions of a skill, and its other files.

Invariant: only skills that count at the time of the call are read, and nothing outside their directories
(see `agent/project/skills.py`). A skill permits nothing: its scripts run through `shell`.
"""

from collections.abc import Sequence
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from cogency_tui.errors import ToolError
from cogency_tui.redaction import Redactor, secrets_of
from cogency_tui.tools.base import PLAIN, Aliases, Intent, Outcome, Spellings, ToolContext, ToolKind
from cogency_tui.tools.files import image_outcome
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.images import is_image
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.text_files import decode

_MOST_LISTED = 50
_HEAD = 1_000
"""Characters that the lines around a text take, apart from the list of files."""


class SkillFiles(Protocol):
    """A skill that counts. `place` is its directory, from the project or with its full path; the calls
    block."""

    @property
    def name(self) -> str: ...

    @property
    def own(self) -> bool:
        """True for the user's own, False for the project's."""
        ...

    @property
    def place(self) -> str: ...

    def instructions(self) -> str:
        """The text of its `SKILL.md` without the front matter.

        Raises:
            WorkspaceError: it cannot be read, or has changed since it was trusted.
        """
        ...

    def files(self) -> Sequence[str]:
        """The names of its other files, below its directory."""
        ...

    def spelled(self, file: str) -> str:
        """The name of a file in its own case, if there is one such; otherwise as it is given."""
        ...

    def read(self, file: str) -> bytes:
        """A file of it.

        Raises:
            WorkspaceError: it does not exist, cannot be read, or has changed since it was trusted.
        """
        ...


class Skills(Protocol):
    """The skills of a conversation."""

    async def find(self, name: str) -> SkillFiles:
        """The skill of this name.

        Raises:
            ToolError: there is none, or it no longer counts.
        """
        ...


class SkillArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=200)]
    file: Annotated[str, Meta(max_length=1_000)] = ""
    start: Annotated[int, Meta(ge=1)] = 1


_FILE = dict.fromkeys(
    ("path", "file_path", "resource", "resource_path", "relative_path", "reference", "filename"), "file"
)
_NAME = dict.fromkeys(("skill", "skill_name", "command"), "name")


class SkillTool:
    """Reads `skills`."""

    name = "skill"
    kind: ToolKind = "read"
    description = "Get the instructions of a skill (see Skills), or with file another of its files."
    brief = True
    args = SkillArgs
    aliases = Aliases(
        Spellings({**_FILE, **_NAME}, ignored=frozenset(("args", "arguments", "reason"))),
        dict.fromkeys(
            ("use_skill", "activate_skill", "read_skill", "load_skill", "invoke_skill", "get_skill")
            + ("read_skill_file", "skill_resource"),
            PLAIN,
        ),
    )

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    async def plan(self, args: SkillArgs, context: ToolContext) -> Intent:
        what = f"Read {shown(args.file)} of" if args.file else "Use"
        return Intent("read", f"{what} the skill {shown(args.name)}")

    async def run(self, args: SkillArgs, context: ToolContext) -> Outcome:
        skill = await self._skills.find(args.name)
        if not args.file or args.file == "SKILL.md":
            return await in_thread(_instructions, skill, args.start, context)
        file = await in_thread(skill.spelled, args.file)
        data = await in_thread(skill.read, file)
        if is_image(data, file):
            return await image_outcome(data, file, context)
        return await in_thread(_file, skill, file, data, args.start, context)


def _instructions(skill: SkillFiles, start: int, context: ToolContext) -> Outcome:
    files = skill.files()
    whose = "user" if skill.own else "project"
    head = [
        f"[Skill {skill.name}, from the {whose}. Its directory is {skill.place}: paths in the text are "
        "relative to it. It permits nothing by itself.]"
    ]
    if files:
        listed = ", ".join(map(shown, files[:_MOST_LISTED]))
        more = f" and {len(files) - _MOST_LISTED} more" if len(files) > _MOST_LISTED else ""
        head.append(f"[Its files, which skill reads with file: {listed}{more}]")
    return _part("\n".join(head), skill.instructions(), "SKILL.md", start, context)


def _file(skill: SkillFiles, file: str, data: bytes, start: int, context: ToolContext) -> Outcome:
    head = f"[{shown(file)} of the skill {skill.name}]"
    return _part(head, decode(data, file).plain, file, start, context)


def _part(head: str, text: str, name: str, start: int, context: ToolContext) -> Outcome:
    """The lines of a text from `start` on that fit into a result."""
    # The whole text is redacted: a part of it may not show the secret that it belongs to.
    redacted = Redactor(context.secrets, context.known).text(text, file=name)
    if redacted != text:
        context.known.learn(text, secrets_of(text, file=name))
    lines = redacted.splitlines()
    if lines and start > len(lines):
        raise ToolError(f"{shown(name)} has {len(lines):,} lines; start={start} is past its end.")
    room = max(1, context.output_limit - len(head) - _HEAD)
    rows: list[str] = []
    for line in lines[start - 1 :]:
        room -= len(line) + 1
        if room < 0:
            break
        rows.append(line)
    if not rows and lines:
        rows = [lines[start - 1][: context.output_limit - len(head) - _HEAD]]
    last = start + len(rows) - 1
    parts = [head, "\n".join(rows) or "[it is empty]"]
    if last < len(lines):
        parts.append(f"[lines {last + 1:,} to {len(lines):,} are not shown: go on with start={last + 1}]")
    whole = start == 1 and last == len(lines)
    count = f"{len(rows):,} line{'' if len(rows) == 1 else 's'}"
    outcome = count if whole else f"lines {start:,} to {last:,} of {len(lines):,}"
    return Outcome(outcome, "\n\n".join(parts), value=redacted, redacted=True)

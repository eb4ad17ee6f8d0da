"""Parts of plans: batches of calls out, their results in, an answer at the end.

A plan is a generator that depends only on its input, and that ends by itself: no result determines the
length of a loop.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from cogency_tui.providers.offline import results
from cogency_tui.providers.offline.file_outlines import listed
from cogency_tui.providers.offline.message_reader import CompletedCall, PlannedCall, Result
from cogency_tui.providers.offline.wire import Reply, code, fence


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The end of a plan. `ok` states whether the request was carried out."""

    text: str
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Past:
    """The past of a request: all steps in order, and whether `recall` is available."""

    steps: Sequence[CompletedCall]
    can_recall: bool


Plan: TypeAlias = Generator[Reply, list[Result], PlanResult]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was requested as `asked` and read at `path`, or the reason why not."""

    asked: str
    path: str
    result: Result
    candidates: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Note on another path than the requested one, where that is so."""
        if self.path == self.asked:
            return ""
        return f"There is no {code(self.asked)}; I used the only file with that name, {code(self.path)}.\n\n"

    @property
    def failure(self) -> str:
        """Reason why the file could not be read."""
        if self.candidates:
            return f"There is no {code(self.asked)}. Did you mean {listed(self.candidates)}?"
        if results.is_missing(self.result):
            return f"There is no {code(self.asked)}, and no other file has that in its name."
        return f"I could not read {code(self.asked)}: {code(results.reason(self.result))}"


def fetch(
    files: Sequence[str], why: str, extra: dict[str, Any] | None = None
) -> Generator[Reply, list[Result], list[Fetched]]:
    """Read files in one batch; search for missing ones by name, and read the only match."""
    read = yield Reply(why, [PlannedCall("read", {"file": file} | (extra or {})) for file in files])
    fetched = [Fetched(file, file, result) for file, result in zip(files, read, strict=True)]
    missing = [each for each in fetched if results.is_missing(each.result)]
    if not missing:
        return fetched
    found = yield Reply(
        f"{_names(missing)} cannot be read, so I search for it by name.",
        [PlannedCall("find", {"pattern": f"*{_base(each.asked)}*"}) for each in missing],
    )
    matches = {each.asked: _matches(each.asked, result) for each, result in zip(missing, found, strict=True)}
    single = [(asked, paths[0]) for asked, paths in matches.items() if len(paths) == 1]
    again: dict[str, Fetched] = {}
    if single:
        read = yield Reply(
            f"There is exactly one match, {', '.join(path for _asked, path in single)}; I read that.",
            [PlannedCall("read", {"file": path} | (extra or {})) for _asked, path in single],
        )
        again = {
            asked: Fetched(asked, path, result) for (asked, path), result in zip(single, read, strict=True)
        }
    return [
        again.get(each.asked)
        or Fetched(each.asked, each.path, each.result, tuple(matches.get(each.asked, ())))
        for each in fetched
    ]


def shown(text: str, most: int, language: str = "", *, tail: bool = False) -> str:
    """Fence the first `most` lines, or the last, with the number of lines left out."""
    lines = text.split("\n")
    if len(lines) <= most:
        return fence(text, language)
    shown_lines = lines[-most:] if tail else lines[:most]
    beside = f"({len(lines) - most:,} {'earlier' if tail else 'more'} lines not shown)"
    return f"{fence(chr(10).join(shown_lines), language)}\n{beside}"


def _matches(asked: str, result: Result) -> list[str]:
    if not result.ok:
        return []
    base = _base(asked)
    exact = results.paths(result, base)
    return exact if len(exact) == 1 else results.paths(result, f"*{base}*")


def _base(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


def _names(fetched: Sequence[Fetched]) -> str:
    return ", ".join(each.asked for each in fetched)

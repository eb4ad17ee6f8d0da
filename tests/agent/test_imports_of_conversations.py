"""What an import accepts can be listed, searched, exported, reviewed, gone through and shown to the model; what
it does not accept is refused with the line and the reason; and what it changes asks first."""

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.export import as_markdown, as_page
from cogency_tui.agent.review.model import Target
from cogency_tui.cli.conversations import list_conversations, show_conversation, show_tree
from cogency_tui.cli.edits import Choice, Consent, EditCommands
from cogency_tui.errors import CogencyError, ConsentError, UsageError
from cogency_tui.store.edits import Edits

Record = dict[str, Any]

ID = "1k82j2r6g497dcko"
OURS = b"ours\n"
DIGEST = hashlib.sha256(OURS).hexdigest()


def conversation(project: str, **more: Any) -> Record:
    return {
        "conversation": {
            **{"id": ID, "project": project, "title": "t", "dialect": "xml", "provider": "offline"},
            **{"model": "m", "created": 1.0, "updated": 2.0, "turns": 1, "tokens": 0, "cost": 0.0},
            **more,
        }
    }


def event(number: int, **fields: Any) -> Record:
    return {"event": {"timestamp": 1.0, **fields}, "number": number}


def user(number: int, content: str = "hello") -> Record:
    return event(number, type="user", content=content)


def content(data: bytes = OURS) -> Record:
    digest = hashlib.sha256(data).hexdigest()
    return {"content": digest, "size": len(data), "data": base64.b64encode(data).decode()}


def side(which: str, kind: str, digest: str = "", size: int = 0, mode: int = 0) -> Record:
    fields = {"kind": kind, "digest": digest, "size": size, "mode": mode}
    return {f"{which}_{name}": value for name, value in fields.items()}


def edit(project: str, id: int = 1, **more: Any) -> Record:
    return {
        "edit": {
            **{"id": id, "conversation": ID, "caller": ID, "turn": 1, "project": project, "call": "c"},
            **{"tool": "write", "path": "a.py", "old_path": "", "made": "", "kind": "changed"},
            **{"timestamp": 1.0, "undoes": "[]"},
            **side("before", "file", DIGEST, len(OURS), 0o644),
            **side("after", "absent"),
            **more,
        }
    }


def usage(**more: Any) -> Record:
    names = ("input", "output", "duration", "cached", "billed_input", "replay_input", "cost")
    return {"usage": {"timestamp": 1.0, "body": "{}", **dict.fromkeys(names), **more}}


def lines(*records: Record) -> list[str]:
    head = {"format": "cogency-tui conversation", "version": 1}
    return [json.dumps(each) for each in (head, *records)]


def agent_in(project: Path) -> Agent:
    return Agent("offline", project=project, data=project.parent / "data")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = Path(os.path.realpath(tmp_path)) / "project"
    directory.mkdir()
    return directory


REFUSED: dict[str, Callable[[str], tuple[Record, str]]] = {
    "an absolute path": lambda p: (edit(p, path="/etc/cron.d/x"), "not a plain path"),
    "a path above": lambda p: (edit(p, path="../x"), "not a plain path"),
    "a path that goes up and down": lambda p: (edit(p, path="a/../b"), "not a plain path"),
    "git's own": lambda p: (edit(p, path="src/.GIT/hooks/pre-commit"), "not a plain path"),
    "git's own by another spelling": lambda p: (edit(p, path=".g\u200cit/config"), "not a plain path"),
    "a NUL": lambda p: (edit(p, path="a\0b"), "not a plain path"),
    "a control character": lambda p: (edit(p, path="a\x1b[2Jb"), "not a plain path"),
    "a lone surrogate": lambda p: (edit(p, path="a\ud800b"), "not a plain path"),
    "a long name": lambda p: (edit(p, path="a" * 300), "not a plain path"),
    "the old name outside": lambda p: (edit(p, old_path="/etc/x"), "not a plain path"),
    "a directory made outside": lambda p: (edit(p, made="/etc"), "not a plain path"),
    "a directory made elsewhere": lambda p: (edit(p, made="other"), "not above the path"),
    "another project": lambda p: (edit("/"), "another project"),
    "a kind of file": lambda p: (edit(p, before_kind="device"), "before_kind"),
    "a digest": lambda p: (edit(p, before_digest="../../x"), r"`\$.before_digest` is not a digest"),
    "half a character": lambda p: (edit(p, before_kind="\ud800"), r"half a character \(a lone surrogate\)"),
    "no base64": lambda p: ({**content(), "data": "\ud800"}, "its data is not base64"),
    "another size": lambda p: (edit(p, before_size=7), "size of a side is 7"),
    "a mode": lambda p: (edit(p, before_mode=-1), "before_mode"),
    "a content of nothing": lambda p: (edit(p, after_size=3), "absent, but has content"),
    "an odd undoing": lambda p: (edit(p, undoes='[["x", 1]]'), "int"),
    "a mark of nothing": lambda p: ({"mark": [9, "", "kept", "", 1.0]}, "9 is missing"),
    "an odd mark": lambda p: ({"mark": [1, "", "spell", "", 1.0]}, "Invalid enum value 'spell'"),
    "a negative time": lambda p: (event(9, type="user", content="x", timestamp=-1.0), ">= 0"),
    "an endless time": lambda p: (event(9, type="user", content="x", timestamp=float("inf")), "not a number"),
    "a number as a name": lambda p: (event(9, type="think", content="x", id=5), r"\$.id"),
    "a huge number": lambda p: (event(1 << 70, type="user", content="x"), "not a number that can be stored"),
    "not a number": lambda p: ({"event": {"type": "user", "timestamp": 1.0, "content": "x"}}, "'number' is"),
    "tokens without end": lambda p: (usage(input=1 << 62), "input"),
    "a cost that is none": lambda p: (usage(cost=float("nan")), "NaN is not a number"),
    "a measure that is none": lambda p: (usage(body='{"cost": 1e999}'), "not a number that can be stored"),
    "a list as a measure": lambda p: (usage(body="[]"), "object"),
    "other bytes": lambda p: ({**content(b"x"), "content": DIGEST}, "does not match its digest"),
    "a link into nothing": lambda p: (
        edit(p, **side("before", "link", hashlib.sha256(b"a\0b").hexdigest(), 3)),
        "not the target of a symbolic link",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_no_export_says_is_refused_with_its_line_and_why(name: str, project: Path) -> None:
    damaged, why = REFUSED[name](str(project))
    before = [conversation(str(project)), user(1), content(), content(b"a\0b")]
    async with agent_in(project) as agent:
        with pytest.raises(UsageError, match=f"(?s)^Line 6 has the wrong form: .*{why}.*\\.$") as caught:
            await agent.recall.import_lines(lines(*before, damaged))
        assert "Export it again" in caught.value.hint
        assert await (await agent.store()).count() == 0


@pytest.mark.parametrize(
    "more",
    [{"project": "relative"}, {"project": "/a/../b"}, {"cost": -1.0}, {"turns": -1}, {"title": "x" * 5000}],
)
async def test_an_odd_conversation_is_refused(more: Record, project: Path) -> None:
    async with agent_in(project) as agent:
        with pytest.raises(UsageError, match="Line 2 has the wrong form"):
            await agent.recall.import_lines(lines(conversation(**{"project": str(project), **more})))


@pytest.mark.parametrize(
    ("line", "why"),
    [("{", "it is not JSON"), ("[" * 100_000, "it is nested too deeply"), ("[]", "it is not a JSON object")],
)
async def test_what_is_no_object_of_json_is_refused_in_words(line: str, why: str, project: Path) -> None:
    async with agent_in(project) as agent:
        with pytest.raises(UsageError, match=f"^Line 3 has the wrong form: {why}\\.$"):
            await agent.recall.import_lines([*lines(conversation(str(project))), line])


async def test_what_is_nested_too_deeply_is_refused(project: Path) -> None:
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    payload = {"outcome": "o", "content": deep, "error": False, "state": "done"}
    result = event(1, type="result", id="c", tool="x", duration=0.1, payload=payload)
    async with agent_in(project) as agent:
        with pytest.raises(UsageError, match="nested more than 100 levels deep"):
            await agent.recall.import_lines(lines(conversation(str(project)), result))


async def test_sub_agents_of_sub_agents_without_end_are_refused(project: Path) -> None:
    below = [
        conversation(str(project), id=f"x{n}", parent=f"x{n - 1}" if n else ID, call="c") for n in range(150)
    ]
    async with agent_in(project) as agent:
        with pytest.raises(UsageError, match=r"Line 103 .*nested more than 100 levels deep"):
            await agent.recall.import_lines(lines(conversation(str(project)), *below))


async def test_a_time_of_the_future_counts_as_now_and_an_odd_id_is_given_anew(project: Path) -> None:
    far = conversation(str(project), id="../../x", updated=4e9, created=5e9)
    async with agent_in(project) as agent:
        ours = await (await agent.store()).create_conversation(
            str(project), dialect="xml", provider="offline", model="m"
        )
        found = await agent.recall.import_lines(lines(far, event(1, type="user", content="x", timestamp=4e9)))
        assert found.imported
        assert found.id != "../../x"
        assert found.created <= found.updated
        assert found.updated - ours.updated < 600
        [only] = await (await agent.store()).events(found.id)
        assert only["timestamp"] - ours.updated < 600


async def test_the_review_that_another_model_was_told_of_hides_none_of_here(project: Path) -> None:
    told = event(1, type="user", content="x", review={"text": "t", "action": 10**9, "edit": 10**9})
    async with agent_in(project) as agent:
        found = await agent.recall.import_lines(lines(conversation(str(project)), told))
        [only] = await (await agent.store()).events(found.id)
        assert only["type"] == "user"
        assert only.get("review") == {"text": "t", "action": 0, "edit": 0}


async def imported_edit(agent: Agent, **more: Any) -> str:
    records = [conversation(str(agent.project)), user(1), content(), edit(str(agent.project), **more)]
    return (await agent.recall.import_lines(lines(*records))).id


async def test_no_edit_of_an_imported_conversation_is_applied_without_a_question(project: Path) -> None:
    async with agent_in(project) as agent:
        id = await imported_edit(agent, before_mode=0o4755)
        undo = await agent.undo(id)
        plan = await undo.of_turn()
        with pytest.raises(ConsentError, match=r"imported conversation would change a\.py"):
            await undo.apply(plan, for_good=True)
        review = agent.review(id)
        with pytest.raises(ConsentError, match=r"a\.py"):
            await review.revert(Target(1, "a.py"))
        asked: list[str] = []

        async def answer(question: str) -> bool:
            asked.append(question)
            return len(asked) > 1

        review.ask_with(answer)
        with pytest.raises(ConsentError):
            await review.revert(Target(1, "a.py"))
        assert not (project / "a.py").exists()
        await review.revert(Target(1, "a.py"))
        assert asked == ["Edits of an imported conversation would change a.py."] * 2
        assert (project / "a.py").read_bytes() == OURS
        assert (project / "a.py").stat().st_mode & 0o7777 == 0o755


async def test_a_fork_of_an_imported_conversation_asks_as_well(project: Path) -> None:
    async with agent_in(project) as agent:
        fork = await agent.recall.fork(await imported_edit(agent))
        assert fork.imported
        assert (await (await agent.store()).resolve(fork.id)).imported


async def test_a_command_refuses_and_names_the_way_on(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with agent_in(project) as agent:
        id = await imported_edit(agent)
        store = await agent.store()
        commands = EditCommands(store, project, id, as_json=False)
        assert await commands.revert(Choice(), Consent()) == 1
        told = capsys.readouterr().err
        assert "would change a.py" in told
        assert "--yes" in told
        assert not (project / "a.py").exists()
        [only] = await Edits(store.database).of_conversation(id)
        assert await commands.restore(only.id, Consent(), before=True) == 1
        assert not (project / "a.py").exists()
        assert await commands.revert(Choice(), Consent(yes=True)) == 0
        assert (project / "a.py").read_bytes() == OURS
        await list_conversations(store, None, limit=9, as_json=False)
        assert "(imported)" in capsys.readouterr().out


TEXTS = st.text(st.characters(), max_size=40)
IDS = st.sampled_from(["a", "b", "", "ä\x00\ud800"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
TIMES = st.sampled_from([0.0, 1.5, 1e11])
CALLS = (
    JSON.map(json.dumps) | TEXTS | st.just('{"name": "read", "args": {"file": "a"}}') | st.just("[" * 5000)
)


def shaped(
    required: dict[str, st.SearchStrategy[Any]], optional: dict[str, st.SearchStrategy[Any]] | None = None
) -> st.SearchStrategy[Record]:
    return st.fixed_dictionaries(required, optional=optional or {})


BODIES: st.SearchStrategy[Record] = st.one_of(
    shaped({"type": st.just("user"), "content": TEXTS}),
    shaped({"type": st.sampled_from(["think", "respond"]), "id": IDS, "content": TEXTS}),
    shaped({"type": st.just("call"), "id": IDS, "content": CALLS}, optional={"raw": TEXTS}),
    shaped(
        {
            "type": st.just("result"),
            "id": IDS,
            "tool": TEXTS,
            "duration": TIMES,
            "payload": shaped(
                {"outcome": TEXTS, "content": JSON, "error": st.booleans()}, optional={"raw": TEXTS}
            ),
        }
    ),
)
EVENTS = st.tuples(BODIES, TIMES).map(lambda each: {**each[0], "timestamp": each[1]})
PATHS = st.sampled_from(["a.py", "b/c.py", "b", "ä b", ".gitignore", "a..b"])
SIDES = st.sampled_from(
    [
        ("absent", "", 0, 0),
        ("file", DIGEST, len(OURS), 0o644),
        ("file", "ab" * 32, 9, 0o7777),
        ("file", "", 1 << 49, 0),
        ("link", DIGEST, len(OURS), 0o777),
    ]
)
EDITS = st.fixed_dictionaries(
    {
        "path": PATHS,
        "old_path": st.just("") | PATHS,
        "turn": st.sampled_from([0, 1, 2, 10**9]),
        "timestamp": TIMES,
        "call": IDS,
        "tool": TEXTS,
        "undoes": st.sampled_from(["[]", '[[1,""]]', '[[2,"h"],[77,""]]']),
        "before": SIDES,
        "after": SIDES,
    }
)
HEADS = st.fixed_dictionaries(
    {"title": TEXTS, "branch": TEXTS, "model": TEXTS, "created": TIMES, "updated": TIMES},
    optional={"dialect": TEXTS, "turns": st.integers(0, 10**12), "cost": TIMES},
)
MARKS = st.tuples(st.just("") | TEXTS, st.sampled_from(["kept", "reverted", "new"]), TEXTS)


async def gone_through(project: Path, text: list[str]) -> None:
    """Import, then do everything that reads it."""
    async with agent_in(project) as agent:
        recall, store = agent.recall, await agent.store()
        found = await recall.import_lines(text)
        with contextlib.redirect_stdout(None):
            for as_json in (True, False):
                await list_conversations(store, None, limit=9, as_json=as_json)
                await show_conversation(store, found.id, as_json=as_json)
                await EditCommands(store, project, found.id, as_json=as_json).list_all()
            await show_tree(recall, store, found.id)
        for query in ("", "a", "file:a.py", "error: hello"):
            await recall.page(query, where="everywhere")
            await recall.hits(found.id, query)
        await recall.preview(found.id)
        await recall.statistics(where="everywhere")
        assert (await recall.import_lines(await recall.export_lines(found.id))).id != found.id
        events = await store.events(found.id)
        as_markdown(found, events)
        as_page(found, events, "night")
        await (await agent.history(found.id)).context()
        await store.usage(found.id)
        review = agent.review(found.id)
        for by in ("turn", "file"):
            overview = await review.overview(by)
            for file in (each for group in overview.groups for each in group.files):
                await review.diff(file.key)
        with contextlib.suppress(CogencyError):
            await review.patch()
        undo = await agent.undo(found.id)
        with contextlib.suppress(UsageError):
            plan = await undo.back_to(0)
            if plan.changes:
                with pytest.raises(CogencyError):
                    await undo.apply(plan, for_good=True)
        if events:
            past = await agent.timeline(found.id).read()
            for index in range(len(past.points)):
                await agent.timeline(found.id).exchange(past, index)
                await agent.timeline(found.id).files(past, index)
        assert not [*project.iterdir()]


@pytest.mark.exhaustive
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(HEADS, st.lists(EVENTS, max_size=4), st.lists(EDITS, max_size=3), st.lists(MARKS, max_size=2))
def test_nothing_that_was_accepted_makes_anything_fail(
    head: Record, events: list[Record], edits: list[Record], marks: list[tuple[Any, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        project = Path(os.path.realpath(name)) / "project"
        project.mkdir()
        records = [conversation(str(project), **head), user(1)]
        records += [{"event": each, "number": number} for number, each in enumerate(events, 2)]
        records += [usage(input=10**12), content()]
        for number, each in enumerate(edits, 1):
            sides = side("before", *each.pop("before")) | side("after", *each.pop("after"))
            records.append(edit(str(project), number, **each, **sides))
        records += [{"mark": [number, *mark, 1.0]} for number, mark in enumerate(marks[: len(edits)], 1)]
        asyncio.run(gone_through(project, lines(*records)))

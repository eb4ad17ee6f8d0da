"""Skills: which there are, which count, and what a model may do with them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.agent.project.settings import ProjectSettings
from cogency_tui.agent.project.skills import (
    ListedSkill,
    SkillState,
    describe_skills,
    requested_arguments,
)
from cogency_tui.agent.project.skills_for_model import fill_in
from cogency_tui.agent.project.trust import FILE_NAME, Trust
from cogency_tui.config.schema import AgentSettings, Settings
from cogency_tui.errors import WorkspaceError
from tests.agent.delegation import block, results
from tests.peers.scripted import ScriptedProvider
from tests.pictures import picture


def skill(name: str, description: str = "Reads forms.", body: str = "Open the form.") -> str:
    return f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n{body}\n"


class Desk:
    """A user's home and configuration, and a project."""

    def __init__(self, root: Path, home: Path) -> None:
        self.home = home
        self.folder = root / "config"
        self.project = root / "project"
        self.project.mkdir()
        self.trust = Trust(self.folder / FILE_NAME)
        self.settings = ProjectSettings(self.trust, self.project, Settings, self.folder)
        self.questions: list[Question] = []

    def put(self, path: Path, text: str | bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def own(self, name: str, place: str = ".claude/skills", **given: str) -> Path:
        """A skill of the user's: its directory."""
        return self.put(self.home / place / name / "SKILL.md", skill(name, **given)).parent

    def brings(self, name: str, place: str = ".claude/skills", **given: str) -> Path:
        return self.put(self.project / place / name / "SKILL.md", skill(name, **given)).parent

    def accept(self) -> None:
        self.settings.accept(self.settings.survey())

    def listed(self) -> dict[str, ListedSkill]:
        """All skills, by place."""
        self.settings.refresh()
        return {each.place: each for each in self.settings.skills}

    @property
    def active(self) -> set[str]:
        self.settings.refresh()
        return set(self.settings.now.skills)

    def agent(self, *replies: str, allow: bool = False, **options: Any) -> Agent:
        async def ask(question: Question) -> Answer:
            self.questions.append(question)
            return Answer(allow=allow)

        return Agent(
            ScriptedProvider(*replies),
            project=self.project,
            data=self.folder.with_name("data"),
            environ={"COGENCY_CONFIG": str(self.folder / "config.toml")},
            ask=ask,
            mode="replay",
            **options,
        )


@pytest.fixture
def desk(tmp_path: Path, sealed_home: Path) -> Desk:
    return Desk(tmp_path, sealed_home)


async def told(agent: Agent, query: str = "go") -> tuple[str, list[Any]]:
    """The system prompt of a turn, and the payloads of its results in the order of the calls."""
    events = [event async for event in agent.stream(query, conversation_id="c")]
    provider: Any = agent.provider
    found = {each["id"]: each["payload"] for each in results(events)}
    calls = dict.fromkeys(event["id"] for event in events if event["type"] == "call")
    return provider.sent[0][0]["content"], [found[id] for id in calls]


def test_the_users_skills_are_found_in_all_places_and_links_of_theirs_are_followed(
    desk: Desk, tmp_path: Path
) -> None:
    desk.own("one")
    desk.own("two", ".agents/skills")
    desk.put(desk.folder / "skills/three/SKILL.md", skill("three"))
    elsewhere = desk.put(tmp_path / "dotfiles/four/SKILL.md", skill("four")).parent
    (desk.home / ".claude/skills/four").symlink_to(elsewhere)
    # The same directory in two places is one skill.
    (desk.home / ".agents/skills/four").symlink_to(elsewhere)
    desk.put(tmp_path / "dotfiles/SKILL.md", skill("five"))
    (desk.home / ".claude/skills/five").mkdir()
    (desk.home / ".claude/skills/five/SKILL.md").symlink_to(tmp_path / "dotfiles/SKILL.md")
    desk.own("deep", ".claude/skills/office")
    (desk.home / ".claude/skills/loop").symlink_to(desk.home / ".claude")
    assert desk.active == {"one", "two", "three", "four", "five", "deep"}
    assert len(desk.settings.skills) == 6
    assert "~/.claude/skills/one" in desk.listed()


def test_a_users_skill_counts_before_a_projects_and_an_earlier_place_before_a_later_one(desk: Desk) -> None:
    desk.own("pdf", ".agents/skills", description="mine")
    desk.own("pdf", ".claude/skills", description="also mine")
    desk.brings("pdf", description="theirs")
    desk.brings("csv", ".agents/skills", description="first")
    desk.brings("csv", ".claude/skills", description="second")
    desk.accept()
    found = desk.listed()
    assert {name: each.file.description for name, each in desk.settings.now.skills.items()} == {
        "pdf": "mine",
        "csv": "first",
    }
    for place in ("~/.claude/skills/pdf", ".claude/skills/pdf", ".claude/skills/csv"):
        assert found[place].state is SkillState.SHADOWED
        assert "has the same name" in found[place].problem


def test_a_projects_skill_counts_while_it_is_as_it_was_trusted(desk: Desk) -> None:
    folder = desk.brings("pdf")
    desk.brings("csv")
    assert [each.state for each in desk.listed().values()] == [SkillState.UNTRUSTED] * 2
    assert desk.listed()[".claude/skills/pdf"].description == ""
    desk.accept()
    assert desk.active == {"csv", "pdf"}
    desk.put(folder / "scripts/x.py", "evil")
    assert desk.active == {"csv"}
    assert desk.listed()[".claude/skills/pdf"].state is SkillState.CHANGED
    (folder / "scripts/x.py").unlink()
    assert desk.active == {"csv", "pdf"}
    desk.settings.refuse()
    desk.settings.withdraw()
    desk.settings.refuse()
    assert desk.active == set()
    assert desk.listed()[".claude/skills/pdf"].state is SkillState.REFUSED


def test_an_invalid_skill_is_listed_with_the_reason(desk: Desk) -> None:
    desk.put(desk.home / ".claude/skills/a/SKILL.md", "---\nname: a\n")
    desk.put(desk.home / ".claude/skills/b/SKILL.md", "x" * (300 << 10))
    (desk.home / ".claude/skills/c").mkdir()
    os.mkfifo(desk.home / ".claude/skills/c/SKILL.md")
    (desk.home / ".claude/skills/d/SKILL.md").mkdir(parents=True)
    (desk.home / ".claude/skills/e").mkdir()
    (desk.home / ".claude/skills/e/SKILL.md").symlink_to("/etc/passwd")
    found = desk.listed()
    assert desk.active == set()
    problems = {place[-1]: each.problem for place, each in found.items()}
    assert "not closed" in problems["a"]
    assert "bytes" in problems["b"]
    assert "FIFO" in problems["c"]
    assert "directory" in problems["d"]
    assert "no file SKILL.md" in problems["e"]
    assert {each.state for each in found.values()} == {SkillState.INVALID}


def test_a_home_directory_is_no_skill(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    home = desk.home / "me"
    monkeypatch.setenv("HOME", str(home))
    for directory in (desk.home, home):
        desk.put(directory / "SKILL.md", skill("home"))
        place = home / ".claude/skills"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"to-{directory.name}").symlink_to(directory)
    assert desk.active == set()


def test_files_of_a_skill_are_read_and_nothing_beside_it(desk: Desk, tmp_path: Path) -> None:
    own, project = desk.own("mine"), desk.brings("theirs")
    desk.put(tmp_path / "secret", "x")
    desk.put(desk.home / "secret", "x")
    for folder in (own, project):
        desk.put(folder / "ref/forms.md", "Forms.")
        desk.put(folder / "__pycache__/x.pyc", "x")
    (own / "out").symlink_to(tmp_path / "secret")
    desk.put(own / ".env", "KEY=x")
    desk.put(own / ".git/config", "x")
    desk.accept()
    for found in desk.settings.now.skills.values():
        assert found.files() == (["out", "ref/forms.md"] if found.own else ["ref/forms.md"])
        assert found.read("ref/forms.md") == b"Forms."
        assert found.read("./ref/../ref/forms.md") == b"Forms."
        assert found.instructions() == "Open the form."
        for outside in ("../../../secret", "out", "/etc/passwd", ".", "", "ref", "\0", "x" * 5_000, "no.md"):
            with pytest.raises(WorkspaceError):
                found.read(outside)
    mine, theirs = desk.settings.now.skills["mine"], desk.settings.now.skills["theirs"]
    for hidden in (".env", ".git/config", "ref/../.env"):
        assert not mine.holds(own / hidden)
        with pytest.raises(WorkspaceError):
            mine.read(hidden)
    assert mine.holds(own / "ref/forms.md")
    assert not theirs.holds(project / "ref/forms.md")
    assert theirs.read(".claude/skills/theirs/ref/forms.md") == b"Forms."
    assert theirs.read(str(project / "ref/forms.md")) == b"Forms."


def test_a_file_that_changed_after_the_check_is_not_given_out(desk: Desk, tmp_path: Path) -> None:
    folder = desk.brings("pdf")
    desk.put(folder / "ref/forms.md", "Forms.")
    desk.accept()
    found = desk.settings.now.skills["pdf"]
    desk.put(folder / "ref/forms.md", "Formz.")
    with pytest.raises(WorkspaceError, match="changed since it was trusted"):
        found.read("ref/forms.md")
    # The directory is replaced by a link to one with the same bytes.
    desk.put(tmp_path / "other/forms.md", "Forms.")
    (folder / "ref/forms.md").unlink()
    (folder / "ref").rmdir()
    (folder / "ref").symlink_to(tmp_path / "other")
    with pytest.raises(WorkspaceError):
        found.read("ref/forms.md")
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(WorkspaceError):
        found.instructions()


def test_the_text_for_the_prompt_is_the_same_bytes_and_bounded(desk: Desk) -> None:
    for number in range(250):
        desk.own(f"skill-{number:03}", description=f"Number {number}. " + "words " * 150)
    desk.settings.refresh()
    text = describe_skills(desk.settings.now.skills)
    assert text == describe_skills(dict(reversed(list(desk.settings.now.skills.items()))))
    assert text.count("\n- skill-") == 250
    assert len(text) < 24_000
    few = {name: each for name, each in desk.settings.now.skills.items() if name < "skill-003"}
    assert describe_skills(few).count(" words") == 3 * 150 + 1


async def test_without_skills_nothing_of_them_is_in_the_prompt(desk: Desk) -> None:
    async with desk.agent("Hello.") as agent:
        prompt, _ = await told(agent)
    assert "Skills" not in prompt
    assert "skill(" not in prompt


async def test_the_model_is_told_names_and_descriptions_and_reads_the_rest_on_demand(desk: Desk) -> None:
    folder = desk.own("pdf", description="Reads forms.", body="Open the form.\nThen close it.")
    desk.put(folder / "scripts/fill.py", "print(1)")
    desk.put(folder / "logo.png", picture())
    calls = block(
        ("skill", {"name": "pdf"}),
        ("Skill", {"skill": "pdf", "args": "x"}),
        ("activate_skill", {"name": "/pdf"}),
        ("skill", {"name": "pdf", "file": "Scripts/FILL.py"}),
        ("skill", {"name": "pdf", "file": "logo.png"}),
        ("skill", {"name": "pdf", "file": "../pdf/../../settings.json"}),
        ("skill", {"name": "pdfs"}),
        ("read", {"file": str(folder / "scripts/fill.py")}),
        ("list", {"path": str(folder)}),
    )
    async with desk.agent(calls, "Done.") as agent:
        prompt, payloads = await told(agent)
    assert '- pdf (the user\'s): "Reads forms."' in prompt
    assert "skill(name: str" in prompt
    assert "Open the form" not in prompt
    assert desk.questions == []
    body, same, again, script, image, outside, unknown, read, listed = payloads
    assert body["content"] == same["content"] == again["content"]
    assert f"Its directory is {folder}" in body["content"]
    assert "logo.png, scripts/fill.py" in body["content"]
    assert body["content"].endswith("Open the form.\nThen close it.")
    assert body["outcome"] == "2 lines"
    assert script["content"].endswith("print(1)")
    assert image["images"]
    assert "has no file" in outside["outcome"]
    assert 'Did you mean "pdf"?' in unknown["outcome"]
    assert "print(1)" in read["content"]
    assert listed["state"] == "done"
    assert not any(payload.get("sources") for payload in payloads)


async def test_a_script_outside_the_project_asks_as_any_command(desk: Desk) -> None:
    folder = desk.own("pdf")
    script = desk.put(folder / "scripts/fill.py", "print(1)")
    async with desk.agent(block(("shell", {"command": f"python3 {script}"})), "Done.") as agent:
        await told(agent)
    (question,) = desk.questions
    assert str(script) in question.detail
    assert question.reason


async def test_a_long_skill_is_read_in_parts(desk: Desk) -> None:
    desk.own("long", body="\n".join(f"line {number} {'x' * 60}" for number in range(1_000)))
    async with desk.agent(
        block(("skill", {"name": "long"})),
        block(("skill", {"name": "long", "start": 1_000}), ("skill", {"name": "long", "start": 1_001})),
        "Done.",
    ) as agent:
        _, payloads = await told(agent)
    first, last, past = payloads
    assert first["outcome"].startswith("lines 1 to ")
    assert len(first["content"]) < 30_000
    assert "are not shown: go on with start=" in first["content"]
    assert last["content"].endswith("line 999 " + "x" * 60)
    assert "past its end" in past["outcome"]


async def test_a_skill_that_changes_during_a_turn_no_longer_counts(desk: Desk) -> None:
    desk.brings("pdf")
    desk.accept()
    change = block(("write", {"file": ".claude/skills/pdf/SKILL.md", "content": "evil", "overwrite": True}))
    async with desk.agent(
        block(("read", {"file": ".claude/skills/pdf/SKILL.md"})),
        change,
        block(("skill", {"name": "pdf"})),
        "Done.",
        "Again.",
        allow=True,
    ) as agent:
        prompt, payloads = await told(agent)
        assert '- pdf (the project\'s): "Reads forms."' in prompt
        assert "no longer counts" in payloads[-1]["outcome"]
        assert "evil" not in payloads[-1]["outcome"]
        await told(agent)
        provider: Any = agent.provider
        assert "pdf" not in provider.sent[-1][0]["content"]


async def test_sub_agents_have_skills_too_if_they_may(desk: Desk) -> None:
    desk.own("pdf")
    agents = {
        "helper": AgentSettings(description="helps", instructions="Help."),
        "reader": AgentSettings(description="reads", instructions="Read.", tools=["read"]),
        "skilled": AgentSettings(description="knows", instructions="Know.", tools=["skill"]),
    }
    calls = [block(("agent", {"name": name, "task": "x"})) for name in agents]
    async with desk.agent(
        *(reply for call in calls for reply in (call, "Yes.")), "Done.", settings=Settings(agents=agents)
    ) as agent:
        await told(agent)
        provider: Any = agent.provider
        prompts: list[str] = [sent[0]["content"] for sent in provider.sent]
    with_role = {name: prompt for name in agents for prompt in prompts if agents[name].instructions in prompt}
    assert '- pdf (the user\'s): "Reads forms."' in with_role["helper"]
    assert '- pdf (the user\'s): "Reads forms."' in with_role["skilled"]
    assert "Skills" not in with_role["reader"]


HIDDEN = "---\nname: deploy\ndescription: Deploys.\ndisable-model-invocation: true\n---\nDo it to $1.\n"


async def test_a_skill_that_only_the_user_starts_is_refused_to_the_model_before(desk: Desk) -> None:
    desk.put(desk.home / ".claude/skills/deploy/SKILL.md", HIDDEN)
    desk.put(desk.home / ".claude/skills/deploy/notes.md", "Mind the gap.")
    desk.own("csv")
    deploy, notes = (("skill", {"name": "deploy", **more}) for more in ({}, {"file": "notes.md"}))
    replies = [block(deploy, notes, ("skill", {"name": "depoy"})), "No.", block(deploy), "Done."]
    async with desk.agent(*replies, block(notes), "Done.") as agent:
        prompt, payloads = await told(agent)
        assert "Deploys" not in prompt
        for payload in payloads[:2]:
            assert payload["outcome"].startswith("The skill deploy is for the user to start, not for you.")
        assert "Names: csv." in payloads[2]["outcome"] + str(payloads[2]["content"])
        assert "deploy" not in (payloads[2]["outcome"] + str(payloads[2]["content"])).replace("depoy", "")
        desk.settings.refresh()
        message = desk.settings.now.commands["deploy"].message("prod now")
        assert message == "Use the skill deploy: prod now"
        _prompt, payloads = await told(agent, message)
        assert payloads[0]["content"].endswith("Do it to prod.")
        # Its files are read in a later turn, too.
        _prompt, payloads = await told(agent, "go on")
        assert payloads[0]["content"].endswith("Mind the gap.")


async def test_a_sub_agent_cannot_ask_for_a_skill_that_only_the_user_starts(desk: Desk) -> None:
    desk.put(desk.home / ".claude/skills/deploy/SKILL.md", HIDDEN)
    settings = Settings(agents={"helper": AgentSettings(description="helps", instructions="Help.")})
    task = "Use the skill deploy."
    replies = [block(("agent", {"name": "helper", "task": task})), block(("skill", {"name": "deploy"}))]
    async with desk.agent(*replies, "No.", "Done.", settings=settings) as agent:
        await told(agent)
        provider: Any = agent.provider
    assert "Do it" not in str(provider.sent)
    assert "is for the user to start" in str(provider.sent)


@pytest.mark.parametrize(
    ("text", "arguments", "filled"),
    [
        ("Fix $ARGUMENTS at once.", "issue 7", "Fix issue 7 at once."),
        ("Fix $ARGUMENTS.", "", "Fix ."),
        ("Fix $ARGUMENTS and $1.", None, "Fix $ARGUMENTS and $1."),
        ("Move $0 to $1, not $2.", "a 'b c'", "Move a to b c, not $2."),
        ("Move $1 to $2.", "a b", "Move a to b."),
        ("Move $ARGUMENTS[0] to $ARGUMENTS[1].", "a b", "Move a to b."),
        ("Say $0.", "it's", "Say it's."),
        ("Run ${CLAUDE_SKILL_DIR}/x.sh; $HOME and $10.", None, "Run /s/deploy/x.sh; $HOME and $10."),
        ("Fix $ARGUMENTS.", "$1 ${CLAUDE_SKILL_DIR}", "Fix $1 ${CLAUDE_SKILL_DIR}."),
    ],
)
def test_arguments_are_put_into_the_instructions(text: str, arguments: str | None, filled: str) -> None:
    assert fill_in(text, arguments, Path("/s/deploy")) == filled


def test_a_request_is_for_the_skill_of_the_whole_name() -> None:
    assert requested_arguments("data", "Use the skill data.sets: x") is None
    assert requested_arguments("data.sets", "Use the skill data.sets: x") == "x"
    assert requested_arguments("data", "Use the skill data.") == ""
    assert requested_arguments("data", "Use the skill data:") == ""
    assert requested_arguments("data", "Use the skill data. Be quick") == "Be quick"
    assert requested_arguments("data", "Then Use the skill data.") is None


def test_a_command_in_a_file_comes_before_a_skill_of_its_name(desk: Desk) -> None:
    desk.own("fix")
    desk.own("csv")
    desk.put(desk.folder / "commands/fix.md", "Fix it.")
    desk.settings.refresh()
    commands = desk.settings.now.commands
    assert commands["fix"].text == "Fix it."
    assert commands["csv"].text == "Use the skill csv."

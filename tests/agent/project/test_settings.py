"""What a trusted project adds to the person's settings, and what it never can."""

from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.project.cogency_folder import FolderEntry, list_files
from cogency_tui.agent.project.settings import ProjectSettings
from cogency_tui.agent.project.trust import FILE_NAME, Trust, TrustState
from cogency_tui.config.hooks import HookSettings
from cogency_tui.config.layers import configure, load_settings
from cogency_tui.config.options import options
from cogency_tui.config.schema import AgentSettings, Settings
from tests.peers.scripted import ScriptedProvider

REVIEWER = '[agents.reviewer]\ndescription = "reads a change"\npermissions = "plan"\n'
CHECK = """\
[workflows.check]
description = "tests"

[[workflows.check.steps]]
id = "test"
name = "shell"
parameters = { command = "pytest" }
"""


class Desk:
    """A person's settings, and a project that brings some."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.file = self.project / ".cogency" / "config.toml"
        self.file.parent.mkdir(parents=True)
        self.own = Settings(agents={"own": AgentSettings(description="mine")})
        self.settings = ProjectSettings(
            Trust(root / "config" / FILE_NAME), self.project, lambda: self.own, root / "config"
        )

    def brings(self, text: str | bytes) -> None:
        """And is trusted as it is."""
        self.file.write_bytes(text.encode() if isinstance(text, str) else text)
        self.settings.accept(self.settings.survey())

    @property
    def agents(self) -> set[str]:
        return set(self.settings.now.agents)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_until_it_is_trusted_nothing_of_it_counts(desk: Desk) -> None:
    desk.file.write_text(REVIEWER)
    desk.settings.refresh()
    assert desk.agents == {"own"}
    assert "inactive until you trust it" in desk.settings.ignored()
    desk.settings.accept(desk.settings.survey())
    assert desk.agents == {"own", "reviewer"}
    assert desk.settings.ignored() == ""
    desk.settings.withdraw()
    assert desk.agents == {"own"}


def test_agents_and_workflows_are_added(desk: Desk) -> None:
    desk.brings(REVIEWER + CHECK)
    assert desk.settings.problem == ""
    assert desk.settings.now.agents["reviewer"].permissions == "plan"
    assert list(desk.settings.now.workflows) == ["check"]


def test_the_persons_own_go_before_those_of_the_same_name(desk: Desk) -> None:
    desk.brings('[agents.own]\ndescription = "theirs"\n')
    assert desk.settings.now.agents["own"].description == "mine"


def test_a_workflow_may_have_the_persons_agents(desk: Desk) -> None:
    step = '[[workflows.w.steps]]\nid = "a"\ntype = "agent"\nname = "own"\nparameters = { task = "x" }\n'
    desk.brings(step)
    assert list(desk.settings.now.workflows) == ["w"]
    desk.brings(step.replace('"own"', '"nobody"'))
    assert 'unknown agent "nobody"' in desk.settings.problem
    assert "line 1" in desk.settings.problem
    assert not desk.settings.now.workflows


def test_what_changes_after_it_was_trusted_counts_no_more(desk: Desk) -> None:
    desk.brings(REVIEWER)
    now = desk.settings.now
    desk.settings.refresh()
    assert desk.settings.now is now
    desk.file.write_text(REVIEWER + "\n")
    desk.settings.refresh()
    assert desk.agents == {"own"}
    assert "changed" in desk.settings.ignored()


def test_a_project_that_is_not_to_be_asked_about_is_not(desk: Desk) -> None:
    desk.brings(REVIEWER)
    desk.settings.refuse()
    assert desk.agents == {"own"}
    assert desk.settings.survey().state is TrustState.REFUSED
    assert desk.settings.ignored() == ""
    desk.file.write_text("other")
    assert desk.settings.survey().state is TrustState.REFUSED
    desk.settings.withdraw()
    assert desk.settings.survey().state is TrustState.UNKNOWN
    assert desk.settings.trust.decisions().refused == []


@pytest.mark.parametrize("key", [option.key for option in options().values() if not option.project])
def test_nothing_else_is_for_a_project_to_set(desk: Desk, key: str) -> None:
    desk.brings(f"# no\n{key} = 1\n{REVIEWER}")
    assert f'{desk.file}, line 2: "{key}" can only be set in your own configuration' in desk.settings.problem
    assert desk.agents == {"own"}


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('[agents.a]\nprovider = "evil"\n', 2, 'a project cannot set "provider"'),
        ('[agents.a]\ndescription = "x"\nmodel = "dear"\n', 3, 'a project cannot set "model"'),
        ('\n[agents.a]\npermission = "auto"\n', 2, 'unknown key "permission"'),
        ('[agents.a]\npermissions = "all"\n', 1, "must be one of plan"),
        (
            '[providers.x]\nbase_url = "http://evil"\n',
            1,
            '"providers" can only be set in your own configuration',
        ),
        ("agent = 1\n", 1, 'unknown key "agent"'),
        ("agents = 1\n", 1, '"agents" is not a table'),
        ('[agents."a\\u001b[2J"]\n', 1, "a name has only letters"),
        ('[workflows."../x"]\nsteps = []\n', 1, "a name has only letters"),
        ("[workflows.w]\n", 1, "it needs steps"),
        (
            '[[workflows.w.steps]]\nid = "a"\nname = "shell"\n[[workflows.w.steps]]\nid = "b"\ntype = "llm"\n'
            'name = "openai"\nparameters = { prompt = "x" }\n',
            4,
            "a project cannot choose another model",
        ),
        ('[[workflows.w.steps]]\nid = "a"\ntype = "workflow"\nname = "w"\n', 1, "cannot contain itself"),
    ],
)
def test_what_cannot_be_is_told_with_its_line(desk: Desk, text: str, line: int, told: str) -> None:
    desk.brings(text)
    assert f"{desk.file}, line {line}: " in desk.settings.problem
    assert told in desk.settings.problem
    assert "none of it is used" in desk.settings.problem
    assert desk.agents == {"own"}
    assert not desk.settings.now.workflows


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe", b"a = [" * 5000, b"x = " + b"9" * 5000, b"#" * (300 << 10), b"[agents"],
    ids=range(5),
)
def test_what_is_no_toml_is_told(desk: Desk, data: bytes) -> None:
    desk.brings(data)
    assert str(desk.file) in desk.settings.problem
    assert desk.agents == {"own"}


def test_a_file_with_a_mark_of_its_order_is_read(desk: Desk) -> None:
    desk.brings(b"\xef\xbb\xbf" + REVIEWER.encode())
    assert "reviewer" in desk.agents


def test_other_files_are_not_parsed(desk: Desk) -> None:
    (desk.file.parent / "agents").mkdir()
    (desk.file.parent / "agents" / "x.toml").write_text("broken [[[")
    desk.brings(REVIEWER)
    assert desk.settings.problem == ""


def test_a_listing_opens_nothing(desk: Desk) -> None:
    desk.file.write_text("x")
    desk.file.chmod(0)
    (desk.file.parent / "deep").mkdir()
    (desk.file.parent / "deep" / "link").symlink_to("/etc")
    assert list_files(desk.project) == (
        FolderEntry("config.toml", 1),
        FolderEntry("deep/link", 0, "symbolic link"),
    )
    folder = desk.file.parent
    folder.rename(desk.project / "real")
    folder.symlink_to("real")
    assert list_files(desk.project) == (FolderEntry("", 0, "symbolic link"),)
    assert list_files(desk.project / "real" / "deep") == ()


def test_of_very_many_some_are_listed(desk: Desk) -> None:
    for number in range(600):
        (desk.file.parent / str(number)).write_text("")
    assert len(list_files(desk.project)) == 500


async def told_by(agent: Agent, query: str, conversation: str) -> str:
    """All that the model has been told when the turn is over."""
    async for event in agent.stream(query, conversation_id=conversation):
        assert event["type"] != "error", event
    provider: Any = agent.provider
    return str([provider.sent[-1:], provider.seeds[-1:]])


@pytest.mark.parametrize("mode", ["replay", "resume"])
async def test_a_conversation_that_goes_on_has_the_tools_that_count_now(
    desk: Desk, tmp_path: Path, mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COGENCY_CONFIG", str(tmp_path / "config" / "config.toml"))
    desk.file.write_text(REVIEWER)
    provider = ScriptedProvider("One.", "Two.", "Three.")
    agent = Agent(provider, mode=mode, project=desk.project, data=tmp_path / "data", settings=Settings())
    async with agent:
        assert "reviewer" not in await told_by(agent, "one", "c1")
        agent.project_settings.accept(agent.project_settings.survey())
        assert "reviewer (reads a change)" in await told_by(agent, "two", "c1")
        desk.file.write_text("")
        assert "reviewer" not in await told_by(agent, "three", "c1")


def test_the_persons_configuration_is_none_of_the_projects(desk: Desk) -> None:
    desk.brings('provider = "evil"\n')
    assert load_settings().provider == "offline"


def test_a_trusted_project_gives_what_it_may_and_makes_nothing_wider(desk: Desk) -> None:
    desk.brings(
        'mode = "replay"\npermissions = "auto"\nsandbox = "auto"\nmax_iterations = 900\n[budget.day]\nhard = 2\n'
    )
    assert desk.settings.problem == ""
    configured = configure(project=desk.settings.layer, environ={})
    settings = configured.settings
    assert (settings.mode, settings.permissions, settings.sandbox) == ("replay", "ask", "auto")
    assert (settings.max_iterations, settings.budget.day.hard) == (50, 2)
    assert configured.origin("budget.day.hard").where == f"{desk.file}:6"
    assert configured.origin("permissions").source == "default"
    desk.settings.withdraw()
    assert desk.settings.layer is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('mode = "x"', 'line 1: "mode": must be one of auto, resume, replay'),
        ("[budget.day]\nhrad = 1", 'line 2: unknown key "hrad" (did you mean "hard"?)'),
        ("mod = 1", 'line 1: unknown key "mod"; a project may have mode, effort, dialect'),
    ],
)
def test_an_option_of_a_project_that_cannot_be_is_told_with_its_line(
    desk: Desk, text: str, told: str
) -> None:
    desk.brings(text)
    assert f"{desk.file}, {told}" in desk.settings.problem
    assert desk.settings.layer is None


async def test_an_agent_goes_on_with_what_a_project_gives_once_it_is_trusted(desk: Desk) -> None:
    desk.file.write_text('permissions = "plan"\n')
    agent = Agent("offline", project=desk.project, data=desk.project.parent / "data")
    assert agent.permissions == "ask"
    async with agent:
        agent.project_settings.accept(agent.project_settings.survey())
        async for _event in agent("hello"):
            pass
        assert agent.permissions == "plan"
    assert Agent("offline", project=desk.project).permissions == "plan"


def test_an_own_hook_is_known_by_its_place(desk: Desk) -> None:
    hooks = {name: HookSettings(on="after_edit", command=["true"]) for name in ("fmt", "given")}
    desk.own = Settings(hooks=hooks)
    file = desk.project.parent / "config" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text('theme = "night"\n\n[hooks.fmt]\non = "after_edit"\ncommand = "true"\n')
    desk.settings.refresh()
    assert [hook.place for hook in desk.settings.now.hooks] == [f"{file}, line 3", "your configuration"]

"""Commands, sub-agents and workflows in files of their own."""

from pathlib import Path

import pytest

from cogency_tui.agent.project.custom_files import CustomCommand, own_files, read_custom
from cogency_tui.agent.project.settings import ProjectSettings
from cogency_tui.agent.project.trust import FILE_NAME, Trust
from cogency_tui.config.schema import AgentSettings, Settings
from tests.cases import cases

FOLDER = Path("/p/.cogency")
REVIEW = b"---\ndescription: Look for mistakes\ntakes: FILE\n---\nReview $ARGUMENTS, line by line.\n"
READER = (
    b"---\ndescription: reads a file\ntools: read, find\npermissions: plan\nmax_iterations: 5\n---\nRead.\n"
)
STEPS = '[[steps]]\nid = "a"\nname = "list"\n'


def problem_of(path: str, data: bytes, *, own: bool = True) -> str:
    found = read_custom({path: data}, FOLDER, own=own)
    assert not [*found.commands, *found.agents, *found.workflows]
    return found.problems[0]


def test_a_command_is_a_message_with_a_name() -> None:
    found = read_custom({"commands/review.md": REVIEW}, FOLDER, own=False)
    command = found.commands["review"]
    assert command == CustomCommand(
        "review",
        "Review $ARGUMENTS, line by line.",
        "Look for mistakes",
        "FILE",
        "/p/.cogency/commands/review.md",
    )
    assert command.message("a.py") == "Review a.py, line by line."


def test_what_is_written_after_a_command_without_a_place_for_it_comes_at_the_end() -> None:
    command = read_custom({"commands/tidy.md": b"Tidy up."}, FOLDER, own=False).commands["tidy"]
    assert command.takes == "[TEXT]"
    assert command.message("") == "Tidy up."
    assert command.message("the tests") == "Tidy up.\n\nthe tests"


def test_an_agent_has_its_settings_before_its_instructions() -> None:
    agent = read_custom({"agents/reader.md": READER}, FOLDER, own=False).agents["reader"]
    assert agent == AgentSettings(
        "reads a file", "Read.", permissions="plan", max_iterations=5, tools=["read", "find"]
    )


def test_a_workflow_is_a_table_in_its_file() -> None:
    found = read_custom({"workflows/look.toml": STEPS.encode()}, FOLDER, own=False)
    assert [step.name for step in found.workflows["look"].steps] == ["list"]


def test_other_files_are_left_alone() -> None:
    files = {"config.toml": b"=", "notes/a.md": b"x", "commands/deep/a.md": b"x", "commands/a.txt": b"x"}
    assert read_custom(files, FOLDER, own=True).problems == ()


@cases(
    ("path", "data", "told"),
    [
        ("commands/Big.md", b"x", "lowercase letters"),
        ("commands/a.md", b"", "no text to send"),
        ("commands/a.md", b"---\ndescription: x\n", "not closed"),
        ("commands/a.md", b"---\nmodel: x\n---\ny", 'unknown key "model"; known keys: description, takes'),
        ("commands/a.md", b"---\nok: x\nnonsense\n---\ny", "line 3 of its front matter"),
        ("commands/a.md", b"\xff", "not UTF-8 (at byte 0)"),
        ("commands/a.md", b"x" * (300 << 10), "more than 256 KB"),
        ("agents/a.md", b"---\npermissions: all\n---\nx", "permissions"),
        ("agents/a.md", b"---\nmax_iterations: many\n---\nx", "max_iterations"),
        ("agents/a.md", b"---\ntools: read\n---\n", "no text"),
        ("agents/a b.md", b"x", "a name has"),
        ("workflows/a.toml", b"steps = [", "Invalid value"),
        ("workflows/a.toml", b"x = 1", "it needs steps"),
    ],
)
def test_what_is_wrong_is_told_and_the_rest_is_used(path: str, data: bytes, told: str) -> None:
    problem = problem_of(path, data)
    assert problem.startswith(f"/p/.cogency/{path}: ")
    assert told in problem
    assert problem.endswith(" File ignored.")


def test_a_project_chooses_no_model() -> None:
    assert 'unknown key "model"' in problem_of("agents/a.md", b"---\nmodel: dear\n---\nx", own=False)
    step = b'[[steps]]\nid = "a"\ntype = "llm"\nname = "dear"\nparameters = { prompt = "x" }\n'
    assert "a project cannot choose" in problem_of("workflows/a.toml", step, own=False)
    own = read_custom({"agents/a.md": b"---\nmodel: dear\n---\nx"}, FOLDER, own=True)
    assert own.agents["a"].model == "dear"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The person's configuration folder."""
    folder = tmp_path / "config"
    for name in ("commands", "agents", "workflows"):
        (folder / name).mkdir(parents=True)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".cogency" / "commands").mkdir(parents=True)
    (project / ".cogency" / "workflows").mkdir()
    return project


def settings_of(project: Path, folder: Path, own: Settings) -> ProjectSettings:
    return ProjectSettings(Trust(folder / FILE_NAME), project, lambda: own, folder)


def test_the_persons_files_count_at_once_and_a_projects_when_it_is_trusted(
    project: Path, folder: Path
) -> None:
    (folder / "commands" / "mine.md").write_text("Mine.")
    (folder / "commands" / "both.md").write_text("Mine as well.")
    for name in ("both", "theirs"):
        (project / ".cogency" / "commands" / f"{name}.md").write_text("Theirs.")
    settings = settings_of(project, folder, Settings())
    settings.refresh()
    assert set(settings.now.commands) == {"mine", "both"}
    before = settings.now
    settings.refresh()
    assert settings.now is before

    settings.accept(settings.survey())
    texts = {name: command.text for name, command in settings.now.commands.items()}
    assert texts == {"mine": "Mine.", "both": "Mine as well.", "theirs": "Theirs."}

    (folder / "commands" / "mine.md").write_text("Mine, again.")
    settings.refresh()
    assert settings.now.commands["mine"].text == "Mine, again."


def test_what_is_configured_goes_before_what_stands_in_files(project: Path, folder: Path) -> None:
    (folder / "agents" / "reader.md").write_bytes(READER)
    (folder / "agents" / "other.md").write_bytes(READER)
    settings = settings_of(project, folder, Settings(agents={"reader": AgentSettings("configured")}))
    settings.refresh()
    described = {name: agent.description for name, agent in settings.now.agents.items()}
    assert described == {"reader": "configured", "other": "reads a file"}


def test_a_workflow_that_does_not_fit_is_left_out_and_told_of(project: Path, folder: Path) -> None:
    step = '[[steps]]\nid = "a"\ntype = "agent"\nname = "nobody"\nparameters = { task = "x" }\n'
    (folder / "workflows" / "lost.toml").write_text(step)
    (folder / "workflows" / "good.toml").write_text(STEPS)
    settings = settings_of(project, folder, Settings())
    settings.refresh()
    assert set(settings.now.workflows) == {"good"}
    assert 'workflow "lost"' in settings.problem
    assert "nobody" in settings.problem


def test_there_need_not_be_a_folder(tmp_path: Path) -> None:
    assert own_files(tmp_path / "nowhere") == {}


@pytest.mark.parametrize("body", ["!touch PWN", "/until id", "$ARGUMENTS"])
def test_the_message_of_a_command_is_never_a_command_itself(body: str) -> None:
    command = read_custom({"commands/a.md": body.encode()}, FOLDER, own=False).commands["a"]
    message = command.message("! id")
    assert not message.lstrip().startswith(("!", "/"))
    assert message.startswith("Prompt of the command a:\n\n")

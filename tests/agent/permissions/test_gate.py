"""What is asked about, what is not, and what an answer is remembered as."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.permissions.gate import Answer, Gate, Question
from cogency_tui.agent.permissions.rules import FILE_NAME, Rules
from cogency_tui.config.schema import PERMISSIONS, Permissions
from cogency_tui.errors import DeclinedError, RefusedError, ToolError
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.tools.base import Intent, ToolContext
from cogency_tui.tools.loss import Loss, LostPath
from cogency_tui.tools.registry import Registry, default_tools
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tools.shell.shell_tool import Shell, ShellArgs
from cogency_tui.workspace.diff import LineCounts
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

YES = Answer(allow=True)
ALL_TURN = Answer(allow=True, scope="turn")
ALL_ALONG = Answer(allow=True, scope="conversation")
ALWAYS = Answer(allow=True, scope="always")
NO = Answer(allow=False)


class Person:
    """Answers questions, and keeps them."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.mode: Permissions = "ask"
        self.asked: list[Question] = []
        self.answers: list[Answer] = []
        self.project = project
        self.rules = Rules(folder / FILE_NAME, project)
        self.gate = self.new_gate()

    def new_gate(self) -> Gate:
        """That of another conversation."""
        return Gate(lambda: self.mode, lambda: self.ask, self.rules)

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else NO

    async def lets(self, intent: Intent, *answers: Answer, gate: Gate | None = None) -> bool:
        """Whether it may run; the person says what is given, or no."""
        self.asked.clear()
        self.answers = list(answers)
        try:
            await (gate or self.gate).check("call", "tool", intent)
        except ToolError:
            return False
        return True

    async def reads(self, intent: Intent, *answers: Answer) -> None:
        """A call that was let through and ran."""
        assert await self.lets(intent, *answers)
        self.gate.tainted(intent.source)

    @property
    def reason(self) -> str:
        (question,) = self.asked
        return question.reason


@pytest.fixture
def person(tmp_path: Path) -> Person:
    project = tmp_path / "project"
    project.mkdir()
    return Person(tmp_path / "config", project)


LOST = (Loss("untracked", (LostPath("a"), LostPath("b"))),)
READ = Intent("read", "Read a.py")
SEARCH = Intent("network", "Search the web", detail="query", network="public search engines")


def page_of(host: str) -> Intent:
    return Intent("network", f"Read pages of {host}", detail=f"https://{host}/x", network=host)


def run(person: Person, command: str, **more: Any) -> Intent:
    intent = Intent("command", "Run it", detail=command, paths=(person.project,), everything=True, **more)
    found = reach(command, person.project, Workspace(person.project))
    return replace(
        intent,
        outside=found.outside,
        network=found.network,
        brings=found.brings,
        protected=intent.protected or found.protected,
    )


def change(person: Person, *names: str, **more: Any) -> Intent:
    return Intent(
        "write", "Edit it", detail="diff", paths=tuple(person.project / name for name in names), **more
    )


# What each mode lets pass.


@pytest.mark.parametrize(
    ("mode", "asks", "refuses"),
    [
        ("plan", {"network"}, {"write", "command"}),
        ("ask", {"write", "command", "network"}, set[str]()),
        ("edits", {"command", "network"}, set[str]()),
        ("auto", set[str](), set[str]()),
    ],
)
async def test_modes(person: Person, mode: Permissions, asks: set[str], refuses: set[str]) -> None:
    person.mode = mode
    intents = [READ, change(person, "a.py"), run(person, "make"), page_of("example.org")]
    for intent in intents:
        assert await person.lets(intent, YES) is (intent.effect not in refuses)
        assert bool(person.asked) is (intent.effect in asks)


async def test_the_question_says_why_in_plain_words(person: Person) -> None:
    for intent, why in [
        # These say nothing that the question does not show.
        (run(person, "make"), ""),
        (change(person, "a.py"), ""),
        (page_of("example.org"), "it sends a request to example.org, outside this machine"),
        (SEARCH, "it sends a request to public search engines, outside this machine"),
    ]:
        await person.lets(intent, NO)
        assert person.reason == why


async def test_without_anyone_to_ask_it_is_refused(person: Person) -> None:
    gate = Gate(lambda: "ask", lambda: None)
    with pytest.raises(RefusedError, match="it runs a command; no user is available to approve it") as raised:
        await gate.check("c", "shell", run(person, "make"))
    assert raised.value.reason == "it runs a command"


async def test_a_reason_reaches_the_model(person: Person) -> None:
    person.answers = [Answer(allow=False, reason="use make")]
    with pytest.raises(ToolError, match="Their reason: use make"):
        await person.gate.check("c", "shell", run(person, "ls"))


# What always asks (safety.md, promise 2).

PROTECTED = [
    *(".git/config", ".git/hooks/pre-commit", ".GIT/hooks/x", "sub/.git/HEAD", ".git"),
    *(".cogency/config.toml", ".cogency/commands/x.md", "sub/.cogency/x"),
    *(
        ".bashrc",
        ".bash_profile",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".envrc",
        ".config/fish/config.fish",
        ".BASHRC",
    ),
    *("AGENTS.md", "agents.md", "sub/AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules"),
    *(".github/copilot-instructions.md", ".claude/settings.json", ".cursor/rules/x"),
    *("a\nb.py", "a\x1b[2Jb.py", "a\tb", "\u202egnp.py", "a\u200bb.py", "a\x7f", "x\x07/y.py"),
]


@pytest.mark.exhaustive
@cases("mode", PERMISSIONS)
@cases("name", PROTECTED)
async def test_protected_files_are_asked_for_in_every_mode(
    person: Person, mode: Permissions, name: str
) -> None:
    workspace = Workspace(person.project)
    call = Registry(default_tools()).bind("write", {"file": name, "content": "x"}, ToolContext(workspace))
    intent = await call.plan()
    person.mode = mode
    assert not await person.lets(intent, NO)
    assert bool(person.asked) is (mode != "plan")
    for question in person.asked:
        assert question.pattern == ""
        assert question.reason not in ("it changes files", "")


@pytest.mark.parametrize("mode", PERMISSIONS)
@pytest.mark.parametrize("tool", ["read", "list", "find", "write", "edit"])
async def test_paths_outside_are_asked_for_in_every_mode(
    person: Person, mode: Permissions, tool: str
) -> None:
    outside = person.project.parent / "notes.txt"
    outside.write_text("old")
    args: dict[str, dict[str, Any]] = {
        "read": {"file": str(outside)},
        "list": {"path": str(outside.parent)},
        "find": {"path": str(outside.parent), "content": "x"},
        "write": {"file": str(outside), "content": "x", "overwrite": True},
        "edit": {"file": str(outside), "old": "old", "new": "new"},
    }
    intent = (
        await Registry(default_tools()).bind(tool, args[tool], ToolContext(Workspace(person.project))).plan()
    )
    person.mode = mode
    assert not await person.lets(intent, NO)
    if mode == "plan" and intent.effect == "write":
        assert not person.asked
    else:
        assert "outside the project" in person.reason


async def test_names_that_are_not_what_they_look_like_are_asked_for_when_read(person: Person) -> None:
    (person.project / "a\x1b[2J.py").write_text("x")
    workspace = Workspace(person.project)
    intent = (
        await Registry(default_tools()).bind("read", {"file": "a\x1b[2J.py"}, ToolContext(workspace)).plan()
    )
    for person.mode in PERMISSIONS:
        assert not await person.lets(intent, NO)
        assert "control character" in person.reason


@pytest.mark.parametrize(
    "command",
    [
        *("echo x >> .git/hooks/post-commit", "cp a AGENTS.md", "tee -a .bashrc", "sed -i s/a/b/ CLAUDE.md"),
        *("mkdir -p .cogency/commands", "sudo touch .envrc", "sh -c 'cp x .git/hooks/y'", "cat /etc/passwd"),
        *(
            "ls ..",
            "cp a.py ~/x",
            "cd /etc && cat passwd",
            "head --lines=1 /etc/hosts",
            "grep -f/etc/hosts x",
        ),
    ],
)
async def test_commands_that_name_such_files_are_asked_about_in_every_mode(
    person: Person, command: str
) -> None:
    (person.project / ".git/hooks").mkdir(parents=True)
    for person.mode in ("ask", "edits", "auto"):
        assert not await person.lets(run(person, command), NO)
        assert person.reason != "it runs a command"
        assert person.asked[0].pattern == ""


async def test_the_persons_configuration_is_asked_for_where_it_lies_in_the_project(tmp_path: Path) -> None:
    person = Person(tmp_path / ".config/cogency-tui", tmp_path)
    person.mode = "auto"
    assert not await person.lets(change(person, ".config/cogency-tui/permissions.toml"), NO)
    assert person.reason == "it is this program's own configuration"
    assert person.asked[0].pattern == ""
    assert await person.lets(change(person, ".config/other/permissions.toml"))


# What a yes for the conversation covers.


async def test_a_yes_for_the_conversation_covers_the_same_command_in_the_same_place(person: Person) -> None:
    assert await person.lets(run(person, "make test"), ALL_ALONG)
    assert person.asked[0].grant == "this exact command"
    assert await person.lets(run(person, "make test"))
    assert not person.asked
    assert not await person.lets(run(person, "make test; rm x"), NO)
    assert not await person.lets(replace(run(person, "make test"), paths=(person.project / "sub",)), NO)
    assert not await person.lets(run(person, "make test"), NO, gate=person.new_gate())


async def test_a_yes_for_changes_covers_neither_protected_files_nor_those_outside(person: Person) -> None:
    assert await person.lets(change(person, "a.py"), ALL_ALONG)
    assert person.asked[0].grant == "all changes to files in the project"
    assert await person.lets(change(person, "b.py"))
    protected = change(person, "AGENTS.md", protected="AGENTS.md: agents take instructions from it")
    assert not await person.lets(protected, NO)
    assert await person.lets(protected, ALL_ALONG)
    assert await person.lets(replace(protected, summary="Edit it", counts=LineCounts(9, 9)))
    assert not await person.lets(change(person, "CLAUDE.md", protected="CLAUDE.md: …"), NO)
    assert not await person.lets(Intent("write", "w", paths=(Path("/etc/x"),), outside="/etc/x"), NO)


async def test_a_yes_for_a_host_covers_that_host(person: Person) -> None:
    assert await person.lets(page_of("example.org"), ALL_ALONG)
    assert person.asked[0].grant == "all requests to example.org"
    assert await person.lets(page_of("example.org"))
    assert not await person.lets(page_of("example.com"), NO)
    assert not await person.lets(SEARCH, NO)


async def test_what_would_be_lost_is_asked_about_each_time_in_every_mode(person: Person) -> None:
    person.rules.add("command", "pytest")
    intent = run(person, "pytest", losses=LOST)
    for person.mode in ("ask", "edits", "auto"):
        for answer in (ALL_ALONG, ALWAYS, YES):
            assert await person.lets(intent, answer)
            assert (person.asked[0].losses, person.reason) == (LOST, "")
            assert (person.asked[0].grant, person.asked[0].pattern) == ("", "")
    assert len(person.rules.list()) == 1


# Rules.


async def test_always_makes_a_rule_that_holds_in_other_conversations(person: Person) -> None:
    assert await person.lets(run(person, "pytest -x"), ALWAYS)
    assert person.asked[0].pattern == "pytest"
    assert await person.lets(run(person, "pytest tests"), gate=person.new_gate())
    assert not person.asked
    assert not await person.lets(run(person, "pytest; rm x"), NO, gate=person.new_gate())
    (rule,) = person.rules.list()
    person.rules.revoke(rule.id)
    assert not await person.lets(run(person, "pytest tests"), NO)


@pytest.mark.parametrize("effect", ["command", "network", "tool", "write"])
async def test_a_rule_that_another_process_revokes_holds_no_more(person: Person, effect: str) -> None:
    intents = {
        "command": run(person, "pytest -x"),
        "network": page_of("docs.python.org"),
        "tool": Intent("tool", "Call x", brings="the MCP server demo", tool="demo.x"),
        "write": change(person, "src/a.py"),
    }
    intent = intents[effect]
    assert await person.lets(intent, ALWAYS)
    assert await person.lets(intent)
    other = Rules(person.rules.path, person.project)
    other.revoke(other.list()[0].id)
    assert not await person.lets(intent, NO)
    assert person.asked


async def test_a_rule_that_is_revoked_takes_no_other_yes_with_it(person: Person) -> None:
    assert await person.lets(run(person, "pytest -x"), ALL_ALONG)
    assert await person.lets(run(person, "pytest"), ALWAYS)
    other = Rules(person.rules.path, person.project)
    other.revoke(other.list()[0].id)
    assert await person.lets(run(person, "pytest -x"))
    assert not await person.lets(run(person, "pytest"), NO)


async def test_a_rule_is_asked_about_again_when_what_decides_has_changed(person: Person) -> None:
    makefile = person.project / "Makefile"
    makefile.write_text("test:\n\ttrue\n")
    assert await person.lets(run(person, "make test"), ALWAYS)
    assert await person.lets(run(person, "make test"))
    makefile.write_text("test:\n\tevil\n")
    assert not await person.lets(run(person, "make test"), NO)
    assert person.reason == (
        "A rule matches, but files that determine what runs have changed since the rule was added"
    )
    assert await person.lets(run(person, "make test"), ALWAYS)
    assert await person.lets(run(person, "make test"), gate=person.new_gate())
    assert len(person.rules.list()) == 1


async def test_an_always_in_a_conversation_that_has_read_something_lasts_as_long_as_the_rule(
    person: Person,
) -> None:
    person.mode = "auto"
    person.gate.tainted("example.org")
    host = page_of("docs.python.org")
    assert await person.lets(host, ALWAYS)
    assert await person.lets(host)
    other = Rules(person.rules.path, person.project)
    other.revoke(other.list()[0].id)
    assert not await person.lets(host, NO)


async def test_always_for_changes_and_hosts(person: Person) -> None:
    assert await person.lets(change(person, "src/a.py"), ALWAYS)
    assert await person.lets(page_of("docs.python.org"), ALWAYS)
    gate = person.new_gate()
    assert await person.lets(change(person, "src/b/c.py"), gate=gate)
    assert await person.lets(page_of("docs.python.org"), gate=gate)
    assert not await person.lets(change(person, "setup.py"), NO, gate=gate)
    assert not await person.lets(page_of("python.org"), NO, gate=gate)


async def test_an_always_that_was_not_offered_counts_once(person: Person) -> None:
    intent = run(person, "rm -rf build", losses=LOST)
    assert await person.lets(intent, ALWAYS)
    assert not await person.lets(intent, NO)
    assert not person.rules.path.exists()


async def test_no_rule_lets_anything_pass_in_plan_mode(person: Person) -> None:
    person.rules.add("command", "pytest")
    person.mode = "plan"
    assert not await person.lets(run(person, "pytest"), YES)
    assert not person.asked


async def test_broken_rules_are_told_and_everything_is_asked_about(person: Person) -> None:
    person.rules.add("command", "pytest")
    person.rules.path.write_text("[[rules]]\nid = 1\n")
    assert not await person.lets(run(person, "pytest"), NO)
    assert person.reason.startswith("Rules not applied: ")
    assert "line 1: rule 1" in person.reason
    assert person.asked[0].pattern == ""
    assert await person.lets(run(person, "pytest"), ALWAYS)
    assert person.rules.path.read_text() == "[[rules]]\nid = 1\n"


async def test_a_rule_that_could_not_be_kept_is_told_with_the_next_question(person: Person) -> None:
    person.rules.path.parent.write_text("in the way")
    assert await person.lets(run(person, "pytest"), ALWAYS)
    assert not await person.lets(run(person, "ls"), NO)
    assert "The last rule was not saved" in person.reason
    assert not await person.lets(run(person, "ls"), NO)
    assert person.reason == ""


# For a turn.


async def test_edits_are_allowed_for_a_turn_and_asked_about_in_the_next(person: Person) -> None:
    assert await person.lets(change(person, "a.py"), ALL_TURN)
    assert person.asked[0].turn == "all changes to files in the project"
    for name in ("b.py", "new/c.py"):
        assert await person.lets(change(person, name))
        assert not person.asked
    (grant,) = person.gate.granted
    assert grant.covers == "all changes to files in the project"
    # Neither a command, nor a loss, nor a protected or an outside file is covered.
    for intent in (
        run(person, "make"),
        run(person, "rm a", losses=LOST),
        change(person, "AGENTS.md", protected="AGENTS.md: it instructs the agent"),
        change(person, "../x", outside="/x"),
    ):
        assert not await person.lets(intent, NO)
        assert person.asked[0].turn == ""

    # The turn of a sub-agent ends nothing.
    inner = person.gate.narrowed("auto", call_id="c", asker="the sub-agent x")
    inner.begin_turn()
    assert await person.lets(change(person, "b.py"), gate=inner)
    # Nor does a message that steers the turn.
    person.gate.begin_turn(continues=True)
    assert await person.lets(change(person, "b.py"))
    person.gate.begin_turn()
    assert not await person.lets(change(person, "b.py"), NO)
    assert not list(person.gate.granted)


async def test_a_yes_for_the_turn_that_was_not_offered_counts_once(person: Person) -> None:
    assert await person.lets(run(person, "make"), ALL_TURN)
    assert not await person.lets(run(person, "make"), NO)


async def test_what_the_user_declined_says_so(person: Person) -> None:
    person.answers = [Answer(allow=False, reason="keep it")]
    with pytest.raises(DeclinedError) as raised:
        await person.gate.check("c", "edit", change(person, "a.py"))
    assert raised.value.words == "keep it"
    assert raised.value.advice.endswith("Their reason: keep it")


# After content of strangers was read (promise 7).


async def test_in_auto_the_network_runs_until_something_was_read(person: Person) -> None:
    person.mode = "auto"
    await person.reads(SEARCH)
    assert not person.asked
    assert not await person.lets(page_of("example.org"), NO)
    assert person.reason == (
        "it sends a request to example.org, and this conversation has read text from public search engines"
    )


@pytest.mark.parametrize("mode", PERMISSIONS)
async def test_what_was_allowed_before_is_asked_about_again(person: Person, mode: Permissions) -> None:
    person.mode = mode
    assert await person.lets(page_of("a.com"), ALL_ALONG)
    person.gate.tainted("/etc/notes.txt")
    assert not await person.lets(page_of("a.com"), NO)
    assert person.reason.endswith(
        "this conversation has read text from /etc/notes.txt" + " since" * (mode != "auto")
    )
    assert await person.lets(page_of("a.com"), ALL_ALONG)
    assert await person.lets(page_of("a.com"))
    assert not person.asked


async def test_a_host_that_was_allowed_may_go_on_being_read(person: Person) -> None:
    await person.reads(page_of("a.com"), ALL_ALONG)
    await person.reads(page_of("a.com"))
    assert not person.asked
    await person.reads(page_of("b.com"), ALL_ALONG)
    assert not await person.lets(page_of("a.com"), NO)
    assert "b.com since" in person.reason
    await person.reads(page_of("a.com"), ALL_ALONG)
    for host in ("a.com", "b.com", "a.com"):
        await person.reads(page_of(host))
        assert not person.asked


async def test_a_path_outside_that_was_allowed_is_asked_for_again(person: Person) -> None:
    notes = Intent("read", "Read /etc/hosts", paths=(Path("/etc/hosts"),), outside="/etc/hosts")
    await person.reads(notes, ALL_ALONG)
    await person.reads(notes)
    assert not person.asked
    person.gate.tainted("a.com")
    assert not await person.lets(notes, NO)
    assert person.reason == (
        "/etc/hosts is outside the project, and this conversation has read text from a.com since"
    )


async def test_a_rule_for_a_host_waits_for_a_yes_once_something_else_was_read(person: Person) -> None:
    person.rules.add("network", "a.com")
    await person.reads(page_of("a.com"))
    await person.reads(page_of("a.com"))
    person.gate.tainted("b.com")
    assert not await person.lets(page_of("a.com"), NO)
    assert person.asked[0].pattern == "a.com"
    assert await person.lets(page_of("a.com"), ALL_ALONG)
    assert await person.lets(page_of("a.com"))


@pytest.mark.parametrize("mode", ["edits", "auto"])
async def test_changes_inside_go_on(person: Person, mode: Permissions) -> None:
    person.mode = mode
    person.gate.tainted("a.com")
    assert await person.lets(change(person, "a.py"))
    assert await person.lets(READ)


async def test_in_auto_commands_are_asked_about_as_they_could_reach_out(person: Person) -> None:
    person.mode = "auto"
    assert await person.lets(run(person, "ls"))
    person.gate.tainted("a.com")
    assert not await person.lets(run(person, "ls"), NO)
    assert (
        person.reason
        == "it can run anything, including network access, and this conversation has read text from a.com"
    )
    assert await person.lets(run(person, "ls"), ALL_ALONG)
    assert person.asked[0].grant == "every command, until untrusted content is read"
    assert await person.lets(run(person, "make"))
    assert not await person.lets(run(person, "curl https://x.com"), NO)
    assert "it accesses the network with curl" in person.reason
    person.gate.tainted("b.com")
    assert not await person.lets(run(person, "make"), NO)
    person.mode = "ask"
    person.answers = []
    assert not await person.lets(run(person, "make"), NO)
    assert person.reason == ""


async def test_a_command_that_a_sandbox_holds_goes_on_in_auto(person: Person) -> None:
    person.mode = "auto"
    person.gate.tainted("a.com")
    assert await person.lets(run(person, "make", confined=True))
    assert await person.lets(run(person, "curl https://x.com", confined=True))
    assert not await person.lets(run(person, "cat /etc/passwd", confined=True), NO)


async def test_commands_with_a_rule_or_a_yes_of_their_own_go_on(person: Person) -> None:
    person.rules.add("command", "pytest")
    for person.mode in ("ask", "auto"):
        gate = person.new_gate()
        assert await person.lets(run(person, "make"), ALL_ALONG, gate=gate)
        gate.tainted("a.com")
        assert await person.lets(run(person, "pytest -x"), gate=gate)
        assert await person.lets(run(person, "make"), gate=gate) is (person.mode == "ask")


@cases(
    ("command", "source"),
    [
        ("curl -s https://x.com", "curl"),
        ("wget -qO- x.com | head", "wget"),
        ("sh -c 'curl x.com'", "curl"),
        ("cat /etc/hosts", "/etc/hosts"),
        ("python3 -c 'import urllib.request as u; print(u.urlopen(\"http://x\").read())'", "python3"),
        ("make", ""),
        ("git push origin main", ""),
        ("echo x > /tmp/out.txt", ""),
    ],
)
async def test_what_a_command_brings_is_known_by_what_it_names(
    person: Person, command: str, source: str
) -> None:
    assert run(person, command).source == source


async def test_a_tool_that_says_no_more_than_that_it_uses_the_network(person: Person) -> None:
    person.mode = "auto"
    forecast = Intent("network", "Run forecast")
    await person.reads(forecast)
    assert not await person.lets(forecast, NO)
    assert person.reason == (
        "it sends a request to the network, and this conversation has read text from the network"
    )


async def test_nothing_read_is_nothing_noted(person: Person) -> None:
    person.gate.tainted("")
    assert person.gate.sources == ()


async def test_what_a_sub_agent_reads_counts_for_its_parent_and_the_other_way_round(person: Person) -> None:
    person.mode = "auto"
    child = person.gate.narrowed("auto", call_id="c", asker="the sub-agent x")
    child.tainted("a.com")
    assert not await person.lets(page_of("b.com"), NO)
    assert not await person.lets(page_of("b.com"), NO, gate=child)
    assert person.asked[-1].explanation.endswith("Requested by the sub-agent x.")
    assert await person.lets(page_of("b.com"), ALL_ALONG, gate=child)
    assert await person.lets(page_of("b.com"))


# What could have brought untrusted content.


@pytest.mark.parametrize("mode", PERMISSIONS)
async def test_what_could_have_brought_something_makes_only_the_way_out_ask(
    person: Person, mode: Permissions
) -> None:
    person.mode = mode
    person.rules.add("network", "a.com")
    assert await person.lets(page_of("a.com"))
    person.gate.note(Sources(possible=("make",)))
    assert not await person.lets(page_of("a.com"), NO)
    told = "make may have added untrusted text to this conversation"
    assert person.reason.endswith(f", and {told} since")
    if mode == "auto":
        for intent in (run(person, "make"), run(person, "ls"), change(person, "a.py"), READ):
            assert await person.lets(intent)
            assert not person.asked
        assert not await person.lets(run(person, "curl x.com"), NO)
        assert person.reason == f"it accesses the network with curl, and {told}"


async def test_one_more_of_what_could_have_brought_something_asks_nothing_again(person: Person) -> None:
    person.gate.note(Sources(possible=("make",)))
    assert await person.lets(page_of("a.com"), ALL_ALONG)
    person.gate.note(Sources(possible=("pytest",)))
    assert await person.lets(page_of("a.com"))
    assert not person.asked
    person.gate.tainted("b.com")
    assert not await person.lets(page_of("a.com"), NO)
    assert "b.com since" in person.reason


async def test_hosts_in_search_results_are_covered_by_a_yes_to_searching_alone(person: Person) -> None:
    assert await person.lets(SEARCH, ALL_ALONG)
    person.gate.note(SEARCH.sources | Sources(("a.com", "b.com")), SEARCH.source)
    assert person.gate.sources == ("public search engines", "a.com", "b.com")
    assert await person.lets(SEARCH)
    assert not person.asked
    assert not await person.lets(page_of("a.com"), NO)
    await person.reads(page_of("a.com"), YES)
    assert not await person.lets(SEARCH, NO)
    assert "a.com since" in person.reason


async def test_a_server_s_own_description_does_not_make_its_calls_ask(person: Person) -> None:
    person.mode = "auto"
    person.gate.note(Sources(possible=("the tool descriptions of the MCP server x",)), "the MCP server x")
    tool = Intent("tool", "Call it", network="x.com", brings="the MCP server x", tool="x.y")
    assert await person.lets(tool)
    assert not await person.lets(replace(tool, brings="the MCP server z"), NO)
    assert "the tool descriptions of the MCP server x may have added" in person.reason


# What the conversation itself started, and what nobody can be asked about.


async def test_what_the_conversation_started_is_never_asked_about(person: Person) -> None:
    stop = Intent("command", "Stop p1: make", detail="stop p1: make", own=True)
    person.gate.tainted("a.com")
    for person.mode in PERMISSIONS:
        assert await person.lets(stop)
        assert not person.asked


@pytest.mark.exhaustive
@cases(
    "command",
    ["curl http://127.0.0.1:1", "curl -s localhost:1 | head -5", "wget -qO- --max-redirect=0 localhost:1"]
    + ["curl x.com", "nc localhost 1", "ssh x", "git fetch", "npm install", "pip install x", "$c x.com"],
)
async def test_no_command_runs_in_plan_mode(person: Person, command: str) -> None:
    context = ToolContext(workspace=Workspace(person.project), refuse_by_mode=person.gate.refuse_by_mode)
    person.mode = "plan"
    with pytest.raises(RefusedError, match="plan mode neither changes files nor runs commands"):
        await Shell().plan(ShellArgs(command), context)
    person.mode = "auto"
    intent = await Shell().plan(ShellArgs(command), context)
    person.mode = "plan"
    assert not await person.lets(intent)
    assert not person.asked


async def test_a_server_that_was_not_started_here_is_named(person: Person) -> None:
    neighbour = "127.0.0.1:5432, which belongs to postgres, a process that this conversation did not start"
    intent = run(person, "curl 127.0.0.1:5432", neighbour=neighbour)
    assert not await person.lets(intent, NO)
    assert person.reason == f"it runs a command that reaches {neighbour}"
    person.mode = "auto"
    assert await person.lets(intent)
    person.gate.tainted("a.com")
    assert not await person.lets(intent, NO)
    assert person.reason == f"it reaches {neighbour}, and this conversation has read text from a.com"


FREE = "reading, searching and changing files inside the project"
PLAIN = "plain commands that do only that (cat, ls, git status)"


@cases(
    ("mode", "source", "allowed"),
    [
        ("plan", "", "reading and searching inside the project, and describing your plan"),
        ("ask", "", "reading and searching inside the project"),
        ("edits", "a.com", FREE),
        ("auto", "a.com", f"{FREE}, {PLAIN}, and curl to a server that you started"),
    ],
)
async def test_a_refusal_says_why_and_what_the_mode_allows(
    person: Person, mode: Permissions, source: str, allowed: str
) -> None:
    gate = Gate(lambda: mode, lambda: None)
    gate.tainted(source)
    with pytest.raises(RefusedError) as raised:
        await gate.check("c", "shell", run(person, "curl https://example.org"))
    told = str(raised.value)
    assert told.startswith(f"Not allowed: {raised.value.reason}")
    assert told.endswith(f". Allowed instead: {allowed}.")
    assert ("no user is available to approve it" in told) is (mode != "plan")


async def refusal(gate: Gate, intent: Intent) -> str:
    with pytest.raises(RefusedError) as raised:
        await gate.check("c", "shell", intent)
    return str(raised.value)


async def test_what_is_allowed_is_said_once_in_a_turn(person: Person) -> None:
    mode: Permissions = "ask"
    gate = Gate(lambda: mode, lambda: None)
    made = run(person, "make")
    assert "Allowed instead" in await refusal(gate, made)
    assert await refusal(gate, made) == "Not allowed: it runs a command; no user is available to approve it."
    assert (
        await refusal(gate, run(person, "ls"))
        == "Not allowed: it runs a command; no user is available to approve it."
    )
    mode = "edits"
    assert "Allowed instead" in await refusal(gate, made)
    gate.begin_turn()
    assert "Allowed instead" in await refusal(gate, made)
    # Another model is told for itself.
    assert "Allowed instead" in await refusal(gate.narrowed("auto", call_id="c", asker="x"), made)


async def test_a_refusal_names_the_ways_that_are_left(person: Person) -> None:
    gate = Gate(lambda: "auto", lambda: None)
    gate.note(Sources(possible=("pytest",)))
    transfers = "git push, pull or fetch with remotes that were configured before you began."
    fetch = run(person, "curl https://example.org")
    assert (await refusal(gate, fetch)).endswith(transfers)
    gate.tainted("a.com")
    assert transfers not in await refusal(gate, fetch)


async def test_a_question_that_nobody_answered_is_no_refusal_of_the_user_s(person: Person) -> None:
    async def unanswered(_question: Question) -> None:
        return None

    gate = Gate(lambda: "ask", lambda: unanswered)
    with pytest.raises(RefusedError, match="no user is available to approve it") as raised:
        await gate.check("c", "shell", run(person, "make"))
    assert raised.value.reason == "it runs a command"


@cases(
    ("mode", "intent", "source", "enough"),
    [
        ("ask", Intent("write", "Edit it", paths=(Path("/p/a"),)), "", "edits"),
        ("ask", Intent("command", "Run it"), "", "auto"),
        ("edits", Intent("command", "Run it"), "", "auto"),
        ("edits", Intent("command", "Run it"), "a.com", None),
        ("auto", Intent("command", "Run it"), "a.com", None),
        ("plan", Intent("network", "Read it", network="a.com"), "", "auto"),
        ("auto", Intent("read", "Read it", outside="/etc/x"), "", None),
        ("ask", Intent("command", "Run it", losses=LOST), "", None),
    ],
)
async def test_what_would_allow_a_call_is_known(
    mode: Permissions, intent: Intent, source: str, enough: Permissions | None
) -> None:
    gate = Gate(lambda: mode, lambda: None)
    gate.tainted(source)
    with pytest.raises(RefusedError):
        await gate.check("c", "tool", intent)
    assert [(refusal.summary, refusal.enough) for refusal in gate.refusals] == [(intent.summary, enough)]


@pytest.mark.parametrize(("most", "enough"), [("edits", None), ("auto", "auto")])
async def test_a_mode_that_a_sub_agent_cannot_have_does_not_allow_its_calls(
    most: Permissions, enough: Permissions | None
) -> None:
    gate = Gate(lambda: "ask", lambda: None)
    with pytest.raises(RefusedError):
        await gate.narrowed(most, call_id="c", asker="it").check("c", "tool", Intent("command", "Run it"))
    assert [refusal.enough for refusal in gate.refusals] == [enough]


async def test_sources_are_listed_with_one_and(person: Person) -> None:
    person.gate.note(Sources(possible=("make",)))
    person.gate.note(Sources(possible=("ss",)))
    person.gate.note(Sources(possible=("pytest",)))
    assert not await person.lets(page_of("a.com"), NO)
    assert "ss, pytest and 1 more may have added untrusted text" in person.reason


async def test_what_may_have_been_read_is_left_out_where_the_place_alone_decides(person: Person) -> None:
    person.mode = "auto"
    person.gate.note(Sources(possible=("make",)))
    outside = Intent("write", "Create /x", paths=(Path("/x"),), outside="/x")
    assert not await person.lets(outside, NO)
    assert person.reason == "/x is outside the project"

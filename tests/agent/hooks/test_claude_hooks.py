"""Hooks written for Claude Code, run as they are: their input, and what their answers mean."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.hooks.turn_hooks import HookBlockedError
from cogency_tui.agent.permissions.gate import Answer, Question
from tests.agent.delegation import results
from tests.agent.hooks.bench import RUFF, Bench, call, edit, edits, notices, only_result, runs, turn

LOG = "cat >> $LOG"


class Claude:
    """The user's settings of Claude Code, and a bench that reads them."""

    def __init__(self, bench: Bench, directory: Path) -> None:
        self.bench = bench
        self.log = directory / "log"
        self._file = directory / "claude" / "settings.json"
        self._file.parent.mkdir()

    def has(self, event: str, script: str, matcher: str = "", **more: Any) -> None:
        text = self._file.read_text() if self._file.exists() else "{}"
        settings: dict[str, Any] = json.loads(text)
        groups = settings.setdefault("hooks", {}).setdefault(event, [])
        line = script.replace("$LOG", str(self.log))
        groups.append({"matcher": matcher, "hooks": [{"type": "command", "command": line, **more}]})
        self._file.write_text(json.dumps(settings))

    def breaks(self, text: str = '{\n  "hooks": {,') -> None:
        self._file.write_text(text)

    def agent(self, *replies: str, **options: Any) -> Any:
        environ = {
            "CLAUDE_CONFIG_DIR": str(self._file.parent),
            "COGENCY_CONFIG": str(self._file.parent.parent / "config" / "config.toml"),
        }
        options.setdefault("settings", {})["claude_hooks"] = options.pop("claude_hooks", True)
        return self.bench.agent(*replies, environ=environ, **options)

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def claude(bench: Bench, tmp_path: Path) -> Claude:
    (bench.root / "a.py").write_text("x = 1\n")
    return Claude(bench, tmp_path)


def answer(**fields: Any) -> str:
    return f"cat > /dev/null; echo '{json.dumps(fields)}'"


def decide(decision: str, reason: str = "because") -> str:
    specific = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }
    return answer(hookSpecificOutput=specific)


async def test_the_input_has_the_names_that_scripts_expect(claude: Claude) -> None:
    claude.has("PreToolUse", LOG)
    claude.has("PostToolUse", LOG)
    root = claude.bench.root
    steps = (
        call("read", file="a.py"),
        edit("x = 1", "x = 2"),
        call("write", file="b.py", content="y\n"),
        call("shell", command="echo hello", timeout=9),
        call("find", content="hello"),
        call("replace", pattern="*.py", old="x = 2", new="x = 3"),
    )
    async with claude.agent(*steps, "Ok.") as agent:
        done = results(await turn(agent))
    before = [each for each in claude.received() if each["hook_event_name"] == "PreToolUse"]
    after = [each for each in claude.received() if each["hook_event_name"] == "PostToolUse"]
    assert [each["tool_name"] for each in before] == ["Read", "Edit", "Write", "Bash", "Grep", "Edit"]
    assert [each["tool_name"] for each in after] == [each["tool_name"] for each in before]
    read, edited, written, ran, found, replaced = (each["tool_input"] for each in before)
    assert read["file_path"] == f"{root}/a.py"
    assert edited == {
        "file_path": f"{root}/a.py",
        "old_string": "x = 1",
        "new_string": "x = 2",
        "replace_all": False,
    }
    assert written == {"file_path": f"{root}/b.py", "content": "y\n"}
    assert (ran["command"], ran["timeout"]) == ("echo hello", 9000)
    assert found["pattern"] == "hello"
    assert (replaced["file_path"], replaced["new_string"]) == (f"{root}/a.py", "x = 3")
    for each in before:
        assert (each["session_id"], each["cwd"], each["permission_mode"]) == ("c", str(root), "auto")
    assert before[0]["tool_use_id"] == done[0]["id"]
    assert "hello" in after[3]["tool_response"]["stdout"]
    assert after[1]["tool_response"]["filePath"] == f"{root}/a.py"


async def test_a_formatter_in_their_settings_is_journaled(claude: Claude) -> None:
    line = (
        'file=$(python3 -c \'import json, sys; print(json.load(sys.stdin)["tool_input"]["file_path"])\');'
        f' {RUFF} format --no-cache "$file"'
    )
    claude.has("PostToolUse", line, "Edit|MultiEdit|Write")
    async with claude.agent(edit("x = 1", "x   =   2"), "Ok.") as agent:
        result = only_result(await turn(agent))
        payload, (run,) = result["payload"], runs([result])
        assert [each.tool for each in await edits(agent)] == ["edit", f"hook:{run['name']}"]
    assert (claude.bench.root / "a.py").read_text() == "x = 2\n"
    assert "changed a.py (+1 −1)" in payload.get("note", "")


async def test_the_script_finds_the_project(claude: Claude) -> None:
    script = claude.bench.root / ".claude" / "hooks" / "say.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\necho in $CLAUDE_PROJECT_DIR\n")
    script.chmod(0o755)
    claude.has("PostToolUse", '"$CLAUDE_PROJECT_DIR"/.claude/hooks/say.sh', "Bash")
    async with claude.agent(call("shell", command="true"), "Ok.") as agent:
        (run,) = runs(await turn(agent))
    assert (run["name"], run["output"]) == ("say.sh", f"in {claude.bench.root}")


async def refused(claude: Claude, **options: Any) -> Any:
    async with claude.agent(call("shell", command="touch ran"), "Ok.", **options) as agent:
        return only_result(await turn(agent))["payload"]


@pytest.mark.parametrize(
    "script", ["echo because >&2; exit 2", decide("deny"), answer(decision="block", reason="because")]
)
async def test_a_call_is_refused(claude: Claude, script: str) -> None:
    claude.has("PreToolUse", script, "Bash")
    payload = await refused(claude)
    assert payload["outcome"].endswith("blocked this call: because")
    assert not (claude.bench.root / "ran").exists()


async def test_a_question_is_asked_once_with_the_reason(claude: Claude) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=len(asked) == 1, reason="not twice")

    claude.has("PreToolUse", decide("ask", "it is Friday"), "Bash")
    payload: Any = {}
    for permissions in ("auto", "ask"):
        agent = claude.agent(call("shell", command="touch ran"), "Ok.", permissions=permissions)
        agent.ask = ask
        async with agent:
            payload = only_result(await turn(agent))["payload"]
    assert len(asked) == 2
    assert all("asks: it is Friday" in question.reason for question in asked)
    assert (claude.bench.root / "ran").exists()
    assert (payload["state"], payload.get("words")) == ("declined", "not twice")


async def test_a_question_without_a_user_is_a_refusal(claude: Claude) -> None:
    claude.has("PreToolUse", decide("ask"), "Bash")
    payload = await refused(claude)
    assert "no user is available" in payload["outcome"]
    assert not (claude.bench.root / "ran").exists()


async def test_no_answer_allows_what_permissions_do_not(claude: Claude) -> None:
    claude.has("PreToolUse", decide("allow"), "Bash")
    payload = await refused(claude, permissions="ask")
    assert payload["state"] == "failed"
    assert not (claude.bench.root / "ran").exists()


async def test_a_call_that_a_hook_would_change_does_not_run(claude: Claude) -> None:
    specific = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"command": "x"},
    }
    claude.has("PreToolUse", answer(hookSpecificOutput=specific), "Bash")
    payload = await refused(claude)
    assert "updatedInput" in payload["outcome"]
    assert not (claude.bench.root / "ran").exists()


async def test_context_and_reasons_reach_the_model(claude: Claude) -> None:
    specific = {"hookEventName": "PreToolUse", "additionalContext": "It is slow."}
    claude.has("PreToolUse", answer(hookSpecificOutput=specific))
    claude.has("PostToolUse", answer(decision="block", reason="Run the tests."))
    claude.has("PostToolUse", answer(systemMessage="Noted.", suppressOutput=True))
    async with claude.agent(call("shell", command="true"), "Ok.") as agent:
        result = only_result(await turn(agent))
    note = result["payload"].get("note", "")
    assert "adds:]\n```\nIt is slow.\n```" in note
    assert "reports:]\n```\nRun the tests.\n```" in note
    last = runs([result])[-1]
    assert (last["state"], last["outcome"], last["output"]) == ("done", "Noted.", "")


async def test_plain_text_of_others_is_not_sent(claude: Claude) -> None:
    claude.has("PostToolUse", "echo chatter")
    async with claude.agent(call("shell", command="true"), "Ok.") as agent:
        result = only_result(await turn(agent))
    assert result["payload"].get("note") is None
    assert [run["output"] for run in runs([result])] == ["chatter"]


async def test_the_failure_of_a_call_has_its_own_event(claude: Claude) -> None:
    claude.has("PostToolUse", LOG)
    claude.has("PostToolUseFailure", LOG)
    async with claude.agent(call("shell", command="exit 3"), call("shell", command="true"), "Ok.") as agent:
        await turn(agent)
    found = [(each["hook_event_name"], each.get("error", "")) for each in claude.received()]
    assert found == [("PostToolUseFailure", "exit 3"), ("PostToolUse", "")]


async def test_prompts_and_sessions(claude: Claude) -> None:
    claude.has("SessionStart", f"{LOG}; echo Welcome.", "startup")
    claude.has("SessionStart", "echo Back again.", "resume")
    claude.has("UserPromptSubmit", LOG)
    specific = {"hookEventName": "UserPromptSubmit", "additionalContext": "Be brief."}
    claude.has("UserPromptSubmit", answer(hookSpecificOutput=specific))
    claude.has("SessionEnd", LOG)
    async with claude.agent("Ok.") as agent:
        await turn(agent, "hello")
    sent = claude.bench.sent
    assert "Welcome." in sent
    assert "Be brief." in sent
    assert "Back again." not in sent
    start, prompt, end = claude.received()
    assert (start["source"], prompt["prompt"], end["hook_event_name"]) == ("startup", "hello", "SessionEnd")


async def test_a_prompt_is_blocked(claude: Claude) -> None:
    claude.has("UserPromptSubmit", answer(decision="block", reason="Not that."))
    async with claude.agent("Ok.") as agent:
        with pytest.raises(HookBlockedError, match=r"Not that\."):
            await turn(agent)


async def test_a_hook_after_a_call_may_block_and_add(claude: Claude) -> None:
    more = {"hookEventName": "PostToolUse", "additionalContext": "The log is in x.log."}
    claude.has("PostToolUse", answer(decision="block", reason="It is broken.", hookSpecificOutput=more))
    async with claude.agent(call("shell", command="true"), "Ok.") as agent:
        result = only_result(await turn(agent))
    note = result["payload"].get("note", "")
    assert "reports:]\n```\nIt is broken.\n```" in note
    assert "adds:]\n```\nThe log is in x.log.\n```" in note
    assert [run.get("added") for run in runs([result])] == ["The log is in x.log."]


async def test_stop_continues_the_turn_and_knows_that_it_did(claude: Claude) -> None:
    reason = answer(decision="block", reason="Go on.").partition("; ")[2]
    claude.has("Stop", f"tee -a $LOG | grep -q 'active\": true' || {reason}")
    async with claude.agent("One.", "Two.") as agent:
        events = await turn(agent)
    assert [each["stop_hook_active"] for each in claude.received()] == [False, True]
    assert claude.received()[0]["last_assistant_message"] == "One."
    assert "Go on." in claude.bench.sent
    assert events[-1]["type"] == "end"


async def test_continue_false_ends_the_turn(claude: Claude) -> None:
    claude.has("PostToolUse", answer(**{"continue": False, "stopReason": "Enough."}))
    async with claude.agent(call("shell", command="true"), "Ok.") as agent:
        events = await turn(agent)
    assert len(claude.bench.provider.sent) == 1
    assert any("stopped the turn: Enough." in notice for notice in notices(events))
    assert events[-1]["type"] == "interrupt"


async def test_they_can_be_switched_off(claude: Claude) -> None:
    claude.has("PreToolUse", "exit 2")
    async with claude.agent(call("shell", command="true"), "Ok.", claude_hooks=False) as agent:
        payload = only_result(await turn(agent))["payload"]
    assert (payload["state"], payload.get("hooks")) == ("done", None)


def trusted(agent: Any) -> Sequence[str]:
    """Trust the project as it is; return the names of its hooks."""
    agent.project_settings.accept(agent.project_settings.survey())
    return [hook.name for hook in agent.project_settings.now.hooks if hook.owner == "project"]


def put_project(root: Path, script: str, name: str = "settings.json") -> None:
    (root / ".claude" / "hooks").mkdir(parents=True, exist_ok=True)
    line = 'sh "$CLAUDE_PROJECT_DIR/.claude/hooks/check.sh"'
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": line}]}]}
    (root / ".claude" / name).write_text(json.dumps({"hooks": hooks}))
    (root / ".claude" / "hooks" / "check.sh").write_text(script)


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
async def test_those_of_a_project_run_only_with_trust(claude: Claude, name: str) -> None:
    root = claude.bench.root
    put_project(root, "touch ran-hook", name)
    call_once = call("shell", command="true")
    async with claude.agent(call_once, "Ok.", call_once, "Ok.") as agent:
        assert runs(await turn(agent)) == []
        assert trusted(agent) == ["check.sh"]
        assert [run["name"] for run in runs(await turn(agent))] == ["check.sh"]
    assert (root / "ran-hook").exists()


@pytest.mark.parametrize("change", ["script", "settings", "gone"])
async def test_a_guard_that_changes_refuses_the_calls_of_its_turn(claude: Claude, change: str) -> None:
    root = claude.bench.root
    put_project(root, "exit 0")
    settings_file, script = root / ".claude" / "settings.json", root / ".claude" / "hooks" / "check.sh"
    run = call("shell", command="echo ran >> ran")
    async with claude.agent(run, run, "Ok.", run, "Ok.") as agent:
        trusted(agent)
        events: list[Any] = []
        async for event in agent.stream("go", conversation_id="c"):
            events.append(event)
            if event["type"] == "result" and not event.get("partial"):
                if change == "script":
                    script.write_text("touch evil")
                elif change == "settings":
                    settings_file.write_text(settings_file.read_text().replace("PreToolUse", "Stop"))
                else:
                    settings_file.unlink(missing_ok=True)
        first, second = results(events)
        assert [len(each["payload"].get("hooks", ())) for each in (first, second)] == [1, 0]
        assert (first["payload"]["state"], second["payload"]["state"]) == ("done", "failed")
        assert (
            "the hook check.sh changed since it was trusted; the user has to review it (/trust)"
            in second["payload"]["outcome"]
        )
        (notice,) = notices(events)
        changed = {
            "script": ".claude/hooks/check.sh",
            "settings": ".claude/settings.json, .claude/hooks/check.sh",
            "gone": "its files",
        }[change]
        assert "Calls that it guards are refused for the rest of this turn. Review with /trust." in notice
        assert notice.startswith(f"Hook check.sh is off: {changed.partition(',')[0]}"), notice
        # At once, and not at the end of the turn.
        told = next(place for place, event in enumerate(events) if event["type"] == "error")
        assert told < next(place for place, event in enumerate(events) if event["type"] == "respond")
        later = await turn(agent)
        assert only_result(later)["payload"]["state"] == "done"
        assert notices(later) == [
            notice.replace(" Calls that it guards are refused for the rest of this turn.", "")
        ]
        assert notices(await turn(agent)) == []
    assert (root / "ran").read_text() == "ran\nran\n"
    assert not (root / "evil").exists()


async def changed_in_turn(agent: Any, script: Path) -> list[Any]:
    """A turn in which the script changes once the first call has ended."""
    events: list[Any] = []
    async for event in agent.stream("go", conversation_id="c"):
        events.append(event)
        if event["type"] == "result" and not event.get("partial"):
            script.write_text("touch evil")
    return events


async def test_a_guard_of_other_calls_refuses_none_of_these(claude: Claude) -> None:
    root = claude.bench.root
    put_project(root, "exit 0")
    settings_file = root / ".claude" / "settings.json"
    settings_file.write_text(settings_file.read_text().replace('[{"hooks"', '[{"matcher": "Read", "hooks"'))
    run = call("shell", command="true")
    async with claude.agent(run, run, call("read", file="a.py"), "Ok.") as agent:
        trusted(agent)
        events = await changed_in_turn(agent, root / ".claude" / "hooks" / "check.sh")
    assert [each["payload"]["state"] for each in results(events)] == ["done", "done", "failed"]


async def test_hooks_that_the_user_withdraws_refuse_nothing(claude: Claude) -> None:
    root = claude.bench.root
    put_project(root, "exit 0")
    run = call("shell", command="true")
    async with claude.agent(run, run, "Ok.") as agent:
        trusted(agent)
        events: list[Any] = []
        async for event in agent.stream("go", conversation_id="c"):
            events.append(event)
            if event["type"] == "result" and not event.get("partial"):
                agent.project_settings.withdraw()
        assert [each["payload"]["state"] for each in results(events)] == ["done", "done"]
        assert notices(events) == []


async def test_a_guard_that_the_user_trusts_again_goes_on(claude: Claude) -> None:
    root = claude.bench.root
    put_project(root, "exit 0")
    run = call("shell", command="true")
    async with claude.agent(run, run, "Ok.") as agent:
        trusted(agent)
        events: list[Any] = []
        async for event in agent.stream("go", conversation_id="c"):
            events.append(event)
            if event["type"] == "result" and not event.get("partial"):
                (root / ".claude" / "hooks" / "check.sh").write_text("exit 0 # changed")
                trusted(agent)
        assert [len(each["payload"].get("hooks", ())) for each in results(events)] == [1, 1]


async def test_a_hook_after_calls_that_changes_is_off_with_a_notice_at_once(claude: Claude) -> None:
    root = claude.bench.root
    put_project(root, "exit 0")
    settings_file = root / ".claude" / "settings.json"
    settings_file.write_text(settings_file.read_text().replace("PreToolUse", "PostToolUse"))
    run = call("shell", command="true")
    async with claude.agent(run, run, "Ok.") as agent:
        trusted(agent)
        events = await changed_in_turn(agent, root / ".claude" / "hooks" / "check.sh")
    assert [each["payload"]["state"] for each in results(events)] == ["done", "done"]
    (notice,) = notices(events)
    assert notice == (
        "Hook check.sh is off: .claude/hooks/check.sh changed since you trusted it. Review with /trust."
    )
    kinds = [event["type"] for event in events]
    assert kinds.index("error") < kinds.index("respond")


@pytest.mark.parametrize("text", ['{\n  "hooks": {,', '{\n  "permi', "", '{"hooks": []}'])
async def test_the_last_hooks_stay_in_force_while_the_file_is_broken(claude: Claude, text: str) -> None:
    claude.has("PreToolUse", "echo Not here. >&2; exit 2", "Bash")
    touch = call("shell", command="touch ran")
    async with claude.agent(touch, "Ok.", touch, "Ok.", touch, "Ok.") as agent:
        await turn(agent)
        claude.breaks(text)
        second = await turn(agent)
        third = await turn(agent)
        assert not (claude.bench.root / "ran").exists()
        (notice,) = notices(second)
        assert notice.startswith(f"{claude.bench.data.parent}/claude/settings.json: ")
        assert ("line 1" in notice) == (text in ("", '{"hooks": []}'))
        assert notice.endswith(" Its last hooks stay in force.")
        assert notices(third) == []
        assert only_result(third)["payload"]["outcome"].endswith("blocked this call: Not here.")


async def test_a_file_without_hooks_ends_those_before(claude: Claude) -> None:
    claude.has("PreToolUse", "echo Not here. >&2; exit 2", "Bash")
    touch = call("shell", command="touch ran")
    async with claude.agent(touch, "Ok.", touch, "Ok.") as agent:
        await turn(agent)
        claude.breaks("{}")
        assert notices(await turn(agent)) == []
    assert (claude.bench.root / "ran").exists()


async def test_a_file_that_is_broken_at_the_start_is_reported(claude: Claude) -> None:
    claude.breaks()
    async with claude.agent("Ok.") as agent:
        (notice,) = notices(await turn(agent))
    assert "settings.json: line 2: it is no JSON: " in notice
    assert notice.endswith(" Its hooks are not used.")

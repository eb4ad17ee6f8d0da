"""Codex's sessions: the rollouts below `~/.codex/sessions` and `~/.codex/archived_sessions`.

A rollout is the log of a thread, in the order in which it was written; what the user went back behind is part
of it, as it is of the file. What has no id has its line as key.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.importers.codex_calls import (
    PatchCall,
    named_call,
    patch_calls,
    read_output,
    texts_in,
    user_command,
)
from cogency_tui.agent.importers.codex_files import KnownFiles
from cogency_tui.agent.importers.codex_rollouts import (
    Index,
    bases,
    heading,
    root_of,
    spawns,
    thread_id,
    titles,
)
from cogency_tui.agent.importers.records import an_object, blocks, file_stamp, is_in_use, text, text_of, whole
from cogency_tui.agent.importers.session import Session, SessionFile, json_lines
from cogency_tui.protocol.events import CallState, Measure

_SIDE_AGENTS = ("memory_consolidation", "compact", "guardian")
"""Sub-agents of the program itself."""

_INJECTED = re.compile(
    r"\s*(?:# AGENTS\.md instructions|Another language model started to solve this problem"
    r"|<(?:environment_context|user_instructions|INSTRUCTIONS|turn_aborted|"
    r"subagent_notification|skill|user_shell_command|user_action|model_switch|recommended_plugins|goal_context|"
    r"hook_prompt|permissions instructions|collaboration_mode|[a-z]+_context|[a-z]+_instructions)\b[^>]*>)"
)
_DIRECTORY = re.compile(r"(?:<cwd>|Current working directory: )([^<\n]+)")
_TASK = re.compile(r"Message Type: (\w+)\n.*?Payload:\n(.*)", re.DOTALL)
_SILENT = frozenset(
    {"world_state", "inter_agent_communication_metadata", "retained_context", "session_state", "checkpoint"}
)
_SILENT_ITEMS = frozenset(
    {"additional_tools", "ghost_snapshot", "compaction", "compaction_summary", "compaction_trigger"}
    | {"context_compaction", "configuration", "other", "local_shell_call_output"}
)
_SILENT_EVENTS = frozenset(
    {
        "user_message",
        "agent_message",
        "thread_name_updated",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "error",
        "warning",
    }
    | {"agent_reasoning_section_break", "context_compacted", "task_started", "turn_started", "task_complete"}
    | {"turn_complete", "turn_aborted", "turn_diff", "thread_rolled_back", "thread_settings_applied"}
    | {"undo_started", "undo_completed", "entered_review_mode", "exited_review_mode", "plan_update"}
    | {"item_started", "stream_error", "background_event", "deprecation_notice", "shutdown_complete"}
    | {"session_configured", "hook_started", "hook_completed", "thread_goal_updated", "guardian_assessment"}
    | {
        "request_user_input",
        "view_image_tool_call",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
    }
    | {"exec_approval_request", "apply_patch_approval_request", "elicitation_request", "model_reroute"}
    | {"sub_agent_activity", "image_generation_end", "web_search_end", "mcp_startup_complete"}
)
_HARMLESS_ITEMS = frozenset(
    {"Reasoning", "AgentMessage", "ImageView", "WebSearch", "Plan", "ContextCompaction", "HookPrompt"}
)
"""Items during which no file changes."""


class Codex:
    """The reader of the sessions of OpenAI's Codex."""

    name = "codex"
    title = "Codex"

    def __init__(self) -> None:
        self._index: Index | None = None
        self._spawns: dict[tuple[str, str], dict[str, str]] = {}
        self._titles: dict[tuple[str, str], dict[str, str]] = {}

    def files(self, home: Path, environment: Mapping[str, str]) -> Iterator[SessionFile]:
        given = environment.get("CODEX_HOME", "")
        self._index = Index(Path(given) if given else home / ".codex")
        for paths in self._index.threads.values():
            stamps = [found for path in paths if (found := file_stamp(path))]
            if len(stamps) == len(paths):
                project = text_of(heading(paths[0]).get("cwd"))
                yield SessionFile(paths[0], " ".join(stamps), project=project)

    def read(self, file: SessionFile) -> Session | None:
        id, root = thread_id(file.path), root_of(file.path)
        if not id:
            return None
        if self._index is None or self._index.root != root or id not in self._index.threads:
            self._index = Index(root)
        session = Session(id)
        thread = _Thread(session)
        paths = self._index.threads.get(id) or [file.path]
        if about := heading(paths[0]):
            with session.at("line 1"):
                thread.describe(about)
        for path, end in [*bases(self._index, paths[0]), *((path, None) for path in paths)]:
            if not file_stamp(path):
                raise OSError(f"{path} is not a regular file")
            thread.read(path, end, is_first=path == paths[0])
        if thread.is_side:
            return None
        if not thread.is_begun:
            return session if session.unknown else None
        with suppress(OSError):
            session.title = session.title or self._titles_in(root).get(session.id, "")
        with suppress(OSError):
            session.call = self._spawn(self._index, session.parent, session.id)
        session.close(is_running=any(is_in_use(path) for path in paths))
        return session

    def _titles_in(self, root: Path) -> dict[str, str]:
        """The names of threads, in `session_index.jsonl`."""
        path = root / "session_index.jsonl"
        key = str(path), file_stamp(path)
        if key[1] and key not in self._titles:
            self._titles = {key: dict(titles(path))}
        return self._titles.get(key, {})

    def _spawn(self, index: Index, parent: str, child: str) -> str:
        """The id of the call of `parent` that started `child`."""
        found = ""
        for path in index.threads.get(parent, ()):
            key = str(path), file_stamp(path)
            if key[1] and key not in self._spawns:
                self._spawns = {key: dict(spawns(path))}
            found = self._spawns.get(key, {}).get(child, found)
        return found


class _Thread:
    """The events of a thread, as its records are read one by one."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.is_begun = False
        self.is_side = False
        self._start = 0
        """The ordinal before which the records are those of a sub-agent's parent."""
        self._segment = ""
        self._at: object = None
        self._cycle = ""
        self._calls: dict[str, list[tuple[str, PatchCall | None]]] = {}
        """The keys of the last call with an id, with the parts of a patch."""
        self._shells: set[str] = set()
        self._script = ""
        """The id of the last call of code that calls tools itself."""
        self._files = KnownFiles()
        self._changed: set[str] = set()
        self._has_items = False
        self._shown: set[str] = set()
        """The ids of the answers that the user has seen."""
        self._held: tuple[str, object, str] | None = None
        """An answer that may turn out to be a summary."""
        self._has_usage = False
        self._total: object = None
        self._is_base = False
        """Whether the records are another thread's, whose figures and edits are its own."""

    def read(self, path: Path, end: int | None, *, is_first: bool) -> None:
        """Read the records of a file, the thread's `is_first` one or another, up to the ordinal `end`."""
        self._segment = "" if is_first else f"{path.stem[-12:]} "
        self._is_base = end is not None
        for place, record in json_lines(self.session, path):
            ordinal = record.get("ordinal")
            if end is not None and isinstance(ordinal, int) and ordinal >= end:
                return
            with self.session.at(place if is_first else f"{path.name} {place}"):
                self._record(f"{self._segment}{place}", record)

    def _record(self, place: str, record: dict[str, Any]) -> None:
        self._at = record.get("timestamp", self._at)
        if "payload" not in record:
            self._old_record(place, record)
            return
        kind, payload = text(record["type"]), an_object(record["payload"])
        if kind == "session_meta":
            self.describe(payload)
        elif isinstance(record.get("ordinal"), int) and record["ordinal"] < self._start:
            return
        elif kind == "turn_context":
            self.session.model = text(payload["model"])
        elif kind == "response_item":
            self._item(place, payload)
        elif kind == "event_msg":
            self._event(place, payload)
        elif kind == "token_usage_record":
            self._has_usage = True
            self._spend(str(payload.get("response_id") or place), an_object(payload["usage"]))
        elif kind == "compacted":
            self._held = None
        elif kind not in _SILENT:
            raise ValueError(f"type {kind!r}")

    def _old_record(self, place: str, record: dict[str, Any]) -> None:
        """Read a record of versions before 0.32: bare items after a heading."""
        if "record_type" in record:
            return
        if "type" in record:
            self._item(place, record)
        else:
            text(record["id"])
            self.describe(record)

    def describe(self, meta: dict[str, Any]) -> None:
        """Read the heading; in older versions those of the threads that it was forked from follow it."""
        if self.is_begun:
            return
        self.is_begun = True
        session, source = self.session, meta.get("source")
        session.project = text_of(meta.get("cwd"))
        session.provider = text_of(meta.get("model_provider"))
        git = meta.get("git")
        session.branch = text_of(cast("dict[str, Any]", git).get("branch")) if isinstance(git, dict) else ""
        if isinstance(start := meta.get("subagent_history_start_ordinal"), int):
            self._start = start
        if not isinstance(source, dict) or "subagent" not in source:
            return
        agent: Any = cast("dict[str, Any]", source)["subagent"]
        kind = cast("dict[str, Any]", agent).get("other") if isinstance(agent, dict) else agent
        self.is_side = kind in _SIDE_AGENTS
        spawn = cast("dict[str, Any]", agent).get("thread_spawn") if isinstance(agent, dict) else None
        given = cast("dict[str, Any]", spawn).get("parent_thread_id") if isinstance(spawn, dict) else None
        session.parent = text_of(given or meta.get("parent_thread_id"))

    # Items of the conversation

    def _item(self, place: str, item: dict[str, Any]) -> None:
        self.is_begun = True
        kind = text(item["type"])
        self._release()
        if kind == "message":
            self._message(place, item)
        elif kind == "agent_message":
            self._agent_message(place, item)
        elif kind == "reasoning":
            written, summary = texts_in(item.get("content"), "\n\n"), texts_in(item.get("summary"), "\n\n")
            key = self._key(item, place)
            self.session.think(key, self._at, written or summary, self._in_cycle(key), summary=not written)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call"):
            self._call(place, item)
        elif kind in ("function_call_output", "custom_tool_call_output", "tool_search_output"):
            self._result(item)
        elif kind in ("web_search_call", "image_generation_call"):
            self._hosted(place, item)
        elif kind not in _SILENT_ITEMS:
            raise ValueError(f"item {kind!r}")

    def _message(self, place: str, item: dict[str, Any]) -> None:
        role, key = text(item["role"]), self._key(item, place)
        if role == "assistant":
            answer = texts_in(item["content"])
            if self._has_items and key not in self._shown:
                self._held = key, self._at, answer
            else:
                self.session.respond(key, self._at, answer, self._in_cycle(key))
        elif role == "user":
            self._user(key, item)
        elif role not in ("developer", "system"):
            raise ValueError(f"role {role!r}")

    def _user(self, key: str, item: dict[str, Any]) -> None:
        parts = blocks(item["content"])
        about = item.get("internal_chat_message_metadata_passthrough")
        kinds = cast("dict[str, Any]", about).get("content_item_kinds") if isinstance(about, dict) else None
        ran = user_command(texts_in(parts)) if kinds in (None, ["shell.user_command"]) else None
        if ran:
            self._begin_turn()
            command, output, state, duration = ran
            self.session.user_ran(key, self._at, command, output, state=state, duration=duration)
            return
        if isinstance(kinds, list) and len(cast("list[Any]", kinds)) == len(parts):
            own = [
                text_of(part.get("text")) or "[image]"
                for part, kind in zip(parts, cast("list[Any]", kinds), strict=True)
                if kind in ("user.text", "user.image")
            ]
        else:
            texts = [text_of(part.get("text")) for part in parts]
            own = [one for one in texts if not _INJECTED.match(one)]
            if not self.session.project and (found := _DIRECTORY.search("\n".join(texts)[:100_000])):
                self.session.project = found[1].strip()
        if message := "\n".join(own).strip():
            self._begin_turn()
            self.session.user(key, self._at, message)

    def _agent_message(self, place: str, item: dict[str, Any]) -> None:
        """Read the task of a sub-agent; what other agents answer is in their own sessions."""
        if (
            self.session.parent
            and (task := _TASK.match(texts_in(item["content"])))
            and task[1] != "FINAL_ANSWER"
        ):
            self._begin_turn()
            message = task[2].strip() or "(Codex's record of the task is encrypted.)"
            self.session.user(self._key(item, place), self._at, message)

    def _call(self, place: str, item: dict[str, Any]) -> None:
        id = text(item.get("call_id") or item.get("id") or place)
        key = self._free(id, place)
        name, args = named_call(item, self.session.project)
        parts = (
            patch_calls(args["patch"]) if name == "apply_patch" and isinstance(args.get("patch"), str) else []
        )
        self._calls[id] = []
        cycle = self._in_cycle(key)
        for number, part in enumerate(parts or [("", name, args)]):
            each = f"{key}/{number}" if number else key
            self.session.call_tool(each, self._at, part[1], part[2], cycle)
            self._calls[id].append((each, part if parts else None))
        (self._shells.add if name == "shell" else self._shells.discard)(id)
        self._script = id if name == "exec" else self._script

    def _result(self, item: dict[str, Any]) -> None:
        id = text(item["call_id"])
        content, state, code, duration = read_output(item.get("output", item.get("tools")))
        outcome = ""
        if id in self._shells and code is not None:
            outcome = f"exit {code}"
            content = f"{outcome}\n{content.rstrip(chr(10)) or '(no output)'}"
        elif id in self._shells and "Process running with session ID" in content[:200]:
            outcome = "still runs"
        self._cycle = ""
        calls = [one for one in self._calls.get(id, []) if self.session.is_open(one[0])]
        if not calls:
            raise ValueError("a result without a call")
        for key, part in calls:
            self.session.result(key, self._at, content, state=state, outcome=outcome, duration=duration)
            is_recorded = id in self._changed or self._is_base
            if part and part[1] == "write" and state == "done" and not is_recorded:
                path = str(Path(self.session.project, part[0]))
                self.session.edited(key, self._at, path, None, part[2]["content"].encode())

    def _hosted(self, place: str, item: dict[str, Any]) -> None:
        """Read a call that the provider ran; what it returned is not recorded."""
        key, action = self._key(item, place), an_object(item.get("action") or {})
        name, args = text(item["type"]).removesuffix("_call"), action
        if name == "image_generation":
            args = {"prompt": text_of(item.get("revised_prompt"))}
        elif action.get("type") == "open_page" and isinstance(action.get("url"), str):
            name, args = "fetch", {"url": action["url"]}
        elif action.get("type") == "search" and isinstance(action.get("query"), str):
            name, args = "search", {"query": action["query"]}
        self.session.call_tool(key, self._at, name, args, self._in_cycle(key))
        state: CallState = "failed" if item.get("status") == "failed" else "done"
        self.session.result(key, self._at, "", state=state, outcome="Done by the provider.")
        self._cycle = ""

    # Events

    def _event(self, place: str, event: dict[str, Any]) -> None:
        kind = text(event["type"])
        if kind in ("task_complete", "turn_complete", "turn_aborted"):
            self._release()
        if kind == "item_completed":
            self._completed(an_object(event["item"]))
        elif kind == "exec_command_end":
            self._files.learn(event)
        elif kind == "patch_apply_end":
            self._change(text(event["call_id"]), event, is_done=event.get("success") is True)
        elif kind == "token_count":
            info = event.get("info")
            if isinstance(info, dict) and not self._has_usage:
                self._count(place, cast("dict[str, Any]", info))
        elif kind == "thread_name_updated" and not self._is_base:
            self.session.title = text_of(event.get("thread_name"))
        elif kind not in _SILENT_EVENTS and not kind.endswith(("_begin", "_end", "_delta")):
            raise ValueError(f"event {kind!r}")

    def _completed(self, item: dict[str, Any]) -> None:
        kind = text(item["type"])
        self._has_items = True
        if kind == "AgentMessage":
            self._shown.add(text(item["id"]))
        elif kind == "CommandExecution":
            self._files.learn(item)
        elif kind == "FileChange":
            self._change(text(item["id"]), item, is_done=item.get("status") == "completed")
        elif kind not in _HARMLESS_ITEMS:
            self._files.forget()

    def _change(self, id: str, item: dict[str, Any], *, is_done: bool) -> None:
        self._changed.add(id)
        if not is_done:
            self._files.forget()
            return
        calls = self._calls.get(id) or self._calls.get(self._script) or []
        of_path = {part[0]: key for key, part in reversed(calls) if part}
        for path, change in an_object(item["changes"]).items():
            relative = path.removeprefix(f"{self.session.project}/")
            call = of_path.get(path) or of_path.get(relative) or (calls[0][0] if calls else "")
            for changed, before, after in self._files.change(path, an_object(change)):
                if call and not self._is_base:
                    self.session.edited(call, self._at, changed, before, after)

    def _count(self, place: str, info: dict[str, Any]) -> None:
        """Read the figures of older versions, which repeat them."""
        if info.get("total_token_usage") != self._total:
            self._total = info.get("total_token_usage")
            self._spend(place, an_object(info["last_token_usage"]))

    def _spend(self, key: str, usage: dict[str, Any]) -> None:
        self._cycle = ""
        measure: Measure = {
            "input": whole(usage, "input_tokens"),
            "cached": whole(usage, "cached_input_tokens"),
            "output": whole(usage, "output_tokens"),
            "model": self.session.model,
            "provider": self.session.provider,
        }
        if written := whole(usage, "cache_write_input_tokens"):
            measure["cache_written"] = written
        if not self._is_base:
            self.session.spent(f"{self.session.id} {key}", self._at, measure)

    def _release(self) -> None:
        """Add the answer that was held: it is no summary."""
        if self._held:
            key, at, answer = self._held
            self._held = None
            self.session.respond(key, at, answer, self._in_cycle(key))

    def _begin_turn(self) -> None:
        self._cycle = ""
        self._files.forget()

    def _in_cycle(self, key: str) -> str:
        self._cycle = self._cycle or key
        return self._cycle

    def _key(self, item: dict[str, Any], place: str) -> str:
        id = item.get("id")
        return self._free(id, place) if isinstance(id, str) and id else place

    def _free(self, id: str, place: str) -> str:
        """The id, with the place if it is taken: some providers repeat them."""
        return f"{id} {place}" if self.session.has(id) else id

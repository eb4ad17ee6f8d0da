"""Hooks around the calls of a conversation: before and after each call, and each edit of files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cogency_tui.agent.call_interceptors import InterceptedCall, join_notes
from cogency_tui.agent.hooks.hook import Hook
from cogency_tui.agent.hooks.runner import HookRunner, Occasion, Verdict, first_line, quoted
from cogency_tui.config.hooks import HookEvent
from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import HookRun
from cogency_tui.store.edit_records import Edit
from cogency_tui.tools.base import Outcome, ToolContext
from cogency_tui.workspace.protected_names import shown

if TYPE_CHECKING:
    from cogency_tui.agent.conversation import Conversation


_MOST_NAMED = 5


class CallHooks:
    """Runs the hooks of `conversation` around its calls: a `CallInterceptor`."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._runner = HookRunner(conversation.engine, conversation.gate.keeps_changes)
        self._contexts: list[tuple[list[HookRun], str]] = []
        """What hooks before calls have for the model, with the runs of each call."""
        self._named: set[tuple[str, str]] = set()
        """The hooks and the files that the model was told of without their changes."""

    async def before(self, call: InterceptedCall) -> None:
        """Run the hooks before a call.

        Raises:
            ToolError: one of them blocks it.
        """
        for hook, event in await self._due(("before_call", "before_edit"), call):
            verdict = await self._run(hook, event, call, {})
            if verdict.context and hook.claude_event:
                verdict.run["added"] = verdict.context
                self._contexts.append(
                    (call.hooks, f"[The hook {hook.name} adds:]\n{quoted(verdict.context)}")
                )
            if verdict.blocks:
                raise ToolError(
                    f"The hook {hook.name} blocked this call: {verdict.reason}",
                    brief=f"Blocked by the hook {hook.name}: {first_line(verdict.reason)}",
                )
            if verdict.asks:
                call.asks.append(f"the hook {hook.name} asks: {verdict.asks}".rstrip("."))

    async def after(self, call: InterceptedCall, outcome: Outcome) -> Outcome:
        """Run the hooks after a call, and add to its outcome what they have for the model."""
        events: list[HookEvent] = ["after_call"] if outcome.failed else ["after_edit", "after_call"]
        result = {
            "result": {
                "state": "failed" if outcome.failed else "done",
                "outcome": outcome.outcome,
                "content": outcome.content,
            }
        }
        notes = [outcome.note, *self._taken_contexts(call)]
        for hook, event in await self._due(events, call, failed=outcome.failed):
            verdict = await self._run(hook, event, call, result)
            notes += [*self._reports(call, verdict), *verdict.notes]
            refresh_seen(call.context, verdict.edits)
            if verdict.blocks:
                notes.append(f"[The hook {hook.name} reports:]\n{quoted(verdict.reason)}")
            if verdict.context and hook.claude_event:
                verdict.run["added"] = verdict.context
                notes.append(f"[The hook {hook.name} adds:]\n{quoted(verdict.context)}")
        return replace(outcome, note=join_notes(*notes))

    def _taken_contexts(self, call: InterceptedCall) -> list[str]:
        """What hooks before a call have for the model."""
        own = [text for hooks, text in self._contexts if hooks is call.hooks]
        self._contexts = [each for each in self._contexts if each[0] is not call.hooks]
        return own

    def _reports(self, call: InterceptedCall, verdict: Verdict) -> list[str]:
        """What the model is told of the changes of a hook: those in files that it knows, and the names of
        others."""
        workspace = self._conversation.engine.workspace
        known = {*call.context.seen.paths, *call.intent.paths}
        told = [text for path, text in verdict.report.items() if workspace.root / path in known]
        name = verdict.run["name"]
        others = [path for path in verdict.report if workspace.root / path not in known]
        # A log changes with each call.
        others = [path for path in others if (name, path) not in self._named]
        self._named |= {(name, path) for path in others}
        if others:
            names = ", ".join(map(shown, others[:_MOST_NAMED]))
            more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
            files = "a file that you have" if len(others) == 1 else "files that you have"
            told.append(f"[The hook {name} changed {files} not read: {names}{more}]")
        return told

    async def _due(
        self, events: Sequence[HookEvent], call: InterceptedCall, *, failed: bool = False
    ) -> Sequence[tuple[Hook, HookEvent]]:
        """The hooks to run on a call, in their order.

        Raises:
            ToolError: a suspended one guards it.
        """
        conversation = self._conversation
        skipped = "PostToolUse" if failed else "PostToolUseFailure"
        hooks = [hook for hook in conversation.hooks if hook.claude_event != skipped]
        due = [*self._matching(hooks, events, call)]
        if not any(hook.owner == "project" for hook, _ in due):
            return due
        from cogency_tui.agent.hooks.suspension import GUARDS, describe_refusal

        # A call may have changed what they run: then they are trusted no more.
        suspended = await conversation.suspended_hooks()
        guard = next((hook for hook, event in due if event in GUARDS and hook in suspended), None)
        if guard is not None:
            raise ToolError(
                f"This call is refused: {describe_refusal(guard)}.",
                brief=f"Refused: the hook {guard.name} changed (/trust)",
            )
        now = conversation.engine.project_settings.now.hooks
        return [each for each in due if each[0].owner == "user" or each[0] in now]

    def _matching(
        self, hooks: Sequence[Hook], events: Sequence[HookEvent], call: InterceptedCall
    ) -> Iterator[tuple[Hook, HookEvent]]:
        for hook in hooks:
            for event in events:
                if hook.can_run and event in hook.events and self._is_for(hook, event, call):
                    yield hook, event

    def _is_for(self, hook: Hook, event: HookEvent, call: InterceptedCall) -> bool:
        if event in ("before_edit", "after_edit") and call.intent.effect != "write":
            return False
        needs_file = hook.files or hook.takes_files
        args = msgspec.to_builtins(call.args)
        return hook.is_for(call.tool, args) and not (needs_file and not self._files(hook, call))

    def _files(self, hook: Hook, call: InterceptedCall) -> list[Path]:
        """The files of a call that a hook is for."""
        if call.intent.effect not in ("read", "write"):
            return []
        return hook.matching(call.intent.paths, self._conversation.engine.workspace.root)

    async def _run(
        self, hook: Hook, event: HookEvent, call: InterceptedCall, fields: dict[str, Any]
    ) -> Verdict:
        about = {
            "mode": self._conversation.gate.mode,
            "call": call.id,
            "tool": call.tool,
            "args": msgspec.to_builtins(call.args),
            **fields,
        }
        files = self._files(hook, call)
        occasion = Occasion(event, self._conversation.id, call.id, about, files)
        verdict = await self._runner.run(hook, occasion)
        call.hooks.append(verdict.run)
        if verdict.stops:
            self._conversation.stop_for_hook(hook.name, verdict.stops)
        return verdict


def refresh_seen(context: ToolContext, edits: Sequence[Edit]) -> None:
    """Note that the model knows of the changes of a hook in files whose version before it had seen."""
    for edit in edits:
        if edit.after.digest:
            path = context.workspace.root / edit.path
            context.seen.follow(path, edit.before.digest, edit.after.digest)

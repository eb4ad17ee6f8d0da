"""`cogency-tui conversations` and `import`: lists, shows, manages, exports and imports conversations."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import msgspec

from cogency_tui.agent.export import as_markdown, as_page
from cogency_tui.agent.recall.recall import ForkTree, Recall
from cogency_tui.cli.standard_streams import print_json, print_json_line, print_text, talk
from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event, error_text, labelled_outcome, mark_of
from cogency_tui.protocol.transcript import call_record, shown_text
from cogency_tui.safe_text import one_line
from cogency_tui.store.foreign_sessions import AGENTS
from cogency_tui.store.origins import PREFIX, names
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.store.trash import Trash
from cogency_tui.tui.kit.number_format import plural

Form = Literal["md", "html", "jsonl"]
Change = Literal["rename", "fork", "trash", "restore"]

LARGEST = 1 << 30
"""Bytes of the export of one conversation that are read."""


async def list_conversations(store: Store, project: Path | None, *, limit: int, as_json: bool) -> int:
    """Print conversations, newest first: those of `project`, or all."""
    conversations = await store.conversations(str(project) if project else None, limit=limit)
    owners = await _owners(store)
    for conversation in conversations:
        if as_json:
            print_json(msgspec.to_builtins(conversation))
        else:
            print_text(_line(conversation, owners))
    if not conversations and not as_json:
        where = f"in {project}" if project else "in the store"
        talk(f"No conversations {where} yet. --all lists all projects.")
    return 0


async def list_trash(store: Store, *, limit: int, as_json: bool) -> int:
    """Print the conversations in the trash, the last moved first."""
    found = await Trash(store.database).listed(limit=limit)
    owners = await _owners(store)
    for conversation in found:
        if as_json:
            print_json(msgspec.to_builtins(conversation))
        else:
            print_text(_line(conversation, owners))
    if not found and not as_json:
        talk("The trash is empty.")
    return 0


async def show_conversation(store: Store, prefix: str, *, as_json: bool, numbered: bool = False) -> int:
    """Print the events of one conversation, named by its id or the beginning of it; `numbered` prints the
    event numbers that `fork --at` takes.
    """
    conversation = await store.resolve(prefix)
    numbered_events = await store.numbered_events(conversation.id)
    if as_json:
        for _, event in numbered_events:
            print_json(event)
        return 0
    line = _line(conversation, await _owners(store))
    print_text(f"# {conversation.title or 'Untitled'}\n\n{line}\n")
    for number, event in numbered_events:
        print_text(f"{number:>8} {_text(event).lstrip()}" if numbered else _text(event))
    return 0


async def export_conversation(recall: Recall, store: Store, prefix: str, form: Form, theme: str) -> int:
    """Print one conversation as Markdown, HTML in the colours of `theme`, or JSON Lines for `import`."""
    conversation = await store.resolve(prefix)
    if form == "jsonl":
        for line in await recall.export_lines(conversation.id):
            print_json_line(line)
        return 0
    events = await store.events(conversation.id)
    text = as_markdown(conversation, events) if form == "md" else as_page(conversation, events, theme)
    print_text(text.removesuffix("\n"))
    return 0


async def import_conversation(recall: Recall, source: str, lines: Sequence[str]) -> int:
    """Store the export of one conversation, which comes from the file `source`.

    Raises:
        UsageError: it is no export.
    """
    try:
        conversation = await recall.import_lines(lines)
    except UsageError as exc:
        raise UsageError(f"{source}: {exc}", exc.hint) from exc
    print_text(_line(conversation, {}))
    return 0


async def change_conversation(
    recall: Recall, store: Store, action: Change, prefix: str, *, title: str = "", through: int | None = None
) -> int:
    """Rename, fork, trash or restore one conversation, and print its new state."""
    conversation = await store.resolve(prefix)
    id = conversation.id
    if action == "rename":
        await recall.rename(id, title)
    elif action == "trash":
        await recall.trash(id)
        talk(f"Moved to the trash. `cogency-tui conversations restore {id}` restores it.")
    elif action == "restore":
        await recall.restore(id)
    else:
        # The directory of another machine need not be here.
        project = str(Path.cwd().resolve()) if conversation.source.startswith(PREFIX) else None
        id = (await recall.fork(id, through, project=project)).id
    print_text(_line(await store.resolve(id), await _owners(store)))
    return 0


async def show_tree(recall: Recall, store: Store, prefix: str) -> int:
    """Print the forks around one conversation as a tree."""
    found = await store.resolve(prefix)
    _print_tree(await recall.tree(found.id), 0, found.id, await _owners(store))
    return 0


async def compare_conversations(
    recall: Recall, store: Store, prefixes: tuple[str, str], *, as_json: bool
) -> int:
    """Print what two conversations share, and what each has since."""
    left, right = [(await store.resolve(prefix)).id for prefix in prefixes]
    found = await recall.compare(left, right)
    if as_json:
        print_json(asdict(found))
        return 0
    if found.shared:
        print_text(plural(found.shared, "shared event"))
    owners = await _owners(store)
    for side in (found.left, found.right):
        print_text(f"\n{_line(side.conversation, owners)}\n  {side.tokens:,} tokens, ${side.cost:.2f}")
        for path, kind in side.files:
            print_text(f"  ✎ {path} {kind}")
        for answer in side.answers:
            print_text(f"\n{answer}")
    return 0


def _print_tree(tree: ForkTree, depth: int, current: str, owners: Mapping[str, str]) -> None:
    conversation = tree.conversation
    mark = "●" if conversation.id == current else "○"
    trashed = "" if conversation.trashed is None else "  (in the trash)"
    print_text(f"{'  ' * depth}{mark} {_line(conversation, owners)}{trashed}")
    for fork in tree.forks:
        _print_tree(fork, depth + 1, current, owners)


async def _owners(store: Store) -> Mapping[str, str]:
    return await store.database.read(names)


def _line(conversation: StoredConversation, owners: Mapping[str, str]) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(conversation.updated))
    turns = f"{conversation.turns} turn" + ("" if conversation.turns == 1 else "s")
    imported = "  (imported)" if conversation.imported else ""
    if imported and not conversation.source and conversation.parent and conversation.call is None:
        imported = "  (fork of an imported conversation)"
    elif conversation.source in AGENTS:
        imported = f"  (from {AGENTS[conversation.source]})"
    elif conversation.source in owners:
        imported = f"  (from {one_line(owners[conversation.source])})"
    return f"{conversation.id}  {when}  {turns:>9}  {one_line(conversation.title) or 'Untitled'}{imported}"


def _text(event: Event) -> str:
    if event["type"] == "user":
        return f"\n> {shown_text(event)}\n"
    if event["type"] == "think":
        return f"(thought) {event['content']}"
    if event["type"] == "respond":
        return f"\n{event['content']}"
    if event["type"] == "call":
        record = call_record(event)
        args = json.dumps(record.get("args"), ensure_ascii=False)
        return one_line(f"· {record.get('name')} {args}")
    if event["type"] == "result":
        payload = event["payload"]
        return f"{mark_of(payload)} {labelled_outcome(event, ': ')}"
    if event["type"] == "error":
        mark = "⊘" if event["payload"].get("declined") else "✗"
        return f"{mark} {error_text(event['payload'])}"
    return ""

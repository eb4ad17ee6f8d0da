"""`cogency-tui conversations`: what is in the store, listed and shown."""

import time
from pathlib import Path

import msgspec

from cogency_tui.headless.output import print_json, print_text, talk
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.transcript import call_record
from cogency_tui.store.conversations import Conversation, Store


async def list_conversations(store: Store, project: Path | None, *, limit: int, as_json: bool) -> int:
    """Print conversations, newest first: those of `project`, or all."""
    conversations = await store.conversations(str(project) if project else None, limit=limit)
    for conversation in conversations:
        if as_json:
            print_json(msgspec.to_builtins(conversation))
        else:
            print_text(_line(conversation))
    if not conversations and not as_json:
        where = f"in {project}" if project else "in the store"
        talk(f"No conversations {where} yet. --all lists those of every project.")
    return 0


async def show_conversation(store: Store, prefix: str, *, as_json: bool) -> int:
    """Print the events of one conversation, named by its id or the beginning of it."""
    conversation = await store.resolve(prefix)
    events = await store.events(conversation.id)
    if as_json:
        for event in events:
            print_json(event)
        return 0
    print_text(f"# {conversation.title or 'Untitled'}\n\n{_line(conversation)}\n")
    for event in events:
        print_text(_text(event))
    return 0


def _line(conversation: Conversation) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(conversation.updated))
    turns = f"{conversation.turns} turn" + ("" if conversation.turns == 1 else "s")
    return f"{conversation.id}  {when}  {turns:>9}  {conversation.title or 'Untitled'}"


def _text(event: Event) -> str:
    if event["type"] == "user":
        return f"\n> {event['content']}\n"
    if event["type"] == "think":
        return f"(thought) {event['content']}"
    if event["type"] == "respond":
        return f"\n{event['content']}"
    if event["type"] == "call":
        record = call_record(event)
        return f"· {record.get('name')} {msgspec.json.encode(record.get('args')).decode()}"
    if event["type"] == "result":
        return f"{'✗' if event['payload']['error'] else '✓'} {event['tool']}: {event['payload']['outcome']}"
    return ""

"""The migrations of the schema: named steps, in order, each applied once and recorded with its time.

Steps are only ever added at the end; a released step is never changed. A database that records an unknown
step was made by a newer program, and is not changed.
"""

import json
import re
import sqlite3
import time
from contextlib import suppress
from typing import Any, Protocol, cast

from cogency_tui.store import event_chain, origins
from cogency_tui.store.column_text import from_column, to_column


class Migration(Protocol):
    """A migration; the database records its name."""

    @property
    def __name__(self) -> str: ...

    def __call__(self, connection: sqlite3.Connection) -> None: ...


class NewerSchemaError(Exception):
    """The database has steps that this program does not know."""

    def __init__(self, found: int, known: int, unknown: list[str]) -> None:
        super().__init__(
            f"it is at version {found} ({', '.join(map(str, unknown))}), this program knows {known}"
        )


def create_conversations(connection: sqlite3.Connection) -> None:
    """Create the list of conversations, which every append updates."""
    connection.execute(
        """
        CREATE TABLE conversations (
            id TEXT PRIMARY KEY,
            project TEXT NOT NULL,
            title TEXT NOT NULL DEFAULT '',
            dialect TEXT NOT NULL,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            turns INTEGER NOT NULL DEFAULT 0,
            tokens INTEGER NOT NULL DEFAULT 0,
            cost REAL NOT NULL DEFAULT 0,
            parent TEXT REFERENCES conversations (id)
        ) WITHOUT ROWID
        """
    )
    connection.execute("CREATE INDEX conversations_by_update ON conversations (updated, id)")
    connection.execute("CREATE INDEX conversations_by_project ON conversations (project, updated, id)")


def create_events(connection: sqlite3.Connection) -> None:
    """Create the events; `unit` is the id of a think or respond unit, or of a call."""
    connection.execute(
        """
        CREATE TABLE events (
            seq INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            type TEXT NOT NULL,
            timestamp REAL NOT NULL,
            unit TEXT,
            body TEXT NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX events_by_conversation ON events (conversation_id)")


def create_drafts(connection: sqlite3.Connection) -> None:
    """Create pieces of units that are still streaming, under the process that writes them."""
    connection.execute(
        """
        CREATE TABLE drafts (
            seq INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            unit TEXT NOT NULL,
            type TEXT NOT NULL CHECK (type IN ('think', 'respond')),
            timestamp REAL NOT NULL,
            pid INTEGER NOT NULL,
            started TEXT NOT NULL,
            text TEXT NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX drafts_by_unit ON drafts (conversation_id, unit)")


def create_usage(connection: sqlite3.Connection) -> None:
    """Create usage, a row for each cycle: summed figures have columns, `body` is the whole measure."""
    connection.execute(
        """
        CREATE TABLE usage (
            id INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            timestamp REAL NOT NULL,
            input INTEGER,
            output INTEGER,
            duration REAL,
            cached INTEGER,
            billed_input INTEGER,
            replay_input INTEGER,
            cost REAL,
            body TEXT NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX usage_by_conversation ON usage (conversation_id)")


def add_call_to_conversations(connection: sqlite3.Connection) -> None:
    """Add the call of the parent that started a conversation: a sub-agent's has one, a fork has none."""
    connection.execute("ALTER TABLE conversations ADD COLUMN call TEXT")
    connection.execute(
        "CREATE INDEX conversations_by_parent ON conversations (parent, created) WHERE call IS NOT NULL"
    )


def create_relics(connection: sqlite3.Connection) -> None:
    """Create the agents' data of a project: values under keys, removed when they expire, and a log."""
    connection.execute(
        """
        CREATE TABLE relic_values (
            project TEXT NOT NULL,
            key TEXT NOT NULL,
            value TEXT NOT NULL,
            expires REAL,
            PRIMARY KEY (project, key)
        ) WITHOUT ROWID
        """
    )
    connection.execute(
        "CREATE INDEX relic_values_by_expiry ON relic_values (expires) WHERE expires IS NOT NULL"
    )
    connection.execute(
        """
        CREATE TABLE relic_log (
            seq INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            timestamp REAL NOT NULL,
            entry TEXT NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX relic_log_by_project ON relic_log (project)")


def create_edits(connection: sqlite3.Connection) -> None:
    """Create changes of files with their versions, and the decisions about each or one of its hunks.

    `undoes` is a JSON list of pairs: the id of an edit, and a hunk of it or an empty text.
    """
    connection.execute(
        """
        CREATE TABLE edits (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            caller TEXT NOT NULL,
            turn INTEGER NOT NULL,
            project TEXT NOT NULL,
            call TEXT NOT NULL,
            tool TEXT NOT NULL,
            path TEXT NOT NULL,
            old_path TEXT NOT NULL,
            made TEXT NOT NULL,
            kind TEXT NOT NULL,
            timestamp REAL NOT NULL,
            undoes TEXT NOT NULL,
            before_kind TEXT NOT NULL,
            before_digest TEXT NOT NULL,
            before_size INTEGER NOT NULL,
            before_mode INTEGER NOT NULL,
            before_kept INTEGER NOT NULL,
            after_kind TEXT NOT NULL,
            after_digest TEXT NOT NULL,
            after_size INTEGER NOT NULL,
            after_mode INTEGER NOT NULL,
            after_kept INTEGER NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX edits_by_conversation ON edits (conversation, turn)")
    connection.execute("CREATE INDEX edits_by_caller ON edits (caller)")
    connection.execute("CREATE INDEX edits_by_path ON edits (project, path)")
    connection.execute(
        """
        CREATE TABLE edit_marks (
            edit INTEGER NOT NULL REFERENCES edits (id) ON DELETE CASCADE,
            hunk TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('new', 'kept', 'reverted', 'edited', 'conflict')),
            note TEXT NOT NULL,
            timestamp REAL NOT NULL,
            PRIMARY KEY (edit, hunk)
        ) WITHOUT ROWID
        """
    )


def create_summaries(connection: sqlite3.Connection) -> None:
    """Create summaries, which replace the events up to `through` in the model's context."""
    connection.execute(
        """
        CREATE TABLE summaries (
            id INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            through INTEGER NOT NULL,
            text TEXT NOT NULL,
            model TEXT NOT NULL,
            created REAL NOT NULL,
            edited INTEGER NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX summaries_by_conversation ON summaries (conversation_id)")


def add_recall_to_conversations(connection: sqlite3.Connection) -> None:
    """Add the columns of recall: the branch, the trash, a title of the user's, the origin of a fork.

    `trashed` is a time; `forked_at` is the number of the last event that a fork shares with its parent.
    """
    for column in (
        "branch TEXT NOT NULL DEFAULT ''",
        "renamed INTEGER NOT NULL DEFAULT 0",
        "trashed REAL",
        "forked_at INTEGER",
    ):
        connection.execute(f"ALTER TABLE conversations ADD COLUMN {column}")
    connection.execute("CREATE INDEX conversations_renamed ON conversations (id) WHERE renamed")
    connection.execute(
        "CREATE INDEX conversations_trashed ON conversations (trashed) WHERE trashed IS NOT NULL"
    )
    connection.execute(
        "CREATE INDEX conversations_forked ON conversations (parent)"
        " WHERE parent IS NOT NULL AND call IS NULL"
    )


def create_reviews(connection: sqlite3.Connection) -> None:
    """Create the user's actions in the review, a row for each, and the derived outlines of changes.

    `parts` is a JSON list of pairs (the id of an edit, a hunk of it), `marks` one of an edit, a hunk, its
    state before and after, `edits` one of the edits that the action made; `undoes` is the id of the action
    that it reverts, or 0.
    """
    connection.execute(
        """
        CREATE TABLE review_actions (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            path TEXT NOT NULL,
            parts TEXT NOT NULL,
            marks TEXT NOT NULL,
            edits TEXT NOT NULL,
            text TEXT NOT NULL,
            undoes INTEGER NOT NULL,
            timestamp REAL NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX review_actions_by_conversation ON review_actions (conversation)")
    connection.execute(
        "CREATE TABLE review_outlines (key TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID"
    )


def create_profile(connection: sqlite3.Connection) -> None:
    """Create the facts about the user, the messages to learn from, and the state of learning.

    `event` is the number of a message, `turn` that of its turn, `typed` its part that the user typed;
    `taken` marks a message of an attempt that did not succeed. `conversation` is empty for a fact that the
    user wrote. The state is one row.
    """
    connection.execute(
        """
        CREATE TABLE profile_facts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL,
            text TEXT NOT NULL,
            conversation TEXT NOT NULL,
            turn INTEGER NOT NULL,
            model TEXT NOT NULL,
            created REAL NOT NULL,
            edited INTEGER NOT NULL
        )
        """
    )
    connection.execute(
        "CREATE TABLE profile_heard (event INTEGER PRIMARY KEY, turn INTEGER NOT NULL, typed TEXT NOT NULL,"
        " taken INTEGER NOT NULL DEFAULT 0)"
    )
    connection.execute(
        """
        CREATE TABLE profile_state (
            revision INTEGER NOT NULL DEFAULT 0,
            offered INTEGER NOT NULL DEFAULT 0,
            attempted REAL NOT NULL DEFAULT 0,
            outcome TEXT NOT NULL DEFAULT '',
            failed INTEGER NOT NULL DEFAULT 0
        )
        """
    )
    connection.execute("INSERT INTO profile_state DEFAULT VALUES")


def create_requests(connection: sqlite3.Connection) -> None:
    """Create requests to models: events above `since` up to `through`, in a frame."""
    connection.execute("CREATE TABLE request_frames (digest TEXT PRIMARY KEY, body TEXT NOT NULL)")
    connection.execute(
        """
        CREATE TABLE requests (
            id INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            timestamp REAL NOT NULL,
            since INTEGER NOT NULL,
            through INTEGER NOT NULL,
            frame TEXT NOT NULL REFERENCES request_frames (digest),
            note TEXT NOT NULL,
            mode TEXT NOT NULL,
            sent INTEGER
        )
        """
    )
    connection.execute("CREATE INDEX requests_by_conversation ON requests (conversation_id)")


def add_sources_to_relics(connection: sqlite3.Connection) -> None:
    """Add the sources of a value or an entry, as the conversation that stored it knew them; NULL where none
    did."""
    for table in ("relic_values", "relic_log"):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN sources TEXT")


def create_intents(connection: sqlite3.Connection) -> None:
    """Create the intents of processes in the directory `root`, and the edits that a process left
    unrecorded.

    `files` is a JSON list of planned changes. `shadow` names the file with the snapshot of the project
    before a command, up to the byte `position`; `ended` is the time from which the command is no longer
    awaited; `last` is the number of the last edit when it began.
    """
    connection.execute(
        """
        CREATE TABLE intents (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            root TEXT NOT NULL,
            conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            caller TEXT NOT NULL,
            turn INTEGER NOT NULL,
            project TEXT NOT NULL,
            call TEXT NOT NULL,
            tool TEXT NOT NULL,
            pid INTEGER NOT NULL,
            started TEXT NOT NULL,
            began REAL NOT NULL,
            ended REAL,
            last INTEGER NOT NULL,
            files TEXT NOT NULL,
            shadow TEXT NOT NULL,
            position INTEGER NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX intents_by_root ON intents (root)")
    connection.execute(
        "CREATE TABLE interrupted_edits ("
        "edit INTEGER PRIMARY KEY REFERENCES edits (id) ON DELETE CASCADE) WITHOUT ROWID"
    )


def add_imported_to_conversations(connection: sqlite3.Connection) -> None:
    """Mark conversations that came from a file: their edits are not applied without a question."""
    connection.execute("ALTER TABLE conversations ADD COLUMN imported INTEGER NOT NULL DEFAULT 0")


def index_what_each_turn_asks_for(connection: sqlite3.Connection) -> None:
    """Index the few messages with an environment block or a note of the review, and the user's own edits,
    so that they are found without reading all those of a long conversation."""
    for name, key in (("environment", '"environment":'), ("review", '"review":{')):
        connection.execute(
            f"CREATE INDEX events_with_{name} ON events (conversation_id)"
            f" WHERE type = 'user' AND instr(body, '{key}')"
        )
    connection.execute("CREATE INDEX edits_by_tool ON edits (conversation, tool)")
    connection.execute("CREATE INDEX edits_by_caller_and_tool ON edits (caller, tool)")


def create_shared_edits(connection: sqlite3.Connection) -> None:
    """Create the other conversations that had a command running when an edit was made, and may have made
    it."""
    connection.execute(
        "CREATE TABLE shared_edits (edit INTEGER NOT NULL REFERENCES edits (id) ON DELETE CASCADE,"
        " conversation TEXT NOT NULL, PRIMARY KEY (edit, conversation)) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX shared_edits_by_conversation ON shared_edits (conversation)")


def add_beside_to_intents(connection: sqlite3.Connection) -> None:
    """Add the calls that were concurrent with the snapshot before a command: JSON, the number of the last
    edit and the calls that had begun."""
    connection.execute("ALTER TABLE intents ADD COLUMN beside TEXT NOT NULL DEFAULT ''")


def index_edits_by_caller_and_turn(connection: sqlite3.Connection) -> None:
    """Index the edits of a turn, so that they are found without reading those of all turns."""
    connection.execute("DROP INDEX edits_by_caller")
    connection.execute("CREATE INDEX edits_by_caller_and_turn ON edits (caller, turn)")


def create_unagreed_edits(connection: sqlite3.Connection) -> None:
    """Create changes of protected files by interrupted commands, until they are reverted; and the files and
    directories that the user was asked about before a command: JSON, NULL where it may change all."""
    connection.execute("ALTER TABLE intents ADD COLUMN covers TEXT")
    connection.execute(
        "CREATE TABLE unagreed_edits (edit INTEGER PRIMARY KEY REFERENCES edits (id) ON DELETE CASCADE,"
        " root TEXT NOT NULL, shadow TEXT NOT NULL) WITHOUT ROWID"
    )


def create_merged_edits(connection: sqlite3.Connection) -> None:
    """Create the edits of commands that came with commits of a remote."""
    connection.execute(
        "CREATE TABLE merged_edits (edit INTEGER PRIMARY KEY REFERENCES edits (id) ON DELETE CASCADE)"
        " WITHOUT ROWID"
    )


def add_figures_to_summaries(connection: sqlite3.Connection) -> None:
    """Add what a summary has come to: tokens of the context before and after it; and what its request left
    out: the events up to the one numbered `unread`, and of each result the characters above
    `result_limit`. 0 where it is unknown."""
    for name in ("tokens_before", "tokens_after", "unread", "result_limit"):
        connection.execute(f"ALTER TABLE summaries ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0")


def create_pins(connection: sqlite3.Connection) -> None:
    """Create the log of pins: an event was pinned, or no longer is. The last row of an event counts."""
    connection.execute(
        """
        CREATE TABLE pins (
            id INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            event INTEGER NOT NULL,
            pinned INTEGER NOT NULL,
            created REAL NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX pins_by_conversation ON pins (conversation_id, event)")


def create_answer_items(connection: sqlite3.Connection) -> None:
    """Create what providers deliver beside the events of answers: opaque reasoning, and ids of calls."""
    connection.execute(
        """
        CREATE TABLE answer_items (
            id INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            unit TEXT NOT NULL,
            place TEXT NOT NULL,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            body TEXT NOT NULL
        )
        """
    )
    connection.execute(
        "CREATE INDEX answer_items_by_model ON answer_items (conversation_id, provider, model)"
    )


def store_user_commands_as_fields(connection: sqlite3.Connection) -> None:
    """Convert each `!command` of the user's from prose to fields. It is no longer counted as a turn."""
    users = (
        "SELECT DISTINCT conversation_id FROM events WHERE type = 'user' AND instr(body, '\"content\":\"! ')"
    )
    for (conversation,) in connection.execute(users).fetchall():
        convert_user_commands(connection, conversation)


def convert_user_commands(connection: sqlite3.Connection, conversation: str | bytes) -> None:
    """Convert the user's commands in one conversation, as a store or an export of before has them."""
    sql = "SELECT seq, body FROM events WHERE conversation_id = ? AND type = 'user' ORDER BY seq"
    turns = {0: 0}
    """The numbers of turns before, and after."""
    for number, (seq, body) in enumerate(connection.execute(sql, (conversation,)).fetchall(), 1):
        event = _with_command(body)
        turns[number] = turns[number - 1] + (event is None)
        if event is not None:
            text = to_column(json.dumps(event, ensure_ascii=False, separators=(",", ":")))
            connection.execute("UPDATE events SET body = ? WHERE seq = ?", (text, seq))
    _renumber_turns(connection, conversation, turns)


_USER_COMMAND = re.compile(
    r"! (?P<command>.+?)\n\n"
    r"\[The person ran this command in the project: (?P<outcome>[^\n]*)\. Its output is data\.\]"
    r"\n\n(?P<fence>`{3,})\n(?P<output>.*[^\n])\n(?P=fence)",
    re.DOTALL,
)
_FENCE = re.compile("`{3,}")
_SECONDS = re.compile(r" after ([\d.]+) s$")


def _with_command(body: str | bytes | None) -> dict[str, Any] | None:
    """Return the event of a row with its prose as fields; None for any other message."""
    event: Any = None
    with suppress(ValueError, RecursionError):
        event = json.loads(from_column(body))
    content: Any = cast("dict[str, Any]", event).get("content") if isinstance(event, dict) else None
    found = _USER_COMMAND.fullmatch(content) if isinstance(content, str) else None
    # Another fence would be one that the user wrote.
    if found is None or found["fence"] != max((*_FENCE.findall(found["output"]), "``"), key=len) + "`":
        return None
    command, outcome, output = found["command"], found["outcome"], found["output"]
    seconds = _SECONDS.search(outcome)
    ran = {
        "command": command,
        "state": _state_of(outcome),
        "outcome": outcome,
        "output": "" if output == "(no output)" else output,
        "duration": float(seconds[1]) if seconds else 0.0,
    }
    return {**event, "content": f"! {command}", "ran": ran}


def _state_of(outcome: str) -> str:
    if outcome.startswith("exit 0"):
        return "done"
    return "interrupted" if outcome.startswith("interrupted") else "failed"


def _renumber_turns(connection: sqlite3.Connection, conversation: str | bytes, turns: dict[int, int]) -> None:
    gone = len(turns) - 1 - turns[len(turns) - 1]
    connection.execute(
        "UPDATE conversations SET turns = max(0, turns - ?) WHERE id = ?", (gone, conversation)
    )
    # In this order no row is renumbered twice: a number only ever decreases.
    for before, after in turns.items():
        if before == after:
            continue
        for table in ("edits", "intents", "profile_facts"):
            connection.execute(
                f"UPDATE {table} SET turn = ? WHERE conversation = ? AND turn = ?",
                (after, conversation, before),
            )
        connection.execute(
            "UPDATE profile_heard SET turn = ? WHERE turn = ?"
            " AND event IN (SELECT seq FROM events WHERE conversation_id = ?)",
            (after, before, conversation),
        )


def add_choices_to_conversations(connection: sqlite3.Connection) -> None:
    """Add what the user chose in a conversation: an effort, empty where none, and whether its model."""
    for column in ("effort TEXT NOT NULL DEFAULT ''", "model_chosen INTEGER NOT NULL DEFAULT 0"):
        connection.execute(f"ALTER TABLE conversations ADD COLUMN {column}")


def create_event_chain(connection: sqlite3.Connection) -> None:
    """Create the hash chain, over the events so far."""
    event_chain.create(connection)


def create_foreign_sessions(connection: sqlite3.Connection) -> None:
    """Add the agent that an imported conversation is from, and its id there; create the states in which the
    files of other agents were imported, and the keys of their figures of usage."""
    for column in ("source", "original"):
        connection.execute(f"ALTER TABLE conversations ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
    connection.execute(
        "CREATE UNIQUE INDEX conversations_by_original ON conversations (source, original) WHERE source <> ''"
    )
    connection.execute(
        "CREATE TABLE foreign_files (source TEXT NOT NULL, path TEXT NOT NULL, id TEXT NOT NULL,"
        " stamp TEXT NOT NULL, PRIMARY KEY (source, path, id)) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE foreign_usage (source TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (source, key))"
        " WITHOUT ROWID"
    )


def create_origins(connection: sqlite3.Connection) -> None:
    """Create the origins of conversations."""
    origins.create(connection)


def create_received(connection: sqlite3.Connection) -> None:
    """Create what was received of each conversation of others: the numbers reached, the revision of what
    changes, the title and the trash as its owner has them, where it was forked from, and whether events
    without a number of the owner's may still be the same as some of his; the numbers here of events and
    edits, by those of their owners; and the edits that revert one that has not arrived, by its number."""
    connection.execute(
        """
        CREATE TABLE received (
            id TEXT PRIMARY KEY,
            event INTEGER NOT NULL,
            usage INTEGER NOT NULL,
            edit INTEGER NOT NULL,
            revision INTEGER NOT NULL,
            title TEXT NOT NULL,
            trashed REAL,
            parent_source TEXT NOT NULL,
            parent TEXT NOT NULL,
            forked_at INTEGER NOT NULL,
            is_matching INTEGER NOT NULL
        ) WITHOUT ROWID
        """
    )
    connection.execute(
        "CREATE TABLE received_events (conversation TEXT NOT NULL, number INTEGER NOT NULL,"
        " event INTEGER NOT NULL, PRIMARY KEY (conversation, number)) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE received_edits (source TEXT NOT NULL, number INTEGER NOT NULL, edit INTEGER NOT NULL,"
        " PRIMARY KEY (source, number)) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE received_undoes (source TEXT NOT NULL, number INTEGER NOT NULL, edit INTEGER NOT NULL,"
        " undoes TEXT NOT NULL, PRIMARY KEY (source, number, edit)) WITHOUT ROWID"
    )


def create_bundles(connection: sqlite3.Connection) -> None:
    """Create the bundles that were written, with the positions of conversations (JSON) that each begins and
    ends at, and those that were received whole."""
    connection.execute(
        "CREATE TABLE sent_bundles (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
        " origin TEXT NOT NULL, size INTEGER NOT NULL, created REAL NOT NULL)"
    )
    connection.execute(
        "CREATE TABLE sent_parts (bundle TEXT NOT NULL, conversation TEXT NOT NULL, since TEXT NOT NULL,"
        " position TEXT NOT NULL, PRIMARY KEY (bundle, conversation)) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE received_bundles (id TEXT PRIMARY KEY, origin TEXT NOT NULL, received REAL NOT NULL)"
        " WITHOUT ROWID"
    )


def create_origin_secrets(connection: sqlite3.Connection) -> None:
    """Create the secrets by which a copied store is known, and the former origins of stores."""
    origins.create_secrets(connection)


MIGRATIONS: tuple[Migration, ...] = (
    create_conversations,
    create_events,
    create_drafts,
    create_usage,
    add_call_to_conversations,
    create_relics,
    create_edits,
    create_summaries,
    add_recall_to_conversations,
    create_reviews,
    create_profile,
    create_requests,
    add_sources_to_relics,
    create_intents,
    add_imported_to_conversations,
    index_what_each_turn_asks_for,
    create_shared_edits,
    add_beside_to_intents,
    index_edits_by_caller_and_turn,
    create_unagreed_edits,
    create_merged_edits,
    store_user_commands_as_fields,
    add_figures_to_summaries,
    create_pins,
    create_answer_items,
    add_choices_to_conversations,
    create_event_chain,
    create_foreign_sessions,
    create_origins,
    create_received,
    create_bundles,
    create_origin_secrets,
)

CONVERSIONS: tuple[Migration, ...] = (store_user_commands_as_fields,)
"""The steps that change rows, and not only the schema."""


def pending(connection: sqlite3.Connection) -> list[Migration]:
    """Return the steps that the database lacks, in order, without changing it.

    Raises:
        NewerSchemaError: a newer program made it.
    """
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").fetchone():
        return list(MIGRATIONS)
    applied: list[str] = [
        name for (name,) in connection.execute("SELECT name FROM migrations ORDER BY rowid")
    ]
    known = [step.__name__ for step in MIGRATIONS]
    if unknown := [name for name in applied if name not in known]:
        raise NewerSchemaError(len(applied), len(known), unknown)
    return [step for step in MIGRATIONS if step.__name__ not in applied]


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the pending steps, each in a transaction; several processes may do so at once.

    Raises:
        NewerSchemaError: as `pending`.
    """
    for step in pending(connection):
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            # Another process may have applied it while this one waited for the lock.
            if step not in pending(connection):
                continue
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied REAL NOT NULL)"
            )
            step(connection)
            connection.execute("INSERT INTO migrations VALUES (?, ?)", (step.__name__, time.time()))

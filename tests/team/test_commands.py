"""The commands, as a user and an administrator run them: from the setup to a withdrawn conversation."""

import json
from pathlib import Path

import pytest

from cogency_tui.team.connection import connect
from cogency_tui.team.local_state import opened_state
from tests import forkserver
from tests.team.postgres import Server

pytestmark = pytest.mark.exhaustive


class Shell:
    """The shell of a user on a machine of their own."""

    def __init__(self, home: Path, url: str) -> None:
        self.project = home / "shop"
        self.project.mkdir(parents=True)
        (self.project / "greet.py").write_text('print("hello")\n')
        self._environment = {
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
            "COGENCY_DATA": str(home / "data"),
            "COGENCY_CONFIG": str(home / "config.toml"),
            "COGENCY_HISTORY_URL": url,
            "COGENCY_OFFLINE_DELAY": "0",
        }

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        done = forkserver.run(arguments, cwd=self.project, environ=self._environment)
        return done.returncode, done.stdout, done.stderr


async def test_a_team_from_the_setup_to_a_withdrawal(server: Server, database: str, tmp_path: Path) -> None:
    ada = Shell(tmp_path / "ada", server.url("ada", database))
    grace = Shell(tmp_path / "grace", server.url("grace", database))
    status, script, _ = ada("history", "setup", "--print")
    assert status == 0
    root = await connect(server.url("root", database))
    await root.execute(script)
    await root.execute("INSERT INTO cogency.members VALUES ('shop', 'ada'), ('shop', 'grace')")
    await root.execute("GRANT cogency_usage TO grace")

    assert ada("run", "read greet.py")[0] == 0
    assert "0 conversations and 0 events pushed" in ada("history", "push")[1]
    # Without a yes nothing is shared.
    status, question, _ = ada("history", "share")
    assert status == 1
    assert "the members of the project" in question
    assert ada("history", "share", "--yes")[0] == 0
    status, pushed, _ = ada("history", "push")
    assert (status, pushed.split()[0]) == (0, "1")
    status, shown, _ = ada("history", "status")
    assert status == 0
    assert "as 'shop'" in shown
    facts = json.loads(ada("history", "status", "--json")[1])
    assert (facts["user"], facts["own"], facts["projects"]) == ("ada", 1, ["shop"])

    status, found, _ = grace("recall", "--team", "greet.py", "tool:read")
    assert status == 0
    assert "»greet.py«" in found
    assert "ada in shop" in found
    hits = [
        shell("recall", *option, "file:greet.py")[1].splitlines()[2:]
        for shell, option in ((grace, ("--team",)), (ada, ()))
    ]
    assert hits[0] == hits[1] != []
    assert "»greet.py«" in hits[0][0]
    [hit] = [json.loads(line) for line in grace("recall", "--team", "--json", "hello")[1].splitlines()]
    id = hit["conversation"]["original"]
    assert grace("recall", "--team", "nothing of it")[0] == 1
    status, here, _ = grace("history", "pull", id)
    assert status == 0
    assert "hello" in grace("conversations", "show", here.strip())[1]
    assert grace("recall", "--all", "hello")[0] == 0
    # The fork is in the directory here, and not in the other's.
    assert "greet.py" not in grace("conversations", "list")[1]
    status, forked, _ = grace("conversations", "fork", here.strip())
    assert status == 0
    assert forked.split()[0] in grace("conversations", "list")[1]
    status, used, _ = grace("usage", "--team")
    assert status == 0
    assert "ada   shop" in used
    # The offline model has no price.
    assert used.rstrip().endswith("–")
    assert "the role 'ada' lacks cogency_usage" in ada("usage", "--team")[2]

    assert "1 conversation withdrawn" in ada("history", "withdraw", id)[1]
    assert grace("recall", "--team", "hello")[0] == 1
    assert ada("history", "push")[1].startswith("0 conversations")
    assert ada("history", "push", id)[1].startswith("1 conversation ")
    status, shown, _ = ada("history", "unshare")
    assert "1 conversation withdrawn" in shown
    assert await root.fetchval("SELECT count(*) FROM cogency.conversations") == 0
    # Shared again, all of it comes back, but for what was withdrawn by itself.
    assert ada("run", "read greet.py again")[0] == 0
    assert ada("history", "share", "--yes", "--with", "team")[0] == 0
    assert ada("history", "push")[1].startswith("2 conversations")
    ada("history", "withdraw", id)
    assert "1 conversation withdrawn" in ada("history", "unshare")[1]
    assert ada("history", "share", "--yes")[0] == 0
    assert ada("history", "push")[1].startswith("1 conversation ")
    assert await root.fetchval("SELECT count(*) FROM cogency.conversations") == 1
    # An end that was interrupted is carried out, and named, by the next push.
    with opened_state(tmp_path / "ada" / "data") as state:
        state.unshare(str(ada.project), withdrawing=True)
    assert "1 conversation withdrawn" in ada("history", "push")[1]
    assert ada("history", "share", "--yes")[0] == 0
    assert ada("history", "push")[1].startswith("1 conversation ")
    # A project that has become private is neither pushed nor shared, but can still be withdrawn.
    (tmp_path / "ada" / "config.toml").write_text('[history]\nprivate = ["~/sh*"]\n')
    assert ada("run", "read greet.py once more")[0] == 0
    assert ada("history", "push")[1].startswith("0 conversations")
    assert "1 conversation withdrawn" in ada("history", "unshare")[1]
    assert "is private" in ada("history", "share", "--yes")[2]
    await root.close()


async def test_sharing_again_changes_only_what_is_given(
    server: Server, database: str, tmp_path: Path
) -> None:
    ada = Shell(tmp_path / "ada", server.url("ada", database))
    assert ada("run", "read greet.py")[0] == 0
    status, shown, problem = ada("history", "share", "--yes", "--with", "project", "--as", "till")
    assert status == 0
    assert "history watch" in shown
    assert "'till' is not accepted: you are not a member of it." in problem
    assert "INSERT INTO cogency.members VALUES ('till', 'ada'); or share it with" in problem
    assert ada("history", "push")[0] == 1
    assert "Last push" in ada("history", "status")[1]
    assert "not a member" in ada("history", "status")[1]
    assert ada("history", "share", "--yes", "--with", "own")[0] == 0
    assert "only you" in ada("history", "share", "--yes")[1]
    assert "as 'till', seen by only you" in ada("history", "status")[1]
    (tmp_path / "ada" / "config.toml").write_text('[history]\nprivate = ["~/sh*"]\n')
    assert "private now" in ada("history", "status")[1]
    status, _, error = ada("recall", "--shared-as", "till", "x")
    assert status == 2
    assert "needs --team" in error


def test_without_an_address_each_command_says_what_is_missing(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home", "")
    for arguments in (
        ["history", "status"],
        ["history", "push"],
        ["recall", "--team", "x"],
        ["usage", "--team"],
    ):
        status, _, error = shell(*arguments)
        assert status == 2
        assert "history.url is not set" in error


def test_private_projects_and_the_address_are_set_by_commands(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home", "")
    assert shell("config", "set", "history.private", '["~/hidden/*", "/work/secret"]')[0] == 0
    written = (tmp_path / "home" / "config.toml").read_text()
    assert 'private = ["~/hidden/*", "/work/secret"]' in written
    assert shell("config", "set", "history.private", "~/hidden/*")[0] == 2
    assert shell("config", "unset", "history.private")[0] == 0
    for url in ("postgresql://ada:tr0ub4dor@localhost/h", "postgresql://ada:tr0ub4dor/x@localhost/h"):
        status, out, error = shell("config", "set", "history.url", url)
        assert status == 2
        assert "history.url" in error
        assert "tr0ub4dor" not in out + error
    assert "url" not in (tmp_path / "home" / "config.toml").read_text()


def test_a_server_out_of_reach_is_an_error_of_one_line(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home", "postgresql://ada@127.0.0.1:1/h")
    status, _, error = shell("recall", "--team", "x")
    assert status == 1
    assert len(error.splitlines()) == 1
    assert "127.0.0.1:1/h" in error

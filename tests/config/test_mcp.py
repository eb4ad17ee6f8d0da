"""`[mcp.NAME]`: what can be said of a server, and what is told of what cannot, with its line."""

from pathlib import Path

import pytest

from cogency_tui.agent.project.settings import read_delegates
from cogency_tui.config.layers import load_settings
from cogency_tui.config.mcp import McpSettings
from cogency_tui.errors import ConfigError


def read(path: Path, text: str) -> dict[str, McpSettings]:
    config = path / "config.toml"
    config.write_text(text)
    return load_settings(config, environ={}).mcp


def test_a_command_and_an_address(tmp_path: Path) -> None:
    servers = read(
        tmp_path,
        '[mcp.files]\ncommand = "npx"\nargs = ["-y", "x"]\nenv = { A = "1" }\nenv_from = ["GITHUB_TOKEN"]\n'
        'tools = ["read"]\ntimeout = 5\n\n'
        '[mcp.far-away]\nurl = "https://example.com:8443/mcp"\nheaders_env = { Authorization = "FAR_AUTH" }\n',
    )
    assert servers["files"].address == "npx -y x"
    assert servers["files"].offers("read")
    assert not servers["files"].offers("write")
    assert servers["far-away"].host == "example.com:8443"


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('theme = "night"\n\n[mcp.a]\n', 3, 'it needs either "command" or "url"'),
        ('[mcp.a]\ncommand = "x"\nurl = "http://y"\n', 1, 'it needs either "command" or "url"'),
        ('[mcp.a]\ncommand = "x"\ncomand = "y"\n', 3, 'unknown key "comand" (did you mean "command"?)'),
        ('[mcp.a]\ncommand = "x"\n\ntimeout = 0\n', 4, '"timeout"'),
        ('[mcp.a]\nurl = "ftp://x"\n', 2, '"url" must be a full address, with http:// or https://'),
        ('[mcp.a]\nurl = "http://me:word@x/"\n', 2, "must not hold a password"),
        ('[mcp.a]\nurl = "http://x"\nargs = ["y"]\n', 3, '"args" is not allowed for a server with "url"'),
        ('[mcp.a]\nurl = "http://x"\nheaders_env = { A = "sk-1 2" }\n', 3, "must be the name of a variable"),
        ('[mcp.a]\ncommand = "x"\nenv_from = ["A=B"]\n', 3, "is not a variable name"),
        ('[mcp."a.b"]\ncommand = "x"\n', 1, "a name has only letters, digits, - and _"),
        ("[mcp]\na = 3\n", 2, "it must be a table"),
    ],
)
def test_what_cannot_be_is_told_with_its_line(tmp_path: Path, text: str, line: int, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)
    assert f", line {line}: MCP server" in str(raised.value)
    assert told in str(raised.value)


def test_a_project_may_have_servers_and_names_no_variable_of_the_person(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    brought = read_delegates(b'[mcp.a]\ncommand = "x"\nenv = { A = "1" }\n', path)
    assert brought.mcp == {"a": McpSettings(command="x", env={"A": "1"})}
    for text, line in (
        (b'[mcp.a]\ncommand = "x"\nenv_from = ["OPENAI_API_KEY"]\n', 3),
        (b'[mcp.a]\nurl = "http://evil"\n\nheaders_env = { X = "OPENAI_API_KEY" }\n', 4),
    ):
        with pytest.raises(ConfigError, match=f"line {line}: .* a project cannot set"):
            read_delegates(text, path)

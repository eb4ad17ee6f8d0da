"""Plain English to requests."""

import pytest

from cogency_tui.providers.offline.request_grammar import read_requests
from cogency_tui.providers.offline.request_types import (
    AppendText,
    CountLines,
    CreateFile,
    ExplainFiles,
    ExplainProject,
    FindFiles,
    FindText,
    Help,
    ListFiles,
    ReadFiles,
    RecallRequest,
    ReplaceAcross,
    ReplaceText,
    Request,
    RunCommand,
    RunTests,
    Unclear,
    Undo,
)
from tests.cases import cases

TABLE: list[tuple[str, Request]] = [
    ("list the files", ListFiles()),
    ("What files are there?", ListFiles()),
    ("what files are in tests", ListFiles("tests")),
    ("list src/", ListFiles("src")),
    ("ls *.py", ListFiles(pattern="*.py")),
    ("show me all python files", ListFiles(pattern="*.py")),
    ("what is in src", ListFiles("src")),
    ("what's in the project?", ListFiles()),
    ("What's in main.py?", ReadFiles(("main.py",))),
    ("read a.py and b.py", ReadFiles(("a.py", "b.py"))),
    ("please show me a.py, b.py and c.md", ReadFiles(("a.py", "b.py", "c.md"))),
    ("read @src/app.py", ReadFiles(("src/app.py",))),
    ("@README.md", ReadFiles(("README.md",))),
    ("read 'my notes.txt'", ReadFiles(("my notes.txt",))),
    ("open config", ReadFiles(("config",))),
    ("cat ./x/y.toml", ReadFiles(("x/y.toml",))),
    ("show me lines 10-20 of a.py", ReadFiles(("a.py",), 10, 11)),
    ("explain src/app.py", ExplainFiles(("src/app.py",))),
    ("Could you summarise README.md for me?", ExplainFiles(("README.md",))),
    ("what does main.py do?", ExplainFiles(("main.py",))),
    ("explain it", ExplainFiles(("last.py",))),
    ("explain the project", ExplainProject()),
    ("how many lines are in a.py?", CountLines(("a.py",))),
    ("count lines of a.py and b.py", CountLines(("a.py", "b.py"))),
    ("find TODO", FindText("TODO")),
    ('search for "def main" in src', FindText("def main", "src")),
    ("find all uses of `foo` in src/app.py", FindText("foo", "src/app.py")),
    ("where is parse_args defined?", FindText("parse_args")),
    ("find where httpx is imported", FindText("httpx")),
    ("which files contain 'import httpx'", FindText("import httpx")),
    ("find main.py", FindFiles("main.py")),
    ("find files named *.toml", FindFiles("*.toml")),
    ("replace 'foo' with 'bar' in a.py", ReplaceText("foo", "bar", ("a.py",))),
    ('change "a then b" to "c" in a.py and b.py', ReplaceText("a then b", "c", ("a.py", "b.py"))),
    ("rename getUser to fetchUser in src/api.ts", ReplaceText("getUser", "fetchUser", ("src/api.ts",))),
    ("in a.py, replace 'x' with 'y'", ReplaceText("x", "y", ("a.py",))),
    ("replace 'x' by 'y'", ReplaceText("x", "y", ("last.py",))),
    ("remove 'debug' from a.py", ReplaceText("debug", "", ("a.py",))),
    ("replace \"it's\" with 'it is' in a.md", ReplaceText("it's", "it is", ("a.md",))),
    ("rename function foo to bar everywhere", ReplaceAcross("foo", "bar", "**/*")),
    ("replace foo by bar in all python files", ReplaceAcross("foo", "bar", "**/*.py")),
    ("replace 'x' with 'y' in docs/**/*.md", ReplaceAcross("x", "y", "docs/**/*.md")),
    ("replace 'x' with 'y' in src/", ReplaceAcross("x", "y", "src/**/*")),
    ("create notes.md containing hello world", CreateFile("notes.md", "hello world\n")),
    ("create a file called notes with 'hi'", CreateFile("notes", "hi\n")),
    ('write "hello" to out.txt', CreateFile("out.txt", "hello\n")),
    ('create a.py with:\nprint("x")\nthen = 1', CreateFile("a.py", 'print("x")\nthen = 1\n')),
    ("create a.py:\n```python\nprint('then')\n```", CreateFile("a.py", "print('then')\n")),
    ("create empty.txt", CreateFile("empty.txt", "")),
    ('overwrite a.txt with "new"', CreateFile("a.txt", "new\n", overwrite=True)),
    ("append 'last line' to notes.md", AppendText("notes.md", "last line")),
    ('add the line "x = 1" to the end of a.py', AppendText("a.py", "x = 1")),
    ("add a line to a.py: 'x'", AppendText("a.py", "x")),
    ("run ls -la", RunCommand("ls -la")),
    ("run `pytest -q` and show me the output", RunCommand("pytest -q")),
    ('execute echo "hi there"', RunCommand('echo "hi there"')),
    ("$ git status", RunCommand("git status")),
    ("`make`", RunCommand("make")),
    ("can you please run all tests?", RunTests()),
    ("do the tests pass?", RunTests()),
    ("undo that", Undo()),
    ("revert your last change", Undo()),
    ("what did we say about retries?", RecallRequest("retries")),
    ("remember that I like tabs", RecallRequest("I like tabs", remember=True)),
    ("help", Help()),
    ("Who are you?", Help()),
    ("write a poem about the sea", Unclear("write a poem about the sea")),
    ("fix the bug", Unclear("fix the bug")),
    ("describe recursion", Unclear("describe recursion")),
    ("", Unclear("")),
]


@cases(("message", "request_"), TABLE)
def test_a_message_is_read_as_one_request(message: str, request_: Request) -> None:
    assert read_requests(message, "last.py") == [request_]


def test_requests_joined_with_then_come_in_order_and_it_is_the_file_before() -> None:
    requests = read_requests("read a.py then replace 'a' with 'b' in it, and then run the tests")
    assert requests == [ReadFiles(("a.py",)), ReplaceText("a", "b", ("a.py",)), RunTests()]


def test_lines_numbers_and_sentences_separate_requests() -> None:
    requests = read_requests("1. read a.py\n2. count its lines\n- Find TODO. Undo.")
    assert requests == [ReadFiles(("a.py",)), CountLines(("a.py",)), FindText("TODO"), Undo()]


def test_a_fence_below_a_request_belongs_to_it_and_what_follows_is_another() -> None:
    requests = read_requests("create a.py with the following content:\n\n```\nx\n```\nthen run `python a.py`")
    assert requests == [CreateFile("a.py", "x\n"), RunCommand("python a.py")]


@pytest.mark.parametrize(
    ("message", "lacks"),
    [("rename a.py to b.py", "renames"), ("delete a.py", "deletes"), ("replace 'x' with 'y'", "the file")],
)
def test_what_is_lacking_is_named(message: str, lacks: str) -> None:
    [request] = read_requests(message)
    assert isinstance(request, Unclear)
    assert lacks in request.lacks


@cases(
    "message",
    [
        "replace " + "a with " * 20_000,
        " " * 200_000,
        "'" * 50_000,
        "read " + "x.py " * 50_000,
        "```\n" * 20_000,
    ],
)
def test_a_huge_message_is_read_in_no_time(message: str) -> None:
    read_requests(message)

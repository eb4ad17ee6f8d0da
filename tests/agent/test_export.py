"""Exports for reading: nothing foreign is anything but text in them, and the page asks nobody for anything."""

import http.server
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from cogency_tui.agent.export import as_markdown, as_page, fenced
from cogency_tui.errors import ConfigError
from cogency_tui.protocol.events import Event, Image
from cogency_tui.redaction import MARKER
from cogency_tui.store.store import StoredConversation
from tests.tui.scripted import plan

HOSTILE = '</style><script>fetch("{url}/s")</script><img src="{url}/i" onerror=alert(1)>\x1b]0;t\x07 `` ``` x'
KNOWN = StoredConversation("id", "/p", HOSTILE, "xml", "o", "m", 1.0, 2.0, 1, 1200, 0.5, None)


def story(url: str) -> list[Event]:
    evil = HOSTILE.replace("{url}", url)
    markdown = f"**done** ![x]({url}/m) [a](javascript:alert(1)) <link rel=stylesheet href={url}/l>\n\n{evil}"
    return [
        {"type": "user", "timestamp": 1.0, "content": evil},
        {"type": "think", "timestamp": 1.0, "id": "t", "content": evil},
        {
            "type": "call",
            "timestamp": 1.0,
            "id": "c",
            "content": '{"name": "<b>", "args": {"file": "</pre>"}}',
        },
        {  # pyright: ignore[reportReturnType]
            **{"type": "result", "timestamp": 1.0, "id": "c", "tool": "read", "duration": 0.1},
            "payload": {"outcome": evil, "content": evil, "error": True, "state": "failed"},
        },
        {"type": "respond", "timestamp": 1.0, "id": "r", "content": markdown},
    ]


def test_nothing_foreign_is_markup_in_a_page() -> None:
    page = as_page(KNOWN, story("http://x"), "night")
    body = page[page.index("<body>") :]
    blocks = {"body", "main", "h1", "p", "div", "details", "summary", "pre"}
    allowed = blocks | {"span", "b", "strong", "code", "em", "a"}
    assert set(re.findall(r"<([a-z0-9]+)", body)) <= allowed
    assert "javascript:" not in re.sub(r"&[a-z]+;", "", "".join(re.findall(r"<[^>]*>", body)))
    assert "\x1b" not in page
    assert "<strong>done</strong>" in page
    assert 'class="failed"' in page
    for theme, scheme in (("night", "dark"), ("day", "light"), ("ansi", "dark")):
        assert f"color-scheme:{scheme}" in as_page(KNOWN, [], theme)
    with pytest.raises(ConfigError, match="Unknown theme"):
        as_page(KNOWN, [], "../night")


def test_a_plan_is_a_task_list() -> None:
    events = plan("p", "✓ Read *it*", "▸ Write <b>", "○ Test")
    summary = "<details><summary>✓ plan 1/3: Write &lt;b&gt;</summary>\n\n"
    tasks = "- [x] Read \\*it\\*\n- [ ] **Write \\<b\\>**\n- [ ] Test\n\n</details>"
    assert summary + tasks in as_markdown(KNOWN, events)
    page = as_page(KNOWN, events, "night")
    assert "<li>✓ Read *it*</li><li>▸ Write &lt;b&gt;</li><li>○ Test</li>" in page


def test_images_are_named_and_not_embedded() -> None:
    image: Image = {
        **{"name": "<shot>.png", "digest": "d" * 64, "media_type": "image/png", "width": 8, "height": 6},
        "size": 12345,
    }  # pyright: ignore[reportAssignmentType]
    asked: Event = {"type": "user", "timestamp": 1.0, "content": "See", "images": [image]}
    assert "> See\n>\n> [image <shot>.png: 8×6 pixels, 12,345 bytes]" in as_markdown(KNOWN, [asked])
    page = as_page(KNOWN, [asked], "night")
    assert '<div class="prompt">See\n\n[image &lt;shot&gt;.png: 8×6 pixels, 12,345 bytes]</div>' in page


def test_an_interrupted_call_is_no_failure() -> None:
    events = story("http://x")
    assert events[3]["type"] == "result"
    events[3]["payload"]["state"] = "interrupted"
    assert 'class="failed"' not in as_page(KNOWN, events, "night")
    assert "■ <b>" in re.sub("&lt;b&gt;", "<b>", as_markdown(KNOWN, events))


def test_no_fence_is_closed_from_within() -> None:
    assert fenced("a ```` b").startswith("`````\n")
    text = as_markdown(KNOWN, story("http://x"))
    assert "\x1b" not in text
    assert text.count("<details>") == text.count("</details>") == 2
    assert "\\<script\\>" in text.splitlines()[0]


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_opens_the_page_and_asks_nobody(tmp_path: Path) -> None:
    asked: list[str] = []

    class Listening(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *_arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listening)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"

    def dom(page: str) -> str:
        (tmp_path / "page.html").write_text(page, "utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
        command = ["chromium", *options, "--dump-dom", f"file://{tmp_path}/page.html"]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    try:
        assert "<details>" in dom(as_page(KNOWN, story(url), "night"))
        assert asked == []
        # What asks would have been heard.
        dom(f'<img src="{url}/heard">')
        assert asked == ["/heard"]
    finally:
        server.shutdown()
        server.server_close()


def test_no_key_is_in_an_export() -> None:
    key = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4"
    events = story("http://x")
    for text in (as_markdown(KNOWN, events), as_page(KNOWN, events, "night")):
        assert MARKER not in text
    events.append({"type": "respond", "timestamp": 1.0, "id": "k", "content": f"It is {key}."})
    events[3]["payload"] = {"outcome": "Edited", "content": f"-key = {key}", "error": False, "state": "done"}  # pyright: ignore[reportGeneralTypeIssues]
    for text in (as_markdown(KNOWN, events), as_page(KNOWN, events, "night")):
        assert key not in text
        assert "a secret is not shown" in text

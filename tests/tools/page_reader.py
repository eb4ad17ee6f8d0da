"""Reads pages, several in one process of its own."""

import json

from cogency_tui.tools.web.page_text import read_page


def answer(request: bytes) -> bytes:
    """The title and the length of each page."""
    pages = [read_page(source.encode(), "text/html", "http://site.test/") for source in json.loads(request)]
    return json.dumps([{"title": page.title, "length": len(page.text)} for page in pages]).encode()

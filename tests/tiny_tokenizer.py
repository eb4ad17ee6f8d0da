"""A tokenizer whose tokens are bytes, in place of the vendor's, whose file no test downloads."""

import hashlib
import inspect
from functools import cache
from pathlib import Path

import pytest
import tiktoken

from cogency_tui.providers import tokenizer

RANKS = b"The ranks of 256 bytes."


def use_tiny_tokenizer(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make `folder` the library's cache, with its file."""
    ranks = {bytes([value]): value for value in range(256)}
    tiny = tiktoken.Encoding("tiny", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={})
    monkeypatch.setattr(tiktoken, "get_encoding", {tokenizer.ENCODING: tiny}.__getitem__)
    use_cache(monkeypatch, folder)
    monkeypatch.setattr(tokenizer, "_DIGEST", hashlib.sha256(RANKS).hexdigest())
    tokenizer.ranks_file().write_bytes(RANKS)


def use_cache(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make `folder` the library's cache, as it is in a program that has just started; nothing is downloaded."""

    def download(address: str) -> bytes:
        raise AssertionError(f"{address} was requested")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    monkeypatch.setattr("tiktoken.load.read_file", download)
    loads = inspect.unwrap(tokenizer._load)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(tokenizer, "_load", cache(loads))

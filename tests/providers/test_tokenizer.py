"""OpenAI's tokenizer counts where its file is there, and is never downloaded."""

from pathlib import Path

import pytest
from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS

from cogency_tui.providers import tokenizer
from tests.tiny_tokenizer import use_cache, use_tiny_tokenizer


@pytest.mark.parametrize(
    "model",
    [
        "gpt-6.1-sol",
        "gpt-5.6-terra",
        "openai/gpt-5.6",
        "gpt-4o-mini",
        "gpt-4.1",
        "chatgpt-4o-latest",
        "o3",
        "o4-mini",
    ]
    + ["gpt-oss-120b", "openai/gpt-oss-20b", "gpt-realtime-1.5", "gpt-10"],
)
def test_models_of_its_encoding(model: str) -> None:
    assert tokenizer.covers(model)


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-5-5",
        "gemini-4-argon",
        "gpt-4",
        "gpt-4-turbo",
        "gpt-3.5-turbo",
        "olmo-3",
        "not-gpt-5",
        "",
    ],
)
def test_models_of_other_encodings(model: str) -> None:
    assert not tokenizer.covers(model)


def test_it_counts_characters_and_tokens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_tiny_tokenizer(monkeypatch, tmp_path)
    assert tokenizer.sample(["ünï", "code"]) == (8, 10)
    assert tokenizer.sample(["<|endoftext|>", "\udfff"]) == (15, 17)
    assert tokenizer.sample(["a b " * tokenizer.LONGEST]) == (tokenizer.LONGEST, tokenizer.LONGEST)


@pytest.mark.parametrize("content", [None, b"", b"another file"])
def test_without_its_file_nothing_is_counted_or_requested(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    use_cache(monkeypatch, tmp_path)
    if content is not None:
        tokenizer.ranks_file().write_bytes(content)
    assert not tokenizer.has_ranks()
    assert tokenizer.sample(["text"]) == (0, 0)
    assert tokenizer.ranks_file().exists() == (content is not None)


def test_a_file_that_comes_later_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_cache(monkeypatch, tmp_path)
    assert tokenizer.sample(["text"]) == (0, 0)
    use_tiny_tokenizer(monkeypatch, tmp_path)
    assert tokenizer.sample(["text"]) == (4, 4)


def test_without_the_library_nothing_is_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_tiny_tokenizer(monkeypatch, tmp_path)

    def missing(_name: str) -> None:
        return None

    monkeypatch.setattr(tokenizer, "find_spec", missing)
    assert tokenizer.sample(["text"]) == (0, 0)


def test_file_and_digest_are_those_that_the_library_expects(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    requested: list[str] = []

    def download(address: str) -> bytes:
        requested.append(address)
        return b"ranks"

    def is_expected(_data: bytes, digest: str) -> bool:
        return digest == tokenizer._DIGEST  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr("tiktoken.load.read_file", download)
    monkeypatch.setattr("tiktoken.load.check_hash", is_expected)
    for name in ("DATA_GYM_CACHE_DIR", "TIKTOKEN_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
        with pytest.raises(ValueError, match="ranks"):
            ENCODING_CONSTRUCTORS[tokenizer.ENCODING]()
        assert tokenizer.ranks_file().read_bytes() == b"ranks"
    assert len(requested) == 2

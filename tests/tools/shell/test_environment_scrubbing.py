"""What looks like a key is not in an environment, and our keys are in no text, however it is cut."""

from cogency_tui.redaction import Veil
from cogency_tui.tools.shell.environment_scrubbing import masked, scrubbed
from tests.cases import cases


@cases(
    "name",
    [
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "DB_PASSWORD"),
        *(
            "PGPASSWORD",
            "MY_SECRET",
            "SECRET_KEY_BASE",
            "GH_PAT",
            "npm_config_auth",
            "APIKEY",
            "token",
            "DB_PWD",
        ),
    ],
)
def test_variable_that_looks_like_a_key_is_removed(name: str) -> None:
    assert name not in scrubbed({name: "x"}, {})


@cases(
    "name", ["PATH", "PWD", "HOME", "SSH_AUTH_SOCK", "KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM", "PATHS"]
)
def test_ordinary_variable_is_kept(name: str) -> None:
    assert scrubbed({name: "x"}, {})[name] == "x"


def test_variable_whose_value_is_a_key_is_removed() -> None:
    assert "X" not in scrubbed({"X": "ghp_" + "a" * 36}, {})
    assert "X" not in scrubbed({"X": "our own"}, {"name": "our own"})


SECRETS = {"ONE": "abcabcabd", "TWO": "abcabcabdxyz", "SHORT": "tiny"}
TEXT = "ab abcabcabcabd tiny abcabcabdxyz abcabcabdxy abcabc"


@cases("step", [1, 2, 5, 9, 100])
def test_keys_are_hidden_wherever_the_text_is_cut(step: int) -> None:
    veil = Veil(SECRETS)
    shown = "".join(veil.feed(TEXT[start : start + step]) for start in range(0, len(TEXT), step))
    shown += veil.feed("", final=True)
    assert "abcabcabd" not in shown
    assert shown.startswith("ab abc[ONE is not shown] tiny [")
    assert shown.endswith("]xy abcabc")


def test_longer_of_two_keys_is_the_one_that_is_named() -> None:
    assert Veil(SECRETS).over("abcabcabdxyz") == "[TWO is not shown]"


def test_what_may_become_a_key_is_held_back_until_it_is_known() -> None:
    veil = Veil({"KEY": "sk-12345678"})
    assert veil.feed("text sk-123") == "text "
    assert veil.feed("9 more") == "sk-1239 more"
    assert veil.feed("sk-") == ""
    assert veil.feed("", final=True) == "sk-"


def test_without_keys_text_is_as_it_is() -> None:
    assert Veil({"A": ""}).feed("anything") == "anything"


@cases(
    "secret",
    [
        "sk-abcdefghijklmnopqrstuvwx",
        "ghp_0123456789abcdefghij0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "the-key-itself-of-ours",
        "0123456789abcdef0123456789abcdef01234567",
        "password: hunter2",
        "my password is hunter2!",
        "API key = abc",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_masked(secret: str) -> None:
    shown = masked(f"I use {secret} here", {"OUR_API_KEY": "the-key-itself-of-ours"})
    value = secret.split()[-1]
    assert value not in shown
    assert "is not shown]" in shown


@cases(
    "text",
    [
        "Works on token counting and password forms",
        "Prefers pytest 8 and uv",
        "Uses https://example.com/a/b and src/app/views/checkout.py",
        "Likes tests named test_a_queue_is_emptied",
        "ask-me-anything-about-this-thing",
    ],
)
def test_ordinary_words_are_not_masked(text: str) -> None:
    assert masked(text, {"X": ""}) == text

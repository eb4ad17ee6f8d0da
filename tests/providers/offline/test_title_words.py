"""The embedded model's titles: the words of the first message."""

from cogency_tui.providers.offline.model import next_text
from tests.cases import cases


@cases(
    "message, title",
    [
        ("Hi, could you please fix the flaky test?", "Fix the flaky test"),
        ("The build fails. Find out why.", "The build fails"),
        ("retry.py never stops", "retry.py never stops"),
        ("hello", "Hello"),
        (
            "explain " + "every module of this project " * 5,
            "Explain every module of this project every module…",
        ),
        ("rename a\nand b", "Rename a"),
    ],
)
def test_the_title_is_the_first_sentence_without_courtesies(message: str, title: str) -> None:
    request = f"<message>\n{message}\n</message>\n<answer>\nDone.\n</answer>"
    messages = [
        {"role": "system", "content": "Task: title\n\nName it."},
        {"role": "user", "content": request},
    ]
    assert next_text(messages) == title  # pyright: ignore[reportArgumentType]

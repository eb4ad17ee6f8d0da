"""The losses of a command, in words."""

from cogency_tui.tools.loss import Loss, LostPath, describe_losses
from tests.cases import cases

NOTES = LostPath("notes.txt")
DOCS = LostPath("docs", 7)


@cases(
    ("loss", "words"),
    [
        (Loss("changed", (NOTES,)), "permanently discards uncommitted changes in the file notes.txt"),
        (Loss("untracked", (NOTES,)), "permanently deletes the untracked file notes.txt"),
        (Loss("ignored", (DOCS,)), "permanently deletes the git-ignored directory docs/ (7 files)"),
        (Loss("directory", (LostPath("a/", 1),)), "permanently deletes the directory a/ (1 file)"),
        (
            Loss("unversioned", (NOTES, DOCS)),
            "permanently deletes 2 unversioned files and directories: notes.txt, docs/ (7 files)",
        ),
        (
            Loss("directory", (DOCS, LostPath("big", 10_000, at_least=True))),
            "permanently deletes 2 directories: docs/ (7 files), big/ (10,000+ files)",
        ),
        (
            Loss("untracked", tuple(LostPath(f"{n}.txt") for n in range(12))),
            "permanently deletes 12 untracked files: 0.txt, 1.txt, 2.txt, 3.txt, 4.txt and 7 more",
        ),
        (Loss("other", text="everything on /dev/sda"), "permanently deletes everything on /dev/sda"),
    ],
)
def test_a_loss_names_its_number_its_kind_and_its_paths(loss: Loss, words: str) -> None:
    assert str(loss) == words
    assert loss.sentence == f"P{words[1:]}."


def test_losses_are_one_clause() -> None:
    losses = (Loss("changed", (NOTES,)), Loss("other", text="untracked files"))
    assert describe_losses(losses) == "; ".join(map(str, losses))

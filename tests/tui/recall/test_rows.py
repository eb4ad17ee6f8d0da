"""Rows of pages as they come in: days, families, folding."""

from dataclasses import replace

import pytest

from cogency_tui.agent.recall.results import Hit, ListedConversation
from cogency_tui.store.forks import ForkTree
from cogency_tui.store.store import StoredConversation
from cogency_tui.tui.kit.select_list import Heading
from cogency_tui.tui.recall.rows import Catalogue, HitRow, Item, day_of

DAY = 86_400.0
NOON = 1_790_078_400.0
"""A Tuesday in September 2026, noon in UTC."""


def conversation(id: str, days: float = 0.0, parent: str | None = None) -> StoredConversation:
    at = NOON - days * DAY
    return StoredConversation(id, "/p", id, "xml", "o", "m", at, at, 1, 0, 0.0, parent)


def found(each: StoredConversation, forks: int = 0, hits: int = 0) -> ListedConversation:
    found = tuple(Hit(1, each.id, "prompt", "", 0.0, f"text {nth}", ()) for nth in range(hits))
    return ListedConversation(each, found, False, 2, forks, None)


def described(catalogue: Catalogue) -> list[str]:
    rows: list[str] = []
    for row in catalogue.rows:
        match row:
            case Heading(title):
                rows.append(f"# {title}")
            case Item(id, depth, below, folded):
                rows.append(" " * depth + id + ("+" if folded else "-" if below else ""))
            case HitRow(id, _depth, nth):
                rows.append(f"{id}.{nth}")
    return rows


@pytest.mark.parametrize(
    ("days", "title"),
    [
        (0.4, "today"),
        (-0.2, "today"),
        (0.6, "yesterday"),
        (2, "last week"),
        (7, "last week"),
        (8, "September"),
        (40, "August"),
        (300, "November 2025"),
    ],
)
def test_days_have_names(days: float, title: str) -> None:
    assert day_of(NOON - days * DAY, NOON) == title


def test_pages_go_on_under_the_same_heading() -> None:
    catalogue = Catalogue(NOON)
    catalogue.add([found(conversation("a")), found(conversation("b", 1))], {})
    catalogue.add([found(conversation("c", 1)), found(conversation("d", 3))], {})

    assert described(catalogue) == ["# today", "a", "# yesterday", "b", "c", "# last week", "d"]
    assert catalogue.found == 4


def family() -> tuple[StoredConversation, StoredConversation, StoredConversation, ForkTree]:
    root, fork = conversation("root", 20), conversation("fork", 0, "root")
    deep = conversation("deep", 30, "fork")
    return root, fork, deep, ForkTree(root, (ForkTree(fork, (ForkTree(deep),)),))


def test_a_family_stands_where_its_newest_stands_as_a_whole() -> None:
    root, fork, deep, tree = family()
    trees = {each.id: tree for each in (root, fork, deep)}
    catalogue = Catalogue(NOON)
    catalogue.add([found(conversation("new")), found(fork, 1), found(conversation("old", 1))], trees)

    whole = ["# today", "new", "root-", " fork-", "  deep", "# yesterday", "old"]
    assert described(catalogue) == whole
    assert catalogue.entries["root"].files is None
    assert catalogue.found == 3
    catalogue.add([found(root, 1), found(deep)], trees)
    assert described(catalogue) == whole
    assert catalogue.entries["root"].files == 2
    assert catalogue.found == 5


def test_of_a_search_only_what_was_found_is_shown() -> None:
    root, fork, deep, tree = family()
    trees = {each.id: tree for each in (root, fork, deep)}
    catalogue = Catalogue(NOON, grouped=False, whole=False)
    catalogue.add([found(deep, hits=2), found(conversation("other"))], trees)
    assert described(catalogue) == ["deep", "deep.0", "deep.1", "other"]
    catalogue.add([found(root, hits=1)], trees)
    assert described(catalogue) == ["root-", "root.0", " deep", "deep.1", "other"]


def test_what_is_in_the_trash_is_left_out_of_a_family() -> None:
    root, fork, deep, _ = family()
    tree = ForkTree(replace(root, trashed=1.0), (ForkTree(fork, (ForkTree(deep),)),))
    catalogue = Catalogue(NOON)
    catalogue.add([found(fork, 1)], {each.id: tree for each in (root, fork, deep)})
    assert described(catalogue) == ["# today", "fork-", " deep"]


def test_folding_hides_what_is_below() -> None:
    root, fork, deep, tree = family()
    catalogue = Catalogue(NOON, grouped=False)
    catalogue.add([found(fork)], {each.id: tree for each in (root, fork, deep)})
    catalogue.fold("root")
    assert described(catalogue) == ["root+"]
    assert catalogue.place("fork") is None
    catalogue.fold("root", True)
    assert described(catalogue) == ["root+"]
    assert Catalogue(NOON, catalogue.folded).folded == {"root"}
    catalogue.fold("root", False)
    assert catalogue.parent("deep") == "fork"
    assert catalogue.parent("root") is None


def test_what_is_removed_leaves_its_forks() -> None:
    root, fork, deep, tree = family()
    catalogue = Catalogue(NOON, grouped=False)
    catalogue.add([found(fork)], {each.id: tree for each in (root, fork, deep)})
    catalogue.remove("root")
    assert described(catalogue) == ["fork-", " deep"]
    catalogue.rename("deep", "Another")
    assert catalogue.entries["deep"].conversation.title == "Another"


def test_steps_pass_over_headings_and_hits() -> None:
    catalogue = Catalogue(NOON)
    catalogue.add([found(conversation("a"), hits=2), found(conversation("b", 1))], {})
    assert described(catalogue) == ["# today", "a", "a.0", "a.1", "# yesterday", "b"]
    assert catalogue.beside(1, 1) == 5
    assert catalogue.beside(5, -1) == 1
    assert catalogue.beside(1, 100) == 5
    assert catalogue.beside(1, -1) is None

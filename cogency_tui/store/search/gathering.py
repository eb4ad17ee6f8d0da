"""Slices in the making: the documents that the next step of indexing writes."""

from array import array
from collections.abc import Iterator

from cogency_tui.store.search.documents import Document
from cogency_tui.store.search.folding import PAD, fold, key, probes_of
from cogency_tui.store.search.index import FACT, group_of
from cogency_tui.store.search.postings import SHIFT, WIDTH

_SLICE = 1536
"""Characters from which on a slice is closed."""


class Block:
    """The new part of one block: the conversations of its new slices, and the slices with each gram."""

    def __init__(self) -> None:
        self.roots: list[str] = []
        self.grams: dict[tuple[str, ...], list[int]] = {}
        self.facts: dict[bytes, list[int]] = {}
        self.probes: dict[str, list[int]] = {}


class Gathering:
    """Collects documents into slices, which are numbered from `first` on."""

    def __init__(self, first: int) -> None:
        self.slices: list[tuple[int, str, bytes, bytes]] = []
        self.blocks: dict[int, Block] = {}
        self.size = 0
        self._next = first
        self._open: dict[str, list[Document]] = {}
        self._lengths: dict[str, int] = {}

    def add(self, root: str, document: Document) -> None:
        """Add a document of the conversation `root` to its slice."""
        self._open.setdefault(root, []).append(document)
        self.size += len(document.text) + 1
        length = self._lengths.get(root, 0) + len(document.text)
        self._lengths[root] = length
        if length >= _SLICE:
            self._close(root)

    def close(self) -> None:
        """Close the slices that are still open."""
        for root in list(self._open):
            self._close(root)

    def _close(self, root: str) -> None:
        gathered = self._open.pop(root)
        del self._lengths[root]
        number = self._next
        self._next += 1
        text = PAD.join(each.folded for each in gathered) + PAD
        sources = array("q", [each.source for each in gathered])
        self.slices.append((number, root, sources.tobytes(), key(text)))
        block = self.blocks.setdefault(number >> SHIFT, Block())
        block.roots.append(root)
        position = number & (WIDTH - 1)
        for gram in set(zip(text, text[1:], text[2:], strict=False)):
            block.grams.setdefault(gram, []).append(position)
        for probe in probes_of(text):
            block.probes.setdefault(probe, []).append(position)
        for fact in {fact for each in gathered for fact in _facts(each)}:
            block.facts.setdefault(fact, []).append(position)


def grouped(probes: dict[str, list[int]]) -> Iterator[tuple[bytes, list[int]]]:
    """Yield the slices with each group of probes."""
    groups: dict[bytes, set[int]] = {}
    for probe, numbers in probes.items():
        groups.setdefault(group_of(probe), set()).update(numbers)
    return ((group, sorted(numbers)) for group, numbers in groups.items())


def _facts(document: Document) -> Iterator[bytes]:
    if document.kind == "call" and document.tool:
        yield FACT + b"t" + key(fold(document.tool))
    if document.failed:
        yield FACT + b"e"

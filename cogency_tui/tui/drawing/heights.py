"""Prefix sums over heights that change: a Fenwick tree. Every operation is O(log n), building is O(n)."""

from collections.abc import Iterable


class Heights:
    """The heights of units in a column, and the line that each begins at."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._sums = [0, *self._heights]
        for index in range(1, len(self._sums)):
            parent = index + (index & -index)
            if parent < len(self._sums):
                self._sums[parent] += self._sums[index]
        self.total = sum(self._heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add a unit at the end."""
        self._heights.append(height)
        node = len(self._heights)
        total, child, first = height, node - 1, node - (node & -node)
        while child > first:
            total += self._sums[child]
            child -= child & -child
        self._sums.append(total)
        self.total += height

    def pop(self) -> None:
        """Take the last unit away."""
        self.total -= self._heights.pop()
        self._sums.pop()

    def set(self, index: int, height: int) -> int:
        """Give unit `index` another height; the difference."""
        change = height - self._heights[index]
        if change:
            self._heights[index] = height
            self.total += change
            node = index + 1
            while node < len(self._sums):
                self._sums[node] += change
                node += node & -node
        return change

    def before(self, index: int) -> int:
        """The sum of all heights before unit `index`."""
        total, node = 0, index
        while node:
            total += self._sums[node]
            node -= node & -node
        return total

    def locate(self, y: int) -> tuple[int, int]:
        """The unit that covers line `y`, and the line within it; past the end, the last unit's end.

        There is at least one unit.
        """
        node, rest = 0, y
        step = 1 << len(self._heights).bit_length()
        while step:
            following = node + step
            if following < len(self._sums) and self._sums[following] <= rest:
                node = following
                rest -= self._sums[following]
            step >>= 1
        if node >= len(self._heights):
            return len(self._heights) - 1, self._heights[-1] + rest
        return node, rest

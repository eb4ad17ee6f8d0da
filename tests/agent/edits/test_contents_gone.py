"""The directory of kept contents goes away while the program runs: nothing is changed that cannot be reverted."""

from pathlib import Path

import pytest

from cogency_tui.errors import JournalError
from tests.agent.journaling import desk_at


@pytest.mark.parametrize("way", ["removed", "replaced"])
async def test_nothing_is_changed_where_the_contents_are_gone(tmp_path: Path, way: str) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", "old\n")
        await desk.write(("a", "new\n"))
        (tmp_path / "data/blobs").rename(tmp_path / "elsewhere")
        if way == "replaced":
            (tmp_path / "data/blobs").mkdir()
        before = desk.tree()

        with pytest.raises(JournalError, match="removed or replaced"):
            await desk.write(("a", "newer\n"))
        with pytest.raises(JournalError, match="removed or replaced"):
            await desk.run("echo x > a")

        assert desk.tree() == before
        for path in (tmp_path / "data").glob("blobs"):
            path.rename(tmp_path / "aside")
        (tmp_path / "elsewhere").rename(tmp_path / "data/blobs")
        await desk.write(("a", "newer\n"))
        await desk.undo.apply(await desk.undo.of_turn())
        assert (desk.root / "a").read_text() == "old\n"

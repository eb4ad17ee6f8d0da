"""A crash is reported without what the program held at that moment."""

from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.app import CogencyApp


async def test_no_local_variable_is_in_a_crash_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = CogencyApp(Agent("offline", project=tmp_path, data=tmp_path / "data"))

    def crash() -> None:
        held = "sk-" + "a1b2c3" * 4
        raise RuntimeError(f"broken after {len(held)} characters")

    with pytest.raises(RuntimeError, match="broken after 27"):
        async with app.run_test():
            app.call_later(crash)
    app._print_error_renderables()  # pyright: ignore[reportPrivateUsage] (what the terminal shows in the end)
    report = capsys.readouterr().err
    assert "broken after 27 characters" in report
    assert "in crash" in report
    assert "a1b2c3a1b2c3" not in report
    assert "locals" not in report

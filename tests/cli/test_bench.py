"""`cogency-tui bench protocol` on streams that are too small to mean anything: it runs, and says figures."""

import json
import math
from typing import Any

import pytest

from cogency_tui.protocol import TEXT_DIALECTS, Dialect
from tests.benchmarks.protocol import CHUNKS, Stream, bench_protocol, wire
from tests.cases import cases
from tests.protocol.streams import coalesce, parse


@pytest.mark.exhaustive
def test_json_gives_finite_figures_of_every_dialect(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_protocol(as_json=True, size=2_000, peer_size=400) == 0
    rows: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ours = {(row["dialect"], row["stream"]) for row in rows if row["parser"] == "cogency-tui"}
    assert ours == {(dialect, stream) for dialect in TEXT_DIALECTS for stream in ("text", "payload")}
    for row in rows:
        assert list(row["rate"]) == list(CHUNKS)
        figures = [*row["rate"].values(), row["growth"], row["chars"], row["first"], row["held"]]
        assert all(math.isfinite(figure) and figure > 0 for figure in figures)


@pytest.mark.exhaustive
def test_the_table_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_protocol(as_json=False, size=2_000, peer_size=400) == 0
    _title, heading, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) >= 6
    assert {len(row) for row in rows} == {len(heading)}


@cases("dialect", TEXT_DIALECTS)
@cases("stream", ["text", "payload"])
def test_the_streams_are_what_a_model_may_write(dialect: Dialect, stream: Stream) -> None:
    found = [kind for kind, _ in coalesce(parse([wire(dialect, stream, 3_000)], dialect))]
    wanted = {"text": ["think", "respond"], "payload": ["respond", "call"]}[stream]
    assert [kind for kind in found if kind != "execute"] == wanted

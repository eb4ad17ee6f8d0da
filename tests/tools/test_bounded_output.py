"""Output in bounded memory, exact at every size."""

import asyncio
import tracemalloc

from cogency_tui.tools.bounded_output import HEAD, HeadAndTail, Output


async def test_kept_output_is_bounded_in_memory() -> None:
    tracemalloc.start()
    try:
        output = Output(lambda _text: None)
        for _ in range(500):
            output.feed(bytes(1 << 16))
        _, peak = tracemalloc.get_traced_memory()
        output.close()
    finally:
        tracemalloc.stop()
    assert peak < 4 * HEAD


def test_kept_output_is_exact_at_every_size() -> None:
    for size in range(60):
        data = bytes(97 + number % 26 for number in range(size))
        for step in (1, 3, 7, 60):
            kept = HeadAndTail(10, 10)
            for start in range(0, len(data), step):
                kept.feed(data[start : start + step])
            if size <= 20:
                assert kept.text() == data.decode()
            else:
                mark = f"\n[… {size - 20} bytes of output were cut here …]\n"
                assert kept.text() == f"{data[:10].decode()}{mark}{data[-10:].decode()}"


async def test_what_is_written_too_fast_is_shown_in_part_and_kept_whole() -> None:
    shown: list[str] = []
    output = Output(shown.append)
    for _ in range(10):
        output.feed(b"x" * 10_000)
    await asyncio.sleep(0.06)
    assert output.close() == "x" * 100_000
    assert "bytes are not shown live" in "".join(shown)
    assert len("".join(shown)) < 50_000

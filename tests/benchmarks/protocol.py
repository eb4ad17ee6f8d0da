"""`python -m tests.benchmarks.protocol [--json]`: the parsers, as `cogency-tui bench protocol` measures them."""

import sys

from cogency_tui.headless.bench import bench_protocol

if __name__ == "__main__":
    sys.exit(bench_protocol(as_json="--json" in sys.argv[1:]))

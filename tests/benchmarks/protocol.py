"""`python -m tests.benchmarks.protocol [--json]`: the parsers, as `cogency-tui bench protocol` measures them."""

import sys

from cogency_tui.headless.bench import bench

if __name__ == "__main__":
    sys.exit(bench("protocol", as_json="--json" in sys.argv[1:]))

"""`python -m cogency_tui` is `cogency-tui`."""

import sys

from cogency_tui.cli import main

sys.exit(main())

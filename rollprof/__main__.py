"""`python -m rollprof`."""

from __future__ import annotations

import sys

from rollprof.cli.app import main

if __name__ == "__main__":
    sys.exit(main())

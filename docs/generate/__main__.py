"""`python docs/generate [--check]`: write the pages of docs/reference anew from what the code knows.

With `--check` nothing is written, and the pages that would change end it with 1.
"""

from __future__ import annotations

import sys

from reference import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python docs/site`: build the site of the documentation into out/site; a link that leads nowhere ends it."""

from __future__ import annotations

import subprocess
import sys

from staging import ROOT, Stage


def main() -> int:
    """Gather the pages and build the site; return its exit code."""
    Stage(ROOT / "out" / "docs").fill()
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", "mkdocs.yml"],
        cwd=ROOT, check=False,
    ).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

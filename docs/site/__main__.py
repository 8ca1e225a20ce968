"""`python docs/site [FOLDER]`: build the site of the documentation into out/site, or FOLDER/site.

A link that leads nowhere ends it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from staging import ROOT, Stage

_PAGE = re.compile(r"^ +- (?:[^:]+: )?([\w/-]+\.md)$")


def main(folder: Path) -> int:
    """Gather the pages into a folder and build the site there; return its exit code."""
    stage = Stage(folder / "docs")
    stage.fill()
    staged = {str(place) for place in stage.pages.values()}
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
    # A page may be written on another branch than its place in the navigation.
    kept = [line for line in lines if (page := _PAGE.match(line)) is None or page[1] in staged]
    settings = (
        "\n".join(kept).replace("docs_dir: out/docs", "docs_dir: docs").replace("site_dir: out/site", "site_dir: site")
    )
    config = folder / "mkdocs.yml"
    config.write_text(f"{settings}\n", encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(config)],
        cwd=ROOT, check=False,
    ).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(Path(*sys.argv[1:2] or [ROOT / "out"]).resolve()))

"""The built site in a browser: axe-core finds nothing, pages fit their screen, the browser complains of nothing."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.effort import EFFORT, thorough
from tests.studio.browsing import AXE, axe_tests, browser_tests, launched, opened, violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
pytestmark = [browser_tests, axe_tests, thorough]

with pytest.MonkeyPatch.context() as patch:
    patch.setattr(sys, "path", [str(ROOT / "docs" / "site"), *sys.path])
    staging: Any = importlib.import_module("staging")

WORLDS: dict[str, Any] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 1000}},
    "dark and narrow": {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}},
}
PAGES = [*sorted(place.as_posix() for place in staging.pages().values()), "source/examples/triage/triage.py.md"]
BOTH = [(page, world) for page in PAGES for world in WORLDS]
LOOKS = BOTH if EFFORT == "all" else [(page, [*WORLDS][at % 2]) for at, page in enumerate(PAGES)]
"""Each page in one world by turns; in both where everything is tried."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder of the site, built anew, and its address."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, ROOT / "docs" / "site", folder], check=True, capture_output=True)
    serving = functools.partial(_Quiet, directory=str(folder / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), serving) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder / "site", f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.mark.timeout(300)  # the longest page of the reference has some thousand nodes
@pytest.mark.parametrize(("page", "world"), LOOKS)
def test_axe_finds_nothing_on_a_page_and_it_fits_its_screen(
    browser: Browser, site: tuple[Path, str], page: str, world: str
) -> None:
    assert AXE.is_file(), "axe-core is missing"
    path = page.removesuffix("index.md").removesuffix(".md")
    assert (site[0] / path / "index.html").is_file()
    with opened(browser, f"{site[1]}/{path}", **WORLDS[world]) as view:
        assert violations(view) == []
        assert view.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

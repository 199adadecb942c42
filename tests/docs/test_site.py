"""The site as a reader has it: from a folder, without a network, on a desk and on a phone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT

from pytest_kcontroller.cluster.timing import scaled

TOO_WIDE = """() => [...document.querySelectorAll('.md-typeset table')].filter(
    table => table.scrollWidth > table.closest('.md-typeset__table, article').clientWidth + 2
      || table.getBoundingClientRect().right > innerWidth + 2
  ).map(table => table.innerText.slice(0, 60))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material")
    out = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(
        build,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=scaled(300),
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return out


def test_search_works_from_a_folder_and_asks_nobody_else(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.click(".md-search__input")
    page.keyboard.type("session_expiry")
    page.wait_for_selector(".md-search-result__item a[href*='faults.html']", state="attached", timeout=scaled(60_000))
    page.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_no_table_and_no_page_is_wider_than_the_screen(site: Path, browser: Any) -> None:
    """To open a page costs more than to look at it: as one that is turned from a desk's to a phone's."""
    page = browser.new_page()
    wide = {}
    for file in sorted(site.glob("*.html")):
        page.set_viewport_size({"width": 1400, "height": 900})
        page.goto(file.as_uri())
        for width in (1400, 390):
            page.set_viewport_size({"width": width, "height": 900})
            found = page.evaluate(TOO_WIDE)
            if found or page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide[file.name, width] = found
    page.close()
    assert wide == {}


def test_a_cell_says_its_column_and_no_brace_is_eaten(site: Path) -> None:
    campaigns = (site / "campaigns.html").read_text(encoding="utf-8")
    assert '<td data-label="default"><code>&quot;striped&quot;</code></td>' in campaigns or (
        '<td data-label="default"><code>"striped"</code></td>' in campaigns
    )
    assert "assignment strategy, or {name = ..., options}" in campaigns
    assert not (site / "site_hooks.py").exists()

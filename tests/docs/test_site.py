"""The built site, as a browser and as a reader's disk see it.

Needs the site (`SKDP_SITE`, see `conftest.py`), playwright and a Chromium or Chrome.
"""

import functools
import html.parser
import http.server
import os
import re
import shutil
import threading
import urllib.parse
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

SITE = Path(os.environ["SKDP_SITE"]).resolve()
PAGES = sorted(page for page in SITE.rglob("*.html") if "_static" not in page.parts)
LOOKED_AT = [
    "index.html",
    "start.html",
    "guide_scaling.html",
    "api/skdp.DPSGDClassifier.html",
    "gallery/plot_what_epsilon_means.html",
]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
# Wider than its box; code and tables have boxes of their own, which scroll.
RUNS_OVER = """() => [...document.querySelectorAll(".bd-article-container, body")]
    .filter(box => box.scrollWidth > box.clientWidth + 1)
    .map(box => `${box.className}: ${box.scrollWidth} in ${box.clientWidth} pixels`)"""
NOT_LOADED = """() => [...document.images]
    .filter(image => image.complete && image.naturalWidth === 0).map(image => image.src)"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    """The site, served to this machine alone."""
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    """A Chromium from the path, or the Chrome that is installed."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    where = {"executable_path": found} if found else {"channel": "chrome"}
    # Root, as in a container, has no sandbox of its own.
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(args=["--no-sandbox"], **where)
        yield chromium
        chromium.close()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", LOOKED_AT)
def test_a_page_opens_without_errors_and_nothing_runs_over_its_edge(browser, address, page, size):
    """No console error, nothing missing, nothing from elsewhere, no text cut off at the right."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height})
    tab = context.new_page()
    complaints, elsewhere = [], []
    tab.on("console", lambda message: complaints.append(message.text) if is_bad(message) else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("requestfailed", lambda request: complaints.append(request.url))
    tab.on("request", lambda request: elsewhere.append(request.url))
    answer = tab.goto(address + page, wait_until="networkidle")
    assert answer.ok
    assert tab.locator("h1").first.is_visible()
    assert complaints == []
    assert [url for url in elsewhere if not url.startswith((address, "data:"))] == []
    assert tab.evaluate(RUNS_OVER) == []
    assert tab.evaluate(NOT_LOADED) == []
    context.close()


def is_bad(message):
    """Whether the console calls it an error or a warning."""
    return message.type in ("error", "warning")


def test_the_search_finds_a_public_name(browser, address):
    """The index is on the site itself, so it works without any service."""
    tab = browser.new_page()
    tab.goto(address + "search.html?q=BoundedScaler", wait_until="networkidle")
    tab.locator("ul.search li").first.wait_for(timeout=10_000)
    assert "BoundedScaler" in tab.locator("ul.search").inner_text()
    tab.close()


class Links(html.parser.HTMLParser):
    """What a page points to, what it loads, and which places in it have a name."""

    def __init__(self, text):
        super().__init__()
        self.points_to, self.loads, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.places.update(filter(None, (attributes.get("id"), attributes.get("name"))))
        if tag == "a" and attributes.get("href"):
            self.points_to.append(attributes["href"])
        if tag == "link" and attributes.get("rel") not in ("canonical", "author"):
            self.loads.append(attributes["href"])
        if attributes.get("src"):
            self.loads.append(attributes["src"])


@functools.cache
def links_of(page):
    """The parsed page; pages are pointed to from many others."""
    return Links(page.read_text(encoding="utf-8"))


def is_elsewhere(link):
    """Whether a link names a scheme or a host."""
    parts = urllib.parse.urlsplit(link)
    return bool(parts.scheme or parts.netloc)


def has_place(target, place):
    """Whether a page has a place of that name; other files have none, and no name is the top."""
    return not place or target.suffix != ".html" or place in links_of(target).places


def missing_targets(page):
    """Links of a page to files, or to places in them, that are not there."""
    links = links_of(page)
    for link in {*links.points_to, *links.loads}:
        if is_elsewhere(link):
            continue
        parts = urllib.parse.urlsplit(link)
        path = urllib.parse.unquote(parts.path)
        target = (page.parent / path).resolve() if path else page
        place = urllib.parse.unquote(parts.fragment)
        if not target.is_file() or not has_place(target, place):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(SITE).as_posix())
def test_every_link_within_the_site_leads_somewhere(page):
    """Pages, places in pages, pictures, styles and downloads."""
    assert sorted(missing_targets(page)) == []


def test_no_page_loads_anything_from_elsewhere():
    """A reader of the documentation is nobody's business, and it works without a network."""
    foreign = {link for page in PAGES for link in links_of(page).loads if is_elsewhere(link)}
    assert {link for link in foreign if not link.startswith("data:")} == set()
    for style in SITE.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", text), style

#!/usr/bin/env python3
"""Checks the built site: every link and every file that a page needs is there, every anchor too, and nothing asks a foreign host.

    site_links.py SITE     SITE: build/docs/html
"""

import html.parser
import pathlib
import re
import sys
import urllib.parse

# What a browser fetches by itself. A link that a reader follows (a href) may lead anywhere.
FETCHED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("audio", "src"), ("object", "data"),
           ("img", "srcset"), ("source", "srcset"), ("image", "href"), ("use", "href")}
FETCHED_RELATIONS = {"stylesheet", "icon", "shortcut", "preload", "preconnect", "dns-prefetch", "manifest", "modulepreload"}


class Page(html.parser.HTMLParser):
    """A page's targets and anchors."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.links, self.anchors = [], [], set()
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        for name in ("id", "name"):
            if name in given:
                self.anchors.add(given[name])
        for name, value in given.items():
            if (tag, name) in FETCHED:
                self.fetched += [part.split()[0] for part in value.split(",") if part.strip()] if name == "srcset" else [value]
            elif name == "style":
                self.fetched += addresses_of(value)
        if tag == "link" and "href" in given:
            fetched = FETCHED_RELATIONS & set(given.get("rel", "").split())
            (self.fetched if fetched else self.links).append(given["href"])
        elif tag in ("a", "area") and "href" in given:
            self.links.append(given["href"])
        self._in_style = tag == "style"

    def handle_endtag(self, tag):
        self._in_style = False

    def handle_data(self, data):
        if self._in_style:
            self.fetched += addresses_of(data)


def addresses_of(style):
    """What a style sheet fetches."""
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    return [address.strip("'\" ") for pair in re.findall(r"url\(([^)]*)\)|@import\s+([\"'][^\"']+[\"'])", style) for address in pair if address]


def is_foreign(address):
    return bool(re.match(r"(?!data:)[a-z][a-z0-9+.-]*:|//", address, re.IGNORECASE))


def problems(site):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    if site / "index.html" not in pages:
        found.append(f"{site}: expected index.html, found none")

    def check(path, address):
        """That the address, of this site, is there."""
        parts = urllib.parse.urlsplit(address)
        if parts.scheme == "data":
            return
        file = path
        if parts.path:
            file = (path.parent / urllib.parse.unquote(parts.path)).resolve()
            if site not in file.parents:
                found.append(f"{path.relative_to(site)}: {address}: leads out of the site")
                return
            if not file.is_file():
                found.append(f"{path.relative_to(site)}: {address}: no such file")
                return
        if parts.fragment and file in pages and urllib.parse.unquote(parts.fragment) not in pages[file].anchors:
            found.append(f"{path.relative_to(site)}: {address}: no such anchor")

    for path, page in pages.items():
        for address in page.fetched:
            if is_foreign(address):
                found.append(f"{path.relative_to(site)}: {address}: fetched from a foreign host")
            else:
                check(path, address)
        for address in page.links:
            if not is_foreign(address):
                check(path, address)
    for path in sorted(site.rglob("*.css")):
        for address in addresses_of(path.read_text(encoding="utf-8")):
            if is_foreign(address):
                found.append(f"{path.relative_to(site)}: {address}: fetched from a foreign host")
            else:
                check(path, address)
    return found


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    found = problems(site)
    print("\n".join(found + [f"{sum(1 for _ in site.rglob('*.html'))} pages, {len(found)} wrong links"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What `./dev docs` checks: that site_links.py finds what is wrong with a built site, and that the navigation has every page.

    site_test.py SOURCE_DIR
"""

import importlib.util
import pathlib
import sys
import tempfile
import unittest

import site_links

ROOT = pathlib.Path(sys.argv.pop()).resolve()

# A page's body, and what is said of it; "" where nothing is wrong.
BODIES = {
    '<a href="other.html">a page</a>': "",
    '<a href="other.html#there">an anchor</a>': "",
    '<a href="https://example.org/">a link that a reader may follow</a>': "",
    '<img src="data:image/png;base64,AAAA">': "",
    '<a href="no_such_page.html">x</a>': "no_such_page.html: no such file",
    '<a href="other.html#not-there">x</a>': "other.html#not-there: no such anchor",
    '<a href="#not-here">x</a>': "#not-here: no such anchor",
    '<img src="no_such_picture.png">': "no_such_picture.png: no such file",
    '<img src="https://example.org/x.png">': "https://example.org/x.png: fetched from a foreign host",
    '<script src="//example.org/x.js"></script>': "//example.org/x.js: fetched from a foreign host",
    '<link rel="stylesheet" href="http://example.org/x.css">': "http://example.org/x.css: fetched from a foreign host",
    '<link rel="stylesheet" href="/styles/x.css">': "/styles/x.css: leads out of the site",
    '<style>@import "https://example.org/x.css";</style>': "https://example.org/x.css: fetched from a foreign host",
    '<p style="background: url(none.png)">x</p>': "none.png: no such file",
    '<img srcset="none.png 2x">': "none.png: no such file",
}


class Links(unittest.TestCase):
    def problems_of(self, body, style=""):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder).resolve()
            (site / "index.html").write_text(f"<html><body>{body}</body></html>")
            (site / "other.html").write_text('<html><body><h1 id="there">Other</h1></body></html>')
            (site / "x.css").write_text(style)
            return site_links.problems(site)

    def test_finds_each_wrong_link(self):
        for body, problem in BODIES.items():
            with self.subTest(body):
                self.assertEqual(self.problems_of(body), [f"index.html: {problem}"] if problem else [])

    def test_finds_what_style_sheets_fetch(self):
        self.assertEqual(self.problems_of("", "@font-face { src: url(https://example.org/x.woff2) }"),
                         ["x.css: https://example.org/x.woff2: fetched from a foreign host"])
        self.assertEqual(self.problems_of("", "/* url(none.png) */ p { background: url('none.svg') }"), ["x.css: none.svg: no such file"])

    def test_a_folder_without_pages_is_no_site(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("expected index.html", "\n".join(site_links.problems(pathlib.Path(folder).resolve())))


class Navigation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spec = importlib.util.spec_from_file_location("conf", ROOT / "docs/conf.py")
        cls.conf = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.conf)

    def test_has_every_page_once(self):
        self.assertEqual(self.conf.unlisted(), [])
        pages = [page for chapter in self.conf.chapters((ROOT / "docs/README.md").read_text()).values() for page in chapter]
        self.assertEqual(sorted(pages), sorted(set(pages)))

    def test_chapters_are_the_headings_of_lists(self):
        text = "# Pages\n\nwords\n\n## One\n- [a.md](a.md): a\n- [../README.md](../README.md): b\n### Two\n- [c](decisions/c.md#x), [d](d.md)\n## Three\n"
        self.assertEqual(self.conf.chapters(text), {"One": ["a"]})
        self.assertEqual(self.conf.chapters("## Two\n- [c](decisions/c.md)\n"), {"Two": ["decisions/c"]})

    def test_the_front_page_links_from_the_folder_of_pages(self):
        page = self.conf.front_page()
        self.assertNotIn("](docs/", page)
        self.assertIn("](pictures/", page)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The page of all arrays (docs/use/site.md) in a browser: what is live, what is old, and what is gone. SOURCE_TREE is the argument."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from browser import BrowserTest

TREE = pathlib.Path(sys.argv.pop(1)).resolve()
RUNNING = {"state": "running", "is_live": True, "frame_rate_hz": 45.7, "hop_rate_hz": 45.8, "shed_hops": 0, "microphones_bad": 0, "text": "",
           "clock": {"synchronised": True, "most_error_s": 0.0012}, "page": "http://127.0.0.1:7232/", "limits": []}
LEFT = "document.querySelector('[data-array=left]')"


class SitePage(BrowserTest):
    def setUp(self):
        words = ["/usr/bin/python3", "-B", TREE / "python/tests/serve_site.py"]
        self.server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       env=os.environ | {"PYTHONPATH": str(TREE / "python/src")})
        self.addCleanup(self.end)
        self.url = self.server.stdout.readline().strip()

    def end(self):
        self.server.kill()
        self.server.communicate()

    def show(self, broker="", **arrays):
        self.server.stdin.write(json.dumps({"broker": broker, "arrays": arrays}) + "\n")
        self.server.stdin.flush()

    def test_a_live_array_is_shown_with_its_picture_and_nothing_of_other_hosts(self):
        self.show(left={"state": RUNNING, "age_s": 0.1})
        page = self.opened(self.url)
        self.until(page, f"{LEFT}?.className === 'live' && document.querySelector('#banner').className === 'live'")
        pixel = f"[...{LEFT}.querySelector('canvas').getContext('2d').getImageData(5, 2, 1, 1).data]"
        colours = json.loads((TREE / "python/src/nearfield/site/page/colours.json").read_text())
        self.assertEqual(self.until(page, pixel), [*colours["magnitude"][255], 255])
        self.assertEqual(page.evaluate(pixel.replace("(5, 2,", "(0, 0,")), [*colours["magnitude"][0], 255])
        text = page.inner_text("[data-array=left]")
        for part in ("running", "45.7 of 45.8", "within 1.2 ms", "surface, images, 1000 Hz: up to 3.00 Pa"):
            self.assertIn(part, text)
        self.assertEqual(page.get_attribute("[data-array=left] a", "href"), "http://127.0.0.1:7232/")
        self.assertTrue(all(url.startswith(self.url) for url in self.urls), self.urls)
        self.assertEqual(self.errors, [])

    def test_an_old_picture_is_never_live(self):
        self.show(left={"state": RUNNING, "age_s": 0.1})
        page = self.opened(self.url)
        self.until(page, f"{LEFT}?.className === 'live'")
        self.show(left={"state": RUNNING, "age_s": 60.0})
        self.until(page, f"{LEFT}.className === 'warned' && {LEFT}.querySelector('.stage').classList.contains('stale')")
        self.until(page, f"/not live: (60|61|62|63) s old/.test({LEFT}.querySelector('.veil').textContent)")
        self.show(left={"state": RUNNING | {"is_live": False}, "age_s": None})  # the picture ages though none comes
        self.until(page, f"{LEFT}.className === 'stopped' && {LEFT}.querySelector('.word').textContent === 'no news'")
        self.show(left={"state": RUNNING, "age_s": -30.0})
        self.until(page, f"/clocks differ/.test({LEFT}.querySelector('.veil').textContent)")
        self.assertEqual(page.evaluate(f"{LEFT}.querySelector('.stage').className"), "stage stale")

    def test_a_server_or_a_broker_that_is_gone_is_said(self):
        self.show(left={"state": RUNNING, "age_s": 0.1})
        page = self.opened(self.url)
        self.until(page, f"{LEFT}?.className === 'live'")
        self.show(broker="refused", left={"state": RUNNING | {"is_live": False}, "age_s": 0.1})
        self.until(page, "/does not answer: refused/.test(document.querySelector('#banner').textContent)")
        self.server.kill()
        self.until(page, f"{LEFT}.className === 'stopped' && !{LEFT}.querySelector('.veil').hidden")
        self.assertEqual(page.inner_text("#banner"), "this page's server does not answer")

    def test_limits_and_texts_of_others_are_texts(self):
        hostile = "<img src=x onerror=alert(1)>"
        state = RUNNING | {"limits": [{"name": "weld", "state": "above"}], "text": hostile, "page": "javascript:alert(1)"}
        self.show(left={"state": state, "age_s": 0.1})
        page = self.opened(self.url)
        self.until(page, f"{LEFT}?.querySelector('.alarms').textContent === 'weld exceeded'")
        self.assertEqual(page.evaluate(f"{LEFT}.className"), "warned")
        self.assertIn(hostile, page.inner_text("[data-array=left] dl"))
        self.assertEqual(page.evaluate(f"{LEFT}.querySelectorAll('img, a').length"), 0)


if __name__ == "__main__":
    unittest.main()

"""What the tests of the live page share: the browser, and waiting for conditions."""

import time
import unittest

from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
# No GPU is needed: SwiftShader computes the pictures, and the processor itself puts the page together, which is a third of the work.
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing"]
LONGEST_S = 30


def until(condition, what, longest_s=LONGEST_S):
    """The first value of condition() that is true; a failure after longest_s."""
    end = time.monotonic() + longest_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"expected {what} within {longest_s} s, found {value!r}")
        time.sleep(0.02)


class BrowserTest(unittest.TestCase):
    """One browser for all tests of a class, and a fresh context for each test. Errors of the page fail the test."""

    ARGUMENTS = ARGUMENTS

    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=cls.ARGUMENTS)
        cls.addClassCleanup(cls.browser.close)

    def opened(self, url, width=800, height=600, **options):
        """A page in a context of its own, loaded."""
        context = self.browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True, **options)
        self.addCleanup(context.close)
        page = context.new_page()
        self.errors = []
        self.urls = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: self.urls.append(request.url))
        page.goto(url)
        return page

    def until(self, page, expression, longest_s=LONGEST_S):
        """Waits until a JavaScript expression of the page is true, and returns its value."""
        return until(lambda: page.evaluate(expression), expression, longest_s)

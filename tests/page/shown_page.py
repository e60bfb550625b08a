"""The live page before a server whose fields are known: what its tests in a browser share.

Chromium of Debian, playwright of tests/page/requirements.txt. Colours are read back from the canvas, never compared as
screenshots.
"""

import math
import pathlib

from browser import BrowserTest
from fake_server import FakeServer, axis_m, colours

ASSETS = pathlib.Path(__file__).resolve().parents[2] / "src/page/assets"
TABLES = colours()
REFERENCE_PA = 20e-6 * math.sqrt(2)
COLUMN, ROW = 20, 12   # a pixel beside the field's maximum
# A colour's index is rounded; 32-bit floats in logarithm and arctangent may round to its neighbour.
NEIGHBOURS = 1


def position(column, row):
    return axis_m(32)[column], axis_m(32)[row]


def level_db(value):
    return 20 * math.log10(abs(value) / REFERENCE_PA)


class PageTest(BrowserTest):
    def setUp(self):
        self.server = FakeServer(ASSETS)
        self.addCleanup(self.server.close)

    def shown(self, **options):
        """The page when it shows pictures."""
        page = self.opened(self.server.url, **options)
        self.until(page, "globalThis.nearfield !== undefined && nearfield.draws.length > 0")
        self.page = page
        self.check("smooth", False)  # a pixel of the field is one colour then
        return page

    def tearDown(self):
        self.assertEqual(self.errors, [])

    def choose(self, control, value):
        self.page.select_option(f"#{control}", value)

    def set(self, control, value):
        self.page.evaluate("([id, value]) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event('input'));"
                           " e.dispatchEvent(new Event('change')); }", [control, str(value)])

    def check(self, control, value):
        self.page.evaluate("([id, value]) => { const e = document.getElementById(id); if (e.checked !== value) e.click(); }", [control, value])

    def expect_colour(self, table, t, column=COLUMN, row=ROW):
        """The canvas has the table's colour of t (0 to 1) at a pixel of the field."""
        x, y = position(column, row)
        found = self.page.evaluate("([x, y]) => nearfield.colourAt(x, y).colour", [x, y])
        self.expect_in_table(found, table, t, f"pixel {column}, {row}")

    def expect_in_table(self, found, table, t, where):
        index = round(min(max(t, 0), 1) * 255)
        near = [[*TABLES[table][i], 255] for i in range(max(0, index - NEIGHBOURS), min(255, index + NEIGHBOURS) + 1)]
        self.assertIn(found, near, f"{table} at {t:.4f}, {where}")

    def text(self, selector):
        return self.page.inner_text(selector)

    def live(self):
        """Waits until a picture is shown as live."""
        self.until(self.page, "nearfield.draws.some((draw) => draw.isLive)")

    def click(self, column, row, **options):
        x, y = position(column, row)
        at = self.page.evaluate("([x, y]) => { const s = nearfield.stage; const [a, b] = [s.toCanvas[0] * x + s.toCanvas[2], s.toCanvas[4] * y + s.toCanvas[5]];"
                                " const box = s.element.getBoundingClientRect(); return [box.left + s.element.clientLeft + a, box.top + s.element.clientTop + b]; }", [x, y])
        if "modifiers" in options:
            self.page.keyboard.down(options["modifiers"])
        self.page.mouse.click(*at)
        if "modifiers" in options:
            self.page.keyboard.up(options["modifiers"])

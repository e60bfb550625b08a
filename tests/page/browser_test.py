"""The live page in a browser, with a server whose fields are known: `browser_test.py [unittest's options]`.

Chromium of Debian, playwright of tests/page/requirements.txt. Colours are read back from the canvas, never compared as
screenshots.
"""

import cmath
import csv
import json
import math
import pathlib
import re
import time
import unittest

import numpy as np

from browser import BrowserTest
from fake_server import FREQUENCIES_HZ, PITCH_M, FakeServer, axis_m, colours, directions_layout, far_layout, field, images_layout, product

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


# [contrast, text, where] of each text that is seen, by WCAG 2.1, before the first opaque background behind it. Disabled controls are exempt there.
CONTRASTS = """(kind) => {
  document.getElementById('banner').className = kind;
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(e).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) || element.closest(':disabled, script, style, .dygraph-legend')) continue;
    const colours = [luminance(numbers(getComputedStyle(element).color).slice(0, 3)), luminance(behind(element))].sort((a, b) => b - a);
    found.push([Number(((colours[0] + 0.05) / (colours[1] + 0.05)).toFixed(2)), text, element.id || element.parentElement.id || element.localName]);
  }
  return found;
}"""


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

    # --- pictures ---

    def test_colours_are_those_of_the_tables(self):
        page = self.shown()
        value = field(0, 0)[ROW][COLUMN]
        self.set("top", 95)
        self.set("range", 40)
        for column, row in ((COLUMN, ROW), (0, 0), (31, 31), (3, 28)):
            t = (level_db(field(0, 0)[row][column]) - 55) / 40
            self.expect_colour("magnitude", t, column, row)
        self.check("decibels", False)
        self.set("top", 2)
        self.expect_colour("magnitude", abs(value) / 2)
        self.choose("mode", "phase")
        for column in (0, 9, COLUMN, 31):
            phase = cmath.phase(field(0, 0)[ROW][column])
            self.expect_colour("phase", phase / (2 * math.pi) + 0.5, column)
        self.choose("mode", "real")
        self.check("animate", False)
        page.evaluate("nearfield.view.phase = 0")
        self.expect_colour("signed", 0.5 + 0.5 * value.real / 2)
        page.evaluate("nearfield.view.phase = Math.PI / 2")
        self.expect_colour("signed", 0.5 - 0.5 * value.imag / 2)

    def test_values_are_linear_between_pixels(self):
        page = self.shown()
        self.check("smooth", True)
        self.check("decibels", False)
        self.set("top", 2)
        pressure = field(0, 0)
        for x, y in ((0.0, 0.0), (0.083, -0.171), (-0.2049, 0.2951)):
            found = page.evaluate("([x, y]) => nearfield.colourAt(x, y)", [x, y])
            column, row = (found["x"] / PITCH_M + 15.5, found["y"] / PITCH_M + 15.5)
            i, k = math.floor(column), math.floor(row)
            value = sum(pressure[k + b][i + a] * abs(1 - a - (column - i)) * abs(1 - b - (row - k)) for a in (0, 1) for b in (0, 1))
            self.expect_in_table(found["colour"], "magnitude", abs(value) / 2, f"{x}, {y}")

    def test_turned_and_mirrored_fields_keep_their_places(self):
        page = self.shown()
        self.set("top", 95)
        self.set("range", 60)
        at = "([u, v]) => { nearfield.draw(); const c = nearfield.drawing.canvas; return nearfield.drawing.readPixel(Math.floor(u * c.width), Math.floor(v * c.height)); }"
        for quarters in range(4):
            for side in ("front", "back"):
                self.choose("side", side)
                seen = field(0, 0) if side == "front" else np.fliplr(field(0, 0))
                seen = np.rot90(seen, -quarters)  # clockwise
                for row in (8, 23):
                    for column in (8, 23):
                        found = page.evaluate(at, [(column + 0.5) / 32, (row + 0.5) / 32])
                        self.expect_in_table(found, "magnitude", (level_db(seen[row][column]) - 35) / 60, f"{quarters} quarters, {side}, {column}, {row}")
            page.click("#rotate")

    def test_arrows_move_the_cursor_as_the_picture_lies(self):
        page = self.shown()
        self.click(COLUMN, ROW)
        self.until(page, "nearfield.view.cursors.length === 1")
        page.focus("#stage")
        place = ("() => { nearfield.draw(); const m = nearfield.stage.toCanvas; const { x, y } = nearfield.view.cursors[0];"
                 " return [m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]]; }")
        pixel = page.evaluate("nearfield.stage.box.width / 32")
        for _ in range(4):
            for side in ("front", "back"):
                self.choose("side", side)
                for key, right, down in (("ArrowRight", 1, 0), ("ArrowDown", 0, 1), ("ArrowLeft", -1, 0), ("ArrowUp", 0, -1)):
                    page.focus("#stage")
                    before = page.evaluate(place)
                    page.keyboard.press(key)
                    after = page.evaluate(place)
                    # The canvas has whole pixels, the field has not.
                    self.assertAlmostEqual(after[0] - before[0], right * pixel, delta=0.1, msg=f"{key}, {side}")
                    self.assertAlmostEqual(after[1] - before[1], down * pixel, delta=0.1, msg=f"{key}, {side}")
            page.click("#rotate")

    def test_a_frequency_and_a_plane_are_chosen(self):
        page = self.shown()
        page.select_option("#axes select[data-axis=frequency]", "2")
        page.select_option("#axes select[data-axis=z]", "1")
        self.until(page, "nearfield.known.newest !== null && nearfield.known.newest.layout.select.frequency === 2 && nearfield.known.newest.layout.select.z === 1")
        value = field(2, 1)[ROW][COLUMN]
        shown = page.evaluate("([c, r]) => [...nearfield.known.newest.values.slice(2 * (32 * r + c), 2 * (32 * r + c) + 2)]", [COLUMN, ROW])
        self.assertEqual(shown, [value.real, value.imag])
        self.until(page, "document.getElementById('caption').textContent.includes('2014.16 Hz')")
        self.assertIn(str(FREQUENCIES_HZ[1]), page.inner_text("#axes"))

    def test_the_scale_holds_until_it_is_fitted(self):
        page = self.shown()
        top = page.input_value("#top")
        self.assertEqual(float(top), math.ceil(level_db(abs(field(0, 0)).max())))
        page.select_option("#axes select[data-axis=frequency]", "2")
        self.until(page, "nearfield.known.newest?.layout.select.frequency === 2")
        self.assertEqual(page.input_value("#top"), top)
        page.click("#auto")
        self.assertEqual(float(page.input_value("#top")), math.ceil(level_db(abs(field(2, 0)).max())))
        self.set("range-number", 60)
        self.assertEqual(page.input_value("#range"), "60")
        self.expect_colour("magnitude", 1 - (float(page.input_value("#top")) - level_db(field(2, 0)[ROW][COLUMN])) / 60)

    def test_the_phase_is_animated_unless_the_system_asks_for_less_motion(self):
        page = self.shown()
        self.choose("mode", "real")
        first = page.evaluate("nearfield.view.phase")
        self.until(page, f"nearfield.view.phase !== {first}")
        page.emulate_media(reduced_motion="reduce")
        self.until(page, "document.getElementById('animate').disabled")
        still = page.evaluate("nearfield.view.phase")
        drawn = page.evaluate("nearfield.known.newest.head.sequence.toString()")
        self.until(page, f"Number(nearfield.known.newest.head.sequence) > {drawn} + 3")
        self.assertEqual(page.evaluate("nearfield.view.phase"), still)

    def test_a_surface_is_drawn_and_turned(self):
        page = self.shown()
        self.choose("form", "surface")
        pixels = """() => { nearfield.draw(); const c = nearfield.drawing.canvas; const found = [];
          for (let i = 1; i < 20; ++i) for (let k = 1; k < 20; ++k) found.push(nearfield.drawing.readPixel(c.width * i / 20, c.height * k / 20).join());
          return found; }"""
        before = page.evaluate(pixels)
        self.assertGreater(len(set(before)), 20)
        self.assertIn("0,0,0,0", before)
        page.focus("#stage")
        page.keyboard.press("ArrowRight")
        self.assertNotEqual(page.evaluate(pixels), before)

    # --- state ---

    def test_a_lost_input_is_said_and_comes_back(self):
        page = self.shown()
        self.live()
        self.server.is_live = False
        self.until(page, "document.getElementById('condition').textContent.startsWith('No input')")
        self.assertTrue(page.evaluate("document.getElementById('stage').classList.contains('not-live')"))
        self.assertIn("old", self.text("#age"))
        self.assertEqual(page.get_attribute("#condition", "aria-live"), "polite")
        page.evaluate("nearfield.draws.length = 0")
        self.server.is_live = True
        self.live()

    def test_an_ended_daemon_is_said_and_comes_back(self):
        page = self.shown()
        self.server.is_daemon_there = False
        self.until(page, "document.getElementById('condition').textContent.startsWith('No daemon')")
        self.server.is_daemon_there = True
        self.server.disconnect()
        page.evaluate("nearfield.draws.length = 0")
        self.until(page, "nearfield.link.isOpen")
        self.live()

    def test_old_pictures_are_never_live(self):
        page = self.shown()
        self.server.late_s = 0.5
        self.until(page, "document.getElementById('condition').textContent === 'Old' && nearfield.draws.at(-1).age_ms > 500")
        self.assertTrue(page.evaluate("document.getElementById('stage').classList.contains('not-live')"))
        self.assertTrue(page.evaluate("nearfield.draws.every((draw) => !draw.isLive || draw.age_ms <= 100)"))

    def test_a_slow_processor_is_live_between_its_frames(self):
        page = self.shown()
        self.server.rate_hz = 2.0
        self.until(page, "nearfield.known.rings.surface?.rate_hz === 2")
        self.until(page, "document.getElementById('condition').textContent === 'Live' &&"
                         " nearfield.link.serverNow_ms() - nearfield.known.newest.head.capture_mono_ms > 200")

    def test_a_picture_of_the_future_is_not_live(self):
        page = self.shown()
        self.live()
        self.server.late_s = -5.0
        self.until(page, "document.getElementById('condition').textContent.startsWith('The age')")
        self.assertTrue(page.evaluate("document.getElementById('stage').classList.contains('not-live')"))
        self.server.clock_ahead_s = 5.0  # the first answer of the clock that was set replaces all before it
        page.evaluate("nearfield.draws.length = 0")
        self.live()
        offsets = page.evaluate("nearfield.link.trips.map((trip) => trip.offset_ms)")
        self.assertLess(max(offsets) - min(offsets), 2500)
        self.assertTrue(page.evaluate("nearfield.draws.every((draw) => !draw.isLive || (draw.age_ms >= -20 && draw.age_ms <= 100))"))

    def test_a_blocked_browser_shows_nothing_old_as_live(self):
        page = self.shown()
        self.live()
        page.evaluate("nearfield.draws.length = 0")
        began = page.evaluate("() => { const end = performance.now() + 5000; while (performance.now() < end); return performance.now(); }")
        self.until(page, f"nearfield.draws.filter((draw) => draw.at_ms >= {began}).length > 5")
        draws = page.evaluate("nearfield.draws")
        self.assertTrue(all(draw["age_ms"] <= 100 for draw in draws if draw["isLive"]), draws)
        # Credit: one picture waited at most, whatever the browser did.
        self.assertLessEqual(sum(draw["age_ms"] > 4000 for draw in draws), 1)

    def test_flags_are_said(self):
        page = self.shown()
        self.server.flags = 2 | 4 | 8 | 32
        self.server.missing = 17
        for text in ("lost: 17 bit-times", "overload", "clipped", "masked: 2 microphones"):
            self.until(page, f"document.getElementById('notes').textContent.includes('{text}')")
        self.server.flags = 256 | 512 | 1024
        for text in ("a limit on these products is exceeded", "hops that the picture remembers", "does not know: 1024"):
            self.until(page, f"document.getElementById('notes').textContent.includes('{text}')")
        self.server.flags = 0
        self.server.missing = 0
        self.until(page, "document.getElementById('notes').textContent === ''")

    def test_another_configuration_offers_its_own_choices(self):
        page = self.shown()
        page.select_option("#axes select[data-axis=frequency]", "2")
        self.until(page, "nearfield.known.newest?.layout.select.frequency === 2")
        self.until(page, "['surface', 'far', 'here'].every((name) => nearfield.known.surveyed.has(name))")
        changed = images_layout()
        changed["axes"][1]["values"] = [250.5, 750.25]
        other = far_layout()
        other["products"][0]["quantity"] = "steered power"
        self.server.layouts.update(surface=changed, far=other)
        self.server.disconnect()
        # The third frequency is refused now: the page asks for the axes again, and then for the last of them.
        self.until(page, "nearfield.known.newest?.layout.select.frequency === 1")
        self.assertEqual(page.eval_on_selector_all("#axes select[data-axis=frequency] option", "(all) => all.map((one) => one.textContent)"), ["250.5 Hz", "750.25 Hz"])
        page.evaluate("nearfield.draws.length = 0")
        self.live()
        self.until(page, "nearfield.known.layouts.get('far').products[0].quantity === 'steered power'")  # before it is looked at
        page.select_option("#processor", "far")
        self.until(page, "document.getElementById('product').textContent.includes('steered power')")

    # --- freeze, compare, keep ---

    def test_freeze_goes_back_and_asks_for_nothing(self):
        page = self.shown()
        self.until(page, "nearfield.history.length > 3")
        self.server.turn = 1.0
        self.until(page, "nearfield.history.length > 9")
        page.click("#freeze")
        self.until(page, "document.getElementById('banner').className === 'frozen'")
        last = page.evaluate("nearfield.view.index")
        page.click("#back")
        page.keyboard.press(",")
        self.assertEqual(page.evaluate("nearfield.view.index"), last - 2)
        page.keyboard.press(".")
        self.assertEqual(page.evaluate("nearfield.view.index"), last - 1)
        sent = self.server.sent
        self.choose("mode", "phase")
        for index, turn in ((0, 0.0), (last, 1.0)):
            self.set("position", index)
            phase = cmath.phase(field(0, 0, turn)[ROW][COLUMN])
            self.expect_colour("phase", phase / (2 * math.pi) + 0.5)
        self.assertLessEqual(self.server.sent, sent + 1)  # one had its credit already
        self.set("position", 0)
        self.choose("slow", "1")
        page.click("#play")
        self.until(page, "nearfield.view.index > 0")
        page.click("#freeze")
        self.until(page, "nearfield.draws.at(-1).isNew && !nearfield.view.isFrozen")
        self.until(page, f"nearfield.history.length > {last} + 3")

    def test_a_frozen_history_stays_as_it_is(self):
        page = self.shown()
        self.until(page, "nearfield.history.length > 5")
        page.keyboard.press(".")
        self.assertEqual(page.evaluate("[nearfield.view.isFrozen, nearfield.view.index]"), [True, page.evaluate("nearfield.history.length - 1")])
        self.set("position", 0)
        # A picture that is added would remove those of more than 60 s ago.
        page.evaluate("() => { for (let i = 0; i < 3; ++i) nearfield.history.at(i).received_ms -= 61000; }")
        state = "[nearfield.shown().picture.head.sequence, nearfield.view.index, nearfield.history.length, nearfield.history.at(0).head.sequence].join()"
        before = page.evaluate(state)
        self.choose("most-hz", "10")
        self.assertNotEqual(page.evaluate("nearfield.link.requests.get(1).most_hz"), 10)
        page.evaluate("globalThis.seenBefore = nearfield.link.received.pictures")
        self.server.turn = 1.0
        self.server.disconnect()
        self.until(page, "nearfield.link.isOpen && nearfield.link.received.pictures > seenBefore")  # with the credit of the new subscription
        self.assertEqual(page.evaluate(state), before)
        self.choose("mode", "phase")
        self.expect_colour("phase", cmath.phase(field(0, 0)[ROW][COLUMN]) / (2 * math.pi) + 0.5)
        self.assertEqual(self.text("#condition"), "Frozen")
        page.click("#freeze")
        self.assertEqual(page.evaluate("nearfield.link.requests.get(1).most_hz"), 10)
        page.evaluate("nearfield.draws.length = 0")
        self.live()

    def test_the_history_counts_what_it_keeps(self):
        page = self.shown()
        page.select_option("#processor", "far")
        self.until(page, "nearfield.known.newest?.layout.processor === 'far'")
        self.assertEqual(page.evaluate("nearfield.known.newest.bytes"), 25 * 41 * 8)  # pairs of 4 bytes, of which the message has one
        page.select_option("#processor", "surface")
        self.until(page, "nearfield.known.newest?.layout.processor === 'surface'")
        self.assertTrue(page.evaluate("(() => { const p = nearfield.known.newest; const figure = p.figures.get('error_estimate');"
                                      " return figure.buffer !== p.values.buffer && p.bytes === p.values.buffer.byteLength + figure.byteLength; })()"))

    def test_a_full_history_is_thinned_and_stays_long(self):
        page = self.shown()
        # A picture each 100 ms for 60 s, in room for 150 of them.
        found = page.evaluate("""() => {
          const history = new nearfield.history.constructor(150 * 1000);
          let most = 0;
          let least_s = Infinity;
          for (let i = 0; i < 600; ++i) {
            history.add({ bytes: 1000, received_ms: 100 * i, head: { capture_mono_ms: 100 * i } });
            most = Math.max(most, history.bytes);
            if (i >= 300) least_s = Math.min(least_s, history.seconds);
          }
          const times = Array.from({ length: history.length }, (_, i) => history.at(i).received_ms);
          return [most, least_s, history.bytes, times];
        }""")
        most, least_s, held, times = found
        self.assertLessEqual(most, 150 * 1000)
        self.assertEqual(held, 1000 * len(times))
        self.assertEqual(least_s, 30.0)  # whatever was thinned, the oldest picture stayed
        self.assertEqual((times[0], times[-1]), (0, 59900))
        steps = np.diff(times)
        self.assertTrue(np.all(steps > 0))
        self.assertTrue(np.all(steps[-30:] == 100))  # the newest ones are all there
        self.assertLessEqual(max(steps), 3000)  # at most twice the mean gap of some 52 s in 38 pictures
        # Beyond a minute the oldest goes.
        self.assertEqual(page.evaluate("""() => {
          const history = new nearfield.history.constructor(1e9);
          for (let i = 0; i < 700; ++i) history.add({ bytes: 1000, received_ms: 100 * i, head: {} });
          return [history.length, history.at(0).received_ms, history.bytes];
        }"""), [601, 9900, 601000])

    def test_a_hidden_page_asks_for_nothing(self):
        page = self.shown()
        page.evaluate("() => { globalThis.requestAnimationFrame = () => 0; }")  # what a browser does to a hidden tab
        self.until(page, "new Promise((done) => { const before = nearfield.link.received.pictures;"
                         " setTimeout(() => done(nearfield.link.received.pictures === before), 300); })")

    def test_the_difference_to_a_reference(self):
        page = self.shown()
        self.set("range", 20)
        page.keyboard.press("k")
        self.server.turn = 0.7
        page.select_option("#axes select[data-axis=frequency]", "1")
        self.until(page, "nearfield.known.newest?.layout.select.frequency === 1")
        self.choose("mode", "levelDifference")
        self.expect_colour("signed", 0.5 + 20 * math.log10(2) / 20)
        self.choose("mode", "phaseDifference")
        self.expect_colour("phase", 0.7 / (2 * math.pi) + 0.5)
        self.choose("mode", "magnitude")
        page.focus("#stage")
        page.keyboard.press("b")
        top = float(page.input_value("#top"))
        self.expect_colour("magnitude", 1 - (top - level_db(field(0, 0)[ROW][COLUMN])) / 20)
        self.until(page, "document.getElementById('age').textContent.includes('the reference is shown')")
        self.assertEqual([self.text("#condition"), page.get_attribute("#banner", "class")], ["Reference", "frozen"])
        page.evaluate("nearfield.draws.length = 0")  # those from before the key
        self.until(page, "nearfield.draws.length > 3")
        self.assertFalse(page.evaluate("nearfield.draws.some((draw) => draw.isLive)"))
        reference = "nearfield.draws.at(-1).age_ms >= nearfield.known.newest.head.capture_mono_ms - nearfield.view.kept.picture.head.capture_mono_ms"
        self.until(page, reference)  # its own age
        page.keyboard.press("b")
        page.evaluate("nearfield.draws.length = 0")
        self.live()

    def test_a_reference_of_another_field_is_not_compared(self):
        # As many values as the images have, of another quantity; and images of as many other places.
        velocity = images_layout()
        velocity["processor"] = "velocity"
        velocity["products"] = [product("velocity", "velocity", "m/s", axes=["y", "x"])]
        shifted = images_layout()
        shifted["processor"] = "shifted"
        shifted["axes"][3]["values"] = [value + 0.01 for value in axis_m(32)]
        self.server.layouts.update(velocity=velocity, shifted=shifted)
        page = self.shown()
        self.until(page, "nearfield.known.newest?.layout.processor === 'surface'")
        self.click(COLUMN, ROW)
        page.keyboard.press("k")
        self.choose("mode", "levelDifference")
        self.until(page, "document.getElementById('cursor-table').textContent.includes('A−ref.')")
        compared = "[...document.getElementById('mode').options].filter((option) => option.value.endsWith('Difference') && !option.disabled).map((option) => option.value)"
        self.assertEqual(page.evaluate(compared), ["levelDifference", "phaseDifference"])
        for processor, words in (("velocity", "it is images, pressure, not velocity, velocity"), ("shifted", "its axis x has other entries")):
            page.select_option("#processor", processor)
            self.until(page, f"nearfield.known.newest?.layout.processor === '{processor}'")
            self.assertEqual(page.evaluate(compared), [])
            self.assertEqual(page.input_value("#mode"), "magnitude")
            self.assertEqual(self.text("#reference-text"), f"The reference is of another field: {words}.")
            self.until(page, "document.getElementById('cursor-table').rows.length === 2")
            self.assertNotIn("ref.", self.text("#cursor-table"))
        page.select_option("#processor", "surface")
        page.select_option("#axes select[data-axis=frequency]", "1")  # another frequency of the same field is compared
        self.until(page, "nearfield.known.newest?.layout.processor === 'surface'")
        self.assertEqual(page.evaluate(compared), ["levelDifference", "phaseDifference"])
        self.assertEqual(self.text("#reference-text"), "")

    def hold_over_amplitudes(self, kind):
        """Holds over pictures of three amplitudes; returns the value that is held, and those of the pictures, at a pixel."""
        pixel = 2 * (32 * ROW + COLUMN)
        magnitude = f"(values) => Math.hypot(values[{pixel}], values[{pixel} + 1])"
        self.choose("hold", kind)
        self.page.click("#hold-reset")
        for amplitude in (1.0, 2.0, 0.5):
            self.server.amplitude = amplitude
            expected = amplitude * abs(field(0, 0)[ROW][COLUMN])
            self.until(self.page, f"Math.abs(({magnitude})(nearfield.known.newest.values) - {expected}) < 1e-6")
        return self.page.evaluate(f"(() => {{ const magnitude = {magnitude}; const now = nearfield.shown(); nearfield.draw();"
                                  " const pictures = nearfield.history.pictures.slice(-now.count);"
                                  " return [now.held, magnitude(now.values), pictures.map((picture) => magnitude(picture.values))]; })()")

    def test_maximum_and_mean_are_held(self):
        page = self.shown()
        self.check("decibels", False)
        self.set("top", 4)
        held, mean, values = self.hold_over_amplitudes("mean")
        self.assertEqual(held, "mean")
        self.assertGreater(max(values), 3 * min(values))
        rms = math.sqrt(sum(value**2 for value in values) / len(values))
        self.assertAlmostEqual(mean, rms, delta=2e-6 * rms)  # 32-bit floats
        held, most, values = self.hold_over_amplitudes("max")
        self.assertEqual(held, "max")
        twice = 2 * abs(field(0, 0)[ROW][COLUMN])
        self.assertAlmostEqual(most, twice, delta=2e-6 * twice)
        self.expect_colour("magnitude", twice / 4)
        self.until(page, "document.getElementById('age').textContent.includes('max of')")
        self.assertRegex(self.csv_lines()[0], r"max of \d+ pictures$")
        page.click("#freeze")  # what is frozen is one picture
        lines = self.csv_lines()
        self.assertNotIn("pictures", lines[0])
        row = list(csv.DictReader(lines[2:]))[32 * ROW + COLUMN]
        self.assertAlmostEqual(float(row["magnitude"]), twice / 4, delta=2e-6 * twice)

    def csv_lines(self):
        with self.page.expect_download() as values:
            self.page.click("#save-csv")
        return pathlib.Path(values.value.path()).read_text(encoding="utf-8").splitlines()

    def test_files_hold_what_is_shown(self):
        page = self.shown()
        self.until(page, "nearfield.history.length > 3")
        page.click("#freeze")
        downloads = []
        page.on("download", lambda one: downloads.append(one))
        page.evaluate("(() => { let time_ms = Date.now(); Date.now = () => (time_ms += 7); })()")  # the clock moves between the two files
        page.keyboard.press("s")  # the picture, and the seconds before
        end = time.monotonic() + 30
        while len(downloads) < 2 and time.monotonic() < end:
            page.wait_for_timeout(20)
        files = {pathlib.Path(one.suggested_filename).suffix: pathlib.Path(one.path()) for one in downloads}
        self.assertEqual(sorted(files), [".json", ".png"])
        self.assertEqual(len({one.suggested_filename.rsplit(".", 1)[0] for one in downloads}), 1)
        self.assertTrue(files[".png"].read_bytes().startswith(b"\x89PNG"))
        self.assertGreater(len(json.loads(files[".json"].read_text(encoding="utf-8"))["pictures"]), 1)
        lines = self.csv_lines()
        self.assertIn("frequency 503.54 Hz", lines[0])
        rows = list(csv.DictReader(lines[2:]))
        self.assertEqual(len(rows), 32 * 32)
        row = rows[32 * ROW + COLUMN]
        value = field(0, 0)[ROW][COLUMN]
        for name, expected in (("re", value.real), ("im", value.imag), ("level_dB_re_20_µPa", level_db(value))):
            self.assertAlmostEqual(float(row[name]), expected, delta=2e-6 * abs(expected))
        with page.expect_download() as seconds:
            page.click("#save-seconds")
        kept = json.loads(pathlib.Path(seconds.value.path()).read_text(encoding="utf-8"))
        self.assertEqual(kept["unit"], "Pa")
        self.assertEqual(kept["chosen"], [{"name": "z", "unit": "m", "values": [0.0]}, {"name": "frequency", "unit": "Hz", "values": [503.54]}])
        self.assertEqual((kept["axes"], kept["axis_units"]), (["y", "x"], ["m", "m"]))
        self.assertGreater(len(kept["pictures"]), 1)
        self.assertAlmostEqual(kept["pictures"][0]["im"][32 * ROW + COLUMN], value.imag, delta=2e-6)

    # --- cursors, curves ---

    def click(self, column, row, **options):
        x, y = position(column, row)
        at = self.page.evaluate("([x, y]) => { const s = nearfield.stage; const [a, b] = [s.toCanvas[0] * x + s.toCanvas[2], s.toCanvas[4] * y + s.toCanvas[5]];"
                                " const box = s.element.getBoundingClientRect(); return [box.left + s.element.clientLeft + a, box.top + s.element.clientTop + b]; }", [x, y])
        if "modifiers" in options:
            self.page.keyboard.down(options["modifiers"])
        self.page.mouse.click(*at)
        if "modifiers" in options:
            self.page.keyboard.up(options["modifiers"])

    def test_clicks_read_values_and_differences(self):
        page = self.shown()
        self.click(COLUMN, ROW)
        value = field(0, 0)[ROW][COLUMN]
        self.until(page, "document.querySelectorAll('#cursor-table tr').length === 2")
        row = self.text("#cursor-table tr:nth-child(2)")
        x, y = position(COLUMN, ROW)
        for text in (f"{x:.3g}, {y:.3g}".replace("-", "−"), f"{level_db(value):.1f}", f"{math.degrees(cmath.phase(value)):.1f}°"):
            self.assertIn(text, row)
        other = field(0, 0)[ROW + 4][COLUMN - 3]
        self.click(COLUMN - 3, ROW + 4, modifiers="Shift")
        self.until(page, "document.querySelectorAll('#cursor-table tr').length === 4")
        difference = self.text("#cursor-table tr:nth-child(4)")
        self.assertIn(f"{level_db(other) - level_db(value):.1f}".replace("-", "−"), difference)
        self.assertIn(f"{math.degrees(-10 * 3 * PITCH_M):.1f}°".replace("-", "−"), difference)

    def test_peaks_and_curves_at_the_cursor(self):
        page = self.shown()
        self.until(page, "document.querySelector('#peaks button') !== null")
        self.assertEqual(self.text("#peaks button"), "0.11, −0.09")
        page.click("#peaks button")
        page.click("#lines-panel summary")
        self.until(page, "document.querySelector('#series canvas') !== null && /pictures at the cursors/.test(document.getElementById('series-text').textContent)")
        self.until(page, "document.querySelector('#spectrum canvas') !== null")
        page.click("#spectrum-here")
        self.until(page, "document.getElementById('spectrum-text').textContent === 'set done'")
        self.assertEqual(self.server.requests[-1], {"command": "set", "settings": ["processors.here.points=[[0.11, -0.09]]"]})

    def test_a_spectrum_is_added_where_the_configuration_has_none(self):
        del self.server.layouts["here"]
        page = self.shown()
        self.until(page, "nearfield.known.status !== null && nearfield.known.surveyed.has('far')")
        page.click("#lines-panel summary")
        self.until(page, "document.getElementById('spectrum-text').textContent.startsWith('No processor gives spectra')")
        page.click("#spectrum-here")
        self.assertIn("Click the picture first", self.text("#spectrum-text"))
        self.until(page, "document.querySelector('#peaks button') !== null")
        page.click("#peaks button")
        self.server.is_writable = False
        self.server.disconnect()
        self.until(page, "nearfield.link.isOpen && !nearfield.known.isWritable")
        self.until(page, "nearfield.known.status !== null")
        settings = ["processors.spectrum.kind=spectrum", "processors.spectrum.points=[[0.11, -0.09]]", "processors.spectrum.every_hops=293"]
        page.click("#spectrum-here")
        self.assertIn(" ".join(settings), self.text("#spectrum-text"))
        self.server.is_writable = True
        self.server.disconnect()
        self.until(page, "nearfield.link.isOpen && nearfield.known.isWritable && nearfield.known.newest !== null")
        self.until(page, "nearfield.known.status !== null")
        page.click("#spectrum-here")
        self.until(page, "document.getElementById('spectrum-text').textContent === 'set done'")
        self.assertEqual(self.server.requests[-1], {"command": "set", "settings": settings})

    def test_buttons_of_peaks_stay_while_levels_change(self):
        page = self.shown()
        self.until(page, "document.querySelector('#peaks button') !== null")
        page.evaluate("globalThis.firstPeak = document.querySelector('#peaks button')")
        page.focus("#peaks button")
        before = self.text("#peaks tr:nth-child(2)")
        self.server.amplitude = 2.0
        self.until(page, f"document.querySelector('#peaks tr:nth-child(2)').innerText !== {json.dumps(before)}")
        self.assertTrue(page.evaluate("document.querySelector('#peaks button') === firstPeak && document.activeElement === firstPeak"))
        page.keyboard.press("Enter")
        self.assertEqual(page.evaluate("nearfield.view.cursors.map(({ x, y }) => [x, y].map((value) => value.toFixed(2)))"), [["0.11", "-0.09"]])

    def sources(self):
        """The circles of sources that are drawn: x, y, and their texts."""
        return self.page.evaluate("nearfield.marks().filter((mark) => mark.kind === 'source').map(({ x, y, text }) => [x, y, text])")

    def test_sources_are_of_the_picture_in_view(self):
        page = self.shown()
        page.select_option("#processor", "far")
        has_source = "nearfield.marks().some((mark) => mark.kind === 'source' && Math.abs(mark.x - {}) < 1e-6)"
        self.until(page, has_source.format(0.4))
        # The picture of the newest table's time: tables come 20 times a second, pictures more often.
        newest = ("(() => { const table = nearfield.known.sources.tables.at(-1).head.capture_mono_ms; let best = 0; const apart = (i) =>"
                  " Math.abs(nearfield.history.at(i).head.capture_mono_ms - table);"
                  " for (let i = 0; i < nearfield.history.length; ++i) if (apart(i) < apart(best)) best = i; return best; })()")
        first = page.evaluate(newest)
        self.server.source = (-0.4, -0.2, -1.0)
        self.until(page, has_source.format(-0.4))
        # Until the table of the other place is no longer near the first picture in time.
        self.until(page, f"nearfield.known.newest.head.capture_mono_ms - nearfield.history.at({first}).head.capture_mono_ms > 300")
        page.click("#freeze")
        self.set("position", page.evaluate(newest))
        self.assertAlmostEqual(self.sources()[0][0], -0.4, places=6)
        self.set("position", first)
        self.assertAlmostEqual(self.sources()[0][0], 0.4, places=6)
        page.evaluate("nearfield.known.sources.tables.forEach((table) => { table.head.capture_mono_ms -= 5000; })")
        self.assertEqual(self.sources(), [])

    def test_sources_of_another_processor_lie_on_a_hologram(self):
        self.server.source = (0.1, -0.06, -0.5)
        page = self.shown()
        self.until(page, "nearfield.known.surveyed.has('far') && !document.getElementById('sources-of').parentElement.hidden")
        self.assertEqual(self.sources(), [])  # the images' own processor finds none
        self.choose("sources-of", "far")
        self.until(page, "nearfield.marks().some((mark) => mark.kind === 'source')")
        ((x, y, text),) = self.sources()
        self.assertAlmostEqual(x, 0.1, places=6)
        self.assertAlmostEqual(y, -0.06, places=6)
        self.assertIn("54 dB, 83 %", text)
        self.until(page, "/7.*54 dB.*83 %/s.test(document.getElementById('sources').textContent)")
        self.choose("sources-of", "")
        self.assertEqual(self.sources(), [])
        page.select_option("#processor", "far")
        self.until(page, "nearfield.known.newest?.layout.processor === 'far'")
        self.assertEqual(self.sources(), [])  # none stays none
        self.choose("sources-of", "*")
        self.until(page, "nearfield.marks().some((mark) => mark.kind === 'source')")

    def test_directions_of_sources_are_angles_on_a_map_of_angles(self):
        self.server.layouts["far"] = directions_layout()
        azimuth, elevation = math.radians(30), math.radians(-20)
        x, y = math.sin(azimuth), math.sin(elevation)
        self.server.source = (x, y, -math.sqrt(1 - x * x - y * y))
        page = self.shown()
        page.select_option("#processor", "far")
        self.until(page, "nearfield.marks().some((mark) => mark.kind === 'source')")
        found = self.sources()[0]
        self.assertAlmostEqual(found[0], 30, places=4)  # of 32-bit cosines
        self.assertAlmostEqual(found[1], -20, places=4)
        self.assertIn("54 dB, 83 %", found[2])

    def test_found_sources_and_a_photograph(self):
        page = self.shown()
        page.select_option("#processor", "far")
        self.until(page, "nearfield.known.newest?.layout.processor === 'far' && nearfield.known.sources.tables.length > 0")
        self.until(page, "/7.*54 dB.*83 %/s.test(document.getElementById('sources').textContent)")
        page.evaluate("document.getElementById('photo-panel').open = true")
        page.set_input_files("#photo-file", files=[{"name": "room.svg", "mimeType": "image/png", "buffer": png(64, 48)}])
        self.until(page, "!document.getElementById('photo-align').disabled")
        self.until(page, "document.querySelectorAll('#photo-places input').length === 8")
        page.click("#photo-align")
        self.until(page, "!document.getElementById('prompt').hidden")
        # The map's corners are clicked at the middle half of the stage.
        box = page.evaluate("(() => { const b = document.getElementById('stage').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")
        for u, v in ((0.25, 0.25), (0.7, 0.25), (0.6, 0.75), (0.3, 0.75)):
            page.mouse.click(box[0] + u * box[2], box[1] + v * box[3])
        self.until(page, "document.getElementById('prompt').hidden && nearfield.stage.toCanvas[6] !== 0")
        edges = page.evaluate("(() => { const m = nearfield.stage.toCanvas; const at = (x, y) => { const w = m[6] * x + m[7] * y + m[8];"
                              " return [(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w]; };"
                              " const [a, b] = [document.querySelectorAll('#photo-places input')[0].valueAsNumber, document.querySelectorAll('#photo-places input')[1].valueAsNumber];"
                              " return at(a, b); })()")
        self.assertAlmostEqual(edges[0], 0.25 * box[2], delta=2.5)  # the stage's border, and whole pixels of the mouse
        self.assertAlmostEqual(edges[1], 0.25 * box[3], delta=2.5)
        page.reload()
        self.until(page, "globalThis.nearfield !== undefined && !document.getElementById('photo-align').disabled")

    def test_a_photograph_is_mirrored_and_turned_with_the_field(self):
        page = self.shown()
        page.evaluate("document.getElementById('photo-panel').open = true")
        page.set_input_files("#photo-file", files=[{"name": "room.png", "mimeType": "image/png", "buffer": png(64, 48, corner=True)}])
        self.until(page, "document.querySelectorAll('#photo-places input').length === 8 && !document.getElementById('photo-align').disabled")
        # Each corner of the field is at the same corner of the photograph, a tenth inside.
        place = ("([u, v]) => { nearfield.draw(); const m = nearfield.stage.photoToCanvas({ width: 64, height: 48 }, nearfield.turn());"
                 " const b = document.getElementById('stage').getBoundingClientRect(); const s = document.getElementById('stage');"
                 " return [b.left + s.clientLeft + m[0] * u + m[1] * v + m[2], b.top + s.clientTop + m[3] * u + m[4] * v + m[5]]; }")
        page.click("#photo-align")
        for u, v in ((0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9)):
            page.mouse.click(*page.evaluate(place, [u, v]))
        self.until(page, "document.getElementById('prompt').hidden")
        edge = axis_m(32)[0] - PITCH_M / 2
        for side in ("front", "back"):
            self.choose("side", side)
            for _ in range(4):
                page.evaluate("nearfield.draw()")
                corner = page.evaluate("([x, y]) => { const m = nearfield.stage.toCanvas; const w = m[6] * x + m[7] * y + m[8];"
                                       " const s = document.getElementById('stage').getBoundingClientRect(); const e = document.getElementById('stage');"
                                       " return [s.left + e.clientLeft + (m[0] * x + m[1] * y + m[2]) / w, s.top + e.clientTop + (m[3] * x + m[4] * y + m[5]) / w]; }",
                                       [edge, edge])
                expected = page.evaluate(place, [0.1, 0.1])
                self.assertAlmostEqual(corner[0], expected[0], delta=1.5, msg=side)  # whole pixels of the mouse
                self.assertAlmostEqual(corner[1], expected[1], delta=1.5, msg=side)
                # The photograph's own red corner, outside of the field, is where the same transform says.
                red = page.evaluate("([x, y]) => { const s = document.getElementById('stage').getBoundingClientRect(); const e = document.getElementById('stage');"
                                    " const c = nearfield.stage.photoCanvas; const r = nearfield.stage.ratio;"
                                    " return [...c.getContext('2d').getImageData(Math.round((x - s.left - e.clientLeft) * r), Math.round((y - s.top - e.clientTop) * r), 1, 1).data]; }",
                                    page.evaluate(place, [0.03, 0.04]))
                self.assertEqual(red, [255, 0, 0, 255], side)
                page.click("#rotate")

    def test_axes_say_that_y_counts_downwards(self):
        page = self.shown()
        titles = page.evaluate("import('/stage.js').then(({ axisTitle }) => [['x', 'm'], ['y', 'm'], ['elevation', 'deg'], ['band', '1']]"
                               ".map(([name, unit]) => axisTitle({ name, unit })))")
        self.assertEqual(titles, ["x / m", "y / m, downwards", "elevation / deg", "band"])

    # --- the rest of the page ---

    def test_what_begins_a_recording_is_set_and_shown(self):
        page = self.shown()
        page.click("#record-panel summary")
        self.until(page, "document.getElementById('trigger-kind').value === 'none' && !document.getElementById('trigger-kind').disabled")
        self.assertFalse(page.is_visible("#trigger-level"))
        page.select_option("#trigger-kind", "level")
        page.fill("#trigger-level", "0.5")
        self.until(page, "document.getElementById('trigger-level-db').textContent.startsWith('84.9')")  # 20 lg (0.5 / sqrt 2 / 20e-6)
        self.assertIn("Level of pressure, Pa", self.text("#trigger-level-row"))
        page.fill("#trigger-pre", "2")
        page.fill("#trigger-quiet", "0.25")
        self.server.requests.clear()
        page.click("#trigger-set")
        self.until(page, "document.getElementById('trigger-answer').textContent === 'set done'")
        sets = [request for request in self.server.requests if request.get("command") == "set"]
        self.assertEqual(sets, [{"command": "set", "settings": [
            "daemon.recording.trigger=level", "daemon.recording.level=0.5", "daemon.recording.pre_trigger_s=2",
            "daemon.recording.quiet_s=0.25", "daemon.recording.pause_s=5"]}])
        self.server.recording.update(state="armed", trigger="level", level=0.5, began_by="the level 0.5")
        self.until(page, "document.getElementById('trigger-state').textContent.startsWith('Armed. A recording begins by the level; the last one was begun by the level 0.5')")
        self.server.is_writable = False
        self.server.disconnect()
        self.until(page, "document.getElementById('trigger-set').disabled && document.getElementById('trigger-kind').disabled")

    def test_a_recording_is_opened_with_other_settings_and_closed(self):
        page = self.shown()
        page.click("#record-panel summary")
        page.click("#recordings-list")
        self.until(page, "document.querySelector('#recordings button') !== null")
        self.assertIn("by the level 0.5; door open", self.text("#recordings"))
        self.assertIn("2026-11-23", self.text("#recordings"))
        page.click("#recordings button")
        self.assertTrue(page.is_visible("#open-form"))
        self.assertEqual(page.input_value("#open-seconds"), "4.2")
        page.fill("#open-fields [name=frequencies]", "500 , 1e3")
        page.fill("#open-fields [name=standoff]", "0.05")
        page.fill("#open-fields [name=off]", "5 x")
        page.fill("#open-fields [name=others]", "medium.sound_speed_m_s=340\n\n holography.upsample=2")
        page.click("#open-submit")
        self.until(page, "document.getElementById('open-answer').textContent === 'Refused: Microphones off: expected numbers, found “x”'")
        page.fill("#open-fields [name=off]", "5, 17")
        page.fill("#open-start", "1.5")
        page.click("#open-submit")
        self.until(page, "document.getElementById('open-answer').textContent.startsWith('first is opened')")
        self.assertEqual([request for request in self.server.requests if request.get("op") == "open"], [{
            "op": "open", "recording": "first", "start_s": 1.5, "seconds": 4.2,
            "settings": ["front_end.frequencies_hz=[500, 1e3]", "holography.standoff_m=0.05", "array.dead_channels=[5, 17]",
                         "medium.sound_speed_m_s=340", "holography.upsample=2"]}])
        self.until(page, "document.getElementById('opened').textContent.includes('playing')")
        with page.expect_popup() as popup:
            page.click("#opened button:text('Look')")
        self.assertTrue(popup.value.url.endswith("/?player=1"))
        popup.value.close()
        self.server.players[0].update(state="ended", text="signal 9")
        self.until(page, "document.getElementById('opened').textContent.includes('ended: signal 9')")
        page.click("#opened button:text('Close')")
        self.until(page, "document.getElementById('opened').rows.length === 0")
        self.assertEqual(self.server.requests[-1], {"op": "close", "player": 1})

    def test_a_played_recording_is_not_taken_for_the_live_stream(self):
        self.server.player = (3, "first.nfr", "playing", "")
        page = self.shown()
        self.live()
        self.until(page, "document.getElementById('condition').textContent === 'Playing first.nfr'")
        self.assertEqual((page.title(), self.text("#title")), ("first.nfr – Nearfield", "first.nfr"))
        self.assertFalse(page.is_visible("#record-panel"))
        page.click("#settings-panel summary")
        page.fill("#change-fields [name=standoff]", "0.05")
        page.click("#change-set")
        self.until(page, "document.getElementById('change-answer').textContent === 'set done'")
        self.assertEqual(self.server.requests[-1], {"command": "set", "settings": ["holography.standoff_m=0.05"]})
        self.server.player = (3, "first.nfr", "ended", "exit code 75")
        self.until(page, "document.getElementById('condition').textContent === 'The recording is no longer played: exit code 75'")
        self.assertTrue(page.evaluate("document.getElementById('stage').classList.contains('not-live')"))

    def test_recordings_are_controlled_with_a_token_alone(self):
        page = self.shown()
        page.click("#record-panel summary")
        page.fill("#record-name", "engine-1")
        page.fill("#record-notes", "door open")
        page.click("#record-arm")
        self.until(page, "document.getElementById('record-answer').textContent === 'record done'")
        self.assertEqual(self.server.requests[-1], {"command": "record", "action": "arm", "bits": True, "images": True, "name": "engine-1", "notes": "door open"})
        page.fill("#record-name", "not a name/")
        self.server.requests.clear()
        page.click("#record-arm")
        page.click("#record-stop")
        self.until(page, "document.getElementById('record-answer').textContent === 'record done'")
        records = [request for request in self.server.requests if request.get("command") == "record"]
        self.assertEqual(records, [{"command": "record", "action": "stop"}])  # a name that cannot be refuses to arm alone
        page.click("#recordings-list")
        self.until(page, "document.getElementById('recordings').textContent.includes('door open')")
        self.server.is_writable = False
        self.server.disconnect()
        self.until(page, "document.getElementById('record-start').disabled")
        self.assertIn("open it with a token", self.text("#record-state"))

    def test_the_daemon_and_its_microphones_are_described(self):
        page = self.shown()
        page.click("#health-panel summary")
        self.until(page, "document.getElementById('health').textContent.includes('15000000 received')")
        self.assertIn("0.02", self.text("#figures"))
        self.assertIn("state above", self.text("#limits"))

    def test_events_of_limits_are_listed_to_readers(self):
        self.server.is_writable = False
        page = self.shown(timezone_id="UTC")
        page.click("#limits-panel summary")
        self.until(page, "document.getElementById('limit-events-text').textContent.startsWith('No limit was exceeded')")
        event = {"name": "weld", "event": "begin", "tai_ns": 1795446037000000000, "value": 1.625, "largest": 1.625, "unit": "Pa",
                 "position": {"z": 0.0, "frequency": 1007.08, "y": -0.06, "x": 0.1}}
        self.server.events = [event, {**event, "event": "end", "tai_ns": event["tai_ns"] + 3000000000, "value": 0.5, "largest": 2.5}]
        rows = "[...document.getElementById('limit-events').rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
        self.until(page, f"{rows}.length === 3")
        self.assertEqual(page.evaluate(rows)[1:], [  # newest first, 37 s behind CLOCK_TAI
            ["2026-11-23 15:00:03", "weld", "left, after at most", "2.5 Pa", "z 0, frequency 1007, y −0.06, x 0.1"],
            ["2026-11-23 15:00:00", "weld", "exceeded", "1.625 Pa", "z 0, frequency 1007, y −0.06, x 0.1"]])
        self.assertTrue(page.evaluate("document.getElementById('limit-set').disabled"))
        self.assertIn("open it with a token", self.text("#limit-hint"))

    def test_a_limit_is_set_at_the_cursor(self):
        page = self.shown()
        page.select_option("#axes select[data-axis=frequency]", "1")
        page.select_option("#axes select[data-axis=z]", "1")
        self.until(page, "nearfield.known.newest?.layout.select.z === 1")
        page.click("#limits-panel summary")
        self.until(page, "document.getElementById('limit-above-name').textContent === 'Above, dB re 20 µPa'")
        page.fill("#limit-name", "Not a name")
        page.fill("#limit-above", "94.5")
        page.fill("#limit-hold", "0.5")
        page.click("#limit-set")
        page.fill("#limit-name", "weld")
        page.click("#limit-set")
        self.until(page, "document.getElementById('limit-answer').textContent.startsWith('Refused: click the picture first')")
        page.evaluate("window.scrollTo(0, 0)")
        self.click(COLUMN, ROW)
        self.until(page, "nearfield.view.cursors.length === 1")
        page.click("#limit-set")
        self.until(page, "document.getElementById('limit-answer').textContent === 'set done'")
        x, y = position(COLUMN, ROW)
        expected = {"processor": "surface", "product": "images", "point_m": f"[{x:.6g}, {y:.6g}]", "region_m": "null", "frequency_hz": "1007.08",
                    "plane_m": "0.01", "above": "null", "above_db": "94.5", "hold_s": "0.5", "record": "false"}
        sets = [request["settings"] for request in self.server.requests if request.get("command") == "set"]
        self.assertEqual(sets, [[f"daemon.limits.weld.{key}={value}" for key, value in expected.items()]])

    def test_microphones_are_marked_by_who_masks_them(self):
        page = self.shown()
        page.click("#microphones-panel summary")
        self.until(page, "document.getElementById('bad').rows.length === 4")
        rows = page.evaluate("[...document.getElementById('bad').rows].map((row) => [...row.cells].map((cell) => cell.textContent))")
        self.assertEqual(rows[1:], [["5", "0, 5", "masked by the monitor", "dead"],
                                    ["9", "0, 9", "masked by the configuration", "array.dead_channels"],
                                    ["300", "9, 12", "found bad, but in use", "loud"]])
        legend = "[...document.querySelectorAll('#microphones-legend li')].map((entry) => entry.textContent)"
        self.until(page, f"{legend}.length === 4")
        self.assertEqual(page.evaluate(legend), ["in use: 1021", "masked by the configuration: 1", "masked by the monitor: 1", "found bad, but in use: 1"])
        self.assertEqual(page.get_attribute("#microphones", "aria-label"),
                         "Map of 1024 microphones: 1021 in use, 1 masked by the configuration, 1 masked by the monitor, 1 found bad, but in use")
        # Each mark of the legend differs from the others, in its form too: where it is drawn, not only in its colours.
        forms = page.evaluate("[...document.querySelectorAll('#microphones-legend canvas')].map((canvas) => { const c = canvas.getContext('2d');"
                              " const data = c.getImageData(0, 0, canvas.width, canvas.height).data; return Array.from({ length: data.length / 4 }, (_, i) => +(data[4 * i + 3] > 127)).join(''); })")
        self.assertEqual(len(set(forms)), 4)
        self.server.microphones = {"watched": False, "masked": 0, "masked_channels": [], "bad": []}
        self.until(page, f"{legend}.join() === 'in use: 1024'")
        self.assertEqual(page.evaluate("document.getElementById('bad').rows.length"), 0)

    def test_a_phone_needs_no_horizontal_scrolling(self):
        page = self.shown(width=390, height=844, device_scale_factor=2, color_scheme="dark", has_touch=True)
        for panel in page.query_selector_all("details:not([open]) > summary"):
            panel.click()
        self.assertIsNone(page.query_selector("details:not([open])"))
        self.until(page, "document.querySelector('#peaks button') !== null")
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 390)
        self.assertGreater(page.evaluate("document.getElementById('stage').clientHeight"), 300)

    def test_a_laptop_needs_no_scrolling(self):
        page = self.shown(width=1280, height=800)
        self.until(page, "document.querySelector('#peaks button') !== null")
        size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        self.assertLessEqual(size[0], 1280)
        self.assertLessEqual(size[1], 800)
        bottom = page.evaluate("Math.max(...['stage', 'transport', 'caption'].map((id) => document.getElementById(id).getBoundingClientRect().bottom))")
        self.assertLessEqual(bottom, 800)

    def test_texts_have_contrast_in_dark_and_light(self):
        for scheme in ("dark", "light"):
            page = self.shown(width=1280, height=800, color_scheme=scheme)
            page.evaluate("document.querySelectorAll('details').forEach((panel) => { panel.open = true; })")
            self.until(page, "document.getElementById('bad').rows.length > 0")
            page.wait_for_timeout(300)
            for kind in ("live", "warned", "stopped", "frozen"):
                found = page.evaluate(CONTRASTS, kind)
                self.assertGreater(len(found), 40, scheme)
                low = [one for one in found if one[0] < 4.5]
                self.assertEqual(low, [], f"{scheme}, {kind}")
            page.context.close()

    def test_everything_works_by_keys(self):
        page = self.shown()
        page.keyboard.press("?")
        self.assertTrue(page.evaluate("document.getElementById('help').open"))
        self.assertIn("Next frequency", self.text("#keys"))
        page.keyboard.press("Escape")
        page.keyboard.press("f")
        self.assertEqual(page.evaluate("nearfield.view.select.frequency"), 1)
        self.until(page, "nearfield.history.length > 2 && nearfield.known.newest !== null")
        page.keyboard.press(" ")
        self.assertTrue(page.evaluate("nearfield.view.isFrozen"))
        page.focus("#stage")
        page.keyboard.press("ArrowLeft")
        self.until(page, "nearfield.view.cursors.length === 1")
        unreachable = page.evaluate("[...document.querySelectorAll('button, input, select, textarea, summary')].filter((e) => e.tabIndex < 0).map((e) => e.id)")
        self.assertEqual(unreachable, [])
        unnamed = page.evaluate("[...document.querySelectorAll('input, select, textarea')].filter((e) => !e.labels?.length && !e.ariaLabel).map((e) => e.id)")
        self.assertEqual(unnamed, [])

    def test_no_other_host_is_asked(self):
        page = self.shown(color_scheme="light")
        page.evaluate("document.querySelectorAll('details').forEach((panel) => { panel.open = true; })")
        self.until(page, "document.querySelector('#spectrum canvas') !== null")
        foreign = [url for url in self.urls if not re.match(rf"(http://127\.0\.0\.1:{self.server.port}/|blob:|data:)", url)]
        self.assertEqual(foreign, [])


def png(width, height, corner=False):
    """A grey picture, whose corner of eight pixels may be red."""
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    def pixel(x, y):
        return b"\xff\0\0" if corner and x < 8 and y < 8 else bytes(3 * [90 + 100 * (x // 8 % 2)])
    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(width)) for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    unittest.main()

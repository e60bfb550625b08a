"""What the page says of its connection, and what is frozen, compared, held and saved: `state_test.py [unittest's options]`."""

import cmath
import csv
import json
import math
import pathlib
import time
import unittest

import numpy as np

from fake_server import axis_m, far_layout, field, images_layout, product
from shown_page import COLUMN, PageTest, ROW, level_db


class StateTest(PageTest):
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

    def test_late_pictures_keep_their_colours_and_say_how_late_they_are(self):
        page = self.shown()
        self.server.late_s = 0.4
        self.until(page, "/^late: pictures are shown up to 0\\.[4-9] s after/.test(document.getElementById('notes').textContent)")
        self.until(page, "document.getElementById('banner').className === 'warned'")
        self.until(page, "/^0\\.[4-9] s old/.test(document.getElementById('age').textContent)")
        self.assertFalse(page.evaluate("document.getElementById('stage').classList.contains('not-live')"))
        self.assertEqual(page.evaluate("getComputedStyle(nearfield.drawing.canvas).filter"), "none")
        self.server.late_s = 0.0
        self.until(page, "document.getElementById('notes').textContent === ''")

    def test_old_pictures_are_never_live(self):
        page = self.shown()
        self.server.late_s = 1.2
        self.until(page, "document.getElementById('condition').textContent === 'Old' && nearfield.draws.at(-1).age_ms > 1200")
        self.assertTrue(page.evaluate("document.getElementById('stage').classList.contains('not-live')"))
        self.assertTrue(page.evaluate("nearfield.draws.every((draw) => !draw.isLive || draw.age_ms <= 1000)"))

    def test_the_age_from_which_a_picture_is_grey_is_chosen(self):
        page = self.shown()
        self.server.late_s = 0.4
        self.until(page, "document.getElementById('banner').className === 'warned'")
        self.choose("grey-after-s", "0.3")
        self.until(page, "document.getElementById('condition').textContent === 'Old' && document.getElementById('stage').classList.contains('not-live')")
        self.choose("grey-after-s", "10")
        self.server.late_s = 2.0
        self.until(page, "/^late: .* up to 2\\.\\d s after/.test(document.getElementById('notes').textContent) && /^2\\.\\d s old/.test(document.getElementById('age').textContent)")
        self.assertFalse(page.evaluate("document.getElementById('stage').classList.contains('not-live')"))

    def test_a_slow_processor_is_live_between_its_frames(self):
        page = self.shown()
        self.server.rate_hz = 2.0
        self.until(page, "nearfield.known.rings.surface?.rate_hz === 2")
        self.until(page, "document.getElementById('condition').textContent === 'Live' &&"
                         " performance.now() + nearfield.known.ahead_ms - nearfield.known.newest.head.capture_mono_ms > 200")

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
        self.assertTrue(page.evaluate("nearfield.draws.every((draw) => !draw.isLive || (draw.age_ms >= -20 && draw.age_ms <= 1000))"))

    def test_a_blocked_browser_shows_nothing_old_as_live(self):
        page = self.shown()
        self.live()
        page.evaluate("nearfield.draws.length = 0")
        began = page.evaluate("() => { const end = performance.now() + 5000; while (performance.now() < end); return performance.now(); }")
        self.until(page, f"nearfield.draws.filter((draw) => draw.at_ms >= {began}).length > 5")
        draws = page.evaluate("nearfield.draws")
        self.assertTrue(all(draw["age_ms"] <= 1000 for draw in draws if draw["isLive"]), draws)
        # Credit: one picture waited at most, whatever the browser did.
        self.assertLessEqual(sum((draw["age_ms"] or 0) > 4000 for draw in draws), 1)  # None: unknown, and not live

    def test_flags_are_said(self):
        page = self.shown()
        self.server.flags = 2 | 4 | 8 | 32
        self.server.missing = 17
        for text in ("lost: 17 bit-times", "overload", "clipped", "masked: 2 microphones"):
            self.until(page, f"document.getElementById('notes').textContent.includes('{text}')")
        self.server.flags = 256 | 512 | 1024 | 2048 | 4096 | 8192 | 0x40000000
        for text in ("a limit on these products is exceeded", "hops that the picture remembers", "more than a tenth of the information is missing", "the input is not what the settings announce", "the first search", "from behind the array", "does not know: 1073741824"):
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


if __name__ == "__main__":
    unittest.main()

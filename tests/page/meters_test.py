"""Levels of the microphones, and the walk with a calibrator, on the page: `meters_test.py [unittest's options]`."""

import math
import re
import unittest

import numpy as np

from fake_server import levels_layout
from shown_page import PageTest

CENTRES_HZ = [250, 500, 1000, 2000]
REFERENCE_PA2 = 4e-10
QUIET = 1e-8  # 14 dB


def power(level_db):
    return REFERENCE_PA2 * 10 ** (level_db / 10)


class Sound:
    """Levels of some microphones, dB, in one third octave or another; all others are quiet."""

    def __init__(self, channels=16):
        self.channels = channels
        self.tones = {}  # channel: (level in dB, centre in Hz, fluctuation in dB from frame to frame)
        self.offset_pa = 0.0

    def __call__(self, number):
        bands = np.full((len(CENTRES_HZ), self.channels), QUIET / 10)
        for channel, (level_db, centre_hz, fluctuation_db) in self.tones.items():
            bands[CENTRES_HZ.index(centre_hz), channel] = power(level_db + fluctuation_db * (number % 2))
        level = bands.sum(axis=0) + QUIET / 10
        return {"bands": bands, "level": level, "peak": np.sqrt(2 * level) + abs(self.offset_pa), "offset": np.full(self.channels, self.offset_pa)}


class MetersTest(PageTest):
    def opened_panel(self, channels=16, centres=tuple(CENTRES_HZ), **options):
        self.sound = Sound(channels)
        self.server.levels = self.sound
        self.server.layouts["meters"] = levels_layout(channels, centres)
        page = self.shown(**options)
        page.click("#meters-panel summary")
        self.until(page, "nearfield.meters.frames > 2")
        return page

    def one(self, page, channel):
        """The table of one microphone, as {name: text}."""
        page.fill("#meters-channel", str(channel))
        rows = "Object.fromEntries([...document.getElementById('meters-one').rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"
        return self.until(page, f"(() => {{ const rows = {rows}; return rows.window ? rows : null; }})()")

    def test_a_tone_has_its_level_peak_and_offset(self):
        page = self.opened_panel()
        self.sound.tones = {5: (93.98, 1000, 0)}
        self.sound.offset_pa = -0.25
        self.until(page, "document.getElementById('meters-ends').textContent.startsWith('Loudest: microphone 5, 94.0 dB; quietest: microphone')")
        page.wait_for_timeout(1500)
        rows = self.one(page, 5)
        self.assertEqual(rows["window"], "94.0 dB")
        self.assertEqual(rows["fast, slow"].split(", ")[0], "94.0 dB")
        peak_pa = math.sqrt(2 * power(93.98)) + 0.25
        self.assertEqual(rows["peak"], f"{20 * math.log10(peak_pa / 20e-6):.1f} dB ({float(f'{peak_pa:.4g}'):g} Pa)")
        self.assertEqual(rows["offset"], "−0.25 Pa")
        self.assertEqual(rows["place"], ", ".join(f"{value:.4g}".replace("-", "−") for value in self.server.microphones_m[5]) + " m")

    def test_fast_and_slow_follow_by_their_time_constants(self):
        page = self.opened_panel()
        self.sound.tones = {3: (80, 1000, 0)}
        self.until(page, "nearfield.meters.level.slow[3] > 3.9e-2")  # 4e-2 Pa^2
        self.sound.tones = {}
        levels = "[nearfield.meters.time_s, 10 * Math.log10(nearfield.meters.level.fast[3]), 10 * Math.log10(nearfield.meters.level.slow[3])]"
        self.until(page, "nearfield.meters.level.window[3] < 1e-6")
        first = page.evaluate(levels)
        page.wait_for_timeout(500)
        second = page.evaluate(levels)
        passed_s = second[0] - first[0]
        self.assertAlmostEqual((second[2] - first[2]) / passed_s, -4.34, delta=0.1)  # 10 lg e, by a constant of 1 s
        self.assertAlmostEqual((second[1] - first[1]) / passed_s, -34.7, delta=0.5)

    def test_an_overload_stays_until_it_is_cleared(self):
        page = self.opened_panel()
        self.sound.tones = {7: (123, 1000, 0)}  # a peak of 39.95 Pa; full scale of -26 dBFS is 28.2 Pa
        self.until(page, "/overloaded: 7[.;]/.test(document.getElementById('meters-ends').textContent)")
        self.sound.tones = {}
        self.until(page, "nearfield.meters.peak_pa[7] < 1")
        page.wait_for_timeout(400)
        self.assertIn("overloaded: 7", self.text("#meters-ends"))
        self.assertEqual(self.one(page, 7)["peak held"], "126.0 dB (39.95 Pa), overloaded")
        page.click("#meters-clear")
        self.until(page, "!document.getElementById('meters-ends').textContent.includes('overloaded')")
        page.fill("#meters-limit", "10")
        self.until(page, "document.getElementById('meters-ends').textContent.includes('overloaded: 0, 1, 2')")

    def test_windows_that_were_not_received_are_counted(self):
        page = self.opened_panel()
        # A busy machine may have missed some before.
        self.assertTrue(page.evaluate("nearfield.meters.missed > 0 || !document.getElementById('meters-text').textContent.includes('did not receive')"))
        missed = page.evaluate("{ const { missed } = nearfield.meters; nearfield.meters.number -= 3; missed; }")
        self.until(page, f"Number(/without (\\d+) of \\d+ windows/.exec(document.getElementById('meters-text').textContent)?.[1]) >= {missed + 3}")

    def test_a_map_of_1024_names_the_one_below_the_pointer(self):
        page = self.opened_panel(1024)
        self.sound.tones = {33: (90, 1000, 0)}
        self.until(page, "document.getElementById('meters-ends').textContent.startsWith('Loudest: microphone 33, 90.0 dB')")
        self.assertEqual(page.evaluate("[...document.getElementById('meters-form').options].map((one) => one.value)"), ["map"])
        page.locator("#meters").scroll_into_view_if_needed()
        box = page.locator("#meters").bounding_box()
        room = min(box["width"], box["height"] - 26) - 16
        x, y = ((column / 31 - 0.5) * room for column in (1, 1))
        page.mouse.move(box["x"] + box["width"] / 2 + x, box["y"] + (box["height"] - 26) / 2 + y)
        self.until(page, "document.getElementById('meters-channel').value === '33'")
        loud, quiet = (page.evaluate("([x, y]) => { const c = document.getElementById('meters'); const k = window.devicePixelRatio; return [...c.getContext('2d').getImageData(k * x, k * y, 1, 1).data]; }",
                                     [box["width"] / 2 + x + step * room / 31, (box["height"] - 26) / 2 + y]) for step in (0, 4))
        self.assertNotEqual(loud, quiet)

    def test_the_meters_are_added_and_removed_by_settings(self):
        page = self.shown()
        page.click("#meters-panel summary")
        self.until(page, "document.getElementById('meters-offer').textContent.includes('processors.meters.kind=levels processors.meters.every_hops=127')")
        page.click("#meters-add")
        self.until(page, "document.getElementById('meters-answer').textContent === 'set done'")
        self.assertEqual(self.server.requests[-1], {"command": "set", "settings": [
            "processors.meters.kind=levels", "processors.meters.every_hops=127", "processors.meters.window_samples=4096", "processors.meters.weighting=z"]})
        self.server.levels = self.sound = Sound()
        self.server.layouts["meters"] = levels_layout()
        self.server.disconnect()
        self.until(page, "document.getElementById('meters-ends').checkVisibility() && document.getElementById('meters-ends').textContent.startsWith('Loudest')")
        self.assertFalse(page.is_visible("#meters-add"))
        page.select_option("#meters-weighting", "a")
        self.until(page, "document.getElementById('meters-answer').textContent === 'set done'")
        self.assertEqual(self.server.requests[-1]["settings"], ["processors.meters.weighting=a"])
        page.click("#meters-remove")
        self.until(page, "document.getElementById('meters-answer').textContent === 'set done'")
        self.assertEqual(self.server.requests[-1]["settings"], ["processors.meters=null"])
        self.server.is_writable = False
        self.server.layouts.pop("meters")
        self.server.disconnect()
        self.until(page, "document.getElementById('meters-add').disabled && document.getElementById('meters-offer').textContent.includes('token')")

    def test_a_number_that_is_no_microphone_is_said(self):
        page = self.opened_panel()
        table = "document.getElementById('meters-one').textContent"
        for number in ("16", "-1", "2.5"):
            page.fill("#meters-channel", number)
            self.until(page, f"{table} === 'microphoneexpected 0 to 15'")
        page.fill("#meters-channel", "")
        self.until(page, f"{table} === ''")
        self.assertIn("fast, slow", self.one(page, 15))

    def test_channels_of_the_input_are_said_where_they_are_others(self):
        self.server.yaml = self.server.yaml.replace("  sensitivity", "  channels: [3, 1, 2, 0, 4, 13, 6, 7,\n    8, 9, 10, 11, 12, 5, 14, 15]\n  sensitivity")
        page = self.opened_panel()
        self.sound.tones = {5: (123, 1000, 0), 7: (123.5, 1000, 0)}
        ends = "document.getElementById('meters-ends').textContent"
        self.until(page, f"{ends}.startsWith('Loudest: microphone 7, 123.5 dB; quietest: microphone 0 (channel 3), ') && {ends}.endsWith('; overloaded: 5 (channel 13), 7.')")
        self.assertEqual(self.one(page, 5)["microphone"], "5 (channel 13)")
        self.assertNotIn("microphone", self.one(page, 7))
        page.click("#microphones-panel summary")
        self.until(page, "document.getElementById('bad').rows.length === 4 && document.getElementById('bad').rows[1].cells[0].textContent === '5 (channel 13)'")
        self.assertEqual(page.evaluate("document.getElementById('bad').rows[2].cells[0].textContent"), "9")

    def test_a_list_of_channels_may_have_a_line_each(self):
        self.server.yaml = self.server.yaml.replace("  sensitivity", "  dead_channels: [7]\n  channels:\n    - 1\n    - 0\n  sensitivity")
        page = self.opened_panel(channels=2)
        self.until(page, "nearfield.known.channels.join() === '1,0'")

    def test_settings_wrap_in_the_panels(self):
        page = self.shown(width=1280, height=800)
        page.click("#meters-panel summary")
        self.until(page, "document.getElementById('meters-offer').textContent.includes('processors.meters.window_samples=4096')")
        page.click("#microphones-panel summary")
        self.until(page, "document.getElementById('bad').rows.length === 4")
        self.assertEqual(page.evaluate("['panels', 'meters-panel', 'microphones-panel'].filter((id) => document.getElementById(id).scrollWidth > document.getElementById(id).clientWidth)"), [])

    # --- the walk ---

    def began(self, **options):
        page = self.opened_panel(**options)
        page.set_checked("#walk-record", False)
        page.click("#walk-begin")
        self.until(page, "document.getElementById('walk-text').textContent === 'Put the calibrator on a microphone.'")
        return page

    def says(self, page, text, seconds=30):
        self.until(page, f"document.getElementById('walk-text').textContent.includes({text!r})", seconds)

    def test_a_walk_finds_the_microphones_and_their_deviations(self):
        page = self.began()
        for channel, level_db in ((2, 94.5), (9, 93.7), (11, 94.1)):
            self.sound.tones = {channel: (level_db, 1000, 0)}
            self.says(page, f"Microphone {channel}: {'+' if level_db > 94 else '−'}{abs(level_db - 94):.2f} dB")
            self.sound.tones = {}
            self.says(page, "Put the calibrator on another microphone.")
        self.sound.tones = {2: (94.4, 1000, 0)}
        self.says(page, "Microphone 2: +0.45 dB, 2 times, at most 0.10 dB apart")
        self.assertEqual(self.text("#walk-left"), "3 of 16 microphones done; left: 0, 1, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15.")
        page.click("#walk-undo")
        self.until(page, "document.getElementById('walk-table').rows[1].cells[1].textContent === '+0.50 dB'")
        page.click("#walk-end")
        self.until(page, "document.getElementById('walk-summary').textContent.startsWith('Median of 3: +0.10 dB; from the lowest to the highest 0.80 dB.')")
        self.assertIn("array.sensitivity_dbfs would be -25.90 in place of -26: all levels fall by 0.10 dB", self.text("#walk-level-text"))
        page.click("#walk-set")
        self.assertFalse([one for one in self.server.requests if one.get("command") == "set"])
        page.click("#walk-sure")
        self.until(page, "document.getElementById('walk-answer').textContent === 'set done'")
        self.assertEqual(self.server.requests[-1], {"command": "set", "settings": ["array.sensitivity_dbfs=-25.90"]})
        self.assertFalse(page.is_visible("#walk-set"))

    def test_what_is_no_calibrator_is_refused_with_the_reason(self):
        page = self.began()
        refusals = [({4: (94, 500, 0)}, "This is no calibrator of 1000 Hz: the band of 500 Hz has most of the level of microphone 4."),
                    ({4: (94, 1000, 0.6)}, "Not steady: the level of microphone 4 varied by 0.60 dB"),
                    ({4: (94, 1000, 0), 5: (87, 1000, 0)}, "Not alone: microphone 5 is only 7.0 dB below microphone 4"),
                    ({4: (130, 1000, 0)}, "Microphone 4 is at full scale")]
        for tones, reason in refusals:
            self.sound.tones = tones
            self.says(page, reason)
            page.wait_for_timeout(2000)
            self.says(page, reason, 2)
            self.sound.tones = {}
            self.says(page, "Put the calibrator on a microphone.")
        self.assertEqual(self.text("#walk-table"), "")

    def test_a_level_that_is_far_off_is_taken_when_confirmed(self):
        page = self.began()
        self.sound.tones = {6: (68, 1000, 0)}
        self.says(page, "26.0 dB below 94 dB by its present sensitivity")
        page.wait_for_timeout(500)
        self.assertEqual(self.text("#walk-table"), "")
        page.click("#walk-accept")
        self.says(page, "Microphone 6: −26.00 dB")
        self.sound.tones = {}
        self.says(page, "Put the calibrator on another microphone.")
        self.sound.tones = {8: (67, 1000, 0)}
        self.says(page, "Microphone 8: −27.00 dB")  # as far off as the one that was confirmed

    def test_a_change_of_the_arrays_level_ends_the_walk(self):
        page = self.began()
        self.sound.tones = {2: (94.5, 1000, 0)}
        self.says(page, "Microphone 2: +0.50 dB")
        self.server.yaml = self.server.yaml.replace("-26", "-30")
        self.server.disconnect()
        self.until(page, "document.getElementById('walk-answer').textContent.startsWith('The array\\'s level or calibration was changed')")
        self.assertIn("+0.50 dB", self.text("#walk-table"))
        self.assertFalse(page.is_visible("#walk-set"))

    def test_a_walk_sets_the_bands_that_it_needs_and_is_recorded(self):
        self.server.answers["recordings"] = {"recordings": []}
        page = self.opened_panel(centres=())
        self.until(page, "document.getElementById('walk-offer').textContent.includes('“Begin” sets processors.meters.weighting=z processors.meters.third_octave=[200, 250,')")
        page.set_checked("#walk-record", True)
        page.fill("#walk-level", "114")
        page.select_option("#walk-frequency", "250")
        page.click("#walk-begin")
        self.until(page, "document.getElementById('walk').checkVisibility()")
        changes = [one for one in self.server.requests if one.get("command") in ("set", "record")]
        self.assertEqual([one["command"] for one in changes], ["set", "record"])
        name = changes[1]["name"]
        self.assertTrue(re.fullmatch(r"calibrator-\d{4}-\d\d-\d\d-\d{6}", name), name)
        self.assertEqual({**changes[1], "name": ""}, {"command": "record", "action": "start", "bits": True, "images": False, "name": "",
                                                      "notes": "sound calibrator, 114 dB, 250 Hz"})
        self.server.answers["recordings"] = {"recordings": [{"name": f"{name}.nfr", "path": f"/data/{name}.nfr"}]}
        self.server.layouts["meters"] = levels_layout(16, CENTRES_HZ)
        self.server.disconnect()
        self.sound.tones = {1: (114.2, 250, 0)}
        self.says(page, "Microphone 1: +0.20 dB")
        page.click("#walk-end")
        self.until(page, "document.getElementById('walk-command').checkVisibility()")
        self.assertEqual(self.text("#walk-command"), f"nearfield calibrate /data/{name}.nfr --channel auto --level-db 114 -o gains.h5 "
                                                     "--set front_end.frequencies_hz='[250]'")
        self.assertEqual([one["action"] for one in self.server.requests if one.get("command") == "record"], ["start", "stop"])


if __name__ == "__main__":
    unittest.main()

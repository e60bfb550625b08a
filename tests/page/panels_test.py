"""Recordings, limits, microphones, sizes, contrast and keys of the page: `panels_test.py [unittest's options]`."""

import json
import re
import unittest

from shown_page import COLUMN, PageTest, ROW, position

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


class PanelsTest(PageTest):
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

    def test_recordings_are_listed_with_the_command_that_plays_them(self):
        page = self.shown()
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.click("#record-panel summary")
        self.assertFalse(page.is_visible("#play-recording"))
        page.click("#recordings-list")
        self.until(page, "document.querySelectorAll('#recordings button').length === 2")
        self.assertIn("by the level 0.5; door open", self.text("#recordings"))
        self.assertIn("2026-11-23", self.text("#recordings"))
        for name, command in (("first.nfr", "nearfield play /tmp/first.nfr"), ("it's.nfr", "nearfield play '/tmp/it'\\''s.nfr'")):
            page.click(f"#recordings button:text-is(\"{name}\")")
            self.until(page, f"document.getElementById('play-command').textContent === {json.dumps(command)}")
            page.click("#play-copy")
            self.until(page, "document.getElementById('play-copy').textContent === 'Copied'")
            self.assertEqual(page.evaluate("navigator.clipboard.readText()"), command)
        self.assertEqual({request["command"] for request in self.server.requests} - {"config"}, {"recordings"})

    def test_a_command_that_the_browser_does_not_copy_is_selected(self):
        page = self.shown()
        page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")  # as for a page of plain HTTP from another host
        page.click("#record-panel summary")
        page.click("#recordings-list")
        page.click("#recordings button:text-is('first.nfr')")
        page.click("#play-copy")
        self.until(page, "getSelection().toString() === 'nearfield play /tmp/first.nfr'")

    def test_settings_are_changed_as_they_are_filled_in(self):
        page = self.shown()
        page.click("#settings-panel summary")
        page.click("#change-set")
        self.until(page, "document.getElementById('change-answer').textContent === 'Refused: nothing is filled in'")
        page.fill("#change-frequencies", "500 , 1e3")
        page.fill("#change-standoff", "0.05")
        page.fill("#change-off", "5 x")
        page.fill("#change-others", "medium.sound_speed_m_s=340\n\n holography.upsample=2")
        page.click("#change-set")
        self.until(page, "document.getElementById('change-answer').textContent === 'Refused: Microphones off: expected numbers, found “x”'")
        page.fill("#change-off", "5, 17")
        page.click("#change-set")
        self.until(page, "document.getElementById('change-answer').textContent === 'set done'")
        self.assertEqual(self.server.requests[-1], {"command": "set", "settings": [
            "front_end.frequencies_hz=[500, 1e3]", "holography.standoff_m=0.05", "array.dead_channels=[5, 17]",
            "medium.sound_speed_m_s=340", "holography.upsample=2"]})
        self.assertEqual(page.input_value("#change-off"), "")
        self.server.is_writable = False
        self.server.disconnect()
        self.until(page, "document.getElementById('change-set').disabled")
        self.assertIn("open it with a token", self.text("#change-hint"))

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
        self.assertEqual(rows[1:], [["5", "0, 5", "masked by the monitor: dead"],
                                    ["9", "0, 9", "masked by the configuration: array.dead_channels"],
                                    ["300", "9, 12", "found bad, but in use: loud"]])
        legend = "[...document.querySelectorAll('#microphones-legend li')].map((entry) => entry.textContent)"
        self.until(page, f"{legend}.length === 4")
        self.assertEqual(page.evaluate(legend), ["in use: 1021", "masked by the configuration: 1", "masked by the monitor: 1", "found bad, but in use: 1"])
        self.assertEqual(page.get_attribute("#microphones", "aria-label"),
                         "Map of 1024 microphones: 1021 in use, 1 masked by the configuration, 1 masked by the monitor, 1 found bad, but in use")
        self.until(page, "document.getElementById('microphones-text').textContent.endsWith(' of 1024 used; watched; 2 masked, 0.38 % of the information missing, 2 found bad.')")
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


if __name__ == "__main__":
    unittest.main()

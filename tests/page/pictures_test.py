"""Pictures, their values, sources and photographs in a browser: `pictures_test.py [unittest's options]`."""

import cmath
import json
import math
import unittest

import numpy as np

from fake_server import FREQUENCIES_HZ, PITCH_M, axis_m, directions_layout, field, images_layout
from shown_page import COLUMN, PageTest, REFERENCE_PA, ROW, level_db, position

OUTSIDE = "(document.getElementById('outside').hidden ? '' : document.getElementById('outside-text').textContent)"


class PicturesTest(PageTest):
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

    def test_the_scale_is_fitted_to_each_other_field_and_holds_over_its_pictures(self):
        page = self.shown()

        def top_of(frequency, plane):
            return math.ceil(level_db(abs(field(frequency, plane)).max()))

        self.assertEqual(float(page.input_value("#top")), top_of(0, 0))
        self.assertTrue(page.is_checked("#scale-hold"))
        for axis, frequency, plane in (("frequency", 2, 0), ("z", 2, 1), ("frequency", 0, 1), ("z", 0, 0)):
            page.select_option(f"#axes select[data-axis={axis}]", str(frequency if axis == "frequency" else plane))
            self.until(page, f"document.getElementById('top').value === '{top_of(frequency, plane)}'")
        self.choose("processor", "far")
        self.until(page, "nearfield.known.newest?.layout.processor === 'far'")
        self.choose("processor", "surface")
        self.until(page, f"nearfield.known.newest?.layout.processor === 'surface' && document.getElementById('top').value === '{top_of(0, 0)}'")
        self.set("top", 20)  # typed: it holds, and the page says that nothing of the field lies on it
        self.until(page, f"{OUTSIDE} === 'all values are above the scale'")
        drawn = page.evaluate("nearfield.draws.length")
        self.until(page, f"nearfield.draws.length > {drawn} + 3")
        self.assertEqual(page.input_value("#top"), "20")
        self.set("top", 200)
        self.until(page, f"{OUTSIDE} === 'all values are below the scale'")
        page.select_option("#axes select[data-axis=frequency]", "2")
        self.until(page, f"document.getElementById('top').value === '{top_of(2, 0)}'")
        self.set("top", 80)
        page.click("#auto")
        self.assertEqual(float(page.input_value("#top")), top_of(2, 0))
        self.set("range-number", 60)
        self.assertEqual(page.input_value("#range"), "60")
        self.expect_colour("magnitude", 1 - (float(page.input_value("#top")) - level_db(field(2, 0)[ROW][COLUMN])) / 60)

    def test_what_the_caption_says_of_the_scale_is_of_the_drawing(self):
        page = self.shown()
        self.set("top", 200)
        self.until(page, f"{OUTSIDE} === 'all values are below the scale'")
        self.server.is_live = False
        page.select_option("#axes select[data-axis=frequency]", "2")
        self.until(page, f"{OUTSIDE} === ''")
        # Views follow a change between the arrival of a picture and its drawing, before which the scale is not fitted to it.
        page.evaluate("() => { const { history } = nearfield; const add = history.add.bind(history); globalThis.texts = []; history.add = (picture) => { add(picture);"
                      " document.getElementById('smooth').dispatchEvent(new Event('input')); queueMicrotask(() => texts.push(document.getElementById('caption').innerText)); }; }")
        self.server.is_live = True
        self.until(page, "texts.length > 3")
        self.assertEqual([text for text in page.evaluate("texts") if "the scale" in text], [])

    def test_a_map_of_one_colour_offers_to_fit_the_scale(self):
        page = self.shown()
        levels = np.sort(20 * np.log10(np.abs(field(0, 0)).ravel() / REFERENCE_PA))
        self.set("range-number", 3)  # 95 % are below, but the maximum is in sight
        drawn = page.evaluate("nearfield.draws.length")
        self.until(page, f"nearfield.draws.length > {drawn} + 3")
        self.assertFalse(page.is_visible("#fit"))
        self.set("range-number", 30)
        self.set("top", levels[len(levels) // 20])
        self.until(page, f"/^9[45] % of the values are above the scale$/.test({OUTSIDE})")
        self.set("top", levels[len(levels) // 2])
        self.until(page, f"{OUTSIDE} === ''")
        for amplitude, side in ((1e-3, "below"), (1.0, "above")):
            self.server.amplitude = amplitude
            self.until(page, f"{OUTSIDE} === 'all values are {side} the scale'")
            page.click("#fit")
            self.until(page, f"{OUTSIDE} === ''")
            self.assertEqual(float(page.input_value("#top")), math.ceil(levels[-1] + 20 * math.log10(amplitude)))
        page.uncheck("#decibels")
        self.server.amplitude = 1e-4
        self.until(page, f"{OUTSIDE} === 'all values are below the scale'")

    def test_hardly_any_sound_is_said(self):
        caption = "document.getElementById('caption-text').textContent"
        words = "hardly any sound at this frequency: all levels are below 0 dB re 20 µPa"
        self.server.amplitude = 0.9 * REFERENCE_PA / np.abs(field(0, 0)).max()
        page = self.shown()
        self.until(page, f"{caption}.startsWith('{words}; surface, pressure')")
        self.assertFalse(page.is_visible("#fit"))
        status = self.server.status
        self.server.status = lambda: {**status(), "counted_in": "samples", "input": {"pascal_per_unit": None}}
        self.until(page, f"{caption}.startsWith('{words}, if 1 of the samples is 1 Pa; ')")
        self.server.amplitude *= 1.2
        self.until(page, f"{caption}.startsWith('surface, pressure')")

    def test_the_chosen_frequency_is_kept_for_the_next_visit(self):
        page = self.shown()
        page.select_option("#axes select[data-axis=frequency]", "2")
        self.until(page, "nearfield.known.newest?.layout.select.frequency === 2")
        changed = images_layout()
        for frequencies_hz, index in ((FREQUENCIES_HZ, 2), ([250.5, *FREQUENCIES_HZ], 3), ([250.5], 0)):
            changed["axes"][1]["values"] = frequencies_hz
            self.server.layouts["surface"] = changed
            page.reload()
            self.until(page, f"globalThis.nearfield?.known.newest?.layout.select.frequency === {index}")

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

    # --- the array over the field ---

    def drawn_at(self, x, y):
        """[red, green, blue, opacity] of what is drawn over the field at a place of it."""
        return self.page.evaluate("([x, y]) => { nearfield.draw(); const s = nearfield.stage; const m = s.toCanvas;"
                                  " return [...s.overlay.getContext('2d').getImageData(Math.floor((m[0] * x + m[2]) * s.ratio), Math.floor((m[4] * y + m[5]) * s.ratio), 1, 1).data]; }", [x, y])

    def test_microphones_are_where_they_are_and_what_lies_beyond_is_hatched(self):
        wide = images_layout()
        wide["axes"][2]["values"] = wide["axes"][3]["values"] = [1.5 * value for value in axis_m(32)]  # to 0.465 m, microphones to 0.31 m
        page = self.shown(width=1280, height=800)
        self.until(page, "nearfield.known.microphones_m.length > 0")
        self.assertGreater(self.drawn_at(0.01, 0.01)[3], 100)  # a microphone
        self.assertEqual(self.drawn_at(0.02, 0.02)[3], 0)      # between four of them
        self.assertNotIn("hatched", self.text("#caption"))
        self.server.layouts["wide"] = {**wide, "processor": "wide"}
        self.server.disconnect()
        self.until(page, "nearfield.known.surveyed.has('wide')")
        self.choose("processor", "wide")
        self.until(page, "document.getElementById('caption').textContent.includes('hatched: beyond the outermost microphones')")
        step = page.evaluate("1 / nearfield.stage.toCanvas[0]")
        beyond = [self.drawn_at(0.4 + i * step, 0.0)[3] for i in range(18)]
        within = [self.drawn_at(0.02 + i * step, 0.02)[3] for i in range(3)]
        self.assertTrue(max(beyond) > 100 and min(beyond) == 0, beyond)  # lines
        self.assertEqual(within, [0, 0, 0])
        page.click("#show-microphones")
        self.assertEqual([self.drawn_at(0.4 + i * step, 0.0)[3] for i in range(18)], 18 * [0])
        self.assertEqual(self.drawn_at(0.01, 0.01)[3], 0)

    def test_microphones_of_no_grid_are_drawn(self):
        self.server.microphones_m = [[-0.5, -0.3, 0.0], [0.5, -0.3, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 0.0]]
        page = self.shown(width=1280, height=800)
        self.until(page, "nearfield.known.surveyed.has('far')")
        self.choose("processor", "far")
        self.until(page, "nearfield.known.newest?.layout.processor === 'far' && nearfield.known.microphones_m.length === 4")
        for place in ((-0.5, -0.3), (0.5, -0.3), (0.0, 0.4), (0.0, 0.0)):
            self.assertGreater(self.drawn_at(*place)[3], 100, place)
        self.assertNotIn("hatched", self.text("#caption"))  # a map far away is no image of the aperture

    # --- cursors, curves ---

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
        page.evaluate("document.getElementById('background-panel').open = true")
        page.set_input_files("#photo-file", files=[{"name": "room.svg", "mimeType": "image/png", "buffer": png(64, 48)}])
        self.until(page, "!document.getElementById('align').disabled")
        self.until(page, "document.querySelectorAll('#places input').length === 8")
        self.until(page, "document.getElementById('background-text').textContent.startsWith('Not aligned yet')")
        page.click("#align")
        self.until(page, "!document.getElementById('prompt').hidden")
        # The map's corners are clicked at the middle half of the stage.
        box = page.evaluate("(() => { const b = document.getElementById('stage').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")
        for u, v in ((0.25, 0.25), (0.7, 0.25), (0.6, 0.75), (0.3, 0.75)):
            page.mouse.click(box[0] + u * box[2], box[1] + v * box[3])
        self.until(page, "document.getElementById('prompt').hidden && nearfield.stage.toCanvas[7] !== 0")
        edges = page.evaluate("(() => { const m = nearfield.stage.toCanvas; const at = (x, y) => { const w = m[6] * x + m[7] * y + m[8];"
                              " return [(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w]; };"
                              " const [a, b] = [document.querySelectorAll('#places input')[0].valueAsNumber, document.querySelectorAll('#places input')[1].valueAsNumber];"
                              " return at(a, b); })()")
        self.assertAlmostEqual(edges[0], 0.25 * box[2], delta=2.5)  # the stage's border, and whole pixels of the mouse
        self.assertAlmostEqual(edges[1], 0.25 * box[3], delta=2.5)
        # The alignment is that of this photograph, of this array and of axes in metres.
        aligned = page.evaluate("nearfield.background.matrix")
        self.server.layouts["angles"] = {**directions_layout(), "processor": "angles"}
        page.reload()
        self.until(page, "globalThis.nearfield !== undefined && nearfield.known.newest !== null && nearfield.known.surveyed.has('angles')")
        self.assertIsNone(page.evaluate("nearfield.background.image"))
        page.evaluate("document.getElementById('background-panel').open = true")
        self.choose("background", "photograph")
        self.until(page, "nearfield.background.matrix !== null")
        self.assertEqual(page.evaluate("nearfield.background.matrix"), aligned)
        self.choose("processor", "angles")
        self.until(page, "nearfield.background.matrix === null")
        self.choose("processor", "far")
        self.until(page, "nearfield.background.matrix !== null")
        page.evaluate("nearfield.known.array = 'another'")
        self.until(page, "nearfield.background.matrix === null")

    def test_a_file_that_is_no_picture_and_another_plane_are_said(self):
        page = self.shown()
        page.evaluate("document.getElementById('background-panel').open = true")
        page.set_input_files("#photo-file", files=[{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no picture"}])
        self.until(page, "document.getElementById('prompt').textContent === 'notes.txt is no picture that this browser can read.'")
        page.keyboard.press("Escape")
        self.until(page, "document.getElementById('prompt').hidden")
        page.set_input_files("#photo-file", files=[{"name": "room.png", "mimeType": "image/png", "buffer": png(64, 48)}])
        self.until(page, "!document.getElementById('align').disabled && document.querySelectorAll('#places input').length === 8")
        page.click("#align")
        box = page.evaluate("(() => { const b = document.getElementById('stage').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")
        for u, v in ((0.25, 0.25), (0.7, 0.25), (0.6, 0.75), (0.3, 0.75)):
            page.mouse.click(box[0] + u * box[2], box[1] + v * box[3])
        self.until(page, "document.getElementById('prompt').hidden && document.getElementById('background-text').textContent === ''")
        page.select_option("#axes select[data-axis=z]", "1")
        self.until(page, "document.getElementById('background-text').textContent.startsWith('Aligned on the plane z 0 m; z 0.01 m lies elsewhere in the picture')")
        page.click("#photo-remove")
        self.until(page, "nearfield.background.image === null && document.getElementById('background').value === 'none'")

    def test_a_photograph_is_mirrored_and_turned_with_the_field(self):
        page = self.shown()
        page.evaluate("document.getElementById('background-panel').open = true")
        page.set_input_files("#photo-file", files=[{"name": "room.png", "mimeType": "image/png", "buffer": png(64, 48, corner=True)}])
        self.until(page, "document.querySelectorAll('#places input').length === 8 && !document.getElementById('align').disabled")
        # Each corner of the field is at the same corner of the photograph, a tenth inside.
        place = ("([u, v]) => { nearfield.draw(); const m = nearfield.stage.backgroundToCanvas({ width: 64, height: 48 }, nearfield.turn());"
                 " const b = document.getElementById('stage').getBoundingClientRect(); const s = document.getElementById('stage');"
                 " return [b.left + s.clientLeft + m[0] * u + m[1] * v + m[2], b.top + s.clientTop + m[3] * u + m[4] * v + m[5]]; }")
        page.click("#align")
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
                                    " const c = nearfield.stage.backgroundCanvas; const r = nearfield.stage.ratio;"
                                    " return [...c.getContext('2d').getImageData(Math.round((x - s.left - e.clientLeft) * r), Math.round((y - s.top - e.clientTop) * r), 1, 1).data]; }",
                                    page.evaluate(place, [0.03, 0.04]))
                self.assertEqual(red, [255, 0, 0, 255], side)
                page.click("#rotate")

    def test_axes_say_that_y_counts_downwards(self):
        page = self.shown()
        titles = page.evaluate("import('/stage.js').then(({ axisTitle }) => [['x', 'm'], ['y', 'm'], ['elevation', 'deg'], ['band', '1']]"
                               ".map(([name, unit]) => axisTitle({ name, unit })))")
        self.assertEqual(titles, ["x / m", "y / m, downwards", "elevation / deg", "band"])


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

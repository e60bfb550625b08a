"""The live page in a browser, served by nearfieldd: `server_test.py FOLDER_OF_nearfieldd [unittest's options]`.

A sender of a simulated array is started and killed, so that the input is lost and comes back.
"""

import base64
import http.client
import json
import math
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import numpy as np

from browser import BrowserTest, until

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/bin").resolve()

SCENE = """
version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major, sensitivity_dbfs: -26}
standoff_m: 0.03
duration_s: 0.1024  # whole periods of both tones: nothing jumps where the scene begins again
seed: 1
sigma_delta: {order: 2}
sources:
  - {kind: plate, frequency_hz: 1464.84375, width_m: 0.4, height_m: 0.3, modes: [{m: 3, n: 2, velocity_m_s: 0.01}]}
  - {kind: monopole, frequency_hz: 3330.078125, x_m: 0.01, y_m: 0.01, z_m: -0.02, volume_velocity_m3_s: 2.0e-5}
medium: {density_kg_m3: 1.2}
"""
MONOPOLE_HZ = 3330.078125
# Pressure of the monopole at the microphone right before it, 5 cm away: density * frequency * volume velocity / (2 * distance), peak.
MONOPOLE_PA = 1.2 * MONOPOLE_HZ * 2.0e-5 / (2 * 0.05)
CONFIGURATION = """
version: 1
array:
  {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major, sensitivity_dbfs: -26, health: {mask: false}}
front_end: {window_samples: 1024, hop_samples: 1024, frequencies_hz: [1464.84375, 2929.6875]}
holography: {standoff_m: 0.03, extrapolation: {order: 4}}
daemon:
  source: {kind: udp, address: '127.0.0.1:0', takeover_after_ms: 200}
  publish: {ring: {socket: frames.sock}}
  control: {socket: control.sock}
  recording: {directory: .}
  deadlines: {frame_ms: 60000}
  metrics: {address: off}
  page: {address: '127.0.0.1:0'}
"""


DECODE = """async (png) => {
  const blob = await (await fetch('data:image/png;base64,' + png)).blob();
  const image = await createImageBitmap(blob, { colorSpaceConversion: 'none' });
  const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  let text = '';
  for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
  return [image.height, image.width, btoa(text)];
}"""


def pixels_of(page, path):
    """[row][column][red, green, blue] of a PNG, which the browser decodes."""
    rows, columns, text = page.evaluate(DECODE, base64.b64encode(path.read_bytes()).decode())
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(rows, columns, 4)[:, :, :3].astype(int)


def has_bar(picture, table):
    """Whether a column of the picture has the table's colours from above to below, without a gap."""
    least = 100  # rows of a bar
    is_like = [np.abs(picture - table[i]).max(axis=2) <= 3 for i in (255, 0)]
    for at in np.flatnonzero(is_like[0].any(axis=0) & is_like[1].any(axis=0)):
        column, is_first, is_last = picture[:, at], is_like[0][:, at], is_like[1][:, at]
        for first in np.flatnonzero(is_first):
            for last in np.flatnonzero(is_last):
                rows = last - first + 1
                if rows < least:
                    continue
                index = (1 - (np.arange(rows) + 0.5) / rows) * 255
                below, above = table[np.floor(index).astype(int)], table[np.ceil(index).astype(int)]
                bar = column[first:last + 1]
                # Between two entries of the table, which are rounded as the pixel is.
                if np.all((bar >= np.minimum(below, above) - 1) & (bar <= np.maximum(below, above) + 1)):
                    return True
    return False


class Daemon:
    """A nearfieldd with a sender, in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "scene.yaml").write_text(SCENE)
        (folder / "nearfieldd.yaml").write_text(CONFIGURATION)
        self.sender = None
        with open(folder / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([BIN / "nearfieldd", "-c", folder / "nearfieldd.yaml"], stderr=log, cwd=folder,
                                            env={**os.environ, "NEARFIELD_RUNTIME_DIR": str(folder)})
        self.url = self.logged(r"page at (http://[^;,\s]*/)")
        status = subprocess.run([BIN / "nearfield", "ctl", "--socket", folder / "control.sock", "--wait", "status", "--json"],
                                capture_output=True, text=True, check=True).stdout
        self.address = f"127.0.0.1:{json.loads(status)['port']}"
        self.token = (folder / "control.sock.page_token").read_text(encoding="utf-8").strip()

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    def logged(self, pattern):
        def found():
            if self.process.poll() is not None:
                raise AssertionError(f"nearfieldd ended: {self.log()}")
            return re.search(pattern, self.log())
        match = until(found, f"{pattern} in the log", 120)
        return next(group for group in match.groups() if group)

    def set(self, *settings):
        subprocess.run([BIN / "nearfield", "ctl", "--socket", self.folder / "control.sock", "set", *settings], check=True, stdout=subprocess.DEVNULL)

    def get(self, key):
        done = subprocess.run([BIN / "nearfield", "ctl", "--socket", self.folder / "control.sock", "get", key], check=True, capture_output=True, text=True)
        return done.stdout.split("=")[-1].strip()

    def send(self):
        self.sender = subprocess.Popen([BIN / "nearfield", "send", self.folder / "scene.yaml", "--loop", "--to", self.address],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop_sender(self):
        if self.sender:
            self.sender.kill()
            self.sender.wait()
            self.sender = None

    def stop(self):
        self.stop_sender()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)


class ServedPage(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.daemon = Daemon(pathlib.Path(folder.name))
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.send()

    def shown(self, query=""):
        page = self.opened(self.daemon.url + query)
        self.until(page, "globalThis.nearfield !== undefined && nearfield.draws.some((draw) => draw.isLive)", 60)
        return page

    def set_cursor(self, page):
        """Its row comes with the next refresh of the panels and moves those below: a click on the way would miss them."""
        self.assertFalse(page.evaluate("document.getElementById('cursor-table').hasChildNodes()"))
        page.evaluate("nearfield.view.cursors = [{ x: 0.01, y: 0.01 }]")
        self.until(page, "document.getElementById('cursor-table').hasChildNodes()")

    def answer(self, path="/", host=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.daemon.url.split(":")[-1].strip("/")), timeout=30)
        self.addCleanup(connection.close)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", path, headers={**headers, **({"Host": host} if host else {})})
        return connection.getresponse().status

    def test_pictures_come_and_a_lost_input_is_said(self):
        page = self.shown()
        self.assertEqual(page.evaluate("[nearfield.known.newest.grid.rows, nearfield.known.newest.grid.columns]"), [8, 8])
        self.daemon.stop_sender()
        self.until(page, "document.getElementById('condition').textContent.startsWith('No input')")
        self.assertTrue(page.evaluate("document.getElementById('stage').classList.contains('not-live')"))
        page.evaluate("nearfield.draws.length = 0")
        self.daemon.send()
        self.until(page, "nearfield.draws.some((draw) => draw.isLive)")
        self.assertTrue(page.evaluate("nearfield.draws.every((draw) => !draw.isLive || draw.age_ms <= 1000)"))
        self.assertEqual(self.errors, [])

    def test_a_frequency_and_a_spectrum_are_chosen(self):
        page = self.shown()
        loud = page.evaluate("Math.max(...nearfield.known.newest.values)")
        page.select_option("#axes select[data-axis=frequency]", "1")
        self.until(page, "nearfield.known.newest?.layout.select.frequency === 1")
        self.assertLess(page.evaluate("Math.max(...nearfield.known.newest.values)"), loud)  # the plate's tone is the first one
        self.assertEqual(self.errors, [])

    def test_a_spectrum_is_added_at_the_cursor_and_has_the_level_of_a_tone(self):
        page = self.shown(f"?token={self.daemon.token}")
        page.click("#lines-panel summary")
        self.until(page, "document.getElementById('spectrum-text').textContent.startsWith('No processor gives spectra')")
        self.set_cursor(page)
        page.click("#spectrum-here")
        self.until(page, "nearfield.known.processors.includes('spectrum')", 120)
        # The largest value of the curve within 100 Hz of the monopole's tone, which is none of the configured frequencies.
        peak = (f"(() => {{ const graph = nearfield.lines.spectrum.graph; let most = [0, -Infinity]; for (let i = 0; i < (graph?.numRows() ?? 0); ++i)"
                f" if (Math.abs(graph.getValue(i, 0) - {MONOPOLE_HZ}) < 100 && graph.getValue(i, 1) > most[1]) most = [graph.getValue(i, 0), graph.getValue(i, 1)]; return most; }})()")
        expected_db = 20 * math.log10(MONOPOLE_PA / (20e-6 * math.sqrt(2)))
        until(lambda: abs(page.evaluate(peak)[1] - expected_db) < 0.2, f"a peak of {expected_db:.2f} dB")
        frequency_hz, level_db = page.evaluate(peak)
        self.assertLess(abs(level_db - expected_db), 0.2)
        self.assertLess(abs(frequency_hz - MONOPOLE_HZ), 46875 / 4096)  # a bin of the default window
        self.assertEqual(self.daemon.get("processors.spectrum.every_hops"), "9")  # of 45.8 hops a second: five spectra
        self.assertEqual(self.errors, [])

    def test_a_token_lets_record(self):
        reader = self.shown()
        reader.click("#record-panel summary")
        self.until(reader, "document.getElementById('record-state').textContent.includes('token')")
        page = self.shown(f"?token={self.daemon.token}")
        self.assertNotIn("token", page.url)
        page.click("#record-panel summary")
        self.until(page, "!document.getElementById('record-start').disabled")
        page.fill("#record-name", "from-the-page")
        page.click("#record-start")
        self.until(page, "document.getElementById('record-answer').textContent.length > 2")
        self.assertNotIn("Refused", page.inner_text("#record-answer"))
        until(lambda: list(self.daemon.folder.glob("from-the-page*")), "a recording")
        self.until(page, "document.getElementById('record-state').textContent.includes('begun by')")
        page.click("#record-stop")
        # "idle", or, where another recording was made before, how that one ended.
        self.until(page, "!document.getElementById('record-state').textContent.includes('begun by')")

    def test_a_recording_is_triggered_and_listed_with_its_command(self):
        page = self.shown(f"?token={self.daemon.token}")
        page.click("#record-panel summary")
        self.until(page, "!document.getElementById('record-start').disabled")
        page.select_option("#trigger-kind", "external")
        page.click("#trigger-set")
        self.until(page, "document.getElementById('trigger-state').textContent.startsWith('Armed')")
        page.click("#record-trigger")
        self.until(page, "document.getElementById('record-state').textContent.includes('begun by record trigger')")
        page.wait_for_timeout(300)
        page.click("#record-stop")
        page.select_option("#trigger-kind", "none")
        page.click("#trigger-set")
        self.until(page, "document.getElementById('trigger-state').textContent.startsWith('Not armed')")
        page.click("#recordings-list")
        self.until(page, "[...document.querySelectorAll('#recordings tr')].some((row) => row.textContent.includes('by record trigger'))")
        page.click("#recordings tr:has-text('by record trigger') button")
        words = shlex.split(page.inner_text("#play-command"))
        self.assertEqual(words[:2], ["nearfield", "play"])
        self.assertTrue((self.daemon.folder / words[2]).is_file(), words)
        self.assertEqual(self.errors, [])

    def test_a_microphone_that_the_configuration_masks_is_marked(self):
        page = self.shown(f"?token={self.daemon.token}")
        self.addCleanup(self.daemon.set, "array.dead_channels=[]")
        page.click("#microphones-panel summary")
        self.until(page, "nearfield.known.microphones_m.length === 64 && document.getElementById('microphones').dataset.key !== undefined")
        page.click("#settings-panel summary")
        page.fill("#change-off", "9")
        page.click("#change-set")
        self.until(page, "nearfield.known.status?.microphones.masked_channels.length === 1", 60)
        self.assertEqual(page.evaluate("nearfield.known.status.microphones.masked_channels"), [{"channel": 9, "row": 1, "column": 1, "cause": "configuration"}])
        self.until(page, "document.getElementById('bad').textContent.includes('masked by the configuration')")
        # The middle of its mark is empty, those of its neighbours are not.
        middle = ("([column, row]) => { const m = document.getElementById('microphones'); const [w, h] = [m.clientWidth, m.clientHeight]; const room = Math.min(w, h) - 20;"
                  " const at = (size, i) => Math.round(window.devicePixelRatio * (size / 2 + (i / 7 - 0.5) * room));"
                  " return m.getContext('2d').getImageData(at(w, column), at(h, row), 1, 1).data[3]; }")
        self.until(page, f"[0, 1, 2, 3].map((column) => ({middle})([column, 1])).join() === '255,0,255,255'")
        self.assertEqual(self.errors, [])

    def colours(self):
        with urllib.request.urlopen(self.daemon.url + "colours.json", timeout=30) as answer:
            return {name: np.array(table) for name, table in json.load(answer).items()}

    def test_a_pixel_has_the_colour_of_the_table(self):
        page = self.shown()
        page.click("#freeze")
        page.evaluate("for (const id of ['smooth', 'decibels']) { const e = document.getElementById(id); if (e.checked) e.click(); }")
        values = np.array(page.evaluate("[...nearfield.shown().values]")).reshape(8, 8, 2) @ [1, 1j]
        top = page.evaluate("nearfield.view.scales.get('surface/images').top")
        axes = page.evaluate("[nearfield.shown().picture.grid.down.values, nearfield.shown().picture.grid.across.values]")
        tables = self.colours()
        for mode, table, share in (("magnitude", "magnitude", np.abs(values) / top), ("phase", "phase", np.angle(values) / (2 * math.pi) + 0.5)):
            page.select_option("#mode", mode)
            for row, column in ((0, 0), (3, 4), (4, 3), (7, 2)):
                found = page.evaluate("([x, y]) => nearfield.colourAt(x, y).colour", [axes[1][column], axes[0][row]])
                index = round(min(share[row, column], 1) * 255)
                near = [[*tables[table][i], 255] for i in range(max(0, index - 1), min(255, index + 1) + 1)]  # 32-bit floats may round to a neighbour
                self.assertIn(found, near, f"{mode}, row {row}, column {column}")

    def test_pictures_of_replay_have_the_colours_of_the_page(self):
        folder = self.daemon.folder
        page = self.opened("about:blank")

        def run(*words):
            subprocess.run([BIN / "nearfield", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        run("simulate", "scene.yaml", "-o", "capture.h5")
        tables = self.colours()
        for quantity, found in (("pressure", ["magnitude", "phase"]), ("active_intensity", ["signed"])):
            (folder / quantity).mkdir()
            run("replay", "capture.h5", "-c", "nearfieldd.yaml", "--set", f"holography.quantity={quantity}", "-o", f"{quantity}.h5", "--frames", "1", "--png", quantity)
            picture = pixels_of(page, sorted((folder / quantity).glob("*.png"))[0])
            for name in found:
                self.assertTrue(has_bar(picture, tables[name]), f"{quantity}: expected a bar of the page's colours for {name}")
                self.assertFalse(has_bar(picture, tables[name][::-1]))
                # The comparison sees a table that is a little off.
                self.assertFalse(has_bar(picture, np.minimum(tables[name] + 4, 255)))

    def test_a_limit_at_the_cursor_is_exceeded(self):
        page = self.shown(f"?token={self.daemon.token}")
        self.set_cursor(page)
        page.click("#limits-panel summary")
        self.until(page, "document.getElementById('limits-panel').open")
        page.fill("#limit-name", "here")
        page.fill("#limit-above", "40")  # far below the plate's pressure
        page.click("#limit-set")
        self.until(page, "/exceeded/.test(document.getElementById('limit-events').textContent)", 60)
        self.until(page, "nearfield.known.status?.limits[0]?.state === 'above'")
        page.fill("#limit-above", "200")  # the same limit, which is left as it is changed
        page.click("#limit-set")
        self.until(page, "/left/.test(document.getElementById('limit-events').textContent)", 60)
        self.until(page, "nearfield.known.status?.limits[0]?.state === 'ok'")
        self.assertEqual(self.errors, [])

    def test_strangers_are_refused(self):
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13",
                   "Sec_WebSocket_Key": base64.b64encode(bytes(16)).decode()}
        own = self.daemon.url.rstrip("/")
        self.assertEqual(self.answer(), 200)
        self.assertEqual(self.answer(host="evil.example"), 421)
        self.assertEqual(self.answer("/?token=wrong"), 403)
        self.assertEqual(self.answer("/stream", Origin=own, **upgrade), 101)
        self.assertEqual(self.answer("/stream", Origin="http://evil.example", **upgrade), 403)
        self.assertEqual(self.answer("/stream", host="evil.example", Origin="http://evil.example", **upgrade), 421)


if __name__ == "__main__":
    unittest.main()

"""Meters and the walk with a calibrator before nearfieldd, whose microphones a pipe brings: `walk_test.py FOLDER_OF_nearfieldd [unittest's options]`."""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

from browser import BrowserTest, until

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/bin").resolve()
RATE_HZ, CHANNELS, BLOCK = 48000, 16, 1200
PASCAL_PER_UNIT = 10
CONFIGURATION = f"""
version: 1
array: {{rows: 4, columns: 4, pitch_x_m: 0.02, pitch_y_m: 0.02, pascal_per_unit: {PASCAL_PER_UNIT}}}
front_end: {{window_samples: 1024, hop_samples: 1024, frequencies_hz: [984.375]}}
holography: {{standoff_m: 0.03, extrapolation: {{order: 2}}}}
daemon:
  source: {{kind: pipe, path: '-', payload: samples, format: f32, sample_rate_hz: {RATE_HZ}}}
  publish: {{ring: {{socket: frames.sock}}, zmq: {{endpoint: off}}}}
  control: {{socket: control.sock}}
  recording: {{directory: .}}
  deadlines: {{frame_ms: 60000}}
  metrics: {{address: off}}
  page: {{address: '127.0.0.1:0'}}
"""


class Array:
    """Microphones with a little noise, and tones of some: {channel: (level in dB, frequency in Hz)}."""

    def __init__(self, pipe):
        self.pipe = pipe
        self.tones = {}
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        rng = np.random.default_rng(1)
        begun_s, sent = time.monotonic(), 0
        while not self.is_over:
            pascal = 1e-3 * rng.standard_normal((BLOCK, CHANNELS))
            seconds = (sent + np.arange(BLOCK)) / RATE_HZ
            for channel, (level_db, frequency_hz) in list(self.tones.items()):
                pascal[:, channel] += np.sqrt(2) * 20e-6 * 10 ** (level_db / 20) * np.sin(2 * np.pi * frequency_hz * seconds)
            try:
                self.pipe.write((pascal / PASCAL_PER_UNIT).astype("<f4").tobytes())
                self.pipe.flush()
            except BrokenPipeError:
                return
            sent += BLOCK
            time.sleep(max(0.0, begun_s + sent / RATE_HZ - time.monotonic()))


class WalkTest(BrowserTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "nearfieldd.yaml").write_text(CONFIGURATION)
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            self.daemon = subprocess.Popen([BIN / "nearfieldd", "-c", "nearfieldd.yaml"], stdin=subprocess.PIPE, stderr=log, cwd=self.folder,
                                           env={**os.environ, "NEARFIELD_RUNTIME_DIR": str(self.folder)})
        self.array = Array(self.daemon.stdin)
        self.addCleanup(self.stop)
        log = self.folder / "log"
        url = until(lambda: self.daemon.poll() is not None or re.search(r"page at (http://[^;,\s]*/)", log.read_text(encoding="utf-8")), "a page", 120)
        self.assertIsNone(self.daemon.poll(), log.read_text(encoding="utf-8"))
        file = self.folder / "control.sock.page_token"
        token = until(lambda: file.exists() and file.read_text(encoding="utf-8").strip(), "the token")
        self.page = self.opened(f"{url[1]}?token={token}", width=1280, height=800)

    def stop(self):
        self.array.is_over = True
        self.array.thread.join(10)
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait(60)
        self.daemon.stdin.close()

    def text(self, name):
        return self.page.evaluate(f"document.getElementById('{name}').textContent")

    def says(self, text):
        def is_said():
            return text in self.text("walk-text")

        try:
            until(is_said, text)
        except AssertionError as error:
            self.fail(f"{error}; the page says {self.text('walk-text')!r}, {self.text('walk-answer')!r}")

    def test_meters_are_added_read_walked_with_and_removed(self):
        page = self.page
        self.until(page, "globalThis.nearfield !== undefined && nearfield.known.status !== null", 60)
        page.click("#meters-panel summary")
        self.until(page, "!document.getElementById('meters-add').disabled")
        page.click("#meters-add")
        self.until(page, "nearfield.meters.frames > 3", 60)

        self.array.tones = {5: (93.98, 1000)}
        self.until(page, "10 * Math.log10(nearfield.meters.level.slow[5] / 4e-10) > 93.88")
        levels_db = page.evaluate("Object.values(nearfield.meters.level).map((of) => 10 * Math.log10(of[5] / 4e-10))")
        for level_db in levels_db:
            self.assertAlmostEqual(level_db, 93.98, delta=0.1)
        self.assertAlmostEqual(page.evaluate("20 * Math.log10(nearfield.meters.peak_pa[5] / 20e-6)"), 93.98 + 3.01, delta=0.1)
        self.array.tones = {}

        self.until(page, "document.getElementById('walk-record').checked")  # 3 MB a second: not much
        page.click("#walk-begin")
        self.says("Put the calibrator on a microphone.")
        for channel, level_db in ((3, 94.4), (12, 93.2)):
            self.array.tones = {channel: (level_db, 1000)}
            self.says(f"Microphone {channel}: {'+' if level_db > 94 else '−'}{abs(level_db - 94):.1f}")
            self.array.tones = {}
            self.says("Put the calibrator on another microphone.")
        self.array.tones = {4: (94, 500)}
        self.says("This is no calibrator of 1000 Hz: the band of 500 Hz has most of the level of microphone 4.")
        self.array.tones = {4: (94, 1000), 5: (88, 1000)}
        self.says("Not alone: microphone 5 is only 6.0 dB below microphone 4")
        self.array.tones = {}
        self.says("Put the calibrator on another microphone.")
        page.click("#walk-end")
        self.until(page, "document.getElementById('walk-command').textContent !== ''")
        self.assertIn("Median of 2: −0.20 dB", self.text("walk-summary"))
        self.assertIn("array.pascal_per_unit: 10.23", self.text("walk-level-text"))

        # The command's gains are those of the page.
        words = shlex.split(self.text("walk-command"))
        done = subprocess.run([BIN / words[0], *words[1:]], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 65, done.stderr)  # too few microphones for images
        self.assertIn("gains.h5: written", done.stderr)
        read = "import h5py, json; gains = h5py.File('gains.h5')['gains'][0].real.ravel(); print(json.dumps({i: float(g) for i, g in enumerate(gains) if g == g}))"
        gains = json.loads(subprocess.run(["/usr/bin/python3", "-c", read], cwd=self.folder, capture_output=True, text=True, check=True).stdout)
        self.assertEqual(sorted(gains), ["12", "3"])
        self.assertAlmostEqual(-20 * np.log10(gains["3"]), 0.4, delta=0.02)
        self.assertAlmostEqual(-20 * np.log10(gains["12"]), -0.8, delta=0.02)

        page.click("#meters-remove")
        self.until(page, "!nearfield.known.processors.includes('meters') && !document.getElementById('meters-add').hidden")
        self.assertEqual(self.errors, [])


if __name__ == "__main__":
    unittest.main()

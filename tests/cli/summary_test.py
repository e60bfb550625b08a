#!/usr/bin/python3
"""`nearfield summary` and `compare --before`: `summary_test.py FOLDER_OF_nearfield`.

Both are carried out by the Python package of this source tree, whose own tests have levels and pages (python/tests/test_summary.py): here is what
the program hands on, and a run from its simulation to its page.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program  # noqa: E402

os.environ |= {"NEARFIELD_PYTHON": "/usr/bin/python3", "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2] / "python/src"),
               "PYTHONDONTWRITEBYTECODE": "1"}
NEARFIELD = Program(pathlib.Path(sys.argv.pop(1)) / "nearfield")
SCENE = """version: 1
array: {{rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02}}
standoff_m: 0.03
duration_s: 0.05
sources: [{{kind: monopole, frequency_hz: 1007.080078125, x_m: 0.01, y_m: -0.01, z_m: 0.0, volume_velocity_m3_s: {velocity}}}]
"""
WORDS = "install python3-nearfield, or the wheel"


class Summary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nearfield-summary-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *words, code=0, **environment):
        done = subprocess.run([NEARFIELD, *map(str, words)], capture_output=True, text=True, check=False, env=os.environ | environment)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def images(self, name, velocity, frames):
        """Images of one source: half the volume velocity is half the pressure."""
        (self.folder / "scene.yaml").write_text(SCENE.format(velocity=velocity))
        NEARFIELD.require("simulate", self.folder / "scene.yaml", "-o", self.folder / "capture.h5")
        NEARFIELD.require("replay", self.folder / "capture.h5", "-o", self.folder / name, "--engine", "reference", "--frames", frames,
                          "--set", "front_end.frequencies_hz=[1007.08]", "--set", "holography.imager=pnah", "--set", "holography.extrapolation.order=4")
        return self.folder / name

    def test_python_gets_what_was_typed(self):
        python = self.folder / "python"
        python.write_text("#!/bin/sh\nshift 2\nprintf '[%s]' \"$@\"\nexit 9\n")
        python.chmod(0o755)
        given = {"NEARFIELD_PYTHON": str(python)}
        done = self.run_it("summary", "a b.h5", "-q", "-o", "a.html", "--range", "30", "--title", "A <b>", "--", "-b.h5", code=9, **given)
        self.assertEqual(done.stdout, f"[summary][nearfield.summary][{WORDS}][--output=a.html][--title=A <b>][--range=30][--][a b.h5][-b.h5]")
        done = self.run_it("compare", "--before", "a.h5", "--json", "--after", "b.h5", "--average", "median", code=9, **given)
        self.assertEqual(done.stdout, f"[compare][nearfield.compare][{WORDS}][--json][--before=a.h5][--after=b.h5][--average=median]")

    def test_from_recordings_to_a_page_and_a_difference(self):
        before, after = self.images("before.h5", 1.0e-5, 2), self.images("after.h5", 0.5e-5, 5)
        done = self.run_it("summary", before, after, "-o", self.folder / "page.html")
        self.assertIn("page.html: ", done.stdout)
        self.assertIn("6.0 dB less over the surface", (self.folder / "page.html").read_text())
        found = json.loads(self.run_it("compare", "--before", before, "--after", after, "--json").stdout)
        self.assertEqual((found["frames_before"], found["frames_after"]), (2, 5))
        self.assertAlmostEqual(found["products"][0]["maps"][0]["surface"]["change_db"], -6.0206, delta=0.05)  # the noise of one-bit microphones
        self.assertIn("6.0 dB less over the surface", self.run_it("compare", "--before", before, "--after", after).stdout)

    def test_what_does_not_go_together_is_refused(self):
        for words, said in ((("compare",), "expected a reference and another images file, or --before and --after"),
                            (("compare", "a.h5"), "expected a reference and another images file, or --before and --after"),
                            (("compare", "--before", "a.h5"), "--before requires --after"),
                            (("compare", "--after", "a.h5"), "--after requires --before"),
                            (("compare", "a.h5", "b.h5", "--average", "median"), "--average requires --before"),
                            (("compare", "c.h5", "--before", "a.h5", "--after", "b.h5"), "reference excludes --before"),
                            (("summary", "a.h5"), "--output is required"),
                            (("summary", "a.h5", "-o", "a.h5"), "--output: a.h5 is a.h5 too; expected a file of its own"),
                            (("summary", "a.h5", "b.h5", "-o", "b.h5"), "--output: b.h5 is b.h5 too; expected a file of its own"),
                            (("summary", "a.h5", "-o", "-"), "found -")):
            with self.subTest(words):
                self.assertIn(said, self.run_it(*words, code=64).stderr)


if __name__ == "__main__":
    unittest.main()

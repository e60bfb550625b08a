#!/usr/bin/python3
"""What the far field refuses: `far_field_refusals_test.py FOLDER_OF_nearfield`.

Each wrong setting ends `nearfield replay` with one message, which names the key, what was found and what was expected, before memory of
the size that was asked for is taken: the peak of the process is held to that of a replay that succeeds.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program, sets  # noqa: E402
from time_data_files import write_acoular  # noqa: E402

NEARFIELD = Program(pathlib.Path(sys.argv.pop(1)) / "nearfield")
RATE_HZ = 48000.0
PITCH_M = 0.02
MOST_GROWTH_KIB = 32 << 10  # a grid of 10^9 pixels would be 4 GiB at the least
PEAK_OF_CHILD = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""  # in KiB

# Of a processor `far` of kind beamform: settings, exit code, words of the message beside the key of the last setting.
BEAMFORM = {
    "a plane of 10^10 pixels": (["grid.step_m=0.00001"], "grid:", "at most 4194304 pixels", "10000200001"),
    "10^10 angles": (["grid.kind=angles", "grid.step_deg=0.001"], "grid:", "at most 4194304 pixels", "14400240001"),
    "a volume of 10^11 pixels": (["grid.kind=volume", "grid.distance_m=[0.1,100]", "grid.step_m=0.001"], "grid:", "4194304", "99901 planes"),
    "maps of 2 GiB": (["grid.step_m=0.0006", f"^front_end.frequencies_hz={[1000 + 50 * i for i in range(100)]}"], "grid:", "less than 2 GiB", "2778889"),
    "a distance that is no number": (["grid.distance_m=[.nan]"], "grid.distance_m[0]:", "from 0.01 to 1000 m", '".nan"'),
    "a distance of a millimetre": (["grid.distance_m=[0.001]"], "grid.distance_m[0]:", "from 0.01 to 1000 m", '"0.001"'),
    "a pair the wrong way round": (["grid.x_m=[0.5, -0.5]"], "grid.x_m:", "the first not above the last", "found a list of 2, [0.5, -0.5]"),
    "65 distances": ([f"grid.distance_m={list(range(1, 66))}"], "grid.distance_m:", "1 to 64 distances", "65"),
    "a band without bins": (["average.kind=linear", "bands.third_octave=[100]"], "bands.third_octave:", "at least 3 bins", "windows of 6241 samples", "found 0.492 bins"),
    "too few snapshots": (["method=capon", "sources=8", "average.snapshots=8"], "average.snapshots:", "at least 10", "found 8"),
    "removal without an average": (["diagonal_removal=true"], "diagonal_removal:", "expected false", "average.kind: none"),
    "removal with a history": (["method=capon", "diagonal_removal=true"], "diagonal_removal:", "expected false", "method: capon"),
    "templates without a file": (["steering.model=measured"], "steering.file:", "expected a file of templates", "found null"),
    "65 of 64 microphones": (["steering.subset=random 65"], "steering.subset:", "at most the 64 microphones", "found 65"),
    "one plane to look for the largest in": (["focus=max"], "focus:", "at least two planes", "one plane"),
    "a sector beside the grid": (["sectors=[{name: a, x_m: [5, 6], y_m: [5, 6]}]"], "sectors[0]:", "inside the grid's pixels", "[5, 6]"),
}
SRP_PHAT = {
    "a plane of 10^10 pixels": (["grid.step_m=0.00001"], "grid:", "at most 4194304 pixels", "10000200001"),
    "9000 pairs": (["domain=time", "pairs=longest 9000"], "pairs:", "1 to 8192", '"longest 9000"'),
    "a band without bins": (["band_hz=[1000,1001]"], "band_hz:", "at least one multiple of 46.875 Hz", "found [1000, 1001]"),
    "3328 bins": (["band_hz=[500,20000]", "^front_end.window_samples=8192"], "band_hz:", "at most 1000 bins", "found 3328"),
}


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        generator = np.random.default_rng(1)
        cls.recording = cls.folder / "recording.h5"
        write_acoular(cls.recording, generator.standard_normal((2100, 64)), RATE_HZ)
        cls.other = cls.folder / "other.h5"
        write_acoular(cls.other, generator.standard_normal((40000, 16)), RATE_HZ)
        done, cls.usual_kib = cls.replay([*cls.grid(8), "processors.far.kind=beamform", "processors.far.grid.step_m=0.1"])
        assert done.returncode == 0, done.stderr

    @staticmethod
    def grid(side):
        return [f"array.rows={side}", f"array.columns={side}", f"array.pitch_x_m={PITCH_M}", f"array.pitch_y_m={PITCH_M}", "holography.standoff_m=0.03"]

    @classmethod
    def replay(cls, settings):
        """The ended process, and the peak of its memory."""
        done = subprocess.run([sys.executable, "-c", PEAK_OF_CHILD, NEARFIELD, "replay", cls.recording, "-o", cls.folder / "images.h5",
                               "--frames", "1", *sets(settings)], capture_output=True, text=True, check=False)
        return done, int(done.stdout.splitlines()[-1])

    def assert_refused(self, settings, *words):
        done, peak_kib = self.replay(settings)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertEqual(done.stderr.count("nearfield: error:"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertLess(peak_kib, self.usual_kib + MOST_GROWTH_KIB)

    def test_settings_of_processors(self):
        for kind, cases in (("beamform", BEAMFORM), ("srp_phat", SRP_PHAT)):
            for name, (settings, key, *words) in cases.items():
                with self.subTest(kind=kind, case=name):
                    whole = [one[1:] if one.startswith("^") else f"processors.far.{one}" for one in settings]
                    self.assert_refused([*self.grid(8), f"processors.far.kind={kind}", *whole], f"processors.far.{key}", *words)

    def test_positions_of_other_channels(self):
        path = self.folder / "positions.csv"
        places_m = np.random.default_rng(2).uniform(-0.3, 0.3, (63, 2))
        path.write_text("x_m,y_m,z_m\n" + "".join(f"{x},{y},0\n" for x, y in places_m))
        self.assert_refused([f"array.positions={path}", "holography.standoff_m=0.03", "holography.imager=none", "processors.far.kind=beamform"],
                            "array.positions:", "expected the 64 channels", "found 63")

    def test_templates_of_another_array(self):
        templates = self.folder / "templates.h5"
        frequency = "front_end.frequencies_hz=[984.375]"
        NEARFIELD.require("templates", self.other, "--at", "0,0,-1", "-o", templates, *sets([*self.grid(4), frequency]))
        self.assert_refused([*self.grid(8), frequency, "processors.far.kind=beamform", "processors.far.steering.model=measured",
                             f"processors.far.steering.file={templates}"],
                            "processors.far.steering.file", "8 x 8 microphones", "found 4 x 4")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)

#!/usr/bin/python3
"""Where files say that microphones stand, on whose axes: `axes_test.py FOLDER_OF_nearfield`.

Sources and arrays are written as Acoular has them, z towards the sources, as universal files, with z up, in other places and with channels
that are no microphones; what `replay` finds, and what the matrix of `csm` says by Acoular's own formula, is where the source is.
"""

import pathlib
import sys
import tempfile
import unittest

import h5py
import numpy as np
import scipy.io
import soundfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program, sets  # noqa: E402
from time_data_files import Grid, monopole, universal, universal_nodes, write_acoular, write_acoular_xml  # noqa: E402

NEARFIELD = Program(pathlib.Path(sys.argv.pop(1)) / "nearfield")
SOUND_SPEED_M_S = 343.0
RATE_HZ = 51200.0
WINDOW = 1024
TONE_HZ = 2000.0  # a bin of the window
SOURCE_M = np.array([0.2, 0.1, 0.75])  # Acoular's: before an array at z = 0
FAR = ("processors.far={kind: beamform, grid: {kind: plane, distance_m: [0.75], x_m: [-0.5, 0.5], y_m: [-0.5, 0.5], step_m: 0.02}}")


def tilted_ring(count=56, radius_m=0.64, tilt_deg=11.0):
    """As Acoular's array_56_10_9: microphones with depth, a turn of them with a wobble so that they are on no circle."""
    angle = 2 * np.pi * np.arange(count) / count
    radius = radius_m * (0.4 + 0.6 * np.sqrt((np.arange(count) * 19 % count + 0.5) / count))
    tilt = np.radians(tilt_deg)
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle) * np.cos(tilt), radius * np.sin(angle) * np.sin(tilt)], axis=1)
    return places - places.mean(axis=0)


class Axes(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.folder / "out.h5"

    def settings(self, *more):
        return sets(["front_end.kind=dot_product", f"front_end.window_samples={WINDOW}", f"front_end.frequencies_hz=[{TONE_HZ}]",
                     "holography.standoff_m=0.1", *more])

    def record(self, places_m, source_m, name="time.h5"):
        path = self.folder / name
        write_acoular(path, monopole(places_m, source_m, 1.0, SOUND_SPEED_M_S, RATE_HZ, TONE_HZ, 4 * WINDOW), RATE_HZ)
        return path

    def found_far(self, recording, *more):
        """x, y and level of the largest pixel, and what was said."""
        done = NEARFIELD.require("replay", recording, "-o", self.out, "--frames", 1, *self.settings("holography.imager=none", FAR, *more))
        with h5py.File(self.out) as file:
            level = np.abs(np.squeeze(file["map"][0]))
            row, column = np.unravel_index(level.argmax(), level.shape)
            return file["x_m"][column], file["y_m"][row], level.max(), done.stderr

    def csv(self, places_m, name="array.csv", header="x_m,y_m,z_m"):
        path = self.folder / name
        np.savetxt(path, places_m, delimiter=",", header=header, comments="", fmt="%.12g")
        return path

    # Level: 1 Pa m at the array's centre, which is 0.782 m away; a sampled pixel is at the source itself.
    def assert_found(self, found, x_m=0.2, y_m=0.1):
        self.assertAlmostEqual(found[0], x_m, delta=1e-9)
        self.assertAlmostEqual(found[1], y_m, delta=1e-9)
        self.assertAlmostEqual(found[2], 1 / np.linalg.norm(SOURCE_M), delta=0.005)

    def test_depth_of_acoulars_xml_points_to_the_sources(self):
        places_m = tilted_ring()
        recording = self.record(places_m, SOURCE_M)
        xml = self.folder / "array.xml"
        write_acoular_xml(xml, places_m)
        self.assert_found(self.found_far(recording, f"array.positions={xml}"))
        csv = self.csv(places_m)
        self.assert_found(self.found_far(recording, f"array.positions={csv}", "array.axes=[x, y, -z]"))
        wrong = self.found_far(recording, f"array.positions={csv}")
        self.assertGreater(abs(wrong[1] - 0.1), 0.1, "the sign matters")

    def test_matrix_and_positions_of_csm_are_acoulars(self):
        places_m = tilted_ring()
        recording = self.record(places_m, SOURCE_M)
        xml = self.folder / "array.xml"
        write_acoular_xml(xml, places_m)
        NEARFIELD.require("csm", recording, "-o", self.out, *self.settings("holography.imager=none", f"array.positions={xml}"))
        with h5py.File(self.out) as file:
            matrix, positions_m = file["csm"][0], file["positions_m"][:].T
        np.testing.assert_allclose(positions_m, places_m, atol=1e-12)
        # Acoular's steering vector II over a grid at z = 0.75, phases by distances, r0 from the origin (Sarradj 2012).
        x, y = np.meshgrid(np.linspace(-0.5, 0.5, 51), np.linspace(-0.5, 0.5, 51))
        pixels = np.stack([x.ravel(), y.ravel(), np.full(x.size, SOURCE_M[2])], axis=1)
        distance = np.linalg.norm(pixels[:, None] - positions_m[None], axis=2)
        centre = np.linalg.norm(pixels, axis=1)[:, None]
        steer = np.exp(-2j * np.pi * TONE_HZ / SOUND_SPEED_M_S * (distance - centre)) * distance / centre / len(places_m)
        power = np.einsum("pm,mn,pn->p", steer.conj(), matrix, steer).real
        self.assertAlmostEqual(pixels[power.argmax()][0], 0.2, delta=1e-9)
        self.assertAlmostEqual(pixels[power.argmax()][1], 0.1, delta=1e-9)

    def test_a_capture_has_the_depth_of_the_file(self):
        places_m = tilted_ring()
        recording = self.record(places_m, SOURCE_M)
        xml, capture = self.folder / "array.xml", self.folder / "bits.h5"
        write_acoular_xml(xml, places_m)
        NEARFIELD.require("encode", recording, "-o", capture, *self.settings("holography.imager=none", f"array.positions={xml}"))
        with h5py.File(capture) as file:
            np.testing.assert_allclose(file["geometry/positions_m"][:], places_m * [1, 1, -1], atol=1e-12)
        done = NEARFIELD.run("replay", capture, "-o", self.out, *self.settings("holography.imager=none", "array.axes=[x, y, -z]"))
        self.assertEqual(done.returncode, 78)
        self.assertIn("array.axes: expected null without array.positions", done.stderr)

    # The image of a grid does not depend on where its file has it, to the rounding of fitted pitches.
    def test_a_grid_at_any_z_is_that_grid(self):
        grid = Grid(8, 0.06)
        recording = self.record(grid.places_m, [0.09, -0.03, 0.08])
        images = []
        for offset_m in ([0, 0, 0], [0, 0, 0.001], [0, 0, 0.5], [0.3, 0.2, 1.2], [0, 0, -0.5]):
            for name in ("array.csv", "array.xml"):
                file = self.folder / name
                self.csv(grid.places_m + offset_m) if name == "array.csv" else write_acoular_xml(file, grid.places_m + offset_m)
                done = NEARFIELD.require("replay", recording, "-o", self.out, "--frames", 1, *self.settings(f"array.positions={file}"))
                with h5py.File(self.out) as result:
                    images.append(result["images"][0])
                is_moved = any(offset_m)
                self.assertEqual("which is the images' origin" in done.stderr, is_moved, done.stderr)
        for image in images[1:]:
            np.testing.assert_allclose(image, images[0], atol=1e-5 * np.abs(images[0]).max())
        self.assertIn("x 0 m, y 0 m, z -0.5 m", self.said_by_inspect(recording, offset_m))

    def said_by_inspect(self, recording, offset_m):
        csv = self.csv(Grid(8, 0.06).places_m + offset_m)
        return NEARFIELD.require("inspect", recording, *self.settings(f"array.positions={csv}")).stdout

    # Irregular arrays in a plane have the same rule: what is at x in the file is at x less the mean of all places.
    def test_an_array_that_is_moved_finds_the_same(self):
        places_m = tilted_ring() * [1, 1, 0]
        recording = self.record(places_m, SOURCE_M * [1, 1, -1])
        self.assert_found(self.found_far(recording, f"array.positions={self.csv(places_m)}"))
        found = self.found_far(recording, f"array.positions={self.csv(places_m + [0.3, 0.2, 1.2])}")
        self.assert_found(found)
        self.assertIn("array centred at x 0.3 m, y 0.2 m, z 1.2 m of the given positions, which is the images' origin", found[3])

    # pyroomacoustics and other programs of rooms have z up.
    def test_an_upright_array_is_turned_by_the_axes_that_the_message_names(self):
        flat = Grid(8, 0.06).places_m
        room = np.stack([flat[:, 0] + 2.0, np.full(64, 1.0), 1.5 - flat[:, 1]], axis=1)
        source = [2.0 + SOURCE_M[0], 1.0 + SOURCE_M[2], 1.5 - SOURCE_M[1]]
        recording = self.record(room, source)
        csv = self.csv(room, header="x, y, z")
        said = self.found_far(recording, f"array.positions={csv}")[3]
        self.assertIn("the microphones lie in the x-z plane", said)
        self.assertIn("array.axes: [x, -z, -y] turns them where the sources are towards +y", said)
        found = self.found_far(recording, f"array.positions={csv}", "array.axes=[x, -z, -y]")
        self.assert_found(found)
        self.assertNotIn("plane", found[3])

    # Millimetres, another direction of z and exchanged columns give maps and images that look as good as right ones.
    def test_between_which_coordinates_the_places_of_a_file_lie_is_stated(self):
        recording = self.record(Grid(8, 0.06).places_m, [0.09, -0.03, 0.08])
        right_m = np.array([[-0.1, -0.05, -0.04], [0.1, -0.05, -0.03], [0.1, 0.05, -0.02], [0.0, 0.05, -0.01]])
        csv = self.csv(right_m, "places.csv")
        array = ("array.rows=8", "array.columns=8", "array.pitch_x_m=0.06", "array.pitch_y_m=0.06")
        extent = "-0.1 to 0.1 m in x, -0.05 to 0.05 m in y, -0.04 to -0.01 m in z"
        for settings, words in (([f"processors.far={{kind: beamform, grid: {{kind: points, points: {csv}}}}}"], f"far: axis point has 4 places, {extent}"),
                                ([f"processors.srp={{kind: srp_phat, grid: {{kind: points, points: {csv}}}}}"], f"srp: axis point has 4 places, {extent}"),
                                ([f"holography.surface={csv}"], f"surface: axis surface has 4 places, {extent}"),
                                (["holography.imager=operators", f"holography.operators.sources={csv}"], f"surface: its sources have 4 places, {extent}")):
            done = NEARFIELD.require("replay", recording, "-o", self.out, "--frames", 1, *self.settings(*array, *settings))
            self.assertIn(words, done.stderr)
        self.csv(right_m * [1, 1, -1000], "places.csv")
        done = NEARFIELD.require("replay", recording, "-o", self.out, "--frames", 1,
                                 *self.settings(*array, f"processors.far={{kind: beamform, grid: {{kind: points, points: {csv}}}}}"))
        self.assertIn("10 to 40 m in z", done.stderr)
        self.assertNotIn("axis microphone", done.stderr)

    # Dataset 15 says nothing of sources; array.axes says which way its z points.
    def test_nodes_of_a_universal_file_are_on_the_axes_of_the_setting(self):
        places_m = tilted_ring()
        values = monopole(places_m, SOURCE_M, 1.0, SOUND_SPEED_M_S, RATE_HZ, TONE_HZ, 2 * WINDOW)
        nodes = list(range(1, len(places_m) + 1))
        path = self.folder / "array.uff"
        path.write_bytes(universal_nodes(places_m, nodes) + universal(values, RATE_HZ, nodes))
        found = self.found_far(path, "array.axes=[x, y, -z]")
        self.assertAlmostEqual(found[0], 0.2, delta=1e-9)
        self.assertAlmostEqual(found[1], 0.1, delta=1e-9)

    def test_channels_that_are_no_microphones_are_left_out(self):
        grid = Grid(4, 0.06)
        values = monopole(grid.places_m, [0.03, -0.03, 0.08], 1.0, SOUND_SPEED_M_S, RATE_HZ, TONE_HZ, 2 * WINDOW)
        generator = np.random.default_rng(3)
        order = generator.permutation(16)  # of the microphones within the 18 channels of the converter
        more = generator.standard_normal((len(values), 18)) * 50
        channels = np.delete(np.arange(18), [5, 11])[order]
        more[:, channels] = values
        options = self.settings(*grid.options(0.05), f"array.channels=[{', '.join(map(str, channels))}]")
        expected = None
        scale = np.abs(more).max() * 1.01
        names = {"mics.h5": None, "all.h5": None, "all.wav": scale, "all.mat": 1.0, "all.uff": None}
        write_acoular(self.folder / "mics.h5", values, RATE_HZ)
        write_acoular(self.folder / "all.h5", more, RATE_HZ)
        soundfile.write(self.folder / "all.wav", more / scale, int(RATE_HZ), subtype="FLOAT")
        scipy.io.savemat(self.folder / "all.mat", {"p": more, "fs": RATE_HZ})
        tacho = 5
        functions = [universal(more[:, [c]], RATE_HZ, [c + 1], unit="V" if c == tacho else "Pa") for c in range(18)]
        (self.folder / "all.uff").write_bytes(b"".join(functions))
        for name, unit in names.items():
            with self.subTest(name=name):
                own = [] if unit is None else sets([f"array.pascal_per_unit={unit}"])
                chosen = self.settings(*grid.options(0.05)) if expected is None else options
                NEARFIELD.require("replay", self.folder / name, "-o", self.out, "--frames", 1, *chosen, *own)
                with h5py.File(self.out) as file:
                    image = file["images"][0]
                expected = image if expected is None else expected
                np.testing.assert_allclose(image, expected, atol=1e-5 * np.abs(expected).max())  # six digits of text
        NEARFIELD.require("encode", self.folder / "all.wav", "-o", self.folder / "bits.h5", *options, "--pascal-per-unit", scale)
        refused = NEARFIELD.run("replay", self.folder / "all.h5", "-o", self.out, *self.settings(*grid.options(0.05)))
        self.assertEqual(refused.returncode, 78)
        self.assertIn("array.rows, array.columns: expected the 18 channels", refused.stderr)
        self.assertIn("array.channels names those that are microphones", refused.stderr)
        write_acoular(self.folder / "turned.h5", more[:, :16].T, RATE_HZ)
        turned = NEARFIELD.run("replay", self.folder / "turned.h5", "-o", self.out, *self.settings(*grid.options(0.05)))
        self.assertEqual(turned.returncode, 78)
        self.assertIn("transposed, as [channel, sample]", turned.stderr)
        for wrong, words in (("[0, 18]", "expected channels from 0 to 17"), ("[0, 1, 1]", "each once, found 1 twice")):
            done = NEARFIELD.run("replay", self.folder / "all.h5", "-o", self.out, *self.settings(*grid.options(0.05), f"array.channels={wrong}"))
            self.assertEqual(done.returncode, 78)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""Results in the formats of other programs: `export_test.py FOLDER_OF_nearfield`.

What h5py reads of images.h5 is the truth. MATLAB files, universal files and VTK's are written by the Python package of this source tree,
whose own tests read them (python/tests/test_exports.py).
"""

import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program  # noqa: E402

os.environ |= {"NEARFIELD_PYTHON": "/usr/bin/python3", "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2] / "python/src"),
               "PYTHONDONTWRITEBYTECODE": "1"}
NEARFIELD = Program(pathlib.Path(sys.argv.pop(1)) / "nearfield")
SCENE = """version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.025}
standoff_m: 0.03
duration_s: 0.05
start_time_ns: 1700000000000000123
sources:
  - {kind: monopole, frequency_hz: 1007.080078125, x_m: 0.31, y_m: -0.22, z_m: -0.97, volume_velocity_m3_s: 5.0e-5}
  - {kind: monopole, frequency_hz: 2014.16015625, x_m: 0.31, y_m: -0.22, z_m: -0.97, volume_velocity_m3_s: 5.0e-5}
"""
CONFIG = """version: 1
front_end: {frequencies_hz: [1007.08, 2014.16], bands_hz: [[900, 1100]]}
holography:
  standoff_m: 0.03
  planes_m: [0.0, 0.005, 0.02]
  points: [{x_m: 0.01, y_m: 0.02}, {x_m: -0.03, y_m: 0.0}]
  extrapolation: {order: 4}
processors:
  where: {kind: srp_phat, every_hops: 4, band_hz: [1000, 2000], grid: {x_m: [-0.6, 0.6], y_m: [-0.3, 0.3], step_m: 0.3}}
"""
STANDOFF_M = 0.03
PLANES = 3


# ---- Tests ----

class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "scene.yaml").write_text(SCENE)
        (cls.folder / "config.yaml").write_text(CONFIG)
        capture, cls.path = cls.folder / "capture.h5", cls.folder / "images.h5"
        NEARFIELD.require("simulate", cls.folder / "scene.yaml", "-o", capture)
        NEARFIELD.require("replay", capture, "-c", cls.folder / "config.yaml", "-o", cls.path, "--engine", "reference", "--frames", 6)
        with h5py.File(cls.path) as file:
            cls.images, cls.points, cls.bands = file["images"][:], file["points"][:], file["bands"][:]
            cls.axes = {name: file[name][:] for name in ("frequencies_hz", "planes_m", "x_m", "y_m", "points_xy_m", "bands_hz")}
            cls.times_ns = file["timestamp_ns"][:]
            cls.map = file["where/map"][:]
            cls.map_axes = file["where/map"].attrs["axes"].decode().split(",")
            for values in (cls.images, cls.points, cls.bands, cls.map):
                assert np.all(np.isfinite(values)) and np.all(np.std(values, axis=-1) > 0)
            cls.map_x, cls.map_y, cls.distance_m = (file[f"where/{name}"][:] for name in ("x_m", "y_m", "distance_m"))

    def export(self, name, *options):
        path = self.folder / name
        done = NEARFIELD.require("export", self.path, "-o", path, *options)
        self.assertIn(str(path.with_suffix("").name), done.stdout)
        self.assertEqual(list(self.folder.glob("*.partial")), [])
        return path

    def refused(self, code, words, *options, name="refused.csv"):
        done = NEARFIELD.run("export", self.path, "-o", self.folder / name, *options)
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse((self.folder / name).exists())

    # -- csv

    def rows(self, path):
        lines = path.read_text().splitlines()
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))

    def column(self, rows, name):
        return np.array([float(row[name]) for row in rows])

    def test_csv_of_a_line(self):
        f, plane, row = 1, 2, 5
        y_m = self.axes["y_m"][row]
        rows = self.rows(self.export("line.csv", "--frames", "1:3", "--frequency", self.axes["frequencies_hz"][f], "--plane",
                                     self.axes["planes_m"][plane], "--y", y_m))
        expected = self.images[1:3, plane, f, row, :].ravel()
        np.testing.assert_array_equal(self.column(rows, "frame"), np.repeat([1, 2], 8))
        np.testing.assert_array_equal([int(row["timestamp [ns]"]) for row in rows], np.repeat(self.times_ns[1:3], 8))
        np.testing.assert_allclose(self.column(rows, "x [m]"), np.tile(self.axes["x_m"], 2), rtol=1e-15)
        np.testing.assert_allclose(self.column(rows, "y [m]"), y_m, rtol=1e-15)
        np.testing.assert_allclose(self.column(rows, "z [m]"), self.axes["planes_m"][plane], rtol=1e-15)
        np.testing.assert_allclose(self.column(rows, "frequency [Hz]"), self.axes["frequencies_hz"][f], rtol=1e-15)
        np.testing.assert_allclose(self.column(rows, "real [Pa]"), expected.real, rtol=1e-8)  # nine digits are written
        np.testing.assert_allclose(self.column(rows, "imaginary [Pa]"), expected.imag, rtol=1e-8)
        np.testing.assert_allclose(self.column(rows, "magnitude [Pa]"), abs(expected.astype(complex)), rtol=1e-8)
        np.testing.assert_allclose(self.column(rows, "phase [deg]"), np.degrees(np.angle(expected.astype(complex))), atol=1e-6)
        np.testing.assert_allclose(self.column(rows, "level [dB]"),
                                   20 * np.log10(abs(expected.astype(complex)) / np.sqrt(2) / 20e-6), atol=1e-4)

    def test_csv_of_points_bands_and_a_map(self):
        rows = self.rows(self.export("points.csv", "--product", "points", "--frames", 1))
        order = self.points[0].transpose(1, 0, 2).ravel()  # entries, then places
        np.testing.assert_allclose(self.column(rows, "real [Pa]"), order.real, rtol=1e-8)
        np.testing.assert_allclose(self.column(rows, "y [m]"), np.tile(self.axes["points_xy_m"][:, 1], 6), rtol=1e-15)
        rows = self.rows(self.export("bands.csv", "--product", "bands", "--frames", 1, "--x", 0.01, "--y", 0.0125))
        np.testing.assert_allclose(self.column(rows, "band 2 [Hz]"), self.axes["bands_hz"][0, 1], rtol=1e-15)
        column, line = (int(np.argmin(abs(self.axes[n] - v))) for n, v in (("x_m", 0.01), ("y_m", 0.0125)))
        np.testing.assert_allclose(self.column(rows, "real [Pa^2]"), self.bands[0, :, 0, line, column], rtol=1e-8)
        rows = self.rows(self.export("map.csv", "--processor", "where", "--frames", 1))
        self.assertEqual(self.map_axes, ["distance", "y", "x"])
        np.testing.assert_allclose(self.column(rows, "real [1]"), self.map[0].ravel(), rtol=1e-8)
        np.testing.assert_allclose(self.column(rows, "z [m]"), STANDOFF_M - self.distance_m[0], rtol=1e-15)

    def test_csv_to_standard_output(self):
        written = self.export("to_a_file.csv", "--frames", 2).read_text()
        self.assertEqual(NEARFIELD.require("export", self.path, "-o", "-", "--frames", 2).stdout, written)
        refused = NEARFIELD.run("export", self.path, "-o", "-", "--format", "h5")
        self.assertEqual(refused.returncode, 64, refused.stderr)
        self.assertIn("--format: expected csv for standard output, found h5", refused.stderr)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([NEARFIELD, "export", self.path, "-o", "-"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 74, done.stderr)

    # -- h5

    def test_h5(self):
        with h5py.File(self.export("all.h5", "--frames", "1:4")) as file:
            self.assertEqual((file.attrs["axes"], file.attrs["product"], file.attrs["unit"]), (b"y,x,z,frequency,frame", b"images", b"Pa"))
            values = file["re"][()] + 1j * file["im"][()]
            self.assertEqual(file["re"].dtype, np.float32)
            np.testing.assert_array_equal(values, self.images[1:4].transpose(0, 2, 1, 4, 3))
            self.assertEqual([axis[0].name for axis in file["im"].dims], ["/frame", "/frequency_hz", "/z_m", "/x_m", "/y_m"])
            for name, truth in (("y_m", "y_m"), ("x_m", "x_m"), ("z_m", "planes_m"), ("frequency_hz", "frequencies_hz")):
                np.testing.assert_array_equal(file[name][()], self.axes[truth])
            np.testing.assert_array_equal(file["timestamp_ns"][()], self.times_ns[1:4])
        with h5py.File(self.export("points.h5", "--product", "points")) as file:
            np.testing.assert_array_equal(file["re"][()], self.points.real.transpose(0, 2, 1, 3))
            np.testing.assert_array_equal(file["point_m"][()], self.axes["points_xy_m"])
        with h5py.File(self.export("map.h5", "--processor", "where", "--frames", 1)) as file:
            self.assertNotIn("im", file)
            np.testing.assert_array_equal(np.squeeze(file["re"][()]).T, self.map[0, 0])

    def test_octave_loads_complex_pixels_of_h5(self):
        for frames, count in (("1:4", 3), ("1:2", 1)):
            made = self.export(f"octave_{count}.h5", "--frames", frames)
            script = f"""
                made = load('{made}');
                values = complex(made.re, made.im);
                assert(size(values, 1) == numel(made.y_m) && size(values, 5) == {count});
                printf('%.9g ', real(values(3, 5, 2, 1, {count})), imag(values(3, 5, 2, 1, {count})), made.frequency_hz);
                printf('%d ', made.timestamp_ns);
            """
            done = subprocess.run(["octave-cli", "--norc", "--quiet", "--eval", script], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            words = done.stdout.split()
            pixel = self.images[count, 1, 0, 2, 4]
            np.testing.assert_allclose(np.array(words[:4], dtype=float), [pixel.real, pixel.imag, *self.axes["frequencies_hz"]], rtol=1e-8)  # nine digits
            self.assertEqual([int(word) for word in words[4:]], list(self.times_ns[1:1 + count]))

    def test_h5_has_what_the_python_package_needs(self):
        with h5py.File(self.export("frames.h5", "--frames", "1:4")) as file, h5py.File(self.path) as images:
            np.testing.assert_array_equal(file["first_sample"][()], images["first_sample"][1:4])
            np.testing.assert_allclose(file["since_first_s"][()], (self.times_ns[1:4] - self.times_ns[0]) * 1e-9, rtol=1e-15)
            axes = {data.attrs["axis"].decode(): data.attrs["units"].decode() for data in file.values() if "axis" in data.attrs}
            self.assertEqual(axes, {"frequency": "Hz", "x": "m", "y": "m", "z": "m"})
        with h5py.File(self.export("depths.h5", "--processor", "where")) as file:
            np.testing.assert_allclose(file["z_m"][()], STANDOFF_M - self.distance_m, rtol=1e-15)

    # -- by the Python package, whose tests are python/tests/test_exports.py

    def test_octave_loads_both_files(self):
        # Complex values of images.h5 are compounds with the parts r and i, which Octave 7 takes for zeros: the MATLAB file is for
        # those, and axes and real arrays come from either (docs/reference/images_file.md).
        made = self.export("octave.mat", "--frames", "1:4")
        script = f"""
            file = load('{self.path}');
            made = load('{made}');
            printf('%.9g ', real(made.values(3, 5, 2, 1, 3)), imag(made.values(3, 5, 2, 1, 3)), file.frequencies_hz, file.x_m);
        """
        done = subprocess.run(["octave-cli", "--norc", "--quiet", "--eval", script], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        pixel = self.images[3, 1, 0, 2, 4]
        expected = [pixel.real, pixel.imag, *self.axes["frequencies_hz"], *self.axes["x_m"]]
        np.testing.assert_allclose(np.array(done.stdout.split(), dtype=float), expected, rtol=1e-8)  # nine digits

    def test_what_is_missing_of_python_is_one_line(self):
        def missing(**environment):
            done = subprocess.run([NEARFIELD, "export", self.path, "-o", self.folder / "missing.mat"], capture_output=True, text=True,
                                  check=False, env=os.environ | environment)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (66, "", 1), done.stderr)
            self.assertFalse((self.folder / "missing.mat").exists())
            return done.stderr

        self.assertEqual(missing(NEARFIELD_PYTHON=str(self.folder / "none")),
                         f"nearfield: error: export: expected the program {self.folder}/none (NEARFIELD_PYTHON, or python3 of PATH), "
                         "found none; install python3-nearfield, or the wheel\n")
        self.assertRegex(missing(NEARFIELD_PYTHON="", PATH=str(self.folder)), "expected the program python3 .*; install python3-nearfield, or the wheel")
        self.assertEqual(missing(PYTHONPATH=""), "nearfield: error: export: expected the Python module nearfield, which /usr/bin/python3 "
                                                 "does not find; install python3-nearfield, or the wheel\n")

    def test_python_gets_what_was_typed(self):
        python = self.folder / "python"
        python.write_text("#!/bin/sh\nshift 2\nprintf '[%s]' \"$@\"\nprintf '%s' \"$NEARFIELD_PROGRAM\" >&2\nexit 9\n")
        python.chmod(0o755)
        done = subprocess.run([NEARFIELD, "export", "-o", "a b.vts", "-q", "--x=-1e-3", "--frames", ":2", "--", "-in.h5"], capture_output=True,
                              text=True, check=False, env=os.environ | {"NEARFIELD_PYTHON": str(python)})
        self.assertEqual((done.returncode, done.stderr), (9, str(NEARFIELD.path)))
        self.assertEqual(done.stdout, "[export][nearfield.exports][install python3-nearfield, or the wheel][--output=a b.vts][--frames=:2][--x=-1e-3][--][-in.h5]")

    # -- choices

    def test_wrong_choices_name_what_is_there(self):
        self.refused(64, ["surface.images", "surface.points", "surface.bands", "where.map"], "--product", "imges")
        self.refused(64, ["surface.images", "where.map", "nobody"], "--processor", "nobody")
        self.refused(64, ["--frequency", f"{self.axes['frequencies_hz'][0]}", "1500"], "--frequency", 1500)
        self.refused(64, ["--plane", "0, 0.005, 0.02", "0.5"], "--plane", 0.5)
        self.refused(64, ["--frames", "6 of surface", "4:9"], "--frames", "4:9")
        self.refused(64, ["--frequency", "map of where"], "--processor", "where", "--frequency", 1000)
        self.refused(64, ["--x"], "--x", 3)
        self.refused(64, ["csv (.csv), vtk (.vti), mat (.mat), h5 (.h5), uff (.uff)", "xls"], "--format", "xls")
        self.refused(64, [".csv", "refused.xls"], name="refused.xls")

    def test_the_page_has_the_formats_of_the_help(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/use/export.md").read_text()
        formats = re.findall(r"(\w+) \((\.\w+)\): (.*?)(?:; (?=\w+ \(\.)|\n)", NEARFIELD.require("export", "--help").stdout)
        self.assertEqual(len(formats), 5)
        for name, ending, holds in formats:
            self.assertIn(f"| `{name}` | `{ending}` | {holds} |\n", page)

    def test_the_format_goes_before_the_ending(self):
        path = self.export("text.txt", "--format", "csv", "--frames", 1)
        self.assertEqual(len(self.rows(path)), 2 * PLANES * 64)

    def test_files_that_are_not_there_or_not_writable(self):
        missing = NEARFIELD.run("export", self.folder / "none.h5", "-o", self.folder / "a.csv")
        self.assertEqual(missing.returncode, 66, missing.stderr)
        self.assertEqual(NEARFIELD.run("export", self.path, "-o", self.folder / "no" / "a.csv").returncode, 74)
        self.assertEqual(NEARFIELD.run("export", self.path, "-o", self.path, "--format", "csv").returncode, 64)


if __name__ == "__main__":
    unittest.main(verbosity=2)

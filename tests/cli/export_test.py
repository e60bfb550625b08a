#!/usr/bin/python3
"""Results in the formats of other programs: `export_test.py FOLDER_OF_nearfield`.

What h5py reads of images.h5 is the truth. CSV files are read by numpy, MATLAB files by scipy, VTK's image data as XML, and universal
files by a reader that is written here from the format's description.
"""

import base64
import csv
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

import h5py
import numpy as np
import scipy.io

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program  # noqa: E402

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


# ---- Readers ----

def read_vti(path):
    """Axes x, y, z in m and arrays [z, y, x] by their names."""
    root = xml.parse(path).getroot()
    assert root.get("type") == "ImageData" and root.get("header_type") == "UInt64"
    order = {"LittleEndian": "<", "BigEndian": ">"}[root.get("byte_order")]
    image = root.find("ImageData")
    extent = [int(word) for word in image.get("WholeExtent").split()]
    assert image.find("Piece").get("Extent") == image.get("WholeExtent")
    sizes = [last - first + 1 for first, last in zip(extent[::2], extent[1::2])]
    axes = [float(start) + float(step) * np.arange(size)
            for start, step, size in zip(image.get("Origin").split(), image.get("Spacing").split(), sizes)]
    arrays = {}
    for array in image.find("Piece/PointData"):
        assert array.get("type") == "Float32" and array.get("format") == "binary"
        raw = base64.b64decode(array.text.strip(), validate=True)
        (size,) = struct.unpack(order + "Q", raw[:8])
        assert size == len(raw) - 8
        arrays[array.get("Name")] = np.frombuffer(raw[8:], order + "f4").reshape(sizes[::-1])
    return axes, arrays


def datasets_of(raw):
    """Number, header line and content of each dataset of a universal file; a binary one is as long as its header says."""
    at, found = 0, []
    while at < len(raw):
        assert raw[at:at + 7] == b"    -1\n", raw[at:at + 7]
        end = raw.index(b"\n", at + 7)
        head = raw[at + 7:end].decode()
        start = end + 1
        if head[6:7] == "b":
            for _ in range(int(head[19:31])):
                end = raw.index(b"\n", end + 1)
            stop = end + 1 + int(head[31:43])
            assert raw[stop:stop + 1] == b"\n"
            found.append((58, head, raw[start:stop]))
            at = stop + 1
        else:
            stop = raw.index(b"    -1\n", start)
            found.append((int(head), head, raw[start:stop]))
            at = stop
        assert raw[at:at + 7] == b"    -1\n"
        at += 7
    return found


def read_function(head, content):
    """A dataset 58b."""
    order = {1: "<", 2: ">"}[int(head[7:13])]
    assert int(head[13:19]) == 2
    parts = content.split(b"\n", 11)
    lines = [line.decode() for line in parts[:11]]
    assert max(map(len, lines)) <= 80
    kind, count, even = (int(lines[6][i:i + 10]) for i in (0, 10, 20))
    start, step, since_s = (float(lines[6][i:i + 13]) for i in (30, 43, 56))
    numbers = np.frombuffer(parts[11], order + "f4").reshape(count, -1)
    if even:
        abscissa = start + step * np.arange(count)
    else:
        abscissa, numbers = numbers[:, 0], numbers[:, 1:]
    values = numbers[:, 0] + 1j * numbers[:, 1] if kind == 5 else numbers[:, 0]
    return {"type": int(lines[5][:5]), "frame": int(lines[5][20:30]), "node": int(lines[5][41:51]),
            "direction": int(lines[5][51:55]), "abscissa": abscissa, "values": values, "time_s": since_s,
            "abscissa_kind": int(lines[7][:10]), "ordinate_kind": int(lines[8][:10]), "unit": lines[8][47:67].strip()}


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

    # -- vtk

    def test_vtk_of_frames(self):
        NEARFIELD.require("export", self.path, "-o", self.folder / "all.vti", "--frames", "2:4", "--plane", 0.005)
        self.assertFalse((self.folder / "all.vti").exists())
        for frame in (2, 3):
            (x, y, z), arrays = read_vti(self.folder / f"all_frame{frame:05d}.vti")
            columns, lines = np.argsort(self.axes["x_m"]), np.argsort(self.axes["y_m"])
            np.testing.assert_allclose(x, self.axes["x_m"][columns], atol=1e-9)
            np.testing.assert_allclose(y, self.axes["y_m"][lines], atol=1e-9)
            np.testing.assert_allclose(z, [0.005], atol=1e-12)
            self.assertEqual(len(arrays), 8)
            for f, hz in enumerate(self.axes["frequencies_hz"]):
                expected = self.images[frame, 1, f][lines][:, columns]
                parts = [next(v for n, v in arrays.items() if n.endswith(part) and str(int(hz)) in n)[0]
                         for part in ("real", "imaginary", "magnitude", "phase")]
                np.testing.assert_array_equal(parts[0] + 1j * parts[1], expected)
                # float32 has 24 bits.
                np.testing.assert_allclose(parts[2], abs(expected.astype(complex)), rtol=1e-7)
                np.testing.assert_allclose(parts[3], np.degrees(np.angle(expected.astype(complex))), rtol=1e-7)

    def test_vtk_of_a_real_map(self):
        (x, y, _), arrays = read_vti(self.export("map.vti", "--processor", "where", "--frames", 1))
        self.assertEqual(list(arrays), ["map"])
        np.testing.assert_allclose(x, np.sort(self.map_x), atol=1e-9)
        np.testing.assert_allclose(y, np.sort(self.map_y), atol=1e-9)
        np.testing.assert_array_equal(arrays["map"][0], self.map[0, 0][np.argsort(self.map_y)][:, np.argsort(self.map_x)])

    def test_vtk_refuses_uneven_planes_and_points(self):
        self.refused(64, ["--plane", "0.005"], name="refused.vti")
        self.refused(64, ["points"], "--product", "points", name="refused.vti")

    # -- mat

    def test_mat(self):
        content = scipy.io.loadmat(self.export("all.mat", "--frames", "1:4"))
        self.assertEqual(content["axes"][0], "y,x,z,frequency,frame")
        self.assertEqual((content["unit"][0], content["product"][0], content["processor"][0]), ("Pa", "images", "surface"))
        self.assertEqual(content["values"].dtype, np.complex64)
        np.testing.assert_array_equal(content["values"], self.images[1:4].transpose(3, 4, 1, 2, 0))
        for name, truth in (("y_m", "y_m"), ("x_m", "x_m"), ("z_m", "planes_m"), ("frequency_hz", "frequencies_hz")):
            np.testing.assert_array_equal(content[name].ravel(), self.axes[truth])
        np.testing.assert_array_equal(content["timestamp_ns"].ravel(), self.times_ns[1:4])
        np.testing.assert_array_equal(content["frame"].ravel(), [1, 2, 3])

    def test_octave_loads_both_files(self):
        # Complex values of images.h5 are compounds with the parts r and i, which Octave 7 takes for zeros: the MATLAB file is for
        # those, and axes and real arrays come from either (docs/images_file.md).
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

    def test_mat_of_points_and_of_real_values(self):
        content = scipy.io.loadmat(self.export("points.mat", "--product", "points"))
        self.assertEqual(content["axes"][0], "point,z,frequency,frame")
        np.testing.assert_array_equal(content["values"].reshape(2, PLANES, 2, -1), self.points.transpose(3, 1, 2, 0))
        np.testing.assert_array_equal(content["point_m"].T, self.axes["points_xy_m"])
        content = scipy.io.loadmat(self.export("map.mat", "--processor", "where", "--frames", 1))
        self.assertEqual(content["values"].dtype, np.float32)
        np.testing.assert_array_equal(np.squeeze(content["values"]), self.map[0, 0])

    # -- uff

    def test_uff(self):
        found = datasets_of(self.export("all.uff", "--frames", "1:3").read_bytes())
        self.assertEqual([number for number, _, _ in found[:4]], [151, 164, 15, 58])
        units = found[1][2].decode().splitlines()
        self.assertEqual([int(units[0][:10]), float(units[1][:25].replace("D", "E"))], [1, 1.0])
        nodes = {int(line[:10]): [float(line[i:i + 13]) for i in (40, 53, 66)] for line in found[2][2].decode().splitlines()}
        self.assertEqual(len(nodes), PLANES * 64)
        functions = [read_function(head, content) for number, head, content in found if number == 58]
        self.assertEqual(len(functions), 2 * PLANES * 64)
        for function in functions:
            self.assertEqual((function["type"], function["abscissa_kind"], function["ordinate_kind"], function["unit"],
                              function["direction"]), (12, 18, 15, "Pa", 0))
            np.testing.assert_allclose(function["abscissa"], self.axes["frequencies_hz"], rtol=1e-7)  # float32
            plane, line, column = np.unravel_index(function["node"] - 1, (PLANES, 8, 8))
            place = [self.axes["x_m"][column], self.axes["y_m"][line], self.axes["planes_m"][plane]]
            np.testing.assert_allclose(nodes[function["node"]], place, rtol=5e-6)  # six digits
            np.testing.assert_array_equal(function["values"], self.images[function["frame"], plane, :, line, column])
            since_s = (self.times_ns[function["frame"]] - self.times_ns[0]) * 1e-9
            self.assertAlmostEqual(function["time_s"], since_s, delta=1e-5 * since_s)
        self.assertEqual({(f["node"], f["frame"]) for f in functions}, {(n, f) for n in nodes for f in (1, 2)})

    def test_uff_of_velocities_at_uneven_frequencies(self):
        images, path = self.folder / "uneven.h5", self.folder / "uneven.uff"
        NEARFIELD.require("replay", self.folder / "capture.h5", "-c", self.folder / "config.yaml", "-o", images, "--engine", "reference",
                "--frames", 1, "--set", "front_end.frequencies_hz=[1007.08, 1500.5, 2014.16]", "--set",
                "holography.quantity=normal_velocity")
        NEARFIELD.require("export", images, "-o", path, "--plane", 0.02)
        with h5py.File(images) as file:
            expected, frequencies_hz = file["images"][0, 2].reshape(3, -1), file["frequencies_hz"][:]
        functions = [read_function(head, content) for number, head, content in datasets_of(path.read_bytes()) if number == 58]
        self.assertEqual([function["node"] for function in functions], list(range(1, 65)))
        for function, values in zip(functions, expected.T):
            np.testing.assert_allclose(function["abscissa"], frequencies_hz, rtol=1e-7)  # float32
            np.testing.assert_array_equal(function["values"], values)
            self.assertEqual((function["ordinate_kind"], function["unit"], function["direction"]), (11, "m/s", 3))

    def test_uff_of_real_values_without_frequencies(self):
        found = datasets_of(self.export("map.uff", "--processor", "where", "--frames", 1).read_bytes())
        values = [read_function(head, content)["values"] for number, head, content in found if number == 58]
        np.testing.assert_array_equal(np.concatenate(values), self.map[0].ravel())

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
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/export.md").read_text()
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

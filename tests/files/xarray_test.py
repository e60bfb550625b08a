#!/usr/bin/python3
"""Files of Nearfield as xarray shows them, by h5netcdf and by netCDF4: `xarray_test.py FOLDER_OF_nearfield`.

What h5py reads, which knows nothing of scales and units, is the truth for names, types and values.
"""

import pathlib
import sys
import tempfile
import unittest

import h5py
import numpy as np
import xarray as xr

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program  # noqa: E402

NEARFIELD = Program(pathlib.Path(sys.argv.pop(1)) / "nearfield")
ENGINES = ("h5netcdf", "netcdf4")
FIRST_FRAME = 3
BIT_RATE_HZ = 1.5e6

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
  points: [{x_m: 0.01, y_m: 0.02}]
  extrapolation: {order: 4}
processors:
  where: {kind: srp_phat, every_hops: 4, band_hz: [1000, 2000], grid: {x_m: [-0.6, 0.6], y_m: [-0.6, 0.6], step_m: 0.3}}
"""


def complex_of(values):
    """Values as complex numbers: netCDF4 shows their two parts as fields r and i."""
    return values if values.dtype.names is None else values.view(np.complex64)


def opened(path, group=None):
    """The dataset as each engine reads it, whole."""
    datasets = []
    for engine in ENGINES:
        with xr.open_dataset(path, engine=engine, group=group) as dataset:
            datasets.append(dataset.load())
    return datasets


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        (folder / "scene.yaml").write_text(SCENE)
        (folder / "config.yaml").write_text(CONFIG)
        cls.capture, cls.images, cls.csm = folder / "capture.h5", folder / "images.h5", folder / "csm.h5"
        NEARFIELD.require("simulate", folder / "scene.yaml", "-o", cls.capture)
        NEARFIELD.require("replay", cls.capture, "-c", folder / "config.yaml", "-o", cls.images, "--engine", "reference", "--frames",
            f"{FIRST_FRAME}:12")
        NEARFIELD.require("csm", cls.capture, "-o", cls.csm, "--set", "front_end.frequencies_hz=[1007.08, 2014.16]")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def require_same_values(self, dataset, path, group):
        """Every dataset that is no dimension without values is a variable of the same values."""
        with h5py.File(path) as file:
            names = [name for name, item in file[group].items() if isinstance(item, h5py.Dataset)]
            plain = [name for name in names if b"netCDF dimension" not in file[group][name].attrs.get("NAME", b"")]
            self.assertEqual(set(dataset.variables), set(plain))
            for name in dataset.variables:
                expected = file[group][name][()]
                np.testing.assert_array_equal(complex_of(dataset[name].values), expected, err_msg=name)
                self.assertEqual(complex_of(dataset[name].values).dtype, expected.dtype, name)

    def test_images_have_named_axes_with_coordinates(self):
        for dataset in opened(self.images):
            self.require_same_values(dataset, self.images, "/")
            self.assertEqual(dataset.images.dims, ("time", "planes_m", "frequencies_hz", "y_m", "x_m"))
            self.assertEqual(dataset.noise_pa.dims, ("time", "frequencies_hz"))
            self.assertEqual(dataset.points.dims, ("time", "planes_m", "frequencies_hz", "point"))
            self.assertEqual(dataset.bands.dims, ("time", "planes_m", "band", "y_m", "x_m"))
            self.assertEqual(set(dataset.coords), {"time", "planes_m", "frequencies_hz", "y_m", "x_m", "first_sample", "timestamp_ns",
                                                   "points_xy_m", "bands_hz"})
            np.testing.assert_allclose(dataset.x_m, (np.arange(8) - 3.5) * 0.02, atol=1e-12)
            np.testing.assert_allclose(dataset.y_m, (np.arange(8) - 3.5) * 0.025, atol=1e-12)

    def test_a_surface_has_places_and_normals(self):
        folder = pathlib.Path(self.folder.name)
        heights = np.tile(np.linspace(0.0, 0.01, 8), (8, 1))
        heights[3, 4] = np.nan
        with h5py.File(folder / "heights.h5", "w") as file:
            file["z_m"] = heights
        path = folder / "surface.h5"
        NEARFIELD.require("replay", self.capture, "-c", folder / "config.yaml", "-o", path, "--engine", "reference", "--frames", "1",
            "--set", "holography.imager=sonah", "--set", f"holography.surface={folder / 'heights.h5'}")
        for dataset in opened(path):
            self.require_same_values(dataset, path, "/")
            self.assertEqual(dataset.surface_m.dims, ("surface", "surface_component"))
            places = dataset.surface_m.values.reshape(8, 8, 3)
            np.testing.assert_allclose(places[..., 0], np.tile(dataset.x_m, (8, 1)), atol=1e-12)
            np.testing.assert_allclose(places[..., 2], np.nan_to_num(heights), atol=1e-12)
            normals = dataset.normal.values.reshape(8, 8, 3)
            np.testing.assert_allclose(np.linalg.norm(normals, axis=-1), ~np.isnan(heights), atol=1e-12)
            images = complex_of(dataset.images.values)
            np.testing.assert_array_equal(np.isnan(images[0, 0, 0]), np.isnan(heights))

    def test_values_are_found_by_coordinates(self):
        with xr.open_dataset(self.images, engine="h5netcdf") as dataset, h5py.File(self.images) as file:
            value = dataset.images.sel(frequencies_hz=2014.16, x_m=0.05, y_m=-0.0625, method="nearest").isel(time=1, planes_m=0)
            self.assertEqual(complex(value), complex(file["images"][1, 0, 1, 1, 6]))

    def test_complex_values_are_complex(self):
        with xr.open_dataset(self.images, engine="h5netcdf") as dataset:
            self.assertEqual(dataset.images.dtype, np.complex64)
            self.assertGreater(float(abs(dataset.images).max()), 0.0)
        with xr.open_dataset(self.images, engine="netcdf4") as dataset:
            self.assertEqual(dataset.images.dtype.names, ("r", "i"))

    def test_words_and_units(self):
        expected = {"images": ("Pa", "pressure"), "cutoff_rad_per_m": ("rad/m", "cut-off wavenumber"),
                    "noise_pa": ("Pa", "noise of a microphone"), "bands": ("Pa^2", "pressure of bands"),
                    "frequencies_hz": ("Hz", "frequency"), "planes_m": ("m", "z of the plane"), "x_m": ("m", "x"),
                    "time": ("s", "time of the window's begin, from time_zero_ns on"), "timestamp_ns": ("ns", "time of first_sample since 1970, TAI")}
        for dataset in opened(self.images):
            for name, (unit, words) in expected.items():
                self.assertEqual((dataset[name].attrs["units"], dataset[name].attrs["long_name"]), (unit, words), name)
            with h5py.File(self.images) as file:
                for name in dataset.variables:
                    self.assertTrue({"units", "long_name"} <= set(dataset[name].attrs), name)
                    self.assertEqual(dataset[name].attrs["units"], file[name].attrs.get("unit", file[name].attrs["units"]).decode(), name)
            masks, meanings = dataset.flags.attrs["flag_masks"], dataset.flags.attrs["flag_meanings"].split()
            self.assertEqual(list(masks), [1 << bit for bit in range(len(meanings))])
            self.assertEqual(meanings[2], "missing_bits")
            self.assertRegex(dataset.flags.attrs["flag_meanings"], r"^[A-Za-z0-9_ -]+$")

    def test_time_counts_from_the_recordings_start(self):
        for group, step in ((None, 1), ("where", 4), ("where/sources", 4)):
            for dataset in opened(self.images, group):
                frames = np.arange(12)[FIRST_FRAME:]
                frames = frames[frames % step == 0]
                # A hop is 1024 bit-times; timestamps are whole ns.
                np.testing.assert_allclose(dataset.time, frames * 1024 / BIT_RATE_HZ, rtol=0, atol=0.6e-9)
                if group != "where/sources":
                    self.assertEqual(int(dataset.time_zero_ns), 1700000000000000123)

    def test_further_processors_and_tables(self):
        for dataset in opened(self.images, "where"):
            self.require_same_values(dataset, self.images, "/where")
            self.assertEqual(dataset["map"].dims, ("time", "distance_m", "y_m", "x_m"))
        for dataset in opened(self.images, "where/sources"):
            self.require_same_values(dataset, self.images, "/where/sources")
            self.assertEqual(dataset.rows.dims, ("time",))
            self.assertEqual(dataset.level_db.dims, ("time", "row"))
            self.assertGreater(int(dataset.rows.max()), 0)

    def test_captures(self):
        for dataset in opened(self.capture):
            self.require_same_values(dataset, self.capture, "/")
            self.assertEqual(dataset.bitstream.dims, ("bit_time", "word"))
        for dataset in opened(self.capture, "truth"):
            self.require_same_values(dataset, self.capture, "/truth")
            self.assertEqual(dataset.pressure.dims, ("frequencies_hz", "y_m", "x_m"))
            self.assertEqual(dataset.pressure.attrs["units"], "Pa")
            self.assertEqual(dataset.normal_velocity.attrs["units"], "m/s")
            self.assertEqual(dataset.tracks.dims, ("track_times_s", "source", "component"))

    def test_cross_spectra(self):
        for dataset in opened(self.csm):
            self.require_same_values(dataset, self.csm, "/")
            self.assertEqual(dataset.csm.dims, ("frequencies_hz", "channel", "other_channel"))


if __name__ == "__main__":
    unittest.main()

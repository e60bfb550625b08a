#!/usr/bin/env python3
"""The study of fidelity on one closed form and one kind of scenes, a draw each, and its fields and figures by themselves."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab"))

import fidelity  # noqa: E402
import fields  # noqa: E402
import numpy as np  # noqa: E402
from common import array_settings, relative_l2  # noqa: E402

WIDTH_M = 0.03


def bell(x_m, y_m, array=None):
    """A bell twice as wide as the pitch, its top between pixels."""
    x, y = fields.places_m(array)
    return np.exp(-((x - x_m) ** 2 + (y - y_m) ** 2) / (2.0 * 0.04**2)).astype(complex)


class Fields(unittest.TestCase):
    def test_random_numbers_are_those_of_the_sources(self):
        # What RandomStream(27, 3001) of src/core/numerics.hpp gives.
        np.testing.assert_allclose(fields.uniforms(27, 3001, 3), (0.94070883636131719, -0.98887508675641356, 0.86236421724778878), rtol=1e-15)

    def test_a_packets_velocity_on_the_surface_is_its_bell(self):
        x, y = fields.places_m()
        expected = (0.3 + 0.4j) * np.exp(-0.5 * ((x - 0.05) ** 2 + (y + 0.11) ** 2) / WIDTH_M**2 - 1j * (40 * (x - 0.05) - 30 * (y + 0.11)))
        # The spectrum ends where it has fallen to e^{-24.5}.
        self.assertLess(relative_l2(expected, fields.packet(4000.0, 0.0, 0.05, -0.11, WIDTH_M, 40.0, -30.0, 0.3 + 0.4j)[1]), 1e-7)

    def test_a_packets_pressure_is_rayleighs_integral(self):
        """p = (j w rho / 2 pi) int v e^{-jkR}/R dS by a sum over 3 mm squares, which converges exponentially at 3 cm."""
        found = fields.packet(500.0, 0.03, 0.05, -0.11, WIDTH_M, 40.0, -30.0, 1.0)[0]
        x, y = (values.ravel() for values in np.meshgrid(*[0.003 * np.arange(-80, 81)] * 2))
        source = np.exp(-0.5 * (x**2 + y**2) / WIDTH_M**2 - 1j * (40.0 * x - 30.0 * y))
        for pixel in (0, 400, 900):
            at_x, at_y = (places[pixel] for places in fields.places_m())
            r = np.sqrt((at_x - 0.05 - x) ** 2 + (at_y + 0.11 - y) ** 2 + 0.03**2)
            integral = np.sum(source * np.exp(-2j * np.pi * 500.0 / 343.0 * r) / r) * 0.003**2
            expected = 1j * 500.0 * fields.DENSITY_KG_M3 * integral
            self.assertLess(abs(found[pixel] - expected) / abs(expected), 1e-4)

    def test_noise_has_the_ratio_asked_for_and_is_the_same_every_time(self):
        field = fields.closed_forms()[0]
        draws = np.array([field.noisy(30.0, draw) for draw in range(20)])
        np.testing.assert_array_equal(draws[3], field.noisy(30.0, 3))
        noise = np.mean(np.abs(draws - field.aperture) ** 2, axis=(0, 2))
        ratios_db = 10.0 * np.log10(np.mean(np.abs(field.aperture) ** 2, axis=1) / noise)
        # Its own spread over 20,480 samples is 0.03 dB.
        np.testing.assert_allclose(ratios_db, 30.0, atol=0.15)

    def test_values_at_points_are_bilinear_and_those_of_a_mask_its_pixels(self):
        array = array_settings(16, 16)
        x, y = fields.places_m(array)
        field = fields.Field("plane", np.array([1.0]), x[None], x[None], array=array, points_xy_m=np.array([[0.013, -0.021], [0.19, 0.17]]))
        np.testing.assert_allclose(field.where_true((x + 2.0 * y)[None])[0], (0.013 - 0.042, 0.19 + 0.34))
        field = fields.Field("plane", np.array([1.0]), x[None], x[None], array=array, valid=x > 0.0)
        self.assertEqual(field.where_true(x[None]).shape, (1, 128))


class Figures(unittest.TestCase):
    def figures_of(self, truth, image):
        field = fields.Field("bell", np.array([1000.0]), truth[None], truth[None], array=array_settings(16, 16))
        return fidelity.figures(field, image[None, None], {})[0]

    def test_of_a_scaled_image(self):
        array = array_settings(16, 16)
        found = self.figures_of(bell(0.013, -0.021, array), 1.1j * bell(0.013, -0.021, array))
        for name, expected in (("relative_l2", np.sqrt(2.21)), ("inner_l2", np.sqrt(2.21)), ("ncc", 1.0), ("nmse_db", 10.0 * np.log10(2.0)), ("peak_off_m", 0.0)):
            self.assertAlmostEqual(found[name], expected, msg=name)

    def test_inner_ones_leave_four_microphones_out(self):
        for row, is_inner in ((3, False), (4, True)):
            image = bell(0.0, 0.0, array_settings(16, 16))
            image[16 * row + 8] += 1.0
            self.assertEqual(self.figures_of(bell(0.0, 0.0, array_settings(16, 16)), image)["inner_l2"] > 0.1, is_inner)

    def test_peaks_are_found_between_pixels(self):
        array = array_settings(16, 16)
        found = self.figures_of(bell(0.003, 0.008, array), bell(0.036, -0.036, array))
        # Parabolas through a bell twice as wide as the pitch miss its top by 2 % of the pitch.
        self.assertAlmostEqual(found["peak_off_m"], np.hypot(0.033, 0.044), delta=0.0008)


FEW = {"EXTRAPOLATIONS": ("plpbp", "zero"), "SLOPES": (0.1, 0.05), "LAMBDAS": (1e-3, 1e-2), "SONAH": {"imager": "sonah", "prior": "layer"},
       "FILTERS": {name: value for name, value in fidelity.FILTERS.items() if name != "cos, search"}}


class Study(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(fidelity, **FEW):
            docs = pathlib.Path(folder) / "results"
            cls.rows = fidelity.main(["--draws", "1", "--bit-draws", "1", "--snr", "40", "--parts", "cases,bits", "--fields", "pattern", "--docs", str(docs)])
            cls.page = (docs / "fidelity.md").read_text(encoding="utf-8")
            cls.lines = (docs / "fidelity.csv").read_text(encoding="utf-8").splitlines()

    def errors(self, part, name, extrapolation="plpbp", figure="relative_l2"):
        return np.array([row[figure] for row in self.rows if (row["part"], row["filter"], row["extrapolation"]) == (part, name, extrapolation)])

    def test_figures_are_those_of_the_page(self):
        # 3.9 and 9.1 % over 20 draws, held from growing by a sixth, which is more than draws differ.
        np.testing.assert_array_less(self.errors("cases", "cos, dynamic_range"), (0.045, 0.105))
        np.testing.assert_array_less(self.errors("cases", fidelity.AUTO, "none"), 0.002)
        best = self.errors("cases", fidelity.BEST)
        np.testing.assert_array_less(best, 0.02)  # found: 0.7 and 1.5 %
        np.testing.assert_array_less(best, 0.5 * self.errors("cases", fidelity.BEST, "zero"))
        np.testing.assert_array_less(self.errors("cases", fidelity.BEST, figure="inner_l2"), best + 1e-9)
        np.testing.assert_array_less(self.errors("cases", fidelity.BEST, figure="peak_off_m"), 0.01)

    def test_nothing_beats_the_best_fixed_cut_off(self):
        # With one draw it minimises this very draw: scan and images agree on what a cut-off gives; 0.98: between two of the 40.
        for extrapolation in FEW["EXTRAPOLATIONS"]:
            best = self.errors("cases", fidelity.BEST, extrapolation)
            for name in ("cos, dynamic_range", "cos, auto"):
                np.testing.assert_array_less(0.98 * best, self.errors("cases", name, extrapolation))

    def test_bits_are_as_good_as_spectra(self):
        for name, extrapolation in (("cos, dynamic_range", "plpbp"), ("cos, auto", "plpbp"), (fidelity.BEST, "plpbp"), ("sonah", "none")):
            of_bits, spectra = self.errors("bits", name, extrapolation), self.errors("cases", name, extrapolation)
            np.testing.assert_array_less(of_bits, np.maximum(1.25 * spectra, spectra + 1e-3), err_msg=name)
            np.testing.assert_array_less(np.minimum(spectra / 1.25, spectra - 1e-3), of_bits, err_msg=name)

    def test_page_and_figures_are_written(self):
        self.assertRegex(self.lines[0], r"^# commit: [0-9a-f]{7}")
        self.assertTrue(self.lines[1].startswith("# device: "), self.lines[1])
        self.assertEqual(len(self.lines), len(self.rows) + 3)
        for text in ("## Marks", "## Eight cases, 3 cm", "## From bits", "| none | imager: auto |"):
            self.assertIn(text, self.page)
        self.assertNotIn("nan", self.page)

    def test_expected_errors_of_a_kind(self):
        with mock.patch.object(fidelity, "SONAH", FEW["SONAH"]):
            rows = fidelity.kind_rows("one monopole, 3 cm", 25.0, 1, ["pressure"])
        self.assertEqual([row["filter"] for row in rows if row["frequency_hz"] == 500.0],
                         ["cos, auto", "cos, search", "sonah", fidelity.AUTO, fidelity.BEST])
        for row in (row for row in rows if row["filter"] == "cos, auto"):
            self.assertTrue(0.4 < row["error_estimate"] / row["relative_l2"] < 2.5, row)


if __name__ == "__main__":
    unittest.main()

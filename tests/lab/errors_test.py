#!/usr/bin/env python3
"""The study of front ends' errors on few microphones, against the limits of docs/reference/front_ends.md."""

import pathlib
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab"))

import common  # noqa: E402
import errors  # noqa: E402
import numpy as np  # noqa: E402


class Errors(unittest.TestCase):
    def test_figures_of_images(self):
        truth = np.array([1.0, 2.0j, -4.0, 0.04])
        image = 1.1j * truth
        self.assertAlmostEqual(common.relative_l2(truth, image), np.sqrt(2.21))
        self.assertAlmostEqual(common.ncc(truth, image), 1.0)
        self.assertAlmostEqual(common.nmse_db(truth, image), 10.0 * np.log10(2.0))
        # 0.04 lies on 1 % of the maximum: half of it missing is 50 % there.
        for reference, above in ((0.04, 0.25), (0.039, 0.0)):
            image = np.array([1.0, 2.0, 4.0, reference / 2.0])
            found = common.magnitude_errors(np.array([1.0, 2.0, 4.0, reference]), image)
            np.testing.assert_allclose(found, (above, 0.25, reference / 2.0 / 4.0 / 4.0))

    def test_levels_are_those_asked_for(self):
        scene = common.with_level({**errors.two_monopoles(22 * common.BIN_HZ, 4), "microphones": {"noise_pa": 0.01}}, -32.0)
        pressure = common.truth_of(scene)[1]
        full_scale = common.full_scale_pa(scene["array"]["sensitivity_dbfs"])
        self.assertAlmostEqual(20.0 * np.log10(np.sqrt(np.mean(np.abs(pressure) ** 2)) / full_scale), -32.0, places=4)
        self.assertAlmostEqual(scene["microphones"]["noise_pa"] / full_scale, 0.01 / common.full_scale_pa(-26.0))

    def test_spectra_keep_their_limits(self):
        names = ("decimated_fft", "dot_product", "popcount 0", "popcount 1", "popcount 2", "walsh fast 40", "walsh fast 6144", "walsh fast all")
        with unittest.mock.patch.object(errors, "FRONT_ENDS", {name: errors.FRONT_ENDS[name] for name in names}):
            rows = errors.main(["--only", "spectra", "--order", "2", "--side", "8"])
        self.assertEqual(len(rows), 6 * len(names))
        found = {(row["front_end"], round(row["frequency_hz"] / common.BIN_HZ), row["level_dbfs"]): row["spectra"] for row in rows}
        for number in (22, 44):
            for name in ("decimated_fft", "dot_product", "popcount 1", "popcount 2", "walsh fast all"):
                self.assertLess(found[name, number, -32.0], 0.05, (name, number))
            # What the expansions let through is far above what the modulators leave.
            self.assertGreater(found["popcount 0", number, -32.0], 0.5)
            self.assertGreater(found["walsh fast 40", number, -32.0], 0.5)
        self.assertLess(found["popcount 2", 218, -32.0], 1.5)
        self.assertLess(found["walsh fast 6144", 44, -32.0], 0.1)
        # 14 dB less signal over the same noise, by and large.
        self.assertGreater(found["decimated_fft", 44, -46.0], 2.0 * found["decimated_fft", 44, -32.0])

    def test_offsets_leak_as_a_hann_window_says_and_go_with_removal(self):
        some = ("decimated_fft", "popcount 1", "walsh fast all")
        with unittest.mock.patch.object(errors, "OFFSETS", some):
            rows = errors.main(["--only", "offset"])
        first = [row for row in rows if abs(row["frequency_hz"] - common.BIN_HZ) < 1e-6]
        self.assertEqual(len(first), 2 * len(some))
        for row in first:
            # A Hann window's side bin is half of its middle one, and a phasor is twice its bin.
            self.assertAlmostEqual(10.0 ** (row["leakage_db"] / 20.0), 0.0 if row["remove_dc"] else 1.0, delta=2e-3, msg=row)
            self.assertLess(row["tone_error"], 0.2 if row["remove_dc"] else 100.0)
            self.assertGreater(row["tone_error"], 0.0 if row["remove_dc"] else 30.0)

    def test_holograms_agree_with_the_true_field(self):
        some = {name: errors.FRONT_ENDS[name] for name in ("decimated_fft", "popcount 1", "popcount 0, no window")}
        with unittest.mock.patch.object(errors, "FRONT_ENDS", some):
            nominal, usual, averaged = errors.main(["--only", "D3", "--order", "2"])
        self.assertEqual(nominal["rmsre_to_nominal"], 0.0)
        # docs/reference/front_ends.md: 0.012 % to the true field, popcount 0.001 % to the nominal chain, averaging 0.52 %.
        self.assertLess(nominal["rmsre_to_truth"], 0.02)
        self.assertLess(usual["rmsre_to_nominal"], 0.003)
        self.assertAlmostEqual(averaged["rmsre_to_nominal"], 0.522, delta=0.02)


if __name__ == "__main__":
    unittest.main()

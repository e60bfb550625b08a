#!/usr/bin/env python3
"""Few draws of the trials of srp_phat. Bounds are those of docs/how/srp_phat.md, with room for the few draws where that is said."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab"))

import numpy as np  # noqa: E402
import srp_trials  # noqa: E402


class Trials(unittest.TestCase):
    def run_trials(self, case, *words):
        return srp_trials.main(["--cases", case, *words])

    def test_directions_in_noise(self):
        rows = self.run_trials("directions", "--draws", "40", "--arrays", "grid 8x8", "--snr=10,-10")
        for row, median_deg, p95_deg in zip(rows, (0.09, 0.38), (0.25, 1.0)):
            self.assertEqual(row["above_5_deg"], 0)
            self.assertLessEqual(row["median_deg"], 1.5 * median_deg)
            self.assertLessEqual(row["p95_deg"], 1.5 * p95_deg)
            # Of mean 1 +- 1/sqrt(draws) where the table's variance holds.
            self.assertTrue(0.5 <= row["squared_error"] <= 2.0, row)
        self.assertAlmostEqual(rows[0]["confidence"], 0.83, delta=0.03)

    def test_all_microphones_find_what_a_subset_does_not(self):
        whole, part = self.run_trials("directions", "--draws", "8", "--arrays", "all,spiral 64", "--snr=-20")
        self.assertEqual(whole["above_5_deg"], 0)
        self.assertLessEqual(whole["median_deg"], 1.5 * 0.25)
        self.assertGreaterEqual(part["above_5_deg"], 2)

    def test_directions_before_a_cylinder(self):
        rows = self.run_trials("cylinder", "--draws", "12", "--pixels", "3888")
        self.assertEqual([row["domain"] for row in rows], ["frequency", "time"])
        for row in rows:
            self.assertEqual((row["within_10_deg"], row["within_5_and_3_deg"]), (12, 12))

    def test_false_alarms(self):
        # Of 300 windows 30 have a significance of 1 and more; a factor of 3 is allowed.
        row, = self.run_trials("noise", "--windows", "300")
        self.assertTrue(10 <= row["significance_1"] <= 90, row)
        self.assertLessEqual(row["significance_2"], 9)
        self.assertLess(row["largest"], 6.0)
        self.assertEqual(row["confirmed"], 0)

    def test_overlapping_windows_are_of_one_stream(self):
        windows = np.concatenate(list(srp_trials.overlapping(np.random.default_rng(1), 3, 11, 5, 200)))
        self.assertAlmostEqual(np.mean(np.abs(windows) ** 2), 1.0, delta=0.1)
        # Hann's windows that overlap by three quarters share 0.659 of their spectra, but for the turn of the shift by a quarter.
        turn = (-1j) ** np.arange(11, 16)[None, :, None]
        together = np.mean(windows[1:] * np.conj(windows[:-1]) * turn)
        self.assertAlmostEqual(together.real, 0.659, delta=0.1)
        self.assertAlmostEqual(together.imag, 0.0, delta=0.1)

    def test_no_track_of_a_stream_of_noise(self):
        row, = self.run_trials("stream", "--minutes", "0.02")
        self.assertEqual(row["windows"], 220)
        # A tenth of them, 22, a factor of 3 is allowed.
        self.assertTrue(220 / 30 <= row["significance_1"] <= 3 * 22, row)
        self.assertLess(row["largest"], 6.0)
        self.assertEqual(row["confirmed"], 0)

    def test_ids_where_sources_cross(self):
        row, = self.run_trials("crossing", "--runs", "1")
        self.assertEqual((row["swapped"], row["changed"], row["unseen"]), (0, 0, 0))
        self.assertLessEqual(row["rms_deg"], 1.0)

    def test_times(self):
        rows = self.run_trials("times", "--pixels", "3888", "--microphones", "16", "--repetitions", "1")
        self.assertEqual([(row["domain"], row["bins"]) for row in rows], [("frequency", 896), ("time", 896)])
        self.assertTrue(all(row["least_ms"] > 0.0 for row in rows))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The study of two planes at one frequency, a scene of spectra and of bits each."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab"))

import numpy as np  # noqa: E402
import two_planes  # noqa: E402


class Scenes(unittest.TestCase):
    def test_the_disturbance_has_its_ratio_at_the_microphones(self):
        for kind in ("near", "far"):
            front, behind, places_m = two_planes.draw(8, kind, 0.3, 1000.0, 7)
            k = 2 * np.pi * 1000.0 / two_planes.SOUND_SPEED_M_S
            at = [np.linalg.norm(two_planes.field(of, k, places_m)) for of in (front, behind)]
            self.assertAlmostEqual(at[1] / at[0], 0.3, places=9)
            self.assertGreater(min(source[2] for source in behind), places_m[:, 2].max())


class Study(unittest.TestCase):
    def test_a_disturbance_as_loud_as_the_field_is_taken_out(self):
        rows = two_planes.main(["--sides", "8", "--forms", "spectra,bits", "--kinds", "near beat,near", "--frequencies", "33", "--ratios", "0,1", "--scenes", "1"])
        self.assertEqual(len(rows), 6)
        for row in rows:
            self.assertLess(row["error"], 0.015, row)  # as in OperatorsBehind.PointsOfBothSidesAreFound
            if row["ratio"] > 0:
                self.assertLess(row["level_db"], 1.0, row)


if __name__ == "__main__":
    unittest.main()

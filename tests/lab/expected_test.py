#!/usr/bin/env python3
"""The study of expected errors before one array: no mask, half of the microphones, a hole, and nearly all."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab"))

import expected  # noqa: E402
import numpy as np  # noqa: E402


class Masks(unittest.TestCase):
    def test_each_masks_what_it_says(self):
        masks = dict(expected.masks_of(8, ["0", "50", "95", "hole", "side"], 3))
        self.assertEqual({name: len(set(masked)) for name, masked in masks.items()}, {"0": 0, "50": 32, "95": 61, "hole": 16, "side": 16})
        rows, columns = np.divmod(masks["hole"], 8)
        self.assertEqual((np.ptp(rows), np.ptp(columns)), (3, 3))


class Study(unittest.TestCase):
    def test_expected_errors_are_near_the_true_ones(self):
        rows = expected.main(["--sizes", "8", "--ratios", "0.7", "--scenes", "1", "--imagers", "sonah", "--quantities", "pressure", "--masks", "0,50,95,hole",
                              "--kinds", "one monopole,packets of 3 cm,wave from behind"])
        for mask in ("0", "50", "95", "hole"):
            ratios = [row["error_estimate"] / row["relative_l2"] for row in expected.pick(rows, mask=mask)]
            # Of nine images: wider than 0.8 to 1.4, within which the median of hundreds lies.
            self.assertGreater(np.median(ratios), 0.7, mask)
            self.assertLess(np.median(ratios), 1.7, mask)
            self.assertGreater(min(ratios), 0.3, mask)


if __name__ == "__main__":
    unittest.main()

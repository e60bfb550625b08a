#!/usr/bin/env python3
"""The study of imagers at two points of its grid, a scene of some kinds each."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab"))

import fields  # noqa: E402
import imagers  # noqa: E402
import numpy as np  # noqa: E402
from common import array_settings  # noqa: E402


class Scenes(unittest.TestCase):
    def test_sources_lie_over_the_array(self):
        """A monopole's field is strongest at the microphone nearest to it, which is none of the rim's for all of three arrays."""
        for array in (array_settings(32, 32), array_settings(8, 8, 0.02), array_settings(8, 8, 0.09)):
            pressure = np.abs(fields.scene_of_kind("one monopole, 3 cm", 0, array)[0][0]).reshape(array["rows"], array["columns"])
            row, column = np.unravel_index(pressure.argmax(), pressure.shape)
            of_default = np.abs(fields.scene_of_kind("one monopole, 3 cm", 0)[0][0]).reshape(32, 32)
            there = np.array(np.unravel_index(of_default.argmax(), of_default.shape)) + 0.5
            # The same place in parts of the sides, to half a microphone of each array.
            self.assertLess(np.max(np.abs((np.array([row, column]) + 0.5) / pressure.shape - there / 32)), 0.51 / array["rows"] + 0.51 / 32)


class Study(unittest.TestCase):
    def test_auto_is_the_better_one_at_some_points_of_the_grid(self):
        with tempfile.TemporaryDirectory() as folder:
            csv = pathlib.Path(folder) / "figures.csv"
            rows = imagers.main(["--sizes", "8", "--ratios", "0.7,1.4", "--kinds", "one monopole,three monopoles,packets of 6", "--quantities", "pressure",
                                 "--scenes", "1", "--csv", str(csv)])
            self.assertEqual(len(csv.read_text(encoding="utf-8").splitlines()), len(rows) + 3)
        self.assertEqual({row["auto"] for row in rows}, {"sonah"})
        for own in imagers.of_kinds(rows):
            error = {name: imagers.mean_of(imagers.pick(own, imager=name)) for name in imagers.IMAGERS}
            self.assertLessEqual(error["sonah"], imagers.MARK * min(error.values()), own[0])


if __name__ == "__main__":
    unittest.main()

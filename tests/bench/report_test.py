#!/usr/bin/env python3
"""Plots of the benchmarks, from reports made by hand: `report_test.py PATH/nearfield-bench-report`."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/report"))

import frames  # noqa: E402
import front_ends  # noqa: E402
import roofline  # noqa: E402
from plots import Axis, Series, write_plot  # noqa: E402


class Pictures(unittest.TestCase):
    def test_a_point_needs_bytes_and_operations(self):
        series = Series("stage")
        roofline.add_point(series, {"bytes": 4.0, "operations": 8.0, "device_s": {"median": 2e-9}})
        roofline.add_point(series, {"bytes": 0.0, "operations": 8.0, "device_s": {"median": 2e-9}})
        self.assertEqual((series.x, series.y), ([2.0], [8.0 / 2e-9 * 1e-9]))

    def test_series_keep_the_order_of_the_runs(self):
        runs = [{"variant": name, "frequencies": n} for name in ("b", "a") for n in (1, 5)]
        series = front_ends.series_of(runs, lambda run: 10.0 * run["frequencies"])
        self.assertEqual([(one.name, one.x, one.y) for one in series], [("b", [1, 5], [10.0, 50.0]), ("a", [1, 5], [10.0, 50.0])])

    def test_reports_without_the_kind_of_device_are_drawn(self):
        self.assertEqual(frames.time_unit({"device": {"name": "portable"}}, "time"), (1e3, "time [ms]"))

    def test_a_plot_replaces_an_older_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "new" / "plot.png"
            for _ in range(2):
                write_plot(path, "a title", Axis("x", logarithmic=True), Axis("y"), [Series("line", [1.0, 10.0], [2.0, 3.0])], ["a note"])
            self.assertEqual(os.listdir(path.parent), ["plot.png"])
            self.assertEqual(path.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def expect_failure(self, code, message, *words, **others):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, **others)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertTrue(done.stderr.startswith("nearfield: error: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(message, done.stderr)

    def expect_refusal(self, code, message, report, *options):
        file = self.path / "report.json"
        file.write_text(report if isinstance(report, str) else json.dumps(report), encoding="utf-8")
        self.expect_failure(code, message, file, *options)

    def test_refusals(self):
        self.expect_refusal(64, "unrecognized arguments: --nothing", {"benchmark": "frames"}, "--nothing")
        self.expect_refusal(64, "this is health", {"benchmark": "health"}, "--png", self.path)
        self.expect_refusal(64, "expected --png", {"benchmark": "frames"})
        self.expect_refusal(65, "expected JSON", "{")
        self.expect_refusal(65, "expected a report", [])
        self.expect_refusal(64, "expected either a report or --check", {"benchmark": "frames"}, "--check")
        self.expect_failure(64, "expected either a report or --check", "--png", self.path)
        self.expect_failure(66, "none.json", self.path / "none.json", "--png", self.path)
        for report in ({"benchmark": "frames"}, {"benchmark": "frontends", "device": []}, {"benchmark": ["frames"]}):
            self.expect_refusal(65, "a report of another version", report, "--png", self.path)

    def test_a_broken_package_is_named(self):
        (self.path / "matplotlib.py").write_text("raise ImportError('is of another version')\n")
        self.expect_failure(66, "python3-matplotlib: is of another", "--check", "--png", self.path / "p",
                            env={**os.environ, "PYTHONPATH": str(self.path)})
        self.assertEqual(subprocess.run([PROGRAM, "--check", "--png", self.path / "p"], check=False).returncode, 0)
        self.assertFalse((self.path / "p").exists())


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Plots and pages of the benchmarks, from reports made by hand: `report_test.py PATH/nearfield-bench-report`."""

import base64
import fcntl
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/report"))

import fidelity  # noqa: E402
import fidelity_page  # noqa: E402
import frames  # noqa: E402
import front_ends  # noqa: E402
import images  # noqa: E402
import roofline  # noqa: E402
from plots import Series, write_whole_file  # noqa: E402

DEVICE = {"name": "portable", "platform": "PoCL", "driver": "3.1", "is_gpu": False}


def image_of(values):
    return base64.b64encode(b"".join(struct.pack("<ff", value.real, value.imag) for value in map(complex, values))).decode()


# --- fidelity --------------------------------------------------------------------------------------------------------

def figures(relative_l2, cutoff=None, **others):
    return {"relative_l2": relative_l2, "inner_l2": relative_l2 / 2.0, "worst_l2": 2.0 * relative_l2, "nmse_db": -30.0, "ncc": 0.99,
            "peak_off_m": 0.004, "cutoff_rad_per_m": cutoff, "slope": None if cutoff is None else 0.1, **others}


def row(extrapolation, name, frequencies, is_default=False, knows_truth=False):
    return {"extrapolation": extrapolation, "filter": name, "is_default": is_default, "knows_truth": knows_truth,
            "frequencies": frequencies}


TRUTH = image_of([1.0, 2.0j, 0.0, -4.0])
IMAGE = image_of([1.0, 2.0j, 0.0, -3.0])


def case_rows(scale=1.0):
    return [row("plpbp", "cos, auto", [figures(0.04 * scale, 50.0, image=IMAGE), figures(0.08 * scale, 70.0, image=IMAGE)],
                is_default=True),
            row("plpbp", "tikhonov", [figures(1.5 * scale), figures(0.5 * scale)]),
            row("plpbp", "cos, best fixed cut-off", [figures(0.02 * scale, 45.0), figures(0.05 * scale, 60.0)], knows_truth=True),
            row("plpbp", "tikhonov, best lambda", [figures(0.1, **{"lambda": 1e-4}), figures(0.1, **{"lambda": 3e-3})],
                knows_truth=True)]


def result(part, rows, **others):
    return {"part": part, "field": "pattern", "quantity": "pressure", "standoff_m": 0.03, "frequencies_hz": [500.0, 2000.0],
            "wavenumbers_rad_per_m": [9.16, 36.64], "array": {"rows": 2, "columns": 2, "pitch_x_m": 0.02, "pitch_y_m": 0.02},
            "points_xy_m": [], "valid": [], "snr_db": 40.0, "pictured": [], "truth": [None, None],
            "scan": {"slope": 0.1, "cutoff_rad_per_m": [40.0, 60.0], "distance": [[0.02, 0.03], [0.06, 0.05]]}, "rows": rows, **others}


def violin():
    rows = [row("plpbp", "cos, auto", [figures(0.5, 10.0, ncc=0.9, image=IMAGE), figures(0.5, 200.0, ncc=0.5, image=IMAGE)])]
    return result("data", rows, field="violin_measured", snr_db=None, points_xy_m=[[0.0, 0.001], [0.01, -0.01], [0.0, 0.0], [0.01, 0.01]],
                  pictured=[1], truth=[TRUTH, TRUTH], phases=[{"ncc_of_magnitudes": 0.8, "ncc_with_conjugate": None}] * 2)


def kind(name, expected, is_fitted=False):
    def of(quantity, filter_name, errors, knows_truth=False):
        return {"quantity": quantity, "filter": filter_name, "knows_truth": knows_truth, "relative_l2": errors,
                "error_estimate": [None if knows_truth else ratio * error for ratio, error in zip(expected, errors)]}
    rows = [of(quantity, filter_name, errors, filter_name.startswith("cos, best")) for quantity in ("pressure", "normal_velocity")
            for filter_name, errors in (("sonah", [0.1, 0.2]), ("cos, best fixed cut-off", [0.1, 0.1]), ("imager: auto", [0.1, 0.2]))]
    return {"kind": name, "is_fitted": is_fitted, "standoff_m": 0.03, "snr_db": 40.0, "frequencies_hz": [500.0], "rows": rows}


def fidelity_report(results, left_out=(), kinds=()):
    return {"benchmark": "fidelity", "device": DEVICE, "draws": 20, "bit_draws": 4, "main_extrapolation": "plpbp",
            "defaults": {"dynamic_range_db": 30.0, "tikhonov_lambda": 1e-3}, "left_out": list(left_out), "results": results, "kinds": list(kinds), "scenes": 2}


def page(*arguments):
    return fidelity_page.page_of(fidelity.Report(fidelity_report(*arguments)))


class Page(unittest.TestCase):
    def expect_lines(self, text, *lines):
        for line in lines:
            self.assertIn(line, text.splitlines())

    def test_cases(self):
        text = page([result("cases", case_rows(), pictured=[0, 1], truth=[TRUTH, TRUTH])])
        self.expect_lines(
            text, "| extrapolation | filter | pattern, 500 Hz | pattern, 2000 Hz | mean |", "|---|---|---|---|---|",
            "| plpbp | **cos, auto** | 4.0 | 8.0 | **6.0** |", "| plpbp | tikhonov | 150 | 50.0 | 100 |",
            # Ratios: 4 / 2 and 8 / 5 %.
            "| plpbp | **cos, auto** | 6.0 | 3.0 | -30.0 | 0.9900 | 4.0 | 16.0 | 1.80 | 2.00 |",
            "| pattern, 500 Hz | 50 / 0.1, 4.0 (2.00) | 45 / 0.1, 2.0 (1.00) |",
            "Best lambda of `tikhonov`, case by case: 1e-04 3e-03.",
            "![pattern: over the cut-off](pictures/fidelity/cutoff_pattern.png)",
            "![pattern: truth, images, errors](pictures/fidelity/pattern_2000hz.png)",
            "Filters: `cos` with its cut-off by the rule named, slope 0.1 unless the rule chooses it too (`dynamic_range` at its "
            "default of 30 dB);",
            "`tikhonov` with its default lambda of 1e-03.")
        self.assertIn("Bold: what is used when nothing is set, `plpbp` with `cos, auto`.", text)
        self.assertTrue(text.endswith(".png)\n"))
        self.assertNotIn("nan", text)

    def test_kinds_shown_are_held_against_the_marks_and_fitted_ones_are_not(self):
        text = page([], (), [kind("dipoles", [0.5, 1.0]), kind("one monopole", [3.0, 3.0], is_fitted=True)])
        self.expect_lines(
            text, "| scenes | dB | sonah | cos, best fixed cut-off | imager: auto | auto over best |",
            "| dipoles | 40 | 15.0 | 10.0 | 15.0 | 1.50 |",
            "| sonah | pressure | shown | 2 | 0.75 | 0.51 to 0.99 | 100 % |",
            "| sonah | pressure | fitted | 2 | 3.00 | 3.00 to 3.00 | 0 % |",
            "| sonah | normal velocity, displacement | shown | 2 | 0.75 | 0.51 to 0.99 | 100 % |",
            "| scenes by kind, over the best fixed cut-off, in any kind | ≤ 1.30 | 1.50 | **no** |",
            "| expected over true error, sonah, pressure, median | ≤ 1.40 | 0.75 | yes |",
            "| expected over true error, sonah, pressure, median | ≥ 0.80 | 0.75 | **no** |",
            "| expected over true error, sonah, pressure, share within 0.4 to 2.5 | ≥ 95.0 % | 100.0 % | yes |")
        self.assertNotIn("| one monopole | 40 |", text)
        self.assertNotIn("nan", text)

    def test_marks_hold_at_their_value_and_not_beyond(self):
        text = page([result("cases", case_rows())])
        self.expect_lines(text, "| eight cases, 40 dB, mean error | ≤ 5.5 % | 6.0 % | **no** |",
                          "| eight cases, 40 dB, over the best fixed cut-off, mean | ≤ 1.20 | 1.80 | **no** |",
                          "| pattern, 500 Hz | ≤ 2.0 % | 4.0 % | **no** |")
        self.expect_lines(page([result("cases", case_rows(0.5))]), "| eight cases, 40 dB, mean error | ≤ 5.5 % | 3.0 % | yes |",
                          "| pattern, 500 Hz | ≤ 2.0 % | 2.0 % | yes |", "| pattern, 2000 Hz | ≤ 2.0 % | 4.0 % | **no** |")

    def test_marks_are_for_the_automatic_imager_where_there_is_one(self):
        rows = case_rows() + [row("none", "imager: auto", [figures(0.01), figures(0.02)])]
        self.expect_lines(page([result("cases", rows)]), "| eight cases, 40 dB, mean error | ≤ 5.5 % | 1.5 % | yes |")

    def test_bits_beside_spectra(self):
        text = page([result("cases", case_rows()), result("bits", case_rows(1.25)[:1])])
        self.expect_lines(text, "| **cos, auto** | 5.0 / 4.0, 1.25 | 10.0 / 8.0, 1.25 |",
                          "| from bits over from spectra, 40 dB, in any case | ≤ 1.20 | 1.25 | **no** |")

    def test_scenes_and_standoffs(self):
        text = page([result("scenes", case_rows()[:2], field="plate"), result("standoffs", case_rows(), standoff_m=0.05)])
        self.expect_lines(text, "| scene | quantity | cos, auto | tikhonov |",
                          "| plate, 500 Hz | pressure | **4.0 / 0.990** | 150 / 0.990 |", "### 5 cm, 40 dB")

    def test_files(self):
        text = page([violin()])
        self.expect_lines(
            text, "2 x 2 microphones, 20.0 x 20.0 mm apart, 30.0 mm before the surface, 2 frequencies.",
            "| plpbp | cos, auto | 0.700 | 0.500 | -30.0 | 105 |",
            # 2 pi over 4 cm is 157 rad/m.
            "| 500.0 | 9.2 | 0.900 (10 / 0.1, flat) | 0.80 | - |", "| 2000.0 | 36.6 | 0.500 (200 / 0.1) | 0.80 | - |",
            "| violin_measured, median NCC | ≥ 0.600 | 0.700 | yes |")

    def test_what_was_left_out(self):
        text = page([], ["`plate`: x/plate is not there"])
        self.expect_lines(text, "**Left out:**", "- `plate`: x/plate is not there")
        self.assertNotIn("## Marks", text)


# --- pictures --------------------------------------------------------------------------------------------------------

class Pictures(unittest.TestCase):
    def test_images_come_as_they_were(self):
        self.assertEqual(list(images.decoded(TRUTH)), [1.0, 2.0j, 0.0, -4.0])

    def test_errors_of_the_places_with_a_truth(self):
        import fidelity_pictures
        field = fidelity.Field(result("data", case_rows(), valid=["11", "10"], truth=[TRUTH, TRUTH]), "plpbp")
        truth = fidelity_pictures.Truth(field, 0)
        image = truth.image(field.rows[0], 0)
        self.assertEqual(truth.top, 2.0)
        self.assertEqual(truth.relative_l2(image), 0.0)
        self.assertAlmostEqual(truth.ncc(3.0j * image), 1.0)
        self.assertAlmostEqual(truth.closest_factor(2.0j * image), -0.5j)
        self.assertTrue(math.isnan(truth.error_shares(image)[1][1]))

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


# --- files -----------------------------------------------------------------------------------------------------------

class WholeFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.file, self.partial = self.path / "new" / "file", self.path / "new" / "file.partial"
        self.partial.parent.mkdir()

    def names(self):
        return sorted(path.name for path in self.partial.parent.iterdir())

    def expect_refusal(self, words, path):
        with self.assertRaises(OSError) as raised:
            write_whole_file(self.file, b"new")
        self.assertIn(words, raised.exception.strerror)
        self.assertEqual(raised.exception.filename, str(path))

    def test_replace_what_was_there_and_what_an_earlier_run_left(self):
        self.file.write_bytes(b"old and longer")
        self.partial.write_bytes(b"left over and longer")
        write_whole_file(self.file, b"new")
        self.assertEqual((self.file.read_bytes(), self.names()), (b"new", ["file"]))

    def test_a_link_in_the_place_of_the_partial_file_is_refused_and_its_target_stays(self):
        target = self.path / "target"
        for content in (b"precious", None):
            if content is not None:
                target.write_bytes(content)
            else:
                target.unlink()
            self.partial.unlink(missing_ok=True)
            self.partial.symlink_to(target)
            self.expect_refusal("found a link", self.partial)
            self.assertEqual(target.read_bytes() if target.exists() else None, content)
            self.assertEqual(self.names(), ["file.partial"])

    def test_a_link_in_the_place_of_the_file_is_replaced_and_its_target_stays(self):
        target = self.path / "target"
        target.write_bytes(b"precious")
        self.file.symlink_to(target)
        write_whole_file(self.file, b"new")
        self.assertEqual((target.read_bytes(), self.file.read_bytes(), self.file.is_symlink()), (b"precious", b"new", False))

    def test_special_files_and_folders_are_refused(self):
        os.mkfifo(self.partial)
        self.expect_refusal("found a special file", self.partial)
        self.partial.unlink()
        self.partial.mkdir()
        self.expect_refusal("found a directory", self.partial)
        self.partial.rmdir()
        self.file.mkdir()
        self.expect_refusal("found a directory", self.file)

    def test_a_file_that_another_program_writes_is_refused(self):
        self.partial.write_bytes(b"half")
        # The lock of src/core/system/partial_file.cpp, which belongs to the open file and not to the process.
        with self.partial.open("r+b") as file:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            self.expect_refusal("another program is writing it", self.partial)
            self.assertEqual(self.partial.read_bytes(), b"half")
        write_whole_file(self.file, b"new")
        self.assertEqual(self.names(), ["file"])


# --- program ---------------------------------------------------------------------------------------------------------

class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def run_program(self, *words, **others):
        return subprocess.run([PROGRAM, *words], stderr=subprocess.PIPE, text=True, check=False,
                              **{"stdout": subprocess.PIPE, **others})

    def expect_failed(self, done, code, message):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertTrue(done.stderr.startswith("nearfield: error: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(message, done.stderr)

    def run_on(self, report, *options, **others):
        file = self.path / "report.json"
        file.write_text(report if isinstance(report, str) else json.dumps(report), encoding="utf-8")
        return self.run_program(file, *options, **others)

    def expect_failure(self, code, message, report, *options, **others):
        self.expect_failed(self.run_on(report, *options, **others), code, message)

    def without(self, package):
        """An environment in which a package is broken."""
        folder = self.path / f"without_{package}"
        folder.mkdir()
        (folder / f"{package}.py").write_text("raise ImportError('is of another version')\n")
        return {**os.environ, "PYTHONPATH": str(folder)}

    def test_page_and_pictures(self):
        report = fidelity_report([result("cases", case_rows(), pictured=[0, 1], truth=[TRUTH, TRUTH]), violin()],
                                 kinds=[kind("dipoles", [0.5, 1.0])])
        done = self.run_on(report, "--docs", self.path / "docs")
        self.assertEqual(done.returncode, 0, done.stderr)
        written = {str(path.relative_to(self.path / "docs")) for path in (self.path / "docs").rglob("*") if path.is_file()}
        pictures = {f"pictures/fidelity/{name}.png" for name in ("pattern_500hz", "pattern_2000hz", "cutoff_pattern", "violin_measured",
                                                                 "cutoff_violin_measured", "expected_error")}
        self.assertEqual(written, {"results/fidelity.md"} | pictures)
        text = (self.path / "docs/results/fidelity.md").read_text(encoding="utf-8")
        for name in pictures:
            self.assertIn(f"](../{name})", text)
            self.assertEqual((self.path / "docs" / name).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(self.run_on(report).stdout, text)

    def test_refusals(self):
        report = fidelity_report([])
        self.expect_failure(64, "unrecognized arguments: --nothing", report, "--nothing")
        self.expect_failure(64, "this is fidelity", report, "--png", self.path)
        self.expect_failure(64, "this is health", {"benchmark": "health"}, "--png", self.path)
        self.expect_failure(65, "expected JSON", "{")
        self.expect_failure(65, "expected a report", [])
        (self.path / "file").write_text("")
        self.expect_failure(74, "/file", report, "--docs", self.path / "file")
        self.expect_failed(self.run_program("--docs", self.path), 64, "expected either a report or --check")
        self.expect_failure(64, "expected either a report or --check", report, "--check")

    def test_reports_of_another_version(self):
        of_another_version = "a report of another version"
        for report in ({"benchmark": "frames"}, {"benchmark": "frontends", "device": []},
                       {"benchmark": ["frames"]}):
            self.expect_failure(65, of_another_version, report, "--png", self.path)
        self.expect_failure(65, of_another_version, {"benchmark": "fidelity", "results": [{}]})

    def test_a_broken_package_is_named_before_and_while_it_is_needed(self):
        for package in ("numpy", "matplotlib"):
            broken = self.without(package)
            for option in ("--png", "--docs"):
                self.expect_failed(self.run_program("--check", option, self.path, env=broken), 66, "python3-matplotlib: is of another")
            self.expect_failed(self.run_program("--check", "--nothing", env=broken), 64, "--nothing")
            self.assertEqual(self.run_program("--check", env=broken).returncode, 0)  # a page on stdout needs none
            self.assertEqual(self.run_on(fidelity_report([]), env=broken).returncode, 0)
            report = fidelity_report([result("cases", case_rows(), pictured=[0], truth=[TRUTH, TRUTH])])
            self.expect_failure(66, "python3-matplotlib", report, "--docs", self.path / "docs", env=broken)
        self.assertEqual(self.run_program("--check", "--png", self.path / "p").returncode, 0)
        self.assertFalse((self.path / "p").exists())

    def test_a_full_output_is_named(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.expect_failure(74, "standard output: No space left", fidelity_report([]), stdout=full)

    def test_a_page_is_utf_8_in_every_locale(self):
        report = fidelity_report([result("cases", case_rows())])
        ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        self.assertIn("≤", self.run_on(report, env=ascii_only).stdout)

    def test_a_link_in_the_place_of_a_partial_file(self):
        target = self.path / "target"
        target.write_text("precious")
        docs = self.path / "docs"
        docs.mkdir()
        (docs / "results").mkdir(parents=True)
        (docs / "results/fidelity.md.partial").symlink_to(target)
        self.expect_failure(74, "fidelity.md.partial: found a link", fidelity_report([]), "--docs", docs)
        self.assertEqual(target.read_text(), "precious")

    def test_a_missing_report(self):
        done = subprocess.run([PROGRAM, self.path / "none.json"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, "none.json" in done.stderr), (66, True))


if __name__ == "__main__":
    unittest.main()

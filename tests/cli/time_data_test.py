#!/usr/bin/python3
"""Recordings as other programs write them, imaged: `time_data_test.py FOLDER_OF_nearfield`.

A monopole at a known place is recorded by a simulated array, written by scipy, soundfile, h5py or from the format's description
(`tests/support/time_data_files.py`), and imaged by `nearfield replay`. The image is compared with the closed form on the surface.
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np
import scipy.io
import scipy.io.wavfile
import soundfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program, sets  # noqa: E402
from time_data_files import (Grid, monopole, universal, universal_nodes, universal_units, write_acoular, write_acoular_xml, write_matlab5_big_endian,  # noqa: E402
                             write_matlab73)

NEARFIELD = Program(pathlib.Path(sys.argv.pop(1)) / "nearfield")
SOUND_SPEED_M_S = 343.0
STANDOFF_M = 0.03
SOURCE_M = np.array([0.05, -0.07, -0.05])  # 5 cm behind the surface, before a pixel of the large array
AMPLITUDE_PA_M = 1.5  # of the pressure times the distance
SAMPLES = 2100
WINDOW = 1024


class Array(Grid):
    """A grid before the monopole."""

    def options(self):
        return super().options(STANDOFF_M)

    def record(self, rate_hz, tone_hz):
        """Pa, [sample][channel]."""
        return monopole(self.places_m + [0, 0, STANDOFF_M], SOURCE_M, AMPLITUDE_PA_M, SOUND_SPEED_M_S, rate_hz, tone_hz, SAMPLES)


PEAK_OF_CHILD = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""  # in KiB


SMALL = Array(8, 0.05)
LARGE = Array(32, 0.02)


# ---- Images ----

class Recordings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def replay(self, path, tone_hz, options):
        settings = ["holography.imager=pnah", *options, f"front_end.window_samples={WINDOW}", f"front_end.frequencies_hz=[{tone_hz}]"]
        return NEARFIELD.run("replay", path, "-o", self.folder / "images.h5", "--frames", "1", "--engine",
                                  "reference", *sets(settings))

    def image(self, path, tone_hz, options):
        done = self.replay(path, tone_hz, options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.first_image()

    def first_image(self):
        with h5py.File(self.folder / "images.h5") as file:
            return file["images"][0, 0, 0], file["x_m"][:], file["y_m"][:]

    def assert_shows_the_monopole(self, path, tone_hz, array, options=(), grid=True):
        """Place and level beside the closed form; returns the image."""
        found = self.image(path, tone_hz, [*(array.options() if grid else []), *options])
        return self.assert_is_the_monopole(found, array)

    def assert_is_the_monopole(self, found, array):
        image, x_m, y_m = found
        y_m, x_m = np.meshgrid(y_m, x_m, indexing="ij")
        truth = AMPLITUDE_PA_M / np.sqrt((x_m - SOURCE_M[0])**2 + (y_m - SOURCE_M[1])**2 + SOURCE_M[2]**2)
        peak = np.unravel_index(np.argmax(np.abs(image)), image.shape)
        # The nearest pixel, which is half a pitch away along both axes where the source is between four of them.
        self.assertLessEqual(np.abs(x_m[peak] - SOURCE_M[0]), array.pitch_m / 2 * 1.001)
        self.assertLessEqual(np.abs(y_m[peak] - SOURCE_M[1]), array.pitch_m / 2 * 1.001)
        # Back-propagation over 3 cm from an aperture of 35 cm (8 x 8) or 62 cm, whose edges are extrapolated: measured
        # 0.1 dB and 2 to 4 % of the whole image. A wrong scale, order or rate is off by far more.
        self.assertLess(abs(20 * np.log10(np.abs(image[peak]) / truth[peak])), 0.3)
        self.assertLess(np.linalg.norm(np.abs(image) - truth) / np.linalg.norm(truth), 0.05)
        return image

    def assert_like(self, image, expected, tolerance):
        self.assertLess(np.linalg.norm(image - expected) / np.linalg.norm(expected), tolerance)

    def acoular_image(self, array, rate_hz, tone_hz):
        """What others must show as well."""
        path = self.folder / "acoular.h5"
        write_acoular(path, array.record(rate_hz, tone_hz), rate_hz)
        return self.assert_shows_the_monopole(path, tone_hz, array)

    def assert_refused(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("nearfield: error:"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_acoular_with_its_xml_of_another_order(self):
        array = Array(8, 0.05, np.random.default_rng(1).permutation(64))
        path, xml = self.folder / "a.h5", self.folder / "array.xml"
        write_acoular(path, array.record(51200.0, 1000.0), 51200.0)
        write_acoular_xml(xml, array.places_m)
        options = [f"array.positions={xml}", f"holography.standoff_m={STANDOFF_M}"]
        self.assert_shows_the_monopole(path, 1000.0, array, options, grid=False)

    def test_wav_of_64_and_1024_channels(self):
        # float32 against integers of full scale 64 Pa: a step of 24 bits is 8e-6 Pa, of 16 bits 2e-3 Pa, and noise of
        # 1/sqrt(12) of it falls into 1 of 512 bins; the levels are some pascals.
        for array, rate_hz, tone_hz in ((SMALL, 48000.0, 984.375), (LARGE, 51200.0, 1000.0)):
            expected = self.acoular_image(array, rate_hz, tone_hz)
            for subtype, unit_pa, tolerance in (("FLOAT", 1, 1e-6), ("DOUBLE", 1, 1e-6), ("PCM_32", 64, 1e-6),
                                                ("PCM_24", 64, 1e-5), ("PCM_16", 64, 1e-3)):
                path = self.folder / f"{subtype}.wav"
                soundfile.write(path, array.record(rate_hz, tone_hz) / unit_pa, int(rate_hz), subtype=subtype)
                image = self.assert_shows_the_monopole(path, tone_hz, array, [f"array.pascal_per_unit={unit_pa}"])
                self.assert_like(image, expected, tolerance)

    def test_wav_of_8_bits(self):
        # A step is 0.16 Pa at levels of some pascals; its noise, spread over 512 bins, is 0.1 % of them.
        expected = self.acoular_image(SMALL, 48000.0, 984.375)
        path, unit_pa = self.folder / "a.wav", 20.0
        values = np.round(SMALL.record(48000.0, 984.375) / unit_pa * 128) + 128
        scipy.io.wavfile.write(path, 48000, values.astype("uint8"))
        image = self.assert_shows_the_monopole(path, 984.375, SMALL, [f"array.pascal_per_unit={unit_pa}"])
        self.assert_like(image, expected, 1e-2)

    def test_encode_takes_wav_of_other_kinds_of_samples(self):
        sensitivities_dbfs = {}
        for subtype in ("PCM_16", "ULAW", "ALAW"):
            path, capture = self.folder / f"{subtype}.wav", self.folder / f"{subtype}.h5"
            soundfile.write(path, SMALL.record(48000.0, 984.375) / 20, 48000, subtype=subtype)
            done = NEARFIELD.run("encode", path, "-o", capture, "--pascal-per-unit", 20,
                                      *sets(SMALL.options()))
            self.assertEqual(done.returncode, 0, done.stderr)
            with h5py.File(capture) as file:
                sensitivities_dbfs[subtype] = file["geometry"].attrs["sensitivity_dbfs"]
        for subtype in ("ULAW", "ALAW"):
            # 14 and 13 bits in a logarithmic scale: errors of at most 3 % of a sample.
            self.assertAlmostEqual(sensitivities_dbfs[subtype], sensitivities_dbfs["PCM_16"], delta=0.1)
        # Levels and what is odd about them are those of any recording, also of a file that libsndfile alone reads.
        flac, sine = self.folder / "soft.flac", np.sin(2 * np.pi * 1000 / 48000 * np.arange(4800))
        soundfile.write(flac, sine[:, None] * np.array([1, 1, 1, 1, 1, 1, 0.5, 1]) / np.sqrt(2), 48000, subtype="PCM_24")
        array = ["array.rows=2", "array.columns=4", "array.pitch_x_m=0.02", "array.pitch_y_m=0.02",
                 f"holography.standoff_m={STANDOFF_M}", "holography.extrapolation.method=edge"]
        for pascal_per_unit, level_db, is_odd in ((20, "114.0", False), (1e-5, "-12.0", True), (1e7, "228.0", True)):
            done = NEARFIELD.require("encode", flac, "-o", self.folder / "bits.h5", "--pascal-per-unit", pascal_per_unit, *sets(array))
            self.assertRegex(done.stderr, rf"loudest channel \d of the file: {level_db} dB re 20 uPa rms")
            self.assertEqual("is the unit right" in done.stderr or "the unit wrong" in done.stderr, is_odd, done.stderr)
        # 24 bits in four bytes each: libsndfile reads these bytes three by three, which gives noise.
        wide, data = self.folder / "wide.wav", bytes(64 * 4 * 100)
        body = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 64, 48000, 48000 * 256, 256, 24)
        body += b"data" + struct.pack("<I", len(data)) + data
        wide.write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
        done = NEARFIELD.run("encode", wide, "-o", self.folder / "no.h5", "--pascal-per-unit", 20,
                                  *sets(SMALL.options()))
        self.assert_refused(done, 65, "a whole number of bytes to each channel")
        options = [*SMALL.options(), "array.pascal_per_unit=20"]
        self.assert_refused(self.replay(self.folder / "ULAW.wav", 984.375, options), 65, "kind 7", "nearfield encode")

    def test_rf64(self):
        expected = self.acoular_image(SMALL, 51200.0, 1000.0)
        path = self.folder / "long.wav"
        soundfile.write(path, SMALL.record(51200.0, 1000.0), 51200, format="RF64", subtype="FLOAT")
        self.assertEqual(path.read_bytes()[:4], b"RF64")
        image = self.assert_shows_the_monopole(path, 1000.0, SMALL, ["array.pascal_per_unit=1"])
        self.assert_like(image, expected, 1e-6)  # both are float32

    def test_universal_file_of_text_in_any_order_of_nodes(self):
        expected = self.acoular_image(SMALL, 51200.0, 1000.0)
        values = SMALL.record(51200.0, 1000.0)
        backwards = list(range(64, 0, -1))  # the order of the file is not that of the nodes
        for double, tolerance in ((False, 1e-5), (True, 1e-6)):  # six digits; float32
            path = self.folder / "recording.uff"
            path.write_bytes(universal(values[:, ::-1], 51200.0, backwards, double=double))
            self.assert_like(self.assert_shows_the_monopole(path, 1000.0, SMALL), expected, tolerance)
        path.write_bytes(universal(values, 51200.0, [7] * 64))  # one node for all: in the order of the file
        self.assert_like(self.assert_shows_the_monopole(path, 1000.0, SMALL), expected, 1e-5)

    def test_binary_universal_file_of_64_and_1024_channels(self):
        for array, rate_hz, tone_hz in ((SMALL, 48000.0, 984.375), (LARGE, 51200.0, 1000.0)):
            expected = self.acoular_image(array, rate_hz, tone_hz)
            nodes = list(range(101, 101 + array.side**2))
            for order, double in (("<", False), (">", False), ("<", True), (">", True)):
                path = self.folder / "recording.unv"
                path.write_bytes(universal(array.record(rate_hz, tone_hz), rate_hz, nodes, order, double=double))
                self.assert_like(self.assert_shows_the_monopole(path, tone_hz, array), expected, 1e-6)

    def test_universal_file_in_other_units(self):
        expected = self.acoular_image(SMALL, 51200.0, 1000.0)
        path = self.folder / "recording.uff"
        values = SMALL.record(51200.0, 1000.0)
        path.write_bytes(universal(values * 1000, 51200.0, range(64), "<", unit="mPa"))
        self.assert_like(self.assert_shows_the_monopole(path, 1000.0, SMALL), expected, 1e-6)
        # Dataset 164 of millimetres and millinewtons: a unit of pressure is 1 mN/mm^2 = 1000 Pa.
        path.write_bytes(universal_units(1e3, 1e3) + universal(values / 1000, 51200.0, range(64), "<", unit="NONE"))
        self.assert_like(self.assert_shows_the_monopole(path, 1000.0, SMALL), expected, 1e-6)
        path.write_bytes(universal(values, 51200.0, range(64), "<", unit="V"))
        self.assert_refused(self.replay(path, 1000.0, SMALL.options()), 78, "array.pascal_per_unit")
        path.write_bytes(universal(values, 51200.0, range(64), "<"))
        self.assert_refused(self.replay(path, 1000.0, [*SMALL.options(), "array.pascal_per_unit=2"]), 78, "its own unit")

    def test_inspect_looks_at_the_chosen_channels_alone(self):
        values = SMALL.record(51200.0, 1000.0)
        values[:, 5] *= 9
        path = self.folder / "recording.uff"
        path.write_bytes(universal(values, 51200.0, range(64), "<") + universal(1e3 * values[:, :1], 51200.0, [64], "<", unit="RPM"))
        chosen = f"array.channels={list(range(63, -1, -1))}"
        done = NEARFIELD.run("inspect", path, *sets([*SMALL.options(), chosen]))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("channels      64, as array.channels chooses them\n", done.stdout)
        self.assertIn("loudest channel 5 of the file: ", done.stdout)

    def test_universal_file_whose_time_is_in_another_unit(self):
        expected = self.acoular_image(SMALL, 51200.0, 1000.0)
        path = self.folder / "recording.uff"
        values = SMALL.record(51200.0, 1000.0)
        for kind, unit, per_second in ((17, "ms", 1e3), (17, "us", 1e6), (0, "NONE", 1.0), (17, "", 1.0)):
            path.write_bytes(universal(values, 51200.0, range(64), "<", time=(kind, unit, per_second)))
            self.assert_like(self.assert_shows_the_monopole(path, 1000.0, SMALL), expected, 1e-6)
        for time, words in (((17, "min", 1 / 60), 'unit "min"'), ((17, "Hz", 1.0), 'unit "Hz"'),
                            ((18, "s", 1.0), "abscissa of type 18")):
            path.write_bytes(universal(values, 51200.0, range(64), "<", time=time))
            self.assert_refused(self.replay(path, 1000.0, SMALL.options()), 65, words)

    def test_universal_file_that_says_where_its_microphones_stand(self):
        array = Array(8, 0.05, np.random.default_rng(2).permutation(64))
        values, nodes = array.record(51200.0, 1000.0), np.arange(201, 265)
        path, functions = self.folder / "recording.uff", universal(values, 51200.0, nodes, "<")
        standoff = [f"holography.standoff_m={STANDOFF_M}"]
        expected = self.acoular_image(SMALL, 51200.0, 1000.0)
        millimetres = universal_units(1e3, 1e3)  # of which 1 mN/mm^2 is no unit that the functions use: theirs is Pa
        for content in (universal_nodes(array.places_m, nodes) + functions, functions + universal_nodes(array.places_m, nodes, 1),
                        universal_nodes(array.places_m * 1e3, nodes) + millimetres + functions):
            path.write_bytes(content)
            image = self.assert_shows_the_monopole(path, 1000.0, array, standoff, grid=False)
            self.assert_like(image, expected, 1e-5)  # six digits of places
        self.assertIn("8 x 8 microphones", NEARFIELD.require("inspect", path).stdout)
        # Settings that agree are no conflict; others are.
        self.assert_shows_the_monopole(path, 1000.0, array, standoff + ["array.pitch_x_m=0.0501", "array.rows=8"], grid=False)
        self.assert_refused(self.replay(path, 1000.0, [*standoff, "array.pitch_x_m=0.06"]), 78, "array.pitch_x_m", "0.06", "0.05")
        self.assert_refused(self.replay(path, 1000.0, [*standoff, "array.rows=4"]), 78, "array.rows", "recorded with 8")
        xml = self.folder / "places.xml"
        write_acoular_xml(xml, array.places_m)
        self.assert_shows_the_monopole(path, 1000.0, array, [*standoff, f"array.positions={xml}"], grid=False)
        write_acoular_xml(xml, array.places_m[::-1])
        self.assert_refused(self.replay(path, 1000.0, [*standoff, f"array.positions={xml}"]), 78, "array.positions", "found others")
        self.assert_refused(self.replay(path, 1000.0, []), 78, "holography.standoff_m=METRES")
        # Without a place for each node, or in a system of the writer's own, the file does not say where they stand.
        for content in (universal_nodes(array.places_m[:63], nodes[:63]), universal_nodes(array.places_m, nodes, 7)):
            path.write_bytes(content + functions)
            self.assert_refused(self.replay(path, 1000.0, standoff), 78, "array.rows=ROWS")
        path.write_bytes(universal_nodes(array.places_m[:1].repeat(64, axis=0), nodes) + functions)
        self.assert_refused(self.replay(path, 1000.0, standoff), 65, "positions of microphones")
        path.write_bytes(universal_nodes(array.places_m, nodes).replace(b"e-", b"x-") + functions)
        self.assert_refused(self.replay(path, 1000.0, standoff), 65, "dataset 15")

    def test_a_flawed_dataset_15_gives_way_to_settings(self):
        """Whatever is wrong with it, settings that give the whole array count, and `inspect` says what `replay` does."""
        array = Array(8, 0.05, np.random.default_rng(2).permutation(64))
        values, nodes = array.record(51200.0, 1000.0), np.arange(201, 265)
        path, functions, xml = self.folder / "recording.uff", universal(values, 51200.0, nodes, "<"), self.folder / "places.xml"
        standoff = [f"holography.standoff_m={STANDOFF_M}"]
        write_acoular_xml(xml, array.places_m)
        whole = universal_nodes(array.places_m, nodes)
        for flawed, words in ((whole.replace(b"e-", b"x-"), "dataset 15: expected lines of a node"),
                              (whole.replace(b"       201", b"     two01"), "dataset 15: expected lines of a node"),
                              (universal_nodes(array.places_m[:1].repeat(64, axis=0), nodes), "")):
            path.write_bytes(flawed + functions)
            self.assert_refused(self.replay(path, 1000.0, standoff), 65, "positions of microphones", words)
            self.assert_refused(self.replay(path, 1000.0, [*standoff, "array.rows=8"]), 65, "array.positions, or array.rows")
            said = NEARFIELD.require("inspect", path).stdout
            self.assertIn("stated, but cannot be used: " + words, said)
            self.assertIn("not judged", said)
            self.assertIn("stand for them where they are given", said)
            self.assert_shows_the_monopole(path, 1000.0, array, [*standoff, f"array.positions={xml}"], grid=False)
            given = NEARFIELD.require("inspect", path, *sets([*standoff, f"array.positions={xml}"])).stdout
            self.assertIn("expected at least 16 whole windows", given)  # the next thing that judging needs

    def test_encode_takes_the_positions_of_a_universal_file(self):
        path, capture = self.folder / "recording.uff", self.folder / "capture.h5"
        array = Array(8, 0.05, np.arange(63, -1, -1))
        tone_hz = 22 * 46875 / 1024  # of a window of the capture
        path.write_bytes(universal_nodes(array.places_m, range(64)) + universal(array.record(51200.0, tone_hz), 51200.0, range(64), "<"))
        standoff = f"holography.standoff_m={STANDOFF_M}"
        NEARFIELD.require("encode", path, "-o", capture, *sets([standoff]))
        with h5py.File(capture) as file:
            self.assertEqual((file["geometry"].attrs["rows"], file["geometry"].attrs["columns"]), (8, 8))
            self.assertAlmostEqual(file["geometry"].attrs["pitch_x_m"], 0.05, delta=1e-6)
        # The channels' order is the reverse of the grid's: without their places the monopole is on the other side.
        self.assert_shows_the_monopole(capture, tone_hz, array, [standoff], grid=False)

    def test_a_unit_is_refused_where_the_file_says_its_own(self):
        values = SMALL.record(51200.0, 1000.0)
        acoular, capture, uff = self.folder / "a.h5", self.folder / "c.h5", self.folder / "a.uff"
        write_acoular(acoular, values, 51200.0)
        uff.write_bytes(universal(values, 51200.0, range(64), "<"))
        done = NEARFIELD.run("encode", acoular, "-o", capture, *sets(SMALL.options()))
        self.assertEqual(done.returncode, 0, done.stderr)
        spectra = self.folder / "s.h5"
        with h5py.File(spectra, "w") as file:
            file.attrs["format"] = np.bytes_("nearfield-spectra")
            file["frequencies_hz"] = [1000.0]
            file["spectra"] = np.ones((1, 1, 8, 8), "complex64")
            file.create_group("geometry").attrs.update(rows=8, columns=8, pitch_x_m=0.05, pitch_y_m=0.05,
                                                       standoff_m=STANDOFF_M)
        output = ["-o", self.folder / "no.h5"]
        options, setting = sets(SMALL.options()), ["--set", "array.pascal_per_unit=2"]
        option = ["--pascal-per-unit", 2]
        for path in (acoular, uff, spectra):
            for given in (setting, option):
                self.assert_refused(NEARFIELD.run("encode", path, *output, *options, *given), 78, "its own unit")
        for path in (acoular, uff, spectra, capture):
            self.assert_refused(NEARFIELD.run("replay", path, *output, *options, *setting), 78, "its own unit")
        for path in (acoular, uff, capture):  # nearfieldd and play read files as send does
            self.assert_refused(NEARFIELD.run("send", path, "--to", "127.0.0.1:9", *option), 78, "its own unit")
        self.assertFalse(output[1].exists())

    def test_matlab_5_of_another_order_of_bytes(self):
        expected = self.acoular_image(SMALL, 51200.0, 1000.0)
        path = self.folder / "recording.mat"
        for matrix in (SMALL.record(51200.0, 1000.0), SMALL.record(51200.0, 1000.0).T):
            write_matlab5_big_endian(path, {"p": matrix, "fs": 51200.0})
            image = self.assert_shows_the_monopole(path, 1000.0, SMALL, ["array.pascal_per_unit=1"])
            self.assert_like(image, expected, 1e-6)

    def test_matlab_logical_matrices_are_no_samples(self):
        values = SMALL.record(51200.0, 1000.0)
        path = self.folder / "recording.mat"
        variables = {"a": values, "is_loud": values > 1, "fs": 51200.0}
        for write in (scipy.io.savemat, write_matlab73):
            write(path, variables)
            self.assert_shows_the_monopole(path, 1000.0, SMALL, ["array.pascal_per_unit=1"])
            write(path, {"is_loud": values > 1, "fs": 51200.0})
            options = [*SMALL.options(), "array.pascal_per_unit=1"]
            self.assert_refused(self.replay(path, 1000.0, options), 65, "logical)")

    def test_compressed_matlab_5_is_held_as_it_is_stored(self):
        path = self.folder / "long.mat"
        matrix = np.zeros((1 << 20, 64), "uint8")
        matrix[:SAMPLES] = np.round(SMALL.record(51200.0, 1000.0) * 6) + 128
        peak_kib = {}
        for name, rows in (("short", SAMPLES), ("long", len(matrix))):
            scipy.io.savemat(path, {"p": matrix[:rows], "fs": 51200.0}, do_compression=True)
            done = subprocess.run([sys.executable, "-c", PEAK_OF_CHILD, NEARFIELD, "replay", path, "-o",
                                   self.folder / "images.h5", "--frames", "1", "--engine", "reference",
                                   *sets([*SMALL.options(), "array.pascal_per_unit=1", "holography.imager=pnah"])],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            peak_kib[name] = int(done.stdout.splitlines()[-1])
        # 64 MiB and a piece of 16 MiB with its copies; floats alone would be 256 MiB.
        self.assertLess(peak_kib["long"] - peak_kib["short"], 160 << 10)

    def test_matlab_5(self):
        for array, rate_hz, tone_hz in ((SMALL, 48000.0, 984.375), (LARGE, 51200.0, 1000.0)):
            expected = self.acoular_image(array, rate_hz, tone_hz)
            values = array.record(rate_hz, tone_hz)
            others = {"names": np.array(["a", "b"], dtype=object), "positions": array.places_m, "note": "text"}
            for compressed, matrix in ((False, values), (True, values), (False, values.T), (True, values.T),
                                       (False, values.astype("float32"))):
                path = self.folder / "recording.mat"
                scipy.io.savemat(path, {**others, "p": matrix, "fs": rate_hz}, do_compression=compressed)
                image = self.assert_shows_the_monopole(path, tone_hz, array, ["array.pascal_per_unit=1"])
                self.assert_like(image, expected, 1e-6)

    def test_matlab_73(self):
        expected = self.acoular_image(SMALL, 48000.0, 984.375)
        values = SMALL.record(48000.0, 984.375)
        for matrix in (values, values.T):
            path = self.folder / "recording.mat"
            write_matlab73(path, {"pressure": matrix, "positions": SMALL.places_m, "SampleFrequency": 48000.0})
            image = self.assert_shows_the_monopole(path, 984.375, SMALL, ["array.pascal_per_unit=1"])
            self.assert_like(image, expected, 1e-6)

    def test_positions_mend_the_order_of_channels(self):
        array = Array(8, 0.05, np.arange(63, -1, -1))
        path, positions = self.folder / "a.wav", self.folder / "places.csv"
        soundfile.write(path, array.record(51200.0, 1000.0), 51200, subtype="FLOAT")
        positions.write_text("x_m,y_m,z_m\n" + "".join(f"{x},{y},{z}\n" for x, y, z in array.places_m))
        options = [f"array.positions={positions}", f"holography.standoff_m={STANDOFF_M}", "array.pascal_per_unit=1"]
        self.assert_shows_the_monopole(path, 1000.0, array, options, grid=False)
        image, _, _ = self.image(path, 1000.0, [*SMALL.options(), "array.pascal_per_unit=1"])
        peak = np.unravel_index(np.argmax(np.abs(image)), image.shape)
        self.assertLess(x_of(peak, SMALL), 0, "without them the image is turned")

    def test_what_nobody_gave_is_asked_for(self):
        path = self.folder / "a.wav"
        soundfile.write(path, SMALL.record(51200.0, 1000.0), 51200, subtype="FLOAT")
        self.assert_refused(self.replay(path, 1000.0, ["array.pascal_per_unit=1"]), 78, "64 channels", "array.rows")
        self.assert_refused(self.replay(path, 1000.0, SMALL.options()), 78, "--set array.pascal_per_unit=PASCAL")
        wrong = [*LARGE.options(), "array.pascal_per_unit=1"]
        self.assert_refused(self.replay(path, 1000.0, wrong), 78, "64 channels", "1024 microphones")
        self.assert_refused(NEARFIELD.run("encode", path, "-o", self.folder / "c.h5", *sets(SMALL.options())), 78, "array.pascal_per_unit")

    def test_inspect_says_what_is_there(self):
        path = self.folder / "a.mat"
        scipy.io.savemat(path, {"p": SMALL.record(51200.0, 1000.0), "fs": 51200.0})
        done = NEARFIELD.run("inspect", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("level 5, matrix p", "51200 Hz", "64", "not stated in Pa (array.pascal_per_unit gives it)"):
            self.assertIn(words, done.stdout)

    def test_matlab_files_that_are_ambiguous(self):
        path = self.folder / "a.mat"
        values = SMALL.record(51200.0, 1000.0)
        options = [*SMALL.options(), "array.pascal_per_unit=1"]
        for variables, words in (({"p": values}, ("fs, sample_rate", "p (2100 x 64 double)")),
                                 ({"a": values, "b": values, "fs": 51200.0}, ("a (2100 x 64 double), b (2100",)),
                                 ({"p": values[:70], "fs": 51200.0}, ("70 x 64",)),
                                 ({"p": values + 1j, "fs": 51200.0}, ("double, complex",)),
                                 ({"fs": 51200.0, "sample_rate": 48000.0, "p": values}, ("one number of Hz",))):
            scipy.io.savemat(path, variables)
            self.assert_refused(self.replay(path, 1000.0, options), 65, *words)
        scipy.io.savemat(path, {"data": values, "other": values * 2, "Fs": 51200.0})
        self.assert_shows_the_monopole(path, 1000.0, SMALL, ["array.pascal_per_unit=1"])

    def test_truncated_files(self):
        values = SMALL.record(51200.0, 1000.0)
        soundfile.write(self.folder / "a.wav", values, 51200, subtype="FLOAT")
        scipy.io.savemat(self.folder / "a.mat", {"p": values, "fs": 51200.0})
        scipy.io.savemat(self.folder / "c.mat", {"fs": 51200.0, "p": values}, do_compression=True)
        write_matlab73(self.folder / "h.mat", {"p": values, "fs": 51200.0})
        (self.folder / "a.uff").write_bytes(universal(values, 51200.0, range(64)))
        (self.folder / "b.uff").write_bytes(universal(values, 51200.0, range(64), "<"))
        options = [*SMALL.options(), "array.pascal_per_unit=1"]
        for name in ("a.wav", "a.mat", "c.mat", "h.mat", "a.uff", "b.uff"):
            path = self.folder / name
            whole = path.read_bytes()
            for share in (0.1, 0.513, 0.99):
                path.write_bytes(whole[:int(share * len(whole))])
                self.assert_refused(self.replay(path, 1000.0, options), 65, name)

    def test_an_hour_is_not_read_into_memory(self):
        path = self.folder / "hour.wav"
        frame, seconds, rate = 64 * 4, 3600, 48000
        size = frame * seconds * rate  # 44 GB, of which the file system keeps none
        head = b"RF64" + b"\xff" * 4 + b"WAVE" + b"ds64" + (28).to_bytes(4, "little")
        head += (size + 72).to_bytes(8, "little") + size.to_bytes(8, "little") + (seconds * rate).to_bytes(8, "little")
        head += bytes(4) + b"fmt " + (16).to_bytes(4, "little") + (3).to_bytes(2, "little") + (64).to_bytes(2, "little")
        head += rate.to_bytes(4, "little") + (rate * frame).to_bytes(4, "little") + frame.to_bytes(2, "little")
        head += (32).to_bytes(2, "little") + b"data" + b"\xff" * 4
        with open(path, "wb") as file:
            file.write(head)
            file.truncate(len(head) + size)
            file.seek(len(head) + 172000000 * frame)
            file.write(SMALL.record(rate, 984.375).astype("<f4").tobytes())
        options = [*SMALL.options(), "array.pascal_per_unit=1", f"front_end.window_samples={WINDOW}",
                   "front_end.frequencies_hz=[984.375]"]
        most_kib = 2 << 20
        limited = ["bash", "-c", f'ulimit -v {most_kib}; exec "$@"', "-", NEARFIELD.path]
        done = subprocess.run([*map(str, limited), "replay", path, "-o", self.folder / "images.h5", "--frames",
                               "172000000:172000001", "--engine", "reference",
                               *sets([*options, "front_end.hop_samples=1", "holography.imager=pnah"])],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_is_the_monopole(self.first_image(), SMALL)


def x_of(peak, array):
    return (peak[1] - (array.side - 1) / 2) * array.pitch_m


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Levels of a standard: weightings, bands and time constants against the tables of IEC 61672-1 and 61260-1, known signals, files, a daemon, and refusals."""

import json
import re
import signal
import subprocess
import sys
import time
import types

import h5py
import levels_table
import numpy as np
import pytest
from images_support import put_array, put_axes

import nearfield
from nearfield._layout import ARRAY, Axis, Layout, Product
from nearfield._level_frames import Choice, places_of
from nearfield._level_sources import _long_runs, _time_data
from nearfield.errors import DataError, NoInputError, UsageError
from nearfield.ring import Frame, RingError
from nearfield.sound_levels import Live, _live, levels, live, main
from nearfield.weightings import Band, Filter, FilteredSquares, Meter, bands_between, decibels, mean_gain, weighting_db

pytestmark = pytest.mark.versions

RATE_HZ = 48000
# IEC 61672-1:2013, table 3: nominal frequency, A, C.
TABLE = [(10, -70.4, -14.3), (12.5, -63.4, -11.2), (16, -56.7, -8.5), (20, -50.5, -6.2), (25, -44.7, -4.4), (31.5, -39.4, -3.0), (40, -34.6, -2.0),
         (50, -30.2, -1.3), (63, -26.2, -0.8), (80, -22.5, -0.5), (100, -19.1, -0.3), (125, -16.1, -0.2), (160, -13.4, -0.1), (200, -10.9, 0.0),
         (250, -8.6, 0.0), (315, -6.6, 0.0), (400, -4.8, 0.0), (500, -3.2, 0.0), (630, -1.9, 0.0), (800, -0.8, 0.0), (1000, 0.0, 0.0), (1250, 0.6, 0.0),
         (1600, 1.0, -0.1), (2000, 1.2, -0.2), (2500, 1.3, -0.3), (3150, 1.2, -0.5), (4000, 1.0, -0.8), (5000, 0.5, -1.3), (6300, -0.1, -2.0),
         (8000, -1.1, -3.0), (10000, -2.5, -4.4), (12500, -4.3, -6.2), (16000, -6.6, -8.5), (20000, -9.3, -11.2)]  # fmt: skip
# Table 4: duration in s, response of F, and of S, relative to the steady level; and the class-1 limits.
BURSTS = [(1.0, 0.0, -2.0, 0.5, 0.5), (0.5, -0.1, -4.1, 0.5, 0.5), (0.2, -1.0, -7.4, 0.5, 0.5), (0.1, -2.6, -10.2, 1.0, 1.0), (0.05, -4.8, -13.1, 1.0, 1.0),
          (0.02, -8.3, -17.0, 1.0, 1.5), (0.01, -11.1, -20.0, 1.0, 2.0), (0.005, -14.1, -23.0, 1.0, 2.5), (0.002, -18.0, -27.0, 1.0, 3.0),
          (0.001, -21.0, None, 1.0, 2.0), (0.0005, -24.0, None, 1.0, 2.5), (0.00025, -27.0, None, 1.0, 3.0)]  # fmt: skip
# IEC 61260-1:2014, table 1, of octaves: exponents of 10^0.3, and the least and largest attenuation of class 1, dB.
CLASS_1 = [(0.0, -0.4, 0.4), (0.125, -0.4, 0.5), (0.25, -0.4, 0.7), (0.375, -0.4, 1.4), (0.5, 1.2, 5.3), (1.0, 16.6, np.inf), (2.0, 40.5, np.inf),
           (3.0, 60.0, np.inf), (4.0, 70.0, np.inf)]  # fmt: skip


def tone(frequency_hz, level_db, seconds, rate_hz=RATE_HZ):
    peak = np.sqrt(2.0) * 20e-6 * 10.0 ** (level_db / 20.0)
    return peak * np.sin(2.0 * np.pi * frequency_hz * np.arange(round(seconds * rate_hz)) / rate_hz)


def flat_noise(seconds, exponent=0.0):
    """Noise of random phases whose power a Hz goes as f^exponent, exactly; and that power at each frequency."""
    count = round(seconds * RATE_HZ)
    hz = np.arange(count // 2 + 1) * RATE_HZ / count
    power = np.where((hz > 5.0) & (hz < RATE_HZ / 2.0), np.maximum(hz, 1.0) ** exponent, 0.0) * 1e-6
    phases = np.random.default_rng(7).uniform(0.0, 2.0 * np.pi, len(hz))
    return np.fft.irfft(np.sqrt(power / 2.0) * np.exp(1j * phases) * count, count), hz, power


def measured(samples, filters, rate_hz=RATE_HZ):
    squares = FilteredSquares(rate_hz, filters, 1)
    return [found[:, 0] for found in squares.push(np.asarray(samples)[:, np.newaxis])], squares.cell_s


def write_samples(path, samples, rate_hz=RATE_HZ, units=None):
    with h5py.File(path, "w") as file:
        file["time_data"] = np.asarray(samples, np.float32)
        file["time_data"].attrs["sample_freq"] = float(rate_hz)
        if units:
            file["time_data"].attrs["units"] = units
    return path


X_M = Y_M = (np.arange(5) - 2.0) * 0.1


FREQUENCIES = (("frequency", "Hz", [1000.0, 100.0]),)


def write_images(path, frames, *, name="images", unit="Pa", quantity="pressure", axes=FREQUENCIES, step_ms=10, flags=None, kept=None):
    """`frames` [frame, entry of axes, row, column] over x and y."""
    count = len(frames)
    with h5py.File(path, "w") as file:
        file.attrs.update({"format": np.bytes_("nearfield-images"), "processors": np.bytes_("surface"), "processor": np.bytes_("surface")})
        axes = [*axes, ("y", "m", Y_M), ("x", "m", X_M)]
        put_axes(file, axes)
        put_array(file, name, quantity, unit, [axis[0] for axis in axes], np.asarray(frames))
        numbers = np.arange(count) if kept is None else np.asarray(kept)
        file["first_sample"], file["timestamp_ns"] = numbers.astype(np.uint64), (numbers * step_ms * 1_000_000).astype(np.int64)
        file["flags"] = np.zeros(count, np.uint32) if flags is None else np.asarray(flags, np.uint32)
    return path


def field(level_db, count=1200):
    """Frames of two frequencies at this level everywhere, peak phasors."""
    return np.full((count, 2, 5, 5), np.sqrt(2.0) * 20e-6 * 10.0 ** (level_db / 20.0) * np.exp(0.4j))


# ---- Weightings and bands ----


@pytest.mark.parametrize(("nominal", "a", "c"), TABLE)
def test_closed_forms_are_those_of_the_table(nominal, a, c):
    exact = bands_between(3, nominal, nominal)[0].centre_hz
    assert weighting_db("a", exact) == pytest.approx(a, abs=0.051)  # the table is rounded to 0.1 dB
    assert weighting_db("c", exact) == pytest.approx(c, abs=0.051)
    assert weighting_db("z", exact) == 0.0


def test_bands_have_exact_centres_and_nominal_names():
    assert [band.nominal_hz for band in bands_between(1, 16, 16000)] == [16, 31.5, 63, 125, 250, 500, 1000, 2000, 4000, 8000, 16000]
    assert [band.nominal_hz for band in bands_between(3, 10, 20000)] == [row[0] for row in TABLE]
    assert Band(3, 1).centre_hz == pytest.approx(1258.925) and Band(1, -5).centre_hz == pytest.approx(31.623, abs=1e-3)
    assert Band(3, 0).edges_hz == pytest.approx((891.251, 1122.018), abs=1e-3) and Band(1, 0).edges_hz == pytest.approx((707.946, 1412.538), abs=1e-3)


@pytest.mark.parametrize("parts", [1, 3])
def test_bands_are_of_class_1(parts):
    band = Band(parts, 0)
    exponents, least, largest = np.array(CLASS_1).T
    scale = (10.0 ** (0.15 / parts) - 1.0) / (10.0**0.15 - 1.0)  # formula 9
    ratios = 1.0 + scale * (10.0 ** (0.3 * exponents) - 1.0)
    grid = np.unique(np.concatenate([ratios, np.geomspace(1.0, 30.0, 2000)]))
    inside = grid < ratios[4]
    most = np.interp(np.log10(grid), np.log10(ratios[:5]), largest[:5], right=np.inf)
    fewest = np.where(inside, -0.4, np.interp(np.log10(grid), np.log10(ratios[4:]), least[4:]))
    for side in (grid, 1.0 / grid):
        attenuation = -20.0 * np.log10(abs(band.response(side * band.centre_hz)))
        assert (attenuation >= fewest - 1e-9).all() and (attenuation[inside] <= most[inside] + 1e-9).all()


@pytest.mark.parametrize("weighting", ["a", "c"])
@pytest.mark.parametrize("frequency_hz", [10, 20, 100, 1000, 8000, 12500, 16000, 20000, 23000])
def test_tones_have_the_closed_forms_level_up_to_half_the_sample_rate(weighting, frequency_hz):
    (found,), cell_s = measured(tone(frequency_hz, 94.0, 3.0), [Filter(weighting)])
    settled = found[round(0.5 / cell_s) : -round(0.5 / cell_s)]
    assert decibels(settled.mean()) == pytest.approx(94.0 + weighting_db(weighting, frequency_hz), abs=0.02)


@pytest.mark.parametrize(("parts", "number"), [(3, -16), (3, -10), (3, 0), (3, 12), (1, -5), (1, 3)])
def test_filters_of_bands_have_the_closed_forms_level(parts, number):
    """Bands far below half the sample rate are formed at a lower rate."""
    band = Band(parts, number)
    for ratio in (0.7, 0.9, 1.0, 1.12, 1.4):
        (found,), cell_s = measured(tone(ratio * band.centre_hz, 94.0, 6.0), [Filter("z", band)])
        expected = 94.0 + 20.0 * np.log10(abs(band.response(np.array([ratio * band.centre_hz]))[0]))
        assert decibels(found[round(3.0 / cell_s) :].mean()) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("exponent", "weighting"), [(0.0, "z"), (-1.0, "z"), (0.0, "a"), (-1.0, "a")])
def test_bands_of_noise_have_its_power(exponent, weighting):
    samples, hz, power = flat_noise(20.0, exponent)
    lowest_hz = 25.0 if weighting == "z" else 100.0  # further down A is so steep that the filter's skirts count
    bands = bands_between(3, lowest_hz, 20000) + bands_between(1, lowest_hz, 8000)
    found, cell_s = measured(np.concatenate([samples, samples]), [Filter(weighting, band) for band in bands])
    for band, squares in zip(bands, found, strict=True):
        low, high = band.edges_hz
        expected = (power * 10.0 ** (np.maximum(weighting_db(weighting, hz), -300.0) / 10.0))[(hz >= low) & (hz < high)].sum()
        # The noise bandwidth of Butterworth's filter is 0.05 dB too large; a steep weighting adds to that, and 5.8 Hz of 20 s are 116 lines.
        assert decibels(squares[round(20.0 / cell_s) :].mean(), expected) == pytest.approx(0.05, abs=0.15), band.words


def test_the_mean_gain_of_a_band_is_that_of_pink_noise():
    assert mean_gain("z", 20.0, 40.0) == 1.0
    hz = np.geomspace(22.387, 44.668, 100001)
    assert mean_gain("a", 22.387, 44.668) == pytest.approx(np.mean(10.0 ** (weighting_db("a", hz) / 10.0)), rel=1e-3)


def test_blocks_of_any_length_give_the_same():
    samples = np.random.default_rng(1).normal(size=(50000, 2))
    filters = [Filter("a"), Filter("z", Band(3, -12)), Filter("c", Band(1, 2))]
    whole = FilteredSquares(RATE_HZ, filters, 2).push(samples)
    pieces, at = FilteredSquares(RATE_HZ, filters, 2), 0
    found = [[] for _ in filters]
    for length in (1, 30, 4097, 48, 20000, 25824):
        for i, part in enumerate(pieces.push(samples[at : at + length])):
            found[i].append(part)
        at += length
    for i in range(len(filters)):
        np.testing.assert_allclose(np.concatenate(found[i]), whole[i], rtol=1e-5, atol=1e-7 * whole[i].max())


# ---- Time ----


@pytest.mark.parametrize(("seconds", "fast", "slow", "of_fast", "of_slow"), BURSTS)
def test_tone_bursts_have_the_responses_of_the_table(seconds, fast, slow, of_fast, of_slow):
    samples = np.zeros(8 * RATE_HZ)
    burst = tone(4000.0, 94.0, seconds)
    samples[RATE_HZ // 2 : RATE_HZ // 2 + len(burst)] = burst
    (squares,), cell_s = measured(samples, [Filter("a")])
    meter = Meter(1)
    meter.push(cell_s * np.arange(1, len(squares) + 1), squares[:, np.newaxis], cell_s)
    figures, steady_db = meter.figures(), 94.0 + weighting_db("a", 4000.0)
    assert decibels(figures["Fmax"][0]) - steady_db == pytest.approx(fast, abs=min(0.15, of_fast))
    if slow is not None:
        assert decibels(figures["Smax"][0]) - steady_db == pytest.approx(slow, abs=min(0.15, of_slow))


def meter_of(levels_db, step_s=0.01):
    meter = Meter(1)
    squares = 4e-10 * 10.0 ** (np.asarray(levels_db) / 10.0)
    for first in range(0, len(squares), 777):
        part = squares[first : first + 777]
        meter.push(step_s * (first + 1 + np.arange(len(part))), part[:, np.newaxis], step_s)
    return {name: float(decibels(value[0])) for name, value in meter.figures().items()}


def test_means_and_percentiles_of_known_courses():
    found = meter_of(np.repeat([50.0, 70.0, 90.0], [2000, 6000, 2000]))  # 20 %, 60 %, 20 %
    assert found["eq"] == pytest.approx(10.0 * np.log10(0.2e5 + 0.6e7 + 0.2e9), abs=1e-6)
    assert [found[name] for name in ("10", "50", "90")] == pytest.approx([90.0, 70.0, 50.0], abs=0.05)
    assert (found["Fmax"], found["Fmin"]) == pytest.approx((90.0, 50.0), abs=0.05) and found["Smax"] == pytest.approx(90.0, abs=0.01)
    ramp = meter_of(np.linspace(40.0, 90.0, 10000))  # 0.5 dB a second: F lags by 0.06 dB
    assert [ramp[name] for name in ("10", "50", "90")] == pytest.approx([85.0, 65.0, 45.0], abs=0.25)


def test_what_is_shorter_than_five_time_constants_has_no_level_of_them():
    found = meter_of(np.full(60, 70.0))
    assert found["eq"] == pytest.approx(70.0) and all(np.isnan(found[name]) for name in ("Fmax", "Fmin", "10", "Smax"))
    found = meter_of(np.full(400, 70.0))
    assert (found["Fmax"], found["Fmin"], found["10"]) == pytest.approx((70.0, 69.97, 70.0), abs=0.03) and np.isnan(found["Smax"])


@pytest.mark.filterwarnings("error")
def test_values_further_apart_than_a_time_constant_have_no_figures_of_it():
    found = meter_of(np.full(400, 70.0), step_s=100.0)
    assert found["eq"] == pytest.approx(70.0) and all(np.isnan(found[name]) for name in ("Fmax", "Fmin", "50", "Smax"))


def test_values_that_are_missing_are_counted_and_hold_the_meter():
    squares = np.full((1000, 1), 4e-3)
    squares[400:600] = np.nan
    meter = Meter(1)
    meter.push(0.01 * np.arange(1, 1001), squares, 0.01)
    figures = meter.figures()
    assert (meter.count[0], meter.lost[0]) == (800, 200) and meter.seconds[0] == pytest.approx(8.025, abs=0.01)
    assert [float(decibels(figures[name][0])) for name in ("eq", "Fmin", "90")] == pytest.approx([70.0, 69.97, 69.97], abs=0.03)


# ---- Files ----


def test_samples_in_files_have_levels_of_each_microphone_and_band(tmp_path):
    path = write_samples(tmp_path / "a.h5", np.stack([tone(1000.0, 94.0, 8.0), tone(100.0, 94.0, 8.0)], axis=1))
    first, second = levels(path)
    assert (first.place, first.of, first.weighting) == ("microphone 0", "", "A")
    assert [first.levels_db[name] for name in ("eq", "Fmax", "Fmin", "Smax", "Smin", "10", "50", "90")] == pytest.approx([94.0] * 8, abs=0.06)
    assert second.levels_db["eq"] == pytest.approx(94.0 + weighting_db("a", 100.0), abs=0.02)
    found = {one.of: one.levels_db["eq"] for one in levels(path, Choice(weighting="z", parts=1, entry=1))}
    assert found["125 Hz octave"] == pytest.approx(94.0, abs=0.05) and found["1000 Hz octave"] < 30.0 and len(found) == 11


def test_microphones_have_an_energetic_mean(tmp_path, capsys):
    path = write_samples(tmp_path / "a.h5", np.stack([tone(1000.0, 94.0, 8.0), tone(1000.0, 84.0, 8.0)], axis=1))
    assert main([str(path), "--csv"]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows[1:]] == ["microphone 0", "microphone 1", "mean of 2 microphones"]
    assert float(rows[3][4]) == pytest.approx(94.0 + 10.0 * np.log10(1.1 / 2.0), abs=0.02) and rows[3][5] == "nan"
    assert main([str(path), "--entry=1"]) == 0 and "mean of" not in capsys.readouterr().out


def test_of_many_microphones_the_chosen_alone_are_read(monkeypatch):
    class Data(np.ndarray):
        def __getitem__(self, key):
            found = super().__getitem__(key)
            read.append(found.size)
            return found

    read = []
    values = np.random.default_rng(2).normal(size=(9600, 40)).astype(np.float32)
    values[4000:4800] = 0.0
    data = values.view(Data)
    data.attrs = {"sample_freq": RATE_HZ}
    sources = _time_data({"time_data": data}, "a", Choice(), True)
    assert sum(np.isnan(squares).any(axis=1).sum() for _, squares, _ in sources[0].blocks()) == pytest.approx(17 + 50, abs=2)  # 800 samples and 50 ms
    list(sources[1].blocks()), list(sources[2].blocks())
    assert max(read) == 9600 * 16 and sum(read) == 2 * 9600 * 40  # silence once


def test_samples_that_are_no_numbers_are_left_out(tmp_path):
    samples = tone(1000.0, 94.0, 4.0)[:, np.newaxis].repeat(2, axis=1)
    samples[RATE_HZ : 2 * RATE_HZ, 0] = np.nan
    first, second = levels(write_samples(tmp_path / "a.h5", samples))
    assert first.lost == pytest.approx(1000, abs=60) and second.lost == 0
    assert [first.levels_db[name] for name in ("eq", "Fmax", "90")] == pytest.approx([94.0] * 3, abs=0.05)


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.float32, np.uint8])
def test_wav_files_need_their_unit(tmp_path, kind):
    from scipy.io import wavfile

    full = 1.0 if kind == np.float32 else 127.0 if kind == np.uint8 else float(np.iinfo(kind).max)
    values = 0.5 * np.sin(2.0 * np.pi * 1000.0 * np.arange(2 * RATE_HZ) / RATE_HZ) * full + (128.0 if kind == np.uint8 else 0.0)
    wavfile.write(tmp_path / "a.wav", RATE_HZ, values.astype(kind))
    with pytest.raises(DataError, match="found the unit not stated; give --pascal-per-unit") as raised:
        levels(tmp_path / "a.wav")
    assert raised.value.exit_code == 65
    (found,) = levels(tmp_path / "a.wav", Choice(pascal_per_unit=20.0))
    assert found.levels_db["eq"] == pytest.approx(float(decibels(50.0)), abs=0.1)  # 10 Pa peak


def test_clipped_samples_are_those_of_integers_at_both_ends_of_the_chosen_channels(tmp_path, capsys):
    from scipy.io import wavfile

    values = np.zeros((RATE_HZ, 2), np.int16)
    values[:, 0], values[100, 0], values[200:203, 0] = np.arange(RATE_HZ) % 100, 32767, -32768
    for kind, entry, count in ((np.int16, 0, 4), (np.int16, 1, 0), (np.int32, 0, 4), (np.float32, 0, 0)):
        scale = 65536 if kind == np.int32 else 1
        wavfile.write(tmp_path / "a.wav", RATE_HZ, (values * np.int64(scale) + (values == 32767) * (scale - 1)).astype(kind))
        assert main([str(tmp_path / "a.wav"), "--pascal-per-unit=1", f"--entry={entry}"]) == 0
        assert re.findall(r"(\d+) samples are at full scale", capsys.readouterr().out) == [str(count)] * (count > 0)


def test_images_are_weighted_at_their_frequencies(tmp_path):
    path = write_images(tmp_path / "a.h5", field(80.0))
    first, second, total = levels(path)
    assert (first.of, second.of, total.of) == ("1000 Hz", "100 Hz", "sum") and first.place == "all 25 pixels"
    assert [first.levels_db[name] for name in ("eq", "Fmax", "Smin", "50")] == pytest.approx([80.0] * 4, abs=0.05)
    a_db = float(weighting_db("a", 100.0))
    assert second.levels_db["eq"] == pytest.approx(80.0 + a_db, abs=1e-3)
    assert total.levels_db["eq"] == pytest.approx(80.0 + 10.0 * np.log10(1.0 + 10.0 ** (a_db / 10.0)), abs=1e-3)


def test_places_are_the_nearest_pixel_or_the_mean_of_a_region(tmp_path):
    frames = field(60.0)
    frames[:, :, 1, 3] *= 10.0
    path = write_images(tmp_path / "a.h5", frames)
    at = levels(path, Choice(at=(0.09, -0.12)))[0]
    assert at.place == "at x 0.1 m, y -0.1 m" and at.levels_db["eq"] == pytest.approx(80.0, abs=1e-3)
    region = levels(path, Choice(region=(0.0, 0.1, -0.1, 0.0)))[0]
    assert region.place == "4 pixels of the region" and region.levels_db["eq"] == pytest.approx(60.0 + 10.0 * np.log10(103.0 / 4.0), abs=1e-3)


def test_intensities_give_power(tmp_path):
    frames = np.full((4, 1, 5, 5), 1e-4 + 0j)
    frames[:, :, 0, 0] = -1e-4
    path = write_images(tmp_path / "a.h5", frames, unit="W/m^2", quantity="active_intensity", axes=[("frequency", "Hz", [100.0])])
    (found,) = levels(path, Choice(weighting="z"))
    assert (found.unit, found.mean, found.levels_db["eq"]) == ("W", pytest.approx(23e-6), pytest.approx(73.62, abs=0.01))
    (found,) = levels(path, Choice(region=(0.0, 0.2, 0.0, 0.2)))
    assert found.mean == pytest.approx(9e-6 * 10.0 ** (weighting_db("a", 100.0) / 10.0)) and found.weighting == "A"
    (found,) = levels(path, Choice(weighting="z", at=(0.0, 0.0)))
    assert (found.unit, found.levels_db["eq"]) == ("W/m^2", pytest.approx(80.0))


BANDS = [("band", "Hz", [list(Band(1, -1).edges_hz), list(Band(1, 0).edges_hz)])]


def test_bands_are_weighted_once(tmp_path):
    frames = np.full((200, 2, 5, 5), 4e-4)
    path = write_images(tmp_path / "a.h5", frames, name="bands", unit="Pa^2", quantity="pressure of bands", axes=BANDS)
    first, second, total = levels(path, Choice(parts=1))
    assert (first.of, total.of) == ("500 Hz octave", "sum")
    assert first.levels_db["eq"] == pytest.approx(60.0 + float(decibels(mean_gain("a", *Band(1, -1).edges_hz), 1.0)), abs=1e-3)
    path = write_images(tmp_path / "b.h5", frames, name="bands", unit="Pa^2", quantity="pressure of bands, A-weighted", axes=BANDS)
    assert [(one.weighting, one.levels_db["eq"]) for one in levels(path)] == [("A", pytest.approx(60.0))] * 2 + [("A", pytest.approx(63.01, abs=0.01))]
    for weighting in ("z", "c"):
        with pytest.raises(DataError, match="expected a, as the data are A-weighted"):
            levels(path, Choice(weighting=weighting))
    with pytest.raises(DataError, match="expected third octaves of the range, found other bands"):
        levels(path, Choice(parts=3))
    assert [one.of for one in levels(path, Choice(parts=1, range_hz=(900.0, 1100.0)))] == ["1000 Hz octave"]


def test_overlapping_bands_have_no_sum(tmp_path):
    bands = [("band", "Hz", [[500.0, 1000.0], [900.0, 1200.0]])]
    path = write_images(tmp_path / "a.h5", np.full((3, 2, 5, 5), 4e-4), name="bands", unit="Pa^2", quantity="pressure of bands", axes=bands)
    assert [one.of for one in levels(path)] == ["500 to 1000 Hz", "900 to 1200 Hz"]


def test_frames_with_flags_or_missing_are_counted_and_left_out(tmp_path, capsys):
    frames, flags = field(60.0, 300), np.zeros(300, int)
    frames[100:110] *= 100.0
    flags[100:110] = 4
    kept = np.concatenate([np.arange(200), np.arange(250, 350)])
    path = write_images(tmp_path / "a.h5", frames, flags=flags, kept=kept)
    found = levels(path, Choice(weighting="z"))[0]
    assert (found.values, found.lost) == (290, 10) and [found.levels_db[name] for name in ("eq", "Fmax")] == pytest.approx([60.0, 60.0], abs=0.02)
    assert main([str(path)]) == 0
    said = capsys.readouterr().out
    assert "10 frames carry a flag" in said and "50 frames are missing between others" in said and "too short for S, which takes 5 s" in said


def test_frames_of_one_packet_have_one_time(tmp_path, capsys):
    kept = np.concatenate([np.arange(300), np.arange(310, 800)])
    with h5py.File(write_images(tmp_path / "a.h5", field(60.0, 790), kept=kept), "r+") as file:
        file["timestamp_ns"][...] = file["timestamp_ns"][()] // 30_000_000 * 30_000_000  # three frames a packet
    found = levels(tmp_path / "a.h5", Choice(weighting="z"))[0]
    assert [found.levels_db[name] for name in ("eq", "Fmax", "90", "Smax")] == pytest.approx([60.0] * 4, abs=0.06)
    assert main([str(tmp_path / "a.h5")]) == 0
    said = capsys.readouterr().out
    assert "10 frames are missing between others" in said and "no times" not in said


def test_places_of_frames_are_those_of_their_samples():
    assert [places.tolist() for _, places in (places_of(np.array(one), np.zeros(4)) for one in ([0, 2, 3, 6], [0, 0, 0, 0], [8, 9, 1, 2]))] == [
        [0, 2, 3, 6], [0, 1, 2, 3], [0, 1, 2, 3]]  # fmt: skip
    assert places_of(np.array([8, 9, 1, 2]), np.array([0, 10, 9000, 9010]) * 1_000_000)[0] == pytest.approx(0.01)  # a restart after a pause


def test_beams_of_a_recording_stand_where_their_samples_are(tmp_path):
    samples = tone(1000.0, 94.0, 10.0)[: 900 * 512]
    starts = np.delete(np.arange(900), 500) * 512
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs.update({"format": np.bytes_("nearfield-images"), "processors": np.bytes_("ear"), "processor": np.bytes_("ear")})
        put_axes(file, [("beam", "1", [0.0]), ("sample", "s", np.arange(512) / RATE_HZ)])
        put_array(file, "beams", "pressure", "Pa", ["beam", "sample"], np.stack([samples[start : start + 512] for start in starts])[:, np.newaxis])
        file["first_sample"] = (32 * starts + 7).astype(np.uint64)  # bit-times
        file["timestamp_ns"] = ((starts + 511) // 480 * 10_000_000).astype(np.int64)  # audio periods
        file["flags"] = np.zeros(len(starts), np.uint32)
    (found,) = levels(tmp_path / "a.h5")
    assert found.lost == pytest.approx(11 + 50, abs=2)  # one frame and 50 ms of the filter
    assert [found.levels_db[name] for name in ("eq", "Fmax", "Fmin")] == pytest.approx([94.0] * 3, abs=0.06)


def test_frames_far_apart_have_no_fast_level(tmp_path, capsys):
    path = write_images(tmp_path / "a.h5", field(60.0, 40), step_ms=200)
    found = levels(path)[0]
    assert np.isnan(found.levels_db["Fmax"]) and np.isnan(found.levels_db["10"]) and found.levels_db["Smax"] == pytest.approx(60.0, abs=0.02)
    assert main([str(path)]) == 0 and "Frames 0.2 s apart do not show F (0.125 s)." in capsys.readouterr().out


def test_microphones_of_a_processor_are_channels(tmp_path):
    with h5py.File(write_images(tmp_path / "a.h5", field(60.0, 3)), "r+") as file:
        far = file.create_group("mics")
        file.attrs["processors"] = np.bytes_("surface,mics")
        put_axes(far, [("channel", "1", [0.0, 1.0])])
        put_array(far, "peak", "peak", "Pa", ["channel"], np.ones((100, 2)))
        put_array(far, "level", "mean square pressure, C-weighted", "Pa^2", ["channel"], np.full((100, 2), [4e-4, 4e-3]))
        far["first_sample"], far["timestamp_ns"], far["flags"] = np.arange(100), np.arange(100) * 10_000_000, np.zeros(100, np.uint32)
    found = levels(tmp_path / "a.h5", Choice(processor="mics"))
    assert [(one.place, one.weighting) for one in found] == [("channel 0", "C"), ("channel 1", "C")]
    assert [one.levels_db["eq"] for one in found] == pytest.approx([60.0, 70.0])
    assert len(levels(tmp_path / "a.h5", Choice(processor="mics", entry=1))) == 1
    with pytest.raises(DataError, match="expected c, as the data are C-weighted"):
        levels(tmp_path / "a.h5", Choice(processor="mics", weighting="a"))


def test_microphones_have_the_channels_of_the_file_beside_their_numbers(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs.update({"format": np.bytes_("nearfield-images"), "processors": np.bytes_("mics"), "processor": np.bytes_("mics")})
        file.attrs["config"] = np.bytes_("version: 1\narray: {channels: [0, 5]}\n")
        put_axes(file, [("microphone", "1", [0.0, 1.0])])
        put_array(file, "level", "mean square pressure", "Pa^2", ["microphone"], np.full((100, 2), 4e-4))
        file["first_sample"], file["timestamp_ns"], file["flags"] = np.arange(100), np.arange(100) * 10_000_000, np.zeros(100, np.uint32)
    assert [one.place for one in levels(tmp_path / "a.h5")] == ["microphone 0", "microphone 1, channel 5 of the file"]


def test_json_and_csv_have_the_same_as_the_table(tmp_path, capsys):
    path = write_images(tmp_path / "a.h5", field(80.0))
    assert main([str(path)]) == 0
    row = capsys.readouterr().out.splitlines()[3].split("  ")
    assert main([str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert row[0] == "all 25 pixels, 1000 Hz" and float(row[-1]) == pytest.approx(found["levels"][0]["levels_db"]["90"], abs=0.06)
    assert main([str(path), "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("place,of,mean,unit,LAeq,LAFmax") and lines[1].startswith("all 25 pixels,1000 Hz,0.04,Pa^2,80.00,80.00") and len(lines) == 4


def test_recordings_have_the_levels_of_their_frames_or_samples(live_folder, tmp_path):
    control = ["ctl", "--socket", live_folder / "control.sock"]
    nearfield.run(*control, "record", "start", "--images", "--seconds", "1", "--name", "levels_images")
    while json.loads(nearfield.run(*control, "status", "--json"))["recording"]["state"] == "recording":
        time.sleep(0.05)
    (recording,) = live_folder.glob("*levels_images*.nfr")
    found = levels(recording, Choice("z", at=(0.03, -0.01)))[0]
    assert (found.place, found.of) == ("at x 0.03 m, y -0.01 m, z 0 m", "1007.08 Hz") and 60.0 < found.levels_db["eq"] < 120.0 and found.values > 20
    with pytest.raises(DataError, match='no frames of a processor "none" are in it'):
        levels(recording, Choice(processor="none"))


def test_silence_of_all_channels_is_missing_in_a_recording():
    zeros = np.zeros(200, bool)
    zeros[[3, 4, 5]] = zeros[50:90] = zeros[180:] = True
    assert np.flatnonzero(_long_runs(zeros)).tolist() == list(range(50, 90))


# ---- Live ----


def beams_layout(samples):
    axes = (Axis("beam", "1", np.zeros(2)), Axis("sample", "s", np.arange(samples) / RATE_HZ))
    return Layout("ear", axes, (Product("beams", "pressure", "Pa", ARRAY, np.dtype("<f4"), axes, (), 0),))


def test_beams_of_a_daemon_go_through_the_chain_of_microphones():
    ring = types.SimpleNamespace(layout=beams_layout(512), select=lambda names: None)
    with pytest.raises(UsageError, match="--entry: expected 0 to 1, found 2"):
        Live(ring, Choice(entry=2))
    meter = Live(ring, Choice(entry=1))
    samples = np.stack([tone(1000.0, 80.0, 8.0), tone(100.0, 94.0, 8.0)])
    for number in range(samples.shape[1] // 512):
        if number in (300, 301):
            continue  # lost
        values = {"beams": samples[:, 512 * number : 512 * (number + 1)].astype(np.float32)}
        meter.push(Frame(values, beams_layout(512), number, 16 * number, 0, 0, 0, 0, 0, 64, 4 if number == 400 else 0, number * 512 * 10**9 // RATE_HZ, 0.0))
    meter.flush()
    assert meter.lost == 3 and [column.place for column in meter.columns] == ["beam 1"] and meter.heads()[:3] == ["LAF", "LAS", "LAeq"]
    assert meter.line() == pytest.approx([94.0 + float(weighting_db("a", 100.0))] * 6, abs=0.06)


def test_without_a_processor_a_daemon_is_asked_for_the_first_with_levels(tmp_path, monkeypatch):
    def layout(unit):
        return Layout(unit, (), (Product("level", "of a kind", unit, ARRAY, np.dtype("<f4"), (), (), 0),))

    class Socket:
        def __init__(self, _, name):
            if name == "stale":
                raise RingError("nothing listens", 1)
            self.layout, self.select = layout("Pa^2" if name == "mics" else "m"), lambda names: None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr("nearfield.ring.Ring", Socket)
    for name in ("frames.stale.sock", "frames.far.sock", "frames.mics.sock", "control.sock"):
        (tmp_path / name).touch()
    with _live(f"{tmp_path}/frames.sock", Choice("z")) as (_, meter):
        assert meter.unit == "Pa^2" and meter.product.unit == "Pa^2"
    (tmp_path / "frames.mics.sock").unlink()
    with pytest.raises(DataError, match="m: expected pressures or intensities with levels, found level"), _live(f"{tmp_path}/frames.sock", Choice("z")):
        pass


def test_a_daemon_is_read_until_its_time_is_over(live_folder, capsys, monkeypatch):
    live(str(live_folder / "frames.sock"), Choice(weighting="z", at=(0.03, -0.01)), 2.2, "table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("surface, images (pressure): at x 0.03 m, y -0.01 m, z 0 m, 1007.08 Hz, dB re 20 µPa")
    assert lines[1].split() == ["time", "LZF", "LZS", "LZeq", "LZ10", "LZ50", "LZ90", "lost"]
    assert [line.split()[:2] for line in lines[2:4]] == [["1", "s"], ["2", "s"]]
    monkeypatch.setenv("NEARFIELD_PYTHON", sys.executable)
    printed = nearfield.run("levels", "--socket", live_folder / "frames.sock", "--duration", "1", "--json", "--weighting", "z", "--at", "0.03,-0.01")
    found = json.loads(printed)["levels"][0]
    assert found["levels_db"]["eq"] == pytest.approx(float(lines[3].split()[4]), abs=0.5)  # of one-bit noise


def test_ctrl_c_ends_a_reading_with_its_levels(live_folder, monkeypatch):
    monkeypatch.setenv("NEARFIELD_PYTHON", sys.executable)
    words = [nearfield.program(), "levels", "--socket", live_folder / "frames.sock"]
    reader = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [reader.stdout.readline() for _ in range(3)]
    reader.send_signal(signal.SIGINT)
    rest, error = reader.communicate(timeout=30)
    assert reader.returncode == 0 and not error.strip(), error
    assert lines[2].split()[:2] == ["1", "s"]
    assert re.search(r"LAeq +LAFmax.*\nall 64 pixels, z 0 m, 1007.08 Hz .*\n.*0 of them left out", rest), rest


@pytest.fixture
def live_folder(live):  # noqa: F811 (the daemon of conftest.py, whose name the function under test has)
    return live


def test_a_daemon_that_is_not_there_is_an_input_that_is_missing(tmp_path, capsys):
    assert main([f"--socket={tmp_path}/none.sock"]) == 66
    assert "expected a ring of nearfieldd" in capsys.readouterr().err


# ---- What is wrong ----


@pytest.mark.parametrize(("words", "code", "said"), [
    (["--at=1,0"], 64, "--at: expected x from -0.2 to 0.2 m, found 1"),
    (["--at=0"], 64, "--at: expected 2 numbers with commas between them, found 0"),
    (["--region=0,1,0,0.1"], 64, "--region: expected x within -0.2 to 0.2 m, found 0 to 1"),
    (["--region=0.01,0.02,0,0.1"], 64, "--region: expected pixels in it, found none for x"),
    (["--at=0,0", "--region=0,0.1,0,0.1"], 64, "--at, --region: expected one of them, found both"),
    (["--range=100,1000"], 64, "--range: expected --bands with it"),
    (["--bands=third"], 65, "expected bands with levels, found images; front_end.bands_hz or third_octave makes bands of images"),
    (["--product=none"], 65, "expected none with levels, found images"),
    (["--processor=none"], 64, "--processor: expected one of .* with frames, surface; found none"),
    (["--socket=a"], 64, "--socket, --duration: expected none with a file"),
    (["--weighting=b"], 64, "argument --weighting: invalid choice"),
])  # fmt: skip
def test_wrong_words_are_refused(tmp_path, capsys, words, code, said):
    path = write_images(tmp_path / "a.h5", field(60.0, 3))
    assert main([str(path), *words]) == code
    assert re.search(f"^nearfield: error: .*{said}", capsys.readouterr().err)


def test_data_that_cannot_have_levels_are_refused(capture, tmp_path):
    (tmp_path / "text.h5").write_text("no HDF5")
    seconds = tone(1000.0, 94.0, 0.5)[:, np.newaxis]
    velocity = write_images(tmp_path / "v.h5", field(60.0, 3), unit="m/s", quantity="normal_velocity")
    for path, choice, error, said in (
        (tmp_path / "none.h5", Choice(), NoInputError, "no such file or directory"),
        (tmp_path / "text.h5", Choice(), DataError, "found another file or a damaged one"),
        (capture, Choice(), DataError, "found bits; nearfield replay makes levels of it"),
        (write_samples(tmp_path / "v1.h5", seconds, units="V"), Choice(), DataError, "expected samples in Pa, found the unit V"),
        (write_samples(tmp_path / "v2.h5", seconds, units="Pa"), Choice(pascal_per_unit=2.0), UsageError, "expected none, as .* is in Pa"),
        (write_samples(tmp_path / "v3.h5", seconds), Choice(entry=1), UsageError, "--entry: expected 0 to 0, found 1"),
        (write_samples(tmp_path / "v4.h5", seconds, 8000), Choice(parts=1, range_hz=(1000, 4000)), DataError, "below half of 8000 samples a second"),
        (write_samples(tmp_path / "v5.h5", seconds), Choice(parts=3, range_hz=(25, 100)), DataError, "at least 5 / bandwidth for the 25 Hz third octave"),
        (write_samples(tmp_path / "v6.h5", np.full((48000, 1), np.nan)), Choice(), DataError, "found none that is a number"),
        (velocity, Choice(), DataError, "expected pressures or intensities with levels, found images"),
    ):
        with pytest.raises(error, match=said):
            levels(path, choice)


@pytest.mark.once
def test_another_package_has_the_same_levels():
    """PyOctaveBand, whose A-weighting is 0.1 dB off at 8 kHz and 2 dB at 20 kHz: up to 5 kHz both agree."""
    import pyoctaveband

    noise, hz, _ = flat_noise(10.0, -1.0)
    spectrum = np.fft.rfft(noise)
    spectrum[hz > 5000.0] = 0.0
    low = np.fft.irfft(spectrum, len(noise))
    for curve in ("A", "C"):
        (squares,), cell_s = measured(low, [Filter(curve.lower())])
        theirs = pyoctaveband.weighting_filter(low, RATE_HZ, curve)
        assert decibels(squares.mean()) == pytest.approx(float(decibels(np.mean(theirs**2))), abs=0.1)
        meter = Meter(1)
        meter.push(cell_s * np.arange(1, len(squares) + 1), squares[:, np.newaxis], cell_s)
        for mode, name in (("fast", "Fmax"), ("slow", "Smax")):
            assert decibels(meter.figures()[name][0]) == pytest.approx(float(decibels(pyoctaveband.time_weighting(theirs, RATE_HZ, mode).max())), abs=0.1)
    for parts in (1, 3):
        levels_db, centres_hz = pyoctaveband.octavefilter(noise, RATE_HZ, fraction=parts, order=6, limits=[50, 16000])[:2]
        bands = [Band(parts, round(parts / 0.3 * np.log10(centre / 1000.0))) for centre in centres_hz]
        found, _ = measured(noise, [Filter("z", band) for band in bands])
        np.testing.assert_allclose([decibels(one.mean()) for one in found], levels_db, atol=0.2)


@pytest.mark.once
def test_levels_of_a_scene_are_those_of_its_closed_form(tmp_path):
    """Near image, far map, point, beam and microphone, of a replay, and means live, of which a loaded host may shed frames."""
    for signal, place, of, figure, expected, replayed, live_db in levels_table.rows(tmp_path):
        assert replayed == pytest.approx(expected, abs=0.1 if signal == "tones" else 0.2), (signal, place, of, figure)
        if figure == "eq":
            # Where half of the frames are shed, chance has a standard deviation of 0.1 dB for third octaves of noise.
            assert live_db == pytest.approx(expected, abs=0.1 if signal == "tones" else 0.4), (signal, place, of)

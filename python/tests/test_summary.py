"""Summaries and changes of runs: levels and differences in closed form, what is refused, and what stands in the page."""

import base64
import html.parser
import io
import json
import os
import re
import subprocess
import sys
import time

import h5py
import matplotlib.image
import numpy as np
import pytest
from images_support import describe, put_array, put_axes

import nearfield
from nearfield import _summary_pictures as drawing
from nearfield import compare
from nearfield._run_settings import changed_settings
from nearfield._runs import flags_of, microphones_of, opened
from nearfield._summary_run import errors_of
from nearfield.errors import DataError, NoInputError, UsageError
from nearfield.levels import averages_of, differences, maps_of
from nearfield.summary import main, summary

pytestmark = pytest.mark.versions

X_M, Y_M = (np.arange(12) - 5.5) * 0.02, (np.arange(11) - 5.0) * 0.02  # the loudest pixel is not near the edge
HZ = [500.0, 1000.0]
CONFIG = """version: 1
array: {{positions: null, rows: 11, columns: 12, pitch_x_m: 0.02, pitch_y_m: 0.02, calibration: null, dead_channels: [3]}}
front_end: {{frequencies_hz: [500, 1000]}}
holography: {{imager: auto, standoff_m: {standoff_m}}}
daemon: {{log: {{level: debug}}, control: {{socket: /srv/secret.sock}}}}
"""
PA_94_DB = np.sqrt(2.0) * 20e-6 * 10.0 ** (94.0 / 20.0)  # peak of 94 dB re 20 uPa rms
TEN_UW_M2 = 1e-5  # 70 dB re 1 pW/m^2


def field(level_db=94.0, y=5, x=7):
    """Peak phasors, [plane, frequency, row, column]: a level at one pixel of the first frequency, 20 dB less elsewhere; 10 dB less at the second."""
    values = np.full((1, 2, 11, 12), 0.1 * PA_94_DB * 10.0 ** ((level_db - 94.0) / 20.0), np.complex128)
    values[0, :, y, x] *= 10.0
    values[0, 1] *= 10.0**-0.5
    return values * np.exp(0.7j)


def write(path, frames, *, unit="Pa", quantity="pressure", hz=HZ, x_m=X_M, standoff_m=0.03, name="surface", power_w=None, error=None, start_ns=0):
    """`frames` [frame, plane, frequency, row, column]."""
    count = len(frames)
    with h5py.File(path, "w") as file:
        file.attrs.update({"format": np.bytes_("nearfield-images"), "version": 1, "processors": np.bytes_(name), "microphones": 132,
                           "masked_microphones": np.bytes_("3"), "found_bad_microphones": np.bytes_("17")})  # fmt: skip
        for key, value in (("processor", name), ("kind", "pnah"), ("device", "a device"), ("front_end", "popcount")):
            file.attrs[key] = np.bytes_(value)
        file.attrs["config"] = np.bytes_(CONFIG.format(standoff_m=standoff_m))
        put_axes(file, [("frequency", "Hz", hz), ("z", "m", [0.0]), ("y", "m", Y_M), ("x", "m", x_m)])
        put_array(file, "images", quantity, unit, ["z", "frequency", "y", "x"], np.asarray(frames))
        for figure, axes, values in (("radiated_power_w", "z,frequency", power_w), ("error_estimate", "frequency", error)):
            if values is not None:
                file[figure] = np.asarray(values, np.float32)
                describe(file, figure, form="figure", quantity=figure, unit="W" if figure.endswith("w") else "1", axes=axes)
        file["first_sample"] = np.arange(count, dtype=np.uint64) * 1000
        file["timestamp_ns"] = np.arange(count, dtype=np.int64) * 500_000_000 + start_ns
        file["flags"] = np.array([2] * count, np.uint32)
        file["flags"].attrs.update({"flag_masks": np.array([1, 2, 4], np.uint32), "flag_meanings": np.bytes_("fell_back masked_ones missing_bits")})
        file["missing_bits"] = np.zeros(count, np.uint64)
        file["valid_microphones"] = np.array([131] + [130] * (count - 1), np.uint32)
        file["missing_information"] = np.full(count, 0.015, np.float32)
        file["frames_written"] = np.uint64(count)
    return path


@pytest.fixture
def run(tmp_path):
    return write(tmp_path / "before.h5", [field()] * 3, power_w=[[[1e-6, 2e-6]]] * 3, error=[[0.05, 0.2], [0.07, np.nan], [0.06, 0.1]])


def maps_in(path, average="energetic"):
    with opened(path) as results:
        averages = averages_of(results[0], maps_of(results[0])[0], average)
        return list(averages.maps())


def difference_of(before, after):
    with opened(before) as a, opened(after) as b:
        found = [averages_of(one[0], maps_of(one[0])[0]) for one in (a, b)]
        return differences(*found, (str(before), str(after)))


# ---- Levels ----


def test_levels_places_and_means_have_closed_forms(run):
    first, second = maps_in(run)
    assert (first.words, second.words) == ("z 0 m, 500 Hz", "z 0 m, 1000 Hz")
    assert first.largest.level_db == pytest.approx(94.0, abs=1e-5) and second.largest.level_db == pytest.approx(84.0, abs=1e-5)
    assert first.largest.words == "x 0.03 m, y 0 m" and first.largest.index == (5, 7)
    # 131 of 132 pixels are 20 dB lower: the mean of powers is (1 + 131 / 100) / 132 of the largest.
    assert first.mean_db == pytest.approx(94.0 + 10.0 * np.log10(2.31 / 132.0), abs=1e-5)
    np.testing.assert_allclose(first.levels_db[0], 74.0, atol=1e-5)  # float32


def test_averages_are_of_powers(tmp_path):
    path = write(tmp_path / "a.h5", [field(94.0), field(94.0), field(114.0)])
    assert maps_in(path)[0].largest.level_db == pytest.approx(94.0 + 10.0 * np.log10((1.0 + 1.0 + 100.0) / 3.0), abs=1e-5)
    assert maps_in(path, "median")[0].largest.level_db == pytest.approx(94.0, abs=1e-5)
    with opened(path) as results, pytest.raises(UsageError, match="expected energetic or median, found mean"):
        averages_of(results[0], maps_of(results[0])[0], "mean")


def test_values_that_are_no_numbers_are_left_out_and_counted(tmp_path):
    frames = np.array([field(94.0), field(100.0)])
    frames[0, 0, 0, 5, 7] = np.nan
    frames[:, 0, 0, 0, 0] = np.inf
    path = write(tmp_path / "a.h5", frames)
    first = maps_in(path)[0]
    assert first.largest.level_db == pytest.approx(100.0, abs=1e-5) and np.isnan(first.levels_db[0, 0])
    summary(path, tmp_path / "a.html")
    text = read(tmp_path / "a.html").text
    assert "1 of 528 values of images are not finite and are left out." in text
    assert "1 of 264 values of images are a number in no frame; pictures are hatched there." in text


def test_frames_that_were_not_written_are_no_part(run):
    with h5py.File(run, "r+") as file:
        file["images"][2] = 0.0
        file["frames_written"][()] = 2
    assert maps_in(run)[0].largest.level_db == pytest.approx(94.0, abs=1e-5)


def test_intensities_keep_their_sign_until_the_level(tmp_path):
    values = np.full((2, 1, 2, 11, 12), 0.0j)
    values[:, 0, 0, 2, 3] = [3.0 * TEN_UW_M2, -TEN_UW_M2]  # the mean is 10 uW/m^2
    values[:, 0, 0, 5, 5] = -0.1 * TEN_UW_M2
    path = write(tmp_path / "a.h5", values, unit="W/m^2", quantity="active_intensity", power_w=[[[4e-9, -1e-9]]] * 2)
    first, second = maps_in(path)
    assert first.largest.level_db == pytest.approx(70.0, abs=1e-5) and first.levels_db[5, 5] == pytest.approx(60.0, abs=1e-5)
    assert first.mean_db == pytest.approx(10.0 * np.log10(0.9e-5 / 132.0 / 1e-12), abs=1e-5)
    assert second.largest is None and np.isnan(second.mean_db)
    assert first.power_w() == pytest.approx(4e-9)
    summary(path, tmp_path / "a.html")
    page = read(tmp_path / "a.html")
    assert "Power flows away from the microphones at 1 of the 2 places of images that are within 20 dB of their map's largest level" in page.text
    assert page.row("z 0 m, 500 Hz")[-2:] == ["4.00 × 10⁻⁹", "36.0"] and page.row("z 0 m, 1000 Hz")[-2:] == ["−1.00 × 10⁻⁹", "negative"]


# ---- Differences ----


@pytest.mark.parametrize("average", ["energetic", "median"])
def test_half_the_amplitude_is_6_02_db_less_whatever_the_number_of_frames(run, tmp_path, capsys, average):
    after = write(tmp_path / "after.h5", [0.5 * field()] * 7, power_w=[[[0.25e-6, 0.5e-6]]] * 7)
    half_db = 20.0 * np.log10(0.5)
    for one in difference_of(run, after):
        np.testing.assert_allclose(one.change_db, half_db, atol=1e-5)
        assert one.mean_db == pytest.approx(half_db, abs=1e-5) and one.at_loudest_db == pytest.approx(half_db, abs=1e-5)
        assert one.most(-1).index == (5, 7) and one.most(1) is None
    assert compare.main(["--before", str(run), "--after", str(after), "--average", average]) == 0
    said = capsys.readouterr().out.splitlines()
    mean = "mean" if average == "energetic" else "median"
    assert said[0] == f"pressure (images of surface), dB re 20 µPa, the {mean} of powers over 3 frames before and 7 after;"
    assert said[2] == "z 0 m, 500 Hz: 6.0 dB less over the surface (76.4 to 70.4 dB); 6.0 dB less where it was loudest, at x 0.03 m, y 0 m."
    assert compare.main(["--before", str(run), "--after", str(after), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["frames_before"], found["frames_after"], found["products"][0]["unit"]) == (3, 7, "dB re 20 µPa")
    first = found["products"][0]["maps"][0]
    assert first["entry"] == {"z_m": 0.0, "frequency_hz": 500.0}
    assert first["surface"]["change_db"] == first["at_loudest_before"]["change_db"] == first["power"]["change_db"] == -6.0206
    assert first["power"]["before_db"] == 60.0 and first["rose_most"] is None
    assert first["loudest_before"] == {"y_m": 0.0, "x_m": pytest.approx(0.03), "db": 94.0}


def test_where_it_fell_and_rose_is_looked_for_where_one_of_both_is_strong(run, tmp_path):
    values = field()
    values[0, 0, 5, 7] *= 0.5  # the loudest
    values[0, 0, 1, 2] *= 10.0 ** (15.0 / 20.0)  # 74 to 89 dB: 5 dB below the largest of both
    values[0, 0, 7, 8] *= 10.0 ** (-30.0 / 20.0)  # 74 to 44 dB: the most, and too weak in both
    first, second = difference_of(run, write(tmp_path / "after.h5", [values]))
    assert first.most(-1).index == (5, 7) and first.most(-1).level_db == pytest.approx(20.0 * np.log10(0.5), abs=1e-5)
    assert first.most(1).words == "x −0.07 m, y −0.08 m" and first.most(1).level_db == pytest.approx(15.0, abs=1e-5)
    assert second.most(1) is None and second.mean_db == pytest.approx(0.0, abs=1e-5)
    assert not np.isnan(drawing.shown_change(first, 40.0)[7, 8]) and np.isnan(drawing.shown_change(first, 19.0)[7, 8])


def test_intensities_that_turn_have_no_difference(tmp_path):
    values = np.full((1, 1, 2, 11, 12), TEN_UW_M2 + 0j)
    turned = values.copy()
    turned[0, 0, 0, 3, 3] *= -1.0
    files = [write(tmp_path / f"{name}.h5", one, unit="W/m^2", quantity="active_intensity") for name, one in (("a", values), ("b", turned))]
    first = difference_of(*files)[0]
    assert np.argwhere(np.isnan(first.change_db)).tolist() == [[3, 3]]


@pytest.mark.parametrize(("change", "said"), [
    ({"hz": [500.0, 1001.0]}, "frequency[1]: expected 1000 Hz as in {a}, found 1001 Hz"),
    ({"x_m": X_M + 1e-5}, "x[0]: expected -0.11 m as in {a}, found -0.10999 m"),
    ({"frames": np.zeros((2, 1, 2, 11, 8), complex), "x_m": X_M[:8]}, "x: expected 12 entries, -0.11 to 0.11 m as in {a}, found 8 entries, -0.11 to 0.03 m"),
    ({"unit": "m/s", "quantity": "normal_velocity"}, "quantity: expected pressure in Pa as in {a}, found normal_velocity in m/s"),
    ({"name": "other"}, "processor: expected surface as in {a}, found other"),
])  # fmt: skip
def test_what_cannot_be_compared_is_refused_in_a_sentence(run, tmp_path, capsys, change, said):
    other = write(tmp_path / "b.h5", change.pop("frames", [field()] * 2), **change)
    expected = f"nearfield: error: {other}: {said.format(a=run)}; nearfield replay --config-of {run} makes what can be compared\n"
    assert main([str(run), str(other), "-o", str(tmp_path / "out.html")]) == 65
    assert capsys.readouterr().err == expected
    assert compare.main(["--before", str(run), "--after", str(other)]) == 65
    assert capsys.readouterr().err == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.h5", "before.h5"]


def test_frequencies_and_places_within_the_tolerance_are_the_same(run, tmp_path):
    other = write(tmp_path / "b.h5", [field()] * 2, hz=[500.4, 999.6], x_m=X_M + 5e-7)
    assert difference_of(run, other)[0].mean_db == pytest.approx(0.0, abs=1e-5)


# ---- Pages ----


class Page(html.parser.HTMLParser):
    """Texts, rows, pictures, and everything that a browser would load."""

    def __init__(self, text):
        super().__init__()
        self.source, self.text, self.tags, self.loaded, self.pictures, self.rows, self._cell = text, "", [], [], [], [], None
        self.feed(text)
        self.text = re.sub(r"\s+", " ", self.text)
        self.rows = [[re.sub(r"\s+", " ", cell) for cell in row] for row in self.rows]

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loaded += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action", "poster", "background")]
        if tag == "img":
            self.pictures.append(dict(attrs))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._cell = tag in ("td", "th")

    def handle_endtag(self, tag):
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data):
        self.text += f" {data}"
        if self._cell:
            self.rows[-1][-1] += data

    def row(self, first, number=0):
        return [row for row in self.rows if row and row[0] == first][number]


def read(path):
    return Page(path.read_text(encoding="utf-8"))


def png_of(picture):
    return matplotlib.image.imread(io.BytesIO(base64.b64decode(picture["src"].removeprefix("data:image/png;base64,"))), format="png")


def test_a_page_needs_nothing_beside_it(run, tmp_path):
    summary(run, tmp_path / "a.html", title="<b>Pump & motor</b>")
    page = read(tmp_path / "a.html")
    assert page.loaded and all(value.startswith("data:image/png;base64,") for value in page.loaded)
    assert not {"script", "link", "iframe", "object", "b"} & set(page.tags) and "http" not in page.source.replace("http-equiv", "")
    assert "url(" not in page.source and "@import" not in page.source
    assert "<b>Pump & motor</b>" in page.text
    assert "@page { size: A4" in page.source and "section { break-before: page; }" in page.source
    assert len(page.pictures) == 2 and page.tags.count("section") == 5 and page.tags.count("svg") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "before.h5"]


def test_a_page_says_what_the_run_is(run, tmp_path):
    with h5py.File(run, "r+") as file:
        file["flags"][1] = 2 | 4 | 1 << 20
        file["missing_bits"][1] = 77
    summary(run, tmp_path / "a.html")
    page = read(tmp_path / "a.html")
    assert page.row("Device")[1] == "a device" and page.row("Recorded")[1] == "not said by the file"
    assert page.row("Frames")[1] == "3, the first and the last 1 s apart" and page.row("Processor")[1] == "surface (pnah)"
    assert page.row("Frequencies")[1] == "500, 1000 Hz" and page.row("Microphones")[1] == "130 to 131 of 132 used"
    assert nearfield.run("--version").splitlines()[0] in page.text
    # Levels, W, dB re 1 pW, the median expected error.
    assert page.row("z 0 m, 500 Hz") == ["z 0 m, 500 Hz", "94.0", "x 0.03 m, y 0 m", "76.4", "1.00 × 10⁻⁶", "60.0", "6 %"]
    assert page.row("z 0 m, 1000 Hz")[-2:] == ["63.0", "15 %"]
    assert page.row("500 Hz") == ["500 Hz", "6", "5", "7"]
    assert page.row("masked ones") == ["masked ones", "2", "3", "100"] and page.row("missing bits") == ["missing bits", "4", "1", "33.3"]
    assert page.row("not described by the file")[1:] == [str(1 << 20), "1", "33.3"]
    assert "Missing bit-times: in 1 of 3 frames, 77 at most in one." in page.text
    assert "1 of 3 frames carry the flag “missing bits”: their levels are doubtful" in page.text
    assert page.row("Masked from the start")[1] == "1: 3" and page.row("Found bad and masked")[1] == "1: 17"
    assert page.row("Information missing")[1] == "1.5 % at most"
    assert "dB re 20 µPa" in page.text and "have no calibration" in page.text
    # Settings: what differs, with the default, and nothing of the daemon's host.
    assert page.row("array.rows") == ["array.rows", "11", "32"] and page.row("array.dead_channels") == ["array.dead_channels", "[3]", "[]"]
    assert page.row("front_end.frequencies_hz")[1] == "[500, 1000] Hz"
    assert not [row for row in page.rows if row and row[0] in ("holography.standoff_m", "array.pitch_x_m", "holography.imager")]
    assert "secret" not in page.source and "daemon.log" not in page.source


def test_a_page_of_two_runs_shows_what_changed(run, tmp_path):
    after = write(tmp_path / "after.h5", [0.5 * field()] * 7, standoff_m=0.04, power_w=[[[0.25e-6, 0.5e-6]]] * 7, start_ns=1_796_000_000 * 10**9)
    summary(run, tmp_path / "a.html", after)
    page = read(tmp_path / "a.html")
    assert len(page.pictures) == 6 and all(png_of(picture).shape[2] == 4 for picture in page.pictures)
    assert "z 0 m, 500 Hz: 6.0 dB less over the surface (76.4 to 70.4 dB); 6.0 dB less where it was loudest, at x 0.03 m, y 0 m." in page.text
    assert page.row("z 0 m, 500 Hz") == ["z 0 m, 500 Hz", "76.4", "70.4", "−6.0", "94.0", "88.0", "−6.0", "60.0", "54.0", "−6.0"]
    assert page.row("z 0 m, 500 Hz", 1) == ["z 0 m, 500 Hz", "x 0.03 m, y 0 m", "−6.0", "x 0.03 m, y 0 m", "−6.0", "nowhere", "–"]
    assert page.row("Frames")[1:] == ["3, the first and the last 1 s apart", "7, the first and the last 3 s apart"]
    assert page.row("Recorded")[2] == "2026-11-30 00:53:20.000 to 2026-11-30 00:53:23.000 TAI"
    assert page.row("holography.standoff_m", -1) == ["holography.standoff_m", "0.03", "0.04"]


def test_pictures_have_the_levels_in_m_with_microphones_and_a_cross(run, tmp_path):
    half = write(tmp_path / "half.h5", [0.5 * field()])
    one = difference_of(run, half)[0]
    with opened(run) as results:
        microphones = microphones_of(results[0])
    scale = drawing.scale_of([one.before, one.after], 30.0)
    assert (scale.low, scale.high, scale.label) == (pytest.approx(64.0, abs=1e-5), pytest.approx(94.0, abs=1e-5), "dB re 20 µPa")
    figure = drawing.draw_levels(one.after, scale, microphones, 3.4)
    ax = figure.axes[0]
    mesh = ax.collections[0]
    np.testing.assert_allclose(mesh.get_array().reshape(11, 12), one.after.levels_db)
    assert mesh.get_clim() == (scale.low, scale.high)
    assert ax.get_xlim() == pytest.approx((-0.12, 0.12)) and ax.get_ylim() == pytest.approx((0.11, -0.11)) and ax.get_xlabel() == "x [m]"
    used, masked, _, *cross = ax.lines
    assert len(used.get_xdata()) == 130
    np.testing.assert_allclose(np.transpose(masked.get_data()), [[-0.05, -0.1], [-0.01, -0.08]], atol=1e-9)  # channels 3 and 17
    assert [np.ravel(line.get_data()).tolist() for line in cross] == [[pytest.approx(0.03), pytest.approx(0.0)]] * 2
    changes = drawing.change_scale([one], 30.0)
    assert (changes.low, changes.high) == (-7.0, 7.0)
    mesh = drawing.draw_change(one, changes, microphones, 30.0, 2.4).axes[0].collections[0]
    np.testing.assert_allclose(mesh.get_array(), 20.0 * np.log10(0.5), atol=1e-5)
    assert mesh.get_cmap().name == "RdBu_r"


def test_microphones_of_an_irregular_array_stand_where_the_file_says(run, tmp_path):
    places = [[0.01 * i, -0.02 * i, 0.0] for i in range(16)]
    with h5py.File(run, "r+") as file:
        file.attrs["config"] = np.bytes_("version: 1\narray: {positions: array.csv}\n")
        file["microphone"], file["microphone_m"] = np.zeros(16, np.float32), places  # the first is a dimension's
    with opened(run) as results:
        assert microphones_of(results[0]).places_m.tolist() == places
    summary(run, tmp_path / "a.html")
    assert "does not say where" not in read(tmp_path / "a.html").text


def test_of_many_maps_the_loudest_are_drawn_and_all_are_in_the_table(run, tmp_path):
    summary(run, tmp_path / "a.html", most_pictures=1)
    page = read(tmp_path / "a.html")
    assert len(page.pictures) == 1 and page.pictures[0]["alt"].startswith("z 0 m, 500 Hz")
    assert "The 1 loudest of 2 are drawn (--pictures); the table has all." in page.text and page.row("z 0 m, 1000 Hz")


def test_a_largest_level_near_the_edge_is_said_so(tmp_path):
    write(tmp_path / "a.h5", [field(x=0)] * 2)
    summary(tmp_path / "a.h5", tmp_path / "a.html")
    assert read(tmp_path / "a.html").row("z 0 m, 500 Hz")[2] == "x −0.11 m, y 0 m (near the edge)"


def test_images_of_the_program_have_all_that_a_page_shows(images, tmp_path):
    """The file of a replay: processors, figures, settings, masks and flags are where the page looks for them."""
    summary(images, tmp_path / "a.html")
    page = read(tmp_path / "a.html")
    assert page.row("Processor")[1].startswith("surface (pnah)") and page.row("Microphones")[1] == "64 of 64 used"
    assert page.row("array.rows") == ["array.rows", "8", "32"] and page.row("holography.extrapolation.order")[1:] == ["4", "8"]
    assert page.row("processors.rows.kind")[1] == "spectrum" and not [row for row in page.rows if row and row[0].startswith("daemon.")]
    with nearfield.open_images(images) as found:
        levels_db = 10.0 * np.log10((abs(found.images.values[:, 0, 0]) ** 2).mean(axis=0) / 2.0 / 4e-10)
    assert page.row("z 0 m, 1007.08 Hz")[1] == f"{levels_db.max():.1f}"
    with opened(images) as results:
        assert microphones_of(results[0]).places_m[0].tolist() == pytest.approx([-0.07, -0.07, 0.0])
        assert flags_of(results[0]) == [] and [one.key for one in changed_settings(results[0])][0] == "array.rows"
        assert len(errors_of(results[0])) == 1


def test_recordings_with_images_are_summaries_too(live, tmp_path):
    control = ["ctl", "--socket", live / "control.sock"]
    for what in ("images", "bits"):
        nearfield.run(*control, "record", "start", f"--{what}", "--seconds", "0.2", "--name", f"summary_{what}")
        while json.loads(nearfield.run(*control, "status", "--json"))["recording"]["state"] == "recording":
            time.sleep(0.05)
    (recording,) = live.glob("*summary_images*.nfr")
    nearfield.run("convert", recording, "-o", tmp_path / "converted.h5", "--what", "images")
    for name in (recording, tmp_path / "converted.h5"):
        summary(name, tmp_path / f"{name.name}.html")
    pages = [read(tmp_path / f"{name}.html") for name in (recording.name, "converted.h5")]
    assert pages[0].row("z 0 m, 1007.08 Hz") == pages[1].row("z 0 m, 1007.08 Hz") and len(pages[0].pictures) == 1
    (bits,) = live.glob("*summary_bits*.nfr")
    with pytest.raises(DataError, match="it holds no images; nearfield replay makes images of bits"):
        summary(bits, tmp_path / "bits.html")
    with pytest.raises(DataError, match='no frames of a processor "none" are in it'):
        summary(recording, tmp_path / "none.html", processor="none")


# ---- What is wrong ----


@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
def test_an_input_is_never_the_output(run, tmp_path, link):
    output = run if not link else tmp_path / "link.html"
    if link:
        {"symbolic": os.symlink, "hard": os.link}[link](run, output)
    before = run.read_bytes()
    with pytest.raises(UsageError, match="too; expected a file of its own"):
        summary(run, output)
    other = write(tmp_path / "other.h5", [field()])
    with pytest.raises(UsageError, match="too; expected a file of its own"):
        summary(other, output, run)
    assert run.read_bytes() == before


def test_what_cannot_be_written_leaves_the_former_page(run, tmp_path):
    (tmp_path / "a.html").write_text("former")
    write(tmp_path / "b.h5", [field()], hz=[500.0, 3000.0])
    with pytest.raises(DataError):
        summary(run, tmp_path / "a.html", tmp_path / "b.h5")
    assert (tmp_path / "a.html").read_text() == "former"
    assert main([str(run), "-o", str(tmp_path / "none" / "a.html")]) == 74
    assert main([str(run), "-o", str(tmp_path)]) == 74


def test_what_is_no_run_is_refused_with_what_it_is(run, capture, tmp_path):
    (tmp_path / "text.h5").write_text("no HDF5")
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    nothing = write(tmp_path / "nothing.h5", [field()])
    with h5py.File(nothing, "r+") as file:
        file["frames_written"][()] = 0
    damaged = write(tmp_path / "damaged.h5", [field()])
    with h5py.File(damaged, "r+") as file:
        del file["x_m"]
    short = write(tmp_path / "short.h5", [field()])
    with h5py.File(short, "r+") as file:
        del file["x_m"]
        file["x_m"] = X_M[:-1]
        file["x_m"].attrs.update({"axis": np.bytes_("x"), "unit": np.bytes_("m")})
    words = write(tmp_path / "words.h5", [field()])
    with h5py.File(words, "r+") as file:
        file.attrs["masked_microphones"] = np.bytes_("3,x")
    cut = write(tmp_path / "cut.h5", [field()])
    cut.write_bytes(cut.read_bytes()[:-1000])
    for path, error, said in (
        (tmp_path / "none.h5", NoInputError, "no such file or directory"),
        (tmp_path, DataError, "found a folder"),
        (tmp_path / "text.h5", DataError, "found another file or a damaged one"),
        (tmp_path / "empty.h5", DataError, "found a file without results"),
        (capture, DataError, "found capture; nearfield replay makes images of what was recorded"),
        (nothing, DataError, "expected frames, found none"),
        (damaged, DataError, "expected a whole images file, found a damaged one"),
        (short, DataError, r"images: expected \(1, 1, 2, 11, 11\) values by its axes, found \(1, 1, 2, 11, 12\)"),
        (words, DataError, "masked_microphones: expected microphones' numbers, found 3,x"),
        (cut, DataError, "damaged one"),
    ):
        with pytest.raises(error, match=said) as raised:
            summary(path, tmp_path / "a.html")
        assert str(path) in raised.value.message and "\n" not in raised.value.message
    assert not (tmp_path / "a.html").exists()


def test_processors_without_levels_are_named(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs.update({"format": np.bytes_("nearfield-images"), "processors": np.bytes_("line"), "processor": np.bytes_("line")})
        put_axes(file, [("angle", "deg", [0.0, 90.0])])
        put_array(file, "images", "power", "Pa^2", ["angle"], np.ones((1, 2)))
        file["timestamp_ns"], file["first_sample"], file["flags"] = np.zeros(1, np.int64), np.zeros(1, np.uint64), np.zeros(1, np.uint32)
    with pytest.raises(DataError, match="expected levels over x and y, over azimuth and elevation, or at points, found none in the results of line"):
        summary(tmp_path / "a.h5", tmp_path / "a.html")


@pytest.mark.parametrize(("words", "said"), [
    (["--range", "0"], "--range: expected a number of dB > 0, found 0"),
    (["--range", "nan"], "--range: expected a number of dB > 0, found nan"),
    (["--pictures", "-1"], "--pictures: expected a number of at least 0, found -1"),
    (["--average", "mean"], "argument --average: invalid choice: 'mean'"),
    (["--processor", "far"], "--processor: expected one of .* with maps, surface; found far"),
    (["-o", ""], "--output: expected a path, found an empty one"),
])  # fmt: skip
def test_wrong_words_are_refused(run, tmp_path, capsys, words, said):
    assert main([str(run), "-o", str(tmp_path / "a.html"), *words]) == 64
    assert re.match(f"nearfield: error: {said}", capsys.readouterr().err)
    assert not (tmp_path / "a.html").exists()


def test_a_package_that_is_missing_is_named(run, tmp_path):
    script = "import sys; sys.modules['matplotlib'] = None; from nearfield.summary import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", script, run, "-o", tmp_path / "a.html"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (66, "nearfield: error: summary: expected the Python package matplotlib, found none; "
                                                  "install python3-matplotlib, or the wheel's extra plot\n")  # fmt: skip

"""One large array from recordings at several places: two noises below it, the same by one array that covers it all, drift, and refusals."""

import re

import h5py
import numpy as np
import pytest

import nearfield
from nearfield.combine import combined, main, write

pytestmark = pytest.mark.versions

RATE_HZ, WINDOW, PITCH_M, STANDOFF_M = 8192.0, 512, 0.04, 0.04
SOURCES_M = np.array([[-0.17, 0.03, -0.03], [0.15, -0.05, -0.03]])  # of two noises
REFERENCES_M = np.array([[-0.2, 0.1, -0.01], [0.2, -0.1, -0.01], [0.0, 0.15, -0.01]])
FREQUENCIES_HZ = [640.0, 1100.0]
AT_M = [(-0.16, 0.0), (0.16, 0.0)]
GRID = "{rows: 8, columns: 8, pitch_x_m: 0.04, pitch_y_m: 0.04}"


def grid_m(rows, columns, x_m=0.0, y_m=0.0, pitch_m=PITCH_M):
    y, x = np.meshgrid((np.arange(rows) - (rows - 1) / 2) * pitch_m + y_m, (np.arange(columns) - (columns - 1) / 2) * pitch_m + x_m, indexing="ij")
    return np.stack([x.ravel(), y.ravel(), np.full(x.size, STANDOFF_M)], axis=-1)


def transfer(frequencies_hz, places_m, sources_m=SOURCES_M):
    """Pressure of monopoles of 1 Pa m, [frequency, place, source]."""
    distances_m = np.linalg.norm(places_m[:, np.newaxis] - sources_m, axis=-1)
    return np.exp(-2j * np.pi / 343.0 * np.multiply.outer(np.asarray(frequencies_hz), distances_m)) / distances_m


def recorded(places_m, seed, seconds=4.0, levels=(1.0, 0.5), sources_m=SOURCES_M, references_m=REFERENCES_M, noise=1e-4):
    """Samples of microphones, then of references, of noises that do not depend on each other."""
    count, random = int(seconds * RATE_HZ), np.random.default_rng(seed)
    noises = np.fft.rfft(random.standard_normal((count, len(levels))) * levels, axis=0)
    frequencies_hz = np.fft.rfftfreq(count, 1.0 / RATE_HZ)
    samples = np.empty((count, len(places_m) + len(references_m)), np.float32)
    for i, place_m in enumerate([*places_m, *references_m]):
        samples[:, i] = np.fft.irfft((transfer(frequencies_hz, place_m[np.newaxis], sources_m)[:, 0] * noises).sum(axis=1), count)
    return samples + (noise * samples.std() * random.standard_normal(samples.shape)).astype(np.float32)


def write_plan(folder, files, at_m=AT_M, array=GRID, more="", **changes):
    keys = {"standoff_m": STANDOFF_M, "window_samples": WINDOW, "frequencies_hz": FREQUENCIES_HZ, "reference_channels": [64, 65, 66]} | changes
    lines = ["version: 1", f"array: {array}", *(f"{key}: {value}" for key, value in keys.items() if value is not None), "positions:"]
    lines += [f"  - {{file: {file}, x_m: {x_m}, y_m: {y_m}{more}}}" for file, (x_m, y_m) in zip(files, at_m, strict=True)]
    (folder / "positions.yaml").write_text("\n".join(lines) + "\n")
    return folder / "positions.yaml"


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """The folder of left.h5 and right.h5, recorded one after the other, and of whole.h5."""
    folder = tmp_path_factory.mktemp("combine")
    for seed, (name, places_m) in enumerate({"left": grid_m(8, 8, *AT_M[0]), "right": grid_m(8, 8, *AT_M[1]), "whole": grid_m(8, 16)}.items()):
        nearfield.write_time_data(folder / f"{name}.h5", recorded(places_m, seed), RATE_HZ)
    return folder


def true_fields(found, f, places_m):
    """The partial fields at places that their references have: of each source its transfer function, [place, field]."""
    of_references = transfer([found.frequencies_hz[f]], REFERENCES_M)[0]
    return transfer([found.frequencies_hz[f]], places_m)[0] @ np.linalg.pinv(of_references) @ found.fields[f].references


def errors_of(one, f, places_m):
    truth = true_fields(one, f, places_m)
    return np.linalg.norm(one.joint.mean_of(one.fields[f].pressures_pa) - truth, axis=0) / np.linalg.norm(truth, axis=0)


def test_two_halves_have_the_partial_fields_of_the_whole(halves):
    found = combined(write_plan(halves, ["left.h5", "right.h5"]))
    assert found.joint.shape == (8, 16) and found.joint.pitch_m == pytest.approx((PITCH_M, PITCH_M)) and found.count == 2 and not found.warnings
    np.testing.assert_allclose(found.joint.places_m[:, :2], grid_m(8, 16)[:, :2], atol=1e-12)
    for f in range(2):
        assert errors_of(found, f, grid_m(8, 16)).max() < 0.01  # white noise over 16 Hz has one transfer function to some 0.1 %
        assert found.fields[f].shares.sum() == pytest.approx(1.0, abs=1e-3)


def test_files_are_spectra_of_the_joint_grid_for_the_imagers(halves, tmp_path, capsys):
    assert main([str(write_plan(halves, ["left.h5", "right.h5"])), "-o", str(tmp_path / "s.h5")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 positions of 64 microphones: 8 x 16 places, 0.04 x 0.04 m apart; 127 windows of 512 samples"
    assert re.match(r" +640 Hz +2  0.0 −\d+.\d −\d+.\d +\d+.\d \d+.\d +100.0$", lines[2]), lines
    assert lines[-2].startswith(f"{tmp_path}/s_1.h5: partial field 1 at 2 frequencies, error by chance 0.")
    spectra = nearfield.open_capture(tmp_path / "s_1.h5")
    assert spectra.spectra.shape == (1, 2, 8, 16) and spectra.attrs["geometry_standoff_m"] == STANDOFF_M
    nearfield.run("replay", tmp_path / "s_2.h5", "-o", tmp_path / "i.h5", "--engine", "reference", "--set", "holography.imager=sonah")
    with h5py.File(tmp_path / "i.h5") as images, h5py.File(tmp_path / "s_2.h5") as file:
        assert images["images"].shape == (1, 1, 2, 8, 16) and file["references"].shape == (2, 3)
        assert file["multiple_coherence"][()] == pytest.approx(np.ones((2, 8, 16)), abs=5e-3)
    (tmp_path / "s_3.h5").touch()
    assert main([str(halves / "positions.yaml"), "-o", str(tmp_path / "s.h5")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{tmp_path}/s_3.h5: not of this run, which has no such partial field"


def test_bands_have_all_their_bins(halves):
    found = combined(write_plan(halves, ["left.h5", "right.h5"], frequencies_hz=None, band_hz=[600, 800]))
    np.testing.assert_allclose(found.frequencies_hz, np.arange(38, 51) * 16.0)
    one = combined(write_plan(halves, ["left.h5", "right.h5"], frequencies_hz=[640]))
    np.testing.assert_allclose(found.fields[2].pressures_pa[0], one.fields[0].pressures_pa[0], rtol=1e-9, atol=1e-12)


def test_a_tone_has_one_partial_field_of_its_own_amplitude(tmp_path):
    of_all = transfer([640.0], np.concatenate([grid_m(8, 8), REFERENCES_M]))[0]
    field = of_all @ [1.0, 0.5j]
    turns = np.exp(2j * np.pi * 640.0 / RATE_HZ * np.arange(8192))
    nearfield.write_time_data(tmp_path / "tone.h5", (turns[:, np.newaxis] * field).real, RATE_HZ)
    found = combined(write_plan(tmp_path, ["tone.h5"], [(0, 0)], frequencies_hz=[640]))
    (pressures,) = found.fields[0].pressures_pa[0].T
    turn = np.vdot(pressures, field[:64]) / abs(np.vdot(pressures, field[:64]))
    np.testing.assert_allclose(pressures * turn, field[:64], rtol=1e-4)  # Pa, peak; the phase is that of a reference


def test_references_of_a_file_of_their_own_need_no_unit(halves, tmp_path):
    for name in ("left", "right"):
        with h5py.File(halves / f"{name}.h5") as file:
            samples = file["time_data"][()]
        nearfield.write_time_data(tmp_path / f"{name}.h5", samples[:, :64], RATE_HZ)
        nearfield.write_time_data(tmp_path / f"{name}_references.h5", samples[:, 64:] * [1.0, 1e3, 1e-4], RATE_HZ)
        with h5py.File(tmp_path / f"{name}_references.h5", "r+") as file:
            file["time_data"].attrs["units"] = "m/s^2"
    plan = write_plan(tmp_path, ["left.h5", "right.h5"], reference_channels=None)
    plan.write_text(re.sub(r"file: (\w+).h5", r"file: \1.h5, references: \1_references.h5", plan.read_text()))
    found, same = combined(plan), combined(write_plan(halves, ["left.h5", "right.h5"]))
    np.testing.assert_allclose(found.fields[1].pressures_pa[1], same.fields[1].pressures_pa[1], rtol=1e-4)


def test_wav_files_need_their_pascal(halves, tmp_path, capsys):
    from scipy.io import wavfile

    with h5py.File(halves / "left.h5") as file:
        samples = file["time_data"][()]
    wavfile.write(tmp_path / "left.wav", int(RATE_HZ), np.round(samples * 50.0).astype(np.int16))
    assert main([str(write_plan(tmp_path, ["left.wav"], [(0, 0)])), "-o", str(tmp_path / "s.h5")]) == 78
    assert "array.pascal_per_unit: expected the Pa of full scale or of the value 1" in capsys.readouterr().err
    found = combined(write_plan(tmp_path, ["left.wav"], [(0, 0)], f"{GRID[:-1]}, pascal_per_unit: {32768 / 50}}}"))
    same = combined(write_plan(halves, ["left.h5"], [(0, 0)]))
    expected = same.fields[0].pressures_pa[0]
    np.testing.assert_allclose(found.fields[0].pressures_pa[0], expected, atol=0.01 * abs(expected).max())


def test_places_without_a_grid_are_for_the_imager_operators(tmp_path):
    own = grid_m(8, 8) + np.pad(np.random.default_rng(3).uniform(-0.01, 0.01, (64, 2)), ((0, 0), (0, 1)))
    (tmp_path / "places.csv").write_text("x_m,y_m,z_m\n" + "".join(f"{x:.5f},{y:.5f},0\n" for x, y, _ in own))
    at_m = [(-0.15, 0.0), (0.18, 0.01)]
    for seed, at in enumerate(at_m):
        nearfield.write_time_data(tmp_path / f"{seed}.h5", recorded(np.round(own, 5) + [*at, 0.0], seed), RATE_HZ)
    plan = write_plan(tmp_path, ["0.h5", "1.h5"], at_m, "{positions: places.csv}")
    found = combined(plan)
    places_m = np.concatenate([np.round(own, 5) + [*at, 0.0] for at in at_m])
    assert found.joint.shape == (1, 128) and found.joint.pitch_m is None
    assert errors_of(found, 0, places_m).max() < 0.01
    assert main([str(plan), "-o", str(tmp_path / "s.h5")]) == 0
    said = nearfield.run("replay", tmp_path / "s_1.h5", "-o", tmp_path / "i.h5", "--engine", "reference")
    assert "of 128" in nearfield.run("inspect", tmp_path / "i.h5") + said


# ---- Warnings ----


def test_overlap_shows_a_source_that_moved(tmp_path):
    at_m = [(-0.12, 0.0), (0.12, 0.0)]
    for seed, (name, moved_m) in enumerate({"a": 0.0, "b": 0.0, "moved": 0.05}.items()):
        places_m = grid_m(8, 8, *at_m[min(seed, 1)])
        nearfield.write_time_data(tmp_path / f"{name}.h5", recorded(places_m, seed, sources_m=SOURCES_M + [0.0, moved_m, 0.0]), RATE_HZ)
    found = combined(write_plan(tmp_path, ["a.h5", "b.h5"], at_m))
    assert found.joint.shape == (8, 14) and not found.warnings
    assert float(re.fullmatch(r"Places that two positions have differ by up to (.*) %\.", found.notes[0])[1]) < 1.0
    *_, warning = combined(write_plan(tmp_path, ["a.h5", "moved.h5"], at_m)).warnings  # references have other levels, too
    assert 15 < int(re.match(r"positions\[0\] and \[1\] differ by (\d+) % at the 16 places that both have", warning)[1]) < 100


def test_a_source_that_became_louder_is_said_and_leaves_no_step(halves, tmp_path):
    (tmp_path / "left.h5").symlink_to(halves / "left.h5")
    nearfield.write_time_data(tmp_path / "right.h5", recorded(grid_m(8, 8, *AT_M[1]), 5, levels=(1.5, 0.75)), RATE_HZ)
    found = combined(write_plan(tmp_path, ["left.h5", "right.h5"]))
    assert len(found.warnings) == 3 and re.match(r"reference 64 is 3.\d dB louder in positions\[1\] than in positions\[0\]", found.warnings[0])
    assert errors_of(found, 0, grid_m(8, 16)).max() < 0.01


def test_a_source_without_a_reference_is_said(tmp_path):
    sources_m, levels = np.concatenate([SOURCES_M, [[0.3, 0.1, -0.03]]]), (1.0, 0.5, 0.7)
    references_m = REFERENCES_M[:2] + [[0.0, 0.0, -0.015], [-0.04, 0.03, -0.015]]
    for seed, (name, at) in enumerate(zip(("left", "right"), AT_M, strict=True)):
        nearfield.write_time_data(tmp_path / f"{name}.h5", recorded(grid_m(8, 8, *at), seed, 4.0, levels, sources_m, references_m), RATE_HZ)
    found = combined(write_plan(tmp_path, ["left.h5", "right.h5"], reference_channels=[64, 65]))
    (warning,) = found.warnings
    said = re.match(r"at 2 of 2 frequencies the references see less than 90 % of the sound, least at (\d+) Hz in positions\[1\], (\d+) %", warning)
    assert said and 20 < int(said[2]) < 90


def test_a_reference_that_is_noise_makes_no_partial_field(tmp_path):
    for seed, (name, at) in enumerate(zip(("left", "right"), AT_M, strict=True)):
        samples = recorded(grid_m(8, 8, *at), seed, 4.0)
        samples[:, 66] = np.random.default_rng(seed + 9).standard_normal(len(samples))
        nearfield.write_time_data(tmp_path / f"{name}.h5", samples, RATE_HZ)
    found = combined(write_plan(tmp_path, ["left.h5", "right.h5"]))
    assert [len(one.shares) for one in found.fields] == [2, 2] and not found.warnings


def test_positions_apart_from_others_are_said(halves):
    (warning,) = combined(write_plan(halves, ["left.h5", "right.h5"], [(-0.16, 0.0), (0.3, 0.0)])).warnings
    assert warning == "positions[1] lies 0.18 m from others, where microphones have 0.04 m: images between them are guesses"


def test_silent_microphones_are_left_out(halves, tmp_path):
    with h5py.File(halves / "left.h5") as file:
        samples = file["time_data"][()]
    samples[:, 9], samples[100, 20] = 0.0, np.nan
    nearfield.write_time_data(tmp_path / "left.h5", samples, RATE_HZ)
    found = combined(write_plan(tmp_path, ["left.h5"], [(0, 0)]))
    assert found.warnings == ["positions[0]: 2 microphones are silent or have values that are no numbers and are left out, the first is 9"]
    assert np.flatnonzero(np.isnan(found.joint.mean_of(found.fields[0].pressures_pa)[:, 0])).tolist() == [9, 20]


# ---- What is wrong ----


def other_file(halves, name, change, rate_hz=RATE_HZ):
    with h5py.File(halves / "left.h5") as file:
        samples = change(file["time_data"][()])
    nearfield.write_time_data(halves / name, samples, rate_hz)
    return name


def silent(samples, channel=65):
    samples[:, channel] = 0.0
    return samples


@pytest.mark.parametrize(("changes", "code", "said"), [
    ({"window": 512}, 78, r"positions.yaml:\d: window: unknown key; expected version, array, standoff_m, .*positions$"),
    ({"array": GRID[:-1] + ", pitch: 1}"}, 78, r"positions.yaml:2: array.pitch: unknown key"),
    ({"array": "{rows: 8, columns: 8, pitch_x_m: 0.04, pitch_y_m: 4 cm}"}, 78, r'array.pitch_y_m: expected a length > 0 m, found "4 cm"'),
    ({"array": "{positions: none.csv}"}, 66, "none.csv: no such file or directory"),
    ({"array": "{positions: positions.yaml}"}, 65, "positions.yaml:1: expected x_m,y_m,z_m, found version: 1"),
    ({"array": GRID[:-1] + ", positions: a.csv}"}, 78, "array.rows: expected none beside positions, found both"),
    ({"array": GRID[:-1] + ", channels: [1, 2]}"}, 78, "array.channels: expected one a microphone, 64, found 2"),
    ({"array": "{rows: 8, columns: 9, pitch_x_m: 0.04, pitch_y_m: 0.04}"}, 65, "left.h5: expected 72 microphones and 3 references, found 67 channels"),
    ({"array": GRID[:-1] + ", pascal_per_unit: 2}"}, 78, "array.pascal_per_unit: expected none, as .*left.h5 is in Pa, found 2"),
    ({"standoff_m": None}, 78, "standoff_m: expected a length > 0 m, found none"),
    ({"window_samples": 512.5}, 78, 'window_samples: expected a whole number from 16 to 1048576, found "512.5"'),
    ({"window_samples": 16384}, 65, r"at least 4 windows of 16384 samples for each of 3 references, found 3 windows in 32768 samples"),
    ({"frequencies_hz": None}, 78, "frequencies_hz, band_hz: expected one of them, found none"),
    ({"band_hz": [100, 200]}, 78, "frequencies_hz, band_hz: expected one of them, found both"),
    ({"frequencies_hz": [5000]}, 78, "frequencies_hz: expected from 32 Hz, two periods a window, to below half of 8192 Hz, found 5000"),
    ({"frequencies_hz": None, "band_hz": [200, 100]}, 78, "band_hz: expected two frequencies in Hz, the lower one first"),
    ({"frequencies_hz": None, "band_hz": [101, 102]}, 78, "with 1 to 1000 multiples of 16 Hz, found 101 to 102 Hz with 0"),
    ({"reference_channels": None}, 78, r"positions\[0\].references: expected a file of references, or reference_channels of the same file, found neither"),
    ({"reference_channels": [64, 65, 67]}, 78, "reference_channels: expected channels from 0 to 66, those of .*left.h5, found 67"),
    ({"reference_channels": [64, 64]}, 78, "reference_channels: expected channels, each once"),
    ({"at_m": [(-0.16, 0.0), (-0.16, 0.0)]}, 78, r"positions\[1\].x_m, y_m: expected a place of its own, found one whose microphones all stand where"),
    ({"at_m": [(-0.16, 0.0), (0.161, 0.0)], "files": ["left.h5", "right.h5"]}, 0, ""),
    ({"at_m": [(-0.16, 0.0), (0.123, 0.0)]}, 78, r"positions\[1\].x_m, y_m: expected microphones that stand where .*, or at least 0.01 m .*, found 0.003 m"),
    ({"at_m": [(-0.16, 0.0), (160, 0.0)]}, 78, r'positions\[1\].x_m: expected a length in m, found "160"'),
    ({"files": ["left.h5", "left.h5"]}, 78, r"positions\[1\].file: expected a recording of its own, found .*left.h5, which positions\[0\] has"),
    ({"files": ["left.h5", "none.h5"]}, 66, "none.h5: no such file or directory"),
    ({"files": ["left.h5", "positions.yaml"]}, 65, "positions.yaml: expected time data, HDF5 or WAV, found another file or a damaged one"),
    ({"files": ["left.h5", lambda at: other_file(at, "fast.h5", lambda x: x, 16384.0)]}, 65, "fast.h5: expected 8192 Hz, .* found 16384 Hz"),
    ({"files": ["left.h5", lambda at: other_file(at, "short.h5", lambda x: x[:3000])]}, 65, "short.h5: expected at least 4 windows .* found 10 windows"),
    ({"files": ["left.h5", lambda at: other_file(at, "quiet.h5", silent)]}, 65, "quiet.h5: expected a signal of the reference in channel 65, found silence"),
    ({"files": ["left.h5", lambda at: other_file(at, "few.h5", lambda x: x[:, :66])]}, 78, "reference_channels: expected channels from 0 to 65"),
    ({"more": ", references: right.h5", "reference_channels": [64], "array": GRID}, 65, "left.h5: expected 64 microphones, found 67 channels"),
])  # fmt: skip
def test_what_is_wrong_is_refused(halves, tmp_path, capsys, changes, code, said):
    files = [one if isinstance(one, str) else one(halves) for one in changes.pop("files", ["left.h5", "right.h5"])]
    plan = write_plan(halves, files, **changes)
    assert main([str(plan), "-o", str(tmp_path / "s.h5")]) == code
    found = capsys.readouterr().err
    assert re.search(f"^nearfield: error: .*{said}", found) if code else "error" not in found


def test_files_of_references_have_length_number_and_unit_of_the_others(halves, tmp_path, capsys):
    for name, references in (("left", slice(64, 67)), ("right", slice(64, 66))):
        with h5py.File(halves / f"{name}.h5") as file:
            samples = file["time_data"][()]
        nearfield.write_time_data(tmp_path / f"{name}.h5", samples[:, :64], RATE_HZ)
        nearfield.write_time_data(tmp_path / f"{name}_references.h5", samples[:, references], RATE_HZ)
    nearfield.write_time_data(tmp_path / "short.h5", samples[:-5, 64:], RATE_HZ)
    text = write_plan(tmp_path, ["left.h5", "right.h5"], reference_channels=None).read_text()
    for references, said in ((r"\1_references.h5", "right_references.h5: expected 3 references, as positions[0] has, found 2"),
                             ("short.h5", "short.h5: expected the 32768 samples at 8192 Hz of")):  # fmt: skip
        (tmp_path / "positions.yaml").write_text(re.sub(r"file: (\w+).h5", rf"file: \1.h5, references: {references}", text))
        assert main([str(tmp_path / "positions.yaml"), "-o", str(tmp_path / "s.h5")]) == 65
        assert said in capsys.readouterr().err
    with h5py.File(tmp_path / "right_references.h5", "r+") as file:
        file["time_data"].attrs["units"] = "V"
    text = text.replace("positions:", "reference_channels: [0, 1]\npositions:", 1)
    (tmp_path / "positions.yaml").write_text(re.sub(r"file: (\w+).h5", r"file: \1.h5, references: \1_references.h5", text))
    assert main([str(tmp_path / "positions.yaml"), "-o", str(tmp_path / "s.h5")]) == 65
    assert "right_references.h5: expected references in Pa, as positions[0] has, found V" in capsys.readouterr().err


def test_wrong_yaml_and_outputs_that_are_inputs_are_refused(halves, tmp_path, capsys):
    (tmp_path / "a.yaml").write_text("version: [1\n")
    (tmp_path / "b.yaml").write_text("- 1\n")
    (tmp_path / "c.yaml").write_text("version: 1\nversion: 1\n")
    for path, code, said in ((tmp_path / "none.yaml", 66, "none.yaml: no such file or directory"), (tmp_path / "a.yaml", 78, "a.yaml:2: expected YAML, found"),
                             (tmp_path / "b.yaml", 78, "b.yaml:1: the file: expected keys with values, found a list"),
                             (tmp_path / "c.yaml", 78, "c.yaml:2: version: expected once, found again")):  # fmt: skip
        assert main([str(path), "-o", str(tmp_path / "s.h5")]) == code
        assert said in capsys.readouterr().err
    assert main([str(tmp_path / "a.yaml")]) == 64
    assert main([str(tmp_path / "a.yaml"), "-o", str(tmp_path / "a.yaml")]) == 64
    (tmp_path / "left_1.h5").symlink_to(halves / "left.h5")
    assert main([str(write_plan(tmp_path, ["left_1.h5"], [(0, 0)])), "-o", str(tmp_path / "left.h5")]) == 64
    assert "left_1.h5 too; expected a file of its own" in capsys.readouterr().err


# ---- A plate ----


class Plate:
    """A plate of aluminium in a baffle, 4 mm thick, simply supported, over the places of rows and columns of microphones; two drives, three references."""

    def __init__(self, rows, columns, pitch_m, frequencies_hz, cells=15):
        self.shape, self.cells, self.step_m = (rows, columns), cells, pitch_m / cells
        self.height_m, self.width_m = rows * pitch_m, columns * pitch_m
        drives = [(0.27, 0.31), (0.72, 0.64)]  # shares of width and height
        self.velocity = np.array([[self._velocity(frequency_hz, drive) for drive in drives] for frequency_hz in frequencies_hz])
        ny, nx = self.velocity.shape[-2:]
        self.references = np.stack([self.velocity[..., int(y * ny), int(x * nx)] for x, y in ((0.25, 0.35), (0.7, 0.6), (0.45, 0.2))], axis=1)
        self.surface, self.microphones = (np.array([[self._pressure(frequency_hz, v, z_m).ravel() for v in of] for frequency_hz, of in
                                                    zip(frequencies_hz, self.velocity, strict=True)]).swapaxes(1, 2) for z_m in (0.0, 0.03))  # fmt: skip

    def _velocity(self, frequency_hz, drive, thickness_m=0.004, loss=0.02):
        omega, mass = 2.0 * np.pi * frequency_hz, 2700.0 * thickness_m
        rigidity = 70e9 * thickness_m**3 / (12.0 * (1.0 - 0.33**2))
        m, n = np.meshgrid(np.arange(1, 40), np.arange(1, 40), indexing="ij")
        squares = rigidity / mass * ((m * np.pi / self.width_m) ** 2 + (n * np.pi / self.height_m) ** 2) ** 2
        weights = 1j * omega * np.sin(m * np.pi * drive[0]) * np.sin(n * np.pi * drive[1]) / (squares * (1 + 1j * loss) - omega**2)
        weights *= squares < 36.0 * omega**2
        y, x = ((np.arange(count * self.cells) + 0.5) / (count * self.cells) for count in self.shape)
        return np.sin(np.outer(y, np.arange(1, 40)) * np.pi) @ weights.T @ np.sin(np.outer(np.arange(1, 40), x) * np.pi)

    def _pressure(self, frequency_hz, velocity, z_m):
        """Rayleigh's integral at the microphones' x and y, by cells; that of the place itself is exact for 1/r."""
        k = 2.0 * np.pi * frequency_hz / 343.0
        y, x = np.meshgrid(*(np.fft.fftfreq(2 * count, 0.5 / count) * self.step_m for count in velocity.shape), indexing="ij")
        r = np.sqrt(x**2 + y**2 + z_m**2)
        own = 4.0 * self.step_m * np.log(1.0 + np.sqrt(2.0)) - 1j * k * self.step_m**2
        kernel = np.where(r > 0.0, np.exp(-1j * k * r) / np.maximum(r, 1e-9) * self.step_m**2, own)
        pressure = np.fft.ifft2(np.fft.fft2(velocity, kernel.shape) * np.fft.fft2(kernel))[: velocity.shape[0], : velocity.shape[1]]
        return 1j * frequency_hz * 1.2041 * pressure[self.cells // 2 :: self.cells, self.cells // 2 :: self.cells]


def record_plate(plate, file, frequencies_hz, microphones, seed, seconds, rate_hz=4096.0):
    """Write narrow bands of noise about the frequencies, over which the plate's response is taken as constant, with noise 40 dB below them."""
    count, random = int(seconds * rate_hz), np.random.default_rng(seed)
    hz = np.abs(np.fft.fftfreq(count, 1.0 / rate_hz))
    channels = np.concatenate([plate.microphones[:, microphones], plate.references], axis=1)
    samples = np.zeros((count, channels.shape[1]))
    for frequency_hz, response in zip(frequencies_hz, channels, strict=True):
        white = random.standard_normal((count, 2)) + 1j * random.standard_normal((count, 2))
        envelopes = np.fft.ifft(np.fft.fft(white, axis=0) * (hz < 20.0)[:, np.newaxis], axis=0)
        turns = np.exp(2j * np.pi * frequency_hz / rate_hz * np.arange(count))[:, np.newaxis]
        samples += ((turns * envelopes * [1.0, 0.8]) @ response.T).real
    samples += 0.01 * samples.std(axis=0) * random.standard_normal(samples.shape)
    nearfield.write_time_data(file, samples, rate_hz)


def images_of(plate, folder, name, side, positions, frequencies_hz, pitch_m):
    """Return the relative error of the image of each partial field, [field, frequency], and what was said.

    Searches for point sources, of which a plate has none, are off: in one frame without noise they find some that make one image in six worse by 3.
    """
    microphones = side[0] * side[1]
    plan = write_plan(folder, [f"{name}{i}.h5" for i in range(len(positions))], positions,
                      f"{{rows: {side[0]}, columns: {side[1]}, pitch_x_m: {pitch_m}, pitch_y_m: {pitch_m}}}", standoff_m=0.03, window_samples=1024,
                      frequencies_hz=frequencies_hz, reference_channels=[microphones, microphones + 1, microphones + 2])  # fmt: skip
    found = combined(plan)
    errors = []
    for number, (file, _) in enumerate(write(found, folder / f"{name}_spectra.h5")):
        nearfield.run("replay", file, "-o", folder / "images.h5", "--set", "holography.imager=sonah", "--set", "holography.search_every_frames=0")
        with h5py.File(folder / "images.h5") as images:
            imaged = images["images"][0, 0].reshape(len(frequencies_hz), -1)
        truth = np.array([surface @ np.linalg.pinv(references) @ one.references[:, number]
                          for surface, references, one in zip(plate.surface, plate.references, found.fields, strict=True)])  # fmt: skip
        errors.append(np.linalg.norm(imaged - truth, axis=1) / np.linalg.norm(truth, axis=1))
    return np.array(errors), found


def compare_with_one_array(folder, counts, side, pitch_m, frequencies_hz, seconds):
    """Return the errors of positions of one array and of one array that covers the plate."""
    rows, columns = counts[0] * side[0], counts[1] * side[1]
    plate = Plate(rows, columns, pitch_m, frequencies_hz)
    numbers, positions = np.arange(rows * columns).reshape(rows, columns), []
    for i in range(counts[0]):
        for j in range(counts[1]):
            own = numbers[i * side[0] : (i + 1) * side[0], j * side[1] : (j + 1) * side[1]].ravel()
            record_plate(plate, folder / f"part{len(positions)}.h5", frequencies_hz, own, len(positions), seconds)
            positions.append((round((j - (counts[1] - 1) / 2) * side[1] * pitch_m, 6), round((i - (counts[0] - 1) / 2) * side[0] * pitch_m, 6)))
    record_plate(plate, folder / "all0.h5", frequencies_hz, numbers.ravel(), 99, seconds)
    parts, found = images_of(plate, folder, "part", side, positions, frequencies_hz, pitch_m)
    whole, _ = images_of(plate, folder, "all", (rows, columns), [(0.0, 0.0)], frequencies_hz, pitch_m)
    print(f"errors of {len(positions)} positions:\n{parts}\nof one array:\n{whole}")
    assert found.joint.shape == (rows, columns) and not found.warnings and parts.shape == whole.shape == (2, len(frequencies_hz))
    return parts, whole


def test_a_plate_from_two_positions_is_imaged_as_by_one_array(tmp_path):
    parts, whole = compare_with_one_array(tmp_path, (1, 2), (8, 8), 0.025, [700.0], 12.0)
    assert np.all(parts < 1.2 * whole)


@pytest.mark.once
def test_a_large_plate_from_six_positions_is_imaged_as_by_one_array(tmp_path):
    """1.2 x 0.8 m, by an array of 16 x 16."""
    parts, whole = compare_with_one_array(tmp_path, (2, 3), (16, 16), 0.025, [300.0, 600.0, 1000.0], 12.0)
    assert np.all(parts < 1.2 * whole)

"""Files as xarray."""

import json
import pathlib
import re
import subprocess

import h5py
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from conftest import CONFIG, RATE_HZ, monopole, samples_of

import nearfield

pytestmark = pytest.mark.versions


def test_images_have_coordinates_units_and_complex_values(images):
    with nearfield.open_images(images) as found, h5py.File(images) as file:
        assert found.images.dims == ("time", "planes_m", "frequencies_hz", "y_m", "x_m")
        assert found.images.dtype == np.complex64
        assert found.images.attrs["units"] == "Pa"
        np.testing.assert_array_equal(found.images.values, file["images"][()])
        np.testing.assert_allclose(found.x_m, (np.arange(8) - 3.5) * 0.02, atol=1e-12)


def test_further_processors_are_named(images):
    with nearfield.open_images(images, "rows") as rows, nearfield.open_images(images, "surface") as first:
        assert rows.spectrum.dims[::2] == ("time", "frequencies_hz")
        assert rows.sizes["time"] == -(-first.sizes["time"] // 3)
    with pytest.raises(KeyError, match="surface, rows"):
        nearfield.open_images(images, "none")


def test_frames_that_were_not_written_are_left_out(images, folder):
    cut = folder / "cut.h5"
    cut.write_bytes(images.read_bytes())
    with h5py.File(cut, "r+") as file:
        file["frames_written"][()] = 2
    with nearfield.open_images(cut) as found:
        assert found.sizes["time"] == 2
    h5py.File(cut, "r+").close()  # that the file was closed with what was cut of it: HDF5 refuses it otherwise


SNAPSHOT = {
    "processor": "surface", "product": "images", "quantity": "pressure", "unit": "Pa", "select": {"z": 0, "frequency": 1},
    "selected": "z 0 m, frequency 1007.08 Hz",
    "chosen": [{"name": "z", "unit": "m", "values": [0]}, {"name": "frequency", "unit": "Hz", "values": [1007.08]},
               {"name": "band", "unit": "Hz", "values": [900, 1100]}],
    "y": [-0.01, 0.01], "x": [-0.02, 0, 0.02], "axes": ["y", "x"], "axis_units": ["m", "m"],
    "pictures": [{"sequence": str(7 + i), "capture_tai_ns": str(1795446037000000001 + 20000000 * i), "epoch": "2", "flags": 4 * i,
                  "valid_microphones": 1022, "missing_bit_times": 3 * i, "re": [1 + i, 2, 3, 4, 5, None], "im": [0, 0.5, 0, 0, 0, None]}
                 for i in range(2)],
}  # fmt: skip


def test_snapshots_of_the_live_page_are_complex_over_time(folder):
    path = folder / "snapshot.json"
    path.write_text(json.dumps(SNAPSHOT))
    found = nearfield.open_snapshot(path)
    assert found.images.dims == ("time", "y_m", "x_m") and found.images.dtype == np.complex64
    assert found.images.attrs == {"units": "Pa", "long_name": "pressure"}
    np.testing.assert_array_equal(found.images[1, 0], np.complex64([2, 2 + 0.5j, 3]))
    assert np.isnan(found.images[0, 1, 2]) and np.isfinite(found.images[0, 1, 1])
    np.testing.assert_array_equal(found.x_m, SNAPSHOT["x"])
    assert float(found.frequency_hz) == 1007.08 and "band_hz" not in found.coords
    assert [int(stamp) for stamp in found.timestamp_ns] == [1795446037000000001, 1795446037020000001]  # not rounded by a float64
    assert found.time.values[1] - found.time.values[0] == np.timedelta64(20, "ms")
    assert list(found.flags.values) == [0, 4] and list(found.sequence.values) == [7, 8]
    real = {**SNAPSHOT, "product": "map", "unit": "Pa^2",
            "pictures": [{name: value for name, value in one.items() if name != "im"} for one in SNAPSHOT["pictures"]]}  # fmt: skip
    path.write_text(json.dumps(real))
    assert nearfield.open_snapshot(path)["map"].dtype == np.float32
    for text in ("{}", "[]", "no JSON", json.dumps({**SNAPSHOT, "pictures": []}), json.dumps({**SNAPSHOT, "x": [0.0]})):
        path.write_text(text)
        with pytest.raises(ValueError, match="expected a snapshot of the live page"):
            nearfield.open_snapshot(path)


def test_a_table_has_the_frames_of_its_processor(folder, capture):
    cut = folder / "table.h5"
    where = {"kind": "srp_phat", "band_hz": [500, 4000], "every_hops": 2,
             "grid": {"kind": "plane", "distance_m": 1.0, "x_m": [-0.5, 0.5], "y_m": [-0.5, 0.5], "step_m": 0.5}}  # fmt: skip
    nearfield.replay(capture, cut, config={**CONFIG, "processors": {"where": where}}, engine="reference").close()
    with h5py.File(cut, "r+") as file:
        assert file["where/frames_written"][()] > 1 < file["frames_written"][()]
        file["where/frames_written"][()] = 1
    with nearfield.open_images(cut, "where", "sources") as table, nearfield.open_images(cut, "where") as maps:
        assert table.sizes["time"] == maps.sizes["time"] == 1
    with nearfield.open_images(cut) as surface:
        assert surface.sizes["time"] > 1
    with pytest.raises(KeyError, match="where/none"):
        nearfield.open_images(cut, "where", "none")


def test_captures_and_their_truth(capture):
    with nearfield.open_capture(capture) as found:
        assert found.bitstream.dims == ("bit_time", "word")
        assert found.attrs["geometry_rows"] == 8
    h5py.File(capture, "r+").close()  # HDF5 refuses it where the file is still open to read
    with nearfield.open_capture(capture, "truth") as truth:
        assert truth.pressure.dims == ("frequencies_hz", "y_m", "x_m")


def test_time_data_are_written_and_read(folder):
    samples = samples_of(monopole(1007.08, 0.0, 0.0), 1007.08, 32)
    nearfield.write_time_data(folder / "t.h5", samples, RATE_HZ)
    with nearfield.open_capture(folder / "t.h5") as found:
        np.testing.assert_array_equal(found.time_data, samples)
        assert found.time_data.dims == ("sample", "channel")
        assert float(found.time_s[1]) == pytest.approx(1 / RATE_HZ)
    assert not (folder / "t.h5.partial").exists()
    with pytest.raises(ValueError, match="sample_rate_hz"):
        nearfield.write_time_data(folder / "u.h5", samples)
    with pytest.raises(ValueError, match=r"\(64,\)"):
        nearfield.write_time_data(folder / "u.h5", samples[0], RATE_HZ)


def test_levels_and_power_have_closed_forms():
    grid = {"y_m": [0.0, 0.1], "x_m": [0.0, 0.2, 0.4]}
    pressure = xr.DataArray(np.full((2, 3), 20e-6 * np.sqrt(2) * 1j), grid, ("y_m", "x_m"), attrs={"units": "Pa"})
    np.testing.assert_allclose(pressure.nearfield.db(), 0.0, atol=1e-9)
    np.testing.assert_allclose(pressure.nearfield.db(re=2e-6), 20.0, atol=1e-9)
    assert pressure.nearfield.db().attrs["units"] == "dB"
    squares = xr.DataArray([4e-8], dims="x_m", attrs={"units": "Pa^2"})
    np.testing.assert_allclose(squares.nearfield.db(), 20.0)
    intensity = xr.DataArray(np.full((2, 3), 3.0 + 0j), grid, ("y_m", "x_m"), attrs={"units": "W/m^2"})
    assert float(intensity.nearfield.power()) == pytest.approx(6 * 3.0 * 0.1 * 0.2)
    with pytest.raises(ValueError, match="coordinates"):
        intensity.drop_vars("x_m").nearfield.power()
    with pytest.raises(ValueError, match="intensity"):
        pressure.nearfield.power()
    with pytest.raises(ValueError, match="reference"):
        xr.DataArray([1.0], attrs={"units": "1"}).nearfield.db()


def test_real_pressures_are_peak_values_too():
    spectrum = xr.DataArray([20e-6 * np.sqrt(2)], dims="frequencies_hz", attrs={"units": "Pa"})
    np.testing.assert_allclose(spectrum.nearfield.db(), 0.0, atol=1e-9)
    velocity = xr.DataArray([5e-8 * np.sqrt(2)], dims="x_m", attrs={"units": "m/s"})
    with pytest.raises(ValueError, match="real values of the unit m/s"):
        velocity.nearfield.db()
    np.testing.assert_allclose(velocity.nearfield.db(re=5e-8), 20 * np.log10(np.sqrt(2)))


@pytest.mark.parametrize(("unit", "name", "words"), [
    ("Pa", "Pressure_pa", "20 uPa"), ("m/s", "Velocity", "50 nm/s"), ("m", "Displacement", "1 pm"), ("W/m^2", "Intensity", "1 pW/m^2"),
])  # fmt: skip
def test_references_are_those_of_the_programs(unit, name, words):
    text = (pathlib.Path(__file__).resolve().parents[2] / "src/core/product.cpp").read_text()
    reference = float(re.search(rf"kReference{name} = ([0-9.e-]+);", text).group(1))
    amplitude = reference if unit == "W/m^2" else reference * np.sqrt(2)
    levels = xr.DataArray([amplitude + 0j], dims="x_m", attrs={"units": unit}).nearfield.db()
    np.testing.assert_allclose(levels, 0.0, atol=1e-9)
    assert levels.attrs["reference"] == words
    assert f'dB re {words}'.replace("u", "\\u00b5").replace("^2", "\\u00b2") in text


def test_power_is_the_file_s_own(folder, capture):
    found = nearfield.replay(capture, config=CONFIG_OF_INTENSITY, engine="reference", frames=1)
    np.testing.assert_allclose(found.nearfield.power(), found.radiated_power_w, rtol=1e-5)  # the file's is a float32


@pytest.mark.once
def test_a_film_is_made_where_ffmpeg_is(images, folder, monkeypatch):
    with nearfield.open_images(images) as found:
        one = found.images.isel(time=0)
        one.nearfield.animate(folder / "turn.mp4", frames=5, fps=10)
        command = ["ffprobe", "-v", "error", "-count_frames", "-show_streams", "-of", "json", str(folder / "turn.mp4")]
        [stream] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["streams"]
        assert (stream["codec_name"], stream["pix_fmt"], stream["nb_read_frames"], stream["r_frame_rate"]) == ("h264", "yuv420p", "5", "10/1")
        monkeypatch.setitem(plt.rcParams, "animation.ffmpeg_path", "no-such-ffmpeg")
        with pytest.raises(FileNotFoundError, match=r"expected the program ffmpeg.*or write a \.gif"):
            one.nearfield.animate(folder / "none.mp4")
        assert not (folder / "none.mp4").exists()


def test_pictures_and_animations_are_made(images, folder):
    with nearfield.open_images(images) as found:
        one = found.images.isel(time=0)
        for what in ("magnitude", "phase", "db", "real"):
            ax = one.nearfield.plot(what=what)
            assert ax.yaxis_inverted()
            np.testing.assert_allclose(ax.collections[0].get_array().size, 64)
        one.nearfield.animate(folder / "turn.gif", frames=4)
        assert (folder / "turn.gif").read_bytes()[:6] == b"GIF89a"
        with pytest.raises(ValueError, match=r"expected a name that ends in .gif or .mp4, found .avi"):
            one.nearfield.animate(folder / "turn.avi")
        with pytest.raises(ValueError, match="two dimensions"):
            found.images.nearfield.plot()
        with pytest.raises(ValueError, match="complex"):
            abs(one).nearfield.animate()


def test_what_is_shown_decides_the_colours():
    signed = xr.DataArray([[1.0 + 1j, -0.5], [0.5, 0.2]], {"y_m": [0.0, 0.1], "x_m": [0.0, 0.1]}, ("y_m", "x_m"))
    for array, what, is_diverging in ((signed, "real", True), (signed, "magnitude", False), (signed.real, None, True)):
        mesh = array.nearfield.plot(what=what).collections[0]
        assert (mesh.get_cmap().name == "RdBu_r") == is_diverging
        assert not is_diverging or mesh.get_clim() == (-1.0, 1.0)
    plt.close("all")


def test_the_accessor_of_a_dataset_takes_its_images(images):
    with nearfield.open_images(images) as found:
        xr.testing.assert_identical(found.nearfield.db(), found.images.nearfield.db())
        with pytest.raises((ValueError, RuntimeError), match="expected images"):
            _ = found[["slope", "noise_pa"]].nearfield


CONFIG_OF_INTENSITY = {
    "array": {"rows": 8, "columns": 8, "pitch_x_m": 0.02, "pitch_y_m": 0.02, "layout": "row-major"},
    "front_end": {"frequencies_hz": [1007.08]},
    "holography": {"standoff_m": 0.03, "quantity": "active_intensity", "extrapolation": {"order": 4}},
}

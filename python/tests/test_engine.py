"""The engine in this process."""

import importlib.metadata

import numpy as np
import pytest
from conftest import CONFIG, PITCH_M, RATE_HZ, STANDOFF_M, monopole, samples_of

import nearfield

pytestmark = pytest.mark.versions


def test_the_package_has_the_version_of_its_library():
    assert nearfield.__version__ == importlib.metadata.version("nearfield")


def test_bits_give_the_images_of_a_replay(capture, images):
    with nearfield.open_capture(capture) as file:
        bits = file.bitstream.values
    found = []
    with nearfield.Engine(CONFIG, "bits", reference=True) as engine:
        for piece in np.array_split(bits, 7):
            found += engine.push(piece)
    with nearfield.open_images(images) as expected:
        assert len(found) == expected.sizes["time"] > 3
        np.testing.assert_array_equal([frame.products["images"] for frame in found], expected.images)
        np.testing.assert_array_equal([frame.first_sample for frame in found], expected.first_sample)


def test_pnah_of_spectra_is_near_the_true_field():
    fields = np.stack([monopole(f, 0.0, 0.0, -0.02) for f in (800.0, 1600.0)])
    image = nearfield.pnah(fields, pitch_m=PITCH_M, standoff_m=STANDOFF_M, frequencies_hz=[800.0, 1600.0], reference=True)
    assert image.dims == ("planes_m", "frequencies_hz", "y_m", "x_m")
    assert image.attrs["units"] == "Pa"
    for i, frequency_hz in enumerate((800.0, 1600.0)):
        true = monopole(frequency_hz, 0.0, 0.0, -0.02, 0.0)
        error = np.linalg.norm(image[0, i] - true) / np.linalg.norm(true)
        assert error < 0.4  # eight microphones a side see half a wavelength: far better than no image, 1.0


def test_time_data_and_spectra_agree():
    frequency_hz = RATE_HZ * 22 / 1024  # a bin: the window takes it whole
    field = monopole(frequency_hz, 0.02, 0.0)
    common = {"pitch_m": PITCH_M, "standoff_m": STANDOFF_M, "frequencies_hz": [frequency_hz], "reference": True,
              "options": {"holography": {"filter": {"cutoff_rad_per_m": 60.0}}}}  # fmt: skip
    of_spectra = nearfield.pnah(field[None], **common)
    of_samples = nearfield.pnah(samples_of(field, frequency_hz, 1200), sample_rate_hz=RATE_HZ, **common)
    assert of_samples.dims[0] == "window"
    # The phase refers to each window's begin; float32 and the Hann window's other lobe, of -f, remain.
    np.testing.assert_allclose(of_samples[0], of_spectra, atol=1e-3 * float(abs(of_spectra).max()))


def test_sonah_and_several_windows():
    field = monopole(1000.0, 0.0, 0.0)
    both = nearfield.sonah(np.stack([field[None], 2 * field[None]]), pitch_m=(PITCH_M, PITCH_M), standoff_m=STANDOFF_M,
                           frequencies_hz=[1000.0], quantity="normal_velocity", reference=True)  # fmt: skip
    assert both.dims == ("window", "planes_m", "frequencies_hz", "y_m", "x_m")
    assert both.attrs["units"] == "m/s"
    np.testing.assert_array_equal(both.first_sample, [0, 1])


@pytest.mark.parametrize("imager", [nearfield.pnah, nearfield.sonah])
def test_missing_microphones_count_in_the_expected_error(imager):
    field = monopole(1000.0, 0.0, 0.0)[None]
    common = {"pitch_m": PITCH_M, "standoff_m": STANDOFF_M, "frequencies_hz": [1000.0], "reference": True}
    whole = imager(field, **common)
    assert whole.error_estimate.dims == ("frequencies_hz",)
    lacking = field.copy()
    lacking[0, 2, 1:6] = np.nan
    assert float(imager(lacking, **common).error_estimate[0]) > float(whole.error_estimate[0]) + 0.05
    dead = {"array": {"dead_channels": list(range(61))}}
    with pytest.raises(nearfield.ConfigError, match="expected at least 32 of 64 microphones"):
        imager(field, options=dead, **common)
    asked = {"array": dead["array"] | {"fewest_valid_share": 0}}
    with pytest.warns(UserWarning, match="3 of 64 microphones were used"):
        few = imager(field, options=asked, **common)
    true = np.linalg.norm(few - whole) / np.linalg.norm(whole)
    assert 0.35 * true < float(few.error_estimate[0]) <= 1  # 0.057 or 0.17 where 0.9 was true


def test_beamform_finds_a_source():
    field = monopole(4000.0, 0.3, -0.2, STANDOFF_M - 1.0)
    found = nearfield.beamform(field[None], pitch_m=PITCH_M, frequencies_hz=[4000.0], reference=True,
                               grid={"distance_m": 1.0, "x_m": [-0.5, 0.5], "y_m": [-0.5, 0.5], "step_m": 0.1})  # fmt: skip
    loudest = abs(found).squeeze().argmax(("y_m", "x_m"))
    assert float(found.x_m[loudest["x_m"]]) == pytest.approx(0.3)
    assert float(found.y_m[loudest["y_m"]]) == pytest.approx(-0.2)


def test_errors_are_the_programs_own():
    with pytest.raises(nearfield.ConfigError, match="holografy") as caught:
        nearfield.Engine({"holografy": {}})
    assert caught.value.exit_code == 78
    with pytest.raises(nearfield.NoInputError, match="nf_engine_give_calibration"):
        nearfield.Engine(CONFIG | {"array": CONFIG["array"] | {"calibration": "k"}}, reference=True)
    with nearfield.Engine(CONFIG, reference=True) as engine:
        with pytest.raises(TypeError, match="uint32"):
            engine.push(np.zeros((32, 2)))
        with pytest.raises(nearfield.UsageError, match="whole bit-times"):
            engine.push(np.zeros(3, np.uint32))
    with pytest.raises(ValueError, match="closed"):
        engine.push(np.zeros(2, np.uint32))
    with pytest.raises(ValueError, match="frequency, row, column"):
        nearfield.pnah(np.zeros((2, 8, 8), complex), pitch_m=0.02, standoff_m=0.03, frequencies_hz=[1000.0])
    with pytest.raises(ValueError, match="no square"):
        nearfield.pnah(np.zeros((99, 63)), pitch_m=0.02, standoff_m=0.03, frequencies_hz=[1000.0], sample_rate_hz=RATE_HZ)


def test_values_of_other_axes_are_refused():
    """The number of values would fit each time."""
    common = {"channels": 64, "reference": True}
    with nearfield.Engine(CONFIG, "samples", sample_rate_hz=RATE_HZ, **common) as engine:
        with pytest.raises(ValueError, match=r"64 channels.*\(64, 32\)"):
            engine.push(np.zeros((64, 32)))
        with pytest.raises(TypeError, match="complex64"):
            engine.push(np.zeros((32, 64), np.complex64))
        assert engine.push(np.zeros((32, 64))) == []
    holography = {"array": CONFIG["array"], "holography": CONFIG["holography"]}
    with nearfield.Engine(holography, "spectra", frequencies_hz=[800.0, 1600.0], **common) as engine:
        for shape in ((8, 8, 2), (2, 4, 16), (128,), (1, 2, 1, 64), (64, 2)):
            with pytest.raises(ValueError, match="2 frequencies and 64 microphones"):
                engine.push(np.ones(shape, complex))
        for shape in ((2, 8, 8), (1, 2, 8, 8), (2, 64), (1, 2, 64)):
            assert len(engine.push(np.ones(shape, complex))) == 1
    with nearfield.Engine(CONFIG, reference=True) as engine, pytest.raises(ValueError, match="bit_time, word"):
        engine.push(np.zeros((1, 32, 2), np.uint32))
    with pytest.raises(ValueError, match="8 x 4"):
        nearfield.pnah(np.zeros((99, 64)), pitch_m=0.02, standoff_m=0.03, frequencies_hz=[1000.0], sample_rate_hz=RATE_HZ, shape=(8, 4))


def test_arrays_stand_for_files():
    field = monopole(1000.0, 0.0, 0.0)
    holography = {**CONFIG["holography"], "filter": {"cutoff_rad_per_m": 60.0}}  # a linear filter
    common = {"channels": 64, "frequencies_hz": [1000.0], "reference": True}
    with nearfield.Engine({"array": CONFIG["array"], "holography": holography}, "spectra", **common) as engine:
        plain = engine.push(field[None])[0]["images"]
    config = {"array": {**CONFIG["array"], "calibration": "gains"}, "holography": holography}
    gains = {"gains": ([500.0, 1500.0], np.full((2, 64), 2.0))}
    with nearfield.Engine(config, "spectra", calibration=gains, **common) as engine:
        np.testing.assert_array_equal(engine.push(field[None])[0]["images"], 2 * plain)  # powers of two round alike
    with pytest.raises(ValueError, match=r"gains.*\(64, 2\)"):
        nearfield.Engine(config, "spectra", calibration={"gains": ([500.0, 1500.0], np.ones((64, 2)))}, **common)

"""Fields over time and averages that are locked to a phase, against closed forms."""

import numpy as np
import pytest
import xarray as xr
from conftest import PITCH_M, RATE_HZ, STANDOFF_M, places_m

import nearfield

pytestmark = pytest.mark.versions

RATE, LENGTH = 8000.0, 64


def taper(window):
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(LENGTH) / LENGTH) if window == "hann" else np.ones(LENGTH)


def phasors(signal, starts, bins, window="hann"):
    """Windows' peak phasors of a signal [sample, channel], written from their definition: [time, frequencies_hz, channel]."""
    w = taper(window)
    turns = np.exp(-2j * np.pi * np.outer(bins, np.arange(LENGTH)) / LENGTH)
    values = np.stack([2 / w.sum() * (turns * w) @ signal[start : start + LENGTH] for start in starts])
    return xr.DataArray(values, {"time": np.asarray(starts) / RATE, "frequencies_hz": np.asarray(bins) * RATE / LENGTH},
                        ("time", "frequencies_hz", "channel"), attrs={"units": "m/s"})


@pytest.fixture
def noise():
    return np.random.default_rng(3).standard_normal((4 * LENGTH, 2))


HALVES = np.arange(LENGTH // 2) + 0.5  # a whole basis


@pytest.mark.parametrize("window", ["hann", "none"])
def test_all_odd_half_bins_give_each_sample_back(noise, window):
    starts = np.arange(3 * LENGTH)
    found = nearfield.time_domain(phasors(noise, starts, HALVES, window), sample_rate_hz=RATE, window_samples=LENGTH, window=window)
    assert found.dims == ("time", "channel")
    assert found.attrs["units"] == "m/s"
    np.testing.assert_allclose(found.time, (starts + LENGTH / 2) / RATE, rtol=1e-12)
    np.testing.assert_allclose(found, noise[starts + LENGTH // 2], atol=1e-12)  # rounding of sums of 64 doubles


@pytest.mark.parametrize("hop", [1, 8, 32])
def test_overlap_added_windows_give_each_sample_back(noise, hop):
    starts = np.arange(0, 3 * LENGTH + 1, hop)
    found = nearfield.time_domain(phasors(noise, starts, HALVES), sample_rate_hz=RATE, window_samples=LENGTH, overlap_add=True)
    samples = np.round(found.time.values * RATE).astype(int)
    np.testing.assert_array_equal(samples, np.arange(LENGTH - hop, starts[-1] + hop + 1))  # sample 0 of a window has no weight
    np.testing.assert_allclose(found, noise[samples], atol=1e-12)


def test_whole_bins_leave_out_each_windows_constant(noise):
    """Bin 0 is missing, which is the mean of the tapered window, and the bin at half the rate, which alternates."""
    starts = np.arange(10)
    found = nearfield.time_domain(phasors(noise, starts, np.arange(1, LENGTH // 2)), sample_rate_hz=RATE, window_samples=LENGTH)
    w = taper("hann")
    for start, value in zip(starts, found.values, strict=True):
        tapered = w[:, None] * noise[start : start + LENGTH]
        ends = tapered.mean(0) + ((-1.0) ** np.arange(LENGTH)[:, None] * tapered).mean(0)
        np.testing.assert_allclose(value, noise[start + LENGTH // 2] - ends, atol=1e-12)


@pytest.mark.parametrize(("overlap_add", "hop"), [(False, 1), (False, 4), (True, 16)])
def test_changes_from_rest_add_up_to_the_signal(overlap_add, hop):
    """A cosine that begins smoothly, whose continuation between samples is known: all instants are off the grid for hop 1."""

    def signal(samples):
        rise = np.clip((samples - 60.0) / 60.0, 0.0, 1.0)
        return np.sin(np.pi * rise / 2.0) ** 4 * np.cos(0.3 * (samples - 60.0))

    starts = np.arange(0, 150, hop)
    images = phasors(signal(np.arange(300.0))[:, None], starts, HALVES)
    found = nearfield.time_domain(images, sample_rate_hz=RATE, window_samples=LENGTH, overlap_add=overlap_add, from_rest=True)
    at = found.time.values * RATE
    if not overlap_add:
        np.testing.assert_allclose(at, starts + LENGTH / 2 + hop / 2, rtol=1e-12)
    # Between samples a window's own interpolation is exact but for the spectrum's tail beyond half the rate: the start has four derivatives.
    np.testing.assert_allclose(found.values[:, 0], signal(at), atol=1e-9 if overlap_add else 2e-4)
    still = nearfield.time_domain(images, sample_rate_hz=RATE, window_samples=LENGTH, overlap_add=overlap_add)
    assert still.shape == found.shape


def test_what_lasts_longer_than_a_window_needs_changes_from_rest():
    """A step, of which whole bins lose the constant: the windows' own field sinks to half of it, the sum of its changes stays."""
    step = np.clip((np.arange(400.0) - 80.0) / 20.0, 0.0, 1.0)[:, None]
    images = phasors(step, np.arange(300), np.arange(1, LENGTH // 2))
    own = nearfield.time_domain(images, sample_rate_hz=RATE, window_samples=LENGTH)
    summed = nearfield.time_domain(images, sample_rate_hz=RATE, window_samples=LENGTH, from_rest=True)
    np.testing.assert_allclose(own.values[200:], 0.5, atol=1e-9)  # 1 less the taper's mean, which is bin 0
    np.testing.assert_allclose(summed.values[200:], 1.0, atol=0.02)


def test_envelope_is_the_amplitude_of_a_tone():
    tone = 0.7 * np.cos(2 * np.pi * 9.3 / LENGTH * np.arange(200.0))[:, None]
    found = nearfield.time_domain(phasors(tone, range(100), HALVES), sample_rate_hz=RATE, window_samples=LENGTH, envelope=True)
    # The taper's spectrum, which falls by the cube of the distance, reaches beyond 0 Hz at 9.3 bins.
    np.testing.assert_allclose(found, 0.7, atol=2e-3)


@pytest.mark.parametrize(("change", "said"), [
    ({"window": "hamming"}, "hann or none"),
    ({"window_samples": 1}, "at least 2"),
    ({"window_samples": 63}, "neighbouring multiples"),
    ({"sample_rate_hz": 8001.0}, "neighbouring multiples"),
    ({"from_rest": True, "envelope": True}, "no envelope"),
])
def test_settings_that_do_not_fit_are_refused(noise, change, said):
    options = {"sample_rate_hz": RATE, "window_samples": LENGTH} | change
    with pytest.raises(ValueError, match=said):
        nearfield.time_domain(phasors(noise, range(4), HALVES), **options)


def test_images_that_do_not_fit_are_refused(noise):
    options = {"sample_rate_hz": RATE, "window_samples": LENGTH}
    images = phasors(noise, range(8), HALVES)
    for wrong, said in (
        (images.real, "complex"),
        (images.isel(time=0), "time or window"),
        (images.isel(frequencies_hz=0), "frequencies_hz"),
        (images.isel(frequencies_hz=[0, 2]), "neighbouring"),
        (phasors(noise, range(8), np.arange(0, 3)), "above 0 and below"),
        (phasors(noise, range(8), np.arange(LENGTH // 2 - 2, LENGTH // 2 + 1)), "above 0 and below"),
        (images.isel(time=[0, 1, 3]), "even steps"),
        (images.isel(time=[1, 0]), "even steps"),
        (images.assign_coords(time=images.time + 0.3 / RATE), "whole samples"),
        (images.drop_vars("time"), "coordinate time"),
        (images.assign_coords(time=images.time.values.astype("datetime64[s]")), "as numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            nearfield.time_domain(wrong, **options)
    for wrong in (phasors(noise, range(0, 60, 20), HALVES), phasors(noise, range(0, 128, 64), HALVES)):
        with pytest.raises(ValueError, match="divide half of 64"):
            nearfield.time_domain(wrong, overlap_add=True, **options)
    with pytest.raises(ValueError, match="at least 4 windows"):
        nearfield.time_domain(phasors(noise, range(0, 48, 16), HALVES), overlap_add=True, **options)
    with pytest.raises(ValueError, match="hann windows"):
        nearfield.time_domain(images, overlap_add=True, window="none", **options)


def plane_wave_windows(turns, scatter, seed, copies=1):
    """Frames of one image with phases `turns` and noise of each pixel, [time, frequencies_hz, y_m, x_m]."""
    generator = np.random.default_rng(seed)
    shape = np.tile(np.exp(1j * np.linspace(0, 3, 12)).reshape(1, 3, 4) * np.linspace(1, 2, 12).reshape(1, 3, 4), copies)
    size = (len(turns), *shape.shape)
    noise = (generator.standard_normal(size) + 1j * generator.standard_normal(size)) * scatter / np.sqrt(2)
    values = shape * np.exp(1j * turns)[:, None, None, None] + noise
    return shape, xr.DataArray(values, {"time": np.arange(len(turns)) * 0.1, "frequencies_hz": [500.0]},
                               ("time", "frequencies_hz", "y_m", "x_m"), attrs={"units": "m/s"})


def test_a_shape_that_turns_with_the_reference_stays():
    turns = np.random.default_rng(1).uniform(0, 2 * np.pi, 50)
    shape, images = plane_wave_windows(turns, 0.0, 2)
    found = nearfield.phase_locked_average(images, 3.0 * np.exp(1j * turns))
    np.testing.assert_allclose(found.images, shape, rtol=1e-6)  # complex64
    np.testing.assert_allclose(found.standard_error, 0.0, atol=1e-7)
    assert found.images.attrs["units"] == "m/s" and found.attrs["frames"] == 50
    assert abs(images.mean("time")).max() < 0.5 * abs(found.images).max()  # without the reference it averages away
    of_pixel = nearfield.phase_locked_average(images.to_dataset(name="images"), images.isel(y_m=1, x_m=2))
    np.testing.assert_allclose(of_pixel.images, shape * np.exp(-1j * np.angle(shape[0, 1, 2])), rtol=1e-6)


def test_noise_falls_by_the_root_of_the_frames():
    """The standard error is what repetitions show: its square is the mean of the squares of 400 copies of 12 pixels."""
    for count in (4, 64):
        turns = np.linspace(0, 40, count)
        shape, images = plane_wave_windows(turns, 0.5, 1, 400)
        found = nearfield.phase_locked_average(images, np.exp(1j * turns))
        # 4800 squares of complex normal numbers: their mean is off by 1/sqrt(4800) = 1.4 %, four times that at most.
        assert (abs(found.images.values - shape) ** 2).mean() == pytest.approx(0.25 / count, rel=0.06)
        assert (found.standard_error.values**2).mean() == pytest.approx(0.25 / count, rel=0.06)


def test_windows_that_overlap_by_half_count_for_three_quarters():
    """The tapered noise of neighbours is correlated by sum w(t) w(t + N/2) / sum w^2 = 1/6: a mean of M has (1 + (1 - 1/M)/3) / M of one's power."""
    count, bins, repeats = 16, np.arange(4, 28), 300
    starts = np.arange(count) * LENGTH // 2
    signal = np.random.default_rng(7).standard_normal(((count + 1) * LENGTH // 2, repeats))
    images = phasors(signal, starts, bins)
    turns = np.exp(2j * np.pi * np.outer(starts, bins) / LENGTH)  # a tone of each bin in the same windows
    found = nearfield.phase_locked_average(images, turns)
    ratio = (abs(found.images.values) ** 2).mean() / (abs(images.values) ** 2).mean() * count
    # 24 bins, of which every third is independent, in 300 channels: 2400 squares, 2 %; three times that.
    assert ratio == pytest.approx(1 + (1 - 1 / count) / 3, rel=0.06)


def test_references_that_do_not_fit_are_refused():
    turns = np.linspace(0, 1, 5)
    _, images = plane_wave_windows(turns, 0.0, 1)
    good = xr.DataArray(np.exp(1j * turns), {"time": images.time}, ("time",))
    nearfield.phase_locked_average(images, good)
    for wrong, said in (
        (good.real, "complex"),
        (good.values[:4], r"\[5\] phasors"),
        (np.ones((5, 2), complex), r"\[5\] phasors"),
        (good.where(good.time != good.time[3], 0.0), "frame 3"),
        (good.where(good.time != good.time[2], np.nan), "frame 2"),
        (images, "dimensions time"),
        (good.assign_coords(time=good.time + 1e-3), "time"),
    ):
        with pytest.raises(ValueError, match=said):
            nearfield.phase_locked_average(images, wrong)
    lost = images.where(images.time != images.time[1])
    off_the_surface = images.where(images.x_m != images.x_m[0])
    for holes, expected in ((lost, True), (off_the_surface, off_the_surface.isel(time=0).isnull())):
        found = nearfield.phase_locked_average(holes, good)
        assert (found.images.isnull() == expected).all()
        assert (found.standard_error.isnull() == expected).all()
    one = nearfield.phase_locked_average(images.isel(time=[0]), good.isel(time=[0]))
    assert np.isnan(one.standard_error).all()


def test_images_of_the_engine_become_the_true_velocity():
    """A monopole's short pulse through sonah's windows in memory, beside its own velocity on the surface."""
    speed, density, length, depth = 343.0, 1.2041, 128, 0.04
    x, y = places_m()
    t = np.arange(420) / RATE_HZ

    def pulse(late):  # volume acceleration's shape, smooth, and its first integral
        phase = np.clip((t[:, None] - 4e-3 - late) / 0.8e-3, 0.0, 1.0)
        return np.sin(2 * np.pi * phase) * (1 - np.cos(2 * np.pi * phase)) / 2, 0.8e-3 / (2 * np.pi) * (0.5 - np.cos(2 * np.pi * phase) / 2 -
                                                                                                  np.sin(2 * np.pi * phase) ** 2 / 4)

    at_microphones = np.sqrt((x - 0.01) ** 2 + (y + 0.01) ** 2 + (STANDOFF_M + depth) ** 2).ravel()
    samples = pulse(at_microphones / speed)[0] / at_microphones  # p = f(t - r/c) / r
    on_surface = np.sqrt((x - 0.01) ** 2 + (y + 0.01) ** 2 + depth**2).ravel()
    rate, integral = pulse(on_surface / speed)  # rho dv/dt = -dp/dz: v = (f / (c r) + F / r^2) (z / r) / rho
    true = (rate / (speed * on_surface) + integral / on_surface**2) * depth / on_surface / density
    frequencies_hz = (np.arange(20) + 0.5) * RATE_HZ / length
    images = nearfield.sonah(
        samples.astype(np.float32), pitch_m=PITCH_M, standoff_m=STANDOFF_M, sample_rate_hz=RATE_HZ, frequencies_hz=frequencies_hz,
        quantity="normal_velocity", options={"front_end": {"kind": "dot_product", "window_samples": length, "hop_samples": 16, "remove_dc": False},
                                             "holography": {"search_every_frames": 0}, "array": {"health": {"enabled": False}}})
    found = nearfield.time_domain(images, sample_rate_hz=RATE_HZ, window_samples=length, overlap_add=True, from_rest=True).isel(planes_m=0)
    at = np.round(found.time.values * RATE_HZ).astype(int)
    wanted = true[at].reshape(found.shape)
    inner = np.s_[:, 2:-2, 2:-2]
    error = np.linalg.norm(found.values[inner] - wanted[inner]) / np.linalg.norm(wanted[inner])
    assert error < 0.05  # 0.026; a window of 2.7 ms, and the edges that the outermost two pixels of 8 leave in

"""Many windows' images together: fields over time, and averages that are locked to a reference's phase."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from nearfield import _values
from nearfield._layout import Array

_FRAMES = ("time", "window")  # the dimension of frames: of files and replays, and of arrays in memory
_FREQUENCY = "frequencies_hz"
_GRID_TOLERANCE = 1e-3  # tolerance in bins or samples: frequencies of files are float64, times whole nanoseconds
_WHOLE = 1.0 - 1e-9  # share of the largest sum of tapers: where the sum is less, not all windows are there that would cover the sample


def time_domain(
    images: xr.Dataset | xr.DataArray,
    *,
    sample_rate_hz: float,
    window_samples: int,
    window: str = "hann",
    overlap_add: bool = False,
    from_rest: bool = False,
    envelope: bool = False,
) -> xr.DataArray:
    """Return the field over time of images at neighbouring frequencies: the inverse DFT of each window.

    A window of N samples and taper w that begins at t_m has peak phasors V_k = 2 / sum(w) sum_t w(t) v(t_m + t) e^{-j w_k t}, so that

        w(t) v(t_m + t) = sum(w) / N Re sum_k V_k e^{j w_k t}

    where the frequencies w_k are all multiples of the rate over N, or all odd multiples of half of it. Where there are
    fewer, the field is that of their band alone.

    Parameters
    ----------
    images : Dataset or DataArray
        Complex, with a dimension ``time`` (s, of the windows' first samples, as replays have it) or ``window`` (with the
        coordinate ``first_sample``), ``frequencies_hz``, and any others. Phases refer to the window's first sample, and
        ``front_end.remove_dc`` was off.
    sample_rate_hz : float
        Of the decimated samples of which windows consist: 46875 of bits at 1.5 MHz.
    window_samples : int
        N, ``front_end.window_samples``.
    window : {"hann", "none"}
        ``front_end.window``.
    overlap_add : bool
        False: each window gives the field at its centre, N / 2 samples behind its first. True: windows give the field at each
        of their samples, and the sum of what they have there is divided by the sum of their tapers: hann, and hops that divide N / 2.
    from_rest : bool
        The field is 0 before the first instant: its changes from instant to instant are computed and summed. This keeps
        what lasts longer than the window, such as the velocity at low frequencies, which w(t) v(t) loses where the
        imager's gain grows steeply towards 0 Hz; noise adds up over the instants. Without `overlap_add` these lie half a
        hop behind the windows' centres.
    envelope : bool
        The magnitude of the analytic signal in the place of its real part; not with `from_rest`.

    Returns
    -------
    xarray.DataArray
        Real float64 ``[time, ...]`` in the images' unit, ``time`` in s from where the images' times or samples count. With
        `overlap_add` it has the samples for which no window of an endless row is missing: from N less a hop on; at least
        N / hop windows are needed.

    Raises
    ------
    ValueError
        Where frequencies or windows are not evenly spaced, hops do not serve `overlap_add`, or options exclude each other.
    """
    if window_samples < 2:
        raise ValueError(f"window_samples: expected at least 2, found {window_samples}")
    if window not in ("hann", "none"):
        raise ValueError(f"window: expected hann or none, found {window}")
    if from_rest and envelope:
        raise ValueError("envelope: expected no envelope with from_rest, which sums changes of the field itself")
    field = _field_of(images)
    frames = _frames_of(field)
    if _FREQUENCY not in field.dims:
        raise ValueError(f"images: expected a dimension {_FREQUENCY}, found {', '.join(map(str, field.dims))}")
    taper = _taper_at(window, np.arange(window_samples), window_samples)
    radians = 2.0 * np.pi * _bins_of(field[_FREQUENCY].values, sample_rate_hz, window_samples) / window_samples
    starts = _starts_of(field, frames, sample_rate_hz)
    steps = np.unique(np.diff(starts))
    if len(steps) > 1 or (len(steps) == 1 and steps[0] < 1):
        raise ValueError(f"images: expected windows in even steps, found steps of {', '.join(map(str, steps[:5]))} samples")
    hop = int(steps[0]) if len(steps) else window_samples
    gain = np.full(len(radians), taper.sum() / window_samples, np.complex128)
    values = field.transpose(frames, _FREQUENCY, ...)
    others = values.dims[2:]
    phasors = values.values
    if overlap_add:
        if window != "hann" or (window_samples / 2) % hop != 0:
            raise ValueError(f"overlap_add: expected hann windows and hops that divide half of {window_samples} samples, so that the tapers "
                             f"have a constant sum, found {window} and {hop}")  # fmt: skip
        if len(starts) < window_samples // hop:
            raise ValueError(f"images: expected at least {window_samples // hop} windows, so that some sample is in all that would cover it, "
                             f"found {len(starts)}")  # fmt: skip
        signal, first = _overlap_added(phasors, starts - starts[0], gain, radians, taper, from_rest)
        times_s = (starts[0] + first + np.arange(len(signal))) / sample_rate_hz
    else:
        centre = window_samples / 2.0
        aside = hop / 2.0 if from_rest else 0.0
        if from_rest:
            gain *= 2j * np.sin(radians * aside)  # from half a hop before the centre, where the taper is the same, to half a hop behind it
        signal = np.tensordot(phasors, gain * np.exp(1j * radians * centre), axes=(1, 0)) / _taper_at(window, centre + aside, window_samples)
        times_s = (starts + centre + aside) / sample_rate_hz
    real: Array = np.abs(signal) if envelope else signal.real
    if from_rest:
        real = np.cumsum(real, axis=0)
    coordinates = {name: values[name] for name in values.coords if set(values[name].dims) <= set(others)}
    kept = {name: value for name, value in field.attrs.items() if name in ("units", "quantity", "long_name")}
    return xr.DataArray(real, {"time": ("time", times_s, {"units": "s"}), **coordinates}, ("time", *others), attrs=kept)


def phase_locked_average(images: xr.Dataset | xr.DataArray, reference: xr.DataArray | npt.ArrayLike) -> xr.Dataset:
    """Return the mean over frames of images times conj(r) / |r|, r a reference's phasor in the same window.

    What keeps its phase to the reference stays, whatever the reference's own phase does from window to window; what has
    no relation to it falls by the square root of the number of independent frames.

    Parameters
    ----------
    images : Dataset or DataArray
        Complex, images or the microphones' spectra, with a dimension ``time`` or ``window`` of frames.
    reference : DataArray or array
        Complex: one number a frame, or ``[frame, frequency]``. A DataArray has the images' own coordinates.

    Returns
    -------
    xarray.Dataset
        ``images`` complex64 without the frames, in the images' unit, whose phase is that to the reference, and
        ``standard_error`` float32: the root of the mean square deviation that the scatter of the frames lets expect of
        it, which holds for frames whose windows do not overlap. NaN for one frame; both are NaN where any frame is.

    Raises
    ------
    ValueError
        Where frames or frequencies of both are not the same, or a reference is 0 or not finite.
    """
    field = _field_of(images)
    frames = _frames_of(field)
    phasors = _reference_of(field, frames, reference)
    bad = ~np.isfinite(phasors.values) | (phasors.values == 0)
    if bad.any():
        frame = int(np.argwhere(bad)[0][phasors.get_axis_num(frames)])
        raise ValueError(f"reference: expected phasors that are finite and not 0, found another one in frame {frame}")
    turned = field * np.conj(phasors / abs(phasors)).astype(np.complex128)
    count = field.sizes[frames]
    mean = turned.mean(frames, skipna=False)
    scatter = (abs(turned - mean) ** 2).sum(frames, skipna=False) / (count * (count - 1)) if count > 1 else xr.full_like(mean.real, np.nan)
    dimensions = [name for name in field.dims if name != frames]
    result = xr.Dataset({"images": mean.astype(np.complex64), "standard_error": np.sqrt(scatter).astype(np.float32)}, attrs={"frames": count})
    for name in ("images", "standard_error"):
        result[name].attrs = {key: value for key, value in field.attrs.items() if key in ("units", "quantity")}
    return result.transpose(*dimensions)


def _field_of(images: xr.Dataset | xr.DataArray) -> xr.DataArray:
    field = images["images"] if isinstance(images, xr.Dataset) else images
    if not np.iscomplexobj(field):
        raise ValueError(f"images: expected complex phasors, found {field.dtype}")
    return field


def _frames_of(field: xr.DataArray) -> str:
    for name in _FRAMES:
        if name in field.dims:
            return name
    raise ValueError(f"images: expected a dimension {' or '.join(_FRAMES)} of frames, found {', '.join(map(str, field.dims)) or 'none'}")


def _taper_at(window: str, samples: Any, length: int) -> Any:
    return 0.5 - 0.5 * np.cos(2.0 * np.pi * samples / length) if window == "hann" else np.ones_like(samples, np.float64)


def _bins_of(frequencies_hz: Array, sample_rate_hz: float, window_samples: int) -> Array:
    """Return frequencies in steps of the rate over the window, which have to be neighbours on one of the two grids."""
    bins: Array = np.asarray(frequencies_hz, np.float64) * window_samples / sample_rate_hz
    grid: Array = np.round(2.0 * bins) / 2.0
    is_inside = bool(np.all((grid > 0.0) & (grid < window_samples / 2.0)))
    if not is_inside or abs(bins - grid).max() > _GRID_TOLERANCE or (len(grid) > 1 and not np.all(np.diff(grid) == 1.0)):
        step_hz = sample_rate_hz / window_samples
        raise ValueError(f"frequencies_hz: expected neighbouring multiples of {step_hz:g} Hz, or odd ones of {step_hz / 2.0:g} Hz, "
                         f"above 0 and below {sample_rate_hz / 2.0:g} Hz, found "
                         f"{', '.join(f'{value:g}' for value in frequencies_hz[:4])}{', ...' if len(frequencies_hz) > 4 else ''}")  # fmt: skip
    return grid


def _starts_of(field: xr.DataArray, frames: str, sample_rate_hz: float) -> Array:
    """Return the number of each window's first sample."""
    name = "time" if frames == "time" else "first_sample"
    if name not in field.coords:
        raise ValueError(f"images: expected the coordinate {name} of the windows, found {', '.join(map(str, field.coords)) or 'none'}")
    values: Array = np.asarray(field[name].values)
    if values.dtype.kind not in "fiu":
        raise ValueError(f"images: expected the coordinate {name} as numbers, found {values.dtype}")
    samples: Array = values.astype(np.float64) * (sample_rate_hz if name == "time" else 1.0)
    starts: Array = np.round(samples)
    if not np.all(abs(samples - starts) < 2.0 * _GRID_TOLERANCE):
        raise ValueError(f"sample_rate_hz: expected windows that begin at whole samples of {sample_rate_hz:g} Hz, found one at {samples[0]:g}")
    return starts.astype(np.int64)


def _overlap_added(phasors: Array, starts: Array, gain: Array, radians: Array, taper: Array, changes: bool) -> tuple[Array, int]:
    """Return the analytic signal [sample, ...], or its change from the sample before, and its first sample, counted from the first window's."""
    length, late = len(taper), int(changes)
    if changes:  # a window's first sample has the weight 0, so that its changes are those to samples 1 .. N: that to N leads back to 0
        gain = gain * (1.0 - np.exp(-1j * radians))
    turns = gain[:, None] * np.exp(1j * radians[:, None] * (np.arange(length) + late))
    total = np.zeros((int(starts[-1]) + length + late, *phasors.shape[2:]), np.complex128)
    weight = np.zeros(len(total))
    for start, values in zip(starts, phasors, strict=True):
        total[start + late : start + late + length] += np.tensordot(turns, values, axes=(0, 0))
        weight[start : start + length] += taper
    covered = np.flatnonzero(weight >= _WHOLE * weight.max())
    first, last = int(covered[0]), int(covered[-1]) + 1
    return total[first:last] / weight[first:last].reshape(-1, *[1] * (total.ndim - 1)), first


def _reference_of(field: xr.DataArray, frames: str, reference: xr.DataArray | npt.ArrayLike) -> xr.DataArray:
    """Return the reference over the frames, or over frames and frequencies, once it belongs to the images."""
    if isinstance(reference, xr.DataArray):
        named: xr.DataArray = reference.squeeze([name for name, size in reference.sizes.items() if size == 1 and name != frames], drop=True)
    else:
        array: Any = _values.plain(reference)
        dimensions = [frames, _FREQUENCY][: array.ndim]
        if array.ndim not in (1, 2) or any(field.sizes.get(name) != size for name, size in zip(dimensions, array.shape, strict=True)):
            raise ValueError(f"reference: expected [{field.sizes[frames]}] phasors, one a frame, or [frame, frequency], found {array.shape}")
        named = xr.DataArray(array, dims=dimensions)
    if not np.iscomplexobj(named):
        raise ValueError(f"reference: expected complex phasors, found {named.dtype}")
    if frames not in named.dims or not set(named.dims) <= {frames, _FREQUENCY}:
        raise ValueError(f"reference: expected the dimensions {frames}, or {frames} and {_FREQUENCY}, found {', '.join(map(str, named.dims))}")
    xr.align(field, named, join="exact", copy=False)  # a ValueError where coordinates differ
    return named

"""Images and maps of NumPy arrays, by the engine in this process."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from nearfield import _values
from nearfield._layout import Array
from nearfield.engine import Engine, EngineFrame

Options = Mapping[str, object]
_MOST_MISSING = 0.1  # share of an image's information beyond which frames have flag 1024


def pnah(
    values: npt.ArrayLike,
    *,
    pitch_m: float | tuple[float, float],
    standoff_m: float,
    frequencies_hz: Sequence[float] | Array,
    sample_rate_hz: float | None = None,
    shape: tuple[int, int] | None = None,
    planes_m: Sequence[float] = (0.0,),
    quantity: str = "pressure",
    options: Options | None = None,
    reference: bool = False,
) -> xr.DataArray:
    """Planar near-field acoustic holography of spectra or time data.

    Parameters
    ----------
    values : array
        Complex spectra ``[frequency, row, column]`` or ``[window, frequency, row, column]``, Pa, peak phasors of
        e^{+jwt}; or with `sample_rate_hz` real time data ``[sample, channel]``, Pa.
    pitch_m : float or (float, float)
        Distance of neighbouring microphones, along x and y.
    standoff_m : float
        From the surface, z = 0, to the microphones.
    frequencies_hz : sequence of float
        Of the spectra; of time data those that are wanted.
    sample_rate_hz : float, optional
        Of time data.
    shape : (int, int), optional
        Rows and columns; needed for time data that are no square array.
    planes_m : sequence of float
        z of the images, towards the microphones.
    quantity : {"pressure", "normal_velocity", "displacement", "active_intensity"}
    options : mapping, optional
        Further settings as nested dictionaries: ``{"holography": {"filter": {"kind": "tikhonov"}}}``.
    reference : bool
        Compute in double precision on the host, without OpenCL.

    Returns
    -------
    xarray.DataArray
        Complex64 ``[planes_m, frequencies_hz, y_m, x_m]``, with a first dimension ``window`` for several windows and for
        time data; its unit is ``attrs["units"]``. The coordinate ``error_estimate`` ``[frequencies_hz]`` is the expected
        relative error, in which microphones without a finite value, without a gain and dead ones count.

    Raises
    ------
    ConfigError, DataError, DeviceError
        With the engine's message.
    TypeError
        Where spectra are real or time data complex or integers, whose unit is not known.

    Notes
    -----
    What is NaN, or hidden by the mask of a masked array, is a value that was not measured: that microphone is left out.

    Warns
    -----
    UserWarning
        Where more than a tenth of an image's information is missing with microphones that are not used.
    """
    holography: dict[str, object] = {"imager": "pnah", "planes_m": list(planes_m), "quantity": quantity}
    return _images(values, pitch_m, standoff_m, frequencies_hz, sample_rate_hz, shape, holography, options, reference)


def sonah(
    values: npt.ArrayLike,
    *,
    pitch_m: float | tuple[float, float],
    standoff_m: float,
    frequencies_hz: Sequence[float] | Array,
    sample_rate_hz: float | None = None,
    shape: tuple[int, int] | None = None,
    planes_m: Sequence[float] = (0.0,),
    quantity: str = "pressure",
    options: Options | None = None,
    reference: bool = False,
) -> xr.DataArray:
    """Statistically optimised holography; parameters and result as of :func:`pnah`, without active intensity."""
    holography: dict[str, object] = {"imager": "sonah", "planes_m": list(planes_m), "quantity": quantity}
    return _images(values, pitch_m, standoff_m, frequencies_hz, sample_rate_hz, shape, holography, options, reference)


def beamform(
    values: npt.ArrayLike,
    *,
    pitch_m: float | tuple[float, float],
    frequencies_hz: Sequence[float] | Array,
    grid: Options,
    sample_rate_hz: float | None = None,
    shape: tuple[int, int] | None = None,
    standoff_m: float = 0.03,
    options: Options | None = None,
    reference: bool = False,
) -> xr.DataArray:
    """Beamforming of spectra or time data: a map of what sounds far before the array.

    Parameters
    ----------
    values, pitch_m, frequencies_hz, sample_rate_hz, shape, reference
        As of :func:`pnah`.
    grid : mapping
        Settings of the processor's ``grid``: ``{"kind": "plane", "distance_m": 1.0, "step_m": 0.05}``.
    standoff_m : float
        Where the array's plane lies on the axes of images.
    options : mapping, optional
        Further settings of the processor: ``{"average": {"kind": "linear", "seconds": 0.5}}``.

    Returns
    -------
    xarray.DataArray
        ``map`` over frequency and the grid's axes: complex pressure (Pa, peak) where nothing is averaged, else mean
        square pressure (Pa^2); with a first dimension ``window`` as of :func:`pnah`.
    """
    config: dict[str, object] = {
        "holography": {"imager": "none"},
        "processors": {"beamform": {"kind": "beamform", "grid": dict(grid), **(options or {})}},
    }
    return _computed(values, pitch_m, standoff_m, frequencies_hz, sample_rate_hz, shape, config, "beamform", "map", reference)


def _images(
    values: npt.ArrayLike,
    pitch_m: float | tuple[float, float],
    standoff_m: float,
    frequencies_hz: Sequence[float] | Array,
    sample_rate_hz: float | None,
    shape: tuple[int, int] | None,
    holography: dict[str, object],
    options: Options | None,
    reference: bool,
) -> xr.DataArray:
    config = _merged({"holography": holography}, options or {})
    return _computed(values, pitch_m, standoff_m, frequencies_hz, sample_rate_hz, shape, config, "surface", "images", reference)


def _merged(base: dict[str, Any], more: Options) -> dict[str, Any]:
    """Return nested dictionaries of both; `more` wins."""
    merged = dict(base)
    for key, value in more.items():
        known = merged.get(key)
        merged[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, Mapping) else value
    return merged


def _square(channels: int) -> tuple[int, int]:
    side = round(channels**0.5)
    if side * side != channels:
        raise ValueError(f"shape: expected rows and columns of {channels} channels, which are no square, found none")
    return side, side


def _computed(
    values: npt.ArrayLike,
    pitch_m: float | tuple[float, float],
    standoff_m: float,
    frequencies_hz: Sequence[float] | Array,
    sample_rate_hz: float | None,
    shape: tuple[int, int] | None,
    config: dict[str, Any],
    processor: str,
    product: str,
    reference: bool,
) -> xr.DataArray:
    array = _values.spectra("values", values) if sample_rate_hz is None else _values.in_pascal("values", values)
    frequencies = [float(frequency) for frequency in np.atleast_1d(frequencies_hz)]
    if sample_rate_hz is None:
        if array.ndim not in (3, 4) or array.shape[-3] != len(frequencies):
            raise ValueError(f"values: expected spectra [frequency, row, column] of {len(frequencies)} frequencies, "
                             f"found the shape {array.shape}")  # fmt: skip
        rows, columns = array.shape[-2:]
    else:
        if array.ndim != 2:
            raise ValueError(f"values: expected time data [sample, channel], found the shape {array.shape}")
        rows, columns = _square(array.shape[1]) if shape is None else shape
        if rows * columns != array.shape[1]:
            raise ValueError(f"shape: expected rows and columns of {array.shape[1]} channels, found {rows} x {columns}")
    pitch_x_m, pitch_y_m = pitch_m if isinstance(pitch_m, tuple) else (pitch_m, pitch_m)
    geometry = {"rows": rows, "columns": columns, "pitch_x_m": float(pitch_x_m), "pitch_y_m": float(pitch_y_m)}
    config = _merged(config, {"array": geometry, "holography": {"standoff_m": float(standoff_m)}})
    form = "spectra" if sample_rate_hz is None else "samples"
    if form == "samples":
        config = _merged({"front_end": {"frequencies_hz": frequencies}}, config)
    with Engine(config, form, channels=rows * columns, sample_rate_hz=sample_rate_hz or 0.0,
                frequencies_hz=frequencies if form == "spectra" else (), reference=reference) as engine:  # fmt: skip
        frames = [frame for frame in engine.push(array) if frame.processor == processor]
    if not frames:
        raise ValueError(f"values: expected at least one window (front_end.window_samples), found {len(array)} samples")
    missing = max(frame.missing_information for frame in frames)
    if missing > _MOST_MISSING:
        fewest = min(frame.valid_microphones for frame in frames)
        warnings.warn(f"{100 * missing:.0f} % of the image's information is missing: {fewest} of {rows * columns} microphones were used",
                      stacklevel=3)  # fmt: skip
    return _joined(frames, product, is_one=array.ndim == 3)


def _with_error(dataset: xr.Dataset, product: str) -> xr.DataArray:
    error = "error_estimate"
    has_error = error in dataset and product == "images"
    return dataset[product].assign_coords({error: dataset[error]}) if has_error else dataset[product]


def _joined(frames: list[EngineFrame], product: str, *, is_one: bool) -> xr.DataArray:
    arrays = [_with_error(frame.to_xarray(), product) for frame in frames]
    if is_one:
        return arrays[0]
    joined = xr.concat(arrays, "window")
    return joined.assign_coords(first_sample=("window", [frame.first_sample for frame in frames]))

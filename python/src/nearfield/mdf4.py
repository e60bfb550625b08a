"""Time data of measurement files MDF4 (extra ``mdf4``)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from nearfield import _values
from nearfield._layout import Array

_MOST_JITTER = 1e-3  # largest deviation of a stamp, in samples
_MOST_ROUNDING = 0.35  # largest rounding of stamps, in samples: where stamps are coarser, a lost sample cannot be told from rounding
_RESOLUTIONS_S = (1e-6, 1e-7, 1e-8, 1e-9)


def read_mdf4(
    path: str | os.PathLike[str], channels: Sequence[str] | None = None, pascal_per_unit: float | None = None
) -> xr.DataArray:
    """Read microphones from an MDF4 file.

    Parameters
    ----------
    path : path
    channels : sequence of str, optional
        Names in the order of the array's channels, row by row. Default: all in the file's order, but for times.
    pascal_per_unit : float, optional
        Of channels that state no unit of pressure: the pascal of full scale where they are integers, of the value 1 where
        they are floats.

    Returns
    -------
    xarray.DataArray
        float32 ``[sample, channel]`` in Pa with the coordinates ``time_s`` and ``channel``, and the attribute
        ``sample_rate_hz``: :func:`nearfield.write_time_data` and :func:`nearfield.pnah` take it. Samples that the file
        marks as invalid are NaN.

    Raises
    ------
    ValueError
        Where there is no such channel or there are several of the name, where channels were sampled at different times or
        not evenly (beyond the rounding of the file's own stamps), where a channel states no unit of pressure and
        `pascal_per_unit` is not given, and where it is given beside one.
    """
    from asammdf import MDF

    with MDF(os.fspath(path)) as file:
        known = list(file.channels_db)
        names = [name for name in known if name.lower() not in ("t", "time", "timestamps")] if channels is None else list(channels)
        missing = [name for name in names if name not in known]
        if missing or not names:
            raise ValueError(f"{path}: expected channels {', '.join(missing)}, found {', '.join(known) or 'none'}")
        for name in names:
            if len(file.channels_db[name]) > 1:
                raise ValueError(f"{path}: {name}: expected one channel of this name, found {len(file.channels_db[name])}")
        signals = [file.get(name, ignore_invalidation_bits=True) for name in names]
    times_s = np.asarray(signals[0].timestamps, np.float64)
    rate_hz, rounding_s = _rate_of(times_s, f"{path}: {names[0]}")
    for name, signal in zip(names, signals, strict=True):
        if len(signal.timestamps) != len(times_s) or abs(np.asarray(signal.timestamps) - times_s).max() > max(_MOST_JITTER / rate_hz, rounding_s):
            raise ValueError(f"{path}: {name}: expected the sample times of {names[0]}, found others")
    values = np.stack([_pascal_of(signal, f"{path}: {name}", pascal_per_unit) for name, signal in zip(names, signals, strict=True)], axis=1)
    return xr.DataArray(values, {"time_s": ("sample", times_s - times_s[0], {"units": "s"}), "channel": names},
                        ("sample", "channel"), "time_data", {"units": "Pa", "sample_rate_hz": rate_hz})  # fmt: skip


def _rounding_of(times_s: Array) -> float:
    """Return how far stamps may be from their times: half of the decimal step to which they were rounded, and that of floats."""
    of_floats = float(np.spacing(np.abs(times_s).max()))
    for step_s in _RESOLUTIONS_S:
        if np.all(np.abs(times_s - np.round(times_s / step_s) * step_s) <= 2.0 * of_floats):
            return 0.5 * step_s + of_floats
    return of_floats


def _rate_of(times_s: Array, place: str) -> tuple[float, float]:
    """Return the rate of even stamps, and how far these may be from their times."""
    if len(times_s) < 2:
        raise ValueError(f"{place}: expected at least two samples, found {len(times_s)}")
    length_s = float(times_s[-1] - times_s[0])
    if not length_s > 0.0:
        raise ValueError(f"{place}: expected ascending times, found {times_s[0]:g} to {times_s[-1]:g} s")
    step_s = length_s / (len(times_s) - 1)
    rounding_s = min(_rounding_of(times_s), _MOST_ROUNDING * step_s / 3.0)
    # The line leads through two rounded stamps: what lies between is up to three roundings off.
    most_s = max(_MOST_JITTER * step_s, 3.0 * rounding_s)
    off_s = abs(times_s - times_s[0] - step_s * np.arange(len(times_s))).max()
    if off_s > most_s or abs(np.diff(times_s) - step_s).max() > max(2.0 * _MOST_JITTER * step_s, 3.0 * rounding_s):
        raise ValueError(f"{place}: expected samples at even times, found one {off_s:.3g} s off those of {1.0 / step_s:.6g} Hz")
    rate_hz = 1.0 / step_s
    whole_hz = round(rate_hz)  # within the error of two stamps it is that number
    return (float(whole_hz) if abs(rate_hz - whole_hz) <= rate_hz * 2.0 * rounding_s / length_s else rate_hz), rounding_s


def _pascal_of(signal: Any, place: str, pascal_per_unit: float | None) -> Array:
    """Return a channel's samples in Pa, NaN where they are marked as invalid."""
    samples = np.asarray(signal.samples)
    if samples.dtype.kind not in "fiu" or samples.ndim != 1:
        raise ValueError(f"{place}: expected numbers, found {samples.dtype} of the shape {samples.shape}")
    unit = str(signal.unit).strip()
    stated = _values.PASCAL_PER_UNIT.get(unit)
    if stated is None and pascal_per_unit is None:
        raise ValueError(f"{place}: expected Pa, mPa, uPa, hPa, kPa or N/m^2, or pascal_per_unit, found {f'the unit {unit}' if unit else 'no unit'}")
    if stated is not None and pascal_per_unit is not None:
        raise ValueError(f"{place}: pascal_per_unit: expected none beside the channel's own unit {unit}, found {pascal_per_unit:g}")
    values = samples.astype(np.float64)
    if stated is None and samples.dtype.kind in "iu":
        half = 2.0 ** (8 * samples.dtype.itemsize - 1)
        values = values / half - (1.0 if samples.dtype.kind == "u" else 0.0)
    values *= pascal_per_unit if pascal_per_unit is not None else stated or 1.0
    invalid = signal.invalidation_bits
    if invalid is not None:
        values[np.asarray(invalid, bool)] = np.nan
    return values.astype(np.float32)

"""Time data of measurement files MDF4 (extra ``mdf4``)."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import xarray as xr

_MOST_JITTER = 1e-3  # of a sample


def read_mdf4(path: str | os.PathLike[str], channels: Sequence[str] | None = None) -> xr.DataArray:
    """Read microphones from an MDF4 file.

    Parameters
    ----------
    path : path
    channels : sequence of str, optional
        Names in the order of the array's channels, row by row. Default: all in the file's order, but for times.

    Returns
    -------
    xarray.DataArray
        float32 ``[sample, channel]`` in Pa with the coordinates ``time_s`` and ``channel``, and the attribute
        ``sample_rate_hz``: :func:`nearfield.write_time_data` and :func:`nearfield.pnah` take it.

    Raises
    ------
    ValueError
        Where there is no such channel, where channels were sampled at different times or not evenly, and where a unit
        is not Pa.
    """
    from asammdf import MDF

    with MDF(os.fspath(path)) as file:
        known = list(file.channels_db)
        names = [name for name in known if name.lower() not in ("t", "time", "timestamps")] if channels is None else list(channels)
        missing = [name for name in names if name not in known]
        if missing or not names:
            raise ValueError(f"{path}: expected channels {', '.join(missing)}, found {', '.join(known) or 'none'}")
        signals = [file.get(name) for name in names]
    times_s = np.asarray(signals[0].timestamps, np.float64)
    if len(times_s) < 2:
        raise ValueError(f"{path}: expected at least two samples, found {len(times_s)}")
    step_s = (times_s[-1] - times_s[0]) / (len(times_s) - 1)
    if not step_s > 0.0 or abs(times_s - times_s[0] - step_s * np.arange(len(times_s))).max() > _MOST_JITTER * step_s:
        raise ValueError(f"{path}: {names[0]}: expected samples at even times")
    for name, signal in zip(names, signals, strict=True):
        if len(signal.timestamps) != len(times_s) or abs(np.asarray(signal.timestamps) - times_s).max() > _MOST_JITTER * step_s:
            raise ValueError(f"{path}: {name}: expected the sample times of {names[0]}, found others")
        if signal.unit not in ("Pa", ""):
            raise ValueError(f"{path}: {name}: expected Pa, found {signal.unit}")
    values = np.stack([np.asarray(signal.samples, np.float32) for signal in signals], axis=1)
    return xr.DataArray(values, {"time_s": ("sample", times_s - times_s[0], {"units": "s"}), "channel": names},
                        ("sample", "channel"), "time_data", {"units": "Pa", "sample_rate_hz": 1.0 / step_s})  # fmt: skip

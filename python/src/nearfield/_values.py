"""Arrays that callers give: what NumPy lets pass and is no number, or no pressure, is found here."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from nearfield._layout import Array

PASCAL_PER_UNIT = {
    **dict.fromkeys(("Pa", "PA", "pa", "Pascal", "pascal", "N/m^2", "N/m2", "N/m\u00b2"), 1.0),
    **dict.fromkeys(("uPa", "\u00b5Pa", "\u03bcPa"), 1e-6),
    "mPa": 1e-3,
    "hPa": 1e2,
    "kPa": 1e3,
}  # fmt: skip


def plain(values: npt.ArrayLike) -> Array:
    """Return an array in which what a mask hides is NaN; integers under a mask become float64."""
    if isinstance(values, xr.DataArray):
        values = values.data
    if isinstance(values, (list, tuple)) and any(isinstance(value, np.ma.MaskedArray) for value in values):
        values = np.ma.stack(values)
    if isinstance(values, np.ma.MaskedArray):
        kind = values.dtype if values.dtype.kind in "fc" else np.dtype(np.float64)
        hidden: Any = values.astype(kind)
        return np.asarray(hidden.filled(np.nan))
    return np.asarray(values)


def _has_type(values: Any) -> bool:
    """Return whether it is an array, or a list that holds one; lists of whole numbers become integers by themselves."""
    if isinstance(values, (list, tuple)):
        return any(_has_type(value) for value in values)
    return hasattr(values, "dtype")


def in_pascal(name: str, values: npt.ArrayLike) -> Array:
    """Return real pressures over time; integers of a recorder are none, as their unit is not known."""
    array = plain(values)
    if np.iscomplexobj(array):
        raise TypeError(f"{name}: expected real numbers, found {array.dtype}")
    is_typed = not isinstance(values, (list, tuple)) or _has_type(values)
    if array.dtype.kind not in "fiu" or (is_typed and array.dtype.kind in "iu"):
        raise TypeError(f"{name}: expected floats in Pa, found {array.dtype}; of integers multiply by the pascal of one unit")
    return array


def spectra(name: str, values: npt.ArrayLike) -> Array:
    """Return complex phasors; real ones have lost their phase, such as levels."""
    array = plain(values)
    if not np.iscomplexobj(array):
        raise TypeError(f"{name}: expected complex phasors in Pa, found {array.dtype}; time data need sample_rate_hz, and a "
                        "phase of 0 is said by .astype(complex)")  # fmt: skip
    return array

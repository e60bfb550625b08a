"""Nearfield's files as xarray."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import xarray as xr

from nearfield import _values

Path = str | os.PathLike[str]


def open_images(path: Path, processor: str | None = None, table: str | None = None) -> xr.Dataset:
    """Open results: of ``nearfield replay``, ``convert`` or :func:`nearfield.distributed.replay`.

    Parameters
    ----------
    path : path
        An images file, or a folder, which is a Zarr store.
    processor : str, optional
        Whose results; default: the first processor.
    table : str, optional
        One of its tables, such as ``"sources"``.

    Returns
    -------
    xarray.Dataset
        Named axes with coordinates and units, read when they are used; ``images`` complex64
        ``[time, planes_m, frequencies_hz, y_m, x_m]``, peak phasors in the unit of ``images.attrs["units"]``.

    Raises
    ------
    FileNotFoundError
    KeyError
        Where there is no such processor or table.
    """
    path = pathlib.Path(path)
    is_zarr = path.is_dir()
    with _zarr_group(path) if is_zarr else h5py.File(path) as file:
        names = _words(file.attrs.get("processors", file.attrs.get("processor", b"")))
        group = None if processor is None or processor in names[:1] else processor
        if group is not None and group not in names:
            raise KeyError(f"{path}: expected one of the processors {', '.join(names)}, found {processor}")
        of_processor = file if group is None else file[group]  # a table's frames are counted by its processor
        written = int(of_processor["frames_written"][()]) if "frames_written" in of_processor else None
        if table is not None:
            group = table if group is None else f"{group}/{table}"
            if group not in file:
                raise KeyError(f"{path}: expected a table, found no {group}")
    opened = xr.open_dataset(path, engine="zarr" if is_zarr else "h5netcdf", group=group)
    if written is None or "time" not in opened.dims or written >= opened.sizes["time"]:
        return opened
    images = opened.isel(time=slice(0, written))
    images.set_close(opened.close)
    return images


@contextlib.contextmanager
def _zarr_group(path: pathlib.Path) -> Iterator[Any]:
    import zarr  # a package of the extra "distributed"

    try:
        group = zarr.open_group(str(path), mode="r")
    except (ValueError, KeyError) as error:  # FileNotFoundError too, or a kind of ValueError of older versions
        raise FileNotFoundError(f"{path}: expected a Zarr store, found a folder without one") from error
    yield group


def open_capture(path: Path, group: str | None = None) -> xr.Dataset:
    """Open what goes in: a capture of bits, time data, spectra, a calibration, templates or cross-spectra.

    Parameters
    ----------
    path : path
    group : str, optional
        Such as ``"truth"``, the true fields of a simulated capture.

    Returns
    -------
    xarray.Dataset
        Of a capture ``bitstream`` uint32 ``[bit_time, word]``; of time data ``time_data`` ``[sample, channel]`` in Pa
        with the coordinate ``time_s``; of spectra ``spectra`` ``[frame, frequencies_hz, y, x]`` in Pa. The attributes of
        ``/geometry`` are attributes with ``geometry_`` before their names.
    """
    path = pathlib.Path(path)
    with h5py.File(path) as file:
        geometry = {f"geometry_{name}": value for name, value in file["geometry"].attrs.items()} if "geometry" in file else {}
        rate_hz = float(file["time_data"].attrs["sample_freq"]) if group is None and "time_data" in file else None
    opened = xr.open_dataset(path, engine="h5netcdf", group=group, backend_kwargs={"phony_dims": "access"})
    capture = opened
    if rate_hz is not None:
        dimensions = dict(zip(capture["time_data"].dims, ("sample", "channel"), strict=True))
        capture = capture.rename({old: new for old, new in dimensions.items() if old != new})
        times_s = np.arange(capture.sizes["sample"]) / rate_hz
        capture = capture.assign_coords(time_s=("sample", times_s, {"units": "s"}))
        capture["time_data"].attrs.setdefault("units", "Pa")
    capture = capture.assign_attrs({name: _scalar(value) for name, value in geometry.items()})
    capture.set_close(opened.close)
    return capture


def open_snapshot(path: Path) -> xr.Dataset:
    """Open what the live page saves as "Seconds before (JSON)".

    Parameters
    ----------
    path : path

    Returns
    -------
    xarray.Dataset
        In memory. The product under its name, such as ``images`` complex64 ``[time, y_m, x_m]`` or a map float32, peak
        phasors in the unit of its ``attrs["units"]``, NaN where there is no number; ``time`` datetime64 by CLOCK_TAI. The frequency and the plane
        that were chosen are coordinates without a dimension; ``timestamp_ns``, ``sequence``, ``epoch``, ``flags``,
        ``valid_microphones`` and ``missing_bit_times`` stand beside ``time``.

    Raises
    ------
    FileNotFoundError
    ValueError
        Where the file is no such snapshot.
    """
    path = pathlib.Path(path)
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        pictures, axes = saved["pictures"], list(saved["axes"])
        values = [np.asarray(saved[name], float) for name in axes]
        is_complex = "im" in pictures[0]
        parts = np.array([[one["re"], one["im"]] if is_complex else [one["re"]] for one in pictures], np.float32)  # null: NaN
        shape = (len(pictures), *(len(axis) for axis in values))
        field = (parts[:, 0] + 1j * parts[:, 1] if is_complex else parts[:, 0]).reshape(shape)
        stamps = np.array([int(one["capture_tai_ns"]) for one in pictures], np.int64)
        units = saved["axis_units"]
        names = [f"{name}_{unit.lower()}" if unit.isalpha() else name for name, unit in zip(axes, units, strict=True)]
        beside = {name: ("time", [int(one[name]) for one in pictures])
                  for name in ("sequence", "epoch", "flags", "valid_microphones", "missing_bit_times")}  # fmt: skip
        chosen = {f"{one['name']}_{one['unit'].lower()}" if one["unit"].isalpha() else one["name"]: ((), one["values"][0], {"units": one["unit"]})
                  for one in saved["chosen"] if len(one["values"]) == 1}  # fmt: skip
        coordinates = {name: (name, axis, {"units": unit}) for name, axis, unit in zip(names, values, units, strict=True)}
        array = (("time", *names), field, {"units": saved["unit"], "long_name": saved["quantity"]})
        return xr.Dataset(
            {saved["product"]: array},
            {"time": ("time", stamps.astype("datetime64[ns]"), {"long_name": "CLOCK_TAI"}), "timestamp_ns": ("time", stamps),
             **coordinates, **beside, **chosen},
            {"processor": saved["processor"], "selected": saved["selected"]},
        )  # fmt: skip
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected a snapshot of the live page, found another file ({type(error).__name__}: {error})") from error


def write_time_data(path: Path, samples: xr.DataArray | np.ndarray[Any, np.dtype[Any]], sample_rate_hz: float | None = None) -> None:
    """Write time data as ``nearfield replay`` and Acoular read them.

    Parameters
    ----------
    path : path
        The file appears when it is complete.
    samples : array, [sample, channel]
        In Pa, or in the unit of pressure that the attribute ``units`` of a DataArray names. What a mask hides is NaN.
    sample_rate_hz : float, optional
        Default: the attribute ``sample_rate_hz`` of a DataArray.

    Raises
    ------
    TypeError
        Where samples are complex, or integers, whose unit is not known.
    ValueError
        Where the axes are others, the rate is none, or the unit is none of pressure.
    """
    if sample_rate_hz is None:
        if not isinstance(samples, xr.DataArray) or "sample_rate_hz" not in samples.attrs:
            raise ValueError("sample_rate_hz: expected a rate, or a DataArray with this attribute")
        sample_rate_hz = float(samples.attrs["sample_rate_hz"])
    if not (np.isfinite(sample_rate_hz) and sample_rate_hz > 0.0):
        raise ValueError(f"sample_rate_hz: expected a rate above 0 Hz, found {sample_rate_hz}")
    unit = str(samples.attrs.get("units", "Pa")) if isinstance(samples, xr.DataArray) else "Pa"
    if unit not in _values.PASCAL_PER_UNIT:
        raise ValueError(f"samples: expected Pa or another unit of pressure, found {unit}")
    given = _values.in_pascal("samples", samples)
    values = np.asarray(given if unit == "Pa" else given * _values.PASCAL_PER_UNIT[unit], np.float32)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"samples: expected [sample, channel], found the shape {values.shape}")
    partial = pathlib.Path(f"{os.fspath(path)}.partial")
    with h5py.File(partial, "w") as file:
        data = file.create_dataset("time_data", data=values)
        data.attrs["sample_freq"] = float(sample_rate_hz)
    partial.replace(path)


def _words(value: bytes | str) -> list[str]:
    text = value.decode() if isinstance(value, bytes) else value
    return [word for word in text.split(",") if word]


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value

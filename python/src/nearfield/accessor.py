"""``.nearfield`` on xarray's objects: levels, power, pictures and animations."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

# Reference values of ISO 1683, by unit: the value, 20 for a field's amplitude or 10 for a power, and its words. Pressures,
# velocities and displacements are those of src/core/product.cpp.
_REFERENCES = {
    "Pa": (20e-6, 20.0, "20 uPa"), "Pa^2": (4e-10, 10.0, "20 uPa"), "m/s": (5e-8, 20.0, "50 nm/s"), "m": (1e-12, 20.0, "1 pm"),
    "W/m^2": (1e-12, 10.0, "1 pW/m^2"), "W": (1e-12, 10.0, "1 pW"),
}  # fmt: skip
_PEAK_UNIT = "Pa"  # whose real values are peak ones too, such as those of a spectrum
_PIXELS = ("y_m", "x_m")


def _writer_of(path: str) -> str:
    """The writer of matplotlib for a file of this name, before anything is drawn."""
    from matplotlib.animation import FFMpegWriter

    ending = os.path.splitext(path)[1].lower()
    if ending == ".gif":
        return "pillow"
    if ending != ".mp4":
        raise ValueError(f"{path}: expected a name that ends in .gif or .mp4, found {ending or 'no ending'}")
    if not FFMpegWriter.isAvailable():
        raise FileNotFoundError(
            f"{path}: expected the program ffmpeg, which writes .mp4, found none; install it (Debian: apt-get install ffmpeg), or write a .gif"
        )
    return "ffmpeg"


class _Accessor:
    """Methods on an array of results."""

    def __init__(self, array: xr.DataArray) -> None:
        self._array = array

    def db(self, re: float | None = None) -> xr.DataArray:
        """Return levels in dB.

        Parameters
        ----------
        re : float, optional
            The reference, in the array's own unit. Default: that of ISO 1683 for the unit, 20 uPa for Pa.

        Returns
        -------
        xarray.DataArray
            Of pressures in Pa and of complex amplitudes, which are peak values, 20 log10 of their rms over `re`; of
            powers and mean squares 10 log10. -inf where the value is 0. The attribute ``reference`` has the reference.

        Raises
        ------
        ValueError
            Where `re` is not given and the unit has no reference, or the values are real and in m/s or m, which may be
            peak or rms.
        """
        unit = str(self._array.attrs.get("units", ""))
        is_complex = np.iscomplexobj(self._array)
        reference, factor, words = _REFERENCES.get(unit, (1.0, 20.0 if is_complex else 10.0, ""))
        is_peak = factor == 20.0 and (is_complex or unit == _PEAK_UNIT)
        if re is not None:
            reference, words = re, _words_of(re, unit)
        elif not words or (factor == 20.0 and not is_peak):
            kind = "complex" if is_complex else "real"
            raise ValueError(f"re: expected a reference for {kind} values of the unit {unit or 'of nothing'}, found none")
        magnitude: xr.DataArray = abs(self._array)
        if is_peak:
            magnitude = magnitude / np.sqrt(2.0)
        with np.errstate(divide="ignore"):
            levels: xr.DataArray = factor * xr.apply_ufunc(np.log10, magnitude / reference)
        return levels.assign_attrs({**self._array.attrs, "units": "dB", "reference": words})

    def power(self) -> xr.DataArray:
        """Return the power through the image towards the microphones, in W.

        Returns
        -------
        xarray.DataArray
            The sum of an active intensity's pixels times a pixel's area, without the dimensions y_m and x_m.

        Raises
        ------
        ValueError
            Where the array is no intensity (W/m^2) over y_m and x_m of at least two pixels each, with coordinates.
        """
        array = self._array
        if array.attrs.get("units") != "W/m^2" or any(array.sizes.get(name, 0) < 2 for name in _PIXELS):
            raise ValueError("expected an active intensity in W/m^2 over y_m and x_m, found "
                             f"{array.attrs.get('units', 'no unit')} over {', '.join(map(str, array.dims))}")  # fmt: skip
        if any(name not in array.coords for name in _PIXELS):
            raise ValueError("expected the coordinates y_m and x_m, which say a pixel's area, found "
                             f"{', '.join(map(str, array.coords)) or 'none'}")  # fmt: skip
        area_m2 = float(np.prod([abs(array[name][1] - array[name][0]) for name in _PIXELS]))
        total = array.real.sum(_PIXELS, dtype="float64") * area_m2
        return total.assign_attrs({"units": "W", "long_name": "radiated power"})

    def plot(self, ax: Axes | None = None, *, what: str | None = None, **options: Any) -> Axes:
        """Draw one map over y_m and x_m, or two other dimensions, the last one across.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        what : {"magnitude", "phase", "db", "real"}, optional
            Default: the magnitude of complex values, and real ones as they are. Where what is shown has both signs, the
            map is a diverging one.
        **options
            For ``pcolormesh``.

        Returns
        -------
        matplotlib.axes.Axes
            y grows downwards, as the array is seen from its back. Dimensions of one entry are left out; others are an
            error.
        """
        import matplotlib.pyplot as plt

        array = self._array.squeeze()
        if array.ndim != 2:
            raise ValueError(f"expected two dimensions to draw, found {dict(array.sizes)}; choose with .sel or .isel")
        shown, label = _shown(array, what or ("magnitude" if np.iscomplexobj(array) else "real"))
        if label == "phase, rad":
            options = {"cmap": "twilight", "vmin": -np.pi, "vmax": np.pi, **options}
        elif float(shown.min()) < 0.0 < float(shown.max()) and "dB" not in label:
            most = float(abs(shown).max())
            options = {"cmap": "RdBu_r", "vmin": -most, "vmax": most, **options}
        if ax is None:
            ax = plt.subplots(layout="constrained")[1]
        down, across = (str(name) for name in shown.dims)
        mesh = ax.pcolormesh(_values(shown, across), _values(shown, down), shown.values, shading="nearest", **options)
        ax.figure.colorbar(mesh, ax=ax, label=label)
        ax.set(xlabel=_label(across), ylabel=_label(down))
        if (down, across) == _PIXELS:
            ax.set_aspect("equal")
            ax.invert_yaxis()
        return ax

    def animate(self, path: str | os.PathLike[str] | None = None, *, frames: int = 24, fps: int = 12) -> FuncAnimation:
        """Show one period of a complex map: Re(p e^{jwt}).

        Parameters
        ----------
        path : path, optional
            A name that ends in ``.gif``, or in ``.mp4`` (H.264), which the program ffmpeg writes.
        frames : int
            Pictures of the period.
        fps : int
            Pictures a second.

        Returns
        -------
        matplotlib.animation.FuncAnimation

        Raises
        ------
        ValueError
            The values are real, or the name ends otherwise.
        FileNotFoundError
            There is no ffmpeg to write the ``.mp4`` with.
        """
        import matplotlib.pyplot as plt
        from matplotlib.animation import FuncAnimation

        array = self._array.squeeze()
        if not np.iscomplexobj(array):
            raise ValueError("expected complex values, which have a phase, found real ones")
        writer = None if path is None else _writer_of(os.fspath(path))
        most = float(abs(array).max()) or 1.0
        ax = _Accessor(array.real.assign_attrs(array.attrs)).plot(cmap="RdBu_r", vmin=-most, vmax=most)
        mesh = ax.collections[0]

        def turn(step: int) -> list[Any]:
            mesh.set_array((array * np.exp(2j * np.pi * step / frames)).real.values.ravel())
            return [mesh]

        animation = FuncAnimation(ax.figure, turn, frames=frames, interval=1000.0 / fps, blit=False)  # type: ignore[arg-type]
        if path is not None:
            animation.save(os.fspath(path), writer=writer, fps=fps)
            plt.close(ax.figure)  # type: ignore[arg-type]
        return animation


@xr.register_dataarray_accessor("nearfield")  # type: ignore[no-untyped-call, untyped-decorator, unused-ignore]
class ArrayAccessor(_Accessor):
    """``array.nearfield``: :meth:`db`, :meth:`power`, :meth:`plot`, :meth:`animate`."""


@xr.register_dataset_accessor("nearfield")  # type: ignore[no-untyped-call, untyped-decorator, unused-ignore]
class DatasetAccessor(_Accessor):
    """``dataset.nearfield``: the same, of ``images``, or of ``map``, or of the only array."""

    def __init__(self, dataset: xr.Dataset) -> None:
        found = [name for name in ("images", "map") if name in dataset] or list(dataset.data_vars)[:2]
        if len(found) != 1:
            raise ValueError(f"expected images, a map or one array, found {', '.join(map(str, dataset.data_vars))}")
        super().__init__(dataset[found[0]])


def _shown(array: xr.DataArray, what: str) -> tuple[xr.DataArray, str]:
    unit = str(array.attrs.get("units", "1"))
    if what == "db":
        levels = _Accessor(array).db()
        return levels, f"dB re {levels.attrs['reference']}"
    if what == "phase":
        return xr.DataArray(np.angle(array), array.coords, array.dims), "phase, rad"
    if what == "magnitude":
        return abs(array), f"magnitude, {unit}"
    if what == "real":
        return array.real, str(unit)
    raise ValueError(f"what: expected magnitude, phase, db or real, found {what}")


def _words_of(reference: float, unit: str) -> str:
    return f"{reference * 1e6:g} u{unit}" if unit == "Pa" else f"{reference:g} {unit}".strip()


def _values(array: xr.DataArray, name: str) -> Any:
    return array[name].values if name in array.coords else np.arange(array.sizes[name])


def _label(name: str) -> str:
    word, _, unit = name.rpartition("_")
    return f"{word}, {unit}" if word else name

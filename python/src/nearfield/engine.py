"""The engine in this process: bits, samples or spectra as NumPy arrays in, products out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from nearfield import _library, _values
from nearfield._layout import Array, Layout, layout_of
from nearfield.errors import error_of

Config = str | Mapping[str, object]
_OK, _MORE = 0, 1
_FORMS = {"bits": 0, "samples": 1, "spectra": 2}
_C_TYPES = {"bits": ("uint32_t[]", np.uint32), "samples": ("float[]", np.float32), "spectra": ("nf_complex[]", np.complex64)}


@dataclasses.dataclass(frozen=True)
class EngineFrame:
    """Products of a processor for one window.

    Attributes
    ----------
    products : dict of str to numpy.ndarray
        Arrays over their axes; tables as structured arrays of their rows.
    processor : str
    sequence : int
        The window's number, from 0.
    first_sample : int
        Of the window: bit-time, sample, or window of spectra.
    flags, valid_microphones : int
    missing_information : float
        Share of an image's information that the other microphones take along, 0 to 1 (docs/how/sonah.md).
    """

    products: dict[str, Array]
    layout: Layout
    processor: str
    sequence: int
    first_sample: int
    flags: int
    valid_microphones: int
    missing_information: float = 0.0

    def __getitem__(self, name: str) -> Array:
        return self.products[name]

    def to_xarray(self) -> xr.Dataset:
        """Return the products with coordinates and units."""
        return self.layout.to_dataset(self.products).assign_attrs(
            sequence=self.sequence, first_sample=self.first_sample, flags=self.flags,
            valid_microphones=self.valid_microphones, missing_information=self.missing_information)  # fmt: skip


def yaml_of(config: Config) -> str:
    """Return a configuration as text: a mapping becomes JSON, which is YAML."""
    return config if isinstance(config, str) else json.dumps(config)


class Engine:
    """An engine from a configuration; belongs to one thread at a time.

    Parameters
    ----------
    config : str or mapping
        The text of a YAML file, or the same as nested dictionaries.
    form : {"bits", "samples", "spectra"}
        What is pushed.
    channels : int
        Of samples and spectra.
    sample_rate_hz : float
        Of samples; that of bits is ``array.clock_hz``. Of spectra that of the samples their windows were cut from, for
        processors that count lags or time: ``front_end`` says how long and how far apart the windows are.
    frequencies_hz : sequence of float
        Of spectra, ascending.
    positions_m : array, [channel, 3], optional
        Where the microphones stand, in the place of ``array.positions``.
    calibration : mapping of str to (frequencies_hz, gains), optional
        In the place of a file that ``array.calibration`` names: gains complex ``[frequency, row, column]``, rows
        and columns in one axis or two, of the grid and not in the order of channels that ``positions_m`` gives.
    points_m : mapping of str to array, [point, 3], optional
        In the place of a file that ``grid.points`` of a processor names.
    templates : mapping of str to (frequencies_hz, positions_m, templates), optional
        In the place of a file that ``steering.file`` names: ``[template, 3]`` and complex
        ``[frequency, template, channel]``.
    reference : bool
        Compute in double precision on the host, slowly, without OpenCL.

    Raises
    ------
    NearfieldError
        :class:`ConfigError`, :class:`DeviceError`, ...

    Examples
    --------
    >>> with Engine(config, "bits") as engine:                # doctest: +SKIP
    ...     for frame in engine.push(words):
    ...         print(frame.sequence, abs(frame.products["images"]).max())
    """

    def __init__(
        self,
        config: Config,
        form: str = "bits",
        *,
        channels: int = 0,
        sample_rate_hz: float = 0.0,
        frequencies_hz: Sequence[float] | Array = (),
        positions_m: npt.ArrayLike | None = None,
        calibration: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]] | None = None,
        points_m: Mapping[str, npt.ArrayLike] | None = None,
        templates: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]] | None = None,
        reference: bool = False,
    ) -> None:
        if form not in _FORMS:
            raise ValueError(f"form: expected one of {', '.join(_FORMS)}, found {form}")
        self._engine: Any = None
        self._library = _library.engine()
        self._ffi = _library.ffi()
        self._form = form
        self._channels = int(channels)
        self._frequencies = len(np.atleast_1d(frequencies_hz))
        self._grid = _grid_of(config)
        made = self._ffi.new("nf_engine **")
        if self._library.nf_engine_open(made) != _OK:
            raise MemoryError("no memory for an engine")
        self._engine = made[0]
        self._give(positions_m, calibration or {}, points_m or {}, templates or {})
        frequencies = np.ascontiguousarray(_values.plain(frequencies_hz), np.float64)
        told = self._ffi.new("nf_input *", {
            "form": _FORMS[form], "engine": int(reference), "channels": channels, "sample_rate_hz": sample_rate_hz,
            "frequency_count": len(frequencies), "frequencies_hz": self._pointer("double[]", frequencies)})  # fmt: skip
        self._require(self._library.nf_engine_start(self._engine, yaml_of(config).encode(), told))
        layouts = []
        for i in range(self._library.nf_engine_processors(self._engine)):
            layout = self._library.nf_engine_get_layout(self._engine, i)
            layouts.append(layout_of(_library.text(layout.processor), layout))
        self._layouts = tuple(layouts)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """End the engine; a second time does nothing."""
        if getattr(self, "_engine", None) is not None:
            self._library.nf_engine_close(self._engine)
            self._engine = None

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Layouts of all processors; the first one makes the images of ``holography``."""
        return self._layouts

    @property
    def remarks(self) -> list[str]:
        """Remarks on the settings and the input, to be read before the images are trusted."""
        return _library.text(self._library.nf_engine_remarks(self._handle())).splitlines()

    def push(self, values: npt.ArrayLike) -> list[EngineFrame]:
        """Push input that follows on the input before, and return the frames that it completes.

        Parameters
        ----------
        values : array
            Bits uint32 ``[bit_time, word]``, samples float ``[sample, channel]`` in Pa, or spectra complex
            ``[window, frequency, row, column]`` in Pa, peak, where rows and columns may be one axis of channels, and one
            window needs no axis. What a mask hides is NaN, not measured. Copied.

        Raises
        ------
        TypeError
            Where bits are no uint32, samples are complex or integers, or spectra are real.
        ValueError
            Where the axes are others.
        NearfieldError
            :class:`DataError`, ...
        """
        c_type, dtype = _C_TYPES[self._form]
        if self._form == "samples":
            given = _values.in_pascal("samples", values)
        elif self._form == "spectra":
            given = _values.spectra("spectra", values)
        else:
            given = np.asarray(values)
            if given.dtype != np.uint32 or np.ma.is_masked(values):
                raise TypeError(f"bits: expected uint32 without a mask, found {given.dtype}")
        self._require_axes(given)
        array: Array = np.ascontiguousarray(given, dtype)
        push = getattr(self._library, f"nf_engine_push_{self._form}")
        self._require(push(self._handle(), self._pointer(c_type, array), array.size))
        return list(self._frames())

    def _require_axes(self, given: Array) -> None:
        if self._form == "samples":
            if given.ndim != 2 or given.shape[1] != self._channels:
                raise ValueError(f"samples: expected [sample, channel] of {self._channels} channels, found the shape {given.shape}")
        elif self._form == "spectra":
            is_flat = given.ndim in (2, 3) and given.shape[-2:] == (self._frequencies, self._channels)
            is_grid = given.ndim in (3, 4) and given.shape[-3] == self._frequencies and self._is_grid(given.shape[-2:])
            if not is_flat and not is_grid:
                raise ValueError(f"spectra: expected [window, frequency, row, column] of {self._frequencies} frequencies and "
                                 f"{self._channels} microphones, found the shape {given.shape}")  # fmt: skip
        elif given.ndim not in (1, 2):
            raise ValueError(f"bits: expected [bit_time, word], found the shape {given.shape}")

    def _is_grid(self, shape: tuple[int, ...]) -> bool:
        return shape == self._grid if self._grid is not None else shape[0] * shape[1] == self._channels

    def restart(self) -> None:
        """Begin a new stream: what was pushed and averaged is forgotten."""
        self._require(self._library.nf_engine_restart(self._handle()))

    def _handle(self) -> Any:
        if self._engine is None:
            raise ValueError("the engine is closed")
        return self._engine

    def _pointer(self, c_type: str, array: Array) -> Any:
        return self._ffi.from_buffer(c_type, array, require_writable=False) if array.size else self._ffi.NULL

    def _require(self, status: int) -> None:
        if status not in (_OK, _MORE):
            raise error_of(_library.text(self._library.nf_engine_error(self._engine)), int(status))

    def _give(
        self,
        positions_m: npt.ArrayLike | None,
        calibration: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
        points_m: Mapping[str, npt.ArrayLike],
        templates: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]],
    ) -> None:
        lib, pointer = self._library, self._pointer
        if positions_m is not None:
            places = _matrix("positions_m", positions_m)
            self._require(lib.nf_engine_give_positions(self._engine, pointer("double[]", places), len(places)))
        for name, (frequencies_hz, gains) in calibration.items():
            known = np.ascontiguousarray(_values.plain(frequencies_hz), np.float64).reshape(-1)
            values = _of_frequencies(f"calibration[{name!r}]", gains, len(known)).reshape(len(known), -1)
            self._require(lib.nf_engine_give_calibration(self._engine, name.encode(), pointer("double[]", known), len(known),
                                                         pointer("nf_complex[]", values), values.shape[1]))  # fmt: skip
        for name, points in points_m.items():
            places = _matrix(f"points_m[{name!r}]", points)
            self._require(lib.nf_engine_give_points(self._engine, name.encode(), pointer("double[]", places), len(places)))
        for name, (frequencies_hz, positions, vectors) in templates.items():
            known = np.ascontiguousarray(_values.plain(frequencies_hz), np.float64).reshape(-1)
            places = _matrix(f"templates[{name!r}]", positions)
            steering = _of_frequencies(f"templates[{name!r}]", vectors, len(known), len(places))
            self._require(lib.nf_engine_give_templates(
                self._engine, name.encode(), pointer("double[]", known), len(known), pointer("double[]", places), len(places),
                pointer("nf_complex[]", steering), self._ffi.NULL, steering.shape[2]))  # fmt: skip

    def _frames(self) -> Iterator[EngineFrame]:
        frame = self._ffi.new("nf_engine_frame *")
        while True:
            status = self._library.nf_engine_next(self._handle(), frame)
            self._require(status)
            if status == _MORE:
                return
            layout = self._layouts[frame.processor]
            products = {product.name: product.read(self._ffi.buffer(frame.products[i], product.bytes))
                        for i, product in enumerate(layout.products)}  # fmt: skip
            yield EngineFrame(products, layout, layout.processor, int(frame.sequence), int(frame.first_sample),
                              int(frame.flags), int(frame.valid_microphones), float(frame.missing_information))  # fmt: skip


def _grid_of(config: Config) -> tuple[int, int] | None:
    """Return rows and columns where a mapping has both; otherwise their product alone is known here."""
    array = config.get("array") if isinstance(config, Mapping) else None
    if not isinstance(array, Mapping):
        return None
    rows, columns = array.get("rows"), array.get("columns")
    return (rows, columns) if isinstance(rows, int) and isinstance(columns, int) else None


def _of_frequencies(name: str, values: npt.ArrayLike, *sizes: int) -> Array:
    array: Array = np.ascontiguousarray(_values.plain(values), np.complex64)
    if array.ndim <= len(sizes) or array.shape[: len(sizes)] != sizes:
        raise ValueError(f"{name}: expected {' x '.join(map(str, sizes))} rows of channels, found the shape {array.shape}")
    return array


def _matrix(name: str, values: npt.ArrayLike) -> Array:
    places = np.ascontiguousarray(_values.plain(values), np.float64)
    if places.ndim != 2 or places.shape[1] != 3:
        raise ValueError(f"{name}: expected [place, 3] in m, found the shape {places.shape}")
    return places

"""Frames as entries of Redis Streams, and back (docs/reference/entries.md)."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from nearfield import tai
from nearfield._layout import TABLE, Array, Axis, Column, Layout, Product, values_name
from nearfield.bridge import checked
from nearfield.errors import DataError, UsageError
from nearfield.ring import Frame

FORMAT = 1
PREFIX = "nearfield"
HEADER_LIFE_S = 7 * 24 * 3600
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TYPES = ("<c8", "<f4", "<f8", "<u4", "<u8")
_FORMS = ("array", "figure", "table")
_INTEGERS = {
    "hop": "sequence", "bit": "first_bit_time", "stream": "stream_id", "epoch": "epoch", "flags": "flags",
    "missing": "missing_bit_times", "valid": "valid_microphones", "tai_ns": "capture_tai_ns", "delay_ns": "group_delay_ns",
}  # fmt: skip
_SITE_INTEGERS = ("tai_offset_s", "clock_error_ns", "n")
_STAMPS: dict[str, type[np.integer[Any]]] = {
    "sequence": np.uint64, "first_bit_time": np.uint64, "stream_id": np.uint32, "epoch": np.uint64, "flags": np.uint32,
    "missing_bit_times": np.uint64, "valid_microphones": np.uint32, "capture_tai_ns": np.int64, "tai_offset_s": np.int32,
    "clock_error_ns": np.int64, "n": np.uint64,
}  # fmt: skip
_BOUNDS = {name: (int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for name, kind in _STAMPS.items()}
_BOUNDS["group_delay_ns"] = _BOUNDS["capture_tai_ns"]
_BOUNDS["n"] = (1, 2**53)  # sums of them are 64-bit numbers, too
_UTC_NS = (-(10**14), 2**63 - 10**14)  # 1970, a clock that was never set included, to 2262: as datetime64[ns] has it
_HEADER_BYTES = 64_000_000
_PART = re.compile(r"[A-Za-z0-9_]{1,63}")


def is_name(name: str) -> bool:
    """Return whether an array or processor may have this name."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _type(text: str) -> np.dtype[Any]:
    if text not in _TYPES:
        raise ValueError(f"type {text!r}")
    return np.dtype(text)


def checked_name(name: str, what: str) -> str:
    """Return a name of an array; it is a part of keys, topics and file names."""
    if not is_name(name):
        raise UsageError(f"{what}: expected 1 to 64 letters, digits, '_' and '-', found {name!r}", 64)
    return name


@dataclasses.dataclass(frozen=True)
class Keys:
    """The names of an array's keys; those of one array lie in one slot of a cluster."""

    array: str
    prefix: str = PREFIX

    @property
    def base(self) -> str:
        return f"{self.prefix}:{{{checked_name(self.array, 'array')}}}"

    @property
    def state(self) -> str:
        return f"{self.base}:state"

    @property
    def alarms(self) -> str:
        return f"{self.base}:alarms"

    def frames(self, processor: str) -> str:
        return f"{self.base}:frames:{processor}"

    def header(self, identity: str) -> str:
        return f"{self.base}:header:{identity}"


def arrays_key(prefix: str = PREFIX) -> str:
    """Return the key of the set of all arrays' names."""
    return f"{prefix}:arrays"


def header_of(array: str, layout: Layout, names: Sequence[str]) -> str:
    """Return the header of these products as JSON, the same text for the same layout."""
    products = [product for product in layout.products if product.name in names]
    used = {axis.name for product in products for axis in product.axes}
    return json.dumps({
        "format": FORMAT, "array": array, "processor": layout.processor,
        "axes": [{"name": axis.name, "unit": axis.unit, "values": axis.values.tolist()} for axis in layout.axes if axis.name in used],
        "products": [{"name": product.name, "quantity": product.quantity, "unit": product.unit, "form": _FORMS[product.form],
                      "type": product.dtype.str, "axes": [axis.name for axis in product.axes],
                      "columns": [{"name": column.name, "unit": column.unit, "type": column.dtype.str} for column in product.columns]}
                     for product in products],
    }, separators=(",", ":"), sort_keys=True)  # fmt: skip


def identity_of(header: str) -> str:
    """Return what an entry names its header by."""
    return hashlib.sha256(header.encode()).hexdigest()[:16]


def layout_of_header(text: str | bytes) -> Layout:
    """Return the layout that a header describes.

    Raises
    ------
    DataError
        Where it is no header of this format.
    """
    with checked.expecting(f"expected a header of format {FORMAT}, found another text"):
        header = checked.json_object(text, _HEADER_BYTES)
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']}")
        axes = {axis.name: axis for axis in map(_axis, header["axes"])}
        products = tuple(_product_of(product, axes) for product in header["products"])
        if len(axes) != len(header["axes"]) or not products or not is_name(header["processor"]):
            raise ValueError("expected a processor, one product or more, and each axis once")
        _require_distinct(axes.values(), products)
        return Layout(header["processor"], tuple(axes.values()), products)


def _part(name: Any) -> str:
    if not isinstance(name, str) or not _PART.fullmatch(name):
        raise ValueError(f"expected a name of letters, digits and _, found {str(name)[:40]!r}")
    return name


def _axis(axis: Any) -> Axis:
    values = np.array(axis["values"], np.float64)
    if values.ndim not in (1, 2) or values.size == 0:
        raise ValueError(f"expected entries of an axis, found {values.ndim} dimensions of {values.size} numbers")
    return Axis(_part(axis["name"]), checked.words(axis["unit"]), values)


def _product_of(product: Any, axes: Mapping[str, Axis]) -> Product:
    columns, offset = [], 0
    for column in product["columns"]:
        kind = _type(column["type"])
        columns.append(Column(_part(column["name"]), checked.words(column["unit"]), kind, offset))
        offset += kind.itemsize
    form = _FORMS.index(product["form"])
    if (form == TABLE) != bool(columns):
        raise ValueError("expected columns of tables, and of tables alone")
    return Product(_part(product["name"]), checked.words(product["quantity"]), checked.words(product["unit"]), form,
                   _type(product["type"]), tuple(axes[name] for name in product["axes"]), tuple(columns), 0)  # fmt: skip


def _require_distinct(axes: Iterable[Axis], products: Sequence[Product]) -> None:
    """Names that would meet each other in a dataset of frames would put one's values under the other's name."""
    if len({product.name for product in products}) < len(products):
        raise ValueError("a product is there twice")
    names = ["time", *_STAMPS]
    for axis in axes:
        names += [axis.dimension, *([f"{axis.name}_component", values_name(axis)] if axis.values.ndim == 2 else [])]
    for product in products:
        table = [f"{product.name}_row", f"{product.name}_rows", *(f"{product.name}_{column.name}" for column in product.columns)]
        names += table if product.form == TABLE else [product.name]
    twice = [name for name, count in collections.Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{twice[0]} is there twice")


def fields_of(frame: Frame, identity: str, run: str, n: int, clock: tai.ClockState | None) -> dict[str, bytes | str | int]:
    """Return the fields of an entry."""
    fields: dict[str, bytes | str | int] = {"header": identity, "run": run, "n": n}
    fields |= {short: int(getattr(frame, name)) for short, name in _INTEGERS.items()}
    fields["tai_offset_s"] = clock.tai_offset_s if clock is not None else tai.tai_offset_s()
    fields["clock_error_ns"] = clock.error_ns if clock is not None else -1
    return fields | {f".{name}": np.ascontiguousarray(values).tobytes() for name, values in frame.products.items()}


@dataclasses.dataclass(frozen=True)
class BridgedFrame:
    """A frame out of a broker; members that :class:`nearfield.Frame` has are the same.

    Attributes
    ----------
    array : str
    tai_offset_s : int
        TAI - UTC of the array's host, by which its stamp is read.
    clock_error_ns : int
        Bound of that clock's error, -1: it was not synchronised.
    run, n : str, int
        Which start of the bridge, and its frames counted from 1, dropped ones too: a gap in n is what was lost.
    entry_id : str
        Of the stream.
    """

    array: str
    products: dict[str, Array]
    layout: Layout
    sequence: int
    first_bit_time: int
    stream_id: int
    epoch: int
    flags: int
    missing_bit_times: int
    valid_microphones: int
    capture_tai_ns: int
    group_delay_ns: int
    tai_offset_s: int
    clock_error_ns: int
    run: str
    n: int
    entry_id: str

    def __getitem__(self, name: str) -> Array:
        return self.products[name]

    @property
    def utc_ns(self) -> int:
        """When the window's last bit was in the array's host, UTC."""
        return tai.utc_ns(self.capture_tai_ns, self.tai_offset_s)

    def age_s(self, now_utc_ns: int | None = None) -> float:
        """Return the age by this host's clock; both clocks' errors are in it."""
        return ((tai.now_ns() if now_utc_ns is None else now_utc_ns) - self.utc_ns) * 1e-9

    def is_live(self, most_age_s: float = 1.0, now_utc_ns: int | None = None) -> bool:
        """Return whether it is younger than this. A stamp from the future is of a wrong clock, and not live."""
        return is_live(self.utc_ns, most_age_s, now_utc_ns)

    def to_xarray(self) -> xr.Dataset:
        """Return the products with coordinates and units."""
        return self.layout.to_dataset(self.products).assign_attrs(
            array=self.array, sequence=self.sequence, first_bit_time=self.first_bit_time, flags=self.flags, epoch=self.epoch,
            capture_tai_ns=self.capture_tai_ns, tai_offset_s=self.tai_offset_s, clock_error_ns=self.clock_error_ns)  # fmt: skip


def is_live(utc_ns: int, most_age_s: float, now_utc_ns: int | None = None) -> bool:
    """Return whether a stamp is at most so old, and at most so far in the future."""
    age_s = ((tai.now_ns() if now_utc_ns is None else now_utc_ns) - utc_ns) * 1e-9
    return -most_age_s <= age_s <= most_age_s


def _product(product: Product, data: bytes) -> Array:
    if product.form == TABLE:
        row: np.dtype[Any] = np.dtype([(column.name, column.dtype) for column in product.columns])
        return np.frombuffer(data, row).copy()
    return np.frombuffer(data, product.dtype).reshape(product.shape).copy()


def frame_of(array: str, entry_id: bytes | str, fields: Mapping[bytes, bytes], layout: Layout) -> BridgedFrame:
    """Take an entry apart.

    Raises
    ------
    DataError
        Where it does not fit its header.
    """
    with checked.expecting(f"{array}: expected an entry as its header says, found {str(entry_id)[:40]}, which is none"):
        name = entry_id.decode() if isinstance(entry_id, bytes) else entry_id
        order_of(name)
        shorts = {long: short for short, long in _INTEGERS.items()} | {name: name for name in _SITE_INTEGERS}
        numbers = {long: _number(fields, short, _BOUNDS[long]) for long, short in shorts.items()}
        utc_ns = tai.utc_ns(numbers["capture_tai_ns"], numbers["tai_offset_s"])
        checked.whole_number(utc_ns, *_UTC_NS)
        checked.whole_number(utc_ns - numbers["group_delay_ns"], *_UTC_NS)
        run = checked.words(fields[b"run"].decode())
        products = {product.name: _product(product, fields[f".{product.name}".encode()]) for product in layout.products}
        return BridgedFrame(array=array, products=products, layout=layout, run=run, entry_id=name, **numbers)


def _number(fields: Mapping[bytes, bytes], name: str, bounds: tuple[int, int]) -> int:
    try:
        return checked.whole_number(fields[name.encode()], *bounds)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def order_of(entry_id: str) -> tuple[int, int]:
    """Return what orders the entries of a stream; ValueError where it is no entry's id."""
    ms, dash, number = entry_id.partition("-")
    if not dash:
        raise ValueError(f"expected the id of an entry, found {entry_id[:40]!r}")
    return checked.whole_number(ms, 0, 2**64 - 1), checked.whole_number(number, 0, 2**64 - 1)


def dataset_of(frames: Sequence[BridgedFrame]) -> xr.Dataset:
    """Return frames of one layout over ``time``, UTC, when their last bits came.

    Tables have the dimension ``NAME_row`` with as many rows as the longest one; ``NAME_rows`` counts those that a frame has.

    Raises
    ------
    ValueError
        Of no frame, or of several layouts.
    """
    if not frames:
        raise ValueError("expected one frame or more, found none")
    layout = frames[0].layout
    if any(frame.layout is not layout for frame in frames):
        raise ValueError("expected frames of one layout, found several")
    stacked: dict[str, Array] = {}
    for product in layout.products:
        values = [frame.products[product.name] for frame in frames]
        if product.form == TABLE:
            stacked[product.name] = np.zeros(max(len(rows) for rows in values), values[0].dtype)
        else:
            stacked[product.name] = values[0]
    dataset = layout.to_dataset(stacked)
    for product in layout.products:
        values = [frame.products[product.name] for frame in frames]
        if product.form != TABLE:
            like = dataset[product.name]
            dataset[product.name] = (("time", *like.dims), np.stack(values), like.attrs)
            continue
        for column in product.columns:
            like = dataset[f"{product.name}_{column.name}"]
            padded = np.zeros((len(frames), like.sizes[f"{product.name}_row"]), column.dtype)
            for at, rows in enumerate(values):
                padded[at, : len(rows)] = rows[column.name]
            dataset[f"{product.name}_{column.name}"] = (("time", *like.dims), padded, like.attrs)
        dataset[f"{product.name}_rows"] = ("time", np.array([len(rows) for rows in values], np.uint32))
    times = np.array([frame.utc_ns for frame in frames], np.int64).astype("datetime64[ns]")
    dataset = dataset.assign_coords(time=("time", times))
    for name, kind in _STAMPS.items():
        dataset[name] = ("time", np.array([getattr(frame, name) for frame in frames], kind))
    return dataset.assign_attrs(array=frames[0].array)

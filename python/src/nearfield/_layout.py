"""Axes and products: how results are described, and how they become xarray's."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from nearfield import _library

Array = npt.NDArray[Any]
TYPES = (np.dtype("<c8"), np.dtype("<f4"), np.dtype("<f8"), np.dtype("<u4"), np.dtype("<u8"))
ARRAY, FIGURE, TABLE = 0, 1, 2
# Names that axes have in files; any other is its own name with its unit.
_NAMES = {"frequency": "frequencies_hz", "z": "planes_m", "y": "y_m", "x": "x_m"}
_VALUES = {"point": "points_xy_m", "band": "bands_hz"}
_ROWS = 8  # bytes of a table's number of rows


@dataclasses.dataclass(frozen=True)
class Axis:
    """Axis of an array: the places that one of its indices counts.

    Attributes
    ----------
    name, unit : str
    values : numpy.ndarray
        ``[entry]``, or ``[entry, component]`` where an entry is several numbers.
    """

    name: str
    unit: str
    values: Array

    @property
    def dimension(self) -> str:
        """The name of the dimension in xarray, as images files have it."""
        if self.values.ndim > 1:
            return self.name
        with_unit = f"{self.name}_{self.unit}" if self.unit.isalpha() else self.name
        return _NAMES.get(self.name, with_unit)


def values_name(axis: Axis) -> str:
    """Return the name of an axis's values in xarray: the dimension's own, where an entry is one number."""
    return axis.dimension if axis.values.ndim == 1 else _VALUES.get(axis.name, f"{axis.name}_values")


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a table: ``dtype``, and ``offset`` in the table's bytes."""

    name: str
    unit: str
    dtype: np.dtype[Any]
    offset: int


@dataclasses.dataclass(frozen=True)
class Product:
    """One result of a processor: an array or figure over axes, or a table of columns."""

    name: str
    quantity: str
    unit: str
    form: int
    dtype: np.dtype[Any]
    axes: tuple[Axis, ...]
    columns: tuple[Column, ...]
    most_rows: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes, slowest first."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def bytes(self) -> int:
        """Bytes of the product in a frame."""
        if self.form != TABLE:
            return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        return max((column.offset + self.most_rows * column.dtype.itemsize for column in self.columns), default=_ROWS)

    def read(self, memory: Any) -> Array:
        """Return a copy of a frame's values: an array of this shape, or the rows of a table as a structured array."""
        if self.form != TABLE:
            return np.frombuffer(memory, self.dtype, int(np.prod(self.shape, dtype=np.int64))).reshape(self.shape).copy()
        rows = int(np.frombuffer(memory, "<u8", 1)[0])
        table = np.zeros(rows, [(column.name, column.dtype) for column in self.columns])
        for column in self.columns:
            table[column.name] = np.frombuffer(memory, column.dtype, rows, column.offset)
        return table


@dataclasses.dataclass(frozen=True)
class Layout:
    """Layout of all frames of a processor: its name, axes and products."""

    processor: str
    axes: tuple[Axis, ...]
    products: tuple[Product, ...]
    memory_hops: int | None = None
    """Hops before its own that a frame may depend on; -1 is without a bound, None not known."""

    def to_dataset(self, arrays: Mapping[str, Array]) -> xr.Dataset:
        """Return arrays of a frame, by their products' names, with coordinates and units.

        Tables have the dimension ``NAME_row``, and a variable ``NAME_COLUMN`` for each column.
        """
        dataset = xr.Dataset(attrs={"processor": self.processor})
        for axis in self.axes:
            attrs = {"units": axis.unit, "long_name": axis.name}
            if axis.values.ndim == 1:
                dataset = dataset.assign_coords({axis.dimension: (axis.dimension, axis.values, attrs)})
            else:
                dataset = dataset.assign_coords({values_name(axis): ((axis.name, f"{axis.name}_component"), axis.values, attrs)})
        for product in self.products:
            if product.name not in arrays:
                continue
            values = arrays[product.name]
            if product.form == TABLE:
                for column in product.columns:
                    dataset[f"{product.name}_{column.name}"] = (
                        f"{product.name}_row", values[column.name], {"units": column.unit})  # fmt: skip
            else:
                attrs = {"units": product.unit, "long_name": product.quantity}
                dataset[product.name] = (tuple(axis.dimension for axis in product.axes), values, attrs)
        return dataset


def _axis(axis: Any) -> Axis:
    ffi = _library.ffi()
    values = np.frombuffer(ffi.buffer(axis.values, axis.size * axis.components * 8), "<f8").copy()
    shape = (axis.size,) if axis.components == 1 else (axis.size, axis.components)
    return Axis(_library.text(axis.name), _library.text(axis.unit), values.reshape(shape))


def layout_of(processor: str, layout: Any, memory_hops: int | None = None) -> Layout:
    """Return an ``nf_ring_layout`` or ``nf_engine_layout`` as Python has it, all values copied."""
    axes = tuple(_axis(layout.axes[i]) for i in range(layout.axis_count))
    by_name = {axis.name: axis for axis in axes}
    products = []
    for i in range(layout.product_count):
        product = layout.products[i]
        columns = tuple(
            Column(_library.text(column.name), _library.text(column.unit), TYPES[column.type], int(column.offset))
            for column in (product.columns[c] for c in range(product.column_count))
        )
        of_product = tuple(by_name[_library.text(product.axes[a].name)] for a in range(product.axis_count))
        products.append(
            Product(_library.text(product.name), _library.text(product.quantity), _library.text(product.unit), int(product.form),
                    TYPES[product.type], of_product, columns, int(product.most_rows)))  # fmt: skip
    return Layout(processor, axes, tuple(products), memory_hops)

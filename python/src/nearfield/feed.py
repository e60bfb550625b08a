"""Frames of a ``nearfieldd`` over the network, through ZeroMQ (extra ``zmq``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from nearfield._layout import TYPES, Array, Axis, Column, Layout, Product

_MAGIC = b"NFFRING1"
_FORMAT = 3


@dataclasses.dataclass(frozen=True)
class FeedFrame:
    """A frame from the network; members as of :class:`nearfield.Frame`."""

    products: dict[str, Array]
    layout: Layout
    sequence: int
    first_bit_time: int
    flags: int
    epoch: int
    capture_tai_ns: int

    def to_xarray(self) -> xr.Dataset:
        """Return the products with coordinates and units."""
        return self.layout.to_dataset(self.products).assign_attrs(
            sequence=self.sequence, first_bit_time=self.first_bit_time, flags=self.flags, epoch=self.epoch,
            capture_tai_ns=self.capture_tai_ns)  # fmt: skip


class Feed:
    """A subscriber that keeps the newest frame alone.

    Parameters
    ----------
    endpoint : str
        As ``daemon.publish.zmq.endpoint`` has it: ``"tcp://host:7231"``.
    server_key, public_key, secret_key : str, optional
        CURVE keys in Z85, where the daemon asks for them: all three or none.

    Raises
    ------
    ValueError
        Where one or two keys are given.
    """

    def __init__(
        self, endpoint: str, *, server_key: str | None = None, public_key: str | None = None, secret_key: str | None = None
    ) -> None:
        import zmq

        keys = {"server_key": server_key, "public_key": public_key, "secret_key": secret_key}
        missing = [name for name, key in keys.items() if key is None]
        if missing and len(missing) < len(keys):
            raise ValueError(f"expected server_key, public_key and secret_key, or none of them, found no {', '.join(missing)}")
        socket: Any = zmq.Context.instance().socket(zmq.SUB)
        self._socket = socket
        self._socket.setsockopt(zmq.CONFLATE, 1)
        self._socket.setsockopt(zmq.SUBSCRIBE, b"")
        if server_key is not None and public_key is not None and secret_key is not None:
            socket.curve_serverkey = server_key.encode()
            socket.curve_publickey = public_key.encode()
            socket.curve_secretkey = secret_key.encode()
        self._socket.connect(endpoint)

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave."""
        self._socket.close(linger=0)

    def next(self, timeout_s: float | None = None) -> FeedFrame | None:
        """Return the next frame; None where none came in time (default: wait for ever)."""
        if not self._socket.poll(None if timeout_s is None else int(timeout_s * 1e3)):
            return None
        return parse(self._socket.recv())

    def __iter__(self) -> Iterator[FeedFrame]:
        """Yield every next frame."""
        while True:
            frame = self.next(0.2)  # so that Ctrl-C is seen
            if frame is not None:
                yield frame


def _number(message: bytes, dtype: str, offset: int) -> int:
    return int(np.frombuffer(message, dtype, 1, offset)[0])


def _numbers(message: bytes, count: int, offset: int) -> list[int]:
    return [int(value) for value in np.frombuffer(message, "<u4", count, offset)]


def _text(message: bytes, offset: int) -> str:
    return message[offset : message.index(b"\0", offset)].decode()


def _axis(message: bytes, at: int) -> Axis:
    name, unit, size, components, values = _numbers(message, 5, at)
    numbers = np.frombuffer(message, "<f8", size * components, values).copy()
    shape = (size,) if components == 1 else (size, components)
    return Axis(_text(message, name), _text(message, unit), numbers.reshape(shape))


def parse(message: bytes) -> FeedFrame:
    """Take a message apart (docs/reference/ring.md).

    Raises
    ------
    ValueError
        Where it is no frame of format 3.
    """
    try:
        return _parsed(message)
    except (ValueError, IndexError) as error:
        raise ValueError(f"expected a frame of format {_FORMAT}, found {len(message)} bytes that are none: {error}") from error


def _parsed(message: bytes) -> FeedFrame:
    if message[:8] != _MAGIC or _number(message, "<u4", 8) != _FORMAT:
        raise ValueError("another beginning")
    slot = _number(message, "<u4", 12)
    _, _, axis_bytes, product_bytes, column_bytes = _numbers(message, 5, 68)
    processor, axis_count, axes_at, product_count, products_at = _numbers(message, 5, 88)
    axes = tuple(_axis(message, axes_at + axis_bytes * i) for i in range(axis_count))
    products, arrays = [], {}
    for at in range(products_at, products_at + product_bytes * product_count, product_bytes):
        name, quantity, unit, form, type_, count, indices, columns, columns_at = _numbers(message, 9, at)
        of_product = tuple(axes[i] for i in _numbers(message, count, indices))
        of_table = []
        for column in range(columns_at, columns_at + column_bytes * columns, column_bytes):
            column_name, column_unit, column_type = _numbers(message, 3, column)
            of_table.append(Column(_text(message, column_name), _text(message, column_unit), TYPES[column_type],
                                   _number(message, "<u8", column + 16)))  # fmt: skip
        product = Product(_text(message, name), _text(message, quantity), _text(message, unit), form, TYPES[type_], of_product,
                          tuple(of_table), _number(message, "<u8", at + 40))  # fmt: skip
        begin = slot + _number(message, "<u8", at + 48)
        products.append(product)
        arrays[product.name] = product.read(message[begin : begin + product.bytes])
    return FeedFrame(products=arrays, layout=Layout(_text(message, processor), axes, tuple(products)),
                     sequence=_number(message, "<u8", slot + 16), first_bit_time=_number(message, "<u8", slot + 24),
                     flags=_number(message, "<u4", slot + 88), epoch=_number(message, "<u8", slot + 112),
                     capture_tai_ns=_number(message, "<i8", slot + 64))  # fmt: skip

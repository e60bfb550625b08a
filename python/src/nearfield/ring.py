"""Frames of a running ``nearfieldd`` on the same host, through shared memory."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any

import xarray as xr

from nearfield import _library
from nearfield._layout import Array, Layout, layout_of

_OK, _NONE, _TOO_OLD, _TIMEOUT, _RETIRED, _GONE = 0, 1, 2, 3, 6, 7
_MEMORY_UNKNOWN = -2
_SLICE_S = 0.2  # the longest wait in the C library, which sees no Ctrl-C
_LONGEST_NS = 2**63 - 1


class RingError(Exception):
    """A ring that cannot be read; ``status`` is an ``nf_ring_status``."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.message = message
        self.status = status

    def __reduce__(self) -> tuple[type[RingError], tuple[str, int]]:
        return type(self), (self.message, self.status)  # by default it is made of the message alone


class RingEnded(RingError):
    """The ring ended or its writer is gone: :meth:`Ring.reopen`."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """A frame of one processor.

    Attributes
    ----------
    products : dict of str to numpy.ndarray
        Arrays over their axes, such as ``images`` complex64 ``[plane, frequency, row, column]``; tables as structured
        arrays of their rows.
    number : int
        In this ring, from 1.
    sequence : int
        Hops since the stream began, lost ones counted.
    first_bit_time, stream_id, epoch, missing_bit_times, shed_hops, valid_microphones, flags : int
        As docs/reference/ring.md has them.
    capture_tai_ns : int
        When the window's last bit was in the host's memory.
    age_s : float
        From then to the end of the copy.
    skipped : int
        Frames before this one that :meth:`Ring.next` did not hand out.
    group_delay_ns : int
        From the window's centre to its last bit.
    microphones : int
        Those that could be valid; 0 where an older daemon does not say it.
    missing_information : float
        Share of an image's information that those which are not valid take along, 0 to 1 (docs/how/sonah.md).
    """

    products: dict[str, Array]
    layout: Layout
    number: int
    sequence: int
    first_bit_time: int
    stream_id: int
    epoch: int
    missing_bit_times: int
    shed_hops: int
    valid_microphones: int
    flags: int
    capture_tai_ns: int
    age_s: float
    skipped: int = 0
    group_delay_ns: int = 0
    microphones: int = 0
    missing_information: float = 0.0

    def __getitem__(self, name: str) -> Array:
        return self.products[name]

    def to_xarray(self) -> xr.Dataset:
        """Return the products with coordinates and units."""
        dataset = self.layout.to_dataset(self.products)
        return dataset.assign_attrs(sequence=self.sequence, first_bit_time=self.first_bit_time, flags=self.flags,
                                    epoch=self.epoch, capture_tai_ns=self.capture_tai_ns)  # fmt: skip


class Ring:
    """The ring of one processor; belongs to one thread at a time.

    Parameters
    ----------
    socket : path, optional
        Default: where ``nearfieldd`` listens.
    processor : str, optional
        Default: the first one.
    products : iterable of str, optional
        These alone are copied; default: all.
    check_crc : bool
        Also compare the CRC of each frame.

    Raises
    ------
    RingError
        Where nothing listens, or this user is not permitted.

    Examples
    --------
    >>> with Ring(products=["images"]) as ring:              # doctest: +SKIP
    ...     image = ring.latest().products["images"][0, 0]
    """

    def __init__(
        self,
        socket: str | os.PathLike[str] | None = None,
        processor: str | None = None,
        products: Iterable[str] | None = None,
        *,
        check_crc: bool = False,
    ) -> None:
        self._ring: Any = None
        self._library = _library.ring()
        self._ffi = _library.ffi()
        made = self._ffi.new("nf_ring **")
        path = self._ffi.NULL if socket is None else os.fspath(socket).encode()
        name = self._ffi.NULL if processor is None else processor.encode()
        self._require(self._library.nf_ring_open_processor(path, name, made))
        self._ring = made[0]
        if products is not None:
            self.select(products)
        self._library.nf_ring_check_crc(self._ring, int(check_crc))
        self._frame = self._ffi.new("nf_frame *")
        self._skipped = self._ffi.new("uint64_t *")
        self._read_layout()

    def __enter__(self) -> Ring:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a second time does nothing."""
        if getattr(self, "_ring", None) is not None:
            self._library.nf_ring_close(self._ring)
            self._ring = None

    @property
    def layout(self) -> Layout:
        """Axes and products of the processor."""
        return self._layout

    def select(self, products: Iterable[str] | None) -> None:
        """From now on copy these products alone; None: all."""
        if products is None:
            self._require(self._library.nf_ring_select(self._handle(), self._ffi.NULL, 0))
            return
        names = [self._ffi.new("char[]", name.encode()) for name in products]
        self._require(self._library.nf_ring_select(self._handle(), self._ffi.new("const char *[]", names), len(names)))

    def latest(self, max_age_s: float | None = None) -> Frame | None:
        """Return the newest frame without waiting; None where there is none yet, or none so young.

        Parameters
        ----------
        max_age_s : float, optional
            Since the window's last bit was in the host's memory.
        """
        most_ns = _LONGEST_NS if max_age_s is None else int(max_age_s * 1e9)
        status = self._library.nf_ring_read_latest(self._handle(), most_ns, self._frame)
        return None if status in (_NONE, _TOO_OLD) else self._copied(status, 0)

    def next(self, timeout_s: float | None = None) -> Frame | None:
        """Return the next frame after the one read last, and wait for it; None where none came in time.

        Parameters
        ----------
        timeout_s : float, optional
            Default: for ever.
        """
        end_s = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = max(0.0, end_s - time.monotonic())
            status = self._library.nf_ring_read_next(self._handle(), int(min(left_s, _SLICE_S) * 1e9), self._frame, self._skipped)
            if status != _TIMEOUT:
                return self._copied(status, int(self._skipped[0]))
            if left_s <= _SLICE_S:
                return None

    def __iter__(self) -> Iterator[Frame]:
        """Yield every next frame, until the ring ends."""
        while True:
            try:
                frame = self.next()
            except RingEnded:
                return
            if frame is not None:  # always: this waits for ever
                yield frame

    def reopen(self) -> None:
        """Connect again, after :class:`RingEnded`; the layout may be another one."""
        self._require(self._library.nf_ring_reopen(self._handle()))
        self._read_layout()

    def _handle(self) -> Any:
        if self._ring is None:
            raise RingError("the ring is closed", _GONE)
        return self._ring

    def _require(self, status: int) -> None:
        if status != _OK:
            kind = RingEnded if status in (_RETIRED, _GONE) else RingError
            raise kind(_library.text(self._library.nf_ring_status_text(status)), int(status))

    def _read_layout(self) -> None:
        layout = self._library.nf_ring_get_layout(self._ring)
        memory_hops = int(layout.memory_hops)
        self._layout = layout_of(_library.text(layout.processor), layout, None if memory_hops == _MEMORY_UNKNOWN else memory_hops)

    def _copied(self, status: int, skipped: int) -> Frame:
        self._require(status)
        frame = self._frame
        products = {}
        for i, product in enumerate(self._layout.products):
            values = self._library.nf_frame_product(self._ring, frame, i)
            if values != self._ffi.NULL:
                products[product.name] = product.read(self._ffi.buffer(values, product.bytes))
        microphones, missing = self._ffi.new("uint32_t *"), self._ffi.new("float *")
        self._library.nf_ring_microphones(self._ring, microphones, missing)
        return Frame(products=products, layout=self._layout, number=int(frame.number), sequence=int(frame.sequence),
                     first_bit_time=int(frame.first_bit_time), stream_id=int(frame.stream_id), epoch=int(frame.epoch),
                     missing_bit_times=int(frame.missing_bit_times), shed_hops=int(frame.shed_hops),
                     valid_microphones=int(frame.valid_microphones), flags=int(frame.flags),
                     capture_tai_ns=int(frame.capture_tai_ns), age_s=frame.age_ns * 1e-9, skipped=skipped,
                     group_delay_ns=int(frame.group_delay_ns), microphones=int(microphones[0]),
                     missing_information=float(missing[0]))  # fmt: skip

"""Frames, states and alarms out of Redis Streams: bounded there, and pulled from here."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import xarray as xr

from nearfield import tai
from nearfield._layout import Layout
from nearfield.bridge import checked
from nearfield.bridge._broker import Redis
from nearfield.bridge.entries import PREFIX, BridgedFrame, Keys, arrays_key, dataset_of, frame_of, is_live, is_name, layout_of_header
from nearfield.errors import DataError, NoInputError

_LOG = logging.getLogger("nearfield.bridge")
_MOST_ARRAYS = 1000
_MOST_PROCESSORS = 32
_STATE_BYTES = 1_000_000
_TEXT_LENGTH = 4096


class Headers:
    """The layouts that entries of an array name, asked for once each."""

    def __init__(self, client: Any, keys: Keys) -> None:
        self._client, self._keys = client, keys
        self._known: dict[bytes, Layout] = {}

    def __getitem__(self, identity: bytes) -> Layout:
        if identity not in self._known:
            with checked.expecting(f"{self._keys.array}: expected the id of a header, found {identity[:40]!r}"):
                name = checked.words(identity.decode())
            text = self._client.get(self._keys.header(name))
            if text is None:
                raise DataError(f"{self._keys.array}: expected the header {name} that an entry names, found none", 65)
            if len(self._known) > 64:
                self._known.clear()
            self._known[identity] = layout_of_header(text)
        return self._known[identity]


def arrays(client: Any = None, prefix: str = PREFIX) -> list[str]:
    """Return the names of all arrays that a bridge has written of."""
    client = Redis().connect() if client is None else client
    names = (name.decode(errors="replace") for name in client.smembers(arrays_key(prefix)) if isinstance(name, bytes))
    return sorted(name for name in names if is_name(name))[:_MOST_ARRAYS]


def newest_state(client: Any, keys: Keys) -> dict[str, Any] | None:
    """Return an array's newest state with ``is_live`` and ``age_s`` beside it; None where there is none.

    Raises
    ------
    DataError
        Where the newest entry is no state.
    """
    found = client.xrevrange(keys.state, count=1)
    if not found:
        return None
    with checked.expecting(f"{keys.array}: expected a state of a bridge, found another entry"):
        state = _state(found[0][1][b"json"])
        offset_s = checked.whole_number(state["tai_offset_s"], -(2**31), 2**31 - 1)
        utc_ns = tai.utc_ns(checked.whole_number(state["tai_ns"], -(2**63), 2**63 - 1), offset_s)
        state["age_s"] = (tai.now_ns() - utc_ns) * 1e-9
        state["is_live"] = is_live(utc_ns, 5.0)
    return state


def _state(text: Any) -> dict[str, Any]:
    """Return a state whose values are of the kinds that pages and programs expect; what they do not know stays, where JSON has it."""
    state = checked.json_object(text, _STATE_BYTES)
    checked.require_finite(state)
    state["processors"] = [name for name in state.get("processors", []) if is_name(name)][:_MOST_PROCESSORS]
    state["state"] = checked.words(state.get("state", ""))
    for name in ("text", "page"):
        if len(str(state.get(name) or "")) > _TEXT_LENGTH or not isinstance(state.get(name), str | None):
            raise ValueError(f"{name}: expected a text of at most {_TEXT_LENGTH} characters")
    for name in ("frame_rate_hz", "hop_rate_hz", "shed_hops", "microphones_bad"):
        checked.number_or_none(state.get(name))
    if (state.get("frame_rate_hz") is None) != (state.get("hop_rate_hz") is None):
        raise ValueError("expected frame_rate_hz and hop_rate_hz, found one of them")
    checked.number_or_none((state.get("bit_times") or {}).get("missing"))
    for limit in state.get("limits") or []:
        checked.words(limit["name"]), checked.words(limit["state"])
    clock = state.get("clock")
    if clock is not None and not (isinstance(clock["synchronised"], bool) and checked.number_or_none(clock["most_error_s"]) is not None):
        raise ValueError("clock: expected synchronised and most_error_s")
    return state


class Reader:
    """Frames of one processor of one array.

    Parameters
    ----------
    array : str
    processor : str, optional
        Default: the first of the array's newest state.
    client : redis.Redis, optional
        Default: a new one (:class:`nearfield.bridge.Redis`).

    Raises
    ------
    NoInputError
        Where the broker has nothing of this array.
    """

    def __init__(self, array: str, processor: str | None = None, *, client: Any = None, prefix: str = PREFIX) -> None:
        self.keys = Keys(array, prefix)
        self._client = Redis().connect() if client is None else client
        if processor is None:
            state = newest_state(self._client, self.keys)
            if state is None or not state.get("processors"):
                raise NoInputError(f"{array}: expected a state of this array in the broker, found none; does its bridge run?", 66)
            processor = str(state["processors"][0])
        self.processor = processor
        self._headers = Headers(self._client, self.keys)
        self._last = b"$"

    def _frame(self, entry: tuple[bytes, dict[bytes, bytes]]) -> BridgedFrame:
        return frame_of(self.keys.array, entry[0], entry[1], self._headers[entry[1].get(b"header", b"")])

    def latest(self, max_age_s: float | None = None) -> BridgedFrame | None:
        """Return the newest frame; None where there is none, or none so young."""
        found = self._client.xrevrange(self.keys.frames(self.processor), count=1)
        if not found:
            return None
        self._last = found[0][0]
        frame = self._frame(found[0])
        return frame if max_age_s is None or frame.is_live(max_age_s) else None

    def next(self, timeout_s: float = 1.0) -> BridgedFrame | None:
        """Return the next frame after the one read last; None where none came in time. At most 1.5 s are waited at once."""
        wait_ms = max(1, int(min(timeout_s, 1.5) * 1e3))
        found = self._client.xread({self.keys.frames(self.processor): self._last}, count=1, block=wait_ms)
        if not found:
            return None
        entry = found[0][1][0]
        self._last = entry[0]
        return self._frame(entry)

    def newest(self, count: int) -> list[BridgedFrame]:
        """Return the newest frames that the broker still has and that have the newest one's layout, oldest first.

        Entries that are no frames are skipped, with a warning.
        """
        found: Sequence[Any] = self._client.xrevrange(self.keys.frames(self.processor), count=count)
        frames: list[BridgedFrame] = []
        damaged: list[str] = []
        for entry in found:
            try:
                frame = self._frame(entry)
            except DataError as error:
                damaged.append(error.message)
                continue
            if frames and frame.layout is not frames[0].layout:
                break
            frames.append(frame)
        if damaged:
            _LOG.warning("%d damaged entries passed over, the newest: %s", len(damaged), damaged[0])
        return frames[::-1]


def read(array: str, processor: str | None = None, *, count: int = 1, client: Any = None, prefix: str = PREFIX) -> xr.Dataset:
    """Return an array's newest frames, over ``time``.

    Parameters
    ----------
    array : str
    processor : str, optional
        Default: the first one.
    count : int
        So many at most: the broker keeps some hundreds, and a change of the layout ends them.
    client : redis.Redis, optional
        Default: that of NEARFIELD_REDIS_URL.

    Returns
    -------
    xarray.Dataset
        ``images`` complex64 ``[time, planes_m, frequencies_hz, y_m, x_m]`` and the processor's other products, with
        ``sequence``, ``flags``, ``capture_tai_ns``, ``clock_error_ns`` ... over ``time`` (UTC).

    Raises
    ------
    NoInputError
        Where the broker has no frame of it.
    """
    reader = Reader(array, processor, client=client, prefix=prefix)
    frames = reader.newest(count)
    if not frames:
        raise NoInputError(f"{array}: expected frames of {reader.processor} in the broker, found none", 66)
    return dataset_of(frames)

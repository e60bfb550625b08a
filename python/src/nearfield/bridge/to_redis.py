"""``nearfield bridge redis``: products of a running daemon into Redis Streams."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import math
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from nearfield import tai
from nearfield._layout import Layout
from nearfield.bridge import checked
from nearfield.bridge._broker import Backoff
from nearfield.bridge.entries import HEADER_LIFE_S, Keys, arrays_key, fields_of, header_of, identity_of, order_of
from nearfield.bridge.state import Counts, StateSource, clock_or_none, event_ids
from nearfield.errors import DataError
from nearfield.ring import Frame, Ring, RingEnded, RingError

_LOG = logging.getLogger("nearfield.bridge")
ALL_HZ = 0.0  # every frame


@dataclasses.dataclass(frozen=True)
class Options:
    """Settings of a bridge: the frames that it sends.

    Parameters
    ----------
    keys : Keys
    ring, control : str
        Sockets of the daemon; ``ring`` None: its default.
    hz : dict of str to float
        Frames a second at most, by processor, "" for all others; 0 is every frame.
    products : dict of str to tuple of str
        Sent alone, by processor; others send all.
    length, state_length : int
        Entries that streams of frames, and of states and alarms, are cut to, roughly.
    """

    keys: Keys
    ring: str | None
    control: str
    hz: dict[str, float]
    products: dict[str, tuple[str, ...]]
    length: int = 256
    state_length: int = 600


class _Pump(threading.Thread):
    """Carries one processor's frames: reads the ring no faster than asked, and has nothing queued.

    A broker that is slow or away holds up this thread alone; it then goes on with the ring's newest frame. The daemon knows one
    more reader, which it never waits for.
    """

    def __init__(self, processor: str, options: Options, connect: Callable[[], Any], counts: Counts, run: str, stop: threading.Event) -> None:
        super().__init__(name=f"nf-{processor}", daemon=True)
        self._processor, self._options, self._counts, self._run, self._stop_event = processor, options, counts, run, stop
        self._client = connect()
        self._backoff = Backoff()
        self._hz = options.hz.get(processor, options.hz.get("", 10.0))
        self._n = 0
        self._header: tuple[Layout, str, str] | None = None
        self._header_s = -math.inf  # when it was written last

    def run(self) -> None:
        backoff = Backoff(1.0)
        while not self._stop_event.is_set():
            try:
                with Ring(self._options.ring, self._processor, self._options.products.get(self._processor)) as ring:
                    backoff.worked()
                    self._carry(ring)
            except RingError as error:
                if not isinstance(error, RingEnded):
                    self._counts.say(f"ring of {self._processor}: {error.message}")
                backoff.failed()
                self._stop_event.wait(backoff.left_s())

    def _carry(self, ring: Ring) -> None:
        due_s = time.monotonic()
        last = 0
        while not self._stop_event.is_set():
            if self._hz == ALL_HZ:
                frame = ring.next(0.2)
                if frame is not None and frame.skipped:
                    self._counts.add(self._processor, "skipped", frame.skipped)
            else:
                due_s = max(due_s + 1.0 / self._hz, time.monotonic() - 1.0 / self._hz)
                self._stop_event.wait(max(0.0, due_s - time.monotonic()))
                frame = ring.latest()
                if frame is None or frame.number == last:
                    frame = ring.next(0.2)
            if frame is not None and frame.number != last:
                last = frame.number
                self._send(frame)

    def _send(self, frame: Frame) -> None:
        self._n += 1
        if self._backoff.left_s() > 0.0:
            self._counts.add(self._processor, "dropped")
            return
        keys = self._options.keys
        if self._header is None or self._header[0] is not frame.layout:
            text = header_of(keys.array, frame.layout, tuple(frame.products))
            self._header = (frame.layout, text, identity_of(text))
            self._header_s = -math.inf
        _, header, identity = self._header
        pipe = self._client.pipeline(transaction=False)
        now_s = time.monotonic()
        has_header = now_s - self._header_s > HEADER_LIFE_S / 100
        if has_header:
            pipe.set(keys.header(identity), header, ex=HEADER_LIFE_S)
        pipe.xadd(keys.frames(self._processor), fields_of(frame, identity, self._run, self._n, clock_or_none()),
                  maxlen=self._options.length, approximate=True)  # fmt: skip
        if tried(pipe.execute, self._backoff, self._counts):
            self._header_s = now_s if has_header else self._header_s
            self._counts.add(self._processor, "published")
        else:
            self._header_s = -math.inf  # the broker may come back without it
            self._counts.add(self._processor, "dropped")


def tried(send: Callable[[], Any], backoff: Backoff, counts: Counts) -> bool:
    """Return whether a call of the broker worked; what went wrong is logged once, and tried again later."""
    import redis

    try:
        send()
    except redis.RedisError as error:
        text = f"the broker does not take it: {error}"
        counts.say(text)
        if not backoff.has_failed:  # once for each absence
            _LOG.warning("%s", text)
        backoff.failed()
        return False
    if backoff.has_failed:
        _LOG.info("the broker takes it again")
    backoff.worked()
    return True


def run(options: Options, connect: Callable[[], Any], stop: threading.Event) -> None:
    """Bridge until ``stop`` is set.

    The daemon's processors are those of its status, looked at each second; a broker or daemon that is away is waited for.
    """
    counts = Counts()
    source = StateSource(options.keys.array, options.control)
    name = secrets.token_hex(6)
    client = connect()
    backoff = Backoff()
    pumps: dict[str, _Pump] = {}
    newest_event: tuple[int, int] | None = None
    known: set[str] = set()  # processors when the ring was last asked for the first one
    while not stop.is_set():
        begun_s = time.monotonic()
        state = source.state()
        if set(source.processors) != known:
            with contextlib.suppress(RingError), Ring(options.ring) as ring:
                source.first, known = ring.layout.processor, set(source.processors)
                state = source.state()
        for processor in source.processors:
            if processor not in pumps:
                pumps[processor] = _Pump(processor, options, connect, counts, name, stop)
                pumps[processor].start()
        if backoff.left_s() == 0.0:
            state["bridge"] = counts.all() | {"run": name}
            if newest_event is None:
                newest_event = _newest_event(client, options.keys)
            events = [] if newest_event is None else [one for one in event_ids(source.events()) if one[0] > newest_event]
            pipe = client.pipeline(transaction=False)
            pipe.sadd(arrays_key(options.keys.prefix), options.keys.array)
            pipe.xadd(options.keys.state, {"json": json.dumps(state)}, maxlen=options.state_length, approximate=True)
            for (ms, part), event in events:
                fields = {"json": json.dumps(event | {"array": options.keys.array, "tai_offset_s": state["tai_offset_s"]})}
                pipe.xadd(options.keys.alarms, fields, id=f"{ms}-{part}", maxlen=options.state_length, approximate=True)
            if tried(pipe.execute, backoff, counts):
                if events:
                    newest_event = events[-1][0]
            else:
                newest_event = None  # a broker that lost its memory gets all events again
        stop.wait(max(0.0, 1.0 - (time.monotonic() - begun_s)))
    for pump in pumps.values():
        pump.join(5.0)


def _newest_event(client: Any, keys: Keys) -> tuple[int, int] | None:
    """Return the number of the newest event that the broker has; None where it does not answer."""
    import redis

    try:
        found = client.xrevrange(keys.alarms, count=1)
        if not found:
            return 0, 0
        with checked.expecting(f"{keys.alarms}: expected the newest event, found something else"):
            newest = order_of(found[0][0].decode())
    except (redis.RedisError, DataError):
        return None
    if newest[0] > tai.now_ns() // 1_000_000 + 86_400_000:
        _LOG.warning("%s: the newest event is of the future: no broker takes another after it; remove it (XDEL, XSETID)", keys.alarms)
    return newest

"""State of an array that its bridge writes once a second: the daemon's condition in short, the clock, and the bridge's own counts."""

from __future__ import annotations

import threading
import time
from typing import Any

from nearfield import tai
from nearfield.bridge._control import request
from nearfield.errors import NearfieldError

_OF_STATUS = (
    "state", "version", "source", "epoch", "frames", "frame_rate_hz", "hop_rate_hz", "age_ms", "bit_times", "shed_hops", "losses",
    "limits",
)  # fmt: skip


def clock_or_none() -> tai.ClockState | None:
    """Return the state of this host's clock; None where the kernel refuses."""
    try:
        return tai.clock()
    except tai.ClockError:
        return None


class Counts:
    """Counts of a bridge's threads; the lock guards the numbers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[str, dict[str, int]] = {}
        self._text = ""

    def add(self, processor: str, what: str, number: int = 1) -> None:
        """Count: ``published``, ``dropped`` (the broker was away or refused), ``skipped`` (overwritten in the ring)."""
        with self._lock:
            of_processor = self._numbers.setdefault(processor, {"published": 0, "dropped": 0, "skipped": 0})
            of_processor[what] = of_processor.get(what, 0) + number

    def say(self, text: str) -> None:
        """Note the newest trouble in words."""
        with self._lock:
            self._text = text

    def all(self) -> dict[str, Any]:
        """Return a copy."""
        with self._lock:
            return {"processors": {name: dict(numbers) for name, numbers in self._numbers.items()}, "text": self._text}


class StateSource:
    """States of one array, and its alarms.

    Parameters
    ----------
    array : str
    control : str
        Path of the daemon's control socket.
    """

    def __init__(self, array: str, control: str) -> None:
        self._array, self._control = array, control
        self.processors: list[str] = []
        self.first = ""  # the processor whose socket has no name of its own, listed first

    def state(self) -> dict[str, Any]:
        """Return the present state; of a daemon that does not answer ``state`` is "away" and ``text`` says why."""
        clock = clock_or_none()
        state: dict[str, Any] = {"array": self._array, "state": "away", "text": "", "processors": self.processors, "page": None}
        try:
            status = request(self._control, "status")
            self.processors = state["processors"] = sorted(status.get("devices", {}), key=lambda name: (name != self.first, name))
            state |= {name: status[name] for name in _OF_STATUS if name in status}
            state["microphones_bad"] = len((status.get("microphones") or {}).get("bad", []))
            state["page"] = (status.get("page") or {}).get("url")
        except NearfieldError as error:
            state["text"] = error.message
        state["tai_ns"] = time.clock_gettime_ns(time.CLOCK_TAI)
        state["tai_offset_s"] = clock.tai_offset_s if clock is not None else tai.tai_offset_s()
        state["clock"] = None if clock is None else {
            "synchronised": clock.is_synchronised, "most_error_s": clock.most_error_s, "likely_error_s": clock.likely_error_s,
        }  # fmt: skip
        return state

    def events(self) -> list[dict[str, Any]]:
        """Return the newest events of limits, oldest first; none where the daemon does not answer."""
        try:
            return list(request(self._control, "events")["events"])
        except NearfieldError:
            return []


def event_ids(events: list[dict[str, Any]]) -> list[tuple[tuple[int, int], dict[str, Any]]]:
    """Return events with numbers that order them, the same at each call: ms of TAI, and ns of it with a count of equal ones."""
    numbered = []
    equal: dict[int, int] = {}
    for event in sorted(events, key=lambda event: int(event["tai_ns"])):
        tai_ns = int(event["tai_ns"])
        count = equal[tai_ns] = equal.get(tai_ns, -1) + 1
        numbered.append(((tai_ns // 1_000_000, tai_ns % 1_000_000 * 1000 + min(count, 999)), event))
    return numbered

"""Time across arrays: how good this host's clock is, and frames of several arrays that belong to one instant."""

from __future__ import annotations

import bisect
import ctypes
import dataclasses
import functools
import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

_STA_UNSYNC = 0x0040
_SECOND_NS = 1_000_000_000


class ClockError(Exception):
    """Clocks that are not good enough for what was asked."""


class _Timeval(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_usec", ctypes.c_long)]


class _Timex(ctypes.Structure):
    """``struct timex`` of <sys/timex.h>."""

    _fields_ = [
        ("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long), ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long), ("status", ctypes.c_int), ("constant", ctypes.c_long), ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long), ("time", _Timeval), ("tick", ctypes.c_long), ("ppsfreq", ctypes.c_long),
        ("jitter", ctypes.c_long), ("shift", ctypes.c_int), ("stabil", ctypes.c_long), ("jitcnt", ctypes.c_long),
        ("calcnt", ctypes.c_long), ("errcnt", ctypes.c_long), ("stbcnt", ctypes.c_long), ("tai", ctypes.c_int),
        ("padding", ctypes.c_int * 11),
    ]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ClockState:
    """State of this host's clock, from the kernel.

    Attributes
    ----------
    is_synchronised : bool
        Whether a program (chrony, phc2sys, systemd-timesyncd) sets it.
    most_error_s : float
        Bound of its error against UTC; grows by 500 us a second since it was set last.
    likely_error_s : float
        As that program estimates it.
    tai_offset_s : int
        CLOCK_TAI less CLOCK_REALTIME: 37 since 2017, 0 where no program has told the kernel.
    """

    is_synchronised: bool
    most_error_s: float
    likely_error_s: float
    tai_offset_s: int

    @property
    def error_ns(self) -> int:
        """The bound in ns, -1 where the clock is not synchronised and has none."""
        return math.ceil(self.most_error_s * 1e9) if self.is_synchronised else -1


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def clock() -> ClockState:
    """Ask the kernel (adjtimex(2), which sets nothing here and needs no right).

    Raises
    ------
    ClockError
        Where it refuses, as in a service with ``ProtectClock=yes``.
    """
    state = _Timex()
    if _libc().adjtimex(ctypes.byref(state)) < 0:
        raise ClockError(f"adjtimex: {os.strerror(ctypes.get_errno())}")
    return ClockState((int(state.status) & _STA_UNSYNC) == 0, int(state.maxerror) * 1e-6, int(state.esterror) * 1e-6, int(state.tai))


def now_ns() -> int:
    """Return UTC by this host's clock, ns since 1970."""
    return time.time_ns()


def tai_offset_s() -> int:
    """Return CLOCK_TAI less CLOCK_REALTIME of this host, which anybody may ask."""
    return round((time.clock_gettime_ns(time.CLOCK_TAI) - time.time_ns()) * 1e-9)


def utc_ns(capture_tai_ns: int, tai_offset_s: int) -> int:
    """Return a TAI stamp of a host as UTC.

    Hosts whose kernels have not been told TAI - UTC (0 in place of 37) stamp TAI as UTC: only with the offset of the host that
    made them are stamps of several hosts comparable.
    """
    return capture_tai_ns - tai_offset_s * _SECOND_NS


class Stamped(Protocol):
    """Members of a frame that :func:`align` needs: :class:`nearfield.bridge.BridgedFrame` has them."""

    @property
    def capture_tai_ns(self) -> int:
        """When the window's last bit was in memory."""

    @property
    def tai_offset_s(self) -> int:
        """TAI - UTC of the clock that made the stamp."""

    @property
    def group_delay_ns(self) -> int:
        """From the window's centre to its last bit."""

    @property
    def clock_error_ns(self) -> int:
        """Bound of the clock's error, -1 where there is none."""


def centre_utc_ns(frame: Stamped) -> int:
    """Return when the window's centre was, UTC."""
    return utc_ns(frame.capture_tai_ns, frame.tai_offset_s) - frame.group_delay_ns


@dataclasses.dataclass(frozen=True)
class Aligned:
    """Frames of several arrays at one instant.

    Attributes
    ----------
    utc_ns : int
        Mean of the centres of their windows.
    frames : dict of str to frame
        By array.
    spread_s : float
        Between the first and the last centre, as they are stamped.
    error_s : float
        Bound of the true difference between any two: their stamps' difference and what their clocks may be wrong by.
    """

    utc_ns: int
    frames: dict[str, Any]
    spread_s: float
    error_s: float


def _check(frames: Mapping[str, Sequence[Stamped]], within_s: float, stamp_s: float, assumed_s: float | None) -> dict[str, float]:
    worst = {}
    for name, of_array in frames.items():
        errors_s = []
        for frame in of_array:
            if frame.clock_error_ns >= 0:
                errors_s.append(frame.clock_error_ns * 1e-9 + stamp_s)
            elif assumed_s is not None:
                errors_s.append(assumed_s + stamp_s)
            else:
                raise ClockError(f"{name}: expected frames of a synchronised clock, found one without a bound of its error")
        worst[name] = max(errors_s, default=0.0)
    largest_s = sorted(worst.values())[-2:]
    if len(largest_s) == 2 and sum(largest_s) > within_s:
        words = ", ".join(f"{name} {1e3 * error_s:.3f} ms" for name, error_s in worst.items())
        raise ClockError(f"expected clocks whose errors allow {1e3 * within_s:.3f} ms, found bounds of {words}")
    return worst


def align(
    frames: Mapping[str, Sequence[Any]],
    within_s: float,
    *,
    stamp_error_s: float = 1e-3,
    assumed_error_s: float | None = None,
) -> list[Aligned]:
    """Put frames of several arrays together whose windows' centres are, clocks' errors included, at most ``within_s`` apart.

    Parameters
    ----------
    frames : mapping of str to sequence of frames
        By array, each :class:`Stamped`, in any order.
    within_s : float
        The largest true difference that is accepted.
    stamp_error_s : float
        What a stamp may be late by beside its clock's error: the time from a bit's sampling until the host has seen its packet.
    assumed_error_s : float, optional
        Stands in for the bound of clocks that have none: your word for them, such as one common host's 0.

    Returns
    -------
    list of Aligned
        In order of time, one frame of each array; each frame is used once, and those that fit nothing are left out.

    Raises
    ------
    ClockError
        Where errors of clocks alone exceed ``within_s``, or one has no bound and none is assumed.
    ValueError
        Of fewer than two arrays, or a bound that is none.
    """
    if len(frames) < 2:
        raise ValueError(f"expected frames of two arrays or more, found {len(frames)}")
    if not within_s > 0.0:
        raise ValueError(f"within_s: expected > 0, found {within_s}")
    _check(frames, within_s, stamp_error_s, assumed_error_s)

    def error_s(frame: Stamped) -> float:
        return stamp_error_s + (frame.clock_error_ns * 1e-9 if frame.clock_error_ns >= 0 else float(assumed_error_s or 0.0))

    sorted_frames = {name: sorted(of_array, key=centre_utc_ns) for name, of_array in frames.items()}
    times = {name: [centre_utc_ns(frame) for frame in of_array] for name, of_array in sorted_frames.items()}
    first = min(frames, key=lambda name: len(frames[name]))  # the slowest array leads
    used: dict[str, int] = {name: -1 for name in frames}
    found = []
    for frame, at_ns in zip(sorted_frames[first], times[first], strict=True):
        chosen = {}
        places = {}
        for name, of_array in times.items():
            after = bisect.bisect_left(of_array, at_ns)
            near = [i for i in (after - 1, after) if used[name] < i < len(of_array)]
            if not near:
                break
            places[name] = min(near, key=lambda i: abs(of_array[i] - at_ns))
            chosen[name] = sorted_frames[name][places[name]]
        if len(chosen) < len(frames):
            continue
        chosen[first] = frame
        stamps = sorted((centre_utc_ns(one), error_s(one)) for one in chosen.values())
        bound_s = max((later - earlier) * 1e-9 + of_later + of_earlier
                      for i, (earlier, of_earlier) in enumerate(stamps) for later, of_later in stamps[i + 1 :])  # fmt: skip
        if bound_s > within_s:
            continue
        used |= places
        mean_ns = stamps[0][0] + sum(stamp - stamps[0][0] for stamp, _ in stamps) // len(stamps)
        found.append(Aligned(mean_ns, chosen, (stamps[-1][0] - stamps[0][0]) * 1e-9, bound_s))
    return found

"""``nearfield bridge store``: frames of Redis Streams into HDF5 files, by a consumer group."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import logging
import os
import pathlib
import threading
import time
from collections.abc import Callable
from typing import Any

import xarray as xr

from nearfield.bridge import checked
from nearfield.bridge._broker import Backoff
from nearfield.bridge.entries import PREFIX, BridgedFrame, Keys, checked_name, dataset_of, frame_of, order_of
from nearfield.bridge.reader import Headers, arrays, newest_state
from nearfield.errors import DataError, IoError

_LOG = logging.getLogger("nearfield.bridge")
_BEYOND = (2**64, 0)  # all entries: of a store of an earlier version, which did not note the newest one


class _Stream:
    """One processor of one array in a store: frames that wait for their file, and the number of lost ones."""

    def __init__(self, client: Any, keys: Keys, processor: str, folder: pathlib.Path, file_bytes: int) -> None:
        self.key = keys.frames(processor).encode()
        self.name = f"{keys.array}.{processor}"
        self.array = keys.array
        self.headers = Headers(client, keys)
        self.frames: list[BridgedFrame] = []
        self.entries: list[bytes] = []  # read and in no file yet, skipped ones included
        self.begun_s = 0.0
        self.catches_up = True
        self.pending_from = b"0"
        self._folder, self._file_bytes = folder, file_bytes
        self._largest: dict[str, int] = {}  # bytes of each product, of the frame that has the most
        self._progress = folder / f"{self.name}.progress.json"
        self.counts = {"stored": 0, "lost": 0, "damaged": 0}
        self._reached: dict[str, int] = {}  # last frame's number of each of the bridge's newest runs, waiting frames included
        self._newest = (0, 0)  # ID of the newest entry that was a frame: entries up to it come again after a kill
        if self._progress.exists():
            with checked.expecting(f"{self._progress}: expected what a store wrote, found another text"):
                known = json.loads(self._progress.read_bytes())
                self.counts |= {name: int(known[name]) for name in self.counts}
                self._reached = {str(run): int(n) for run, n in known["runs"].items()}
                self._newest = order_of(known["entry"]) if "entry" in known else _BEYOND

    def take(self, entry: bytes, fields: dict[bytes, bytes] | None) -> None:
        """Add an entry; what its number says was lost before it is said and counted."""
        if not self.entries:
            self.begun_s = time.monotonic()
        self.entries.append(entry)
        if not fields:  # cut from the stream after it had been handed out
            return
        try:
            frame = frame_of(self.array, entry, fields, self.headers[fields.get(b"header", b"")])
        except DataError as error:
            self.counts["damaged"] += 1
            if self.counts["damaged"].bit_count() == 1:  # not a line for each of many
                _LOG.warning("%s: damaged entry, %d so far: %s", self.name, self.counts["damaged"], error.message)
            return
        reached = self._reached.get(frame.run)
        order = order_of(frame.entry_id)
        if reached is not None and frame.n <= reached:
            if order <= self._newest:
                return  # it is in a file, or waits: the entry came again
            _LOG.warning("%s: the numbers of a bridge go back from %d to %d: somebody else writes into this stream", self.name, reached, frame.n)
        elif self._reached and frame.n > (reached or 0) + 1:  # frames of the first run before this store began are not lost
            lost = frame.n - (reached or 0) - 1
            self.counts["lost"] = min(self.counts["lost"] + lost, 2**63 - 1)
            _LOG.warning("%s: lost %d frames before hop %d", self.name, lost, frame.sequence)
        self._newest = order
        self._reached[frame.run] = frame.n
        while len(self._reached) > 8:
            del self._reached[next(iter(self._reached))]
        self._add(frame)

    def _add(self, frame: BridgedFrame) -> None:
        """A file has frames of one layout, and a table as many rows a frame as its longest has: one long table must not make it huge."""
        own = {name: values.nbytes for name, values in frame.products.items()}
        largest = {name: max(of_one, self._largest[name]) for name, of_one in own.items()} if self._is_alike(frame) else own
        if self.frames and (not self._is_alike(frame) or sum(largest.values()) * (len(self.frames) + 1) > self._file_bytes):
            self._write()
            largest = own
        self.frames.append(frame)
        self._largest = largest

    def _is_alike(self, frame: BridgedFrame) -> bool:
        return bool(self.frames) and self.frames[0].layout is frame.layout

    @property
    def is_full(self) -> bool:
        """True if a file would reach its largest size."""
        return sum(self._largest.values()) * len(self.frames) >= self._file_bytes

    def finish(self, client: Any, group: str) -> None:
        """Write what waits to a file that appears whole, note how far this is, and acknowledge it."""
        if not self.entries:
            return
        self._write()
        entry = {} if self._newest == _BEYOND else {"entry": "{}-{}".format(*self._newest)}
        _whole(self._progress, json.dumps(self.counts | {"runs": self._reached} | entry).encode())
        # If this fails the entries come again, and their numbers say that they are in files.
        client.xack(self.key, group, *self.entries)
        self.entries.clear()

    def _write(self) -> None:
        if not self.frames:
            return
        began = datetime.datetime.fromtimestamp(self.frames[0].utc_ns * 1e-9, datetime.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        path = self._place(began)
        data = dataset_of(self.frames).assign_attrs(stored=self.counts["stored"] + len(self.frames), lost=self.counts["lost"])
        partial = path.with_name(f"{path.name}.partial")
        free = os.statvfs(self._folder)
        if free.f_bavail * free.f_frsize < data.nbytes + data.nbytes // 4 + 1_000_000:  # HDF5 may crash where a disk fills
            raise IoError(f"{path}: expected a folder with room for {data.nbytes} bytes, found {free.f_bavail * free.f_frsize}", 74)
        try:
            data.to_netcdf(partial, engine="h5netcdf", invalid_netcdf=True)
            os.replace(partial, path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise IoError(f"{path}: expected a folder with room for {data.nbytes} bytes, found: {error.strerror or error}", 74) from error
        self.counts["stored"] += len(self.frames)
        self.frames.clear()


    def _place(self, began: str) -> pathlib.Path:
        """Return a name that no other frames have. Those of a store that was killed before it had noted them come again, and are replaced."""
        ours = {(frame.capture_tai_ns, frame.n) for frame in self.frames}
        for i in itertools.count():
            path = self._folder / (f"{self.name}.{began}.h5" if i == 0 else f"{self.name}.{began}-{i}.h5")
            if not path.exists():
                break
            with contextlib.suppress(OSError, KeyError, ValueError), xr.open_dataset(path, engine="h5netcdf", decode_cf=False) as there:
                if ours.issuperset(zip(there.capture_tai_ns.values.tolist(), there.n.values.tolist(), strict=True)):
                    break
        return path


def _whole(path: pathlib.Path, data: bytes) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(data)
    os.replace(partial, path)


class Store:
    """Reads as one consumer of a group: what it was handed and did not store before its end comes again at the next start.

    Parameters
    ----------
    folder : path
        Where files ``ARRAY.PROCESSOR.TIME.h5`` go, and ``ARRAY.PROCESSOR.progress.json``. One store a folder.
    names : list of str
        Arrays; none: all.
    connect : callable
        Makes a client.
    group : str
        Of consumers. Each group gets all frames; several stores of a group would share them out and each miss some.
    file_s : float
        A file is written so often: memory and what a kill of the machine costs in work, not in frames.
    """

    def __init__(self, folder: pathlib.Path, names: list[str], connect: Callable[[], Any], *, group: str = "store",
                 prefix: str = PREFIX, file_s: float = 60.0, file_bytes: int = 256_000_000) -> None:  # fmt: skip
        self._folder, self._names, self._connect, self._prefix = folder, [checked_name(name, "array") for name in names], connect, prefix
        self._group = checked_name(group, "--group")
        self._file_s, self._file_bytes = file_s, file_bytes
        self._client = connect()
        self._streams: dict[bytes, _Stream] = {}
        self._looked_s = -1e9
        self._said: dict[str, str] = {}  # problem of the newest state, by array

    def counts(self) -> dict[str, dict[str, int]]:
        """Return ``stored``, ``lost`` and ``damaged`` frames of each array's processor, over all runs in this folder."""
        return {stream.name: dict(stream.counts) for stream in self._streams.values()}

    def run(self, stop: threading.Event) -> None:
        """Store until ``stop`` is set; then write what waits.

        Raises
        ------
        IoError
            Where a file cannot be written; nothing of it was acknowledged.
        """
        import redis

        backoff = Backoff(2.0)
        while not stop.is_set():
            try:
                self._turn()
                backoff.worked()
            except redis.RedisError as error:
                if not backoff.has_failed:
                    _LOG.warning("the broker does not answer: %s", error)
                backoff.failed()
                self._looked_s = -1e9  # its memory may be gone, and its groups
                for stream in self._streams.values():  # a reply may be lost: what it held was handed out
                    stream.catches_up, stream.pending_from = True, b"0"
                stop.wait(backoff.left_s())
        for stream in self._streams.values():
            with contextlib.suppress(redis.RedisError):  # files are complete; entries that are not acknowledged come again and are skipped
                stream.finish(self._client, self._group)

    def _turn(self) -> None:
        if time.monotonic() - self._looked_s > 2.0:
            self._look()
        if not self._streams:
            time.sleep(0.2)
            return
        behind = {stream.key: stream.pending_from for stream in self._streams.values() if stream.catches_up}
        if behind:
            for key, entries in self._client.xreadgroup(self._group, "store", behind, count=64) or []:
                if (stream := self._streams.get(key)) is None:  # not asked for
                    continue
                for entry, fields in entries:
                    stream.take(entry, fields)
                    stream.pending_from = entry
                stream.catches_up = bool(entries)
        else:
            wanted = dict.fromkeys(self._streams, ">")
            for key, entries in self._client.xreadgroup(self._group, "store", wanted, count=64, block=200) or []:
                for entry, fields in entries if key in self._streams else ():
                    self._streams[key].take(entry, fields)
        for stream in self._streams.values():
            if stream.entries and (time.monotonic() - stream.begun_s >= self._file_s or stream.is_full):
                stream.finish(self._client, self._group)

    def _look(self) -> None:
        """Find streams that are new, and make the group where there is none."""
        import redis

        for array in self._names or arrays(self._client, self._prefix):
            keys = Keys(array, self._prefix)
            try:
                state = newest_state(self._client, keys)
            except DataError as error:
                if self._said.get(array) != error.message:
                    _LOG.warning("%s", error.message)
                self._said[array] = error.message
                continue
            for processor in (state or {}).get("processors", []):
                key = keys.frames(processor).encode()
                if key not in self._streams:
                    self._streams[key] = _Stream(self._client, keys, processor, self._folder, self._file_bytes)
        for stream in self._streams.values():
            try:
                self._client.xgroup_create(stream.key, self._group, id="0", mkstream=True)
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
            else:
                stream.catches_up, stream.pending_from = True, b"0"
        self._looked_s = time.monotonic()

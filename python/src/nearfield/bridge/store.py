"""``nearfield bridge store``: frames of Redis Streams into HDF5 files, by a consumer group."""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import pathlib
import threading
import time
from collections.abc import Callable
from typing import Any

from nearfield.bridge._broker import Backoff
from nearfield.bridge.entries import PREFIX, BridgedFrame, Keys, checked_name, dataset_of, frame_of
from nearfield.bridge.reader import Headers, arrays, newest_state
from nearfield.errors import DataError, IoError

_LOG = logging.getLogger("nearfield.bridge")


class _Stream:
    """What a store has of one processor of one array: frames that wait for their file, and what was lost."""

    def __init__(self, client: Any, keys: Keys, processor: str, folder: pathlib.Path) -> None:
        self.key = keys.frames(processor).encode()
        self.name = f"{keys.array}.{processor}"
        self.array = keys.array
        self.headers = Headers(client, keys)
        self.frames: list[BridgedFrame] = []
        self.entries: list[bytes] = []  # read and in no file yet, those that are passed over included
        self.begun_s = 0.0
        self.catches_up = True
        self.pending_from = b"0"
        self._folder = folder
        self._progress = folder / f"{self.name}.progress.json"
        self.counts = {"stored": 0, "lost": 0, "damaged": 0}
        self._reached: dict[str, int] = {}  # of the newest runs of the bridge the last frame's number, what waits included
        with contextlib.suppress(FileNotFoundError):
            known = json.loads(self._progress.read_text(encoding="utf-8"))
            self.counts |= {name: int(known[name]) for name in self.counts}
            self._reached = {str(run): int(n) for run, n in known["runs"].items()}

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
            _LOG.warning("%s: %s", self.name, error.message)
            return
        reached = self._reached.get(frame.run)
        if reached is not None and frame.n <= reached:
            return  # it is in a file, or waits: the entry came again
        if self._reached and frame.n > (reached or 0) + 1:  # of the first run what was before this store is not its loss
            lost = frame.n - (reached or 0) - 1
            self.counts["lost"] += lost
            _LOG.warning("%s: lost %d frames before hop %d", self.name, lost, frame.sequence)
        self._reached[frame.run] = frame.n
        while len(self._reached) > 8:
            del self._reached[next(iter(self._reached))]
        if self.frames and self.frames[0].layout is not frame.layout:
            self._write()
        self.frames.append(frame)

    def finish(self, client: Any, group: str) -> None:
        """Write what waits to a file that appears whole, note how far this is, and acknowledge it."""
        if not self.entries:
            return
        self._write()
        _whole(self._progress, json.dumps(self.counts | {"runs": self._reached}).encode())
        # If this fails the entries come again, and their numbers say that they are in files.
        client.xack(self.key, group, *self.entries)
        self.entries.clear()

    def _write(self) -> None:
        if not self.frames:
            return
        began = datetime.datetime.fromtimestamp(self.frames[0].utc_ns * 1e-9, datetime.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        path = self._folder / f"{self.name}.{began}.h5"
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
            with contextlib.suppress(redis.RedisError):  # files are there; what is not acknowledged comes again and is passed over
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
                stream = self._streams[key]
                for entry, fields in entries:
                    stream.take(entry, fields)
                    stream.pending_from = entry
                stream.catches_up = bool(entries)
        else:
            wanted = dict.fromkeys(self._streams, ">")
            for key, entries in self._client.xreadgroup(self._group, "store", wanted, count=64, block=200) or []:
                for entry, fields in entries:
                    self._streams[key].take(entry, fields)
        for stream in self._streams.values():
            waits = sum(values.nbytes for frame in stream.frames[:1] for values in frame.products.values()) * len(stream.frames)
            if stream.entries and (time.monotonic() - stream.begun_s >= self._file_s or waits > self._file_bytes):
                stream.finish(self._client, self._group)

    def _look(self) -> None:
        """Find streams that are new, and make the group where there is none."""
        import redis

        for array in self._names or arrays(self._client, self._prefix):
            keys = Keys(array, self._prefix)
            try:
                state = newest_state(self._client, keys)
            except DataError as error:
                _LOG.warning("%s", error.message)
                continue
            for processor in (state or {}).get("processors", []):
                key = keys.frames(processor).encode()
                if key not in self._streams:
                    self._streams[key] = _Stream(self._client, keys, processor, self._folder)
        for stream in self._streams.values():
            try:
                self._client.xgroup_create(stream.key, self._group, id="0", mkstream=True)
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
            else:
                stream.catches_up, stream.pending_from = True, b"0"
        self._looked_s = time.monotonic()

"""Archives larger than a machine: one replay on the workers of Dask, into one store.

``replay()`` cuts recordings into shards, whole chunks of the store. Each shard is a run of ``nearfield replay`` on a worker, which
starts some hops earlier, so that what frames depend on is there. ``python3 -m nearfield.distributed`` is the same in a shell.
The inputs and the store lie where all workers and the client see them under the same names.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import hashlib
import json
import math
import os
import pathlib
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import h5py
import numpy as np
import xarray as xr

from nearfield._command import exit_code_of
from nearfield._program import Path, program, run_beside, settings_words
from nearfield.errors import DataError, DeviceError, IoError, NearfieldError, UsageError
from nearfield.files import open_images

try:
    import distributed
    import zarr
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("nearfield.distributed: expected Dask (distributed) and Zarr, which pip install 'nearfield[distributed]' brings, "
                              f"or Debian's python3-distributed and python3-zarr: {error}") from error  # fmt: skip

_CHUNK_BYTES = 8 << 20  # bytes of a chunk of an array of the store, which is a file there
_SHARD_BYTES = 64 << 20  # bytes of results in a shard
_COMPUTED_HOPS = 64  # at most so many of a memory's hops are computed: of what searches remember, only some windows
_WARM_UPS = 16  # a shard without a length of its own is at least so many times as long as what is computed before it
_LEAST_SHARDS = 64  # least number of shards of an archive, where they are not short
_SHORT_HOPS = 1024
_INTERRUPTED = 130
_NAMESPACE = "archive"  # attribute of the store: of which run it is
_TABLE = "table"
_Sum = functools.partial(hashlib.blake2b, digest_size=16)  # against damage, not against malice
_ZARR_3 = int(zarr.__version__.split(".")[0]) >= 3


@dataclasses.dataclass(frozen=True)
class _Processor:
    """Processor of all inputs, and its cut into shards."""

    name: str
    every_hops: int
    frames: int  # number over all inputs
    shard_frames: int


@dataclasses.dataclass(frozen=True)
class _Group:
    """A group of the results: of a processor, or one of its tables."""

    path: str  # "" is the root
    processor: int
    variables: dict[str, int]  # frames in a chunk of each variable over time


@dataclasses.dataclass(frozen=True)
class _Source:
    """An input and its frames, by processors."""

    path: str
    bytes: int
    hops: int
    first_hop: list[int]
    frames: list[int]
    offset: list[int]  # index of its first frame in the store, by group
    late_s: float  # its start after that of the first input
    masks: str | None  # masked bad microphones and their times, JSON; None where the input has them


@dataclasses.dataclass(frozen=True)
class _Job:
    """All that a worker has to be told. Its file ends the run when it is removed."""

    out: str
    config: str
    engine: str
    device: str | None
    threads: int
    warm_up: int
    version: str | None  # version of the program; None: any will do
    made_by: dict[str, dict[str, str]] | None  # by groups, as _made_by() has it
    shards: int
    processors: list[_Processor]
    groups: list[_Group]
    sources: list[_Source]

    @property
    def is_zarr(self) -> bool:
        return self.out.endswith(".zarr")

    @property
    def folder(self) -> pathlib.Path:
        return _folder_of(self.out)

    def marker(self, shard: int) -> pathlib.Path:
        return self.folder / f"{shard:06d}.done"

    def part(self, shard: int, source: int) -> pathlib.Path:
        return self.folder / f"{shard:06d}-{source:06d}.h5"

    @classmethod
    def read(cls, path: pathlib.Path) -> _Job:
        held = json.loads(path.read_text(encoding="utf-8"))
        held["processors"] = [_Processor(**one) for one in held["processors"]]
        held["groups"] = [_Group(**one) for one in held["groups"]]
        held["sources"] = [_Source(**one) for one in held["sources"]]
        return cls(**held)


@dataclasses.dataclass(frozen=True)
class _Part:
    """Part of a source in a shard: a run from `start` to before `end`, in hops."""

    source: int
    start: int
    end: int
    frames: list[tuple[int, int, int]]  # [processor]: first and number in the run's file, first in the store


def _parts(job: _Job, shard: int) -> Iterator[_Part]:
    """Yield the runs of a shard, which are several where it reaches over the end of an input."""
    for index, source in enumerate(job.sources):
        begin, end = source.hops, 0
        wanted = []
        for p, processor in enumerate(job.processors):
            low = min(max(shard * processor.shard_frames - source.offset[p], 0), source.frames[p])
            high = min(max((shard + 1) * processor.shard_frames - source.offset[p], 0), source.frames[p])
            wanted.append((low, high))
            if high > low:
                begin = min(begin, source.first_hop[p] + low * processor.every_hops)
                end = max(end, source.first_hop[p] + (high - 1) * processor.every_hops + 1)
        if end == 0:
            continue
        start = max(0, begin - job.warm_up)
        frames = []
        for p, (low, high) in enumerate(wanted):
            before = max(0, math.ceil((start - source.first_hop[p]) / job.processors[p].every_hops))
            frames.append((low - before, high - low, source.offset[p] + low))
        yield _Part(index, start, end, frames)


def _folder_of(out: Path) -> pathlib.Path:
    return pathlib.Path(f"{os.fspath(out)}.shards")


def _write_at_once(path: pathlib.Path, text: str) -> None:
    """Write a file that is there whole or not at all."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


# On the workers


@functools.cache
def _version() -> str:
    return run_beside([program(), "--version"]).strip().replace("\n", ", ")


def _devices() -> list[str]:
    """Return the devices of this machine as files name them."""
    listed = json.loads(run_beside([program(), "devices", "--json"]))
    return sorted({f"{one['name']} ({one['platform']}, driver {one['driver']})" for one in listed})


class _LeavesInterrupts(distributed.WorkerPlugin):  # type: ignore[misc]  # its module is without types
    """Leaves Ctrl-C to the client, which ends its workers; a terminal sends it to all of them."""

    def setup(self, worker: distributed.Worker) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _worker_says(engine: str) -> tuple[str, list[str]]:
    _version.cache_clear()  # the cached version may be that of another program, of a run before
    return _version(), [] if engine == "reference" else _devices()


def _environment(threads: int) -> dict[str, str]:
    """Return what keeps PoCL from starting a thread on each core for each task; before its version 4, and since."""
    return {"POCL_MAX_PTHREAD_COUNT": str(threads), "POCL_CPU_MAX_CU_COUNT": str(threads)}


def _run(words: Sequence[str], threads: int, stop: Callable[[], bool] | None = None, cwd: str | None = None) -> str:
    """Run the program so that it ends with this worker, however that ends."""
    setpriv = shutil.which("setpriv")
    before = [] if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--"]
    here = cwd if cwd is not None and os.path.isdir(cwd) else None
    return run_beside([*before, program(), *words], stop=stop, environment=_environment(threads), cwd=here)


def _scratch() -> str:
    """Return the folder of the worker that runs this task."""
    return str(distributed.get_worker().local_directory)


def _plan(path: str, words: Sequence[str], written: str, threads: int, cwd: str) -> dict[str, Any]:
    """Let the program say what it would make of an input; the file has room for the frames."""
    said = json.loads(_run(["replay", "-q", path, *words, "--plan", "-o", written], threads, cwd=cwd))
    return {**said, "bytes": os.path.getsize(path)}


def _masks(path: str, words: Sequence[str], threads: int, cwd: str) -> str:
    """Let the program find which microphones it masks, of the whole input."""
    return _run(["masks", "-q", path, *words], threads, cwd=cwd)


@functools.lru_cache(maxsize=4)
def _job_of(run_file: str) -> _Job:
    return _Job.read(pathlib.Path(run_file))


def _shard(run_file: str, shard: int) -> None:
    """Compute a shard and write it, the marker last."""
    started_s = time.monotonic()
    _require_wanted(run_file)
    job = _job_of(run_file)
    if _is_intact(job, shard):
        return
    if job.version is not None and _version() != job.version:
        raise DeviceError(f"{_where()}: expected {job.version}, found {_version()}", 69)
    hops = 0
    sums: list[str] = []  # sum of each part
    with tempfile.TemporaryDirectory(prefix="nearfield-", dir=_scratch()) as name:
        scratch = pathlib.Path(name)
        (scratch / "config.yaml").write_text(job.config, encoding="utf-8")
        for part in _parts(job, shard):
            file = scratch / "part.h5"
            words = ["replay", "-q", job.sources[part.source].path, "-c", str(scratch / "config.yaml"), "-o", str(file),
                     "--engine", job.engine, "--frames", f"{part.start}:{part.end}"]  # fmt: skip
            words += [] if job.device is None else ["--device", job.device]
            if (masks := job.sources[part.source].masks) is not None:
                (scratch / "masks.json").write_text(masks, encoding="utf-8")
                words += ["--masks", str(scratch / "masks.json")]
            try:
                _run(words, job.threads, stop=lambda: not os.path.exists(run_file))
            except NearfieldError:
                _require_wanted(run_file)  # else it was asked to stop
                raise
            _require_same(job, part, file)
            if job.is_zarr:
                try:
                    sums.append(_copy(job, part, file, _zarr_of(job.out)))
                except (LookupError, OSError):
                    _require_store(job.out)  # else it was removed while it was written
                    raise
            else:
                sums.append(_sum_of_file(file))
                arrived = job.part(shard, part.source).with_suffix(f".{secrets.token_hex(4)}.partial")
                with _wanted(run_file):
                    shutil.copyfile(file, arrived)
                    arrived.replace(job.part(shard, part.source))
            hops += part.end - part.start
    with _wanted(run_file):
        _write_at_once(job.marker(shard), json.dumps({"seconds": time.monotonic() - started_s, "hops": hops, "sums": sums}) + "\n")


@contextlib.contextmanager
def _wanted(run_file: str) -> Iterator[None]:
    """Let something be written beside the description of a run; that it was removed, before or meanwhile, is said."""
    _require_wanted(run_file)
    try:
        yield
    except OSError:
        _require_wanted(run_file)
        raise


def _require_wanted(run_file: str) -> None:
    """A run ends where its description is removed, and cannot go on where the folder is."""
    if os.path.exists(run_file):
        return
    folder = os.path.dirname(run_file)
    if not os.path.isdir(folder):
        raise IoError(f"{folder}: expected the folder that says which shards are there, found none: it was removed; the same command begins "
                      "anew", 74)  # fmt: skip
    raise NearfieldError(f"{run_file}: expected the description of a run, found none: it was cancelled", _INTERRUPTED)


def _sum_of_file(path: pathlib.Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, _Sum).hexdigest()


def _is_intact(job: _Job, shard: int) -> bool:
    """Return whether a shard was written, and is still there as it was written."""
    try:
        held = json.loads(job.marker(shard).read_bytes())["sums"]
        parts = list(_parts(job, shard))
        found = ([_sum_in(job, part, _zarr_of(job.out, "r")) for part in parts] if job.is_zarr else
                 [_sum_of_file(job.part(shard, part.source)) for part in parts])  # fmt: skip
    except Exception:  # whatever damaged bytes raise: it is computed again, and an error of the disk is met there
        return False
    return bool(held == found)


def _where() -> str:
    return f"worker {distributed.get_worker().address}"


def _made_by(group: Any) -> dict[str, str]:
    """Names that the last bits of frames depend on: the device, and the front end with the kernel that was chosen there."""
    return {name: _text(group.attrs[name]) for name in ("device", "front_end") if name in group.attrs}


def _made_by_all(files: Sequence[pathlib.Path], group: str) -> dict[str, str]:
    """Names that all these files have in common: inputs of bits and of samples may have different front ends."""
    said = []
    for path in files:
        with h5py.File(path) as file:
            said.append(_made_by(file[group or "/"]))
    return {name: text for name, text in said[0].items() if all(other.get(name) == text for other in said)}


def _made_by_any(files: Sequence[pathlib.Path], groups: Sequence[_Group]) -> dict[str, str]:
    """Names in any group of any of these files: each text once, in their order."""
    said: dict[str, dict[str, None]] = {"device": {}, "front_end": {}}
    for path in files:
        with h5py.File(path) as file:
            for group in groups:
                for name, text in _made_by(file[group.path or "/"]).items():
                    said[name][text] = None
    return {name: "; ".join(texts) for name, texts in said.items()}


def _require_same(job: _Job, part: _Part, file: pathlib.Path) -> None:
    """Raises unless a run has the device, the front end and the number of frames of the plan."""
    with h5py.File(file) as results:
        for group in job.groups:
            _, count, _ = part.frames[group.processor]
            if count == 0:
                continue
            found = results[group.path or "/"]
            expected = job.made_by[group.path] if job.made_by is not None else {}
            for name, said in _made_by(found).items():
                if expected.get(name, said) != said:
                    raise DeviceError(f"{_where()}: expected {expected[name]}, found {said}", 69)
            first, _, _ = part.frames[group.processor]
            if first < 0 or found["time"].shape[0] < first + count:
                raise DataError(f"{job.sources[part.source].path}: expected {first + count} frames of {group.path or 'the first processor'} "
                                f"in the hops {part.start} to {part.end - 1}, found {found['time'].shape[0]}", 65)  # fmt: skip


def _pieces(job: _Job, part: _Part) -> Iterator[tuple[str, int, int, int]]:
    """Yield variable, first frame in the run's file, first in the store, and number, at most a chunk each."""
    for group in job.groups:
        first, count, at = part.frames[group.processor]
        for name, chunk in group.variables.items():
            done = 0
            while done < count:
                step = min(chunk - (at + done) % chunk, count - done)
                yield f"{group.path}/{name}" if group.path else name, first + done, at + done, step
                done += step


def _copy(job: _Job, part: _Part, file: pathlib.Path, store: Any) -> str:
    """Copy a shard's frames to their place in a Zarr group or HDF5 file; return their sum."""
    total = _Sum()
    with h5py.File(file) as results:
        for place, first, at, step in _pieces(job, part):
            values = results[place][first : first + step]
            if place.rpartition("/")[2] == "time" and part.source > 0:
                values = values + job.sources[part.source].late_s
            store[place][at : at + step] = values
            total.update(np.ascontiguousarray(values, store[place].dtype).tobytes())
    return total.hexdigest()


def _sum_in(job: _Job, part: _Part, store: Any) -> str:
    """Return the sum of a shard's frames as the store has them."""
    total = _Sum()
    for place, _, at, step in _pieces(job, part):
        total.update(np.ascontiguousarray(store[place][at : at + step]).tobytes())
    return total.hexdigest()


# The store


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _require_store(path: Path) -> None:
    """Refuse a store that was removed, also where a chunk that was being written has made its folder again."""
    if not os.path.exists(os.path.join(path, ".zgroup")):
        raise IoError(f"{path}: expected the store that was begun, found none: it was removed; with nothing left of it, the same command "
                      "begins anew", 74)  # fmt: skip


def _zarr_of(path: Path, mode: str = "r+") -> Any:
    opener: Any = zarr.open_group  # Zarr 2 and Zarr 3 have different types
    if mode != "w":
        _require_store(path)
        return opener(os.fspath(path), mode=mode)
    return opener(os.fspath(path), mode="w", **({"zarr_format": 2} if _ZARR_3 else {}))


def _plain(value: Any) -> Any:
    """Return an attribute as JSON has it."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _add_array(group: Any, name: str, variable: xr.Variable, shape: tuple[int, ...], chunks: tuple[int, ...], values: Any) -> None:
    words = {"shape": shape, "chunks": chunks, "dtype": variable.dtype, "fill_value": None}
    array = group.create_array(name, **words, compressors=None) if _ZARR_3 else group.create_dataset(name, **words, compressor=None)
    array.attrs.update({**{key: _plain(value) for key, value in variable.attrs.items()}, "_ARRAY_DIMENSIONS": list(variable.dims)})
    if values is not None:
        array[...] = values


def _create_zarr(path: pathlib.Path, plan: pathlib.Path, job: _Job, key: Mapping[str, object]) -> None:
    """Make the store with room for all frames, described as `nearfield.open_images` describes them."""
    root = _zarr_of(path, "w")
    for group in job.groups:
        made = root.require_group(group.path) if group.path else root
        with _described(plan, job, group) as dataset:
            frames = job.processors[group.processor].frames
            for name, variable in dataset.variables.items():
                if name in group.variables:
                    shape = (frames, *variable.shape[1:])
                    chunks = (min(group.variables[str(name)], frames), *variable.shape[1:])
                    _add_array(made, str(name), variable, shape, chunks, np.nan if name == "time" else None)
                else:
                    _add_array(made, str(name), variable, variable.shape, variable.shape, variable.values)
            coordinates = " ".join(str(name) for name in dataset.coords if name not in dataset.dims)
            made.attrs.update({str(name): _plain(value) for name, value in dataset.attrs.items()})
            made.attrs.update({"coordinates": coordinates} if coordinates else {})
    root.attrs[_NAMESPACE] = dict(key)
    zarr.consolidate_metadata(root.store)


def _described(plan: pathlib.Path, job: _Job, group: _Group) -> xr.Dataset:
    processor = job.processors[group.processor].name
    own = "" if group.processor == 0 else processor
    table = group.path[len(own) :].strip("/")
    return open_images(plan, processor, table or None)


def _assemble(job: _Job, plan: pathlib.Path, key: Mapping[str, object]) -> None:
    """Put the shards' frames into the file that the plan left, and give it its name."""
    partial = pathlib.Path(f"{job.out}.partial")
    shutil.copyfile(plan, partial)
    with h5py.File(partial, "r+") as file:
        for shard in range(job.shards):
            if not _is_intact(job, shard):
                raise IoError(f"{job.marker(shard)}: expected a shard as it was computed, found a damaged one; the same command computes it again", 74)
            for part in _parts(job, shard):
                _copy(job, part, job.part(shard, part.source), file)
        file.attrs[_NAMESPACE] = np.bytes_(json.dumps(key))
        _count(job, file)
        file.flush()
    partial.replace(job.out)


def _count(job: _Job, store: Any) -> None:
    """Say that all frames are there; of the root last."""
    for group in reversed(job.groups):
        place = f"{group.path}/frames_written" if group.path else "frames_written"
        if place in store:
            store[place][...] = job.processors[group.processor].frames


def _key_in(out: pathlib.Path) -> dict[str, object] | None:
    """Return of which run a store is; None where that is not known."""
    if out.suffix == ".zarr":
        try:
            held = _zarr_of(out, "r").attrs.asdict().get(_NAMESPACE)
        except (IoError, OSError, ValueError, KeyError):  # errors of Zarr's versions where there is no group
            held = None
        return dict(held) if isinstance(held, dict) else None
    try:
        with h5py.File(out) as file:
            return dict(json.loads(_text(file.attrs[_NAMESPACE])))
    except (OSError, KeyError):
        return None


def _is_whole(out: pathlib.Path, job: _Job) -> bool:
    return out.suffix == ".h5" or int(_zarr_of(out, "r")["frames_written"][()]) == job.processors[0].frames


def _require_same_run(out: pathlib.Path, found: Mapping[str, object] | None, key: Mapping[str, object], *, is_unlike_allowed: bool) -> None:
    waived = {"program", "device", "front_end"} if is_unlike_allowed else set()
    if found is None:
        raise UsageError(f"{out}: expected nothing, or an archive that this run began, found something else; take another name", 64)
    other = [name for name in key if found.get(name) != key[name] and name not in waived]
    if other:
        said = ", ".join(f"{name} {key[name]} and found {found.get(name)}" for name in other)
        raise UsageError(f"{out}: is the archive of another run: expected {said}; take another name, or remove it and {_folder_of(out)}", 64)


# The plan


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _memory_of(plan: h5py.File, groups: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Return how many hops before a frame it may depend on, by groups that say so; -1 is without a bound."""
    return {path: int(plan[path or "/"].attrs["memory_hops"]) for path, _ in groups if "memory_hops" in plan[path or "/"].attrs}


def _warm_up_of(plan: pathlib.Path, names: Sequence[str], warm_up: int | str, *, is_unbounded_allowed: bool) -> tuple[int, int]:
    """Return how many hops earlier a shard begins, and how many are computed before its frames at least.

    Where a replay's frames depend on a bounded number of hops before, it computes those itself. Names of the processors are those of the plan.
    """
    if warm_up != "auto" and (isinstance(warm_up, str) or warm_up < 0):
        raise ValueError(f"warm_up: expected a number of hops >= 0 or 'auto', found {warm_up!r}")
    with h5py.File(plan) as file:
        memory = _memory_of(file, [("" if p == 0 else name, p) for p, name in enumerate(names)])
    endless = [path or names[0] for path, hops in memory.items() if hops < 0]
    if endless and not is_unbounded_allowed:
        raise UsageError(f"processors {', '.join(endless)}: expected frames that depend on a bounded number of hops before, found averages, "
                         "tracks or searches without a bound, which start from nothing in each shard; allow_unbounded accepts that", 64)  # fmt: skip
    longest = max([0, *memory.values()])
    if not isinstance(warm_up, str):
        return warm_up, warm_up + min(longest, _COMPUTED_HOPS)
    if not memory:
        raise UsageError("warm_up: the results do not say how many hops before a frame it may depend on (memory_hops): "
                         "expected a number, 0 where all settings are fixed, such as holography.filter.cutoff_rad_per_m; found 'auto'", 64)  # fmt: skip
    return 0, min(longest, _COMPUTED_HOPS)


def _groups_of(plan: pathlib.Path, names: Sequence[str]) -> list[tuple[str, int, dict[str, int]]]:
    """Return path, processor and the variables over time, with the bytes of a frame, of each group of the results."""
    found = []
    with h5py.File(plan) as file:
        for p, name in enumerate(names):
            own = "" if p == 0 else name
            group = file[own or "/"]
            tables = [key for key, one in group.items() if isinstance(one, h5py.Group) and _text(one.attrs.get("form", "")) == _TABLE]
            for path in [own, *(f"{own}/{table}" if own else table for table in tables)]:
                one = file[path or "/"]
                frames = one["time"].shape[0]
                sizes = {key: max(1, data.nbytes // frames) for key, data in one.items()
                         if isinstance(data, h5py.Dataset) and _is_over_time(one, data)}  # fmt: skip
                found.append((path, p, sizes))
    return found


def _is_over_time(group: h5py.Group, data: h5py.Dataset) -> bool:
    if data.ndim == 0:
        return False
    scales = data.dims[0]
    return data.name == group["time"].name or any(scale.name == group["time"].name for scale in scales.values())


def _divisor(of: int, most: int) -> int:
    """Return the largest divisor that is at most `most`, 1 at least."""
    return next(number for number in range(max(1, min(of, most)), 0, -1) if of % number == 0)


def _shard_hops(wanted: int | None, unit: int, hops: int, hop_bytes: float, dropped: int) -> int:
    """Return the length of shards: a multiple of `unit` hops, in which each processor has a whole number of frames."""
    if wanted is None:
        by_size = _SHARD_BYTES / max(hop_bytes, 1.0)
        wanted = round(max(min(by_size, max(hops / _LEAST_SHARDS, _SHORT_HOPS)), _WARM_UPS * dropped, 1.0))
    elif wanted < 1:
        raise ValueError(f"shard_hops: expected a number >= 1, found {wanted}")
    return max(unit, wanted // unit * unit)


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """The arguments of replay() that the results depend on, and how the run is to be made."""

    engine: str
    device: str | None
    threads: int
    warm_up: int | str
    shard_hops: int | None
    is_unbounded_allowed: bool
    is_unlike_allowed: bool


def _make_job(paths: Sequence[str], plans: Sequence[dict[str, Any]], files: Sequence[pathlib.Path], out: pathlib.Path,
              version: str, wanted: _Wanted) -> tuple[_Job, dict[str, object]]:  # fmt: skip
    """Cut the inputs into shards. Return the job, and what identifies it."""
    first = [one for one in plans[0]["processors"] if one["frames"] > 0]  # others have no place in the results
    names = [one["name"] for one in first]
    _require_alike(paths, files)
    warm_up, dropped = _warm_up_of(files[0], names, wanted.warm_up, is_unbounded_allowed=wanted.is_unbounded_allowed)
    found = _groups_of(files[0], names)
    hop_bytes = sum(sum(sizes.values()) / first[p]["every_hops"] for _, p, sizes in found)
    unit = math.lcm(*(one["every_hops"] for one in first))
    shard_hops = _shard_hops(wanted.shard_hops, unit, sum(plan["hops"] for plan in plans), hop_bytes, dropped)
    sources: list[_Source] = []
    offsets = [0] * len(names)
    zeros_ns = [_zero_ns(file) for file in files]
    for path, plan, zero_ns in zip(paths, plans, zeros_ns, strict=True):
        of = {one["name"]: one for one in plan["processors"]}
        frames = [of[name]["frames"] for name in names]
        sources.append(_Source(path, plan["bytes"], plan["hops"], [of[name]["first_hop"] for name in names], frames, list(offsets),
                               (zero_ns - zeros_ns[0]) * 1e-9, plan["found_masks"]))  # fmt: skip
        offsets = [before + more for before, more in zip(offsets, frames, strict=True)]
    processors = [_Processor(one["name"], one["every_hops"], total, shard_hops // one["every_hops"])
                  for one, total in zip(first, offsets, strict=True)]  # fmt: skip
    groups = [_Group(path, p, {name: _divisor(processors[p].shard_frames, _CHUNK_BYTES // size) for name, size in sizes.items()})
              for path, p, sizes in found]  # fmt: skip
    with h5py.File(files[0]) as file:
        config = _text(file.attrs["config"])
    made_by = {group.path: _made_by_all(files, group.path) for group in groups}
    is_strict = not wanted.is_unlike_allowed
    job = _Job(str(out), config, wanted.engine, wanted.device, wanted.threads, warm_up, version if is_strict else None,
               made_by if is_strict else None, max(math.ceil(one.frames / one.shard_frames) for one in processors), processors, groups,
               sources)  # fmt: skip
    key = {"program": version, **_made_by_any(files, groups), "config": _digest(config), "engine": wanted.engine,
           "warm_up": warm_up, "shard_hops": shard_hops,
           "inputs": _digest([(os.path.basename(one.path), one.bytes, one.hops) for one in sources])}  # fmt: skip
    return job, key


def _zero_ns(plan: pathlib.Path) -> int:
    with h5py.File(plan) as file:
        return int(file["time_zero_ns"][()])


def _require_alike(paths: Sequence[str], files: Sequence[pathlib.Path]) -> None:
    """All inputs must have the processors, axes and settings of the first one, and come in the order of time."""

    def look(file: pathlib.Path) -> tuple[dict[str, Any], int]:
        seen: dict[str, Any] = {}

        def note(name: str, one: Any) -> None:
            scales = one.attrs.get("CLASS") == b"DIMENSION_SCALE"
            seen[name] = one[()].tobytes() if isinstance(one, h5py.Dataset) and scales and not name.endswith("time") else None

        with h5py.File(file) as plan:
            plan.visititems(note)
            seen["config"] = _text(plan.attrs["config"])
            return seen, int(plan["time_zero_ns"][()])

    first, before = look(files[0])
    for path, file in zip(paths[1:], files[1:], strict=True):
        found, zero_ns = look(file)
        other = sorted(name for name in first.keys() | found.keys() if first.get(name, 0) != found.get(name, 0))
        if other:
            raise DataError(f"{path}: expected the results that {paths[0]} has, found others: {', '.join(other)}", 65)
        if zero_ns < before:
            raise DataError(f"{path}: expected inputs in the order of their time, found one that begins before the one before it", 65)
        before = zero_ns


# The client


def _require_alike_workers(client: distributed.Client, engine: str, *, is_unlike_allowed: bool) -> str:
    """Refuse workers whose programs or devices differ. Return the program's version."""
    said: dict[str, tuple[str, list[str]]] = client.run(_worker_says, engine)
    if not said:
        raise UsageError("client: expected at least one worker, found none", 64)
    (first, (version, devices)), *others = said.items()
    for worker, (its_version, its_devices) in others:
        if is_unlike_allowed:
            break
        if its_version != version:
            raise DeviceError(f"workers: expected one version of nearfield, found {version} at {first} and {its_version} at {worker}", 69)
        if its_devices != devices:
            raise DeviceError(f"workers: expected the same OpenCL devices and drivers, found {'; '.join(devices) or 'none'} at {first} and "
                              f"{'; '.join(its_devices) or 'none'} at {worker}; allow_unlike accepts that", 69)  # fmt: skip
    return version


def _plans(client: distributed.Client, paths: Sequence[str], words: Sequence[str], folder: pathlib.Path, wanted: _Wanted,
           ) -> tuple[list[dict[str, Any]], list[pathlib.Path]]:  # fmt: skip
    """Ask the program what it would make of each input, of the others with the settings of the first, and what it would mask."""
    files = [folder / f"plan-{index:06d}.h5" for index in range(len(paths))]
    options = ["--engine", wanted.engine, *([] if wanted.device is None else ["--device", wanted.device])]
    here = os.getcwd()
    first = client.submit(_plan, paths[0], [*words, *options], str(files[0]), wanted.threads, here, pure=False).result()
    with h5py.File(files[0]) as file:
        (folder / "config.yaml").write_text(_text(file.attrs["config"]), encoding="utf-8")
    same = ["-c", str(folder / "config.yaml"), *options]
    others = client.gather([client.submit(_plan, path, same, str(file), wanted.threads, here, pure=False)
                            for path, file in zip(paths[1:], files[1:], strict=True)])  # fmt: skip
    plans = [first, *others]
    masks = [client.submit(_masks, path, same, wanted.threads, here, pure=False) if plan["masks"] == "found" else None
             for path, plan in zip(paths, plans, strict=True)]  # fmt: skip
    return [{**plan, "found_masks": None if one is None else one.result()} for plan, one in zip(plans, masks, strict=True)], files


def _bar(share: float) -> None:
    """Draw a bar on a terminal, elsewhere write a line."""
    width = 40
    done = round(width * share)
    bar = f"\rarchive [{'#' * done}{'.' * (width - done)}] {100.0 * share:3.0f} %" + ("\n" if share >= 1.0 else "")
    sys.stderr.write(bar if sys.stderr.isatty() else f"archive {100.0 * share:.0f} %\n")
    sys.stderr.flush()


def replay(
    paths: Path | Sequence[Path],
    client: distributed.Client,
    out: Path,
    *,
    config: Path | Mapping[str, object] | None = None,
    config_of: Path | None = None,
    settings: Mapping[str, object] | None = None,
    engine: str = "opencl",
    device: str | None = None,
    warm_up: int | str = "auto",
    shard_hops: int | None = None,
    threads: int = 1,
    allow_unbounded: bool = False,
    allow_unlike: bool = False,
    progress: Callable[[float], None] | bool = False,
) -> xr.Dataset:
    """Replay recordings on the workers of a Dask cluster, into one store.

    Parameters
    ----------
    paths : path or sequence of paths
        Recordings (.nfr), captures or time data, in the order of their time; their frames follow on each other. No window
        reaches over the end of a file.
    client : distributed.Client
    out : path
        ``NAME.zarr``, Zarr format 2, or ``NAME.h5``, an images file, of one input alone. What a run that was ended has
        finished is taken over. ``NAME.zarr.shards`` beside it holds what is needed for that, until the store is whole.
    config, config_of, settings, engine, device
        As of :func:`nearfield.replay`.
    warm_up : int or "auto"
        Hops that a shard begins earlier, beside those that its frames depend on by ``memory_hops`` of the results, which are always
        computed. "auto" is 0; it is an error where the results of an earlier program do not say their memory.
    shard_hops : int, optional
        The length of a shard. Default: about 64 MiB of results, and at least 16 times what is computed before it.
    threads : int
        Cores that a task may use where the device is PoCL's processor.
    allow_unbounded : bool
        Accept averages and tracks that start from nothing in each shard.
    allow_unlike : bool
        Accept workers, and a store that was begun, whose devices, drivers, front ends or versions differ: frames are then not
        equal bit for bit.
    progress : callable or bool
        Called with the share done, 0 to 1, after each shard; True draws a bar on standard error.

    Returns
    -------
    xarray.Dataset
        The store, as :func:`nearfield.open_images` has it.

    Raises
    ------
    NearfieldError
        Of the program; :class:`UsageError` where `out` is of another run or a setting has no bounded memory,
        :class:`DeviceError` where workers differ. A KeyboardInterrupt cancels the run: shards under way are given up.
    """
    wanted = _Wanted(engine, device, threads, warm_up, shard_hops, allow_unbounded, allow_unlike)

    def words(folder: pathlib.Path) -> list[str]:
        single = [word for name, value in (settings or {}).items() for word in ("--set", f"{name}={json.dumps(value)}")]
        file = config if config is None or isinstance(config, Mapping) else os.path.abspath(config)
        return [*settings_words(file, folder), *_words_of(config_of), *single]

    show = _bar if progress is True else progress if callable(progress) else None
    return _replay([paths] if isinstance(paths, str | os.PathLike) else paths, client, out, words, wanted, show)


def _words_of(config_of: Path | None) -> list[str]:
    return [] if config_of is None else ["--config-of", os.path.abspath(config_of)]


def _replay(paths: Sequence[Path], client: distributed.Client, out: Path, words: Callable[[pathlib.Path], list[str]], wanted: _Wanted,
            show: Callable[[float], None] | None) -> xr.Dataset:  # fmt: skip
    sources = [os.path.abspath(path) for path in paths]
    store = pathlib.Path(os.path.abspath(out))
    _require_names(sources, store)
    version = _require_alike_workers(client, wanted.engine, is_unlike_allowed=wanted.is_unlike_allowed)
    folder = _folder_of(store)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IoError(f"{folder}: cannot be made: {error.strerror}", 74) from error
    try:
        with tempfile.TemporaryDirectory(prefix="plan-", dir=folder) as name:
            plans, files = _plans(client, sources, words(pathlib.Path(name)), pathlib.Path(name), wanted)
            job, key = _make_job(sources, plans, files, store, version, wanted)
            _begin(job, key, files[0], is_unlike_allowed=wanted.is_unlike_allowed)
            if not (store.exists() and _is_whole(store, job)):
                _run_all(job, client, show)
                if job.is_zarr:
                    _count(job, _zarr_of(store))
                else:
                    _assemble(job, files[0], key)
    except BaseException:
        with contextlib.suppress(OSError):
            folder.rmdir()  # empty where no shard was started
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return open_images(store)


def _require_names(sources: Sequence[str], store: pathlib.Path) -> None:
    if not sources:
        raise UsageError("paths: expected at least one, found none", 64)
    if store.suffix not in (".zarr", ".h5"):
        raise UsageError(f"out: expected a name that ends in .zarr or .h5, found {store}", 64)
    if store.suffix == ".h5" and len(sources) > 1:
        raise UsageError(f"out: expected NAME.zarr for {len(sources)} inputs, found {store}; an images file is made of one alone", 64)
    if str(store) in sources:
        raise UsageError(f"out: expected another file than the input, found {store}", 64)


def _begin(job: _Job, key: dict[str, object], plan: pathlib.Path, *, is_unlike_allowed: bool) -> None:
    """Make the store, or make sure that it is of this run."""
    store = pathlib.Path(job.out)
    held = job.folder / "key.json"
    if store.exists():
        _require_same_run(store, _key_in(store), key, is_unlike_allowed=is_unlike_allowed)
    elif held.exists() and not job.is_zarr:
        _require_same_run(store, json.loads(held.read_text(encoding="utf-8")), key, is_unlike_allowed=is_unlike_allowed)
    else:
        for marker in job.folder.glob("*.done"):  # markers of a store that is gone
            marker.unlink()
        if job.is_zarr:
            made = job.folder / "new.zarr"
            _create_zarr(made, plan, job, key)
            made.replace(store)
    _write_at_once(held, json.dumps(key) + "\n")


def _run_all(job: _Job, client: distributed.Client, show: Callable[[float], None] | None) -> None:
    """Let the workers compute what is not there yet. Another client's run into the same store is ended."""
    for other in job.folder.glob("run-*.json"):
        other.unlink(missing_ok=True)
    run_file = job.folder / f"run-{secrets.token_hex(8)}.json"
    _write_at_once(run_file, json.dumps(dataclasses.asdict(job)))
    done = 0
    # All of them: a worker looks at what is there and computes what is not.
    futures = [client.submit(_shard, str(run_file), shard, key=f"{run_file.stem}-{shard}", pure=False) for shard in range(job.shards)]
    try:
        for future in distributed.as_completed(futures):
            future.result()
            done += 1
            if show is not None:
                show(done / job.shards)
    except distributed.KilledWorker as error:
        raise NearfieldError(f"{job.out}: the workers of a shard were lost again and again: {error}", 70) from error
    finally:
        run_file.unlink(missing_ok=True)  # workers give up the shards that they still compute
        with contextlib.suppress(Exception):  # the scheduler may be gone, which is not what went wrong
            client.cancel([future for future in futures if not future.done()])


# The command


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; --help says more", 64)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number >= 1, found {text}")
    return int(text)


def _arguments() -> argparse.ArgumentParser:
    parser = _Parser(prog="python3 -m nearfield.distributed", description="Replay recordings on many workers, into one store")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="recordings (.nfr), captures or time data, in the order of their time")
    parser.add_argument("-o", "--out", required=True, help="NAME.zarr, or NAME.h5 of one input")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=_positive, help="processes on this machine; default: one a core")
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a running Dask cluster, such as tcp://host:8786")
    parser.add_argument("-c", "--config", help="settings, YAML; without it those that a recording carries")
    parser.add_argument("--config-of", help="images or a recording whose settings are used")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE", help="one setting; may be repeated")
    parser.add_argument("--engine", choices=("opencl", "reference"), default="opencl")
    parser.add_argument("--device", help="INDEX, NAME or NAME:INDEX, as of nearfield replay")
    parser.add_argument("--warm-up", default="auto", metavar="HOPS", help="hops that a shard begins earlier, or auto")
    parser.add_argument("--shard-hops", type=_positive, metavar="HOPS", help="length of a shard")
    parser.add_argument("--threads", type=_positive, default=1, help="cores that a task may use with PoCL")
    parser.add_argument("--allow-unbounded", action="store_true", help="accept averages and tracks that start from nothing in each shard")
    parser.add_argument("--allow-unlike", action="store_true", help="accept workers, and a store, whose devices, front ends or versions differ")
    parser.add_argument("-q", "--quiet", action="store_true", help="no bar")
    return parser


def _run_command(asked: argparse.Namespace) -> None:
    if asked.warm_up != "auto" and not asked.warm_up.isdigit():
        raise UsageError(f"--warm-up: expected a number of hops or auto, found {asked.warm_up}", 64)
    warm_up = "auto" if asked.warm_up == "auto" else int(asked.warm_up)
    wanted = _Wanted(asked.engine, asked.device, asked.threads, warm_up, asked.shard_hops, asked.allow_unbounded, asked.allow_unlike)
    words = [] if asked.config is None else ["-c", os.path.abspath(asked.config)]
    words += [*_words_of(asked.config_of), *(word for one in asked.settings for word in ("--set", one))]
    with contextlib.ExitStack() as stack:
        if asked.scheduler is not None:
            client = stack.enter_context(distributed.Client(asked.scheduler))
        else:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="nearfield-", ignore_cleanup_errors=True))
            cluster = stack.enter_context(local_cluster(asked.workers or os.cpu_count() or 1, scratch))
            client = stack.enter_context(distributed.Client(cluster))
        images = _replay(asked.paths, client, asked.out, lambda _: words, wanted, None if asked.quiet else _bar)
        with images:
            print(f"{asked.out}: {images.sizes['time']} frames, on {images.attrs['device']}")


def local_cluster(workers: int, scratch: Path) -> distributed.LocalCluster:
    """Return a cluster of so many processes on this machine, each with one thread, and no dashboard."""
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0",
                                    plugins=(_LeavesInterrupts(),), local_directory=os.fspath(scratch), silence_logs=50)  # fmt: skip


def main() -> int:
    """Run the command; return its exit code."""
    return exit_code_of(_main, "nearfield")


def _main() -> int:
    try:
        _run_command(_arguments().parse_args())
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        return _INTERRUPTED
    except ValueError as error:
        raise UsageError(str(error), 64) from error
    return 0


if __name__ == "__main__":
    from nearfield.distributed import main as entry  # workers know the functions of this module, not those of __main__

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM ends the run like Ctrl-C
    sys.exit(entry())

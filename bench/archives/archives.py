#!/usr/bin/python3
"""An archive on many workers beside one replay: equality bit for bit, times, and what ends the run in the middle.

    PYTHONPATH=python/src NEARFIELD_PROGRAM=build/release/bin/nearfield bench/archives/archives.py [--bytes 2e9] [--workers 4] [--shard-hops 1024]
        [--folder DIR]

It makes a capture of so many bytes (32 x 32 microphones: blocks of a simulated plate, in an order and with gaps between them that are
drawn from a fixed seed, so that no two seconds are the same), and replays it at once, on the workers without and with a warm-up, with a
worker killed in the middle, and with the client killed and started again. All results are compared, all values bit for bit. The
capture and the results take three times its size on the disk, and are removed.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import distributed
import h5py
import numpy as np

import nearfield
from nearfield import distributed as archives

SETTINGS = {"front_end.frequencies_hz": [1007.08, 2014.16], "holography.filter.cutoff_rad_per_m": 80, "array.health.mask": False}
BLOCK_BIT_TIMES = 150_000
WARM_UP = 60


def make_capture(folder, size):
    """Blocks of a steady capture in another order, each with a silence of its own before it."""
    root = pathlib.Path(__file__).resolve().parents[2]
    nearfield.run("simulate", root / "config/scenes/plate.yaml", "-o", folder / "block.h5")
    with h5py.File(folder / "block.h5") as block:
        bits, attributes = block["bitstream"][:BLOCK_BIT_TIMES], dict(block["bitstream"].attrs)
    shutil.copyfile(folder / "block.h5", folder / "capture.h5")
    draw = np.random.default_rng(5)
    silence = np.zeros_like(bits)
    silence[1::2] = 0xFFFFFFFF
    with h5py.File(folder / "capture.h5", "r+") as capture:
        for name in ("bitstream", "truth"):
            if name in capture:
                del capture[name]
        count = max(1, round(size / bits.nbytes))
        stream = capture.create_dataset("bitstream", (count * len(bits), bits.shape[1]), bits.dtype)
        for name, value in attributes.items():
            if name not in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME"):
                stream.attrs[name] = value
        for index in range(count):
            gap, shift = draw.integers(0, len(bits) // 3 // 2) * 2, draw.integers(0, len(bits) // 2) * 2
            written = np.concatenate([silence[:gap], np.roll(bits, shift, axis=0)[gap:]])
            stream[index * len(bits) : (index + 1) * len(bits)] = written
        return count * bits.nbytes


def require_same(store, whole):
    with nearfield.open_images(store) as found, nearfield.open_images(whole) as expected:
        if found.sizes != expected.sizes:
            sys.exit(f"{store}: expected {dict(expected.sizes)}, found {dict(found.sizes)}")
        for name in expected.variables:
            for first in range(0, expected.sizes["time"], 1000):
                part = {"time": slice(first, first + 1000)} if "time" in expected[name].dims else {}
                if found[name].isel(part).values.tobytes() != expected[name].isel(part).values.tobytes():
                    sys.exit(f"{store}: {name}, frames {first} to {first + 999}: not those of one replay")
    shutil.rmtree(store)


def on_workers(folder, workers, warm_up, shard_hops, then=None):
    with archives.local_cluster(workers, folder / "scratch") as cluster, distributed.Client(cluster) as client:
        begun_s = time.monotonic()
        archives.replay(folder / "capture.h5", client, folder / "archive.zarr", settings=SETTINGS, warm_up=warm_up, shard_hops=shard_hops,
                        progress=lambda share: then(client, share) if then else None).close()
        elapsed_s = time.monotonic() - begun_s
    require_same(folder / "archive.zarr", folder / "whole.h5")
    return elapsed_s


def worker_is_killed(folder, workers, shard_hops):
    killed = []

    def kill(client, share):
        if share > 0.3 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    elapsed_s = on_workers(folder, workers, 0, shard_hops, kill)
    return elapsed_s, killed[0]


def client_is_killed(folder, workers, shard_hops):
    words = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={str(value).lower()}")]
    command = [sys.executable, "-m", "nearfield.distributed", folder / "capture.h5", "-o", folder / "archive.zarr", "--warm-up", "0",
               "--workers", str(workers), "--shard-hops", str(shard_hops), "-q", *words]  # fmt: skip
    shards = folder / "archive.zarr.shards"
    with subprocess.Popen(command, start_new_session=True) as process:
        while not any(shards.glob("*.done")):
            if process.poll() is not None:
                sys.exit("the client ended before it was killed: expected a larger capture (--bytes)")
            time.sleep(0.1)
        process.kill()
    time.sleep(3.0)
    written = {folder / "archive.zarr/images" / f"{int(path.stem)}.0.0.0.0": None for path in shards.glob("*.done")}
    times = {path: path.stat().st_mtime_ns for path in written if path.exists()}
    begun_s = time.monotonic()
    subprocess.run(command, check=True)
    elapsed_s = time.monotonic() - begun_s
    if any(path.stat().st_mtime_ns != modified for path, modified in times.items()):
        sys.exit("a shard that was finished has been written again")
    require_same(folder / "archive.zarr", folder / "whole.h5")
    return elapsed_s, len(written)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=float, default=2e9)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--shard-hops", type=int, default=1024)
    parser.add_argument("--folder", help="for the files; default: the system's for temporary ones")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nearfield-archive-", dir=asked.folder) as name:
        folder = pathlib.Path(name)
        size = make_capture(folder, asked.bytes)
        nearfield.replay(folder / "capture.h5", folder / "warm.h5", settings=SETTINGS, frames=1).close()  # compiles the kernels
        begun_s = time.monotonic()
        with nearfield.replay(folder / "capture.h5", folder / "whole.h5", settings=SETTINGS) as images:
            frames = images.sizes["time"]
        whole_s = time.monotonic() - begun_s
        print(f"capture: {size / 1e9:.2f} GB, {frames} frames; {os.cpu_count()} cores, {asked.workers} workers", flush=True)
        print(f"one replay             {whole_s:7.1f} s  {frames / whole_s:7.0f} frames/s", flush=True)

        def say(what, elapsed_s, more=""):
            print(f"{what:22} {elapsed_s:7.1f} s  {frames / elapsed_s:7.0f} frames/s  {100 * whole_s / elapsed_s:4.0f} % of one replay's rate{more}",
                  flush=True)

        without_s = on_workers(folder, asked.workers, 0, asked.shard_hops)
        say("workers", without_s)
        with_s = on_workers(folder, asked.workers, WARM_UP, asked.shard_hops)
        more = (-(-frames // asked.shard_hops) - 1) * WARM_UP / frames
        say(f"warm-up of {WARM_UP} hops", with_s, f"; {100 * more:.1f} % more hops, {100 * (with_s / without_s - 1):.1f} % more time")
        killed_s, number = worker_is_killed(folder, asked.workers, asked.shard_hops)
        say("a worker killed", killed_s, f"; process {number}")
        again_s, finished = client_is_killed(folder, asked.workers, asked.shard_hops)
        say("the client killed", again_s, f"; {finished} shards were finished before, and were not computed again; with its start")
        print("all equal bit for bit")


if __name__ == "__main__":
    main()

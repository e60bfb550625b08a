#!/usr/bin/env python3
"""Frames a second that nearfieldd publishes at each hop, live over UDP, beside what the stream has; as JSON.

  live_hops.py [--hops 16,32,46,64,100,256] [--seconds S] [--n N] [--bin FOLDER]...

Give --bin more than once to compare builds: each hop is run with each build in turn. A table goes to stderr.
"""

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import live_runs

SAMPLE_RATE_HZ = 1.5e6 / 32
FIRST_FREQUENCY_HZ = 1007.08
SETTLE_S = 1.0  # frames of the first second are left out


def run(binaries, hop, options):
    live_runs.BIN = binaries
    with tempfile.TemporaryDirectory(prefix="nearfield-") as name:
        folder = Path(name)
        port = live_runs.free_port()
        frequencies = [round(FIRST_FREQUENCY_HZ * (i + 1), 2) for i in range(options.n)]
        daemon = live_runs.start_daemon(folder, {
            "daemon.source.address": f"127.0.0.1:{port}",
            "front_end.hop_samples": hop,
            "front_end.frequencies_hz": str(frequencies),
        })
        sender = None
        try:
            log = folder / "frames.csv"
            until = time.monotonic() + live_runs.PATIENCE_S
            while not (folder / "frames.sock").exists() and time.monotonic() < until:
                time.sleep(0.05)
            sender = subprocess.Popen(
                [binaries / "nearfield", "send", live_runs.SCENE, "--loop", "--to", f"127.0.0.1:{port}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            reader = live_runs.tap(folder, log)
            while len(log.read_text().splitlines()) < 3 and daemon.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(SETTLE_S + options.seconds)
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
            code = daemon.wait(timeout=30)
            reader.wait(timeout=30)
        finally:
            daemon.kill()
            if sender is not None:
                sender.kill()
        frames = live_runs.frames_of(log)
    begin_ns = frames[0]["publish_mono_ns"] + SETTLE_S * 1e9
    counted = [frame for frame in frames if frame["publish_mono_ns"] >= begin_ns]
    wanted_hz = SAMPLE_RATE_HZ / hop
    if len(counted) < 2:
        return {"hop": hop, "wanted_hz": wanted_hz, "published_hz": 0.0, "exit_code": code}
    seconds = (counted[-1]["publish_mono_ns"] - counted[0]["publish_mono_ns"]) * 1e-9
    ages = [live_runs.age_ms(frame) for frame in counted]
    return {
        "hop": hop,
        "wanted_hz": round(wanted_hz, 1),
        "published_hz": round((len(counted) - 1 + sum(f["skipped"] for f in counted[1:])) / seconds, 1),
        "shed_hops": sum(frame["shed_hops"] for frame in counted),
        "age_ms": {"median": round(statistics.median(ages), 2), "most": round(max(ages), 1)},
        "exit_code": code,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hops", default="16,32,46,64,100,256")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--n", type=int, default=1, help="frequencies")
    parser.add_argument("--bin", type=Path, action="append", default=[], help="folder with nearfield and nearfieldd")
    options = parser.parse_args()
    folders = [folder.resolve() for folder in options.bin] or [live_runs.BIN]
    results = []
    for hop in map(int, options.hops.split(",")):
        for folder in folders:
            result = {"bin": str(folder), **run(folder, hop, options)}
            results.append(result)
            print(f"{result['bin']}: hop {hop}: {result['published_hz']:.1f} of {result['wanted_hz']:.1f} frames a second, "
                  f"{result.get('shed_hops', '-')} hops shed, exit code {result['exit_code']}", file=sys.stderr)
    print(json.dumps(results))
    if any(result["exit_code"] != 0 for result in results):
        sys.exit("live_hops: expected exit code 0")


if __name__ == "__main__":
    main()

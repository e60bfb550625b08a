#!/usr/bin/env python3
"""Ages of a live daemon's frames over UDP on loopback: from a window's last bit in its memory to its frame in the ring.

    bench/ages/ages.py [--bin FOLDER]... [--rounds 3] [--seconds 5] [--hops 32] [--poll-us auto,1000] [--set KEY=VALUE]...

Runs nearfieldd of each FOLDER in turn, once a round with every hop and poll, fed by `nearfield send` of the first
FOLDER, on the device that config/nearfieldd.yaml chooses here. A row each: the median, p99 and p99.9 of `nearfield ctl
status` (of the last 10 to 20 s, in bins whose limits lie 12 % apart), the mean since the start and its parts from the
metrics' sums, the age at which `nearfield tap`, a reader that sleeps, has a frame (--reader), what was shed and lost.
Standard library alone.
"""

import argparse
import itertools
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
FREQUENCIES = "[500,1007,1510,2014,2500]"
METRICS = "127.0.0.1:19777"
SOURCE = "127.0.0.1:17777"
LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", action="append", type=pathlib.Path, help="folder of nearfieldd; the first one's nearfield is used with all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="of stream, a run")
    parser.add_argument("--hops", default="32")
    parser.add_argument("--poll-us", default="auto", help="values of daemon.realtime.poll_us")
    parser.add_argument("--set", action="append", default=[], help="another setting of the daemon")
    parser.add_argument("--reader", action="store_true", help="`nearfield tap` reads")
    parser.add_argument("--json", type=pathlib.Path, help="also write the rows here")
    options = parser.parse_args()
    options.bin = [folder.resolve() for folder in options.bin or [ROOT / "build/release/bin"]]
    if options.seconds < 2:
        parser.error(f"--seconds: expected at least 2, found {options.seconds}")
    for folder in options.bin:
        if not (folder / "nearfieldd").exists():
            parser.error(f"--bin: expected a folder with nearfieldd, found {folder}")
    return options


class Run:
    """One daemon and its stream."""

    def __init__(self, options, folder, settings):
        self.tools = options.bin[0]
        self.options = options
        self.folder = folder
        self.control = folder / "control.sock"
        self.frames = folder / "frames.sock"
        own = [
            f"front_end.frequencies_hz={FREQUENCIES}",
            f"daemon.source.address={SOURCE}",
            f"daemon.metrics.address={METRICS}",
            "daemon.page.address=off",
            f"daemon.control.socket={self.control}",
            f"daemon.publish.ring.socket={self.frames}",
        ]
        self.settings = [part for one in own + settings for part in ("--set", one)]

    def tool(self, *words):
        command = [self.tools / "nearfield", *words]
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout

    def measure(self, binaries):
        with open(self.folder / "daemon.log", "w+", encoding="utf-8") as log:
            daemon = subprocess.Popen(
                [binaries / "nearfieldd", "-c", ROOT / "config/nearfieldd.yaml", *self.settings], stdout=log, stderr=log
            )
            try:
                return self.row(daemon)
            except Exception:
                log.seek(0)
                sys.stderr.write(log.read())
                raise
            finally:
                daemon.terminate()
                daemon.wait(timeout=60)

    def row(self, daemon):
        self.tool("ctl", "--socket", self.control, "--wait", "status")
        if daemon.poll() is not None:
            raise RuntimeError(f"nearfieldd has ended with {daemon.returncode}")
        reader = None
        send = ["send", ROOT / "config/scenes/monopoles.yaml", "--loop", "--to", SOURCE, "-q"]
        send += ["--duration", str(self.options.seconds + 2)]
        sender = subprocess.Popen([self.tools / "nearfield", *send], stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            if self.options.reader:
                tap = ["tap", "--socket", self.frames, "--json", "-q", "--duration", str(self.options.seconds - 1)]
                reader = json.loads(self.tool(*tap))
            else:
                time.sleep(self.options.seconds - 1)
            status = json.loads(self.tool("ctl", "--socket", self.control, "status", "--json"))
            metrics = LOCAL.open(f"http://{METRICS}/metrics", timeout=10).read().decode()
            if sender.poll() is not None or not status["frames"]:
                raise RuntimeError(f"expected a stream and frames, found {status['frames']} frames; nearfield send: {sender.poll()}")
        finally:
            sender.terminate()
            sender.wait()
        values = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if line and not line.startswith("#"))
        return figures(status, values, reader)


def figures(status, metrics, reader):
    frames = float(metrics["nearfield_age_seconds_count"])
    row = {f"{key}_us": 1e3 * status["age_ms"][key] for key in ("median", "p99", "p999", "max")}
    row["mean_us"] = 1e6 * float(metrics["nearfield_age_seconds_sum"]) / frames
    for stage in ("take", "compute", "controllers"):
        row[f"{stage}_us"] = 1e6 * float(metrics[f'nearfield_stage_seconds_sum{{stage="{stage}"}}']) / frames
    if reader is not None:
        row |= {f"read_{key}_us": 1e3 * reader["age_ms"][key] for key in ("median", "p99")}
    counts = {"frames": int(frames), "shed": status["shed_hops"], "missing": status["bit_times"]["missing"]}
    return row | counts | {"version": status["version"], "device": status["device"]}


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the daemon and the sender end with this
    rows = []
    try:
        measure_all(options, rows)
    finally:
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def measure_all(options, rows):
    for turn, hop, poll, binaries in itertools.product(
        range(options.rounds), options.hops.split(","), options.poll_us.split(","), options.bin
    ):
        settings = [f"front_end.hop_samples={hop}", *options.set]
        settings += [] if poll == "auto" else [f"daemon.realtime.poll_us={poll}"]
        with tempfile.TemporaryDirectory() as folder:
            found = Run(options, pathlib.Path(folder), settings).measure(binaries)
        row = {"bin": str(binaries), "round": turn + 1, "hop": int(hop), "poll_us": poll} | found
        if not rows:
            print(" | ".join(row))
        rows.append(row)
        print(" | ".join(f"{value:.0f}" if isinstance(value, float) else str(value) for value in row.values()), flush=True)


if __name__ == "__main__":
    main()

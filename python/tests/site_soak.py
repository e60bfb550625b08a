#!/usr/bin/env python3
"""Many live arrays at one broker, for long: a store that stops, a broker that is killed and started.

    site_soak.py [--arrays 8] [--seconds 600] [--gate]

Each array is a nearfieldd of 8 x 8 microphones at hop 1024 with a bridge; a store and the site page look at all of them. The store is
stopped for a tenth of the time, from a fifth on, and the broker is killed for a twentieth, from a half on. Checked: each daemon's frames
go on, and with --gate none loses a hop; no picture that the page gives as young lags behind the daemon's ring; the store has each frame
that a bridge numbered, or counts it as lost. NEARFIELD_PROGRAM names the programs under test.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import broker_support
import conftest
import h5py
import numpy as np
from broker_support import Bridge, RedisServer, until

import nearfield
from nearfield import bridge
from nearfield.site.server import SiteServer, Watch

HOP_S = 1024 / 46875.0
YOUNG_S = 2.0  # as the page draws them live
CONFIG = """
array: {{rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}}
front_end: {{frequencies_hz: [1007.08], hop_samples: 1024}}
holography: {{standoff_m: 0.03, extrapolation: {{order: 4}}}}
daemon:
  source: {{kind: simulate, scene: {folder}/scene.yaml, loop: true}}
  publish: {{ring: {{socket: {folder}/frames.sock}}}}
  recording: {{directory: {folder}}}
  control: {{socket: {folder}/control.sock}}
  metrics: {{address: "off"}}
  page: {{address: "off"}}
"""


class Array:
    """A daemon and its bridge."""

    def __init__(self, name, folder, url):
        self.name, self.folder = name, folder / name
        self.folder.mkdir(mode=0o700)
        (self.folder / "scene.yaml").write_text(conftest.SCENE)
        (self.folder / "daemon.yaml").write_text(CONFIG.format(folder=self.folder))
        program = pathlib.Path(nearfield.program()).with_name("nearfieldd")
        with open(self.folder / "log", "wb") as log:
            self.daemon = subprocess.Popen([program, "-c", self.folder / "daemon.yaml"], stderr=log)
        until(self.answers, f"{name}: a daemon that answers", 120.0)
        self.bridge = Bridge("redis", "--array", name, "--socket", self.folder / "frames.sock", "--control", self.folder / "control.sock",
                             "--length", "2000", NEARFIELD_REDIS_URL=url)

    def answers(self):
        assert self.daemon.poll() is None, (self.folder / "log").read_text()
        with contextlib.suppress(OSError, ValueError, KeyError):
            return self.status()["frames"] > 0
        return False

    def status(self):
        return broker_support.status(self.folder / "control.sock")

    def end(self):
        code = self.bridge.end()[0]
        self.daemon.terminate()
        return code, self.daemon.wait(30)


class Onlooker(threading.Thread):
    """Asks for pictures as the page does, and compares those that are young by their stamp with the daemon's own ring."""

    def __init__(self, arrays, watch, stop):
        super().__init__(daemon=True)
        self.arrays, self.watch, self.stop_event = arrays, watch, stop
        self.young, self.stale, self.away = 0, [], 0

    def run(self):
        import redis

        rings = {array.name: nearfield.Ring(array.folder / "frames.sock", products=[]) for array in self.arrays}
        readers = {}
        while not self.stop_event.wait(0.2):
            for name, ring in rings.items():
                try:
                    reader = readers.setdefault(name, None) or bridge.Reader(name, client=self.watch._client)
                    readers[name] = reader
                    frame = reader.latest()
                    self.watch.picture(name, "")
                except (redis.RedisError, nearfield.NearfieldError, KeyError):  # KeyError: a broker that forgot its arrays
                    self.away += 1
                    continue
                newest = ring.latest()
                if frame is not None and newest is not None and frame.is_live(YOUNG_S):
                    self.young += 1
                    # Half a second for this thread itself, which reads broker and ring one after the other.
                    if (newest.sequence - frame.sequence) * HOP_S > YOUNG_S + 0.5 + newest.age_s:
                        self.stale.append((name, frame.sequence, newest.sequence))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--arrays", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--gate", action="store_true", help="no daemon may lose a hop: for a machine with nothing else to do")
    options = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory(prefix="site-") as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        (folder / "store").mkdir()
        broker = RedisServer(folder)
        stack.callback(broker.end)
        arrays = []
        stack.callback(lambda: [array.daemon.kill() for array in arrays if array.daemon.poll() is None])
        for i in range(options.arrays):
            arrays.append(Array(f"array{i}", folder, broker.url))
        store = Bridge("store", folder / "store", "--file-seconds", "5", NEARFIELD_REDIS_URL=broker.url)
        watch = Watch(lambda: bridge.Redis(broker.url).connect())
        server = SiteServer(("127.0.0.1", 0), watch)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stop = threading.Event()
        onlooker = Onlooker(arrays, watch, stop)
        until(lambda: len(bridge.arrays(watch._client)) == options.arrays, "bridges of all arrays", 120.0)
        begin = {array.name: array.status() for array in arrays}
        onlooker.start()
        begun_s = time.monotonic()

        def at(share):
            time.sleep(max(0.0, begun_s + share * options.seconds - time.monotonic()))

        at(0.2)
        os.kill(store.process.pid, signal.SIGSTOP)
        at(0.3)
        os.kill(store.process.pid, signal.SIGCONT)
        at(0.5)
        broker.kill()
        at(0.55)
        broker.start()
        at(1.0)
        end = {array.name: array.status() for array in arrays}
        states = {array.name: bridge.newest_state(watch._client, bridge.Keys(array.name)) for array in arrays}
        stop.set()
        onlooker.join(10.0)
        for array in arrays:
            if array.end() != (0, 0):
                problems.append(f"{array.name}: expected bridge and daemon to end with 0")
        client = watch._client

        def has_all():
            return all(group["pending"] == 0 and group["last-delivered-id"] == client.xinfo_stream(bridge.Keys(array.name).frames("surface"))["last-generated-id"]
                       for array in arrays for group in client.xinfo_groups(bridge.Keys(array.name).frames("surface")))

        until(has_all, "a store that has caught up", 60.0)
        code, output, said = store.end()
        if code != 0:
            problems.append(f"store: expected 0, found {code}: {said}")
        counts = json.loads(output)
        server.shutdown()
        for array in arrays:
            numbers = []
            for path in sorted((folder / "store").glob(f"{array.name}.surface.*.h5")):
                with h5py.File(path) as file:
                    numbers.append(file["n"][()])
            numbers = np.concatenate(numbers).astype(np.int64)
            of_store, of_bridge = counts[f"{array.name}.surface"], states[array.name]["bridge"]["processors"]["surface"]
            frames = end[array.name]["frames"] - begin[array.name]["frames"]
            shed = end[array.name]["shed_hops"] - begin[array.name]["shed_hops"]
            missing = end[array.name]["bit_times"]["missing"] - begin[array.name]["bit_times"]["missing"]
            print(f"{array.name}: {frames} frames, {shed} hops shed, {missing} bit-times missing; bridge {of_bridge}; store {of_store}", flush=True)
            # A source of a busy machine is late with its bits; only one with nothing else to do keeps the rate.
            if frames + shed < (0.95 if options.gate else 0.3) * options.seconds / HOP_S:
                problems.append(f"{array.name}: expected frames to go on, found {frames} and {shed} hops shed")
            if options.gate and (shed or missing):
                problems.append(f"{array.name}: expected no hop lost, found {shed} and {missing} bit-times")
            if len(set(numbers)) != len(numbers) or len(numbers) != of_store["stored"]:
                problems.append(f"{array.name}: expected each frame once, found {len(numbers)}, {len(set(numbers))} of them different")
            if int((np.diff(numbers) - 1).sum()) != of_store["lost"] or of_store["damaged"]:
                problems.append(f"{array.name}: expected the store to count {int((np.diff(numbers) - 1).sum())} lost frames, found {of_store}")
            if not 0 < of_bridge["dropped"] <= of_store["lost"]:
                problems.append(f"{array.name}: expected the frames of the broker's absence as dropped and as lost, found {of_bridge} and {of_store}")
        print(f"onlooker: {onlooker.young} young pictures, {len(onlooker.stale)} of them stale; {onlooker.away} times no broker", flush=True)
        if onlooker.stale or not onlooker.young or not onlooker.away:
            problems.append(f"expected young pictures, none of them stale, and a time without a broker, found {onlooker.stale[:5]}")
    for problem in problems:
        print(f"site_soak: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

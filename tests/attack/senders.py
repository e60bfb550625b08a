#!/usr/bin/env python3
"""Senders that a nearfieldd must withstand, and what its frames say of them.

  senders.py [--long] [--gate] [--side N] [--bin FOLDER] [SCENARIO]...

Each scenario starts a nearfieldd of its own, sends to it over UDP on loopback, reads its frames with `nearfield tap` and
holds them against the sender's own list of what it did not send. Without names all of them run, about 20 s; --long runs
each for longer and 32 x 32 microphones (--side 32) at their full rate. Prints one line of JSON a scenario; ends with 1
when something was not as it must be. Times are printed; --gate holds them to their bounds too.

Needs Python 3.9 and nothing else.
"""

import argparse
import csv
import json
import multiprocessing
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120  # PoCL may compile for long on a busy machine

BIT_RATE_HZ = 1_500_000
PACKET_BITS = 256
WINDOW_BITS = 1024 * 32
HOP_BITS = 32 * 32
SOURCE_BASE = 1 << 20  # first bit-time of the source; other senders begin at multiples of OTHER_BASE
OTHER_BASE = 1 << 40
FAR_AHEAD = 12_600_000  # 8.4 s

MOST_WHOLE_MS = 50.0  # from the last bit of the first whole window behind a gap to its frame

FLAG_MISSING = 4
FLAG_OVERLOAD = 8


def header(stream_id, first, count, words):
    return struct.pack("<4sHHIIQHHI", b"NFB1", 1, 32, stream_id, 0, first % 2**64, count, words, 0)


class Sender(multiprocessing.Process):
    """Sends a stream in real time, step by step; `report()` gives what it left out and when it did what.

    Steps: ("run", seconds, share of packets lost), ("burst", packets lost), ("pause", seconds), ("jump", bit-times),
    ("ahead", bit-times: one packet that far ahead of its place), ("back", bit-times).
    """

    def __init__(self, port, words, steps, base, seed=1):
        super().__init__(daemon=True)
        self.port, self.words, self.steps, self.base, self.seed = port, words, steps, base, seed
        self.inner, self.outer = multiprocessing.Pipe(False)

    def run(self):
        chance = random.Random(self.seed)
        self.out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.out.connect(("127.0.0.1", self.port))
        self.payload = chance.randbytes(PACKET_BITS * self.words * 4)
        self.stream_id = chance.getrandbits(32)
        self.next = self.base
        self.begin = time.monotonic()
        self.sent = 0  # bit-times that have passed on the wall clock
        lost, events = [], []
        for name, *values in self.steps:
            if name in ("pause", "jump", "back"):
                events.append({"name": name, "gap_first": self.next, "end_ns": time.monotonic_ns()})
            if name == "run":
                self.run_for(values[0], values[1], chance, lost)
            elif name == "burst":
                lost.append((self.next, values[0] * PACKET_BITS))
                self.advance(values[0] * PACKET_BITS)
            elif name == "pause":
                bits = round(values[0] * BIT_RATE_HZ / PACKET_BITS) * PACKET_BITS
                lost.append((self.next, bits))
                self.advance(bits)
                self.wait()
            elif name == "jump":
                lost.append((self.next, values[0]))
                self.next += values[0]
            elif name == "back":
                self.next -= values[0]
            elif name == "ahead":
                self.send(self.next + values[0])
            if events and "gap_end" not in events[-1] and name in ("pause", "jump", "back"):
                events[-1].update(gap_end=self.next, back_ns=time.monotonic_ns())
        self.outer.send({"stream_id": self.stream_id, "base": self.base, "end": self.next, "lost": lost,
                         "events": events, "begin_ns": round(self.begin * 1e9), "end_ns": time.monotonic_ns()})

    def send(self, first):
        try:
            self.out.sendmsg([header(self.stream_id, first, PACKET_BITS, self.words), self.payload])
        except ConnectionRefusedError:
            pass

    def advance(self, bits):
        self.next += bits
        self.sent += bits

    def wait(self):
        late = self.begin + self.sent / BIT_RATE_HZ - time.monotonic()
        if late > 0:
            time.sleep(late)

    def run_for(self, seconds, loss, chance, lost):
        packets = round(seconds * BIT_RATE_HZ / PACKET_BITS)
        for i in range(packets):
            # The first and the last packet of a run come: what lies between them is all that counts.
            if 0 < i < packets - 1 and loss > 0 and chance.random() < loss:
                lost.append((self.next, PACKET_BITS))
            else:
                self.send(self.next)
            self.advance(PACKET_BITS)
            if i % 6 == 5:
                self.wait()

    def report(self):
        report = self.inner.recv()
        self.join()
        return report


def intruder(port, words, seconds, pairs_per_s):
    """Two consecutive packets of one bit-time under a fresh stream id, again and again."""
    chance = random.Random(7)
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.connect(("127.0.0.1", port))
    end = time.monotonic() + seconds
    number = 1
    while time.monotonic() < end:
        stream_id, first = chance.getrandbits(32), OTHER_BASE * number
        for i in range(2):
            try:
                out.send(header(stream_id, first + i, 1, words) + bytes(words * 4))
            except ConnectionRefusedError:
                pass
        number += 1
        time.sleep(1.0 / pairs_per_s)


class Daemon:
    """nearfieldd in a folder of its own, and `nearfield tap` beside it."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.words = options.side * options.side // 32
        config = folder / "nearfieldd.yaml"
        config.write_text(f"""version: 1
array: {{rows: {options.side}, columns: {options.side}, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}}
front_end: {{window_samples: {WINDOW_BITS // 32}, hop_samples: {HOP_BITS // 32}, frequencies_hz: [1007.08]}}
holography: {{standoff_m: 0.03, filter: {{cutoff_rad_per_m: search}}}}
daemon:
  source: {{kind: udp, address: "127.0.0.1:0"}}
  publish: {{ring: {{socket: frames.sock, slots: 4096}}}}
  control: {{socket: control.sock}}
  metrics: {{address: off}}
  recording: {{directory: .}}
  realtime: {{priority: {options.priority}}}
  deadlines: {{frame_ms: 60000}}
  no_input: {{after_ms: 300}}
""")
        arguments = [options.bin / "nearfieldd", "-c", config, "--summary", folder / "summary.json"]
        if options.takeover_ms > 0:
            arguments += ["--set", f"daemon.source.takeover_after_ms={options.takeover_ms}"]
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen(arguments, stderr=log, stdout=log)
        self.reader = None
        self.start_reader()
        self.port = self.status()["port"]

    def start_reader(self):
        log = self.folder / "frames.csv"
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and self.process.poll() is None:
            if (self.folder / "control.sock").exists():
                self.reader = subprocess.Popen(
                    [self.options.bin / "nearfield", "tap", "--socket", self.folder / "frames.sock", "--log", log],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                while self.reader.poll() is None and not log.exists():
                    time.sleep(0.01)
                if log.exists():
                    return
            time.sleep(0.02)
        raise SystemExit(f"senders: no ring: {self.log()}")

    def log(self):
        return (self.folder / "log").read_text()

    def status(self):
        answer = subprocess.run(
            [self.options.bin / "nearfield", "ctl", "--socket", self.folder / "control.sock", "status", "--json"],
            capture_output=True, text=True, timeout=PATIENCE_S)
        return json.loads(answer.stdout)

    def wait_for(self, holds):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            status = self.status()
            if holds(status):
                return status
            time.sleep(0.05)
        return status

    def stop(self):
        time.sleep(0.2)  # for what is on its way
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=PATIENCE_S)
        self.reader.wait(timeout=PATIENCE_S)
        summary = json.loads((self.folder / "summary.json").read_text())
        with open(self.folder / "frames.csv") as file:
            frames = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
        return code, summary, frames

    def kill(self):
        for process in (self.process, self.reader):
            if process is not None and process.poll() is None:
                process.kill()


def overlap(first, end, runs):
    return sum(max(0, min(end, run + count) - max(first, run)) for run, count in runs)


def frames_of(frames, report):
    """Those whose windows lie in a sender's bit-times."""
    return [frame for frame in frames if report["base"] <= frame["first_bit_time"] < report["end"]]


def judge(result, problems, frames, report, summary, whole_clock=True):
    """Holds the frames of a sender against its own list of losses."""
    own = frames_of(frames, report)
    lost = report["lost"]
    counts = summary["bit_times"]
    # What was lost beside the list, by the machine or with a gap longer than the ring: then frames miss more than the list
    # says, never less.
    exact = summary["packets"]["kernel_drops"] == 0 and not any(counts[key] for key in ("overrun", "late", "abandoned"))
    wrong = less = 0
    begins = sorted(lost)
    index = 0
    for frame in own:
        first = frame["first_bit_time"]
        while index < len(begins) and begins[index][0] + begins[index][1] <= first:
            index += 1
        near = []
        for run in begins[index:]:
            if run[0] >= first + WINDOW_BITS:
                break
            near.append(run)
        expected = overlap(first, first + WINDOW_BITS, near)
        wrong += frame["missing_bit_times"] != expected
        less += frame["missing_bit_times"] < expected
        if bool(frame["flags"] & FLAG_MISSING) != (frame["missing_bit_times"] > 0):
            problems.append(f"the flag of frame {frame['sequence']} does not agree with its missing bit-times")
    possible = max(0, (report["end"] - report["base"] - WINDOW_BITS) // HOP_BITS + 1)
    hops = own[-1]["sequence"] - own[0]["sequence"] + 1 if own else 0
    result.update({
        "frames": len(own) + sum(frame["skipped"] for frame in own[1:]),
        "hops_of_the_source": possible,
        "shed_hops": sum(frame["shed_hops"] for frame in own[1:]),
        "flagged": sum(frame["missing_bit_times"] > 0 for frame in own),
        "silent": sum(frame["missing_bit_times"] >= WINDOW_BITS for frame in own),
        "unflagged": less,
        "unequal": wrong,
        "missing": counts["missing"], "overrun": counts["overrun"], "abandoned": counts["abandoned"],
        "late": counts["late"], "kernel_drops": summary["packets"]["kernel_drops"],
        "conserved": summary["conserved"],
    })
    if not own:
        problems.append("no frame of the source")
        return own
    if less or (exact and wrong):
        problems.append(f"{less} frames miss less than the sender's list says, {wrong} another number")
    if result["silent"]:
        problems.append(f"{result['silent']} frames of which nothing came")
    if not summary["conserved"]:
        problems.append("the counts are not conserved")
    if any(f["skipped"] for f in own[1:]):
        result["skipped_by_the_reader"] = sum(f["skipped"] for f in own[1:])
    elif hops != len(own) + result["shed_hops"]:
        problems.append("the sequence does not count frames and shed hops")
    # Each window of the source's clock is a hop: imaged, shed, or passed over.
    if whole_clock and abs(hops - possible) > 2:
        problems.append(f"expected {possible} hops, found {hops}")
    return own


def first_whole(own, event):
    """Of the first whole window behind a gap: ms from the source's return, and from the window's last bit."""
    for frame in own:
        if frame["first_bit_time"] >= event["gap_end"] and frame["missing_bit_times"] == 0:
            return (round((frame["publish_mono_ns"] - event["back_ns"]) * 1e-6, 1),
                    round((frame["publish_mono_ns"] - frame["capture_mono_ns"]) * 1e-6, 1))
    return None


def judge_alone(daemon, steps, result, problems):
    """One sender that goes through `steps`, and its frames held against its list; the daemon's exit code."""
    sender = Sender(daemon.port, daemon.words, steps, SOURCE_BASE)
    sender.start()
    report = sender.report()
    code, summary, frames = daemon.stop()
    judge(result, problems, frames, report, summary)
    return code


def loss(options, daemon, result, problems):
    """Single packets and bursts, on a list."""
    seconds = 10.0 if options.long else 1.0
    steps = []
    for share in (0.001, 0.01, 0.1):
        steps += [("run", seconds / 2, share), ("burst", 40), ("run", seconds / 4, 0.0)]
    return judge_alone(daemon, steps, result, problems)


def fresh_ids(options, daemon, result, problems):
    """A stranger's pairs of packets, each pair under an id of its own."""
    seconds = 8.0 if options.long else 2.0
    sender = Sender(daemon.port, daemon.words, [("run", seconds, 0.0)], SOURCE_BASE)
    sender.start()
    time.sleep(0.3)
    other = multiprocessing.Process(target=intruder, args=(daemon.port, daemon.words, seconds - 0.6, options.pairs),
                                    daemon=True)
    other.start()
    report = sender.report()
    other.join()
    status = daemon.status()
    code, summary, frames = daemon.stop()
    judge(result, problems, frames, report, summary)
    result["restarts"] = summary["packets"].get("restarts", status["losses"]["restarts"])
    if result["restarts"] > 0:
        problems.append("the stream was taken away")
    return code


def intruder_alone(options, daemon, result, problems):
    """The source is gone; a stranger's bits are all that comes."""
    sender = Sender(daemon.port, daemon.words, [("run", 0.5, 0.0)], SOURCE_BASE)
    sender.start()
    sender.report()
    other = multiprocessing.Process(target=intruder, args=(daemon.port, daemon.words, 60.0, 5), daemon=True)
    other.start()
    time.sleep(1.5)
    end = time.monotonic() + (PATIENCE_S if options.patient else 3.0)
    state = daemon.status()["state"]
    while state != "no input" and time.monotonic() < end:
        time.sleep(0.1)
        state = daemon.status()["state"]
    other.terminate()
    code, summary, _ = daemon.stop()
    result.update({"state": state, "conserved": summary["conserved"]})
    if state != "no input":
        problems.append('expected the state "no input"')
    return code


def two_senders(options, daemon, result, problems):
    """Two sources at their full rate; then the first one ends."""
    seconds = 5.0 if options.long else 1.5
    first = Sender(daemon.port, daemon.words, [("run", seconds, 0.0)], SOURCE_BASE)
    second = Sender(daemon.port, daemon.words, [("run", seconds + 0.8 + options.takeover_ms * 1e-3, 0.0)], OTHER_BASE,
                    seed=2)
    first.start()
    time.sleep(0.2)
    second.start()
    one = first.report()
    status = daemon.status()
    two = second.report()
    code, summary, frames = daemon.stop()
    judge(result, problems, frames, one, summary)
    others = frames_of(frames, two)
    early = [frame for frame in others if frame["capture_mono_ns"] < one["end_ns"]]
    result.update({
        "frames_of_the_second": len(others), "of_these_while_the_first_sent": len(early),
        "restarts": status["losses"]["restarts"] if "restarts" not in summary["packets"]
        else summary["packets"]["restarts"],
        "senders": status.get("senders"),
        "shed_hops_at_takeover": others[0]["shed_hops"] if others else None,
    })
    if early:
        problems.append("the second sender took the port while the first one sent")
    if not others or result["restarts"] != 1:
        problems.append("expected one takeover, after the first sender's end")
    elif others[0]["shed_hops"] == 0 or not others[0]["flags"] & FLAG_OVERLOAD:
        problems.append("the first frame after the takeover does not say what is missing")
    named = status.get("senders") or {}
    if not named.get("other") or not named["other"]["address"].startswith("127.0.0.1:") or named["other"][
            "stream_id"] == named["present"]["stream_id"]:
        problems.append("the status does not name the two senders")
    if "two senders?" not in daemon.log():
        problems.append("the log does not name the two senders")
    return code


def far_ahead(options, daemon, result, problems):
    """Single packets of the right id, 8.4 s ahead of their place."""
    steps = [("run", 0.4, 0.0)]
    for _ in range(10 if options.long else 3):
        steps += [("ahead", FAR_AHEAD), ("run", 0.4, 0.0)]
    return judge_alone(daemon, steps, result, problems)


def gaps(options, daemon, result, problems):
    """The source stops, and its clock jumps."""
    pauses = (0.05, 2.0, 9.0) if options.long else (0.05, 0.9)
    steps = [("run", 0.5, 0.0)]
    for gap in [("pause", s) for s in pauses] + [("jump", 100_000), ("jump", 2_000_000), ("jump", 14_900_000)]:
        steps += [gap, ("run", 1.5 if options.long else 0.4, 0.0)]
    sender = Sender(daemon.port, daemon.words, steps, SOURCE_BASE)
    sender.start()
    report = sender.report()
    code, summary, frames = daemon.stop()
    own = judge(result, problems, frames, report, summary)
    result["first_whole_ms"] = [
        (event["name"], event["gap_end"] - event["gap_first"], first_whole(own, event)) for event in report["events"]]
    listed = sum(count for _, count in report["lost"])
    result["listed"] = listed
    # What lay before the gaps in a hop that was not whole yet may be lost with a gap longer than the ring.
    if summary["bit_times"]["overrun"] > 0 and summary["packets"]["kernel_drops"] == 0:
        problems.append(f"{summary['bit_times']['overrun']} real bit-times were overrun")
    for name, bits, whole in result["first_whole_ms"]:
        if whole is None:
            problems.append(f"no whole window behind the {name} of {bits} bit-times")
        elif options.gate and whole[1] > MOST_WHOLE_MS:
            problems.append(f"the first whole window behind the {name} of {bits} bit-times came {whole[1]} ms late")
    return code


def back(options, daemon, result, problems):
    """The source's counter steps back under its old id: a restart, after the silence that this makes."""
    sender = Sender(daemon.port, daemon.words,
                    [("run", 1.6, 0.0), ("back", 1_000_000), ("run", 0.6 + options.takeover_ms * 1e-3, 0.0)], SOURCE_BASE)
    sender.start()
    report = sender.report()
    code, summary, frames = daemon.stop()
    restarts = [i for i in range(1, len(frames)) if frames[i]["first_bit_time"] < frames[i - 1]["first_bit_time"]]
    result.update({"frames": len(frames), "restarts": len(restarts), "conserved": summary["conserved"],
                   "first_whole_ms": first_whole(frames[restarts[0]:], {
                       "gap_end": 0, "back_ns": report["events"][0]["back_ns"]}) if restarts else None})
    if len(restarts) != 1:
        problems.append("expected one restart")
    elif frames[restarts[0]]["shed_hops"] == 0:
        problems.append("the first frame after the restart does not say what is missing")
    return code


SCENARIOS = {function.__name__: function
             for function in (loss, fresh_ids, intruder_alone, two_senders, far_ahead, gaps, back)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="*", help=", ".join(SCENARIOS))
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--gate", action="store_true", help="hold times to their bounds too")
    parser.add_argument("--side", type=int, default=0, help="microphones a side: 8, or 32 with --long")
    parser.add_argument("--priority", type=int, default=0, help="daemon.realtime.priority")
    parser.add_argument("--pairs", type=float, default=20.0, help="an intruder's pairs of packets a second")
    parser.add_argument("--takeover-ms", type=float, default=0.0,
                        help="daemon.source.takeover_after_ms: longer than a busy machine holds a sender up; 0: the default")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="of nearfield and nearfieldd")
    parser.add_argument("--impatient", dest="patient", action="store_false", help="wait 3 s for a state, not 120")
    options = parser.parse_args()
    options.side = options.side or (32 if options.long else 8)
    failed = False
    for name in options.scenario or SCENARIOS:
        if name not in SCENARIOS:
            parser.error(f"expected one of {', '.join(SCENARIOS)}, found {name}")
        result, problems = {"scenario": name}, []
        with tempfile.TemporaryDirectory(prefix="nearfield-") as folder:
            daemon = Daemon(options, Path(folder))
            try:
                code = SCENARIOS[name](options, daemon, result, problems)
                if code != 0:
                    problems.append(f"nearfieldd ended with {code}")
            finally:
                daemon.kill()
            result["problems"] = problems
            print(json.dumps(result), flush=True)
            if problems:
                failed = True
                print(daemon.log(), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

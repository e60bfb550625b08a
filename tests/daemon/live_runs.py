#!/usr/bin/env python3
"""Runs of nearfieldd that take time, and their results as JSON; called by `./dev soak`.

  live_runs.py overload [--seconds S]   each frame takes 1.5 hops for S seconds: hops, memory, time to recover
  live_runs.py restart [--lives N]      a hung frame and a device error: time to the end, time to the next frame
  live_runs.py swaps [--device NAME]    eight kinds of `ctl set` and a SIGHUP, with nothing but the running kernels compiled
  live_runs.py processors [--changes N]  images at every hop, a second imager at every eighth, and N `ctl set` in turn
  live_runs.py beside [--rounds N]      ages of images alone, and with srp_phat at every eighth hop beside them, in turn
  live_runs.py apart [--rounds N]       ages of images alone, and with a heavy map on another device (--other), in turn
  live_runs.py page [--rounds N]        publish intervals without and with ten readers of the live page, in turn in one run
  live_runs.py stops [--times N]        SIGSTOP for 3 s, SIGCONT, N times: a stopped process must not take it for a hung frame

With --bin FOLDER another build's programs run; --device is device.platform, such as NVIDIA. Every frame and every bit-time must be accounted for, and exit codes must be right; with --gate also the figures.
"""

import argparse
import csv
import json
import os
import re
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build/release/bin"
DEVICE = "auto"
CONFIG = ROOT / "config/nearfieldd.yaml"
SCENE = ROOT / "config/scenes/monopoles.yaml"
PATIENCE_S = 120  # PoCL may compile for long on a busy machine

HOP_SAMPLES = 32
HOP_S = HOP_SAMPLES * 32 / 1.5e6
NORMAL_S = 5.0
LOAD = 1.5
USUAL_S = 0.35e-3  # what a frame takes in any case

MOST_GROWTH_MB = 4.0
MOST_RELIEF_MS = 100.0
MOST_LATE_MS = 50.0
MOST_RESTART_S = 2.0
RESTART_SEC = 0.1  # RestartSec of config/systemd/nearfieldd.service


def be_not_nice():
    """As systemd starts a service, however nice this script is."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    except PermissionError:
        pass


def start_daemon(folder, settings, fault="", config=CONFIG, environment=None):
    """nearfieldd with its sockets in `folder`; with a fault the build of it that has faults."""
    settings = {
        "daemon.publish.ring.socket": folder / "frames.sock",
        "daemon.control.socket": folder / "control.sock",
        "daemon.metrics.address": "off",
        "daemon.page.address": "off",
        "daemon.recording.directory": folder,
        "daemon.realtime.priority": 20,
        "device.platform": DEVICE,
        **settings,
    }
    program = BIN / ("nearfieldd_faulty" if fault else "nearfieldd")
    arguments = [program, "-c", config, "--summary", folder / "summary.json"]
    for key, value in settings.items():
        arguments += ["--set", f"{key}={value}"]
    with open(folder / "log", "w") as log:
        return subprocess.Popen(arguments, stderr=log,
                                env={**os.environ, **(environment or {}), "NEARFIELDD_FAULT": fault},
                                preexec_fn=be_not_nice)


def tap(folder, log, *options):
    """Starts `nearfield tap` again and again until it has found the ring; gives the running process."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if (folder / "frames.sock").exists():
            process = subprocess.Popen(
                [BIN / "nearfield", "tap", "--socket", folder / "frames.sock", "--json", "--log", log, *options],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and not log.exists():
                time.sleep(0.001)
            if log.exists():
                return process
        time.sleep(0.005)
    raise SystemExit(f"live_runs: no ring at {folder}: {(folder / 'log').read_text()}")


def frames_of(log):
    with open(log) as file:
        return [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]


def resident_mb(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1e3


def age_ms(frame):
    return (frame["publish_mono_ns"] - frame["capture_mono_ns"]) * 1e-6


def relief_ms(frames, end, normal_ms):
    """From the last slow frame to the first of ten frames without shedding whose median age is normal again."""
    after = [frame for frame in frames if frame["sequence"] >= end]
    since_ns = max(frame["publish_mono_ns"] for frame in frames if frame["sequence"] < end)
    for i in range(len(after) - 10):
        ten = after[i:i + 10]
        is_normal = statistics.median(map(age_ms, ten)) < 1.5 * normal_ms
        if is_normal and not any(frame["shed_hops"] for frame in ten):
            return (ten[0]["publish_mono_ns"] - since_ns) * 1e-6
    return float("inf")


def overload(options, folder):
    begin = round(NORMAL_S / HOP_S)
    end = begin + round(options.seconds / HOP_S)
    last = end + round(NORMAL_S / HOP_S)
    daemon = start_daemon(
        folder,
        {"daemon.source.kind": "simulate", "daemon.source.scene": SCENE, "front_end.hop_samples": HOP_SAMPLES},
        f"slow:{begin}:{end}:{round((LOAD * HOP_S - USUAL_S) * 1e6)}")
    try:
        log = folder / "frames.csv"
        reader = tap(folder, log)
        resident = []
        patience = time.monotonic() + PATIENCE_S + last * HOP_S
        while daemon.poll() is None and time.monotonic() < patience:
            resident.append((time.monotonic_ns(), resident_mb(daemon.pid)))
            time.sleep(0.1)
            tail = log.read_text().splitlines()[-1].split(",")[0] if len(resident) % 10 == 0 else ""
            if tail.isdigit() and int(tail) >= last:
                daemon.send_signal(signal.SIGTERM)
                break
        code = daemon.wait(timeout=30)
        reader.wait(timeout=30)
    finally:
        daemon.kill()
    frames = frames_of(log)
    slow = [frame for frame in frames if begin <= frame["sequence"] < end]
    first_ns, last_ns = slow[0]["publish_mono_ns"], slow[-1]["publish_mono_ns"]
    third_ns = (last_ns - first_ns) / 3
    growth_mb = (statistics.mean(mb for ns, mb in resident if last_ns - third_ns <= ns <= last_ns) -
                 statistics.mean(mb for ns, mb in resident if first_ns <= ns <= first_ns + third_ns))
    normal = [age_ms(frame) for frame in frames if frame["sequence"] < begin][10:]
    summary = json.loads((folder / "summary.json").read_text())
    hops = frames[-1]["sequence"] - frames[0]["sequence"] + 1
    accounted = len(frames) + sum(frame["shed_hops"] + frame["skipped"] for frame in frames[1:])
    shed = sum(frame["shed_hops"] for frame in slow)
    result = {
        "overload_s": round((last_ns - first_ns) * 1e-9, 1),
        "load": round((slow[-1]["sequence"] - slow[0]["sequence"]) / (len(slow) - 1), 2),
        "hops": slow[-1]["sequence"] - slow[0]["sequence"] + 1,
        "frames": len(slow),
        "shed_hops": shed,
        "reader_hops": hops,
        "reader_accounted": accounted,
        "conserved": summary["conserved"],
        "lost_bit_times": summary["bit_times"]["missing"] + summary["bit_times"]["overrun"],
        "resident_mb": round(resident[-1][1], 1),
        "growth_mb": round(growth_mb, 2),
        "normal_age_ms": round(statistics.median(normal), 2),
        "overload_age_ms": {"median": round(statistics.median(map(age_ms, slow)), 1),
                            "most": round(max(map(age_ms, slow)), 1)},
        "relief_ms": round(relief_ms(frames, end, statistics.median(normal)), 1),
        "exit_code": code,
    }
    problems = []
    if code != 0 or not summary["conserved"] or shed == 0:
        problems.append("expected exit code 0, shed hops, and every hop and bit-time accounted for")
    # What a reader skips may hide shed hops, never the other way round.
    if (hops != accounted if not any(f["skipped"] for f in frames[1:]) else False):
        problems.append(f"expected {hops} hops in the reader's frames, found {accounted}")
    if options.gate and growth_mb > MOST_GROWTH_MB:
        problems.append(f"expected at most {MOST_GROWTH_MB} MB of growth")
    if options.gate and result["relief_ms"] > MOST_RELIEF_MS:
        problems.append(f"expected relief within {MOST_RELIEF_MS} ms")
    return result, problems


def end_of(process):
    """Monotonic nanoseconds of its end, at once: Popen.wait(timeout) looks only every 50 ms."""
    descriptor = os.pidfd_open(process.pid)
    try:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        if not waiting.poll(PATIENCE_S * 1e3):
            raise SystemExit(f"live_runs: nearfieldd did not end within {PATIENCE_S} s")
        return time.monotonic_ns()
    finally:
        os.close(descriptor)


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def one_life(folder, settings, kind, deadline_ms):
    """Dies of a fault, is started again as systemd would; ms from the deadline to the end, s to the next frame, code."""
    daemon = start_daemon(folder, settings, f"{kind}:300")
    ended_ns = end_of(daemon)
    code = daemon.wait()
    fault_ns = int(re.search(r"NEARFIELDD_FAULT: .* at (\d+) ns", (folder / "log").read_text())[1])
    time.sleep(RESTART_SEC)
    next_life = start_daemon(folder, settings)
    try:
        log = folder / "first_frame.csv"
        log.unlink(missing_ok=True)
        reader = tap(folder, log, "--count", "1")
        reader.wait(timeout=PATIENCE_S)
        next_life.send_signal(signal.SIGTERM)
        next_life.wait(timeout=30)
    finally:
        next_life.kill()
    deadline_ns = deadline_ms * 1e6 if kind == "hang" else 0
    return (ended_ns - fault_ns - deadline_ns) * 1e-6, (frames_of(log)[0]["publish_mono_ns"] - ended_ns) * 1e-9, code


def restart(options, folder):
    deadline_ms = 200
    port = free_port()
    settings = {"daemon.source.address": f"127.0.0.1:{port}", "daemon.deadlines.frame_ms": deadline_ms}
    sender = subprocess.Popen([BIN / "nearfield", "send", SCENE, "--loop", "--to", f"127.0.0.1:{port}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    result, problems = {}, []
    try:
        for kind, expected in (("hang", 75), ("device", 69)):
            lives = [one_life(folder, settings, kind, deadline_ms) for _ in range(options.lives)]
            result[kind] = {
                "late_ms": [round(life[0], 1) for life in lives],
                "restart_s": [round(life[1], 2) for life in lives],
                "exit_codes": [life[2] for life in lives],
            }
            if any(life[2] != expected for life in lives):
                problems.append(f"{kind}: expected exit code {expected}")
            if options.gate and any(life[0] > MOST_LATE_MS for life in lives):
                problems.append(f"{kind}: expected the end within {MOST_LATE_MS} ms of the deadline")
            if options.gate and any(life[1] > MOST_RESTART_S for life in lives):
                problems.append(f"{kind}: expected the next frame within {MOST_RESTART_S} s")
    finally:
        sender.kill()
    return result, problems


# --- new configurations ----------------------------------------------------------------------------------------------

SWAPS = ["holography.standoff_m=0.04", "front_end.window_samples=512", "front_end.frequencies_hz=[1007.08,2014.16]",
         "front_end.frequencies_hz=[503.54,1007.08,1510.62,2014.16,2517.70]", "holography.upsample=2",
         "front_end.kind=dot_product", "holography.imager=sonah", "holography.quantity=normal_velocity",
         "array.calibration=CALIBRATION", "SIGHUP"]
FIVE_HZ = "[503.54, 1007.08, 1510.62, 2014.16, 2517.70]"
SETTLE_S = 2.0  # of frames looked at before and after a change


def cache_environment(folder):
    """Every cache of compiled kernels in a folder of its own."""
    return {"POCL_CACHE_DIR": str(folder / "pocl"), "XDG_CACHE_HOME": str(folder / "programs"),
            "CUDA_CACHE_PATH": str(folder / "cuda")}


def run_nearfield(*arguments):
    done = subprocess.run([BIN / "nearfield", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"live_runs: nearfield {arguments[0]}: {done.stderr}")


def make_calibration(folder):
    """Gains of a simulated array: what is in it does not matter here, that it can be read does."""
    scene = folder / "field.yaml"
    scene.write_text("""version: 1
array: {rows: 32, columns: 32, pitch_x_m: 0.02, pitch_y_m: 0.02, sensitivity_dbfs: -26}
standoff_m: 0.03
duration_s: 0.15
sources:
  - {kind: monopole, frequency_hz: 1007.080078125, x_m: 0.1, y_m: 0.05, z_m: -0.8, volume_velocity_m3_s: 2.0e-3}
""")
    run_nearfield("simulate", scene, "-o", folder / "field.h5")
    run_nearfield("calibrate", folder / "field.h5", "--source", "0.1,0.05,-0.8", "-o", folder / "gains.h5",
                  "--set", "front_end.frequencies_hz=[1007.08]")
    return folder / "gains.h5"


def stop_daemon(daemon):
    daemon.send_signal(signal.SIGTERM)
    try:
        return daemon.wait(timeout=30)
    except subprocess.TimeoutExpired:
        daemon.kill()
        return daemon.wait()


def wait_for_rows(log, rows):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if log.exists() and len(log.read_text().splitlines()) > rows:
            return
        time.sleep(0.05)
    found = len(log.read_text().splitlines()) - 1 if log.exists() else 0
    raise SystemExit(f"live_runs: expected {rows} frames in {PATIENCE_S} s, found {found}; nearfieldd: {(log.parent / 'log').read_text()[-2000:]}")


def change(daemon, folder, kind, config, calibration):
    """Requests the change and waits until it is in effect, refused, or the daemon is gone; seconds, and what it said."""
    begin = time.monotonic()
    if kind == "SIGHUP":
        config.write_text(re.sub(r"frequencies_hz: .*", f"frequencies_hz: {FIVE_HZ}", config.read_text()))
        daemon.send_signal(signal.SIGHUP)
        end = begin + PATIENCE_S
        while daemon.poll() is None and "epoch 2 begins" not in (folder / "log").read_text() and time.monotonic() < end:
            time.sleep(0.01)
        return time.monotonic() - begin, ""
    done = subprocess.run([BIN / "nearfield", "ctl", "--socket", folder / "control.sock", "set",
                           kind.replace("CALIBRATION", str(calibration))], capture_output=True, text=True)
    return time.monotonic() - begin, (done.stderr or done.stdout).strip()


def pauses_ms(frames):
    return [(b["publish_mono_ns"] - a["publish_mono_ns"]) * 1e-6 for a, b in zip(frames, frames[1:])]


def one_swap(folder, kind, settings, caches, calibration):
    """A life of the daemon whose caches hold the kernels of the running configuration alone, and one change."""
    own = folder / "caches"
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(caches, own)
    config = folder / "nearfieldd.yaml"
    shutil.copy(CONFIG, config)
    log = folder / "frames.csv"
    log.unlink(missing_ok=True)
    daemon = start_daemon(folder, settings, config=config, environment=cache_environment(own))
    try:
        reader = tap(folder, log)
        wait_for_rows(log, 100)
        time.sleep(SETTLE_S)
        asked_ns = time.monotonic_ns()
        seconds, said = change(daemon, folder, kind, config, calibration)
        time.sleep(SETTLE_S)
        died = daemon.poll()
        code = stop_daemon(daemon) if died is None else died
        reader.wait(timeout=30)
    finally:
        daemon.kill()
    end_ns = asked_ns + (seconds + 0.2) * 1e9
    frames = [frame for frame in frames_of(log) if frame["publish_mono_ns"] < end_ns]
    before = [frame for frame in frames if frame["publish_mono_ns"] < asked_ns][50:]
    during = [frame for frame in frames if frame["publish_mono_ns"] >= asked_ns]
    of_old = [frame for frame in during if frame["epoch"] == 1]
    return {
        "kind": kind,
        "epoch": max(frame["epoch"] for frame in frames),
        "exit_code": died,
        "end_code": code,
        "seconds": round(seconds, 2),
        "pause_before_ms": round(max(pauses_ms(before), default=float("nan")), 1),
        "pause_ms": round(max(pauses_ms(during), default=float("nan")), 1),
        "shed_before": sum(frame["shed_hops"] for frame in before),
        "shed_planning": sum(frame["shed_hops"] for frame in of_old),
        "shed_after": sum(frame["shed_hops"] for frame in during if frame["epoch"] > 1),
        "said": said,
    }


def swaps(options, folder):
    port = free_port()
    settings = {"daemon.source.address": f"127.0.0.1:{port}", "front_end.hop_samples": options.hop,
                "daemon.publish.ring.slots": 4096}
    calibration = make_calibration(folder)
    sender = subprocess.Popen([BIN / "nearfield", "send", SCENE, "--loop", "--to", f"127.0.0.1:{port}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows, problems = [], []
    try:
        caches = folder / "caches_of_start"
        daemon = start_daemon(folder, settings, environment=cache_environment(caches))
        try:
            reader = tap(folder, folder / "first.csv", "--count", "100")
            reader.wait(timeout=PATIENCE_S)
            stop_daemon(daemon)
        finally:
            daemon.kill()
        print(f"{'change':68} epoch exit    s  pause ms (before)   hops shed: before, planning, after", file=sys.stderr)
        for kind in SWAPS if options.only is None else [kind for kind in SWAPS if options.only in kind]:
            row = one_swap(folder, kind, settings, caches, calibration)
            rows.append(row)
            print(f"{kind:68} {row['epoch']:5} {row['exit_code'] or '-':>4} {row['seconds']:4.1f} {row['pause_ms']:8.1f} "
                  f"({row['pause_before_ms']:.1f}) {row['shed_before']:8} {row['shed_planning']:8} {row['shed_after']:8}"
                  + (f"  {row['said']}" if row["epoch"] != 2 else ""), file=sys.stderr, flush=True)
            if row["epoch"] != 2 or row["exit_code"] is not None or row["end_code"] != 0:
                problems.append(f"{kind}: expected epoch 2 and a daemon that lives")
    finally:
        sender.kill()
    return {"hop_samples": options.hop, "device": DEVICE, "swaps": rows}, problems


# --- a process that is stopped -----------------------------------------------------------------------------------------


def stops(options, folder):
    """Stopped and continued again and again, each time at another place of a frame."""
    daemon = start_daemon(folder, {"daemon.source.kind": "simulate", "daemon.source.scene": SCENE,
                                   "daemon.publish.ring.slots": 64})
    log = folder / "frames.csv"
    lived = 0
    try:
        reader = tap(folder, log)
        wait_for_rows(log, 100)
        for i in range(options.times):
            daemon.send_signal(signal.SIGSTOP)
            time.sleep(options.seconds)
            daemon.send_signal(signal.SIGCONT)
            time.sleep(0.2 + 0.0137 * i)
            if daemon.poll() is not None:
                break
            lived += 1
        died = daemon.poll()
        code = stop_daemon(daemon) if died is None else died
        reader.wait(timeout=30)
    finally:
        daemon.kill()
    result = {"times": options.times, "stopped_s": options.seconds, "lived": lived, "exit_code": code}
    return result, [] if lived == options.times and code == 0 else ["expected the daemon to live through every stop"]


def hops_without_a_frame(frames, every):
    """Due hops that neither have a frame nor were shed."""
    missing = 0
    for a, b in zip(frames, frames[1:]):
        due = b["sequence"] // every - a["sequence"] // every - 1
        missing += max(0, due - (b["shed_hops"] + every - 1) // every)
    return missing


def processors(options, folder):
    """Two processors of one stream, of which each gets a new setting in turn: the other's frames are to have no gap."""
    every = 8
    daemon = start_daemon(folder, {"daemon.source.kind": "simulate", "daemon.source.scene": SCENE,
                                   "daemon.publish.ring.slots": 4096, "processors.slow.kind": "pnah",
                                   "processors.slow.every_hops": every})
    logs = {"surface": folder / "surface.csv", "slow": folder / "slow.csv"}
    said = []
    try:
        readers = [tap(folder, logs["surface"]), tap(folder, logs["slow"], "--processor", "slow")]
        wait_for_rows(logs["surface"], 1000)
        kinds = ["medium.sound_speed_m_s=340", "processors.slow.every_hops=16", "holography.upsample=2",
                 "processors.slow.every_hops=8"]
        for kind in kinds[:options.changes]:
            seconds, text = change(daemon, folder, kind, None, None)
            said.append({"kind": kind, "seconds": round(seconds, 2), "said": text})
            time.sleep(SETTLE_S)
        died = daemon.poll()
        code = stop_daemon(daemon) if died is None else died
        for reader in readers:
            reader.wait(timeout=30)
    finally:
        daemon.kill()
    summary = json.loads((folder / "summary.json").read_text())
    result = {"exit_code": code, "conserved": summary["conserved"], "changes": said}
    problems = [] if code == 0 and summary["conserved"] else ["expected the daemon to end well and account for every bit"]
    for name, log in logs.items():
        frames = frames_of(log)
        own = every if name == "slow" else 1
        result[name] = {
            "frames": len(frames),
            "epochs": max(frame["epoch"] for frame in frames),
            "shed_hops": sum(frame["shed_hops"] for frame in frames),
            "hops_without_a_frame": hops_without_a_frame(frames, 1 if own == 1 else 16),
            "off_cadence": sum(1 for frame in frames if frame["sequence"] % own and not frame["shed_hops"]),
            "median_age_ms": round(statistics.median(map(age_ms, frames)), 3),
        }
        if result[name]["hops_without_a_frame"] > 0:
            problems.append(f"expected no gap in the frames of {name}")
    return result, problems


def ages_of_images(folder, seconds, further):
    """Frames, hops without one, and the age of images, from the last bit in the host's memory to the ring."""
    folder.mkdir()
    daemon = start_daemon(folder, {"daemon.source.kind": "simulate", "daemon.source.scene": SCENE,
                                   "daemon.publish.ring.slots": 4096,
                                   "front_end.frequencies_hz": "[503.54, 1007.08, 1510.62, 2014.16, 2517.70]", **further})
    log = folder / "frames.csv"
    try:
        reader = tap(folder, log)
        wait_for_rows(log, round(seconds / HOP_S))
        code = stop_daemon(daemon)
        reader.wait(timeout=30)
    finally:
        daemon.kill()
    frames = frames_of(log)[round(1.0 / HOP_S):]  # a second settles clocks and caches
    ages = sorted(map(age_ms, frames))
    summary = json.loads((folder / "summary.json").read_text())
    span_s = (frames[-1]["publish_mono_ns"] - frames[0]["publish_mono_ns"]) * 1e-9
    return {"exit_code": code, "conserved": summary["conserved"], "rate_hz": round((len(frames) - 1) / span_s, 1),
            "hops_without_a_frame": hops_without_a_frame(frames, 1),
            "median_age_us": round(1e3 * ages[len(ages) // 2]), "p99_age_us": round(1e3 * ages[len(ages) * 99 // 100])}


def beside(options, folder):
    """What a processor at every eighth hop costs the images of every hop."""
    further = {"processors.where.kind": "srp_phat", "processors.where.every_hops": 8,
               "processors.where.grid.kind": "angles", "processors.where.grid.distance_m": "inf",
               "processors.where.grid.step_deg": 2}
    rounds = [{name: ages_of_images(folder / f"{name}{turn}", options.seconds, settings)
               for name, settings in (("alone", {}), ("with_srp_phat", further))} for turn in range(options.rounds)]
    result = {"seconds": options.seconds, "rounds": rounds}
    for figure in ("median_age_us", "p99_age_us"):
        result[f"added_{figure}"] = statistics.median(one["with_srp_phat"][figure] - one["alone"][figure] for one in rounds)
    lives = [life for one in rounds for life in one.values()]
    problems = [] if all(life["exit_code"] == 0 and life["conserved"] for life in lives) else [
        "expected each daemon to end well and account for every bit"]
    if options.gate and (result["added_median_age_us"] > 20 or result["added_p99_age_us"] > 60):
        problems.append("expected at most 20 us more at the median and 60 us at p99")
    return result, problems


MOST_APART_RATIO = 1.1


def apart(options, folder):
    """What a map that keeps another device busy costs the images of every hop: p99 of their age, alone and beside it."""
    further = {"processors.where.kind": "srp_phat", "processors.where.every_hops": options.every,
               "processors.where.device": options.other, "processors.where.keep_map": "false",
               "processors.where.grid.kind": "angles", "processors.where.grid.distance_m": "inf",
               "processors.where.grid.step_deg": options.step}
    rounds = [{name: ages_of_images(folder / f"{name}{turn}", options.seconds, settings)
               for name, settings in (("alone", {}), ("with_map", further))} for turn in range(options.rounds)]
    result = {"seconds": options.seconds, "rounds": rounds}
    for figure in ("median_age_us", "p99_age_us"):
        of = {name: statistics.median(one[name][figure] for one in rounds) for name in ("alone", "with_map")}
        result[figure] = {**of, "ratio": round(of["with_map"] / of["alone"], 3)}
    lives = [life for one in rounds for life in one.values()]
    problems = [] if all(life["exit_code"] == 0 and life["conserved"] for life in lives) else [
        "expected each daemon to end well and account for every bit"]
    if options.gate and result["p99_age_us"]["ratio"] > MOST_APART_RATIO:
        problems.append(f"expected a p99 beside the map of at most {MOST_APART_RATIO} times that without")
    return result, problems


def watch_closely():
    """Real-time priority for this script alone, so that it sees at once what happens; not for what it starts."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(30))
    except PermissionError:
        print("live_runs: no real-time priority: times are as late as this script was", file=sys.stderr)


PAGE_READERS = 10
MOST_PAGE_RATIO = 1.2
READER = """
import asyncio, json, sys, time, websockets
async def read(port, ends):
    pictures = 0
    async with websockets.connect(f"ws://127.0.0.1:{port}/stream", max_size=None, compression=None) as stream:
        while time.monotonic() < ends:
            message = await stream.recv()
            if not isinstance(message, str):
                pictures += 1
                await stream.send('{"op":"next","id":1}')
            elif '"kind":"hello"' in message and "surface" in message:
                await stream.send(json.dumps({"op": "subscribe", "id": 1, "processor": "surface", "product": "images",
                                              "select": {"z": 0, "frequency": 0}}))
    return pictures
async def read_all(port, readers, ends):
    print(sum(await asyncio.gather(*[read(port, ends) for _ in range(readers)])))
asyncio.run(read_all(int(sys.argv[1]), int(sys.argv[2]), time.monotonic() + float(sys.argv[3])))
"""


def page(options, folder):
    """Ten readers of the live page, each of whom takes a picture as often as it can have one, come and go."""
    daemon = start_daemon(folder, {"daemon.source.kind": "simulate", "daemon.source.scene": SCENE,
                                   "daemon.publish.ring.slots": 4096, "daemon.page.address": "127.0.0.1:0"})
    log = folder / "frames.csv"
    turns = {"without": [], "with": []}
    pictures = 0
    try:
        reader = tap(folder, log)
        wait_for_rows(log, 1000)
        port = re.search(r"page at http://127.0.0.1:(\d+)/", (folder / "log").read_text())[1]
        for _ in range(options.rounds):
            for name, spans in turns.items():
                time.sleep(SETTLE_S)
                begin_ns = time.monotonic_ns()
                if name == "with":
                    pictures += int(subprocess.run(["/usr/bin/python3", "-c", READER, port, str(PAGE_READERS),
                                                    str(options.seconds)], stdout=subprocess.PIPE, check=True).stdout)
                else:
                    time.sleep(options.seconds)
                spans.append((begin_ns, time.monotonic_ns()))
        code = stop_daemon(daemon)
        reader.wait(timeout=30)
    finally:
        daemon.kill()
    times = [frame["publish_mono_ns"] for frame in frames_of(log)]
    result = {"exit_code": code, "pictures_a_second_and_reader": round(
        pictures / (PAGE_READERS * options.rounds * options.seconds), 1)}
    for name, spans in turns.items():
        gaps = sorted(later - earlier for earlier, later in zip(times, times[1:])
                      if any(begin <= earlier and later <= end for begin, end in spans))
        result[name] = {"frames": len(gaps)} | {f"interval_p{part}_ms": round(gaps[int(part / 100 * len(gaps))] * 1e-6, 3)
                                                for part in (50, 99, 99.9)}
    result["ratio_p99.9"] = round(result["with"]["interval_p99.9_ms"] / result["without"]["interval_p99.9_ms"], 3)
    problems = [] if code == 0 else ["expected the daemon to end well"]
    if pictures == 0:
        problems.append("expected pictures, found none")
    if options.gate and result["ratio_p99.9"] > MOST_PAGE_RATIO:
        problems.append(f"expected p99.9 beside the page's readers of at most {MOST_PAGE_RATIO} times that without")
    return result, problems


def main():
    global BIN, DEVICE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("overload")
    one.add_argument("--seconds", type=float, default=60.0)
    one.set_defaults(run=overload)
    two = commands.add_parser("restart")
    two.add_argument("--lives", type=int, default=3)
    two.set_defaults(run=restart)
    three = commands.add_parser("swaps")
    three.add_argument("--hop", type=int, default=HOP_SAMPLES, help="front_end.hop_samples")
    three.add_argument("--only", help="those changes whose text has this in it")
    three.set_defaults(run=swaps)
    four = commands.add_parser("stops")
    four.add_argument("--times", type=int, default=20)
    four.add_argument("--seconds", type=float, default=3.0)
    four.set_defaults(run=stops)
    five = commands.add_parser("processors")
    five.add_argument("--changes", type=int, default=4, help="how many `ctl set`, in turn for each processor")
    five.set_defaults(run=processors)
    six = commands.add_parser("beside")
    six.add_argument("--seconds", type=float, default=10.0, help="of each run")
    six.add_argument("--rounds", type=int, default=3)
    six.set_defaults(run=beside)
    eight = commands.add_parser("apart")
    eight.add_argument("--seconds", type=float, default=6.0, help="of each run")
    eight.add_argument("--rounds", type=int, default=5)
    eight.add_argument("--other", default="1", help="processors.where.device")
    eight.add_argument("--every", type=int, default=32, help="processors.where.every_hops")
    eight.add_argument("--step", type=float, default=0.25, help="processors.where.grid.step_deg")
    eight.set_defaults(run=apart)
    seven = commands.add_parser("page")
    seven.add_argument("--seconds", type=float, default=10.0, help="of each turn")
    seven.add_argument("--rounds", type=int, default=3)
    seven.set_defaults(run=page)
    for command in commands.choices.values():
        command.add_argument("--gate", action="store_true", help="hold the figures to their bounds too")
        command.add_argument("--bin", type=Path, default=BIN, help="folder of nearfield and nearfieldd")
        command.add_argument("--device", default=DEVICE, help="device.platform")
    options = parser.parse_args()
    BIN, DEVICE = options.bin.resolve(), options.device
    watch_closely()
    with tempfile.TemporaryDirectory(prefix="nearfield-") as folder:
        result, problems = options.run(options, Path(folder))
    print(json.dumps(result))
    if problems:
        sys.exit("live_runs: " + "; ".join(problems))


if __name__ == "__main__":
    main()

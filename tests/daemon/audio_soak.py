#!/usr/bin/python3
"""A long run of a device that counts its samples, with what goes wrong in it:  audio_soak.py FOLDER_OF_PROGRAMS [--minutes M]

JACK's dummy driver keeps the time, 100 ppm slow, by a library that is loaded before it; a client of it plays the number of each sample, and
ALSA's jack plugin hands them to nearfieldd. Meanwhile the daemon stands still, the server stands still, and the server ends and comes back.
In what was recorded the numbers count on, or samples are missing there or, where the driver does not say it, within 2.5 s.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import h5py
import numpy
from samples_test import STARTED, Daemon, expect, wait_for

RATE_HZ, CHANNELS, PERIOD = 8000, 2, 128
CYCLE = 1 << 22  # numbers that are played before they begin anew: float32 holds each exactly
SPEED = 1.0 - 100e-6
SAID_S = 2.5  # after a loss that the driver does not say

CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*) = 0;
  static double first = 0.0;
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int code = real(clock, now);
  if (clock == CLOCK_MONOTONIC && code == 0) {
    const double real_s = now->tv_sec + 1e-9 * now->tv_nsec;
    if (first == 0.0) first = real_s;
    const double shown_s = first + (real_s - first) * SPEED;
    now->tv_sec = (time_t)shown_s;
    now->tv_nsec = (long)(1e9 * (shown_s - now->tv_sec));
  }
  return code;
}
"""

CLIENT = f"""
import jack, numpy, time
client = jack.Client("numbers")
ports = [client.outports.register(f"out_{{i + 1}}") for i in range({CHANNELS})]
@client.set_process_callback
def process(frames):
    values = ((client.last_frame_time + numpy.arange(frames)) % {CYCLE} + 1).astype("f4") / numpy.float32({2 * CYCLE})
    for port in ports:
        port.get_array()[:] = values
with client:
    print("ready", flush=True)
    while True:
        time.sleep(60)
"""


class Server:
    """JACK with a clock of its own, and the client that plays numbers."""

    def __init__(self, folder):
        self.folder, self.name = folder, "nearfield_soak"  # always the same: JACK keeps room for eight names of servers that were killed
        source, self.library = folder / "clock.c", folder / "clock.so"
        source.write_text(CLOCK)
        subprocess.run(["cc", "-shared", "-fPIC", f"-DSPEED={SPEED}", source, "-o", self.library, "-ldl"], check=True)
        ports = " ".join(f"{i} numbers:out_{i + 1}" for i in range(CHANNELS))
        (folder / "alsa.conf").write_text(f"</usr/share/alsa/alsa.conf>\npcm.array {{ type jack capture_ports {{ {ports} }} }}\n")
        self.environment = {"JACK_DEFAULT_SERVER": self.name, "JACK_NO_START_SERVER": "1", "ALSA_CONFIG_PATH": str(folder / "alsa.conf")}
        self.start()

    def start(self):
        with (self.folder / "jack.log").open("a") as log:
            own = os.environ | self.environment
            self.server = subprocess.Popen(["jackd", "-r", "-n", self.name, "-d", "dummy", "-r", str(RATE_HZ), "-C", "2", "-P", "2", "-p", str(PERIOD)],
                                           stdout=log, stderr=log, env=own | {"LD_PRELOAD": str(self.library)})
            STARTED.append(self.server)
            wait_for(lambda: subprocess.run(["jack_lsp"], env=own, stdout=log, stderr=log, check=False).returncode == 0, "a JACK server")
            self.client = subprocess.Popen([sys.executable, "-c", CLIENT], stdout=subprocess.PIPE, stderr=log, env=own)
            STARTED.append(self.client)
            expect(self.client.stdout.readline() == b"ready\n", "the client did not begin")

    def stop(self):
        for process in (self.client, self.server):
            process.kill()
            process.wait()


def check_recording(nearfield, path, folder):
    """Length, missing samples and leaps of a recording; every leap of what is there must be followed by missing samples."""
    converted = folder / "converted.h5"
    converted.unlink(missing_ok=True)
    nearfield.require("convert", "-q", path, "-o", converted, "--what", "bits")
    with h5py.File(converted) as file:
        values = file["/time_data"][:, 0].astype("f8")
    is_there = values != 0.0  # the client plays no 0
    places = numpy.flatnonzero(is_there)
    numbers = numpy.round(values[places] * 2 * CYCLE).astype("i8") - 1
    steps = numpy.diff(numpy.unwrap(numbers, period=CYCLE)) - numpy.diff(places)
    runs = numpy.flatnonzero(numpy.diff(is_there.astype("i1")) == -1)
    groups = []  # [first sample, sum]: a client that is late for a block plays another one twice or early, and nothing is lost
    for i in numpy.flatnonzero((steps != 0) & (numpy.diff(places) == 1)):
        if groups and places[i + 1] - groups[-1][0] <= 2 * PERIOD:
            groups[-1][1] += int(steps[i])
        else:
            groups.append([int(places[i + 1]), int(steps[i])])
    unsaid = [first for first, lost in groups if lost > 0]
    for leap in unsaid:
        expect(leap + SAID_S * RATE_HZ > len(values) or ((runs >= leap) & (runs <= leap + SAID_S * RATE_HZ)).any(),
               f"{path}: the device's count leaps at sample {leap}, and nothing is missing after it")
    return len(values), int((~is_there).sum()), len(unsaid)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=1.0)
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
    chance = random.Random(5)
    server = Server(folder)
    daemon = Daemon(arguments.programs.resolve(), folder,
                    ["array.rows=1", f"array.columns={CHANNELS}", "array.pascal_per_unit=1", "daemon.source.kind=audio", "daemon.source.device=array",
                     f"daemon.source.sample_rate_hz={RATE_HZ}", "holography.imager=none", "processors.meters.kind=levels",
                     "processors.meters.window_samples=512", "front_end.frequencies_hz=[1000]", "front_end.hop_samples=2048"], server.environment)
    end_s, count, troubles, lost, samples = time.monotonic() + 60 * arguments.minutes, 0, {}, 0, 0
    while time.monotonic() < end_s or not count:
        name = f"take{count}"
        daemon.ctl("record", "start", "--name", name, "--bits")
        begun_s = time.monotonic()
        while time.monotonic() < min(begun_s + 60.0, end_s):
            time.sleep(chance.uniform(1.0, 8.0))
            trouble = chance.choice(("nothing", "daemon stands", "server stands"))
            troubles[trouble] = troubles.get(trouble, 0) + 1
            if trouble != "nothing":
                process = daemon.process if trouble == "daemon stands" else server.server
                process.send_signal(signal.SIGSTOP)
                time.sleep(chance.uniform(0.01, 1.5))
                process.send_signal(signal.SIGCONT)
        status = daemon.status()
        daemon.ctl("record", "stop")
        before = status["losses"]["audio_absences"]
        server.stop()
        wait_for(lambda before=before: daemon.status()["losses"]["audio_absences"] > before, "an absence", daemon)
        server.start()
        daemon.wait_for_frames(2)
        troubles["server ends"] = troubles.get("server ends", 0) + 1
        length, missing, unsaid = check_recording(daemon.nearfield, folder / f"{name}.nfr", folder)
        (folder / f"{name}.nfr").unlink()
        count, lost, samples = count + 1, lost + missing, samples + length
        print(f"take {count}: {length} samples, {missing} missing, {unsaid} leaps that the driver did not say; {status['losses']['audio_overruns']} overruns",
              flush=True)
    account, losses = daemon.status()["bit_times"], daemon.status()["losses"]
    expect(account["expected"] == account["received"] + account["missing"], f"expected accounts that add up, found {account}")
    daemon.stop()
    server.stop()
    print(f"{samples / RATE_HZ / 3600:.2f} h of samples, {lost} missing in recordings; {json.dumps(troubles)}; {json.dumps(account)}; "
          f"{losses['audio_overruns']} overruns, {losses['audio_absences']} absences")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()

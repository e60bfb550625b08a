#!/usr/bin/python3
"""Live samples, recorded and replayed, and of audio devices:  samples_test.py FOLDER_OF_PROGRAMS [TEST...]

What the daemon imaged while it recorded must be what a replay of the recorded samples makes, to the last bit. The devices are ALSA's: a
file behind a pipe, which this program writes in real time, and the ring of JACK's dummy driver, which keeps time, can be stopped and can end.
"""
import contextlib
import json
import math
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import h5py
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program, sets  # noqa: E402

RATE_HZ, ROWS, COLUMNS, PITCH_M = 48000, 4, 4, 0.042
CHANNELS = ROWS * COLUMNS
TONE_HZ = 1500.0
PASCAL_PER_UNIT = 28.2
PATIENCE_S = 90
ARRAY = [f"array.rows={ROWS}", f"array.columns={COLUMNS}", f"array.pitch_x_m={PITCH_M}", f"array.pitch_y_m={PITCH_M}", "holography.standoff_m=0.05",
         f"array.pascal_per_unit={PASCAL_PER_UNIT}", f"front_end.frequencies_hz=[{TONE_HZ}]", "front_end.window_samples=512",
         "front_end.hop_samples=256", "array.health.mask=false"]


STARTED = []  # processes, which a test that fails leaves


def fail(text):
    sys.exit(f"samples_test: {text}")


def expect(holds, text):
    if not holds:
        fail(text)


def wait_for(condition, what, daemon=None):
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        found = condition()
        if found:
            return found
        if daemon is not None and daemon.process.poll() is not None:
            fail(f"nearfieldd ended with {daemon.process.returncode} before {what}:\n{daemon.log()}")
        time.sleep(0.05)
    return fail(f"{what}: not within {PATIENCE_S} s" + (f":\n{daemon.log()}" if daemon else ""))


def field(first, count):
    """Samples of a monopole 5 cm before the array, in fractions of full scale, and noise that tells each from all others."""
    x, y = numpy.meshgrid((numpy.arange(COLUMNS) - 1.5) * PITCH_M, (numpy.arange(ROWS) - 1.5) * PITCH_M)
    r = numpy.sqrt(x**2 + y**2 + 0.05**2).ravel()
    t = (first + numpy.arange(count))[:, None] / RATE_HZ
    noise = numpy.random.default_rng(first).standard_normal((count, CHANNELS)) * 1e-3
    return (0.02 / r * numpy.cos(2 * math.pi * TONE_HZ * (t - r / 343.0)) + noise).astype("<f4")


class Pacer:
    """Writes blocks of samples into a pipe in real time, until it is stopped."""

    def __init__(self, path, convert=lambda values: values.tobytes(), block=480):
        self.stop_asked, self.written = threading.Event(), 0
        self.thread = threading.Thread(target=self.play, args=(path, convert, block), daemon=True)
        self.thread.start()

    def play(self, path, convert, block):
        with open(path, "wb", buffering=0) as pipe:
            begun_s = time.monotonic()
            while not self.stop_asked.is_set():
                data = memoryview(convert(field(self.written, block)))
                with contextlib.suppress(BrokenPipeError):
                    while data:
                        data = data[pipe.write(data):]
                self.written += block
                time.sleep(max(0.0, begun_s + self.written / RATE_HZ - time.monotonic()))

    def stop(self):
        self.stop_asked.set()
        self.thread.join()


class Daemon:
    def __init__(self, programs, folder, settings, environment=None):
        self.socket, self.folder, self.nearfield = folder / "control.sock", folder, Program(programs / "nearfield")
        own = [f"daemon.control.socket={self.socket}", f"daemon.publish.ring.socket={folder}/frames.sock", "daemon.metrics.address=off",
               "daemon.page.address=off", f"daemon.recording.directory={folder}", "daemon.deadlines.frame_ms=60000"]
        self.log_file = folder / f"log{len(list(folder.glob('log*')))}"
        with self.log_file.open("w") as log:
            self.process = subprocess.Popen([programs / "nearfieldd", *sets(ARRAY + own + settings)], stderr=log, stdout=log,
                                            env=os.environ | (environment or {}))
        STARTED.append(self.process)
        wait_for(lambda: self.nearfield.run("ctl", "--socket", self.socket, "status", "--json").returncode == 0, "an answer", self)

    def log(self):
        return self.log_file.read_text()

    def ctl(self, *words):
        return self.nearfield.require("ctl", "--socket", self.socket, *words).stdout

    def status(self):
        return json.loads(self.ctl("status", "--json"))

    def wait_for_frames(self, count):
        wanted = self.status()["frames"] + count
        wait_for(lambda: self.status()["frames"] >= wanted, f"{count} frames", self)

    def stop(self):
        self.ctl("stop")
        expect(self.process.wait(PATIENCE_S) == 0, f"nearfieldd: expected exit code 0:\n{self.log()}")


def images_of(path):
    """{hop: image} of a file of images."""
    with h5py.File(path) as file:
        values = file["/images"][:]
        return dict(zip(file["/first_sample"][:].tolist(), values, strict=True))


def compare_with_replay(nearfield, recording, folder, *settings):
    """The frames of a recording are those that its samples make."""
    live, again = folder / "live.h5", folder / "again.h5"
    nearfield.require("convert", recording, "-o", live, "--what", "images")
    nearfield.require("replay", "-q", recording, "-o", again, *sets(settings))
    seen, replayed = images_of(live), images_of(again)
    common = sorted(seen.keys() & replayed.keys())
    expect(len(common) >= 20, f"{recording}: expected 20 windows in both, found {len(common)} of {sorted(seen)[:3]} and {sorted(replayed)[:3]}")
    for first in common:
        expect(numpy.array_equal(seen[first], replayed[first]), f"{recording}: the window at sample {first} differs")
    return len(common)


def record_and_replay(programs, folder):
    """Recording, pre-trigger and freeze of samples of a pipe; what was sent is in the file."""
    nearfield, pipe = Program(programs / "nearfield"), folder / "pipe"
    os.mkfifo(pipe)
    daemon = Daemon(programs, folder, ["daemon.source.kind=pipe", "daemon.source.payload=samples", f"daemon.source.path={pipe}",
                                       f"daemon.source.sample_rate_hz={RATE_HZ}", "daemon.source.ring_bit_times=4194304",
                                       "daemon.recording.pre_trigger_s=0.2"])
    pacer = Pacer(pipe)
    daemon.wait_for_frames(60)
    daemon.ctl("record", "arm", "--name", "armed", "--bits", "--images")
    daemon.wait_for_frames(60)
    daemon.ctl("record", "trigger")
    daemon.wait_for_frames(60)
    daemon.ctl("record", "stop")
    daemon.ctl("freeze", "--name", "frozen")
    account = daemon.status()["recording"]["bit_times"]
    expect(account["stored"] == account["span"] > RATE_HZ // 5, f"expected every sample in the recording, found {account}")
    pacer.stop()
    pacer = Pacer(pipe)  # the next writer's stream
    daemon.wait_for_frames(20)
    daemon.stop()
    pacer.stop()
    armed = folder / "armed.nfr"
    facts = nearfield.require("inspect", armed).stdout
    expect("float32 of 16 channels" in facts and "28.2 Pa" in facts and "samples" in facts, f"inspect: found\n{facts}")
    windows = compare_with_replay(nearfield, armed, folder)
    for name in ("armed", "frozen"):
        nearfield.require("convert", folder / f"{name}.nfr", "-o", folder / f"{name}.h5", "--what", "bits")
        with h5py.File(folder / f"{name}.h5") as file:
            found, rate_hz = file["/time_data"][:], file["/time_data"].attrs["sample_freq"]
        first = int(next(line for line in facts.splitlines() if line.startswith("samples")).rsplit("samples ", 1)[1].split()[0]) if name == "armed" else None
        expect(rate_hz == RATE_HZ and len(found) > RATE_HZ // 5, f"{name}: found {len(found)} samples at {rate_hz} Hz")
        if first is not None:
            block = first // 480
            sent = numpy.concatenate([field((block + i) * 480, 480) for i in range(len(found) // 480 + 2)])[first - block * 480:][:len(found)]
            pascal = (sent.astype("f8") * PASCAL_PER_UNIT).astype("f4")
            expect(numpy.array_equal(found, pascal), "expected the samples that were sent, in Pa")
    done = nearfield.run("replay", folder / "frozen.nfr", "-o", folder / "frozen_images.h5", *sets(["front_end.frequencies_hz=[3000]"]))
    expect(done.returncode == 0, f"replay of a frozen ring: {done.stderr}")
    sent = nearfield.run("send", armed, "--to", "127.0.0.1:9", "--duration", "0.1")
    expect(sent.returncode == 0, f"send: {sent.stderr}")
    print(f"recorded and replayed: {windows} windows to the last bit")


def other_formats(programs, folder):
    """What a pipe carries as integers is imaged as what it carries as floats; levels differ by the last step."""
    levels = {}
    for name, convert in (("f32", lambda v: v.tobytes()), ("s16", lambda v: numpy.round(v * 32768).astype("<i2").tobytes()),
                          ("s24", lambda v: b"".join(struct.pack("<i", int(x))[:3] for x in numpy.round(v * 8388608).ravel())),
                          ("s32", lambda v: numpy.round(v * 2147483648.0).astype("<i4").tobytes())):
        pipe = folder / f"pipe_{name}"
        os.mkfifo(pipe)
        own = folder / name
        own.mkdir()
        daemon = Daemon(programs, own, ["daemon.source.kind=pipe", "daemon.source.payload=samples", f"daemon.source.path={pipe}",
                                        f"daemon.source.format={name}", f"daemon.source.sample_rate_hz={RATE_HZ}"])
        pacer = Pacer(pipe, convert)
        daemon.ctl("record", "start", "--name", "take", "--bits", "--images")
        daemon.wait_for_frames(40)
        daemon.ctl("record", "stop")
        expect(f"16 channels of {name}" in daemon.log(), f"log: expected the format {name}:\n{daemon.log()}")
        daemon.stop()
        pacer.stop()
        compare_with_replay(daemon.nearfield, own / "take.nfr", own)
        levels[name] = numpy.median([numpy.abs(image).max() for image in images_of(own / "live.h5").values()])
    for name, level in levels.items():
        expect(abs(level / levels["f32"] - 1.0) < 1e-3, f"{name}: expected the level of f32, {levels['f32']}, found {level}")
    print("formats:", {name: f"{level:.5f} Pa" for name, level in levels.items()})


def without_a_unit(programs, folder):
    """A recording of values that nobody has calibrated does not say that they are pascal; told so, it gives what the daemon imaged."""
    pipe, nearfield = folder / "pipe", Program(programs / "nearfield")
    os.mkfifo(pipe)
    daemon = Daemon(programs, folder, ["daemon.source.kind=pipe", "daemon.source.payload=samples", f"daemon.source.path={pipe}",
                                       f"daemon.source.sample_rate_hz={RATE_HZ}", "array.pascal_per_unit=null"])
    pacer = Pacer(pipe)
    daemon.ctl("record", "start", "--name", "take", "--bits", "--images")
    daemon.wait_for_frames(60)
    daemon.ctl("record", "stop")
    daemon.stop()
    pacer.stop()
    take = folder / "take.nfr"
    expect("not stated" in nearfield.require("inspect", take).stdout, "inspect: expected a unit that is not stated")
    for command in (("replay", take, "-o", folder / "x.h5"), ("send", take, "--to", "127.0.0.1:9", "--duration", "0.1")):
        done = nearfield.run(*command)
        expect(done.returncode == 78 and "does not say how many pascal" in done.stderr, f"{command}: expected 78, found {done.returncode}: {done.stderr}")
    compare_with_replay(nearfield, take, folder, "array.pascal_per_unit=1")
    nearfield.require("convert", take, "-o", folder / "take.h5", "--what", "bits")
    done = nearfield.run("replay", folder / "take.h5", "-o", folder / "x.h5", *sets(ARRAY[:5]))
    expect(done.returncode == 78 and "does not say how many pascal" in done.stderr, f"time data of it: found {done.returncode}: {done.stderr}")
    print("without a unit: refused until it is given")


def of_a_device(programs, folder):
    """ALSA's file driver behind a pipe: the samples arrive, and are recorded. It puts zeros where the pipe gives less than it reads, so that
    what it reads is written at once."""
    pipe = folder / "device"
    os.mkfifo(pipe)
    (folder / "alsa.conf").write_text(
        f'</usr/share/alsa/alsa.conf>\npcm.array {{ type file slave.pcm null file /dev/null infile "{pipe}" format raw }}\n')
    block = 64
    pacer = Pacer(pipe, lambda values: numpy.round(values * 2147483648.0).astype("<i4").tobytes(), block)
    daemon = Daemon(programs, folder, ["daemon.source.kind=audio", "daemon.source.device=array", f"daemon.source.sample_rate_hz={RATE_HZ}",
                                       f"front_end.hop_samples={block}", "daemon.overload.pause_recordings_ms=60000"],
                    {"ALSA_CONFIG_PATH": str(folder / "alsa.conf")})
    daemon.ctl("record", "start", "--name", "take", "--bits", "--images")
    daemon.wait_for_frames(60)
    daemon.ctl("record", "stop")
    daemon.stop()
    pacer.stop()
    windows = compare_with_replay(daemon.nearfield, folder / "take.nfr", folder)
    print(f"a device behind a pipe: {windows} windows to the last bit")


class Jack:
    """A JACK server with its dummy driver, under a name of its own."""

    def __init__(self, folder):
        self.name = f"nearfield_{os.getpid()}"
        self.environment = {"JACK_DEFAULT_SERVER": self.name, "JACK_NO_START_SERVER": "1", "ALSA_CONFIG_PATH": str(folder / "alsa.conf")}
        ports = " ".join(f"{i} system:capture_{i + 1}" for i in range(CHANNELS))
        (folder / "alsa.conf").write_text(f"</usr/share/alsa/alsa.conf>\npcm.array {{ type jack capture_ports {{ {ports} }} }}\n")
        self.log = folder / "jack.log"
        self.start()

    def start(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen(["jackd", "-r", "-n", self.name, "-d", "dummy", "-r", str(RATE_HZ), "-C", str(CHANNELS), "-P", "2",
                                             "-p", "256"], stdout=log, stderr=log, env=os.environ | self.environment)
        STARTED.append(self.process)
        wait_for(lambda: subprocess.run(["jack_lsp"], env=os.environ | self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        check=False).returncode == 0, "a JACK server")

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)


def of_a_sound_server(programs, folder):
    """A device that keeps its own time: rate and drift, overruns while the daemon stands still, a device that goes and comes back."""
    jack = Jack(folder)
    try:
        daemon = Daemon(programs, folder, ["daemon.source.kind=audio", "daemon.source.device=array", f"daemon.source.sample_rate_hz={RATE_HZ}"],
                        jack.environment)
        daemon.wait_for_frames(400)
        expect("every value is 0" in daemon.log(), f"expected the log to say that a dummy driver is silent:\n{daemon.log()}")
        losses = daemon.status()["losses"]
        begun_s = time.monotonic()
        daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(2.0)
        daemon.process.send_signal(signal.SIGCONT)
        paused_s = time.monotonic() - begun_s
        wait_for(lambda: daemon.status()["losses"]["audio_overruns"] > losses["audio_overruns"], "an overrun", daemon)
        daemon.wait_for_frames(20)
        missing = daemon.status()["losses"]["missing"] - losses["missing"]
        expect(1.5 * RATE_HZ < missing < (paused_s + 1.0) * RATE_HZ, f"expected the samples of {paused_s:.2f} s to be missing, found {missing}")
        jack.stop()
        wait_for(lambda: daemon.status()["losses"]["audio_absences"] > 0, "an absence", daemon)
        jack.start()
        daemon.wait_for_frames(20)
        account = daemon.status()["bit_times"]
        daemon.stop()
    finally:
        jack.stop()
    print(f"a sound server: {missing} samples missing after a pause of 2 s, account {account}")


def refusals(programs, folder):
    """Each thing that a device or the settings have not, in one line, with exit code 66 or 78."""
    daemon = Program(programs / "nearfieldd")
    (folder / "alsa.conf").write_text("</usr/share/alsa/alsa.conf>\n")
    os.environ["ALSA_CONFIG_PATH"] = str(folder / "alsa.conf")
    audio = ["daemon.source.kind=audio", "daemon.source.device=hw:UMA16", f"daemon.source.sample_rate_hz={RATE_HZ}"]
    cases = (
        (audio, 78, "`nearfield devices --audio` lists what there is"),
        (["daemon.source.kind=audio", "daemon.source.device=hw:UMA16"], 78, "daemon.source.sample_rate_hz: expected how many samples"),
        (["daemon.source.kind=audio", f"daemon.source.sample_rate_hz={RATE_HZ}"], 78, "a source of kind audio expects a device of ALSA"),
        (["daemon.source.payload=samples"], 78, "daemon.source.sample_rate_hz: expected how many samples"),
        (["daemon.source.kind=udp", "daemon.source.payload=samples", "daemon.source.format=s16", "daemon.source.sample_rate_hz=48000"], 78,
         "daemon.source.format: expected a source of kind pipe"),
        (audio + ["array.channels=[0,1,2]"], 78, "array.channels: expected a channel of hw:UMA16 for each of the 16 microphones, found 3"),
    )
    for settings, code, words in cases:
        done = daemon.run("--check", *sets(ARRAY + settings))
        expect(words in done.stdout + done.stderr, f"{settings}: expected \"{words}\", found {done.returncode}:\n{done.stdout}{done.stderr}")
        expect(done.returncode == code, f"{settings}: expected {code}, found {done.returncode}:\n{done.stdout}{done.stderr}")
    print(f"{len(cases)} refusals")


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    for test in (refusals, record_and_replay, other_formats, without_a_unit, of_a_device, of_a_sound_server):
        if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
            continue
        folder = pathlib.Path(tempfile.mkdtemp())
        try:
            test(programs, folder)
        finally:
            for process in STARTED:
                process.kill()  # nothing to one that has ended
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

"""Levels of a scene in closed form beside those of `nearfield levels`: near image, far map, point, beam and microphone, of a replay and of a daemon.

Run: NEARFIELD_PROGRAM=build/release/bin/nearfield PYTHONPATH=build/release/python/newest build/python/bin/python python/tests/levels_table.py
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np

import nearfield
from nearfield.sound_levels import Choice, levels
from nearfield.weightings import REFERENCE_PA2, Band, response

AT_M, DEPTH_M, STANDOFF_M, PITCH_M = (0.06, -0.02), 0.1, 0.06, 0.04  # the source is below a pixel, 0.1 m behind the surface
RATE_HZ, SECONDS, LIVE_S = 46875.0, 550 * 1024 / 46875.0, 12  # whole periods of the tones, so that a daemon plays them again without a jump
MOST_SEARCH_S = 300  # of the first search for sources, which has what other processes leave of the processors
RMS_AT_1M_PA, NOISE_HZ = 0.2, (400.0, 4000.0)
TONES = {503.5400390625: 2.0e-4, 2014.16015625: 5.0e-5}  # volume velocities, m^3/s
BANDS = [Band(3, number) for number in (2, 3, 4)]
SOURCES = {
    "tones": ", ".join(f"{{kind: monopole, frequency_hz: {hz}, x_m: 0.06, y_m: -0.02, z_m: -0.1, volume_velocity_m3_s: {q}}}" for hz, q in TONES.items()),
    "noise": f"{{kind: noise, band_hz: [{NOISE_HZ[0]}, {NOISE_HZ[1]}], rms_at_1m_pa: {RMS_AT_1M_PA}, x_m: 0.06, y_m: -0.02, z_m: -0.1}}",
}
ARRAY = f"rows: 8, columns: 8, pitch_x_m: {PITCH_M}, pitch_y_m: {PITCH_M}"
SETTINGS = f"""version: 1
array: {{{ARRAY}, clock_hz: {RATE_HZ * 32:.0f}}}
front_end:
  {{kind: decimated_fft, hop_samples: 512, frequencies_hz: {list(TONES)}, bands_hz: {[[*map(float, band.edges_hz)] for band in BANDS]}}}
holography: {{standoff_m: {STANDOFF_M}, points: [{{x_m: {AT_M[0]}, y_m: {AT_M[1]}}}]}}
processors:
  ear: {{kind: listen, beams: [{{x_m: {AT_M[0]}, y_m: {AT_M[1]}, distance_m: {DEPTH_M + STANDOFF_M}}}]}}
  far:
    kind: beamform
    grid: {{kind: plane, distance_m: [{DEPTH_M + STANDOFF_M}], x_m: [-0.1, 0.1], y_m: [-0.1, 0.1], step_m: 0.02}}
    average: {{kind: linear, seconds: 0.1}}
    bands: {{third_octave: [1600, 2000, 2500]}}
"""
MICROPHONES = "  mics: {kind: levels, weighting: a, window_samples: 4096, third_octave: [1600, 2000, 2500]}\n"  # of later versions
# Of each place: processor, product, whether it is a pixel, its entry, and its distance from the source.
PIXEL_M, CENTRE_M = DEPTH_M, math.hypot(DEPTH_M + STANDOFF_M, *AT_M)
MICROPHONE = 8 * 7  # its place is x -0.14 m, y 0.14 m
MICROPHONE_M = math.hypot(DEPTH_M + STANDOFF_M, AT_M[0] + 3.5 * PITCH_M, AT_M[1] - 3.5 * PITCH_M)
PLACES = {
    "near image": ("surface", "images", True, None, PIXEL_M),
    "near image, bands": ("surface", "bands", True, None, PIXEL_M),
    "point": ("surface", "points", False, 0, PIXEL_M),
    "far map": ("far", "bands", True, None, CENTRE_M),
    "beam": ("ear", "beams", False, 0, CENTRE_M),
    "microphone": ("mics", "level", False, MICROPHONE, MICROPHONE_M),
    "microphone, bands": ("mics", "bands", False, MICROPHONE, MICROPHONE_M),
}


def gain(hz):
    return abs(response("a", np.asarray(hz))) ** 2


def expected_db(signal, of, distance_m):
    """A-weighted level in closed form, dB; NaN for what a signal does not have there."""
    if signal == "tones":
        powers = {f"{hz:.6g} Hz": float(gain(hz)) * (hz * 1.2041 * q / 2.0) ** 2 / 2.0 for hz, q in TONES.items()}
        inside = {band.words: sum(float(gain(hz)) * (hz * 1.2041 * q / 2.0) ** 2 / 2.0 for hz, q in TONES.items() if band.edges_hz[0] < hz < band.edges_hz[1])
                  for band in BANDS}  # fmt: skip
        power = sum(powers.values()) if of in ("", "sum") else (powers | inside).get(of) or math.nan
    else:
        limits = {band.words: band.edges_hz for band in BANDS} | {"": NOISE_HZ, "sum": (BANDS[0].edges_hz[0], BANDS[-1].edges_hz[1])}
        low, high = limits.get(of, (math.nan, math.nan))
        share = (high - low) / (NOISE_HZ[1] - NOISE_HZ[0])
        power = RMS_AT_1M_PA**2 * share * float(np.mean(gain(np.linspace(low, high, 2001)))) if share > 0.0 else math.nan
    return 10.0 * math.log10(power / distance_m**2 / REFERENCE_PA2)


def choice_of(place):
    processor, product, is_pixel, entry, _ = PLACES[place]
    return Choice("a", parts=0, at=AT_M if is_pixel else None, entry=entry, processor=processor, product=product)


def offline(folder, signal, place):
    if place.startswith("microphone"):  # the samples themselves
        found = levels(folder / f"{signal}.h5", Choice("a", 3, (1600.0, 2500.0), entry=MICROPHONE))
        return [one.to_dict() for one in found if (one.of != "") == place.endswith("bands")]
    return [one.to_dict() for one in levels(folder / f"{signal}_images.h5", choice_of(place))]


@contextlib.contextmanager
def daemon(folder, signal):
    """A daemon that plays a file of samples again and again; yields, when it has searched for sources, whether it has the processor of microphones."""
    for further in (MICROPHONES, ""):
        source = f"{{kind: file, path: {folder}/{signal}.h5, loop: true, pace: realtime}}"
        (folder / "live.yaml").write_text(f"""{SETTINGS.replace("hop_samples: 512", "hop_samples: 1024")}{further}daemon:
  source: {source}
  publish: {{ring: {{socket: {folder}/frames.sock}}, zmq: {{endpoint: off}}}}
  control: {{socket: {folder}/control.sock}}
  metrics: {{address: off}}
  page: {{address: off}}
  deadlines: {{frame_ms: 60000}}
""")
        program = pathlib.Path(nearfield.program()).with_name("nearfieldd")
        checked = subprocess.run([program, "-c", folder / "live.yaml", "--check"], capture_output=True, text=True, check=False)
        if checked.returncode == 0:
            break
    else:
        raise AssertionError(checked.stderr or checked.stdout)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, open(folder / "log", "wb") as log:
        (folder / "ready").unlink(missing_ok=True)
        ready.bind(str(folder / "ready"))
        ready.settimeout(120.0)
        process = subprocess.Popen([program, "-c", folder / "live.yaml"], stdout=log, stderr=log, env=os.environ | {"NOTIFY_SOCKET": str(folder / "ready")})
        try:
            while b"READY=1" not in ready.recv(4096):
                pass
            end_s = time.monotonic() + MOST_SEARCH_S
            while json.loads(nearfield.run("ctl", "status", "--json", "--socket", folder / "control.sock"))["search"]["searches"] == 0:
                assert process.poll() is None and time.monotonic() < end_s, (folder / "log").read_text()[-2000:]
                time.sleep(0.2)
            yield bool(further)
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
        finally:
            process.terminate()
            process.wait(30)


def read_live(folder, places):
    """The levels of all places, read at the same time by a command each."""
    environment = os.environ | {"NEARFIELD_PYTHON": sys.executable}
    readers = {}
    for place in places:
        choice = choice_of(place)
        words = ["--socket", folder / "frames.sock", "--duration", LIVE_S, "--json", "--weighting", "a", "--processor", choice.processor]
        words += ["--product", choice.product] if choice.product else []
        words += ["--at", ",".join(map(str, choice.at))] if choice.at else []
        words += ["--entry", choice.entry] if choice.entry is not None else []
        readers[place] = subprocess.Popen(list(map(str, [nearfield.program(), "levels", *words])), stdout=subprocess.PIPE, text=True, env=environment)
    found = {}
    for place, reader in readers.items():
        printed = reader.communicate()[0]
        said = json.loads(printed) if reader.returncode == 0 else {"levels": [], "notes": ["no levels"]}
        found[place] = said["levels"]
        print(f"{place}: {said['notes'][-1]}", file=sys.stderr)
    return found


def rows(folder):
    """[(signal, place, of, figure, expected, offline, live)], dB; NaN where a version has no such product live."""
    result = []
    for signal, sources in SOURCES.items():
        (folder / f"{signal}.yaml").write_text(f"version: 1\narray: {{{ARRAY}}}\nstandoff_m: {STANDOFF_M}\nduration_s: {SECONDS}\nsources: [{sources}]\n")
        nearfield.run("simulate", folder / f"{signal}.yaml", "-o", folder / f"{signal}.h5", "--as", "samples", "--sample-rate", str(RATE_HZ))
        (folder / "replay.yaml").write_text(SETTINGS)
        nearfield.run("replay", folder / f"{signal}.h5", "-o", folder / f"{signal}_images.h5", "-c", folder / "replay.yaml")
        with daemon(folder, signal) as has_microphones:
            found = read_live(folder, [place for place in PLACES if not place.startswith("microphone") or has_microphones])
        for place, (*_, distance_m) in PLACES.items():
            live = {one["of"]: one["levels_db"] for one in found.get(place, [])}
            for one in offline(folder, signal, place):
                expected = expected_db(signal, one["of"], distance_m)
                steady = ("eq", "Fmax", "Smax", "50") if signal == "tones" else ("eq",)
                if math.isnan(expected) or (signal, place) in UNLIKE or (signal == "tones" and one["of"] == "sum"):
                    continue
                for figure in steady:
                    value = live.get(one["of"], {}).get(figure)
                    result.append((signal, place, one["of"] or "all", figure, expected, one["levels_db"][figure], math.nan if value is None else value))
    return result


UNLIKE = {("noise", "near image"), ("noise", "point")}  # noise has no level at a frequency


HEAD = """# Levels beside closed forms

`{command}` made this page, with {version} on {device}.

Two tones, and noise of equal power in each hertz from 400 to 4000 Hz, come from a monopole 16 cm before 8 x 8 microphones 4 cm apart. Levels are those
of `nearfield levels` ([levels.md](../use/levels.md)), A-weighted, in dB re 20 uPa: of the pixel and the point above the source, of a far map's pixel
and a beam at the source, which give the pressure at the array's centre, and of the microphone in a corner. The closed form is the monopole's pressure,
weighted by IEC 61672-1. The table is one run, of that version on that device. A replay has {seconds:.0f} s, its windows overlap by half; a daemon
plays the same samples in real time, with one window beside the other, and is read for {live} s after its first search for sources. Of a third octave
of noise 0.06 dB are chance.

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=pathlib.Path, help="file to write, else standard output")
    page = parser.parse_args().page
    with tempfile.TemporaryDirectory(prefix="nearfield-levels-") as folder:
        found = rows(pathlib.Path(folder))
        with nearfield.open_images(pathlib.Path(folder) / "tones_images.h5") as images:
            device = np.asarray(images.attrs["device"]).item()
    lines = ["| signal | where | of | level | closed form [dB] | replay | difference | live | difference |", "|---|---|---|---|---|---|---|---|---|"]
    lines += [f"| {signal} | {place} | {of} | LA{figure} | {expected:.2f} | {replayed:.2f} | {replayed - expected:+.2f} | {live:.2f} | {live - expected:+.2f} |"
              for signal, place, of, figure, expected, replayed, live in found]  # fmt: skip
    head = HEAD.format(command="python/tests/levels_table.py --page docs/results/levels.md", version=nearfield.run("--version").splitlines()[0],
                       device=device.decode() if isinstance(device, bytes) else device, seconds=SECONDS, live=LIVE_S)  # fmt: skip
    text = head + "\n".join(lines) + "\n"
    if page is None:
        sys.stdout.write(text)
    else:
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

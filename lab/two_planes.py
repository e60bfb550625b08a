"""How well waves from behind are told apart by microphones in two planes, from spectra, samples and bits (docs/use/two_planes.md).

Two monopoles 3 cm below the surface, and two behind the array: near, 10 to 30 cm above it, or far, 1 to 3 m. `beat` has those behind 3 Hz beside the
front ones, so that their phases turn from frame to frame. Noise is 40 dB below the front field in each spectrum. Errors are relative, of the surface's
pressure in the last frame, root mean square over scenes; levels of what comes from behind are those on the surface.
"""

import json
import math
import pathlib
import tempfile

import h5py
import numpy as np
from common import BIN_HZ, BIT_RATE_HZ, BITS_PER_WORD, DENSITY_KG_M3, SOUND_SPEED_M_S, commit, device, markdown, parser_of, relative_l2, run, say, write_csv

PITCH_M, STANDOFF_M, BETWEEN_M = 0.04, 0.03, 0.03
SOURCE_M = 0.03  # below the surface, and at least above the array
WINDOW, HOP = 1024, 256  # words, or samples
SNR_DB = 40.0
NOISE_TO_HZ = 20e3
WINDOW_HZ = 1.5 * BIN_HZ  # noise bandwidth of a Hann window
LEVEL_DBFS = -30.0
BEAT_HZ = 3.0


def places_of(side):
    line = PITCH_M * (np.arange(side) - (side - 1) / 2)
    y, x = np.meshgrid(line, line, indexing="ij")
    return np.stack([x.ravel(), y.ravel(), np.zeros(side * side)], axis=1)


def field(sources, k, places_m):
    """Pressure of monopoles, each x, y, z and a strength, m^3/s."""
    away = np.linalg.norm(places_m[:, None, :] - np.array([one[:3] for one in sources]), axis=2)
    return (1j * k * SOUND_SPEED_M_S * DENSITY_KG_M3 / (4 * np.pi) * np.exp(-1j * k * away) / away) @ np.array([one[3] for one in sources])


def draw(side, kind, ratio, frequency_hz, seed):
    """Front sources and those behind, and the microphones' places on the axes of images."""
    random, half_m = np.random.default_rng(seed), PITCH_M * (side - 1) / 2
    def strength():
        return 1e-5 * random.normal() * np.exp(2j * np.pi * random.uniform())
    front = [(*(0.9 * half_m * random.uniform(-1, 1, 2)), -SOURCE_M, strength()) for _ in range(2)]
    beside, lowest, highest = (1.4 * half_m, 0.1, 0.3) if kind == "near" else (2.0, 1.0, 3.0)
    top_m = STANDOFF_M + BETWEEN_M
    behind = [(*(beside * random.uniform(-1, 1, 2)), top_m + random.uniform(lowest, highest), strength()) for _ in range(2)]
    places_m = np.concatenate([places_of(side) + [0, 0, STANDOFF_M + layer * BETWEEN_M] for layer in range(2)])
    k = 2 * np.pi * frequency_hz / SOUND_SPEED_M_S
    at = [np.linalg.norm(field(of, k, places_m)) for of in (front, behind)]
    return front, [(*one[:3], one[3] * ratio * at[0] / at[1]) for one in behind], places_m


def settings_of(sources, frequency_hz):
    return [{"kind": "monopole", "frequency_hz": frequency_hz, "x_m": float(x), "y_m": float(y), "z_m": float(z), "volume_velocity_m3_s": float(abs(q)),
             "phase_rad": float(np.angle(q))} for x, y, z, q in sources if abs(q) > 0]


def measured(folder, side, form, frequency_hz, kind, ratio, seed, options):
    """Error of the surface's image, its expected error over that, and the level of what comes from behind over its true one, dB."""
    front, behind, places_m = draw(side, kind.split()[0], ratio, frequency_hz, seed)
    k = 2 * np.pi * frequency_hz / SOUND_SPEED_M_S
    rms_pa = np.linalg.norm(field(front, k, places_m)) / math.sqrt(2 * len(places_m))
    all_pa = rms_pa * math.hypot(1.0, ratio)
    csv = folder / "places.csv"
    csv.write_text("x_m,y_m,z_m\n" + "".join(f"{x:.4f},{y:.4f},{z - STANDOFF_M:.4f}\n" for x, y, z in places_m), encoding="utf-8")
    off_hz = BEAT_HZ if kind.endswith("beat") else 0.0
    scene = {"version": 1, "array": {"positions": str(csv), "sensitivity_dbfs": float(LEVEL_DBFS - 20 * math.log10(all_pa))}, "standoff_m": STANDOFF_M, "seed": seed,
             "duration_s": 3 * WINDOW * BITS_PER_WORD / BIT_RATE_HZ, "sigma_delta": {"order": 4},
             "microphones": {"noise_pa": float(rms_pa * 10 ** (-SNR_DB / 20) * math.sqrt(NOISE_TO_HZ / WINDOW_HZ))},
             "sources": settings_of(front, frequency_hz) + settings_of(behind, frequency_hz + off_hz)}
    (folder / "scene.yaml").write_text(json.dumps(scene), encoding="utf-8")
    run("simulate", folder / "scene.yaml", "--as", form, "-o", folder / "in.h5")
    if form == "spectra":  # without the microphones' noise
        random = np.random.default_rng(seed)
        with h5py.File(folder / "in.h5", "r+") as file:
            noise = random.normal(size=(2, *file["spectra"].shape)) * rms_pa * 10 ** (-SNR_DB / 20)
            file["spectra"][...] += (noise[0] + 1j * noise[1]).astype(np.complex64)
    sets = [f"array.positions={csv}", f"holography.standoff_m={STANDOFF_M}", f"holography.search_every_frames={options.search}"]
    if form != "spectra":
        sets += [f"front_end.frequencies_hz=[{frequency_hz}]", f"front_end.window_samples={WINDOW}", f"front_end.hop_samples={HOP}", "front_end.kind=decimated_fft"]
    run("replay", folder / "in.h5", "-o", folder / "out.h5", *(word for one in sets for word in ("--set", one)))
    with h5py.File(folder / "out.h5") as file, h5py.File(folder / "in.h5") as truth:
        images, from_behind = file["images"][-1, 0, 0].ravel(), file["behind"][-1, 0, 0].ravel()
        true, expected = truth["truth/pressure"][0].ravel(), float(file["error_estimate"][-1, 0])
    # A later frame's phase is the window's: the image is turned to the truth's.
    turn = np.vdot(images, true)
    on_surface = field(behind, k, places_of(side))
    level_db = 20 * math.log10(np.linalg.norm(from_behind) / np.linalg.norm(on_surface)) if ratio > 0 and np.any(from_behind) else math.nan
    error = float(relative_l2(true, images * turn / abs(turn)))
    return error, expected / error, level_db


def main(arguments=None):
    parser = parser_of(__doc__, sides=([8, 16], "microphones a side of each plane"), forms=(["spectra", "samples", "bits"], "what is recorded"),
                       kinds=(["near", "far", "near beat"], "disturbances"), frequencies=([11, 33], "bins of 45.8 Hz"),
                       ratios=([0.0, 0.1, 0.3, 1.0, 3.0], "of the disturbance to the field"), scenes=(4, "scenes"), search=(1000, "holography.search_every_frames"))
    options = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for side in options.sides:
            for form in options.forms:
                for number in options.frequencies:
                    for kind in options.kinds:
                        if form == "spectra" and "beat" in kind:
                            continue  # of one frame
                        for ratio in options.ratios:
                            found = [measured(pathlib.Path(name), side, form, number * BIN_HZ, kind, ratio, 100 + scene, options)
                                     for scene in range(options.scenes)]
                            rows.append({"side": side, "form": form, "frequency_hz": number * BIN_HZ, "kind": kind, "ratio": ratio,
                                         "error": math.sqrt(np.mean([error**2 for error, _, _ in found])),
                                         "expected": float(np.median([ratio for _, ratio, _ in found])),
                                         "level_db": max((abs(level) for _, _, level in found if not math.isnan(level)), default=math.nan)})
                            say(f"{rows[-1]}")
    head = ["planes of", "from", "f [Hz]", "disturbance", *(f"{ratio:g}" for ratio in options.ratios), "expected over true", "level from behind [dB]"]
    groups = list(dict.fromkeys((row["side"], row["form"], row["frequency_hz"], row["kind"]) for row in rows))
    lines = []
    for side, form, frequency_hz, kind in groups:
        own = [row for row in rows if (row["side"], row["form"], row["frequency_hz"], row["kind"]) == (side, form, frequency_hz, kind)]
        levels = [row["level_db"] for row in own if not math.isnan(row["level_db"])]
        lines.append([f"{side} x {side}", form, round(frequency_hz), kind, *(f"{100 * row['error']:.1f} %" for row in own), f"{np.median([row['expected'] for row in own]):.2f}", f"{max(levels):.1f}" if levels else "-"])
    print(markdown(head, lines), end="")
    if options.csv:
        write_csv(options.csv, rows, commit=commit(), device=device())
    return rows


if __name__ == "__main__":
    main()

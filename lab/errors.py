"""How exact every front end is, on simulated bits whose true field is known (docs/reference/front_ends.md has the figures).

D1 to D4: scenes that stand for the thesis's datasets (config/scenes/bench_*.yaml; Oznaya Angeles 2014, section 7.3). Each front end's hologram
with the thesis's filter, 50 rad/m with slope 0.3, against that of the nominal chain and that of the exact aperture pressure, and its spectra
against that pressure. spectra: two point sources off the axis, spectra alone. offset: what microphones' offsets of up to 3 % of full scale
leave at low frequencies, and the error of a tone of -32 dBFS beside them (fig. 7.9). curve: D1 to D4 by the number of Walsh coefficients.
"""

import pathlib

import numpy as np
from common import (BIN_HZ, BIT_RATE_HZ, BITS_PER_WORD, RESPONSE_WORDS, device, full_scale_pa, magnitude_errors, nearfield, parser_of, relative_l2,
                    say, scene_of, show, simulated, truth_of, with_level)

WINDOW = 1024
START_S = RESPONSE_WORDS * BITS_PER_WORD / BIT_RATE_HZ
DURATION_S = 0.0245  # the response, a window and a little more

# A bin near the thesis's frequency, and what the captions of fig. 7.6 to 7.8 state: RMSRE to the nominal chain, per cent.
SCENES = {
    "D1 piston": ("bench_d1_piston.yaml", 22, {"popcount 0, no window": 14.3, "walsh fast 40, no window": 25.3, "walsh fast all, no window": 1.2}),
    "D2 piston": ("bench_d2_piston.yaml", 22, {"popcount 0, no window": 7.5, "walsh fast 40, no window": 21.1, "walsh fast all, no window": 2.7}),
    "D3 plate": ("bench_d3_plate.yaml", 5, {"popcount 0, no window": 11.7, "walsh fast 40, no window": 17.4, "walsh fast all, no window": 6.2}),
    "D4 drill": ("bench_d4_drill.yaml", 18, {"popcount 0, no window": 19.2, "walsh fast 40, no window": 30.7, "walsh fast all, no window": 8.4}),
}


def popcount(order, transform="dot", **others):
    return {"kind": "popcount", "popcount": {"order": order, "transform": transform}, **others}


def walsh(coefficients, **others):
    return {"kind": "walsh_fourier", "walsh_fourier": {"variant": "fast", "coefficients": coefficients}, **others}


FRONT_ENDS = {
    "decimated_fft": {"kind": "decimated_fft"},
    "dot_product": {"kind": "dot_product"},
    "dot_product, whole windows": {"kind": "dot_product", "incremental": "never"},
    "popcount 0, no window": popcount(0, window="none"),
    "popcount 0": popcount(0),
    "popcount 1": popcount(1),
    "popcount 1, whole windows": popcount(1, incremental="never"),
    "popcount 2": popcount(2),
    "popcount 1 fft": popcount(1, "fft"),
    "popcount 2 fft": popcount(2, "fft"),
    "walsh fast 40, no window": walsh(40, window="none"),
    "walsh fast 40": walsh(40),
    "walsh fast 6144": walsh(6144),
    "walsh fast 16384": walsh(16384),
    "walsh fast all": walsh(0),
    "walsh fast all, no window": walsh(0, window="none"),
}
NOMINAL = "decimated_fft"
CURVE = (10, 20, 40, 80, 160, 320, 640, 1280, 2560, 6144, 16384, 0)  # 0: all
OFFSETS = ("decimated_fft", "dot_product", "popcount 0", "popcount 1", "popcount 2", "walsh fast 6144", "walsh fast all")
ANY_FREQUENCY = ("dot_product", "popcount 0", "popcount 1", "popcount 2")
THESIS_FILTER = {"imager": "pnah", "filter": {"kind": "cos", "cutoff_rad_per_m": 50.0, "slope": 0.3}}
# In the microphones' own plane and without a filter an image is the spectra.
AS_THEY_ARE = {"filter": {"kind": "none"}, "extrapolation": {"method": "zero"}}


class Bits:
    """The bits of a scene at a level, and its true pressure [frequency][row][column] at the window's first bit."""

    def __init__(self, scene):
        array = scene["array"]
        with simulated({**scene, "duration_s": DURATION_S}, "bits") as file:
            self.words = file["bitstream"][:]
            layout = file["bitstream"].attrs["layout"]
        self.shape, self.standoff_m = (array["rows"], array["columns"]), scene["standoff_m"]
        self.array = {**array, "layout": layout.decode() if isinstance(layout, bytes) else str(layout)}
        self.frequencies_hz, pressure, _, _ = truth_of(scene)
        self.truth = pressure * np.exp(2j * np.pi * self.frequencies_hz * START_S)[:, None, None]

    def _engine(self, front_end, frequencies_hz, holography, plane_m, processors=None):
        config = {"array": self.array,
                  "front_end": {"hop_samples": RESPONSE_WORDS, "window_samples": WINDOW, "frequencies_hz": list(frequencies_hz), **front_end},
                  "holography": {"standoff_m": self.standoff_m, "planes_m": [plane_m], **holography}, "processors": processors or {}}
        return nearfield.Engine(config, "bits")

    def images(self, engine):
        """Of the window at RESPONSE_WORDS, [frequency][pixel], by each processor's name."""
        engine.restart()
        frames = [frame for frame in engine.push(self.words) if frame.sequence == 1]
        return {frame.processor: frame["images"][0].reshape(frame["images"].shape[1], -1) for frame in frames}

    def hologram(self, front_end, frequency_hz):
        """The hologram and the spectra of the channels, Pa."""
        processors = {"spectra": {"kind": "pnah", "planes_m": [self.standoff_m - 1e-9], **AS_THEY_ARE}}
        with self._engine(front_end, [frequency_hz], THESIS_FILTER, 0.0, processors) as engine:
            found = self.images(engine)
        return found["surface"][0], found["spectra"][0]

    def spectra(self, front_end, frequencies_hz, *others):
        """[frequency][channel], Pa, of these bits and of others before the same array, by one engine."""
        with self._engine(front_end, frequencies_hz, {"imager": "pnah", **AS_THEY_ARE}, self.standoff_m - 1e-9) as engine:
            return [bits.full_scale_over(self) * bits.images(engine)["surface"] for bits in (self, *others)]

    def full_scale_over(self, other):
        return full_scale_pa(self.array["sensitivity_dbfs"]) / full_scale_pa(other.array["sensitivity_dbfs"])

    def truth_at(self, frequency_hz):
        return self.truth[np.argmin(np.abs(self.frequencies_hz - frequency_hz))].ravel()

    def true_hologram(self, frequency_hz):
        config = {"array": self.array, "holography": {"standoff_m": self.standoff_m, **THESIS_FILTER}}
        with nearfield.Engine(config, "spectra", channels=self.words.shape[1] * 32, frequencies_hz=[frequency_hz]) as engine:
            return engine.push(self.truth_at(frequency_hz).astype(np.complex64).reshape(1, *self.shape))[0]["images"][0, 0].ravel()


def scene_bits(name, order, level_dbfs):
    scene = scene_of(SCENES[name][0])
    return Bits({**with_level(scene, level_dbfs), "sigma_delta": {"order": order}})


def holograms(options):
    for name, (_, number, thesis) in SCENES.items():
        if not wanted(options, name):
            continue
        frequency_hz = number * BIN_HZ
        for level_dbfs in options.level:
            for order in options.order:
                say(f"{name}, order {order}, {level_dbfs:g} dBFS")
                bits = scene_bits(name, order, level_dbfs)
                truth, nominal, panels = bits.true_hologram(frequency_hz), None, {}
                for front_end, settings in FRONT_ENDS.items():
                    image, found = bits.hologram(settings, frequency_hz)
                    nominal = image if nominal is None else nominal
                    panels[front_end] = image
                    to_nominal, to_truth = magnitude_errors(nominal, image), magnitude_errors(truth, image)
                    row = {"part": name, "order": order, "level_dbfs": level_dbfs, "front_end": front_end}
                    for reference, figures in (("nominal", to_nominal), ("truth", to_truth)):
                        row |= {f"{figure}_to_{reference}": 100.0 * value for figure, value in zip(("rmsre", "rmsre_all", "nsad"), figures)}
                    yield row | {"thesis_rmsre": thesis.get(front_end, np.nan),
                                 "spectra": 100.0 * relative_l2(bits.truth_at(frequency_hz), found)}
                if options.png and order == options.order[0]:
                    draw_holograms(options.png / f"errors_{name.lower().replace(' ', '_')}.png", name, truth, panels, bits.shape)


def curve(options):
    for name, (_, number, _) in SCENES.items():
        say(f"curve: {name}")
        bits = scene_bits(name, 2, options.level[0])
        truth = bits.true_hologram(number * BIN_HZ)
        for count in CURVE:
            image, found = bits.hologram(walsh(count), number * BIN_HZ)
            yield {"part": "curve", "scene": name, "coefficients": count, "rmsre_to_truth": 100.0 * magnitude_errors(truth, image)[0],
                   "spectra": 100.0 * relative_l2(bits.truth_at(number * BIN_HZ), found)}


def two_monopoles(frequency_hz, side):
    places = (((-0.13, 0.07, 0.0), 1e-4, 0.0), ((0.21, -0.16, -0.05), 0.7e-4, 1.9))
    return {"version": 1, "array": {"rows": side, "columns": side, "pitch_x_m": 0.02, "pitch_y_m": 0.02}, "standoff_m": 0.03, "seed": 7,
            "sources": [{"kind": "monopole", "frequency_hz": frequency_hz, "x_m": x, "y_m": y, "z_m": z, "volume_velocity_m3_s": q, "phase_rad": phase}
                        for (x, y, z), q, phase in places]}


def spectra(options):
    cases = [(level_dbfs, number * BIN_HZ) for level_dbfs in (-32.0, -46.0) for number in (22, 44, 218)]
    scenes = [with_level(two_monopoles(frequency_hz, options.side), level_dbfs) for level_dbfs, frequency_hz in cases]
    frequencies = sorted({frequency_hz for _, frequency_hz in cases})
    for order in options.order:
        say(f"spectra: order {order}")
        bits = [Bits({**scene, "sigma_delta": {"order": order}}) for scene in scenes]
        found = {name: bits[0].spectra(settings, frequencies, *bits[1:]) for name, settings in FRONT_ENDS.items()}
        for at, (level_dbfs, frequency_hz) in enumerate(cases):
            for name, values in found.items():
                yield {"part": "spectra", "order": order, "level_dbfs": level_dbfs, "frequency_hz": frequency_hz, "front_end": name,
                       "spectra": 100.0 * relative_l2(bits[at].truth[0].ravel(), values[at][frequencies.index(frequency_hz)])}


def beside_an_offset(frequency_hz, level_dbfs=None):
    """A source 5 m away, almost alike at 4 x 4 microphones; silent without a level."""
    scene = two_monopoles(frequency_hz, 4)
    scene["sources"] = [{**scene["sources"][0], "z_m": -5.0, "volume_velocity_m3_s": 1e-30 if level_dbfs is None else 0.1}]
    scene["array"]["sensitivity_dbfs"] = -26.0
    return {**(scene if level_dbfs is None else with_level(scene, level_dbfs)), "seed": 11, "microphones": {"dc_offset_fs": 0.03}}


def offset(_):
    silence = Bits(beside_an_offset(55.0))
    bits = np.unpackbits(silence.words.astype("<u4").view(np.uint8), axis=None, bitorder="little").reshape(len(silence.words), -1)[:, :16]
    offset_pa = np.sqrt(np.mean((2.0 * bits.mean(axis=0) - 1.0) ** 2)) * full_scale_pa(silence.array["sensitivity_dbfs"])
    tones = {tone_hz: Bits(beside_an_offset(tone_hz, -32.0)) for tone_hz in (55.0, BIN_HZ)}
    for name in OFFSETS:
        has_any = name in ANY_FREQUENCY
        frequencies = sorted({*(BIN_HZ * (np.arange(8, 65) / 8 if has_any else np.arange(1, 9))), *([55.0] if has_any else [])})
        tone_hz = 55.0 if has_any else BIN_HZ
        for removes in (False, True):
            settings = {**FRONT_ENDS[name], "remove_dc": removes}
            of_silence, of_tone = silence.spectra(settings, frequencies, tones[tone_hz])
            error = relative_l2(tones[tone_hz].truth[0].ravel(), of_tone[frequencies.index(tone_hz)])
            leaks = np.sqrt(np.mean(np.abs(of_silence) ** 2, axis=1)) / offset_pa
            for frequency_hz, leak in zip(frequencies, leaks):
                yield {"part": "offset", "front_end": name, "remove_dc": removes, "frequency_hz": frequency_hz,
                       "leakage_db": 20.0 * np.log10(max(leak, 1e-20)), "tone_error": 100.0 * error}


# --- pictures ---------------------------------------------------------------------------------------------------------

def draw_holograms(path, title, truth, panels, shape):
    """How far each hologram is from the true one, as a level re that one's maximum, -90 to -20 dB."""
    from matplotlib.figure import Figure
    figure = Figure(figsize=(12, 9), layout="constrained")
    axes = figure.subplots(3, 6).ravel()
    for axis, (name, image) in zip(axes, {"true field": None, **panels}.items()):
        values = np.abs(truth) if image is None else 20.0 * np.log10(np.abs(image - truth) / np.abs(truth).max() + 1e-9)
        axis.imshow(values.reshape(shape), **({} if image is None else {"vmin": -90.0, "vmax": -20.0}))
        axis.set_title(name, fontsize=8)
    for axis in axes:
        axis.set_axis_off()
    figure.suptitle(f"{title}: deviation from the true field's hologram, re its maximum: -90 dB (dark) to -20 dB")
    figure.savefig(path)


def draw_lines(path, title, x, y, series, rows):
    from matplotlib.figure import Figure
    figure = Figure(figsize=(10, 5), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(series(row) for row in rows):
        those = [row for row in rows if series(row) == name]
        axes.plot([row[x] or 32768 for row in those], [row[y] for row in those], marker=".", label=name)
    if x == "coefficients":
        axes.loglog()
    axes.set(title=title, xlabel=x.replace("_", " "), ylabel=y.replace("_", " "))
    axes.grid(color="0.9")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=8)
    figure.savefig(path)


def draw(folder, rows):
    curves = [row for row in rows if row["part"] == "curve"]
    if curves:
        draw_lines(folder / "walsh_curve.png", "Walsh coefficients (the last: all) against error, per cent", "coefficients", "rmsre_to_truth",
                   lambda row: row["scene"], curves)
    leaks = [row for row in rows if row["part"] == "offset" and row["leakage_db"] > -200.0]
    if leaks:
        draw_lines(folder / "offset_leakage.png", "An offset's leakage (fig. 7.9), hann, 1024 words", "frequency_hz", "leakage_db",
                   lambda row: f"{row['front_end']}, {'removed' if row['remove_dc'] else 'kept'}", leaks)


PARTS = {"spectra": spectra, "offset": offset, "curve": curve}


def wanted(options, name):
    return any(part in name for part in options.only)


def main(words=None):
    parser = parser_of(__doc__, only=([*SCENES, *PARTS], "parts whose name holds one of these, such as D1,spectra"),
                       level=([-32.0], "of the scenes, dBFS rms over the microphones"), order=([2, 4], "of the modulators"),
                       side=(32, "microphones along each side, of spectra"))
    parser.add_argument("--png", type=pathlib.Path, help="folder for pictures")
    options = parser.parse_args(words)
    print(f"{device()}; errors in per cent\n")
    if options.png:
        options.png.mkdir(parents=True, exist_ok=True)
    rows = list(holograms(options))
    for name, part in PARTS.items():
        rows += part(options) if wanted(options, name) else []
    show(rows, options.csv)
    if options.png:
        draw(options.png, rows)
    return rows


if __name__ == "__main__":
    main()

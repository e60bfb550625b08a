"""How near the expected error of an image is to its true one: masks, kinds of fields, waves from behind (docs/results/fidelity.md).

Scenes are those of fidelity's part kinds, spread over arrays of other sizes and pitches, with nothing set. Masks: a share of the microphones anywhere, a
square hole or one side of the array.
"""

import itertools
import json

import numpy as np
from common import SOUND_SPEED_M_S, array_settings, commit, device, markdown, nearfield, parser_of, relative_l2, say, write_csv
from fidelity import EXTRAPOLATIONS, FILTERS, SONAH, config_of, pnah
from fidelity_page import LEAST, MOST, distinct, pick
from fields import KIND_HZ, KINDS, fields_of_kind, scene_of_kind

IMAGERS = {"pnah": pnah(EXTRAPOLATIONS[0], **FILTERS["cos, auto"]), "sonah": SONAH}


def masks_of(size, names, draw):
    """Masked channels of each mask: per cent of all anywhere, `hole`, a square of a quarter of them, or `side`, a quarter of the columns."""
    random, places = np.random.default_rng(draw), np.arange(size * size).reshape(size, size)
    for name in names:
        if name == "hole":
            row, column = random.integers(0, size - size // 2 + 1, 2)
            yield name, places[row:row + size // 2, column:column + size // 2].ravel()
        elif name == "side":
            yield name, places[:, :size // 4].ravel()
        else:
            yield name, np.sort(random.permutation(size * size)[:round(float(name) / 100 * size * size)])


def rows_of(size, ratio, kind, options):
    array = array_settings(size, size, ratio * KINDS[kind][0])
    frequencies_hz = [f for f in KIND_HZ if array["pitch_x_m"] < SOUND_SPEED_M_S / f / 2.0]
    drawn = [scene_of_kind(kind, scene, array, frequencies_hz) for scene in range(options.scenes)]
    rows = []
    for quantity, snr_db in itertools.product(options.quantities, options.snr):
        for scene, field in enumerate(fields_of_kind(kind, drawn, quantity, array, frequencies_hz)):
            frame = field.noisy(snr_db, scene)
            for (mask, dead), (name, holography) in itertools.product(masks_of(size, options.masks, scene), IMAGERS.items()):
                config = config_of(field, {**holography, "search_every_frames": options.search}, frequencies_hz)
                config["array"] = {**config["array"], "dead_channels": dead.tolist(), "fewest_valid_share": 0.01}
                if name not in options.imagers:
                    continue
                with nearfield.Engine(json.dumps(config), "spectra", channels=size * size, frequencies_hz=frequencies_hz) as engine:
                    (found,) = engine.push(frame[None].reshape(1, len(frame), size, size))[:1]
                rows += [{"size": size, "ratio": ratio, "kind": kind, "quantity": quantity, "snr_db": snr_db, "scene": scene, "mask": mask,
                          "frequency_hz": frequency_hz, "imager": name, "relative_l2": relative_l2(field.truth[f], found["images"][0][f].ravel()),
                          "error_estimate": found["error_estimate"][f]} for f, frequency_hz in enumerate(frequencies_hz)]
    return rows


def figures(rows):
    """Median and 95 % of the ratios, and the share of them within LEAST and MOST."""
    ratios = np.array([row["error_estimate"] / row["relative_l2"] for row in rows])
    low, median, high = np.quantile(ratios, [0.025, 0.5, 0.975])
    return f"{median:.2f} ({low:.2f} to {high:.2f}), {100 * np.mean((ratios >= LEAST) & (ratios <= MOST)):.0f} %"


def page_of(rows):
    """Tables of both imagers by mask and by kind."""
    text = ""
    for key in ("mask", "kind", "size", "ratio"):
        text += markdown([key, *IMAGERS], [[value, *(figures(own) if (own := pick(rows, imager=name, **{key: value})) else "-" for name in IMAGERS)]
                                           for (value,) in distinct(rows, key)])
    return text


def main(words=None):
    parser = parser_of(__doc__, sizes=([8, 12], "microphones a side"), ratios=([0.7, 1.2], "pitches over the standoff"),
                       kinds=([], "those whose name holds one of these"), quantities=(["pressure", "normal_velocity"], "what is imaged"),
                       snr=([40.0], "signal-to-noise ratios, dB"), scenes=(2, "random ones of each kind"),
                       masks=(["0", "5", "20", "50", "95", "hole", "side"], "masked microphones"), imagers=(list(IMAGERS), "imagers"),
                       search=(1, "holography.search_every_frames"))
    options = parser.parse_args(words)
    rows = []
    for size, ratio in itertools.product(options.sizes, options.ratios):
        for kind in KINDS:
            if not options.kinds or any(word in kind for word in options.kinds):
                say(f"{size} x {size}, {ratio:g} standoffs apart: {kind}")
                rows += rows_of(size, ratio, kind, options)
    print(page_of(rows))
    if options.csv:
        write_csv(options.csv, rows, commit=commit(), device=device())
    return rows


if __name__ == "__main__":
    main()

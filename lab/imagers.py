"""Which of `pnah` and `sonah` comes nearer to the truth, by array and by kind of scene, and which of them `holography.imager: auto` is.

Scenes are those of fidelity's part kinds, with their standoffs, spread over arrays of other sizes and pitches. The error of a kind is the mean of
|image - truth| / |truth| over its scenes and over the frequencies whose half wavelength is above the pitch; of `auto` it is given over the lesser of the two.
"""

import itertools

from common import SOUND_SPEED_M_S, array_settings, commit, device, markdown, parser_of, relative_l2, say, write_csv
from evidence import nepers
from fidelity import EXTRAPOLATIONS, FILTERS, SONAH, imager_of_auto, image, pnah
from fidelity_page import distinct, mean_of, mean_ratio, pick
from fields import KIND_HZ, KINDS, fields_of_kind, scene_of_kind

IMAGERS = {"pnah": pnah(EXTRAPOLATIONS[0], **FILTERS["cos, auto"]), "sonah": SONAH}
BY = ("size", "ratio", "kind", "quantity", "snr_db")
LEAST_NEPERS = 0.5  # a microphone
MARK = 1.1  # of the error of auto over the lesser one, in any kind


def rows_of(size, ratio, kind, options):
    """Errors of both imagers in all scenes of a kind, before an array of size x size microphones a ratio of the standoff apart."""
    array = array_settings(size, size, ratio * KINDS[kind][0])
    frequencies_hz = [f for f in KIND_HZ if array["pitch_x_m"] < SOUND_SPEED_M_S / f / 2.0]
    drawn = [scene_of_kind(kind, scene, array, frequencies_hz) for scene in range(options.scenes)]
    rows = []
    for quantity, snr_db in itertools.product(options.quantities, options.snr):
        for scene, field in enumerate(fields_of_kind(kind, drawn, quantity, array, frequencies_hz)):
            frame = field.noisy(snr_db, scene)
            chosen, more = imager_of_auto(field), nepers(field, frame)
            for name, holography in IMAGERS.items():
                images, reports = image(field, holography, frame[None])
                rows += [{"size": size, "ratio": ratio, "kind": kind, "quantity": quantity, "snr_db": snr_db, "scene": scene, "frequency_hz": frequency_hz,
                          "imager": name, "auto": chosen, "nepers": more[f], "relative_l2": relative_l2(field.truth[f], images[0, f]),
                          "error_estimate": reports["error_estimate"][0, f]} for f, frequency_hz in enumerate(frequencies_hz)]
    return rows


def of_kinds(rows):
    """The rows of each kind, array, quantity and ratio of signal to noise."""
    return [pick(rows, **dict(zip(BY, group))) for group in distinct(rows, *BY)]


def of_auto(row):
    return row["auto"]


def of_evidence(row):
    return "pnah" if row["ratio"] >= 1.0 and row["nepers"] > LEAST_NEPERS * row["size"] ** 2 else "sonah"


def over_better(rows, choice):
    """The error over the lesser one of the two in the worst kind, where each image is made by the imager of choice, and the imagers that this is."""
    over = [mean_of([row for row in own if row["imager"] == choice(row)]) / min(mean_of(pick(own, imager=name)) for name in IMAGERS) for own in of_kinds(rows)]
    return f"{', '.join(sorted({choice(row) for row in rows}))} {max(over):.2f}" if over else "-"


def sonah_over_pnah(rows):
    over = [mean_ratio(pick(own, imager="sonah"), pick(own, imager="pnah")) for own in of_kinds(rows)]
    return f"{min(over):.2f} to {max(over):.2f}" if over else "-"


def page_of(rows):
    """Tables with a column for each pitch over the standoff."""
    ratios = sorted(ratio for (ratio,) in distinct(rows, "ratio"))

    def table(head, key, cell):
        return markdown([head, *ratios], [[value, *(cell(pick(rows, ratio=ratio, **{key: value})) for ratio in ratios)] for (value,) in distinct(rows, key)])

    text = f"Pitches are below half a wavelength. The error of `auto` over the lesser of the two in the worst kind; at most {MARK:g} is wanted.\n\n"
    text += table("microphones a side", "size", lambda own: over_better(own, of_auto))
    text += "The error of `sonah` over that of `pnah`, from the least to the largest over arrays, quantities and ratios of signal to noise.\n\n"
    text += table("kind", "kind", sonah_over_pnah)
    text += (f"As the first table, for a choice by evidence, which `auto` is not: `pnah` for each image of microphones a standoff apart or more whose spectra its\n"
             f"prediction makes more probable than sonah's priors do, by more than {LEAST_NEPERS:g} nepers a microphone.\n\n")
    return text + table("microphones a side", "size", lambda own: over_better(own, of_evidence))


def main(words=None):
    parser = parser_of(__doc__, sizes=([6, 8, 12, 16, 24, 32], "microphones a side"), ratios=([0.5, 0.7, 1.0, 1.4, 2.0, 3.0], "pitches over the standoff"),
                       kinds=([], "those whose name holds one of these"), quantities=(["pressure", "normal_velocity"], "what is imaged"),
                       snr=([40.0, 25.0], "signal-to-noise ratios, dB"), scenes=(2, "random ones of each kind"))
    options = parser.parse_args(words)
    rows = []
    for size, ratio in itertools.product(options.sizes, options.ratios):
        for kind in sorted(KINDS, key=lambda kind: KINDS[kind][0]):
            if not options.kinds or any(word in kind for word in options.kinds):
                say(f"{size} x {size}, {ratio:g} standoffs apart: {kind}")
                rows += rows_of(size, ratio, kind, options)
    print(page_of(rows))
    if options.csv:
        write_csv(options.csv, rows, commit=commit(), device=device())
    return rows


if __name__ == "__main__":
    main()

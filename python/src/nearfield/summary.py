"""A run for somebody without Nearfield: one HTML file; ``python -m nearfield.summary``, which ``nearfield summary`` runs.

Maps are averages over all frames (:mod:`nearfield.levels`). With another run the file shows what changed from the first run to that one.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import pathlib
import sys
from collections.abc import Sequence

from nearfield import _summary_pictures as drawing
from nearfield._command import Parser, exit_code_of, require_own_output, usage
from nearfield._results import missing
from nearfield._run_settings import changed_settings, settings_of
from nearfield._runs import missing_bits_of, opened, program
from nearfield._summary_levels import answers_of, changes, findings_of, maps_and_levels
from nearfield._summary_page import Table, facts, heading, note, number, page, paragraphs, section, text_of
from nearfield._summary_run import Run, errors_of, facts_of, remarks_of
from nearfield.exports import _whole
from nearfield.levels import AVERAGES, compared

Path = str | os.PathLike[str]

RANGE_DB = 40.0  # span of a map's colours
PICTURES = 24  # most maps that are drawn
_MOST_CHANNELS = 40  # in a cell


def summary(
    path: Path,
    output: Path,
    other: Path | None = None,
    *,
    title: str = "",
    processor: str = "",
    average: str = "energetic",
    range_db: float = RANGE_DB,
    most_pictures: int = PICTURES,
) -> None:
    """Write a run, or two and their difference, as one HTML file.

    Parameters
    ----------
    path : path
        Images, or a recording with images.
    output : path
        The HTML file, which appears when it is complete.
    other : path, optional
        A later run of the same frequencies and grid, of any length; differences are `other` less `path`.
    title : str, optional
    processor : str, optional
        Whose maps; default: the first with some.
    average : {"energetic", "median"}
        Over the frames: the mean or the median of powers.
    range_db : float
        From the top of a map's colours to their bottom, dB.
    most_pictures : int
        Of more maps the loudest are drawn.

    Raises
    ------
    NearfieldError
        UsageError, NoInputError, DataError, IoError, each with what was found and what was expected; DataError of runs that cannot be compared.
    """
    inputs = [os.fspath(path)] if other is None else [os.fspath(path), os.fspath(other)]
    require_own_output("summary", os.fspath(output), inputs)
    if not (math.isfinite(range_db) and range_db > 0.0):
        raise usage("summary", f"--range: expected a number of dB > 0, found {range_db:g}")
    if most_pictures < 0:
        raise usage("summary", f"--pictures: expected a number of at least 0, found {most_pictures}")
    with missing("matplotlib", "python3-matplotlib", "summary"):
        import matplotlib  # noqa: F401
    with contextlib.ExitStack() as stack:
        runs = [Run.of(name, stack.enter_context(opened(name, processor)), processor, average) for name in inputs]
        text = _document(runs, title, range_db, most_pictures)
    with _whole(pathlib.Path(output)) as file:
        file.write(text.encode())


def _document(runs: Sequence[Run], title: str, range_db: float, most_pictures: int) -> str:
    title = title or ("Sound field of " if len(runs) == 1 else "Change of the sound field, ") + " to ".join(run.name for run in runs)
    if len(runs) == 1:
        answers, parts = findings_of(runs[0]), list(maps_and_levels(runs[0], range_db, most_pictures))
    else:
        before, after = runs
        found = compared(before.averages, after.averages, (before.path, after.path))
        answers, parts = answers_of(found[0]), list(changes((before, after), found, range_db, most_pictures))
    body = [_head(title, runs, answers), *parts, _arrays(runs), _certainty(runs), _settings(runs), _reading()]
    return page(title, "".join(body))


# ---- Sections ----


def _of(run: Run, runs: Sequence[Run]) -> str:
    """Return " of A (NAME)" where there are several runs."""
    return "" if len(runs) == 1 else f" of {'AB'[[one is run for one in runs].index(True)]} ({run.name})"


def _head(title: str, runs: Sequence[Run], answers: Sequence[str]) -> str:
    found = [facts_of(run) for run in runs]
    rows = [(name, *(one[name] for one in found)) for name in found[0]]
    made = f"{program('--version').splitlines()[0]}, {datetime.datetime.now(datetime.timezone.utc):%F %H:%M} UTC"
    remarks = _remarks(runs)
    return (f"<header>\n<h1>{text_of(title)}</h1>\n<p class=\"sub\">Summary by {text_of(made)}</p>\n{paragraphs(answers, 'answer')}"
            f"{facts(rows, [] if len(runs) == 1 else ['Before (A)', 'After (B)'])}{paragraphs(remarks, 'remarks')}</header>\n")  # fmt: skip


def _remarks(runs: Sequence[Run]) -> list[str]:
    """Return the remarks on all runs; those that hold for both are there once."""
    if len(runs) == 1:
        return remarks_of(runs[0], "")
    of_each = [dict(zip(remarks_of(run, " of both"), remarks_of(run, _of(run, runs)), strict=True)) for run in runs]
    common = [words for words in of_each[0] if words in of_each[1]]
    return common + [words for one in of_each for words_of_both, words in one.items() if words_of_both not in common]


def _microphones(run: Run, of: str) -> str:
    microphones = run.microphones
    count = "not said by the file" if microphones.count is None else str(microphones.count)
    rows = [("Microphones", count), ("Used in the frames", microphones.words()), ("Masked from the start", _channels(microphones.dead)),
            ("Found bad and masked", _channels(microphones.found))]  # fmt: skip
    if microphones.channels:
        rows.append(("Subset", _channels(microphones.channels)))
    share = microphones.missing_share
    rows.append(("Information missing", "not said by the file" if math.isnan(share) else f"{100.0 * share:.3g} % at most"))
    parts = [facts(rows)]
    if microphones.places_m is None:
        parts.append(note("The file does not say where the microphones stand."))
    else:
        legend = "".join(f'<span><i style="background:{colour}"></i>{text_of(state)}</span>' for colour, state in drawing.legend(microphones))
        parts.append(f'{drawing.array_plan(microphones)}<p class="legend">{legend}</p>')
    return f"{heading(of.removeprefix(' of ')) if of else ''}{''.join(parts)}"


def _arrays(runs: Sequence[Run]) -> str:
    words = ("Masked from the start: by array.dead_channels, or without a gain in the calibration. A microphone's number is row * columns + column of a grid, "
             "else its line in the file of positions. Values of masked microphones are predicted from the others. Plans are seen from the back of the array, "
             "like the maps: x to the right, y down.")  # fmt: skip
    arrays = "".join(f"<div>{_microphones(run, _of(run, runs))}</div>\n" for run in runs)
    return section("Microphones", arrays if len(runs) == 1 else f'<div class="pictures two">{arrays}</div>', note(words))


def _channels(channels: Sequence[int]) -> str:
    if not channels:
        return "none"
    more = f" and {len(channels) - _MOST_CHANNELS} more" if len(channels) > _MOST_CHANNELS else ""
    return f"{len(channels)}: {', '.join(map(str, channels[:_MOST_CHANNELS]))}{more}"


def _certainty(runs: Sequence[Run]) -> str:
    words = ("The expected error is the expected relative L2 error of the image in its own quantity, masked microphones included: the root of the sum of "
             "squared errors over that of the squared image.")  # fmt: skip
    parts = (_errors(run, _of(run, runs)) + _frames(run, _of(run, runs)) for run in runs)
    return section("Expected errors and frames", note(words), *parts, starts_page=len(runs) > 1)


def _errors(run: Run, of: str) -> str:
    errors = errors_of(run.results)
    if not errors or all(math.isnan(median) for _, _, median, _ in errors):
        return heading(f"Expected errors{of}") + note("The file has none: sonah and operators have one, and pnah with the cut-off auto or search.")
    table = Table("wnnn", [("frequency", 1), ("median of the frames [%]", 1), ("least [%]", 1), ("largest [%]", 1)])
    for frequency, least, median, largest in errors:
        table.add(frequency, *(number(100.0 * share, ".3g") for share in (median, least, largest)))
    return heading(f"Expected errors{of}") + table.html()


def _frames(run: Run, of: str) -> str:
    frames, bits = run.results.frames, missing_bits_of(run.results)
    table = Table("tnnn", [("flag", 1), ("number", 1), ("frames", 1), ("share [%]", 1)])
    for flag in run.flags:
        table.add(flag.words, str(flag.number), str(flag.frames), number(100.0 * flag.frames / frames, ".3g"))
    lost = int((bits > 0).sum())
    words = f"Missing bit-times: in {lost} of {frames} frames, {int(bits.max())} at most in one." if lost else f"Missing bit-times: in none of {frames} frames."
    flags = table.html() if run.flags else note(f"None of {frames} frames carries a flag.")
    return heading(f"Frames{of}") + flags + f"<p>{text_of(words)}</p>\n"


def _settings(runs: Sequence[Run]) -> str:
    parts = []
    for run in runs:
        table = Table("ccc", [("setting", 1), ("value", 1), ("default", 1)])
        changed = changed_settings(run.results)
        for one in changed:
            unit = f" {one.unit}" if one.unit else ""
            table.add(one.key, f"{one.value}{unit}", "unknown to this version" if one.default is None else f"{one.default}{unit}")
        heads = heading(f"Settings{_of(run, runs)} that differ from the defaults")
        parts.append(heads + (table.html() if changed else note("None, or the file has no settings.")))
    if len(runs) == 2:
        parts.append(_settings_apart(*runs))
    parts.append(note("Settings of the daemon's host, such as its sockets and folders, have no part in results and are left out."))
    return section("Settings", *parts)


def _settings_apart(before: Run, after: Run) -> str:
    a, b = settings_of(before.results), settings_of(after.results)
    table = Table("ccc", [("setting", 1), (f"before (A), {before.name}", 1), (f"after (B), {after.name}", 1)])
    apart = [key for key in {**a, **b} if a.get(key) != b.get(key)]
    for key in apart:
        table.add(key, a.get(key, "–"), b.get(key, "–"))
    return heading("Settings that differ between both") + (table.html() if apart else note("None: both were made with the same settings."))


def _reading() -> str:
    return (
        "<footer>\n"
        + note("Times are TAI, 37 s ahead of UTC since 2017 where the recording host's clock knows it. Lengths are in m, on the axes of images: x to the "
               "right, y down, z away from the sources. Levels of pressure, velocity and displacement are those of rms values. A radiated power is positive "
               "towards the microphones.")  # fmt: skip
        + "</footer>\n"
    )


# ---- Command line ----


def _run(words: Sequence[str] | None) -> int:
    parser = Parser("summary", prog="python -m nearfield.summary", description="Write a run, or the difference of two, as nearfield summary does")
    parser.add_argument("input", help="images (.h5) or a recording (.nfr) with images")
    parser.add_argument("other", nargs="?", help="a later run of the same frequencies and grid")
    parser.add_argument("-o", "--output", required=True, help="HTML file to write")
    parser.add_argument("--title", default="", help="of the page")
    parser.add_argument("--processor", default="", help="whose maps; default: the first with some")
    parser.add_argument("--average", default=AVERAGES[0], choices=AVERAGES, help="over the frames, of powers")
    parser.add_argument("--range", default=RANGE_DB, type=float, help="dB from the top of a map's colours to their bottom")
    parser.add_argument("--pictures", default=PICTURES, type=int, help="most maps that are drawn")
    chosen = parser.parse_args(words)
    summary(chosen.input, chosen.output, chosen.other, title=chosen.title, processor=chosen.processor, average=chosen.average, range_db=chosen.range,
            most_pictures=chosen.pictures)  # fmt: skip
    print(f"{chosen.output}: {chosen.input}{f' and {chosen.other}' if chosen.other else ''}, {os.path.getsize(chosen.output) / 1e6:.3g} MB")
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return exit_code_of(lambda: _run(words), "nearfield")


if __name__ == "__main__":
    sys.exit(main())

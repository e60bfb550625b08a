#!/usr/bin/env python3
"""Wrong but plausible values of every setting, or files of every kind, and whether a user is told.

    tests/attack/silence.py settings --bin build/release/bin [--seed 7 --most 120] [--list]
    tests/attack/silence.py inputs --bin build/release/bin [--seed 7 --most 15] [--list]

Each mistake is refused with a message, or shown by the first lines that a program prints, or harmless, as nothing becomes another, or
undetectable, for the reason that is printed; what is silent ends this program with 1. The short form of ctest takes --most subjects by a
seed; without it all are tried (one minute each). --list prints every mistake with its outcome. silent_settings.py and silent_inputs.py have the
mistakes: each has a class Search with the `subjects`, and with rows(subject), a (subject, mistake, outcome, what says so) each.
"""
import argparse
import collections
import importlib
import pathlib
import random
import sys
import tempfile

OUTCOMES = ("refused", "shown", "harmless", "undetectable", "silent")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["settings", "inputs"])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    part = importlib.import_module(f"silent_{arguments.part}")
    with tempfile.TemporaryDirectory() as folder:
        search = part.Search(arguments.bin.resolve(), pathlib.Path(folder))
        subjects = search.subjects
        if arguments.most:
            subjects = random.Random(arguments.seed).sample(subjects, min(arguments.most, len(subjects)))
        rows = [row for subject in subjects for row in search.rows(subject)]
    found = collections.Counter(outcome for _, _, outcome, _ in rows)
    counts = f"{len(subjects)} {part.SUBJECTS}, {len(rows)} mistakes: " + ", ".join(f"{found[name]} {name}" for name in OUTCOMES)
    print(counts)
    for subject, mistake, outcome, line in rows:
        if arguments.list or outcome == "silent":
            print(f"{subject}, {mistake}: {outcome}: {line}")
    return 1 if found["silent"] else 0


if __name__ == "__main__":
    sys.exit(main())

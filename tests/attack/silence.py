#!/usr/bin/env python3
"""Wrong but plausible values of every setting, and whether a user is told: each must be refused with a message that names the
key, or stand in the first lines that nearfieldd prints. What is neither is silent, and fails.

    tests/attack/silence.py --bin build/release/bin [--seed 7 --most 120] [--page docs/silence.md]

A value is wrong by a factor of 1000 either way, by its sign, by the order of its two ends, or by being another word. The
short form of ctest takes --most settings by a seed; without it all are tried (one to two minutes). --page writes the table.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

# What a run of the daemon cannot be shown to have wrong, as the value is of the world and not of the data: each is printed.
NUMBERS = {"number", "integer", "octal text", "number or list of numbers"}
PLAIN = {  # where a default is no number to be wrong by a factor, a right one
    "array.pascal_per_unit": 20, "holography.filter.cutoff_rad_per_m": 80,
}


class Probe:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.known = {}

    def check(self, overrides):
        """Exit code and printed lines of `nearfieldd --check` with these settings."""
        key = tuple(overrides)
        if key not in self.known:
            arguments = [str(self.program), "--check"]
            for override in overrides:
                arguments += ["--set", override]
            run = subprocess.run(arguments, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=60, check=False)
            self.known[key] = run.returncode, (run.stdout + run.stderr).splitlines()
        return self.known[key]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def numbers_of(setting):
    """A right value that can be wrong by a factor: the default, or one inside the range."""
    default = PLAIN.get(setting["key"], setting["default"])
    if isinstance(default, list) and default and all(map(is_number, default)):
        return default
    if is_number(default) and default != 0:
        return default
    least, most = setting.get("minimum"), setting.get("maximum")
    if least is not None and most is not None and most > 0:
        return max(least, min(most, 1)) or 1
    return 1


def times(value, factor, is_whole):
    if isinstance(value, list):
        return [times(one, factor, is_whole) for one in value]
    scaled = value * factor
    return int(scaled) if is_whole and scaled == int(scaled) else scaled


def wrong_values(setting):
    """(what is wrong, value) of one setting, as YAML."""
    kind, default = setting["type"], setting["default"]
    if kind == "boolean":
        return [("the other one", str(not default).lower())]
    if kind == "choice":
        words = [word["word"] for word in setting["words"] if word["word"] not in (str(default), "null")]
        return [("another word", words[0])] if words else []
    if kind in NUMBERS or kind in ("list of numbers", "pair of numbers", "pair of integers"):
        right = numbers_of(setting)
        if "list" in kind and not isinstance(right, list) and kind != "number or list of numbers":
            right = [right]
        if "pair" in kind and not isinstance(right, list):
            right = [0, right]
        whole = "integer" in kind
        values = [("a thousand times", times(right, 1000, whole)), ("a thousandth", times(right, 0.001, whole)),
                  ("the other sign", times(right, -1, whole))]
        if isinstance(right, list) and len(right) == 2:
            values.append(("the two swapped", right[::-1]))
        return [(what, json.dumps(value)) for what, value in values if value != default]
    if kind == "path":
        return [("a file that is not there", "no_such_file.h5")]
    if kind in ("list of integers", "text or list of integers"):
        return [("off by one channel", "[1]")]
    if kind == "text":
        return [("another text", "another")]
    return []  # lists of points, beams, sectors: their members are numbers that the schema bounds, and they are printed


def overrides_of(key, value):
    """With the kind of the processor, or what else must be there that the key counts."""
    parts = key.split(".")
    if parts[0] == "processors":
        return [f"processors.{parts[1]}.kind={parts[1]}", f"{key}={value}"]
    return [f"{key}={value}"]


def outcome_of(probe, setting, value):
    """("refused" | "shown" | "silent", the line that says it)."""
    key = setting["key"]
    right_code, right = probe.check(overrides_of(key, value)[:-1])
    code, lines = probe.check(overrides_of(key, value))
    leaf = key.split(".")[-1]
    fresh = [line for line in lines if line not in right]
    named = [line for line in fresh if leaf in line or key in line]
    if code != 0 and code != right_code and (named or fresh):
        return "refused", (named or fresh)[0]
    if code not in (0, 78):
        return "silent", f"exit code {code}"
    if named or fresh:
        return "shown", (named or fresh)[0]
    return "silent", ""


def settings_of(program):
    listed = subprocess.run([str(program), "settings", "--json"], capture_output=True, text=True, check=True)
    return json.loads(listed.stdout)


def group_of(key):
    """Keys that several processors share stand once in the table."""
    return re.sub(r"^processors\.[^.]+\.", "processors.NAME.", key)


def write_page(path, rows):
    table = {}
    for key, what, outcome in rows:
        table.setdefault(group_of(key), {}).setdefault(outcome, []).append(what)
    lines = ["| setting | refused, with a message | stands in the first lines |", "|---|---|---|"]
    for key, outcomes in table.items():
        cells = [", ".join(dict.fromkeys(outcomes.get(outcome, []))) for outcome in ("refused", "shown")]
        lines.append(f"| `{key}` | {cells[0]} | {cells[1]} |")
    page = pathlib.Path(path)
    text = page.read_text()
    begin, end = "<!-- settings -->\n", "<!-- end of settings -->"
    head, _, rest = text.partition(begin)
    tail = rest.partition(end)[2]
    page.write_text(head + begin + "\n".join(lines) + "\n" + end + tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int)
    parser.add_argument("--page")
    arguments = parser.parse_args()
    binaries = arguments.bin.resolve()
    settings = settings_of(binaries / "nearfield")
    if arguments.most:
        settings = random.Random(arguments.seed).sample(settings, min(arguments.most, len(settings)))
    rows, silent = [], []
    with tempfile.TemporaryDirectory() as folder:
        probe = Probe(binaries / "nearfieldd", folder)
        for setting in settings:
            for what, value in wrong_values(setting):
                outcome, line = outcome_of(probe, setting, value)
                rows.append((setting["key"], what, outcome))
                if outcome == "silent":
                    silent.append(f"{setting['key']}={value} ({what}): nothing is said {line}")
    counts = {outcome: sum(row[2] == outcome for row in rows) for outcome in ("refused", "shown", "silent")}
    print(f"{len(settings)} settings, {len(rows)} wrong values: {counts}")
    for line in silent:
        print(line)
    if arguments.page:
        write_page(arguments.page, rows)
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())

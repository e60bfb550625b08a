"""Wrong but plausible values of every setting, for silence.py: each must be refused with a message that names the key, or stand in the
first lines that `nearfieldd --check` prints.

A value is wrong by a factor of 1000 either way, by its sign, by the order of its two ends, or by being another word.
"""
import json
import subprocess

SUBJECTS = "settings"
NUMBERS = {"number", "integer", "number or list of numbers"}
PLAIN = {  # where a default is no number to be wrong by a factor, a right one
    "array.pascal_per_unit": 20, "holography.filter.cutoff_rad_per_m": 80,
}


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


class Search:
    def __init__(self, binaries, folder):
        self.program = binaries / "nearfieldd"
        self.folder = folder
        self.known = {}
        listed = subprocess.run([str(binaries / "nearfield"), "settings", "--json"], capture_output=True, text=True, check=True)
        self.subjects = json.loads(listed.stdout)

    def check(self, overrides):
        """Exit code and printed lines of `nearfieldd --check` with these settings."""
        key = tuple(overrides)
        if key not in self.known:
            arguments = [str(self.program), "--check", *(part for override in overrides for part in ("--set", override))]
            run = subprocess.run(arguments, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=60, check=False)
            self.known[key] = run.returncode, (run.stdout + run.stderr).splitlines()
        return self.known[key]

    def outcome(self, key, value):
        right_code, right = self.check(overrides_of(key, value)[:-1])
        code, lines = self.check(overrides_of(key, value))
        fresh = [line for line in lines if line not in right]
        told = [line for line in fresh if key.split(".")[-1] in line] or fresh
        if code < 0 or not told:
            return "silent", f"of {value}, exit code {code}"
        return "refused" if code not in (0, right_code) else "shown", told[0]

    def rows(self, setting):
        for what, value in wrong_values(setting):
            yield setting["key"], what, *self.outcome(setting["key"], value)

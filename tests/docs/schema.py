"""What the pages may name: settings and their defaults, out of config/, and the other words that a user can type or read."""

import re


def _without_comment(line):
    return re.sub(r"(^|\s)#.*", "", line).rstrip()


def _keys_of_processors(root):
    """Keys that some kind of processor has, as docs/reference/settings.md lists them under processors.KIND, or names another section that has."""
    keys, section = set(), ""
    for line in (root / "docs/reference/settings.md").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif match := re.match(r"- `(\w+)` \(", line):
            keys.add(f"{section}.{match.group(1)}")
        elif match := re.match(r"As of ([\w.]+): (.*)", line):
            other, names = match.groups()
            for name in re.findall(r"`(\w+)`(?:,|\.$| \()", names):
                keys.update([section + key[len(other):] for key in keys if f"{key}.".startswith(f"{other}.{name}.")])
    return {key.split(".", 2)[2] for key in keys if re.match(r"processors\.\w+\.", key)}


class Settings:
    """The keys of config/nearfield.yaml, which lists all of them at their defaults."""

    def __init__(self, root):
        self.defaults = {}      # "array.pitch_x_m": "0.02"
        parents = []            # [(indentation, key)]
        for line in (root / "config/nearfield.yaml").read_text().splitlines():
            match = re.match(r"( *)([a-z_0-9]+):\s*(.*)", _without_comment(line))
            if not match:
                continue
            indentation = len(match.group(1))
            while parents and parents[-1][0] >= indentation:
                parents.pop()
            parents.append((indentation, match.group(2)))
            self.defaults[".".join(key for _, key in parents)] = match.group(3)
        self.sections = {path.split(".")[0] for path in self.defaults}
        self.of_processors = _keys_of_processors(root)  # "planes_m", "filter.slope"

    def paths(self, name):
        """All settings that `name`, a whole path or its end, can mean."""
        return [path for path in self.defaults if path == name or path.endswith("." + name)]


# Names in pages that belong to neither Nearfield nor its files: pyzmq's.
OF_OTHERS = {"socket", "curve_serverkey", "curve_publickey", "curve_secretkey"}


def scene_keys(root):
    """Keys of scenes, also of those that a comment shows, and of a setting's items, such as points' x_m."""
    words = set()
    for file in sorted((root / "config/scenes").glob("*.yaml")) + [root / "config/nearfield.yaml"]:
        words.update(re.findall(r"\b([a-z_0-9]+):", file.read_text()))
    return words


def _literals(text):
    """Texts of a source's literals, less the names before a colon: a message that names a wrong setting makes it no key."""
    text = re.sub(r"//[^\n]*", "", text)
    literals = re.findall(r'"((?:[^"\\\n]|\\.)*)"', text) + re.findall(r'R"\w*\((.*?)\)\w*"', text, re.S)
    return " ".join(re.sub(r"[\w.]+(, [\w.]+)*: expected", "", literal) for literal in literals)


def other_words(root):
    """Words of the interfaces in C and Python, of what programs print and files contain (their sources' literals), of kernels and of file
    names. A member of a C++ structure is none of these: a page that names it says the key instead."""
    text = [(root / name).read_text() for name in ("include/nearfield_ring.h", "include/nearfield/nearfield.h",
                                                   "examples/controller.c", "examples/engine.c")]
    for folder in ("src", "bench"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".cpp", ".hpp", ".c"):
                text.append(_literals(file.read_text()))
    for file in sorted((root / "kernels").rglob("*.cl")):
        text += re.findall(r"(?:__kernel|kernel) void (\w+)", file.read_text())
    for file in sorted((root / "python/src/nearfield").glob("*.py")):  # functions, methods and fields of Python's interface
        text += re.findall(r"^ *def ([a-z]\w*)|^    ([a-z]\w*):", file.read_text(), re.M)
    text = [" ".join(part) if isinstance(part, tuple) else part for part in text]
    words = set(re.findall(r"[a-z][a-z0-9_]*", " ".join(text)))
    for file in sorted((root / "python/src").rglob("*.py")):  # names of its interface, and of what it writes
        words.update(re.findall(r"\b[a-z][a-z0-9_]*", file.read_text()))
    for folder in ("src", "kernels", "tests", "fuzz", "bench", "docs", "examples", "config", "include"):
        words.update(file.stem for file in (root / folder).rglob("*") if file.suffix != ".pyc")
        words.update(file.stem.removesuffix("_test") for file in (root / folder).rglob("*_test.cpp"))
    for file in list((root / "tests").rglob("CMakeLists.txt")) + list((root / "src").rglob("CMakeLists.txt")):
        words.update(re.findall(r"add_(?:executable|library)\((\w+)", file.read_text()))
    words.update(f"{folder.name}_tests" for folder in (root / "tests").iterdir())
    return words | OF_OTHERS


def endpoints(root):
    """Ports and sockets that config/ names: the pages use the same."""
    ports, sockets = set(), set()
    for file in sorted((root / "config").glob("*.yaml")):
        text = file.read_text()
        ports.update(re.findall(r"(?:\d|\]|HOST|\*|localhost):(\d{2,5})\b", text))
        sockets.update(re.findall(r"[\w/.$}{-]*/[\w.-]+\.sock\b", text))
    return ports, sockets

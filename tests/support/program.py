"""A program of Nearfield, run by tests in Python."""

import pathlib
import subprocess


class Program:
    """Runs the program at `path`; arguments may be paths and numbers."""

    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()

    def __fspath__(self):
        return str(self.path)

    def run(self, *arguments):
        """The ended process, with its exit code and what it wrote as text."""
        return subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True, check=False)

    def require(self, *arguments):
        """The same; raises RuntimeError, with the program's words, unless it ended with 0."""
        done = self.run(*arguments)
        if done.returncode != 0:
            raise RuntimeError(f"{self.path.name} {' '.join(map(str, arguments))}: {done.returncode}: {done.stderr}")
        return done

    def tests(self):
        """The tests of a program of GoogleTest, in its order."""
        names, case = [], ""
        for line in self.require("--gtest_list_tests").stdout.splitlines():
            word = line.split("#")[0].strip()
            if line.startswith("  "):
                names.append(case + word)
            elif word.endswith("."):
                case = word
        return names


def sets(settings):
    """Options for settings such as "array.rows=8"."""
    return [word for setting in settings for word in ("--set", setting)]

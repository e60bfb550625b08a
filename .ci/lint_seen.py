#!/usr/bin/env python3
"""Which C++ files clang-tidy has to look at: `lint_seen.py new COMMIT FILE...` prints those of the files whose code has not passed on
this machine, and one that includes each header whose code has not; `lint_seen.py passed FILE` notes that it has, and what it includes.

What passed is noted by its code below $XDG_CACHE_HOME (~/.cache)/nearfield-lint, in a folder for the rules in .clang-tidy and the
versions of the installed packages, which stand for the headers of others. A machine without this folder takes what has not changed
since COMMIT as passed; without COMMIT that is the newest tag, or the commit 50 before this one. Where the rules have changed since, nothing is.
"""
import functools
import hashlib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "nearfield-lint"
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"[^"]+"', re.MULTILINE)
PLACES = ("include", "src", "tests", ".")
TEXT_OR_COMMENT = re.compile(r'(?P<kept>R"([^ ()\\]*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\''
                             r"|/\*.*?\*/|//[^\n]*NOLINT[^\n]*)|//[^\n]*", re.DOTALL)


def code_of(text):
    """A text without its layout, its // comments, which clang-tidy does not judge but for NOLINT (/* */ may name arguments), and the headers
    of this project that it includes: those that have changed are looked at themselves."""
    return re.sub(r"\s+", " ", TEXT_OR_COMMENT.sub(lambda token: token["kept"] or " ", INCLUDED.sub("", text)))


@functools.cache
def stamps():
    """The folder of stamps for these rules and packages."""
    packages = ["clang-tidy", "lib*-dev", "*-dev", "opencl-*", "cppzmq-dev", "nlohmann-json3-dev"]
    listed = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\n", *packages], capture_output=True, check=False)
    state = hashlib.sha256((ROOT / ".clang-tidy").read_bytes() + b"\n".join(sorted(set(listed.stdout.splitlines()))))
    return CACHE / state.hexdigest()


@functools.cache
def stamp(path):
    return stamps() / hashlib.sha256(code_of(path.read_text(encoding="utf-8")).encode()).hexdigest()


@functools.cache
def includes(path):
    """Files of this project that `path` includes directly."""
    candidates = ([path.parent / name] + [ROOT / place / name for place in PLACES] for name in INCLUDE.findall(path.read_text(encoding="utf-8")))
    return [found.resolve() for found in (next((one for one in places if one.is_file()), None) for places in candidates) if found]


def all_included(path):
    """`path` and all files of this project that it includes, directly or not."""
    known, waiting = set(), [path]
    while waiting:
        if (one := waiting.pop()) not in known:
            known.add(one)
            waiting += includes(one)
    return known


def note(paths):
    stamps().mkdir(parents=True, exist_ok=True)
    for path in paths:
        stamp(path).touch()


def git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False).stdout.split()


def changed_since(commit):
    if not commit:
        commit = "".join(git("describe", "--tags", "--abbrev=0", "HEAD^")) or git("rev-list", "--max-count=51", "HEAD")[-1]
        if git("rev-parse", commit) == git("rev-parse", "HEAD"):
            sys.exit("lint: expected a commit before this one to begin from, found none: ./dev lint --since COMMIT, or --all")
    if not git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        sys.exit(f"lint: expected a commit of this history, found {commit!r}")
    return {ROOT / name for name in git("diff", "--name-only", commit) + git("ls-files", "--others", "--exclude-standard")}


def unseen(commit, paths):
    """Those of the paths, and includers of headers, that have to be looked at."""
    reached = {path: all_included(path) for path in paths}
    begun = stamps() / "begun"
    if not begun.exists():
        changed = changed_since(commit)
        note([] if ROOT / ".clang-tidy" in changed else set().union(*reached.values()) - changed)
        begun.touch()
    wanted = [path for path in paths if not stamp(path).exists()]
    headers = {path for path in set().union(*reached.values()) - set(paths) if not stamp(path).exists()}
    for path in wanted + paths:
        if not headers.isdisjoint(reached[path]):
            headers -= reached[path]
            wanted += [] if path in wanted else [path]
    return wanted


def main():
    if sys.argv[1] == "passed":
        for name in sys.argv[2:]:
            note(all_included((ROOT / name).resolve()))
        return
    wanted = unseen(sys.argv[2], [(ROOT / name).resolve() for name in sys.argv[3:]])
    print("\n".join(str(path.relative_to(ROOT)) for path in wanted))


if __name__ == "__main__":
    main()

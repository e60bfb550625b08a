#!/usr/bin/env python3
"""Which C++ files clang-tidy has to look at: `lint_seen.py new FILE...` prints those of the files that it has not passed in
just this state, `lint_seen.py changed FILE...` those of them whose code has changed since the commit that .ci/linted names, and
one that includes each header whose code has, `lint_seen.py passed FILE` notes that it has passed.

All files of the commit in .ci/linted have passed. Whoever has had all files looked at (`./dev lint --all`) may name a later
one there. Where the commit is not in the history, or the rules in .clang-tidy have changed, all files count as changed.

A file's state is its text, the texts of all headers of this project that it includes (directly or not), the rules in
.clang-tidy, the command that compiles it (build/clang/compile_commands.json) and the versions of the installed packages,
which stand for the headers of others. What passed is noted below $XDG_CACHE_HOME (~/.cache)/nearfield-lint: a new machine looks at all.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "nearfield-lint"
INCLUDE = re.compile(rb'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"[^"]+"', re.MULTILINE)
PLACES = ("include", "src", "tests", ".")
TEXT_OR_COMMENT = re.compile(r'(?P<kept>R"([^ ()\\]*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\''
                             r"|/\*.*?\*/|//[^\n]*NOLINT[^\n]*)|//[^\n]*", re.DOTALL)


def common_state():
    state = hashlib.sha256()
    for path in [".clang-tidy", ".ci/lint_seen.py"]:
        state.update((ROOT / path).read_bytes())
    packages = ["clang-tidy", "lib*-dev", "*-dev", "opencl-*", "cppzmq-dev", "nlohmann-json3-dev"]
    listed = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\n", *packages], capture_output=True, check=False)
    state.update(b"\n".join(sorted(set(listed.stdout.splitlines()))))
    return state.digest()


def included_files(path, known):
    """All files of this project that `path` includes, itself too."""
    if path in known:
        return
    known[path] = text = path.read_bytes()
    for name in INCLUDE.findall(text):
        name = name.decode()
        for candidate in [path.parent / name] + [ROOT / place / name for place in PLACES]:
            if candidate.is_file():
                included_files(candidate.resolve(), known)
                break


def commands():
    """How each file is compiled, without the folder of this checkout."""
    compiled = json.loads((ROOT / "build/clang/compile_commands.json").read_text())
    return {entry["file"]: entry["command"].replace(str(ROOT), ".").encode() for entry in compiled}


def git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)


def code_of(text):
    """A text without its layout, its // comments, which clang-tidy does not judge but for NOLINT (/* */ may name arguments), and the headers
    of this project that it includes: those that have changed are looked at themselves."""
    return re.sub(r"\s+", " ", TEXT_OR_COMMENT.sub(lambda token: token["kept"] or " ", INCLUDED.sub("", text)))


def has_other_code(name, commit, old_name):
    before = git("show", f"{commit}:{old_name}")
    path = ROOT / name
    return before.returncode != 0 or not path.is_file() or code_of(before.stdout) != code_of(path.read_text(encoding="utf-8"))


def changed_since_linted(files):
    linted = (ROOT / ".ci/linted").read_text().split()[0]
    if git("merge-base", "--is-ancestor", linted, "HEAD").returncode != 0:
        return files
    listed = [line.split("\t") for line in git("diff", "--find-renames", "--name-status", linted).stdout.splitlines()]
    changed = {words[-1]: words[1] for words in listed}  # the name before of what was moved
    if ".clang-tidy" in changed:
        return files
    changed = {name for name, old in changed.items() if name.endswith((".h", ".hpp", ".cpp")) and has_other_code(name, linted, old)}
    changed |= set(git("ls-files", "--others", "--exclude-standard").stdout.split())
    wanted = [file for file in files if file in changed]
    headers = {ROOT / name for name in changed if name.endswith((".h", ".hpp"))}
    for file in wanted + files:
        if not headers:
            break
        known = {}
        included_files((ROOT / file).resolve(), known)
        if not headers.isdisjoint(known):
            headers -= known.keys()
            if file not in wanted:
                wanted.append(file)
    return wanted


def stamp(file, common, compiled):
    known = {}
    included_files((ROOT / file).resolve(), known)
    state = hashlib.sha256(common)
    state.update(compiled.get(str(ROOT / file), b"not compiled"))
    for path in sorted(known):
        state.update(str(path.relative_to(ROOT)).encode() + b"\0" + known[path] + b"\0")
    return FOLDER / state.hexdigest()


def main():
    command, files = sys.argv[1], sys.argv[2:]
    if command == "changed":
        print("\n".join(changed_since_linted(files)))
        return
    common, compiled = common_state(), commands()
    if command == "new":
        print("\n".join(file for file in files if not stamp(file, common, compiled).exists()))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file in files:
        stamp(file, common, compiled).touch()


if __name__ == "__main__":
    main()

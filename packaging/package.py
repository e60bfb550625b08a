#!/usr/bin/env python3
"""Makes Debian's packages of what a build folder holds:  package.py BUILD OUTPUT [--version VERSION]

`./dev package` builds the programs first and calls this. Version and time are those of the commit, as the build's commit.hpp has
them; --version gives another one, to try upgrades. What lies in OUTPUT under the same name is replaced.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def run(*words, env):
    done = subprocess.run([str(word) for word in words], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}")


def tree(build):
    """(version, time in seconds since 1970) of the commit; outside git the time of CHANGELOG.md."""
    header = build / "src/version/generated/version/commit.hpp"
    text = header.read_text()
    version = re.search(r'kVersion\[\] = "([^"]+)"', text)
    time_s = re.search(r"kCommitTime_s = (\d+);", text)
    if version is None or time_s is None:
        sys.exit(f"{header}: expected kVersion and kCommitTime_s, found {text!r}")
    return version.group(1), int(time_s.group(1)) or int((SOURCE / "CHANGELOG.md").stat().st_mtime)


def without_scripts(package, environment):
    """Writes the package anew without postinst and postrm: cpack makes both for a library, to call ldconfig, which is what the
    package's trigger is for (Debian's policy, 8.1.1)."""
    tree = package.parent / "tree"
    run("dpkg-deb", "-R", package, tree, env=environment)
    for script in ("postinst", "postrm"):
        (tree / "DEBIAN" / script).unlink()
    run("dpkg-deb", "-Zxz", "--root-owner-group", "-b", tree, package, env=environment)
    shutil.rmtree(tree)


def main():
    parser = argparse.ArgumentParser(description="Debian packages of a build folder")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--version")
    arguments = parser.parse_args()
    build, output = arguments.build.resolve(), arguments.output.resolve()
    version, time_s = tree(build)
    version = arguments.version or version
    staged = output / "staged"
    shutil.rmtree(staged, ignore_errors=True)
    output.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(time_s)}
    os.umask(0o022)  # the members of a package's outer archive have the modes of cpack's files
    run("cpack", "--config", build / "CPackConfig.cmake", "-B", staged, "-D", f"NEARFIELD_DEBIAN_VERSION={version}", env=environment)
    packages = sorted(staged.glob("*.deb"))
    if not packages:
        sys.exit("cpack: expected packages, found none")
    for package in packages:
        if package.name.startswith(("libnearfield0_", "libnearfield-ring3_")):
            without_scripts(package, environment)
        for old in output.glob(package.name.split("_")[0] + "_*.deb"):
            old.unlink()
        shutil.move(package, output / package.name)
        print(output / package.name)
    shutil.rmtree(staged)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""nearfieldd needs no library that draws pictures or reads sound files: a machine with microphones does without them.

libraries_test.py NEARFIELDD NEARFIELD: fails where ldd lists one for NEARFIELDD, and where it lists none for NEARFIELD, which has all
of them, since the test would have looked for nothing then.
"""
import subprocess
import sys

UNWANTED = ("libcairo.so", "libsndfile.so", "libsamplerate.so")


def unwanted_libraries(program):
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [name for name in UNWANTED if name in listed]


def main():
    daemon, command = sys.argv[1:]
    if found := unwanted_libraries(daemon):
        sys.exit(f"{daemon}: expected none of {', '.join(UNWANTED)}, found {', '.join(found)}")
    if len(found := unwanted_libraries(command)) != len(UNWANTED):
        sys.exit(f"{command}: expected all of {', '.join(UNWANTED)}, found {', '.join(found) or 'none'}")


if __name__ == "__main__":
    main()

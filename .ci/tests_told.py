#!/usr/bin/env python3
"""Names the tests that failed, with the end of what each printed: what CI keeps of a run is its last lines.

    tests_told.py [--slowest N] TESTS.xml...   files of ctest --output-junit; files that are not there are left out; --slowest: names the N
                                               tests that took longest instead
"""
import argparse
import pathlib
import xml.etree.ElementTree as xml

LINES = 40  # of each test, from its first failure on, and as many of its end


def told(text):
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if ": Failure" in line), len(lines))
    begin, end = lines[first:first + LINES], lines[max(first + LINES, len(lines) - LINES) if first < len(lines) else -LINES:]
    return "\n".join(begin + end)


def tell_failed(case, path):
    if case.get("status") not in ("run", "notrun", "disabled") or case.find("failure") is not None:
        print(f"\n== failed: {case.get('name')} ({path.parent.name}, {float(case.get('time', 0)):.1f} s)")
        print(told(case.findtext("system-out") or ""))


def tell_slowest(cases, count):
    times_s = sorted(((float(case.get("time", 0)), case.get("name")) for case in cases), reverse=True)
    print(f"the slowest of {len(times_s)}:", ", ".join(f"{name} {time_s:.0f} s" for time_s, name in times_s[:count]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slowest", type=int, default=0)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    chosen = parser.parse_args()
    for path in filter(pathlib.Path.exists, chosen.files):
        try:
            cases = list(xml.parse(path).getroot().iter("testcase"))
        except xml.ParseError as error:  # of a run that was ended while it wrote
            print(f"{path}: {error}")
            continue
        if chosen.slowest:
            tell_slowest(cases, chosen.slowest)
            continue
        for case in cases:
            tell_failed(case, path)


if __name__ == "__main__":
    main()

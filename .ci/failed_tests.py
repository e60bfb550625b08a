#!/usr/bin/env python3
"""Names the tests that failed, with the end of what each printed: what CI keeps of a run is its last lines.

    failed_tests.py TESTS.xml...   files of ctest --output-junit; files that are not there are left out
"""
import pathlib
import sys
import xml.etree.ElementTree as xml

LINES = 40  # of each test, from its first failure on, and as many of its end


def told(text):
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if ": Failure" in line), len(lines))
    begin, end = lines[first:first + LINES], lines[max(first + LINES, len(lines) - LINES) if first < len(lines) else -LINES:]
    return "\n".join(begin + end)


def main():
    for path in map(pathlib.Path, sys.argv[1:]):
        if not path.exists():
            continue
        for case in xml.parse(path).getroot().iter("testcase"):
            if case.get("status") not in ("run", "notrun", "disabled") or case.find("failure") is not None:
                print(f"\n== failed: {case.get('name')} ({path.parent.name}, {float(case.get('time', 0)):.1f} s)")
                print(told(case.findtext("system-out") or ""))


if __name__ == "__main__":
    main()

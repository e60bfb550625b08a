"""Plots and pages of figures from the JSON that `nearfield bench` writes.

Built as bin/nearfield-bench-report, which nearfield-bench runs for --png and --docs; `python3 bench/report FILE ...` is the same.
"""

import argparse
import json
import pathlib
import sys

import errors
import fidelity
import frames
import front_ends

# As include/nearfield/error.hpp has them.
USAGE, BAD_DATA, NO_INPUT, IO = 64, 65, 66, 74
WRITERS = {"frames": frames.write, "frontends": front_ends.write, "errors": errors.write}


class Failure(Exception):
    """What ends the program, with its exit code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Failure(USAGE, f"{message} (nearfield-bench-report --help)")


def arguments_of(words):
    parser = Parser(prog="nearfield-bench-report", description="Plots and pages from the JSON that `nearfield bench` writes.")
    parser.add_argument("report", type=pathlib.Path, help="what --json wrote")
    parser.add_argument("--png", type=pathlib.Path, help="folder for plots or pictures, of frames, frontends and errors")
    parser.add_argument("--docs", type=pathlib.Path,
                        help="folder for fidelity.md and pictures/fidelity/, of fidelity; else the page is printed")
    return parser.parse_args(words)


def read(path):
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(NO_INPUT, f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise Failure(BAD_DATA, f"{path}: expected JSON: {error}") from error
    if not isinstance(report, dict) or "benchmark" not in report:
        raise Failure(BAD_DATA, f"{path}: expected a report of `nearfield bench`")
    return report


def run(words):
    arguments = arguments_of(words)
    report = read(arguments.report)
    kind = report["benchmark"]
    if kind == "fidelity" and arguments.png is None:
        fidelity.write(report, arguments.docs)
    elif kind in WRITERS and arguments.docs is None and arguments.png is not None:
        WRITERS[kind](report, arguments.png)
    else:
        raise Failure(USAGE, f"{arguments.report}: expected --docs or nothing for fidelity, --png for {', '.join(WRITERS)}; "
                             f"this is {kind}")


def main():
    try:
        run(sys.argv[1:])
    except Failure as failure:
        problem, code = failure, failure.code
    except ModuleNotFoundError as error:
        problem, code = f"plots need the Python package {error.name}, on Debian python3-{error.name}; it is not installed", IO
    except OSError as error:
        problem, code = f"{error.filename}: {error.strerror}", IO
    else:
        return 0
    print(f"nearfield: error: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

"""Plots from the JSON that `nearfield bench` writes.

Built as bin/nearfield-bench-report, which nearfield-bench runs for --png; `python3 bench/report FILE ...` is the same.
"""

import argparse
import json
import os
import pathlib
import sys

import frames
import front_ends
from plots import make_figure

# Exit codes, those of core/error.hpp.
USAGE, BAD_DATA, NO_INPUT, INTERNAL, IO, INTERRUPTED = 64, 65, 66, 70, 74, 130
WRITERS = {"frames": frames.write, "frontends": front_ends.write}


class Failure(Exception):
    """Problem that ends the program, with its exit code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Failure(USAGE, f"{message} (nearfield-bench-report --help)")


def arguments_of(words):
    parser = Parser(prog="nearfield-bench-report", description="Plots from the JSON that `nearfield bench` writes.")
    parser.add_argument("report", type=pathlib.Path, nargs="?", help="what --json wrote")
    parser.add_argument("--png", type=pathlib.Path, help="folder for plots, of frames and frontends")
    parser.add_argument("--check", action="store_true",
                        help="only finds out whether all that the other options need is installed; takes no report")
    arguments = parser.parse_args(words)
    if arguments.check != (arguments.report is None):
        parser.error("expected either a report or --check")
    return arguments


def read(path):
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(NO_INPUT, f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Failure(BAD_DATA, f"{path}: expected JSON: {error}") from error
    if not isinstance(report, dict) or "benchmark" not in report:
        raise Failure(BAD_DATA, f"{path}: expected a report of `nearfield bench`")
    return report


def check(arguments):
    """Imports what draws, where something is to be drawn."""
    if arguments.png is None:
        return
    try:
        make_figure(1.0, 1.0)
    except Exception as error:  # parts that do not fit each other fail in many ways
        raise missing_package(error) from error


def missing_package(error):
    return Failure(NO_INPUT, f"plots need the Python package matplotlib, on Debian python3-matplotlib: {error}")


def write(report, arguments):
    kind = report["benchmark"]
    if kind not in WRITERS or arguments.png is None:
        raise Failure(USAGE, f"{arguments.report}: expected --png, for {', '.join(WRITERS)}; this is {kind}")
    WRITERS[kind](report, arguments.png)


def run(words):
    arguments = arguments_of(words)
    if arguments.check:
        check(arguments)
        return
    report = read(arguments.report)
    try:
        write(report, arguments)
    except ImportError as error:
        raise missing_package(error) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise Failure(BAD_DATA, f"{arguments.report}: a report of another version, or damaged: {type(error).__name__}: {error}") \
            from error


def main():
    try:
        run(sys.argv[1:])
        sys.stdout.flush()
    except Failure as failure:
        problem, code = failure, failure.code
    except OSError as error:
        problem, code = f"{error.filename or 'standard output'}: {error.strerror or error}", IO
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter does not write the rest again at its end
    except KeyboardInterrupt:
        problem, code = "interrupted", INTERRUPTED
    except Exception as error:
        problem, code = f"plots: {type(error).__name__}: {error}", INTERNAL
    else:
        return 0
    print(f"nearfield: error: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

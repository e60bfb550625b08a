#!/usr/bin/python3
"""Tests and times of the kernels on the OpenCL implementations that a machine has; `./dev devices` calls it.

    implementations.py FOLDER [NAME...] [OPTION...]     tests NAMEs, of /etc/OpenCL/vendors or `intel`, which is fetched; default: pocl intel
    implementations.py --page FILE.json...              makes docs/results/opencl.md anew, down to its notes, which stay

FOLDER/NAME.json has the device, the tests of each suite that were right, failed and were not reached, their seconds, the frame times by the
number of frequencies, those of PoCL in the same run, and the largest difference of the demo's images from those in FOLDER/images.h5, which the
first implementation makes where they are missing.

The tests are those that hold a kernel against its reference in double precision. A test program that dies goes on behind the test
that it died in, which has failed.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import Program  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = ("cl", "frontend", "imaging", "processors", "accuracy")
VENDORS = pathlib.Path("/etc/OpenCL/vendors")
FREQUENCIES = (1, 5)
PAGE, NOTES = ROOT / "docs/results/opencl.md", "## Notes\n"
PLATFORMS = {"pocl": "Portable Computing Language", "intel": "Intel(R) OpenCL", "rusticl": "rusticl", "nvidia": "NVIDIA CUDA", "oclgrind": "Oclgrind"}


def environment_of(name, cache):
    """How the programs find one implementation alone, with caches of its own: what one has compiled is nothing to another."""
    folders = {key: cache / name / key for key in ("OCL_ICD_VENDORS", "NEARFIELD_CACHE_DIR", "POCL_CACHE_DIR")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    installed = {icd.stem for icd in VENDORS.glob("*.icd")} | {"intel"}
    if name not in installed & PLATFORMS.keys():
        sys.exit(f"expected one of {sorted(installed & PLATFORMS.keys())}, found {name}")
    driver = intel_from_pypi(cache / name / "python") if name == "intel" else (VENDORS / f"{name}.icd").read_text()
    (folders["OCL_ICD_VENDORS"] / "one.icd").write_text(f"{driver}\n")
    return os.environ | {key: str(folder) for key, folder in folders.items()} | {"RUSTICL_ENABLE": "llvmpipe"}


def intel_from_pypi(folder):
    """The driver that the wheel's extra `cpu` brings."""
    driver = folder / "lib/libintelocl.so"
    if not driver.exists():
        wanted = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]["optional-dependencies"]["cpu"]
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", *wanted], check=True)
    return driver


def device_of(name, options, environment):
    """The first device that the programs find; all have to be the implementation's: a loader may look elsewhere."""
    devices = json.loads(output_of(options.programs / "nearfield", "devices", "--json", environment=environment))
    if {device["platform"] for device in devices} != {PLATFORMS[name]}:
        sys.exit(f"{name}: expected devices of {PLATFORMS[name]} alone, found {devices}")
    return devices[0]


def run_share(program, names, environment, end_s, folder, number):
    """The results of some tests by name: ok, failed, skipped, died, or ended with the time at end_s, after which others are not reached."""
    results, left = {}, names
    while left and time.monotonic() < end_s:
        flags, log = folder / f"{program.name}.{number}.flags", folder / f"{program.name}.{number}.log"
        flags.write_text("--gtest_filter=" + ":".join(left) + "\n")
        written = log.stat().st_size if log.exists() else 0
        with log.open("a") as output:
            try:
                subprocess.run([program, f"--gtest_flagfile={flags}"], env=environment, stdout=output, stderr=subprocess.STDOUT,
                               check=False, timeout=max(1, end_s - time.monotonic()))
                stopped = False
            except subprocess.TimeoutExpired:
                stopped = True
        text = log.read_bytes()[written:].decode(errors="replace")
        for word, name in re.findall(r"^\[ *(OK|FAILED|SKIPPED) *\] (\S+?)(?:,.*)? \(\d+ ms\)$", text, re.M):
            results[name] = {"OK": "ok", "FAILED": "failed", "SKIPPED": "skipped"}[word]
        begun = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
        if begun and begun[-1] not in results:
            results[begun[-1]] = "ended" if stopped else "died"
        left = [name for name in left if name not in results]
        if not stopped and not begun:
            sys.exit(f"{program}: ended before its first test: {log}")
    return results


def run_suite(suite, options, environment, folder):
    program = options.programs / f"{suite}_tests"
    names, begun_s = [name for name in Program(program).tests() if "DISABLED_" not in name], time.monotonic()
    for old in folder.glob(f"{program.name}.*"):
        old.unlink()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        shares = [pool.submit(run_share, program, names[number::options.jobs], environment, begun_s + options.limit, folder, number)
                  for number in range(options.jobs)]
        results = {name: result for share in shares for name, result in share.result().items()}
    told = {"right": sum(result == "ok" for result in results.values()), "tests": len(names),
            "failed": sorted(name for name, result in results.items() if result in ("failed", "died")),
            "skipped": sum(result == "skipped" for result in results.values()),
            "ended_in": sorted(name for name, result in results.items() if result == "ended"),
            "not_reached": sum(results.get(name, "ended") == "ended" for name in names),
            "commit": options.commit, "seconds": round(time.monotonic() - begun_s)}
    print(f"  {suite}: {told['right']} of {told['tests']} right, {told['skipped']} skipped, {told['not_reached']} not reached {told['ended_in']}, "
          f"{told['seconds']} s; failed: {' '.join(told['failed']) or 'none'}", flush=True)
    return told


def output_of(*words, environment):
    return subprocess.run([str(word) for word in words], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def frame_times_us(options, environment):
    """Median time of a frame from bits to images by the number of frequencies, as the settings come."""
    times = {}
    for n in FREQUENCIES:
        report = json.loads(output_of(options.programs / "nearfield-bench", "frames", "-q", "--quick", "--no-thesis", "--no-sweeps", "--n", n,
                                      "--json", environment=environment))
        times[str(n)] = next(run["launch_wall_s"]["median"] for run in report["runs"] if run["frequencies"] == n) * 1e6
    return times


def difference(options, environment, folder):
    """The largest relative L2 of the demo's images from those of FOLDER/images.h5."""
    capture, reference, images = options.folder / "capture.h5", options.folder / "images.h5", folder / "images.h5"
    if not capture.exists():
        output_of(options.programs / "nearfield", "simulate", "-q", ROOT / "config/scenes/plate.yaml", "-o", capture, environment=environment)
    images.unlink(missing_ok=True)
    output_of(options.programs / "nearfield", "replay", "-q", capture, "-o", images, environment=environment)
    if not reference.exists():
        shutil.copy(images, reference)
    compared = json.loads(output_of(options.programs / "nearfield", "compare", reference, images, "--json", environment=environment))
    return compared["overall"]["metrics"]["relative_l2"]["worst"]


def measure(options):
    environments = {name: environment_of(name, options.folder.absolute() / "cache") for name in options.names or ["pocl", "intel"]}
    options.commit = options.commit or output_of("git", "-C", ROOT, "describe", "--always", "--dirty", environment=None).strip()
    reports = {}
    for name, environment in environments.items():
        device = device_of(name, options, environment)
        print(f"== {name}: {device['name']}, {device['version']}, driver {device['driver']}", flush=True)
        folder = options.folder / "cache" / name
        file = options.folder / f"{name}.json"
        report = json.loads(file.read_text()) if file.exists() else {"suites": {}, "relative_l2": math.nan, "frame_us": {}, "frame_us_pocl": None}
        report |= {"name": name, "device": device, "command": options.command, "processors": os.cpu_count()}
        if options.rounds:
            report["frame_us"] = {}
        reports[name] = report
        for suite in options.suites:
            report["suites"][suite] = run_suite(suite, options, environment, folder)
            write(options, report)
        report["relative_l2"] = difference(options, environment, folder)
    for _ in range(options.rounds):  # in turn, as other work on the machine changes
        for name, environment in environments.items():
            for n, time_us in frame_times_us(options, environment).items():
                reports[name]["frame_us"].setdefault(n, []).append(round(time_us, 1))
    for name, report in reports.items():
        if options.rounds:
            report["frame_us_pocl"] = reports.get("pocl", {}).get("frame_us")
        write(options, report)
        print(f"== {name}: images differ by {report['relative_l2']:.1e}, frames take {report['frame_us']} us")
    return any(suite["failed"] for report in reports.values() for suite in report["suites"].values())


def write(options, report):
    (options.folder / f"{report['name']}.json").write_text(json.dumps(report, indent=1) + "\n")


def page_of(reports):
    """The table in Markdown."""
    lines = ["# OpenCL implementations", "",
             "The tests that hold a kernel against its reference in double precision, on each OpenCL implementation that could be had, made by the command",
             "beside it and `tests/opencl/implementations.py --page`. `images`: the largest relative L2 of the demo's images from those of PoCL 3.1. `frame`:",
             "from bits to images as the settings come, median, at one and five frequencies; in brackets that of PoCL in the same run, in turn.", "",
             "| implementation | " + " | ".join(SUITES) + " | images | frame, us | command |", "|---|" + "---|" * (len(SUITES) + 3)]
    for report in reports:
        device = report["device"]
        cells = []
        for name in SUITES:
            suite = report["suites"].get(name)
            cells.append("-" if suite is None else f"{suite['right']} of {suite['tests']}" +
                         (f", {suite['skipped']} left out" if suite["skipped"] else "") +
                         (f", {suite['not_reached']} not reached in {suite['seconds']} s" if suite["not_reached"] else ""))
        times = []
        for n, found in report["frame_us"].items():
            others = (report["frame_us_pocl"] or {}).get(n) if report["name"] != "pocl" else None
            times.append(f"{statistics.median(found):.0f}" + (f" ({statistics.median(others):.0f})" if others else ""))
        cells += ["-" if math.isnan(report["relative_l2"]) else f"{report['relative_l2']:.1e}", ", ".join(times) or "-", f"`{report['command']}`"]
        commits = ", ".join(sorted({suite["commit"] for suite in report["suites"].values()}))
        lines.append(f"| {report['name']}, driver {device['driver']}, {report['processors']} processors, {commits} | " + " | ".join(cells) + " |")
    lines += ["", "## What failed", ""]
    for report in reports:
        failed = [test for suite in report["suites"].values() for test in suite["failed"]]
        lines.append(f"- {report['name']} {report['device']['driver']}: " + (", ".join(f"`{test}`" for test in failed) or "nothing") + ".")
    return "\n".join(lines) + "\n\n"


def main():
    if sys.argv[1:2] == ["--page"]:
        kept = PAGE.read_text().partition(NOTES)
        PAGE.write_text(page_of([json.loads(pathlib.Path(name).read_text()) for name in sys.argv[2:]]) + "".join(kept[1:]))
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--limit", type=float, default=3600, help="seconds of one suite on one implementation")
    parser.add_argument("--suites", metavar="LIST", type=lambda text: text.split(",") if text else [], default=SUITES,
                        help="of those tests; FOLDER keeps what it has of the others")
    parser.add_argument("--rounds", type=int, default=2, help="of frame times")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--commit", help="that the programs were built from, where that is not this tree's")
    parser.add_argument("--command", required=True, help="what the page says of how it was made")
    options = parser.parse_intermixed_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    return measure(options)


if __name__ == "__main__":
    sys.exit(main())

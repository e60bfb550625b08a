#!/usr/bin/env python3
"""Runs small tests of kernels under Oclgrind, an OpenCL device that interprets each instruction.

Oclgrind reports accesses outside a buffer or a local array, data races between work items, divergent barriers and, where
`Check.uninitialized` is set, values that nobody wrote. The script fails if Oclgrind reports anything, if a test fails, if a
filter matches no test, or if a kernel of kernels/ neither runs nor stands in NOT_RUN.

    under_oclgrind.py [FOLDER]     FOLDER has the test programs; build/release/bin of this tree where it is not given
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300  # of one check, on a busy machine


@dataclass(frozen=True)
class Check:
    program: str
    tests: str  # a filter of GoogleTest
    optimized: bool = True
    uninitialized: bool = False


# Oclgrind interprets: a test is chosen for its few items. Uninitialised values are looked for in three checks alone. Oclgrind 21.10 forgets
# that the host wrote a part of a buffer when the host writes another part, so that whatever reads an arena filled part by part is
# reported without a fault; and it cannot follow LLVM's `freeze`, which appears as soon as a kernel is optimised.
CHECKS = [
    Check("frontend", "BitRing.StartsSilentAndTellsGaps", optimized=False, uninitialized=True),
    Check("frontend", "FrontEndOfSamples.NotANumberStaysInItsChannel"),
    Check("frontend", "Popcount.LanesWithoutAChannelDoNotClip"),
    Check("frontend", "Popcount.FftAgreesWithTheReferenceAtEveryBin"),
    Check("frontend", "WalshFourier.AnOffsetLeavesNothing"),
    Check("frontend", "Streams/DotProductOfStream.EveryKernelAgreesWithTheReference/7"),
    Check("frontend", "Streams/SlidingDotOfStream.AgreesWithTheReference/7"),
    Check("imaging", "Pnah/EverySizeAndCount.ImagesAgreeWithReference/8x8_n1"),
    Check("imaging", "FusedPnah/EveryCut.ImagesAgreeWithReference/64_items_of_a_line_plpbp"),
    Check("imaging", "Sonah/EveryShape.ImagesAgreeWithReference/1"),
    Check("imaging", "Prior.MaskedMicrophonesAreTheLayers"),
    Check("imaging", "Operators.SilenceIsImagedAsSilence"),
    Check("imaging", "OperatorsBehind.ImagesOfTheDeviceAreTheReferences"),
    Check("imaging", "OperatorsParities.OfFewMicrophonesAgreeWithTheDenseReference"),
    Check("imaging", "OperatorsParities.OfOnePlaneAgreeWithTheDenseReference"),
    Check("imaging", "WaveSearch/WavesInEveryShape.KernelsAgreeWithReference/0"),
    Check("imaging", "OperatorPoints/OperatorPointsInEveryShape.KernelsAgreeWithReference/smallest"),
    Check("processors", "RowPowerTest.*", optimized=False, uninitialized=True),
    Check("processors", "SpectrumTest.AHannWindowShowsItUpTo1Point42DecibelsTooLow"),
    Check("processors", "LevelsTest.AnOffsetIsNoSound"),
    Check("processors", "All/BeamformSectorKinds.OfASourceInTheCentreAreTheMapThere/PlaneII"),
    Check("processors", "Beamform.FewerThanFourMicrophonesHaveNoMap", optimized=False, uninitialized=True),
    Check("processors", "BeamformPath.HasTheMapOfEachWindowOfABatch"),
    Check("processors", "BeamformHistoryMaps.ForgetTheStreamBefore"),
    Check("processors", "All/BeamformHistory.WithoutCrossSpectraIsAsFromThem/CleanScWithoutOwnNoise"),
    Check("processors", "BeamformMeasured.OfTheWholeArrayAreCutToASubset"),
    Check("processors", "BeamformFocus.IsTrustedByTheMicrophonesThatAreUsed"),
    Check("processors", "Listen.ClippingIsFlaggedOfUsedMicrophonesAlone"),
    Check("processors", "All/SrpLagKinds.DeviceAndReferenceAgree/InGroups"),
]

# Oclgrind does not know llvm.fshl, which Clang makes of the shifts in the sliding popcount. Without optimisation it is not made, and
# the smallest test does not end within 100 s.
_SHIFTS = "uses llvm.fshl, and takes too long without optimisation"
_SLOW = "no test of it is known to end within the time of this step"
_NOT_COVERED = "no test of this list reaches it yet"
NOT_RUN = {
    "advance": _SHIFTS,
    "block_sums": _SHIFTS,
    "slide_vectors": "is chosen on processors alone; Oclgrind says that it is a GPU",
    "frame": "uses llvm.experimental.noalias.scope.decl when optimised; not tried otherwise",
    "srp_fd": _SLOW,
    "srp_floor": _SLOW,
    "srp_maximum": _SLOW,
    "srp_peel": _SLOW,
    "beamform_publish": _NOT_COVERED,
    "extend_columns": _NOT_COVERED,
    "extend_rows": _NOT_COVERED,
    "history_peaks": _NOT_COVERED,
    "history_place": _NOT_COVERED,
}

# `restrict` becomes nothing: Clang 14 makes llvm.experimental.noalias.scope.decl of it, which Oclgrind 21.10 does not know.
# Inlining makes the same of functions that return structures, hence -fno-inline.
BUILD_OPTIONS = "-Drestrict= -fno-inline"
# Oclgrind's default is 32 KiB; GPUs have 48 KiB, for which the kernels' work-groups are cut.
LOCAL_MEMORY_BYTES = 48 << 10
IN_KERNEL = re.compile(r"Instructions executed for kernel '(\w+)'")
REPORT = re.compile(r"^\tKernel: |OCLGRIND|^Oclgrind: ", re.MULTILINE)
DEFINITION = re.compile(r"__kernel\b[^;{]*?\bvoid\s+(\w+)\s*\(")


def run(folder, check, scratch):
    """The faults of one check, as texts, and the kernels that ran."""
    results = scratch / "results.json"
    command = ["oclgrind", "--num-threads", "1", "--local-mem-size", str(LOCAL_MEMORY_BYTES), "--data-races", "--inst-counts"]
    options = BUILD_OPTIONS
    if check.uninitialized:
        command.append("--uninitialized")
    if not check.optimized:
        options += " -cl-opt-disable"
    command += ["--build-options", options, folder / f"{check.program}_tests", f"--gtest_filter={check.tests}",
                f"--gtest_output=json:{results}", "--gtest_brief=1"]
    environment = dict(os.environ, NEARFIELD_CACHE_DIR="")  # no program and no choice of an earlier run is taken
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return [f"did not end within {LIMIT_S} s"], set()
    kernels = set(IN_KERNEL.findall(done.stdout))
    faults = []
    # The exit code says nothing. Oclgrind's list of calls in progress ends with the main thread, before the static devices of some
    # tests do, whose release then writes to freed memory; the results are in their file by then.
    if not results.exists():
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        return [f"the program ended with {done.returncode} before its tests did:\n{tail}"], kernels
    outcome = json.loads(results.read_text())
    if outcome["tests"] == 0:
        faults.append("the filter matches no test")
    if outcome["failures"] or outcome["errors"]:
        faults.append(f"{outcome['failures']} of {outcome['tests']} tests failed:\n{failures(outcome)}")
    # From the standard error, not by --log: short reports never leave that file's buffer where the program ends as above.
    if REPORT.search(done.stderr):
        faults.append("Oclgrind reports:\n" + "\n".join(done.stderr.strip().splitlines()[:40]))
    if not kernels and outcome["tests"]:
        faults.append("no kernel ran")
    return faults, kernels


def failures(outcome):
    return "\n".join(f"{suite['name']}.{test['name']}: {failure['failure']}" for suite in outcome["testsuites"]
                     for test in suite["testsuite"] for failure in test.get("failures", []))


def defined_kernels():
    return {name for file in (ROOT / "kernels").rglob("*.cl") for name in DEFINITION.findall(file.read_text())}


def main():
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build/release/bin"
    faulty = 0
    ran = set()

    def one(numbered):
        number, check = numbered
        begun = time.monotonic()
        scratch = Path(scratch_root) / str(number)
        scratch.mkdir()
        return check, *run(folder, check, scratch), time.monotonic() - begun

    with tempfile.TemporaryDirectory() as scratch_root, ThreadPoolExecutor(os.cpu_count()) as pool:
        for check, faults, kernels, seconds in pool.map(one, enumerate(CHECKS)):
            ran |= kernels
            print(f"{check.program}_tests {check.tests}: {seconds:.1f} s, {', '.join(sorted(kernels & defined_kernels()))}", flush=True)
            for fault in faults:
                faulty += 1
                print(f"FAULT: {check.program}_tests {check.tests}: {fault}", flush=True)
    defined = defined_kernels()
    for kernel in sorted(defined - ran - set(NOT_RUN)):
        faulty += 1
        print(f"FAULT: {kernel} neither ran nor stands in NOT_RUN")
    for kernel in sorted(set(NOT_RUN) & ran | set(NOT_RUN) - defined):
        faulty += 1
        print(f"FAULT: {kernel} stands in NOT_RUN, but it {'ran' if kernel in ran else 'is no kernel'}")
    print(f"{len(defined & ran)} of {len(defined)} kernels ran under Oclgrind, {faulty} faults")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())

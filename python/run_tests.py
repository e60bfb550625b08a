#!/usr/bin/python3
"""Tests of the Python package as ctest runs them.

run_tests.py wheel BUILD_DIR     makes the wheel from this folder and the libraries of a build, and looks at it
run_tests.py newest BUILD_DIR    installs it beside what tests/requirements.txt pins, and runs mypy and all tests
run_tests.py debian BUILD_DIR    with Debian's Python and packages the tests marked `versions`, without MDF4 and pyuff, which Debian lacks,
                                 and installed as `pip install ./python` does, with the libraries of the build
run_tests.py site BUILD_DIR [OPTION...]    tests/site_soak.py with Debian's: many arrays at a broker, for minutes

build/python is the environment of tests/requirements.txt, which `./dev test` makes.
"""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "packaging"))
import package  # noqa: E402
ENVIRONMENT = HERE.parent / "build/python"


def run(*words, **variables):
    done = subprocess.run([str(word) for word in words], check=False, cwd=HERE,
                          env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", **{k: str(v) for k, v in variables.items()}})
    if done.returncode != 0:
        sys.exit(done.returncode)


def use_common_modes(wheel):
    """Gives what is packed the modes that a checkout with the usual umask, 022, has: the wheel is the same whatever the umask."""
    with zipfile.ZipFile(wheel) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in members:
            kind_and_mode = info.external_attr >> 16
            mode = 0o755 if kind_and_mode & 0o100 else 0o644
            info.external_attr = (kind_and_mode & ~0o777 | mode) << 16
            archive.writestr(info, data)


def libraries_of(build):
    return os.pathsep.join(str(build / "src" / name) for name in ("api", "ring"))


def make_wheel(build, folder):
    for old in folder.glob("*.whl"):
        old.unlink()
    run(ENVIRONMENT / "bin/pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, HERE,
        NEARFIELD_LIBRARIES=libraries_of(build), SOURCE_DATE_EPOCH=package.tree(build)[1])
    wheel, = folder.glob("*.whl")
    use_common_modes(wheel)
    if not re.fullmatch(r"nearfield-[0-9.]+-py3-none-linux_\w+\.whl", wheel.name):
        sys.exit(f"expected one wheel for all Pythons, found {wheel.name}")
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {"nearfield/py.typed", "nearfield/lib/libnearfield.so.0", "nearfield/lib/libnearfield_ring.so.3",
              "nearfield/include/nearfield_ring.h", "nearfield/include/nearfield/nearfield.h"}
    if wanted - names:
        sys.exit(f"{wheel.name}: expected {', '.join(sorted(wanted - names))}")


def main():
    what, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if not (ENVIRONMENT / "bin/pip").exists():
        sys.exit(f"{ENVIRONMENT}: expected the environment that ./dev test makes of {HERE / 'tests/requirements.txt'}")
    folder = build / "python"
    if what == "wheel":
        make_wheel(build, folder)
        return
    installed = folder / what
    wheel, = folder.glob("*.whl")
    isolation = ["--no-build-isolation"] if what == "debian" else []  # what builds the package is in the environment: no network
    run(ENVIRONMENT / "bin/pip", "install", "-q", "--no-deps", "--upgrade", *isolation, "--target", installed, HERE if what == "debian" else wheel,
        NEARFIELD_LIBRARIES=libraries_of(build))
    if what == "site":
        run("/usr/bin/python3", HERE / "tests/site_soak.py", *sys.argv[3:], PYTHONPATH=installed,
            NEARFIELD_PROGRAM=build / "bin/nearfield", MPLBACKEND="Agg")
        return
    python = ENVIRONMENT / "bin/python" if what == "newest" else "/usr/bin/python3"
    left_out = [] if what == "newest" else ["-m", "versions and not once", *(f"--ignore={HERE}/tests/test_{name}.py" for name in ("mdf4", "exports_pyuff"))]
    if what == "newest":
        run(ENVIRONMENT / "bin/mypy", "--cache-dir", folder / "mypy")
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *left_out, HERE / "tests", PYTHONPATH=installed,
        NEARFIELD_PROGRAM=build / "bin/nearfield", MPLBACKEND="Agg")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The wheel with everything in clean Debians, 12 and 13, that have Python and nothing else:  wheel_test.py WHEEL PIP CACHE

As root; ./dev wheel --test calls it. PIP fetches what the wheel and its extra `cpu` need into CACHE, which keeps the clean systems, too. From
there on there is no network. Prints what pip takes, how long the demo takes to a second of moving pictures, and what a simulation, a replay with pictures,
the demo and the package's tests take.
"""
import json
import pathlib
import re
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import package_test  # noqa: E402
from package_test import expect, run  # noqa: E402

SUITES = {"bookworm": "3.11", "trixie": "3.13"}
FORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux_2_12_x86_64", "manylinux1_x86_64", "manylinux_2_35_x86_64")
TESTED = ("engine", "files", "live", "values")  # of the package's tests, those that need nothing but its extras
INSTALL = """cd /tmp
python3 -m venv venv
venv/bin/pip -q install --no-index --find-links wheels 'nearfield[cpu]'
"""
PICTURE = """export PATH=/tmp/venv/bin:$PATH
nearfield demo --terminal --duration 1 2>&1
"""
USES = f"""export PATH=/tmp/venv/bin:$PATH
cd /tmp
{package_test.TRY}nearfield doctor --json >doctor.json || true
cat doctor.json
venv/bin/pip -q install --no-index --find-links wheels 'nearfield[cpu,plot,zmq]' pytest
cd tree/python
MPLBACKEND=Agg python -m pytest -q -p no:cacheprovider -m 'versions and not once' {" ".join(f"tests/test_{name}.py" for name in TESTED)}
"""


def as_user(root, text):
    """What shell lines print that an ordinary user of the system types: what pip brings is nobody's of this machine."""
    (root.folder / "tmp/user.sh").write_text(text)
    return root.script("su nobody -s /bin/sh -c 'HOME=/tmp/home sh -eu /tmp/user.sh'\n")


def needed(wheel, pip, python, folder):
    """A folder with the wheels that it needs with one version of Python."""
    folder.mkdir(parents=True, exist_ok=True)
    for older in folder.glob("nearfield-*.whl"):  # which pip would keep
        older.unlink()
    run(pip, "download", "-q", "--only-binary=:all:", "--python-version", python, *(f"--platform={form}" for form in FORMS),
        "-d", folder, f"{wheel}[cpu,plot,zmq]", "pytest")
    return folder


def check(suite, python, wheel, pip, cache):
    wheels = needed(wheel, pip, python, cache / f"wheels-{python}")
    root = package_test.Root(package_test.make_base(cache, suite), cache)
    try:
        root.run("apt-get", "-q", "update")
        root.run(*package_test.INSTALL, "python3-venv")
        shutil.copytree(wheels, root.folder / "tmp/wheels")
        shutil.copytree(package_test.TESTS, root.folder / "tmp/tests")
        for part in ("python/tests", "python/pyproject.toml", "src"):  # tests compare the package with the programs' sources
            copy = shutil.copytree if (package_test.SOURCE / part).is_dir() else shutil.copy
            (root.folder / "tmp/tree" / part).parent.mkdir(parents=True, exist_ok=True)
            copy(package_test.SOURCE / part, root.folder / "tmp/tree" / part)
        begun_s = time.monotonic()
        as_user(root, INSTALL)
        installed_s = time.monotonic()
        said = as_user(root, PICTURE)
        expect("its magnitude" in said, f"{suite}: expected a picture, found\n{said}")
        shown_s = time.monotonic()
        said = as_user(root, USES)
        expect("Intel(R) OpenCL" in said, f"{suite}: expected a device, found\n{said}")
        states = {check["name"]: check for check in json.loads((root.folder / "tmp/doctor.json").read_text())["checks"]}
        expect(states["drivers"]["state"] == "ok" == states["device"]["state"], f"{suite}: expected doctor to find the driver, found {states}")
        tests = re.findall(r"^\d+ passed.*$", said, re.MULTILINE)
        expect(tests, f"{suite}: expected the package's tests to pass, found\n{said}")
        print(f"  {suite}, Python {python}: installed in {installed_s - begun_s:.0f} s without a network, a second of moving pictures {shown_s - installed_s:.0f} s "
              f"later; simulated, imaged, drawn and tested in {time.monotonic() - shown_s:.0f} s: {tests[-1]}", flush=True)
    finally:
        root.remove()


def main():
    wheel, pip, cache = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    package_test.enter_namespaces()
    cache.mkdir(parents=True, exist_ok=True)
    for suite, python in SUITES.items():
        check(suite, python, wheel, pip, cache)


if __name__ == "__main__":
    main()

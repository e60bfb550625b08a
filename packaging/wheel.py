#!/usr/bin/env python3
"""Makes the wheel that is everything: the Python package, both libraries, the programs, and what they link.

wheel.py PLAIN_WHEEL BUILD OUTPUT

PLAIN_WHEEL holds the package and its libraries (python/run_tests.py wheel), BUILD/bin the programs. auditwheel copies the libraries that
they link beside them, and names the oldest C library that the wheel runs on. What lies in OUTPUT under the same name is replaced.
"""
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

PROGRAMS = ("nearfield", "nearfieldd", "nearfield-bench")
LEFT_OUT = ("libX11.so.6", "libXext.so.6", "libXrender.so.1")
SYSTEM = f"{platform.machine()}-linux-gnu"
# Entry points beside the package: importing it, with numpy and h5py, would take longer than most commands.
ENTRIES = "[console_scripts]\n" + "".join(f"{name} = _nearfield_programs:{name.replace('-', '_')}\n" for name in PROGRAMS)
LAUNCHER = f"""import functools
import pathlib
import runpy


def _start(name):
    runpy.run_path(str(pathlib.Path(__file__).with_name("nearfield") / "_programs.py"))["main"](name)


{", ".join(name.replace("-", "_") for name in PROGRAMS)} = (functools.partial(_start, name) for name in {PROGRAMS})
"""
FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")
FONTS_CONFIGURATION = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir prefix="relative">.</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""


def run(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def record(tree):
    """What RECORD says: each file's path, SHA-256 and size."""
    lines = []
    for path in sorted(path for path in tree.rglob("*") if path.is_file() and path.name != "RECORD"):
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"{path.relative_to(tree)},sha256={digest},{path.stat().st_size}\n")
    info, = tree.glob("*.dist-info")
    return "".join(lines) + f"{info.name}/RECORD,,\n"


def unpack(wheel, tree):
    """Extracts a wheel; its scripts' and programs' modes, which zipfile leaves out, as well."""
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            pathlib.Path(archive.extract(info, tree)).chmod(info.external_attr >> 16 & 0o777 or 0o644)


def pack(tree, wheel):
    """Makes a wheel of a folder, the same bytes of the same files."""
    info, = tree.glob("*.dist-info")
    (info / "RECORD").write_text(record(tree))
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in sorted(path for path in tree.rglob("*") if path.is_file()):
            member = zipfile.ZipInfo(str(path.relative_to(tree)))
            member.external_attr = (0o100755 if path.stat().st_mode & 0o100 else 0o100644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, path.read_bytes())


def system_name(library):
    """Name of a library before auditwheel put a hash into it."""
    return re.sub(r"-[0-9a-f]{8}(?=[.-])", "", library)


def add_left_out(libraries, patchelf):
    """Adds the libraries that auditwheel takes for granted on any desktop: a server has no X11, which cairo links."""
    own = {system_name(path.name).split(".so")[0]: path.name for path in libraries.iterdir()}
    for name in LEFT_OUT:
        path = libraries / name
        shutil.copy2(pathlib.Path("/usr/lib") / SYSTEM / name, path)
        run(patchelf, "--set-rpath", "$ORIGIN", path)
        for needed in run(patchelf, "--print-needed", path).split():
            if needed.split(".so")[0] in own:
                run(patchelf, "--replace-needed", needed, own[needed.split(".so")[0]], path)


def add_fonts(folder):
    """Adds the pictures' fonts, for systems that have none."""
    folder.mkdir()
    for name in FONTS:
        shutil.copy2(pathlib.Path("/usr/share/fonts/truetype/dejavu") / name, folder)
    (folder / "fonts.conf").write_text(FONTS_CONFIGURATION)


def add_licenses(libraries, folder):
    """Adds the licence of each of Debian's packages of which the wheel holds libraries and fonts, and which those are."""
    packages = {"fonts-dejavu-core": list(FONTS)}
    for path in libraries.iterdir():
        package = run("dpkg", "-S", f"*/{SYSTEM}/{system_name(path.name)}").split(":")[0]
        packages.setdefault(package, []).append(path.name)
    folder.mkdir(exist_ok=True)
    for package, names in packages.items():
        version = run("dpkg-query", "-W", "-f=${Version}", package)
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text()
        (folder / f"{package}.txt").write_text(f"Debian's package {package} {version}: {', '.join(sorted(names))}\n\n{text}")


def main():
    plain, build, output = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    tools = pathlib.Path(sys.executable).parent
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"  # auditwheel looks for patchelf there
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        unpack(plain, folder / "programs")
        programs = folder / "programs/nearfield/bin"
        programs.mkdir()
        for program in PROGRAMS:
            run("strip", "--strip-unneeded", "-o", programs / program, build / "bin" / program)
        info, = (folder / "programs").glob("*.dist-info")
        (info / "entry_points.txt").write_text(ENTRIES)
        (folder / "programs/_nearfield_programs.py").write_text(LAUNCHER)
        add_fonts(folder / "programs/nearfield/fonts")
        pack(folder / "programs", folder / plain.name)
        run("auditwheel", "repair", "--plat", "auto", "-w", folder / "repaired", folder / plain.name)
        wheel, = (folder / "repaired").glob("*.whl")
        unpack(wheel, folder / "full")
        add_left_out(folder / "full/nearfield.libs", tools / "patchelf")
        add_licenses(folder / "full/nearfield.libs", folder / "full" / info.name / "licenses")
        pack(folder / "full", output / wheel.name)
        print(f"{output / wheel.name}: {(output / wheel.name).stat().st_size / 1e6:.1f} MB")


main()

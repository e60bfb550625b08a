#!/usr/bin/env python3
"""Adds to each package what Debian wants of one:  finish.py FOLDER VERSION, run by cpack (packaging/finish.cmake)

FOLDER has a folder for each package. SOURCE_DATE_EPOCH is the time of whatever is made here.
"""
import gzip
import os
import pathlib
import shutil
import subprocess
import sys

import changelog
import sbom

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
# What a program holds of others' files, beside what it links: libjs-dygraphs, in nearfield and nearfieldd.
EMBEDDED = {"nearfield": ("libjs-dygraphs",)}
# Programs that keep their symbol table, by which addr2line names all functions in a report of a crash (docs/use/operations.md).
WITH_NAMES = {"nearfieldd"}


def strip(root):
    """Removes from programs and libraries what they do not need when they run."""
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        what = "--strip-debug" if path.name in WITH_NAMES else "--strip-unneeded"
        subprocess.run(["strip", what, "--remove-section=.comment", path], check=True)


def compress(text, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text, 9, mtime=0))


def compress_pages(root):
    for page in sorted((root / "usr/share/man").glob("man*/*.[1-9]")):
        compress(page.read_bytes(), page.with_name(page.name + ".gz"))
        page.unlink()


def move(source, target):
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, target)


def put(name, target):
    """Copies a file of packaging/debian, where there is one."""
    if (HERE / "debian" / name).exists():
        target.parent.mkdir(parents=True)
        shutil.copyfile(HERE / "debian" / name, target)


def succeeds(*words):
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def put_overrides(name, target):
    """Copies a package's lintian-overrides without those of tags that this system's lintian does not know, which it takes for an error."""
    source = HERE / "debian" / f"{name}.lintian-overrides"
    if source.exists():
        lines = [line for line in source.read_text().splitlines()
                 if line.startswith("#") or succeeds("lintian-explain-tags", line.split()[1])]
        target.parent.mkdir(parents=True)
        target.write_text("\n".join(lines) + "\n")


def link_to_debians_own(root, site):
    """What the site has of Debian's packages becomes links to them, as Debian wants it; the package depends on both."""
    shared = root / "usr/share/javascript"

    def link(file, target):
        file.unlink()
        file.symlink_to(os.path.relpath(shared / target, file.parent))  # relative, as it stays below /usr: Debian's policy, 10.5

    for file in sorted(site.glob("_static/*.js")):
        if pathlib.Path("/usr/share/javascript/sphinxdoc/1.0", file.name).exists():
            link(file, f"sphinxdoc/1.0/{file.name}")
    normalize = site / "_static/styles/normalize.css"
    if normalize.exists():
        link(normalize, "normalize.css/normalize.css")


def finish(root, name, version):
    strip(root)
    put_overrides(name, root / "usr/share/lintian/overrides" / name)
    if name == "nearfield":
        link_to_debians_own(root, root / "usr/share/doc/nearfield/html")
        if (root / "usr/share/doc/nearfield/html/index.html").exists():
            put("nearfield.doc-base", root / "usr/share/doc-base/nearfield")
        if succeeds("dpkg-query", "-S", "/lib/systemd/systemd"):  # where this system's own units are: from Debian 13 on below /usr
            move(root / "usr/lib/systemd", root / "lib/systemd")
            (root / "usr/lib").rmdir()  # it had nothing else
        (root / "etc/nearfield").mkdir(parents=True)
        shutil.copyfile(HERE / "nearfield.yaml", root / "etc/nearfield/nearfield.yaml")
    compress_pages(root)
    documents = root / "usr/share/doc" / name
    compress(changelog.of_debian((SOURCE / "CHANGELOG.md").read_text(), "nearfield", version, EPOCH).encode(),
             documents / "changelog.gz")
    shutil.copyfile(HERE / "debian/copyright", documents / "copyright")
    (documents / f"{name}.spdx.json").write_text(sbom.document(root, name, version, EPOCH, EMBEDDED.get(name, ())))
    for path in [root, *root.rglob("*")]:  # whatever umask the machine has
        if not path.is_symlink():
            is_program = path.is_dir() or (path.parent.name == "bin" and path.is_file())
            path.chmod(0o755 if is_program else 0o644)


def main():
    folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    roots = sorted(path for path in folder.iterdir() if path.is_dir())
    if not roots:
        sys.exit(f"{folder}: expected a folder for each package, found none")
    for root in roots:
        finish(root, root.name, version)


if __name__ == "__main__":
    main()

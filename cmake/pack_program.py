#!/usr/bin/env python3
"""Packs a folder with a __main__.py into one program for Debian's Python:  pack_program.py FOLDER PROGRAM

It is what `python3 -m zipapp` makes, but for the times of the files, which would make each checkout's program another one.
"""
import pathlib
import sys
import zipfile

folder, program = map(pathlib.Path, sys.argv[1:])
with program.open("wb") as file:
    file.write(b"#!/usr/bin/python3\n")
    with zipfile.ZipFile(file, "w") as archive:
        for source in sorted(folder.rglob("*.py")):
            entry = zipfile.ZipInfo(source.relative_to(folder).as_posix())  # of 1980, the archive's oldest time
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, source.read_bytes())
program.chmod(0o755)

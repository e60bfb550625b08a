#!/usr/bin/python3
"""Whether two folders hold the same packages and wheels, byte for byte:  same_files.py ONE OTHER

Prints each file's digest, or, where the two differ, which of the files that are packed into it. The exit code is 1 then.
"""
import hashlib
import io
import pathlib
import subprocess
import sys
import tarfile
import zipfile


def digest(data):
    return hashlib.sha256(data).hexdigest()


def members_of_tar(data, prefix):
    """{name: all that tar stores of it}"""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {f"{prefix}{member.name}": (member.mode, member.mtime, member.uname, member.linkname,
                                           digest(archive.extractfile(member).read()) if member.isfile() else "")
                for member in archive}


def members(path):
    """{name: what is stored of it}, in the order of the package or wheel."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {info.filename: (info.external_attr, info.date_time, info.compress_type, digest(archive.read(info)))
                    for info in archive.infolist()}
    parts = [subprocess.run(["dpkg-deb", option, path], check=True, stdout=subprocess.PIPE).stdout
             for option in ("--ctrl-tarfile", "--fsys-tarfile")]
    return members_of_tar(parts[0], "DEBIAN/") | members_of_tar(parts[1], "")


def differences(one, other):
    """Lines that say how two files of the same name differ; none where they are the same."""
    if one.read_bytes() == other.read_bytes():
        return []
    first, second = members(one), members(other)
    lines = [f"{name}: {first.get(name, 'missing')} and {second.get(name, 'missing')}"
             for name in sorted(first.keys() | second.keys()) if first.get(name) != second.get(name)]
    if not lines and list(first) != list(second):
        lines = ["the same members in another order"]
    return lines or ["the same members, packed in another way"]


def main():
    folders = [pathlib.Path(word) for word in sys.argv[1:3]]
    names = [{path.name for path in folder.iterdir() if path.suffix in (".deb", ".whl")} for folder in folders]
    if names[0] != names[1] or not names[0]:
        sys.exit(f"expected the same packages in both folders, found {sorted(names[0])} and {sorted(names[1])}")
    differ = False
    for name in sorted(names[0]):
        lines = differences(folders[0] / name, folders[1] / name)
        print(f"{digest((folders[0] / name).read_bytes())}  {name}{': NOT THE SAME' if lines else ''}")
        for line in lines:
            print(f"  {line}")
        differ = differ or bool(lines)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()

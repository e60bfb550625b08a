#!/usr/bin/python3
"""Runs a command of ./dev on a commit in a clean Debian:  in_suite.py SUITE CACHE COMMIT WORD...

As root; `./dev in trixie test core` calls it. CACHE keeps the clean systems, what apt fetches and what the compiler has made; what the
command makes is thrown away with its system, but for build/packages and build/opencl, which come back as CACHE/packages-SUITE and so on.
"""
import pathlib
import shutil
import subprocess
import sys

import package_test

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CERTIFICATES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")


def main():
    package_test.enter_namespaces()
    suite, cache, commit, words = sys.argv[1], pathlib.Path(sys.argv[2]).absolute(), sys.argv[3], sys.argv[4:]
    cache.mkdir(parents=True, exist_ok=True)
    root = package_test.Root(package_test.make_base(cache, suite), cache)
    tree = root.folder / "srv/nearfield"  # not in /root, which tests as another user cannot enter
    try:
        root.run("apt-get", "-q", "update")
        root.run(*package_test.INSTALL, "git", "ca-certificates")
        shutil.copy(CERTIFICATES, root.folder / CERTIFICATES.relative_to("/"))  # a proxy that this machine trusts may stand before PyPI
        package_test.run("git", "clone", "-q", SOURCE, tree)
        package_test.run("git", "-C", tree, "checkout", "-q", "--detach", commit)
        if (SOURCE.parent / "shared").is_dir():
            (root.folder / "srv/shared").mkdir()
            package_test.run("mount", "--bind", "-o", "ro", SOURCE.parent / "shared", root.folder / "srv/shared")
        for name in ("capture.h5", "images.h5"):  # with which `devices` compares
            if (SOURCE / "build/opencl" / name).exists():
                (tree / "build/opencl").mkdir(parents=True, exist_ok=True)
                shutil.copy(SOURCE / "build/opencl" / name, tree / "build/opencl")
        compiled = cache / f"ccache-{suite}"
        compiled.mkdir(exist_ok=True)
        (root.folder / "root/.cache/ccache").mkdir(parents=True)
        package_test.run("mount", "--bind", compiled, root.folder / "root/.cache/ccache")
        done = subprocess.run(["chroot", root.folder, "sh", "-c", 'cd /srv/nearfield && exec ./dev "$@"', "dev", *words], check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8",
                                   "HOME": "/root", "NEARFIELD_SUITE": suite, "PIP_CERT": str(CERTIFICATES)})
        for made in ("packages", "opencl"):
            if any(path.suffix != ".h5" for path in (tree / "build" / made).glob("*")):  # else what an earlier command made stays
                shutil.rmtree(cache / f"{made}-{suite}", ignore_errors=True)
                shutil.copytree(tree / "build" / made, cache / f"{made}-{suite}", ignore=shutil.ignore_patterns("cache", "*.h5"))
    finally:
        for mounted in ("srv/shared", "root/.cache/ccache"):
            subprocess.run(["umount", "-l", root.folder / mounted], check=False, stderr=subprocess.DEVNULL)
            if (root.folder / mounted).is_mount():  # what it holds is not this system's to remove
                sys.exit(f"{root.folder / mounted}: expected no mount, found one that stays")
        root.remove()
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()

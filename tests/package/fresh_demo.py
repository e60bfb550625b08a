#!/usr/bin/python3
"""`./dev demo` in a clean Debian, from a clone of this repository's commit, on two processors:  fresh_demo.py [--test] CACHE [SUITE]

As root, with the network. CACHE holds the clean system (package_test.py). Nothing but what `./dev demo` installs is there, and nothing is compiled
before. Prints the seconds of apt, of the build and of the run, each with what the machine did beside (its load average); ends with 1
where the command fails or its pictures are not there. How long it took is printed and not judged: it depends on the machine and on Debian's mirror.
--test: then `./dev test` there, with the seconds of its steps.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import package_test  # noqa: E402

FOLDER = "srv/nearfield"  # not in /root, which tests as another user cannot enter
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
PROCESSORS = 2
# What `./dev demo` prints where a part begins.
PARTS = (("apt", r"== installing "), ("build", r"== building "), ("run", r"== simulating "))


def started(root, command):
    """The command of `dev`, in the clone, as it runs."""
    used = sorted(os.sched_getaffinity(0))[:PROCESSORS]
    words = ["taskset", "-c", ",".join(map(str, used)), "chroot", root.folder, "/bin/bash", "-c", f"cd /{FOLDER} && ./dev {command}"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "PIP_CERT": f"/{CERTIFICATES}"})


def timed_parts(root):
    """{part: seconds}, from the first line to the last one of the command."""
    parts, part, begun_s, output = {}, "begin", time.monotonic(), ""
    with started(root, "demo") as demo:
        for line in demo.stdout:
            output += line
            for name, pattern in PARTS:
                if re.match(pattern, line) and name not in parts:
                    now_s = time.monotonic()
                    parts[part] = now_s - begun_s
                    parts[name], part, begun_s = 0.0, name, now_s
    parts[part] = time.monotonic() - begun_s
    package_test.expect(demo.returncode == 0, f"./dev demo: exit code {demo.returncode}\n{output[-4000:]}")
    package_test.expect(all(name in parts for name, _ in PARTS), f"./dev demo: expected {PARTS}, found {parts}\n{output[-4000:]}")
    return parts


def time_tests(root):
    shutil.copy(f"/{CERTIFICATES}", root.folder / CERTIFICATES)  # a proxy that this machine trusts may stand before PyPI
    begun_s, output = time.monotonic(), ""
    with started(root, "test") as test:
        for line in test.stdout:
            output += line
            if re.match(r"== .*(: \d+ s$|installing )|the slowest of", line):
                print(f"{time.monotonic() - begun_s:6.0f} s  {line.strip()[:600]}", flush=True)
    print(f"./dev test: {time.monotonic() - begun_s:.0f} s, load average {os.getloadavg()[0]:.1f}")
    package_test.expect(test.returncode == 0, f"./dev test: exit code {test.returncode}\n{output[-6000:]}")


def main():
    words = [word for word in sys.argv[1:] if word != "--test"]
    cache = pathlib.Path(words[0]).resolve()
    package_test.enter_namespaces()
    cache.mkdir(parents=True, exist_ok=True)
    root = package_test.Root(package_test.make_base(cache, *words[1:2]), cache)
    try:
        package_test.run("git", "clone", "-q", "--no-local", package_test.SOURCE, root.folder / FOLDER)
        data = package_test.SOURCE.parent / "shared"
        if data.is_dir():
            (root.folder / "srv/shared").mkdir()
            package_test.run("mount", "--bind", "-o", "ro", data, root.folder / "srv/shared")
        commit = package_test.run("git", "-C", root.folder / FOLDER, "rev-parse", "--short=12", "HEAD").strip()
        before = os.getloadavg()[0]
        parts = timed_parts(root)
        pictures = list((root.folder / FOLDER / "demo/png").glob("*.png"))
        package_test.expect(pictures, "./dev demo: expected pictures in demo/png, found none")
        figures = ", ".join(f"{name} {parts[name]:.0f} s" for name, _ in PARTS)
        print(f"./dev demo of commit {commit}: {sum(parts.values()):.0f} s ({figures}), {len(pictures)} pictures; {PROCESSORS} processors, "
              f"load average {before:.1f} before, {os.getloadavg()[0]:.1f} after", flush=True)
        if "--test" in sys.argv:
            time_tests(root)
    finally:
        subprocess.run(["umount", "-l", root.folder / "srv/shared"], check=False, stderr=subprocess.DEVNULL)
        if (root.folder / "srv/shared").is_mount():  # what it holds is not this system's to remove
            sys.exit(f"{root.folder}/srv/shared: expected no mount, found one that stays")
        root.remove()


if __name__ == "__main__":
    main()

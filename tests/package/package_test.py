#!/usr/bin/python3
"""The packages as a machine gets them: a clean Debian in which they are installed, upgraded, used, downgraded and purged.

    package_test.py PACKAGES OLDER CACHE [SUITE]      as root; ./dev package --test calls it; SUITE: bookworm (default) or trixie

PACKAGES holds what ./dev package has made, OLDER what an earlier commit's has made. CACHE keeps the clean system (debootstrap, a minute) and what apt fetches; the
system is made anew where it is a week old. All of it runs in namespaces of its own: mounts, processes, and for the daemons
a network, so that nothing of this machine is met or changed.
"""
import fcntl
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

import yaml

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / "tests/docs"))
import markdown  # noqa: E402
WEEK_S = 7 * 86400.0
PATIENCE_S = 240
INSTALL = ("apt-get", "-q", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold", "install")
USERS_LINE = "# of the user\n"
LEFT = (SOURCE / "packaging/second_array.yaml").read_text()
TESTS = SOURCE / "packaging/debian/tests"   # autopkgtest's
SCENE = (TESTS / "scene.yaml").read_text()
TRY = "/tmp/tests/replay\n"


def run(*words, **options):
    """Standard output of a command, which has to end with 0."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(holds, message):
    if not holds:
        sys.exit(message)


def wait_for(path, process):
    """Until a process has made a file."""
    end_s = time.monotonic() + PATIENCE_S
    while not path.exists():
        expect(process.poll() is None, f"{path}: expected from a process, which has ended with {process.returncode}")
        expect(time.monotonic() < end_s, f"{path}: expected within {PATIENCE_S} s")
        time.sleep(0.1)


class Steps:
    """Says how long each step took."""

    def __init__(self):
        self.begun_s = time.monotonic()

    def done(self, name):
        now_s = time.monotonic()
        print(f"  {name}: {now_s - self.begun_s:.0f} s", flush=True)
        self.begun_s = now_s


# --- the clean system ------------------------------------------------------------------------------------------------

def enter_namespaces():
    """Starts this program again in mounts and processes of its own, unless it is there already."""
    if os.environ.get("NEARFIELD_PACKAGE_TEST") != "inside":
        os.execvpe("unshare", ["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, "-B", *sys.argv],
                   os.environ | {"NEARFIELD_PACKAGE_TEST": "inside"})


def make_base(cache, suite="bookworm"):
    """A tar archive of a minimal Debian."""
    archive = cache / f"{suite}.tar"
    if archive.exists() and time.time() - archive.stat().st_mtime < WEEK_S:
        return archive
    root = cache / suite
    shutil.rmtree(root, ignore_errors=True)
    run("debootstrap", "--variant=minbase", suite, root)
    run("tar", "-C", root, "-cf", archive.with_suffix(".partial"), ".")
    archive.with_suffix(".partial").rename(archive)
    shutil.rmtree(root)
    return archive


class Root:
    """A Debian that is unpacked into a folder of its own, and thrown away."""

    def __init__(self, archive, cache):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="root-", dir=cache))
        run("mount", "--bind", self.folder, self.folder)  # what is no mount cannot be the root of further namespaces
        run("tar", "-C", self.folder, "-xf", archive)
        archives = cache / "archives"
        archives.mkdir(exist_ok=True)
        for kind, source, target in (("--rbind", "/dev", "dev"), ("--rbind", "/sys", "sys"),  # PoCL asks /sys for the memory
                                     ("--bind", archives, "var/cache/apt/archives")):
            run("mount", kind, source, self.folder / target)
        run("mount", "-t", "proc", "proc", self.folder / "proc")
        run("mount", "-t", "tmpfs", "shm", self.folder / "dev/shm")  # where other programs of this machine leave theirs, too
        (self.folder / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")  # nobody needs it after a power cut
        (self.folder / "etc/apt/apt.conf.d/keep").write_text('Binary::apt-get::APT::Keep-Downloaded-Packages "true";\nAPT::Keep-Downloaded-Packages "true";\n')
        # The user's answers: yes, and the configuration as it is. Without recommended packages, which could stand in for a missing dependency.
        (self.folder / "etc/apt/apt.conf.d/answers").write_text('APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n'
                                                                'Dpkg::Options {"--force-confold";};\n')
        shutil.copyfile("/etc/resolv.conf", self.folder / "etc/resolv.conf")

    def run(self, *words):
        return run("chroot", self.folder, *words, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                                                       "LC_ALL": "C.UTF-8", "HOME": "/root"})

    def write_lines(self, text):
        """Lines of which the first that fails ends all, and what they have started as well: a daemon that is left holds the pipe."""
        (self.folder / "tmp/lines.sh").write_text("set -eu\ntrap 'test $? -eq 0 || kill $(jobs -p)' EXIT\n" + text)

    def script(self, text):
        """Runs shell lines as a user who types them, without a network but the loopback."""
        self.write_lines(text)
        return run("unshare", "--net", sys.executable, "-B", __file__, "--alone", self.folder)

    def start(self, text):
        """script(), in a process that goes on beside this one."""
        self.write_lines(text)
        return subprocess.Popen(["unshare", "--net", sys.executable, "-B", __file__, "--alone", self.folder])

    def processes(self, name):
        """The numbers of those whose name begins so."""
        found = []
        for comm in (self.folder / "proc").glob("[0-9]*/comm"):
            try:
                found += [comm.parent.name] if comm.read_text().startswith(name) else []
            except OSError:  # it has ended
                pass
        return found

    def configuration_files(self):
        """Names of all that is in /etc."""
        etc = self.folder / "etc"
        return {"/etc/" + path.relative_to(etc).as_posix() for path in etc.rglob("*")}

    def remove(self):
        for target in ("dev", "sys", "var/cache/apt/archives", "proc"):
            run("umount", "-R", "-l", self.folder / target)
        run("umount", "-l", self.folder)
        shutil.rmtree(self.folder)


def run_alone(folder):
    """In a network namespace without anything: brings the loopback up, and becomes the shell that runs the lines."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh22x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running
    os.chroot(folder)
    os.chdir("/")
    os.execve("/bin/bash", ["bash", "/tmp/lines.sh"], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"})


# --- packages --------------------------------------------------------------------------------------------------------

def check_units(root):
    """What systemd says of the installed units, by their installed paths."""
    for unit in ("nearfieldd.service", "nearfieldd@left.service", "nearfield-bridge@left.service"):
        said = run("systemd-analyze", "verify", f"--root={root.folder}", "--man=no", "--recursive-errors=no", unit)
        expect(said.strip() == "", f"systemd-analyze verify {unit}: expected nothing to say, found\n{said}")


def check_report(root):
    """`nearfield bugreport` finds the crash of a service that is one of several arrays', and says what it is."""
    crashes = root.folder / "var/lib/nearfield-left/crashes"
    crashes.mkdir()
    (crashes / "crash_20260101T000000Z_1.txt").write_text("nearfieldd crashed: a planted report\n")
    root.script("cd /tmp\nnearfield bugreport -o report.tar.gz\n")
    with tarfile.open(root.folder / "tmp/report.tar.gz") as archive:
        files = {pathlib.PurePath(member.name).name: archive.extractfile(member).read().decode() for member in archive if member.isfile()}
    expect("a planted report" in files.get("crash.txt", ""), f"expected the crash of nearfieldd@left in the report, found {sorted(files)}")
    expect("nearfield-left/crashes/crash_2026" in files["contents.txt"], f"expected whose crash it is, found\n{files['contents.txt']}")


def check_crash(root):
    """The log of a packaged daemon that is ended by a signal of a crash has the names of its functions, although nothing but the package is there."""
    root.script("export XDG_STATE_HOME=/tmp/crashed NEARFIELD_RUNTIME_DIR=/tmp/crashed\nmkdir /tmp/crashed\n"
                "nearfieldd -c /etc/nearfield/left.yaml 2>/tmp/crashed/log &\ndaemon=$!\n"
                "nearfield ctl --wait status >/dev/null\n"
                "kill -SEGV $daemon\ncode=0\nwait $daemon || code=$?\ntest $code -eq 139\n"
                "cat /tmp/crashed/nearfield/crashes/crash_*.txt >/tmp/crashed/report\n")
    report = (root.folder / "tmp/crashed/report").read_text()
    for wanted in (r" crashed: SIGSEGV \(Segmentation fault\) sent by process \d+\n",
                   r"\nnearfieldd\(\w*9nearfield\w*6Daemon\w*\+0x[0-9a-f]+\) ?\[0x[0-9a-f]+\]\n"):
        expect(re.search(wanted, report), f"a report of a crash: expected {wanted!r}, found\n{report}")
    expect(report in (root.folder / "tmp/crashed/log").read_text(), "expected the report of the crash in the log, too")


def check_schema(root):
    """The package's configuration in /etc, of which the machine may have a former one, names the schema for editors, which describes it."""
    package, = (root.folder / "root/tree/build/packages").glob("nearfield_*.deb")
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as files:
        with tarfile.open(fileobj=files.stdout, mode="r|") as archive:
            texts = [archive.extractfile(member).read().decode() for member in archive if member.name == "./etc/nearfield/nearfield.yaml"]
    text, = texts
    named = re.search(r"^# yaml-language-server: \$schema=(/\S+)$", text, re.MULTILINE)
    expect(named, "/etc/nearfield/nearfield.yaml: expected a line that names a schema, found none")
    described = json.loads((root.folder / named.group(1)[1:]).read_text())["properties"]
    for key in yaml.safe_load(text):
        expect(key in described, f"{named.group(1)}: expected the key {key}, found {sorted(described)}")


def check_demo(root):
    """`nearfield demo` as on a new machine: how long the first picture takes, and that nothing is left but the cache."""
    for cache in [root.folder / "root/.cache", *(root.folder / "var/cache").glob("nearfield*")]:
        shutil.rmtree(cache, ignore_errors=True)

    def names():
        return {path for folder in ("tmp", "run", "dev/shm", "var/tmp") for path in (root.folder / folder).rglob("*")}

    root.write_lines("nearfield demo --terminal --duration 3 2>&1\n")
    before = names()
    begun_s, first_s, output = time.monotonic(), None, ""
    with subprocess.Popen(["unshare", "--net", sys.executable, "-B", __file__, "--alone", root.folder], stdout=subprocess.PIPE, text=True) as demo:
        for line in demo.stdout:
            output += line
            if first_s is None and "its magnitude" in line:
                first_s = time.monotonic() - begun_s
    expect(demo.returncode == 0, f"nearfield demo: expected exit code 0, found {demo.returncode}\n{output}")
    expect(first_s is not None, f"nearfield demo: expected a picture, found\n{output}")
    expect(names() == before, f"nearfield demo: expected nothing left, found {sorted(map(str, names() ^ before))}")
    expect(not root.processes("nearfield"), f"nearfield demo: expected no process left, found {root.processes('nearfield')}")
    print(f"  nearfield demo with an empty cache: first picture after {first_s:.1f} s; load average {os.getloadavg()[0]:.1f} on "
          f"{len(os.sched_getaffinity(0))} processors", flush=True)


def check_wheel(root, wheel):
    """The wheel in an environment of its own, with Debian's packages as what it depends on and without python3-nearfield's files. Returns what
    python3-venv has put into /etc, where its dependencies leave certificates."""
    before = root.configuration_files()
    root.run(*INSTALL, "python3-venv")
    of_venv = root.configuration_files() - before
    shutil.copy(wheel, root.folder / "tmp")
    said = root.script("cd /tmp\npython3 -m venv --system-site-packages venv\n"
                       f"venv/bin/pip -q install --no-index --no-deps --ignore-installed {wheel.name}\nPATH=/tmp/venv/bin:$PATH {TRY}")
    expect(" /tmp/venv/" in said, f"expected the wheel's package, found\n{said}")
    return of_venv


def check_document(root, name, version):
    """The SPDX document names the package's files with their digests, what is linked, and what is embedded."""
    document = json.loads((root.folder / f"usr/share/doc/{name}/{name}.spdx.json").read_text())
    expect(document["spdxVersion"] == "SPDX-2.3", f"expected SPDX 2.3, found {document['spdxVersion']}")
    names = {package["name"]: package for package in document["packages"]}
    expect(names[name]["versionInfo"] == version, f"expected version {version}, found {names[name]['versionInfo']}")
    for wanted in ("libyaml-cpp0", "ocl-icd-libopencl1", "libjs-dygraphs", "libhdf5-"):
        expect(any(found.startswith(wanted) and package["versionInfo"] for found, package in names.items()),
               f"expected {wanted} with its version in the SPDX document of {name}, found {sorted(names)}")
    sums = {file["fileName"][1:]: file["checksums"][1]["checksumValue"] for file in document["files"]}
    for program in ("/usr/bin/nearfield", "/usr/bin/nearfieldd"):
        found = run("sha256sum", root.folder / program[1:]).split()[0]
        expect(sums.get(program) == found, f"{program}: expected the digest of the SPDX document, {sums.get(program)}, found {found}")


def check_programs(root, version):
    for program in ("nearfield", "nearfieldd", "nearfield-bench"):
        said = root.run(program, "--version")
        for wanted in (f"{program} {version}\n", "\ncommit ", "OpenCL ICD Loader", "Apache"):
            expect(wanted in said, f"{program} --version: expected {wanted!r}, found\n{said}")
    for path in ("usr/share/man/man1/nearfield.1.gz", "usr/share/man/man1/nearfieldd.1.gz", "usr/share/man/man5/nearfield.yaml.5.gz",
                 "usr/share/bash-completion/completions/nearfield", "usr/share/doc/nearfield/html/index.html",
                 "usr/share/nearfield/prometheus/nearfield_rules.yml", "usr/share/nearfield/grafana/nearfield.json",
                 "usr/share/nearfield/systemd/nvidia.conf"):
        expect((root.folder / path).is_file(), f"/{path}: expected a file of the package nearfield, found none")
    root.script("nearfieldd -c /etc/nearfield/nearfield.yaml --check\n")
    shutil.copytree(TESTS, root.folder / "tmp/tests")
    said = root.script(TRY + "nearfield bench --help >/dev/null\nnearfield-bench-report --help >/dev/null\n")
    expect("/usr/lib/python3/dist-packages/nearfield/" in said, f"expected the package of Debian's Python, found\n{said}")


def environment_of(unit):
    """The variables that a unit's file sets."""
    return " ".join(re.findall(r"^Environment=(.*)$", unit, re.MULTILINE))


def started(root, unit, instance):
    """Shell lines that start a daemon as its unit does: its command, its variables and its folders."""
    text = (root.folder / f"lib/systemd/system/{unit}").read_text().replace("%i", instance)
    command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1)
    made = [f"/{place}/{name}" for kind, place in (("Runtime", "run"), ("State", "var/lib"), ("Cache", "var/cache"))
            for name in re.findall(rf"^{kind}Directory=(.*)$", text, re.MULTILINE)]
    return (f"mkdir -p {' '.join(made)}\n"
            f"env {environment_of(text)} RUNTIME_DIRECTORY={made[0]} STATE_DIRECTORY={made[1]} CACHE_DIRECTORY={made[2]} {command} &\n")


def check_daemons(root):
    """Both units' daemons beside one another, the shipped configuration and one of the user: clients reach each of them."""
    text = started(root, "nearfieldd.service", "") + 'first=$!\n'
    text += started(root, "nearfieldd@.service", "left") + 'second=$!\n'
    text += "left=NEARFIELD_RUNTIME_DIR=/run/nearfield-left\n"
    for client in ("", "env $left "):
        text += f"{client}nearfield ctl --wait status >/dev/null\n"
    text += ("env $left nearfield send /tmp/scene.yaml --loop --to 127.0.0.1:7330 >/dev/null &\nsender=$!\n"
             "env $left nearfield tap --wait --count 3\n"
             "env $left nearfield ctl record start >/dev/null\n"
             "env $left nearfield ctl record stop >/dev/null\n"
             "ls /var/lib/nearfield-left/*.nfr\n"
             "kill -INT $sender\nwait $sender || test $? -eq 130\n"
             "nearfield ctl config | grep -q 'rows: 32'\nenv $left nearfield ctl config | grep -q 'rows: 8'\n"
             "nearfield ctl stop\nenv $left nearfield ctl stop\nwait $first\nwait $second\n")
    root.script(text)


def check_libraries(root):
    """A program of the user against the -dev package by pkg-config, and Python."""
    folder = root.folder / "usr/lib/x86_64-linux-gnu/pkgconfig"
    expect(folder.is_dir(), f"expected {folder}, found none")
    flags = run("pkg-config", "--cflags", "--libs", "nearfield", "nearfield_ring",
                env=os.environ | {"PKG_CONFIG_LIBDIR": str(folder), "PKG_CONFIG_PATH": ""}).split()
    flags = [flag.replace("-I", "-idirafter", 1) for flag in flags]  # the system's own headers are this machine's
    for name in ("engine", "controller"):
        example = root.folder / f"usr/share/doc/libnearfield-dev/examples/{name}.c"
        run("cc", "-std=c11", "-Wall", "-Werror", example, "-o", root.folder / f"tmp/{name}", *flags, "-lm",
            "-Wl,--allow-shlib-undefined")
    (root.folder / "tmp/engine.yaml").write_text(LEFT)
    root.script("cd /tmp\nhead -c 524288 /dev/zero | ./engine engine.yaml 2 | head -c 8 | wc -c | grep -qx 8\n"
                "ldd ./controller | grep -q 'libnearfield_ring.so.3 => /'\n")


# --- one life of a machine -------------------------------------------------------------------------------------------

def commands_of_page(page, part, number=0):
    """The lines of a page's `sh` block, the one of that number of those that have `part`, but for those that need a running systemd."""
    blocks = [fence.text for fence in markdown.read(page, (SOURCE / page).read_text()).fences if fence.language == "sh" and part in fence.text]
    expect(len(blocks) > number, f"{page}: expected a block with {part!r}, found {len(blocks)}")
    return "".join(f"{line}\n" for line in blocks[number].split("\n") if not re.match(r"systemctl |(\w+=\S+ )?nearfield ctl ", line))


def as_the_page_says(root, page, part, number=0):
    """Runs such a block as root, in a folder that has build/packages as a clone has; with the network where apt is in it."""
    text = f"cd /root/tree\n{commands_of_page(page, part, number)}"
    return root.run("bash", "-euc", text) if "\napt " in text else root.script(text)


def install(root, packages, number=None, options=()):
    """Installs the files of a folder: that of `nearfield` as the block of that number of docs/use/install.md says, the others with it or after it.
    The version that the machine has then."""
    folder = root.folder / "root/tree/build/packages"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for package in packages:
        shutil.copy(package, folder)
    if number is not None:
        as_the_page_says(root, "docs/use/install.md", "apt install ./build/packages/nearfield_*.deb", number)
    root.run(*INSTALL, *options, *(f"/root/tree/build/packages/{package.name}" for package in packages))
    return root.run("dpkg-query", "-W", "-f=${Version}", "nearfield")


def work(root, name, standoff_m):
    """Lines of a daemon at work, which gets another standoff and saves it, records as `name`, and runs on."""
    (root.folder / "tmp/scene.yaml").write_text(SCENE)
    return (started(root, "nearfieldd@.service", "left") +
            "daemon=$!\nexport NEARFIELD_RUNTIME_DIR=/run/nearfield-left\n"
            "nearfield ctl --wait status >/dev/null\n"
            f"nearfield ctl set holography.standoff_m={standoff_m}\n"
            "nearfield ctl save\n"
            f"nearfield ctl config >/tmp/{name}_config.yaml\n"
            "nearfield send /tmp/scene.yaml --loop --to 127.0.0.1:7330 >/dev/null &\nsender=$!\n"
            "nearfield tap --wait --count 3 >/dev/null\n"
            f"nearfield ctl record start --bits --images --name {name} >/dev/null\n"
            "nearfield tap --count 20 >/dev/null\n"
            "nearfield ctl record stop >/dev/null\n"
            "kill -INT $sender\nwait $sender || test $? -eq 130\n")


def live_on_older(root):
    """The older version at work, which runs on while it is replaced."""
    return root.start(work(root, "older", 0.04) + "touch /tmp/lives\nwait $daemon\n")


def values_of(yaml_file):
    """{"section.key": value} of a configuration."""
    found = {}

    def walk(value, name):
        if isinstance(value, dict) and value:
            for key, below in value.items():
                walk(below, f"{name}.{key}" if name else str(key))
        else:
            found[name] = value

    walk(yaml.safe_load(yaml_file.read_text()), "")
    return found


def check_kept(root, name="older", standoff_m=0.04, unknown=()):
    """What one version has saved and recorded as `name`, under the one that is installed: the same settings but those unknown to it, the same bits."""
    text = "nearfieldd -c /etc/nearfield/left.yaml --check\n"  # before it runs, as its ports are taken then
    text += started(root, "nearfieldd@.service", "left")
    text += ("daemon=$!\nexport NEARFIELD_RUNTIME_DIR=/run/nearfield-left\n"
             "nearfield ctl --wait config >/tmp/found_config.yaml\nnearfield ctl stop\nwait $daemon\n"
             f"cd /tmp\nnearfield inspect /var/lib/nearfield-left/{name}*.nfr\n"
             f"rm -f {name}.h5\nnearfield replay /var/lib/nearfield-left/{name}*.nfr -c /etc/nearfield/left.yaml -o {name}.h5 --frames 4\n"
             f"nearfield inspect {name}.h5\n")
    root.script(text)
    before, after = (values_of(root.folder / f"tmp/{which}_config.yaml") for which in (name, "found"))
    expect(before["holography.standoff_m"] == standoff_m, f"holography.standoff_m: expected {standoff_m} m in the version that saved it, "
           f"found {before['holography.standoff_m']}")
    for key, value in before.items():
        expect(key in unknown or key in after and after[key] == value, f"{key}: expected {value!r} of the version that saved it, found {after.get(key)!r}")


def upgrade(root, older, packages, version):
    """An older version that a user has changed and used, then this one."""
    older_version = run("dpkg-deb", "-f", older[0], "Version").strip()
    run("dpkg", "--compare-versions", older_version, "lt", version)
    found = install(root, older, 0)
    expect(found == older_version, f"expected version {older_version}, found {found}")
    configuration = root.folder / "etc/nearfield/nearfield.yaml"
    changed = configuration.read_text() + USERS_LINE
    configuration.write_text(changed)
    for part in ("nearfieldd -c /etc/nearfield/nearfield.yaml --check", "/etc/nearfield/left.yaml", "nvidia.conf"):
        as_the_page_says(root, "docs/use/install.md", part)
    as_the_page_says(root, "docs/use/site.md", "/etc/nearfield/left.bridge")
    with live_on_older(root) as daemon:
        wait_for(root.folder / "tmp/lives", daemon)
        recordings = {path: path.read_bytes() for path in (root.folder / "var/lib/nearfield-left").glob("*.nfr")}
        expect(recordings, "expected a recording of the older version, found none")
        saved = (root.folder / "etc/nearfield/left.yaml").read_text()
        found = install(root, packages, 1)
        expect(found == version, f"expected version {version} after the upgrade, found {found}")
        expect(daemon.poll() is None, "expected the daemon of the older version to run on while its files are replaced")
        root.run("env", "NEARFIELD_RUNTIME_DIR=/run/nearfield-left", "nearfield", "ctl", "stop")
        expect(daemon.wait(60) == 0, f"the daemon of the older version: expected exit code 0, found {daemon.returncode}")
    expect(configuration.read_text() == changed, f"{configuration}: expected the user's lines after the upgrade")
    expect((root.folder / "etc/nearfield/left.yaml").read_text() == saved, "left.yaml: expected what `nearfield ctl save` wrote")
    for path, data in recordings.items():
        expect(path.read_bytes() == data, f"{path}: expected the recording as the older version left it")
    expect(not (root.folder / "etc/systemd/system/multi-user.target.wants/nearfieldd.service").exists(), "expected no enabled unit")
    check_kept(root)


def take_out_unknown(root):
    """Takes out the settings that are newer than the installed version, which names each with its line, as docs/use/install.md says. Returns them."""
    saved = root.folder / "etc/nearfield/left.yaml"
    checked = subprocess.run(["chroot", root.folder, "nearfieldd", "-c", "/etc/nearfield/left.yaml", "--check"], capture_output=True, text=True,
                             check=False)
    unknown = {int(line): key for line, key in re.findall(r"left\.yaml:(\d+):\d+: (\S+): unknown key", checked.stdout + checked.stderr)}
    lines = saved.read_text().splitlines(keepends=True)
    saved.write_text("".join(line for number, line in enumerate(lines, 1) if number not in unknown))
    print(f"  settings that the older version does not know: {' '.join(unknown.values())}")
    return set(unknown.values())


def downgrade(root, older, packages, version):
    """The older version once more, on what this one has left: it starts with the saved settings, less those that it does not know, and reads
    the recordings; then this one again."""
    root.script(work(root, "newer", 0.05) + "nearfield ctl stop\nwait $daemon\n")
    older_version = run("dpkg-deb", "-f", older[0], "Version").strip()
    found = install(root, older, options=("--allow-downgrades",))
    expect(found == older_version, f"expected version {older_version} after the downgrade, found {found}")
    check_kept(root, "newer", 0.05, take_out_unknown(root))
    found = install(root, packages)
    expect(found == version, f"expected version {version} again, found {found}")
    check_kept(root, "newer", 0.05)


def purge(root, before, names):
    wants = root.folder / "etc/systemd/system/multi-user.target.wants"  # as `systemctl enable nearfieldd nearfieldd@left nearfield-bridge@left` does
    existed = wants.exists()
    wants.mkdir(parents=True, exist_ok=True)
    for link, target in (("nearfieldd.service", "nearfieldd.service"), ("nearfieldd@left.service", "nearfieldd@.service"),
                         ("nearfield-bridge@left.service", "nearfield-bridge@.service")):
        expect((root.folder / "lib/systemd/system" / target).is_file(), f"{target}: expected a unit of the package nearfield, found none")
        (wants / link).symlink_to(f"/lib/systemd/system/{target}")
    as_the_page_says(root, "docs/use/install.md", "apt purge nearfield")
    expect(not (root.folder / "usr/bin/nearfield").exists(), "expected no program nearfield after the purge")
    root.run("apt-get", "-q", "-y", "purge", "python3-venv", *names)
    expect(not list(wants.glob("nearfield*")), "expected no link to a unit after the purge")
    if not existed and not any(wants.iterdir()):
        wants.rmdir()
    root.run("apt-get", "-q", "-y", "autoremove", "--purge")
    left = root.configuration_files() - before
    print(f"  left in /etc: {' '.join(sorted(left))}")
    backups = {name for name in left if re.fullmatch(r"/etc/nearfield/left\.yaml\.[^/]+\.bak", name)}  # of `nearfield ctl save`
    expect(len(backups) == 2, f"expected two files that `nearfield ctl save` has kept, found {sorted(left)}")
    drop_in = "/etc/systemd/system/nearfieldd.service.d"  # for a GPU
    expected = {"/etc/nearfield", "/etc/nearfield/left.yaml", "/etc/nearfield/left.bridge", drop_in, f"{drop_in}/nvidia.conf"} | backups
    expected |= {"/etc/systemd", "/etc/systemd/system"} - before           # which the drop-in is in
    expected |= left & {"/etc/group-", "/etc/gshadow-"}                     # of groupadd
    expected |= left & {"/etc/hosts"}                                        # of Debian 13's netbase
    expect(left == expected, f"expected {sorted(expected)} after the purge, found {sorted(left)}")
    expect(list((root.folder / "var/lib/nearfield-left").glob("*.nfr")), "expected the user's recording after the purge")
    expect(not list((root.folder / "var/cache").glob("nearfield*")), "expected no compiled kernel after the purge")


def main():
    packages, older = (sorted(pathlib.Path(word).resolve().glob("*.deb")) for word in sys.argv[1:3])
    cache = pathlib.Path(sys.argv[3]).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    wheels = list(pathlib.Path(sys.argv[1]).resolve().glob("*.whl"))
    expect(len(wheels) == 1, f"{sys.argv[1]}: expected one wheel, found {wheels}")
    for folder, files in zip(sys.argv[1:3], (packages, older)):
        names = [run("dpkg-deb", "-f", package, "Package").strip() for package in files]
        expect(set(names) == {"nearfield", "libnearfield0", "libnearfield-ring3", "libnearfield-dev", "python3-nearfield"},
               f"{folder}: expected five packages, found {names}")
    version = run("dpkg-deb", "-f", packages[0], "Version").strip()
    steps = Steps()
    root = Root(make_base(cache, *sys.argv[4:5]), cache)
    try:
        root.run("apt-get", "-q", "update")
        before = root.configuration_files()
        steps.done("clean system")
        upgrade(root, older, packages, version)
        steps.done("install, use, upgrade")
        check_demo(root)
        steps.done("demo")
        check_units(root)
        check_schema(root)
        check_document(root, "nearfield", version)
        check_programs(root, version)
        steps.done("simulate, replay")
        check_libraries(root)
        before |= check_wheel(root, wheels[0])
        steps.done("a program in C, Python, the wheel")
        check_daemons(root)
        check_report(root)
        check_crash(root)
        steps.done("two daemons, a crash")
        downgrade(root, older, packages, version)
        steps.done("downgrade, upgrade")
        purge(root, before, names)
        steps.done("purge")
    finally:
        root.remove()


if __name__ == "__main__":
    if sys.argv[1] == "--alone":
        run_alone(sys.argv[2])
    else:
        enter_namespaces()
        main()

#!/usr/bin/python3
"""docs/use/your_array.md by the text alone: a new user of a clean Debian 12, who has the packages and the page, types its commands.

    ten_steps.py PACKAGES CACHE      as root, with the network

PACKAGES holds what ./dev package has made, CACHE the clean system (package_test.py has both). The listings of the page are written
under the names that it gives them, and each command of each `sh` block runs as it stands, in the page's order, in one folder of a user who is not
root; that of Acoular, which no other test runs, too. Every command has to end with 0. Then the results are held to what the page says of them.
"""
import argparse
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path[:0] = [str(HERE), str(SOURCE / "tests/docs")]
import markdown  # noqa: E402
import package_test  # noqa: E402

PAGE = "docs/use/your_array.md"
USER, FOLDER = "reader", "/home/reader/array"
NETWORK = "PyPI"          # word of the reason for which the page's test leaves a block out: this one needs the network

SHELL = r"""
export LC_ALL=C.UTF-8 XDG_RUNTIME_DIR=/run/user/1000
set -E -o pipefail -m
trap 'code=$?; echo "exit code $code: $BASH_COMMAND"; finish; exit 1' ERR

# Ends what runs in the background, as Ctrl-C does, the last first.
finish() {
  trap - ERR
  local job code failed=0
  for job in $(jobs -p | tac); do
    kill -INT "$job" 2>/dev/null
    code=0
    wait "$job" || code=$?
    [[ $code -eq 0 || $code -eq 130 ]] || { echo "a command in the background ended with exit code $code"; failed=1; }
  done
  return $failed
}
exec 2>&1
"""


def read_page():
    return markdown.read(PAGE, (SOURCE / PAGE).read_text())


def typed(text):
    """The commands of a block as they are typed, those of several lines too."""
    commands, begun = [], ""
    for line in text.split("\n"):
        begun += line
        if line.endswith("\\"):
            begun += "\n"
        elif begun.strip() and not begun.lstrip().startswith("#"):
            commands.append(begun)
            begun = ""
        else:
            begun = ""
    return commands


def blocks(page):
    """[(whether it needs the network, its commands)] of all `sh` blocks, in order."""
    return [(NETWORK in fence.no_run, typed(fence.text)) for fence in page.fences if fence.language == "sh"]


def script_of(commands):
    lines = [SHELL, f"cd {FOLDER}"]
    for command in commands:
        lines += ["cat <<'END_OF_COMMAND'", f"$ {command}", "END_OF_COMMAND", command]
    return "\n".join(lines + ["finish"]) + "\n"


def of_network():
    """Shell lines with what this machine's programs need to reach the network."""
    names = [name for name in os.environ
             if name.startswith("PIP_") and name != "PIP_FIND_LINKS" or name.lower() in ("http_proxy", "https_proxy", "no_proxy")]
    return "".join(f"export {name}='{os.environ[name]}'\n" for name in names)


class Reader:
    """The new user in a clean system, and what the terminal has shown."""

    def __init__(self, root):
        self.root = root
        self.output = ""
        root.run("useradd", "-m", "-s", "/bin/bash", USER)
        root.run("install", "-d", "-o", USER, "-m", "700", "/run/user/1000", FOLDER)
        authorities = os.environ.get("PIP_CERT", "")
        if authorities:
            (root.folder / authorities[1:]).parent.mkdir(parents=True, exist_ok=True)
            (root.folder / authorities[1:]).write_bytes(pathlib.Path(authorities).read_bytes())

    def writes(self, name, text):
        path = self.root.folder / FOLDER[1:] / name
        path.write_text(text)
        self.root.run("chown", USER, f"{FOLDER}/{name}")

    def types(self, commands, with_network):
        script = self.root.folder / "tmp/typed.sh"
        script.write_text((of_network() if with_network else "") + script_of(commands))
        words = ("su", "-", USER, "-c", "bash /tmp/typed.sh")
        self.output += self.root.run(*words) if with_network else self.root.script(f"su - {USER} -c 'bash /tmp/typed.sh'\n")

    def shown(self, part):
        """What followed a command that has `part`."""
        found = re.search(rf"^\$ [^\n]*{re.escape(part)}(?:[^\n]*\\\n)*[^\n]*\n((?:(?!\$ ).*\n)*)", self.output, re.M)
        package_test.expect(found, f"expected a command with {part!r} on {PAGE}, found none")
        return found.group(1)


def expect_near(name, found, expected, most):
    package_test.expect(abs(found - expected) <= most, f"{name}: expected {expected:g} within {most:g}, as {PAGE} says, found {found:g}")


def check_results(page, reader):
    """What the page says of its results, held to the commands' output. The figures are Acoular's and the same everywhere, but for
    the device's rounding, so that they may differ in their last digit."""
    said = " ".join(text for _, text in page.prose)
    place = re.search(r"at x = (\S+) m, y = (\S+) m with (\S+) Pa, where the truth is (\S+) Pa at x = (\S+) m, y = (\S+) m", said)
    package_test.expect(place, f"expected the place and level of the peak on {PAGE}, found none")
    x_m, y_m, level_pa, _, true_x_m, true_y_m = map(float, place.groups())
    peak = [float(word) for word in reader.shown("surface.csv | tail").split()[-1].split(",")]
    expect_near("the largest pixel's x in m", peak[0], x_m, 1e-4)
    expect_near("the largest pixel's y in m", peak[1], y_m, 1e-4)
    expect_near("the largest pixel's level in Pa", peak[2], level_pa, 0.05)
    expect_near("the largest pixel's distance from the source in m", ((peak[0] - true_x_m) ** 2 + (peak[1] - true_y_m) ** 2) ** 0.5, 0.0,
                0.015)  # a pixel is 0.06 m / 4
    loudest = [[float(word) for word in line.split(",")] for line in reader.shown("spectrum.csv | tail").split()]
    package_test.expect(len(loudest) == 12, f"expected the twelve loudest bins, found {loudest}")
    expect_near("the loudest bin in Hz", max(loudest, key=lambda bin: bin[1])[0], 1000.0, 12.5)  # of 51,200 / 4,096 Hz
    microphones = re.search(r"^microphones.*$", reader.shown("inspect recording64.h5 -c array.yaml"), re.M)
    package_test.expect(microphones and " 0 of 64" in microphones.group(), f"expected 64 good microphones, found {microphones}")
    live = re.search(r"(\d+) frames", reader.shown("tap --wait"))
    package_test.expect(live and int(live.group(1)) > 0, f"expected frames from the daemon, found {reader.shown('tap --wait')}")
    print(f"  peak at x = {peak[0]:g} m, y = {peak[1]:g} m with {peak[2]:g} Pa", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("cache", type=pathlib.Path)
    arguments = parser.parse_args()
    package_test.enter_namespaces()
    cache = arguments.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    page = read_page()
    steps = package_test.Steps()
    root = package_test.Root(package_test.make_base(cache), cache)
    try:
        root.run("apt-get", "-q", "update")
        package_test.install(root, sorted(arguments.packages.resolve().glob("*.deb")))
        root.run(*package_test.INSTALL, "python3-venv")  # as the page says
        steps.done("install")
        reader = Reader(root)
        for fence in page.fences:
            if fence.file:
                reader.writes(fence.file, fence.text)
        commands, with_network = [], False
        for needs_network, block in blocks(page) + [(None, [])]:
            if needs_network != with_network:
                reader.types(commands, with_network)
                steps.done("the commands with the network" if with_network else "commands")
                commands, with_network = [], needs_network
            commands += block
        check_results(page, reader)
        print(reader.output)
    finally:
        root.remove()


if __name__ == "__main__":
    main()

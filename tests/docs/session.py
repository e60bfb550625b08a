"""Runs a page's commands as a reader would who types them one after another into one shell, in a folder of its own.

Every `sh` block runs as it stands, in the page's order, and each command has to end with 0. The rules, all visible in the page:

- `no-run: REASON` in a block's info string leaves the block out. The test prints these reasons.
- A line with a comment that says Ctrl-C gets SIGINT after three seconds, and has to end with 0 or 130.
- Commands in the background (`&`) get SIGINT at the page's end, and have to end with 0 or 130.
- A listing whose info string names a file is written into the folder first: `yaml lab.yaml`, `c loop.c`. Each `yaml` block is checked
  (a scene: simulated), each `c` block compiled, `python` and `json` parsed, before the commands run.
- `text output-of: COMMAND`: after the page's commands, this one has to print each line of the block; it may end with any code.

Files that the reader brings along are made by tests/docs/readers_files/PAGE.sh, where there is one; it runs in the same
shell before all else. If it defines `before_commands`, this function runs between the listings and the commands. The folder holds the repository's own folders, and build/release/bin leads to the programs under test.

Where the kernel permits it, all of that happens in a network and a mount namespace of its own: ports and sockets of the
pages then meet neither another page nor another user of the machine.
"""

import fcntl
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys

COPIED = ("config", "docs", "examples", "include", "bench")
LINKED = ("src", "kernels", "tests", "fuzz")

PREAMBLE = r"""
set -E -o pipefail -m
block=0
trap 'code=$?; trap - DEBUG; echo "$page:$block: exit code $code: $BASH_COMMAND" >&2; finish; exit 1' ERR

trap 'echo "== after $SECONDS s: $BASH_COMMAND" >&2' DEBUG

# Ends what runs in the background, as Ctrl-C does, the last first: a sender before the daemon that hears it.
finish() {
  trap - ERR DEBUG
  local job code failed=0
  for job in $(jobs -p | tac); do
    kill -INT "$job" 2>/dev/null
    code=0
    wait "$job" || code=$?
    if [[ $code -ne 0 && $code -ne 130 ]]; then
      echo "$page: a command in the background ended with exit code $code" >&2
      failed=1
    fi
  done
  return $failed
}

# prints FILE COMMAND...: the command's output has each line of the file.
prints() {
  local lines=$1 line
  shift
  "$@" >"$lines.found" 2>&1 || true
  while IFS= read -r line; do
    if ! grep -qF -- "$line" "$lines.found"; then
      echo "$page:$block: expected of $*: $line"
      echo "found:"
      cat "$lines.found"
      return 1
    fi
  done <"$lines"
}

interrupted() {
  "$@" &
  local job=$! code=0
  sleep 3
  kill -INT "$job"
  wait "$job" || code=$?
  [[ $code -eq 0 || $code -eq 130 ]]
}
"""


def commands_of(text):
    """The commands of a block, continued lines joined."""
    joined = text.replace("\\\n", " ")
    return [line for line in joined.split("\n") if line.strip() and not line.lstrip().startswith("#")]


def _with_interrupts(text):
    return re.sub(r"^(?!\s*#)(.*\s#.*Ctrl-C.*)$", r"interrupted \1", text, flags=re.M)


def _check_of(fence, file):
    if fence.language == "yaml":
        if re.search(r"^sources:", fence.text, re.M):
            return f"nearfield simulate {file} -o {file}.h5"
        return f"nearfieldd -c {file} --check"
    if fence.language == "c":
        return f"cc -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -c {file} -o {file}.o"
    if fence.language == "python":
        return f"python3 -m py_compile {file}"
    if fence.language == "json":
        return f"python3 -m json.tool {file} >{file}.out"
    return ""


def _file_of(fence):
    suffix = {"yaml": ".yaml", "c": ".c", "python": ".py", "json": ".json"}.get(fence.language, ".txt")
    return fence.file or f"listing_of_line_{fence.line}{suffix}"


def is_listing(fence):
    return fence.language in ("yaml", "c", "python", "json")


def make_folder(root, binaries, folder):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "build/release").mkdir(parents=True)
    for name in COPIED:
        shutil.copytree(root / name, folder / name)
    for name in LINKED:
        (folder / name).symlink_to(root / name)
    (folder / "build/release/bin").symlink_to(binaries)
    (folder / "build/release/src").symlink_to(binaries.parent / "src")


def script_of(root, page, folder):
    script = [PREAMBLE, f"page={page.path}"]
    own = root / "tests/docs/readers_files" / (pathlib.Path(page.path).stem + ".sh")
    if own.exists():
        script.append(own.read_text())
    for fence in page.fences:
        if is_listing(fence) or fence.file or fence.output_of:
            (folder / _file_of(fence)).write_text(fence.text)
    for fence in page.fences:
        if is_listing(fence) and not fence.no_run:
            script.append(f"block={fence.line}\n" + _check_of(fence, _file_of(fence)))
    script.append("if declare -F before_commands >/dev/null; then before_commands; fi")
    for fence in page.fences:
        if fence.language == "sh" and not fence.no_run:
            script.append(f"block={fence.line}\n" + _with_interrupts(fence.text))
    for fence in page.fences:
        if fence.output_of:
            script.append(f"block={fence.line}\nprints {_file_of(fence)} {fence.output_of}")
    return "\n".join(script + ["finish"]) + "\n"


def run(root, binaries, folder, page, limit_s):
    """Returns what went wrong, as text; empty if nothing did."""
    make_folder(root, binaries, folder)
    (folder / "page.sh").write_text(script_of(root, page, folder))
    # `nearfield export` runs the Python package, of this tree.
    environment = dict(os.environ, PATH=f"{binaries}:{os.environ['PATH']}", XDG_RUNTIME_DIR=str(folder / "run"),
                       NEARFIELD_PYTHON="/usr/bin/python3", PYTHONPATH=str(root / "python/src"), PYTHONDONTWRITEBYTECODE="1")
    (folder / "run").mkdir(mode=0o700)
    with open(folder / "page.log", "w", encoding="utf-8") as log:
        shell = subprocess.Popen(["bash", "page.sh"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code, ended = shell.wait(timeout=limit_s), ""
        except subprocess.TimeoutExpired:
            code, ended = 1, f"{page.path}: not done after {limit_s} s\n"
        finally:
            _kill_session(shell.pid)
            shell.wait()
    tail = (folder / "page.log").read_text(errors="replace")[-6000:]
    return "" if code == 0 else ended + tail


def _kill_session(session):
    """Ends whatever of the shell's session is left."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == session:
                os.kill(int(entry.name), signal.SIGKILL)
        except (OSError, IndexError):
            pass


# --- a network and temporary folders of one's own --------------------------------------------------------------------


def enter_namespaces(paths):
    """Starts this program again in namespaces of its own and ends with its exit code; returns where there are none."""
    if os.environ.get("NEARFIELD_PAGES_INSIDE"):
        _set_up_namespaces(paths)
        return
    unshare = ["unshare", "-nm"] if os.geteuid() == 0 else ["unshare", "-rnm"]
    try:
        if subprocess.run(unshare + ["true"], capture_output=True, check=False).returncode == 0:
            environment = dict(os.environ, NEARFIELD_PAGES_INSIDE="1")
            sys.exit(subprocess.run(unshare + [sys.executable] + sys.argv, env=environment, check=False).returncode)
    except FileNotFoundError:
        pass
    print("no namespace of its own: the pages' ports and sockets are those of this machine")


def _set_up_namespaces(paths):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up = struct.pack("16sh", b"lo", 0x1 | 0x40)                      # IFF_UP, IFF_RUNNING
        fcntl.ioctl(any_socket, 0x8914, up)                              # SIOCSIFFLAGS
    for folder in ("/run", "/tmp", "/var/lib"):
        if not any(str(path).startswith(folder + "/") for path in paths):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "pages", folder], check=True)

"""How the package's command lines end."""

import subprocess
import sys

import pytest

from nearfield._command import exit_code_of
from nearfield.errors import DataError


@pytest.mark.parametrize("words", [["-m", "nearfield.bridge", "--help"], ["-m", "nearfield.site", "--help"], ["-m", "nearfield.distributed", "--help"],
                                   ["-c", "import sys; from nearfield._command import exit_code_of as e; sys.exit(e(lambda: print(1) or 0, 'one'))"]])
def test_what_cannot_be_printed_is_an_error(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 74, done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_names_with_control_characters_are_escaped(capsys):
    def fails():
        raise DataError("a\x1b[31m\nnearfield: error: forged\x9b", 65)

    assert exit_code_of(fails, "one") == 65
    assert capsys.readouterr().err == "one: error: a\\x1b[31m\\x0anearfield: error: forged\\x9b\n"

"""The program as a subprocess."""

import copy
import os
import pathlib
import pickle
import signal
import stat
import threading

import numpy as np
import pytest
from conftest import CONFIG, RATE_HZ, SCENE, monopole, samples_of

import nearfield


def test_replay_returns_the_images_and_says_how_far_it_is(capture, images):
    steps = []
    found = nearfield.replay(capture, config=CONFIG, engine="reference", frames=slice(1, 3), progress=steps.append)
    with nearfield.open_images(images) as whole:
        assert found.sizes["time"] == 2
        np.testing.assert_array_equal(found.first_sample, whole.first_sample[1:3])
    assert steps == sorted(steps) and steps[-1] == 1.0


def test_time_data_of_ones_own_are_replayed(folder):
    nearfield.write_time_data(folder / "own.h5", samples_of(monopole(1007.08, 0, 0), 1007.08, 1100), RATE_HZ)
    found = nearfield.replay(folder / "own.h5", config=CONFIG, engine="reference", frames=1)
    assert float(abs(found.images).max()) > 0.0


def test_errors_become_exceptions(capture, folder):
    with pytest.raises(nearfield.ConfigError, match="front_end.hop_samples") as caught:
        nearfield.replay(capture, settings={"front_end.hop_samples": -1})
    assert caught.value.exit_code == 78
    with pytest.raises(FileNotFoundError) as missing:
        nearfield.replay(folder / "none.h5")
    assert missing.value.exit_code == 66
    (folder / "wrong.h5").write_bytes(b"no HDF5")
    with pytest.raises(nearfield.DataError):
        nearfield.replay(folder / "wrong.h5")
    with pytest.raises(nearfield.UsageError):
        nearfield.run("replai")
    with pytest.raises(ValueError, match="step"):
        nearfield.replay(capture, frames=slice(0, 4, 2))


@pytest.mark.parametrize("error", [
    nearfield.ConfigError("a: wrong", 78), nearfield.NoInputError("b: missing", 66), nearfield.NearfieldError("c", 1),
    nearfield.RingError("d", 8), nearfield.RingEnded("e", 6),
])  # fmt: skip
def test_exceptions_cross_to_other_processes(error):
    for found in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(found) is type(error)
        assert str(found) == str(error)
        assert vars(found) == vars(error)


def test_relative_paths_of_a_mapping_count_from_the_working_directory(capture, folder, monkeypatch):
    monkeypatch.chdir(folder)
    pathlib.Path("spots.csv").write_text("x_m,y_m,z_m\n0,0,-1\n0.3,0.2,-1\n")
    far = {"kind": "beamform", "grid": {"kind": "points", "points": "spots.csv"}}
    found = nearfield.replay(capture, config={**CONFIG, "processors": {"far": far}, "daemon": {}}, engine="reference", frames=1,
                             processor="far")  # fmt: skip
    assert found.sizes["point"] == 2
    with pytest.raises(nearfield.ConfigError, match="holografy"):
        nearfield.replay(capture, config={"holografy": {"standoff_m": 0.03}})


def test_a_program_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("NEARFIELD_PROGRAM", "/nowhere/nearfield")
    with pytest.raises(FileNotFoundError, match="/nowhere/nearfield"):
        nearfield.program()


def test_an_interrupt_ends_the_program_and_goes_on(monkeypatch, tmp_path):
    """The program notes the signal that it gets; the interrupt comes once it has begun to write."""
    program, noted, began = tmp_path / "nearfield", tmp_path / "noted", tmp_path / "began"
    program.write_text(f"""#!/bin/sh
trap 'echo INT >{noted}; kill $sleeper; exit 130' INT
sleep 60 & sleeper=$!
echo >{began}
wait $sleeper
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    os.mkfifo(began)
    monkeypatch.setenv("NEARFIELD_PROGRAM", str(program))

    def interrupt():
        pathlib.Path(began).read_text()  # until the program writes
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    waiter = threading.Thread(target=interrupt)
    waiter.start()
    with pytest.raises(KeyboardInterrupt):
        nearfield.run("replay")
    waiter.join()
    assert noted.read_text() == "INT\n"


def test_a_second_interrupt_ends_a_program_that_does_not_end(monkeypatch, tmp_path):
    """It notes the first one, and says more than a pipe holds before."""
    program, noted, began, number = (tmp_path / name for name in ("nearfield", "noted", "began", "number"))
    program.write_text(f"""#!/bin/sh
trap 'head -c 200000 /dev/zero >&2; echo >{noted}' INT
echo $$ >{number}
echo >{began}
while :; do sleep 0.1; done
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    os.mkfifo(began)
    os.mkfifo(noted)
    monkeypatch.setenv("NEARFIELD_PROGRAM", str(program))

    def interrupt():
        for fifo in (began, noted):
            fifo.read_text()  # until the program writes
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    waiter = threading.Thread(target=interrupt)
    waiter.start()
    with pytest.raises(KeyboardInterrupt):
        nearfield.run("replay")
    waiter.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), 0)


def test_what_the_program_warns_of_is_logged(tmp_path, caplog):
    (tmp_path / "noisy.yaml").write_text(SCENE.replace("sources:", "microphones: {noise_pa: 0.1}\nsources:"))
    with caplog.at_level("WARNING", logger="nearfield"):
        nearfield.run("simulate", tmp_path / "noisy.yaml", "--as", "spectra", "-o", tmp_path / "spectra.h5")
    assert caplog.messages == ["spectra hold the sources alone, without the microphones' noise"]
    caplog.clear()
    with pytest.raises(nearfield.UsageError), caplog.at_level("WARNING", logger="nearfield"):
        nearfield.run("simulate", tmp_path / "noisy.yaml")
    assert caplog.messages == [], "an error is the exception"

"""Archives on a cluster of two processes."""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time

import distributed
import h5py
import numpy as np
import pytest
from conftest import CONFIG, monopole

import nearfield
from nearfield import distributed as archives

FIXED = {**CONFIG, "holography": {**CONFIG["holography"], "filter": {"cutoff_rad_per_m": 80}}}
# Of other cadences, a window that is longer than the run's, and a table.
PROCESSORS = {
    "rows": {"kind": "spectrum", "every_hops": 3, "window_samples": 1120},
    "where": {"kind": "srp_phat", "band_hz": [500, 4000], "every_hops": 2, "tracks": {"enabled": False},
              "grid": {"kind": "plane", "distance_m": 1.0, "x_m": [-0.5, 0.5], "y_m": [-0.5, 0.5], "step_m": 0.5}},
}  # fmt: skip
# srp_phat averages its floor without a bound, which these weights do not use: hence allow_unbounded.
GROUPS = ((None, None), ("rows", None), ("where", None), ("where", "sources"))


BIT_TIMES = 100_000  # of a recording


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    scratch = tmp_path_factory.mktemp("scratch")
    with archives.local_cluster(2, scratch) as cluster, distributed.Client(cluster) as connected:
        yield connected
    assert not list(scratch.rglob("part.h5*"))


@pytest.fixture(scope="module")
def whole(folder, capture):
    """One replay of the capture, with all processors."""
    nearfield.replay(capture, folder / "whole.h5", config={**FIXED, "processors": PROCESSORS}, engine="reference").close()
    return folder / "whole.h5"


@pytest.fixture(scope="module")
def surface(folder, capture):
    """One replay of the capture, with the first processor alone."""
    nearfield.replay(capture, folder / "surface.h5", config=FIXED, engine="reference").close()
    return folder / "surface.h5"


@pytest.fixture(scope="module")
def recordings(live):
    """Two recordings of the daemon, one after the other."""
    control = ["ctl", "--socket", live / "control.sock"]
    for name in ("first", "second"):
        nearfield.run(*control, "record", "start", "--bits", "--name", name)
        while json.loads(nearfield.run(*control, "status", "--json"))["recording"]["bit_times"]["stored"] < BIT_TIMES:
            time.sleep(0.05)
        nearfield.run(*control, "record", "stop")
    return [live / "first.nfr", live / "second.nfr"]


def require_same(found, expected, *, but=()):
    """Values bit for bit, dimensions, coordinates and attributes; the archive has one attribute more."""
    assert set(found.variables) == set(expected.variables)
    assert set(found.coords) == set(expected.coords)
    # Which microphones were found bad is known when a replay ends; an archive's frames carry it in flags and numbers alone.
    assert set(found.attrs) - {"archive"} == set(expected.attrs) - {"found_bad_microphones"}
    for name in expected.variables:
        assert found[name].dims == expected[name].dims, name
        assert found[name].dtype == expected[name].dtype, name
        assert set(found[name].attrs) == set(expected[name].attrs), name
        for key, value in expected[name].attrs.items():
            np.testing.assert_array_equal(found[name].attrs[key], value)
        if name not in but:
            assert found[name].values.tobytes() == expected[name].values.tobytes(), name


def require_same_store(store, file, groups=GROUPS):
    for processor, table in groups:
        with nearfield.open_images(store, processor, table) as found, nearfield.open_images(file, processor, table) as expected:
            require_same(found, expected)


@pytest.mark.parametrize(("hops", "warm_up"), [pytest.param(6, 2, marks=pytest.mark.versions), (None, 0)])
def test_shards_of_a_capture_equal_one_replay(client, capture, whole, tmp_path, hops, warm_up):
    shares = []
    found = archives.replay(capture, client, tmp_path / "out.zarr", config={**FIXED, "processors": PROCESSORS}, engine="reference",
                            shard_hops=hops, warm_up=warm_up, allow_unbounded=True, progress=shares.append)
    assert found.sizes["time"] > 6
    found.close()
    assert shares == sorted(shares) and shares[-1] == 1.0 and (len(shares) > 1) == (hops is not None)
    require_same_store(tmp_path / "out.zarr", whole)
    require_read_by_debian(tmp_path / "out.zarr", whole)
    assert not (tmp_path / "out.zarr.shards").exists()


def test_an_images_file_is_that_of_one_replay(client, capture, whole, tmp_path):
    out = tmp_path / "out.h5"
    archives.replay(capture, client, out, config={**FIXED, "processors": PROCESSORS}, engine="reference", shard_hops=6, warm_up=1,
                    allow_unbounded=True).close()
    require_same_store(out, whole)
    nearfield.run("compare", whole, out, "--most-l2", "0")


def test_shards_mask_what_one_replay_masks(client, tmp_path):
    random = np.random.default_rng(1)
    frames, bad, fails_at = 90, 27, 20
    spectra = np.tile(monopole(1007.08, 0.03, -0.01), (frames, 1, 1, 1))
    spectra += 0.3 * (random.standard_normal(spectra.shape) + 1j * random.standard_normal(spectra.shape)).astype(np.complex64)
    spectra[fails_at:, 0, bad // 8, bad % 8] = 0
    with h5py.File(tmp_path / "spectra.h5", "w") as file:
        file.attrs["format"] = np.bytes_("nearfield-spectra")
        file["frequencies_hz"] = [1007.08]
        file["spectra"] = spectra
        file.create_group("geometry").attrs.update({"rows": 8, "columns": 8, "pitch_x_m": 0.02, "pitch_y_m": 0.02, "standoff_m": 0.03})
    nearfield.replay(tmp_path / "spectra.h5", tmp_path / "one.h5", config=FIXED, engine="reference").close()
    archives.replay(tmp_path / "spectra.h5", client, tmp_path / "out.zarr", config=FIXED, engine="reference", shard_hops=30).close()
    with nearfield.open_images(tmp_path / "one.h5") as one, nearfield.open_images(tmp_path / "out.zarr") as out:
        masked = (one["flags"].values & 2) != 0
        assert not masked[:30].any() and masked[-30:].all()
        require_same(out, one)


def test_recordings_follow_on_each_other(client, recordings, tmp_path):
    settings = {"holography.filter.cutoff_rad_per_m": 80}
    # A chunk has frames of both.
    with archives.replay(recordings, client, tmp_path / "out.zarr", settings=settings, engine="reference", warm_up=1, shard_hops=3) as found:
        at = 0
        for recording in recordings:
            expected = nearfield.replay(recording, settings=settings, engine="reference")
            count = expected.sizes["time"]
            assert count > 0
            of_both = ["time", "time_zero_ns", "frames_written"]
            require_same(found.isel(time=slice(at, at + count)), expected, but=of_both)
            zero_ns = int(found.time_zero_ns)
            np.testing.assert_allclose(found.time[at : at + count], (expected.timestamp_ns - zero_ns) * 1e-9, rtol=0, atol=1e-9)
            at += count
        assert found.sizes["time"] == at == int(found.frames_written)


def require_read_by_debian(store, file):
    """Debian's Zarr and xarray alone, whatever this test runs with."""
    read = ("import sys, xarray; found = xarray.open_zarr(sys.argv[1]); rows = xarray.open_zarr(sys.argv[1], group='rows'); "
            "print(found.images.dims, found.images.dtype, found.images.shape, rows.spectrum.shape[0], found.images.attrs['units'], "
            "abs(found.images.values).sum() > 0)")  # fmt: skip
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    said = subprocess.run(["/usr/bin/python3", "-W", "error::RuntimeWarning", "-c", read, str(store)], check=True, capture_output=True,
                          text=True, env=environment).stdout
    with nearfield.open_images(file) as images, nearfield.open_images(file, "rows") as rows:
        assert said.strip() == f"{images.images.dims} complex64 {images.images.shape} {rows.sizes['time']} Pa True"


def test_a_worker_that_is_killed_loses_nothing(client, capture, surface, tmp_path):
    numbers = []

    def kill(_share):
        if not numbers:
            numbers.extend(client.run(os.getpid).values())
            os.kill(numbers[0], signal.SIGKILL)

    archives.replay(capture, client, tmp_path / "out.zarr", config=FIXED, engine="reference", shard_hops=1, warm_up=0,
                    progress=kill).close()
    require_same_store(tmp_path / "out.zarr", surface, GROUPS[:1])
    client.wait_for_workers(2)
    assert numbers[0] not in client.run(os.getpid).values()


def test_a_run_that_was_ended_goes_on(capture, surface, tmp_path):
    """Killed, then interrupted, then left to its end: what was finished is not written again."""
    (tmp_path / "config.yaml").write_text(json.dumps(FIXED))
    out, shards = tmp_path / "out.zarr", tmp_path / "out.zarr.shards"
    command = [sys.executable, "-m", "nearfield.distributed", capture, "-o", out, "-c", tmp_path / "config.yaml", "--engine", "reference",
               "--workers", "1", "--warm-up", "0", "--shard-hops", "1", "-q"]  # fmt: skip
    written = {}
    for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, text=True) as process:
            while len(list(shards.glob("*.done"))) <= len(written):
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.01)
            if number == signal.SIGINT:
                os.killpg(process.pid, number)  # as a terminal does
            else:
                process.kill()
            said = process.communicate(timeout=60)[1]
            assert process.returncode == code, said
        assert "Traceback" not in said
        time.sleep(0.2)  # a worker ends when it sees that its client is gone
        for path, modified in written.items():
            assert path.stat().st_mtime_ns == modified, path
        written = {path: path.stat().st_mtime_ns for path in [*shards.glob("*.done")]}
        assert written
        data = {out / "images" / f"{int(path.stem)}.0.0.0.0" for path in written}
        written |= {path: path.stat().st_mtime_ns for path in data}
    subprocess.run(command, check=True, capture_output=True)
    assert all(path.stat().st_mtime_ns == modified for path, modified in written.items() if path.parent != shards)
    require_same_store(out, surface, GROUPS[:1])
    assert not shards.exists()


class Ended(Exception):
    pass


def begun(capture, client, out, shards):
    """A run that ends when that many shards are there."""

    def end(_share):
        if len(list(out.with_name(f"{out.name}.shards").glob("*.done"))) >= shards:
            raise Ended

    with pytest.raises(Ended):
        archives.replay(capture, client, out, config=FIXED, engine="reference", shard_hops=1, warm_up=0, progress=end)
    time.sleep(1.0)  # tasks under way see that the run is given up


def gone_on_with(capture, client, out, finished):
    """The rest of the run; which of the finished shards were computed again."""
    again = []
    marker = {path: path.stat().st_mtime_ns for path in finished}

    def note(_share):
        again.extend(path for path in finished if path.exists() and path.stat().st_mtime_ns != marker[path] and path not in again)

    archives.replay(capture, client, out, config=FIXED, engine="reference", shard_hops=1, warm_up=0, progress=note).close()
    return again


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def overwrite(path):
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 3)
        file.write(os.urandom(100))


@pytest.mark.parametrize("suffix", ["h5", "zarr"])
def test_damaged_shards_are_computed_again(client, capture, surface, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    begun(capture, client, out, 5)
    finished = sorted(out.with_name(f"{out.name}.shards").glob("*.done"))
    for marker, damage in zip(finished, (overwrite, cut, pathlib.Path.unlink), strict=False):
        shard = int(marker.stem)
        damage(out / "images" / f"{shard}.0.0.0.0" if suffix == "zarr" else marker.with_name(f"{shard:06d}-000000.h5"))
    finished[3].write_text("")
    again = gone_on_with(capture, client, out, finished)
    require_same_store(out, surface, GROUPS[:1])
    assert set(again) == set(finished[:4])


@pytest.mark.parametrize("removed", ["folder", "store"])
def test_a_folder_that_is_removed_under_a_run_is_said_to_be(client, capture, surface, tmp_path, removed):
    out = tmp_path / "out.zarr"

    def remove(_share):
        path = out.with_name("out.zarr.shards") if removed == "folder" else out
        path.rename(tmp_path / f"gone{time.monotonic_ns()}") if path.exists() else None

    run = dict(config=FIXED, engine="reference", shard_hops=1, warm_up=0)
    with pytest.raises(nearfield.IoError, match="it was removed") as caught:
        archives.replay(capture, client, out, **run, progress=remove)
    assert caught.value.exit_code == 74
    if removed == "store" and out.exists():
        shutil.rmtree(out)  # made again by a chunk that was being written
    archives.replay(capture, client, out, **run).close()
    require_same_store(out, surface, GROUPS[:1])


def test_a_folder_that_is_removed_while_a_shard_is_marked_is_said_to_be(tmp_path):
    run_file = tmp_path / "shards" / "run.json"
    run_file.parent.mkdir()
    run_file.touch()
    with pytest.raises(nearfield.IoError, match="it was removed"), archives._wanted(str(run_file)):
        shutil.rmtree(run_file.parent)
        archives._write_at_once(run_file.with_name("000001.done"), "")


def test_workers_that_differ_are_refused(client, capture, tmp_path):
    def use(program):  # a function of a function goes to the workers as it stands
        os.environ["NEARFIELD_PROGRAM"] = program

    def another(command, says):
        program = tmp_path / "nearfield"
        program.write_text(f"""#!/bin/sh
if [ "$1" = {command} ]; then echo '{says}'; else exec {nearfield.program()} "$@"; fi
""")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return str(program)

    run = dict(config=FIXED, warm_up=0, shard_hops=4)
    one = next(iter(client.scheduler_info()["workers"]))
    try:
        client.run(use, another("devices", '[{"name": "A", "platform": "B", "driver": "2"}]'), workers=[one])
        with pytest.raises(nearfield.DeviceError, match=r"the same OpenCL devices.* A \(B, driver 2\)"):
            archives.replay(capture, client, tmp_path / "out.zarr", **run)
        client.run(use, another("--version", "nearfield of another day"), workers=[one])
        with pytest.raises(nearfield.DeviceError, match="expected one version of nearfield"):
            archives.replay(capture, client, tmp_path / "out.zarr", engine="reference", **run)
        assert list(tmp_path.glob("out*")) == []
        archives.replay(capture, client, tmp_path / "out.zarr", engine="reference", **run, allow_unlike=True).close()
    finally:
        client.run(use, nearfield.program(), workers=[one])


@pytest.mark.parametrize("attribute", ["device", "front_end"])
def test_a_shard_of_another_device_or_kernel_is_refused(client, tmp_path, attribute):
    """What a run says of its device and of its front end's kernel is compared with what the plan said."""
    said = {"device": "same", "front_end": "same"}
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file.attrs.update({name: np.bytes_(text) for name, text in (said | {attribute: "one"}).items()})
        file["time"] = np.zeros(4)
    group, part = archives._Group("", 0, {}), archives._Part(0, 0, 4, [(0, 4, 0)])

    def require(expected):
        job = archives._Job("out.zarr", "", "opencl", None, 1, 0, None, {"": expected}, 1, [], [group], [])
        client.submit(archives._require_same, job, part, tmp_path / "part.h5").result()

    require(said | {attribute: "one"})
    with pytest.raises(nearfield.DeviceError, match="expected another, found one"):
        require(said | {attribute: "another"})


def test_a_store_of_another_run_is_refused(client, capture, tmp_path):
    run = dict(engine="reference", shard_hops=4)
    out = tmp_path / "out.zarr"
    archives.replay(capture, client, out, config=FIXED, warm_up=0, **run).close()
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    archives.replay(capture, client, out, config=FIXED, warm_up=0, **run).close()  # nothing is left to do
    with pytest.raises(nearfield.UsageError, match="expected warm_up 1 and found 0") as caught:
        archives.replay(capture, client, out, config=FIXED, warm_up=1, **run)
    assert caught.value.exit_code == 64
    with pytest.raises(nearfield.UsageError, match="expected config"):
        archives.replay(capture, client, out, config=CONFIG, warm_up=0, **run)
    (tmp_path / "own.zarr").mkdir()
    with pytest.raises(nearfield.UsageError, match="found something else"):
        archives.replay(capture, client, tmp_path / "own.zarr", config=FIXED, warm_up=0, **run)
    (tmp_path / "own.h5").write_text("a letter")
    with pytest.raises(nearfield.UsageError, match="found something else"):
        archives.replay(capture, client, tmp_path / "own.h5", config=FIXED, warm_up=0, **run)
    assert (tmp_path / "own.h5").read_text() == "a letter"
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    assert not list(tmp_path.glob("*.shards"))


@pytest.mark.parametrize("name", ["device", "front_end"])
def test_a_store_of_another_device_or_kernel_goes_on_only_where_that_is_allowed(client, capture, surface, tmp_path, name):
    """A store that was begun is as one of another host, or of a kernel that was chosen before the choices were removed."""
    out = tmp_path / "out.zarr"
    run = dict(config=FIXED, engine="reference", shard_hops=4)
    archives.replay(capture, client, out, **run).close()
    store = archives._zarr_of(out)
    key = store.attrs.asdict()["archive"]
    with nearfield.open_images(surface) as images:
        assert key[name] == images.attrs[name]
    store.attrs["archive"] = {**key, name: "another"}
    store["frames_written"][...] = 0  # as an interrupted run leaves it
    with pytest.raises(nearfield.UsageError, match=f"expected {name} .* and found another"):
        archives.replay(capture, client, out, **run)
    assert int(archives._zarr_of(out)["frames_written"][()]) == 0
    archives.replay(capture, client, out, **run, allow_unlike=True).close()
    require_same_store(out, surface, GROUPS[:1])


def test_wrong_calls_say_what_is_wrong(client, capture, images, tmp_path):
    with pytest.raises(nearfield.UsageError, match=r"ends in \.zarr or \.h5, found .*out\.nc"):
        archives.replay(capture, client, tmp_path / "out.nc")
    with pytest.raises(nearfield.UsageError, match="for 2 inputs"):
        archives.replay([capture, capture], client, tmp_path / "out.h5")
    with pytest.raises(nearfield.ConfigError, match="holografy"):
        archives.replay(capture, client, tmp_path / "out.zarr", config={"holografy": {}}, warm_up=0)
    with pytest.raises(FileNotFoundError):
        archives.replay(tmp_path / "none.nfr", client, tmp_path / "out.zarr", warm_up=0)
    with pytest.raises(nearfield.DataError):
        archives.replay(images, client, tmp_path / "out.zarr", warm_up=0)
    with pytest.raises(ValueError, match="warm_up"):
        archives.replay(capture, client, tmp_path / "out.zarr", config=FIXED, engine="reference", warm_up=-1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("words", "found"), [
    (["a.nfr"], "--out"), (["a.nfr", "-o", "b.zarr", "--workers", "0"], "expected a number >= 1, found 0"),
    (["a.nfr", "-o", "b.zarr", "--warm-up", "some"], "found some"), (["a.nfr", "-o", "b.zarr", "--workers", "1", "--scheduler", "c"], "--scheduler"),
])  # fmt: skip
def test_a_wrong_command_line_says_what_is_wrong(words, found, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["archives", *words])
    assert archives.main() == 64
    assert found in capsys.readouterr().err


def test_a_shard_begins_as_early_as_its_memory_is_long(tmp_path):
    def warm_up(asked, *, is_unbounded_allowed=False, **memory):
        with h5py.File(tmp_path / "plan.h5", "w") as file:
            file.create_group("rows")
            for path, hops in memory.items():
                file["/" if path == "surface" else path].attrs["memory_hops"] = hops
        return archives._warm_up_of(tmp_path / "plan.h5", ["surface", "rows"], asked, is_unbounded_allowed=is_unbounded_allowed)

    assert warm_up("auto", surface=60, rows=0) == (0, 60)  # which the replay of a shard computes by itself
    assert warm_up("auto", surface=0, rows=7) == (0, 7)
    assert warm_up("auto", surface=3060, rows=7) == (0, 64)
    assert warm_up(5, surface=60) == (5, 65)
    assert warm_up(0) == (0, 0)
    with pytest.raises(nearfield.UsageError, match="memory_hops"):
        warm_up("auto")
    for asked in ("auto", 100):
        with pytest.raises(nearfield.UsageError, match="processors rows"):
            warm_up(asked, surface=3, rows=-1)
    assert warm_up("auto", surface=3, rows=-1, is_unbounded_allowed=True) == (0, 3)

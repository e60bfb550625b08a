#!/usr/bin/python3
"""What other programs get: both libraries installed into a prefix, and examples built outside the tree against it.

install_test.py BUILD_DIR SOURCE_DIR

examples/engine.c is built by pkg-config and by find_package, examples/controller.c likewise; the images of engine are
those of `nearfield replay`, bit for bit, and so are those of examples/nearfield_mex.c in Octave. libnearfield needs no library that reads HDF5, draws, or reads sound files.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np
import scipy.io

SCENE = """version: 1
array: {rows: 12, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02}
standoff_m: 0.03
duration_s: 0.03
sources: [{kind: monopole, frequency_hz: 1007.080078125, x_m: 0.03, y_m: -0.01, z_m: 0.0, volume_velocity_m3_s: 1.0e-5}]
"""
CONFIG = """version: 1
array: {rows: 12, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}
front_end: {frequencies_hz: [1007.08]}
holography: {standoff_m: 0.03, extrapolation: {order: 4}}
"""
OCTAVE_CONFIG = """version: 1
array: {rows: 8, columns: 10, pitch_x_m: 0.02, pitch_y_m: 0.025, health: {enabled: false}}
holography: {standoff_m: 0.03, planes_m: [0.0, 0.01], extrapolation: {order: 4}}
device: {batch: 1}
"""
PROJECT = """cmake_minimum_required(VERSION 3.24)
project(users LANGUAGES C)
find_package(nearfield ${wanted} CONFIG REQUIRED)
find_package(nearfield_ring ${wanted} CONFIG REQUIRED)
add_executable(engine engine.c)
target_link_libraries(engine PRIVATE nearfield::nearfield)
add_executable(controller controller.c)
target_link_libraries(controller PRIVATE nearfield::ring m)
"""
UNWANTED = ("hdf5", "cairo", "sndfile", "samplerate", "zmq", "systemd", "prometheus")


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.prefix = cls.folder / "prefix"
        for component in ("libnearfield0", "libnearfield-ring3", "libnearfield-dev"):
            run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", component)
        cls.libraries = next(cls.prefix.glob("**/libnearfield.so")).parent

    def require_images_of_a_replay(self, engine):
        (self.folder / "scene.yaml").write_text(SCENE)
        (self.folder / "config.yaml").write_text(CONFIG)
        capture, images = self.folder / "capture.h5", self.folder / "images.h5"
        run(BUILD / "bin/nearfield", "simulate", self.folder / "scene.yaml", "-o", capture)
        run(BUILD / "bin/nearfield", "replay", capture, "-c", self.folder / "config.yaml", "-o", images)
        with h5py.File(capture) as file:
            bits = file["bitstream"][()].tobytes()
        with h5py.File(images) as file:
            expected = file["images"][()]
        environment = ENVIRONMENT | {"LD_LIBRARY_PATH": str(self.libraries)}
        words = "3"  # of a bit-time of 12 x 8 microphones: no power of two
        written = run(engine, self.folder / "config.yaml", words, input=bits, env=environment)
        found = np.frombuffer(written, np.complex64).reshape(expected.shape)
        self.assertGreater(expected.shape[0], 5)
        self.assertGreater(float(abs(expected).max()), 0.0)
        np.testing.assert_array_equal(found, expected)

    def test_a_program_finds_them_by_pkg_config(self):
        environment = ENVIRONMENT | {"PKG_CONFIG_PATH": str(next(self.prefix.glob("**/pkgconfig")))}
        for name, package in (("engine", "nearfield"), ("controller", "nearfield_ring")):
            flags = run("pkg-config", "--cflags", "--libs", package, env=environment).decode().split()
            run("cc", "-std=c11", "-Wall", "-Werror", SOURCE / f"examples/{name}.c", "-o", self.folder / name, *flags, "-lm")
        self.assertEqual(run("pkg-config", "--modversion", "nearfield", env=environment).decode().strip(), self.version())
        self.require_images_of_a_replay(self.folder / "engine")

    def test_a_program_finds_them_by_find_package(self):
        users, built = self.folder / "users", self.folder / "built"
        users.mkdir()
        (users / "CMakeLists.txt").write_text(PROJECT)
        for name in ("engine.c", "controller.c"):
            (users / name).write_text((SOURCE / "examples" / name).read_text())
        run("cmake", "-S", users, "-B", built, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-Dwanted={self.version()}")
        run("cmake", "--build", built)
        self.require_images_of_a_replay(built / "engine")

    def test_octave_images_spectra(self):
        """examples/nearfield_mex.c in Octave: three windows of two frequencies, as `nearfield replay` images them."""
        rows, columns, windows, frequencies_hz = 8, 10, 3, [700.0, 1300.0]
        random = np.random.default_rng(16)
        spectra = (random.standard_normal((windows, 2, rows, columns, 2)) @ [1, 1j]).astype(np.complex64)
        path, images, mex, config = (self.folder / name for name in ("spectra.h5", "octave.h5", "mex", "octave.yaml"))
        with h5py.File(path, "w") as file:
            file.attrs["format"] = np.bytes_("nearfield-spectra")
            file.create_group("geometry").attrs.update(rows=rows, columns=columns, pitch_x_m=0.02, pitch_y_m=0.025, standoff_m=0.03)
            file["frequencies_hz"] = frequencies_hz
            file["spectra"] = spectra
        config.write_text(OCTAVE_CONFIG)
        run(BUILD / "bin/nearfield", "replay", path, "-c", config, "-o", images)
        with h5py.File(images) as file:
            expected = file["images"][()]  # [frame][plane][frequency][y][x]
        mex.mkdir()
        flags = run("pkg-config", "--cflags", "--libs", "nearfield",
                    env=ENVIRONMENT | {"PKG_CONFIG_PATH": str(next(self.prefix.glob("**/pkgconfig")))}).decode().split()
        run("mkoctfile", "--mex", "-std=c11", "-Wall", "-Wextra", "-o", mex / "nearfield_mex.mex", SOURCE / "examples/nearfield_mex.c", *flags, cwd=mex)
        # MATLAB's order: the first axis is the fastest.
        scipy.io.savemat(self.folder / "spectra.mat", {"spectra": spectra.astype(np.complex128).transpose(2, 3, 1, 0)})
        done = run("octave-cli", "--norc", "--quiet", "--eval", f"""
            addpath('{mex}');
            load('{self.folder}/spectra.mat');
            config = fileread('{config}');
            images = nearfield_mex(config, {frequencies_hz}, spectra);
            again = nearfield_mex(config, {frequencies_hz}, spectra(:, :, :, 2));
            assert(isequal(size(again), size(images)(1:4)) && isequal(again, images(:, :, :, :, 2)));
            save('-v6', '{self.folder}/made.mat', 'images');
            try nearfield_mex('nonsense: 1', {frequencies_hz}, spectra); catch problem; disp(problem.message); end_try_catch
            try nearfield_mex(config, 700, spectra); catch problem; disp(problem.message); end_try_catch
        """, env=ENVIRONMENT | {"LD_LIBRARY_PATH": str(self.libraries)}).decode()
        self.assertIn("nearfield (78): ", done)
        self.assertIn("expected as many frequencies as spectra(:, :, i) are", done)
        found = scipy.io.loadmat(self.folder / "made.mat")["images"]
        self.assertGreater(float(abs(expected).max()), 0.0)
        self.assertEqual(expected.shape, (windows, 2, 2, rows, columns))
        np.testing.assert_array_equal(found.transpose(4, 2, 3, 0, 1).astype(np.complex64), expected)

    def version(self):
        return re.search(r"project\(nearfield VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)

    def test_the_library_reads_no_files_of_others_and_shows_its_own_names_alone(self):
        dynamic = run("readelf", "-d", self.libraries / "libnearfield.so").decode()
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        self.assertIn("libOpenCL.so.1", needed)
        self.assertEqual([name for name in needed if any(word in name for word in UNWANTED)], [])
        self.assertRegex(dynamic, r"\(SONAME\).*\[libnearfield\.so\.0\]")
        names = run("nm", "-D", "--defined-only", self.libraries / "libnearfield.so").decode().split("\n")
        shown = {line.split()[2].split("@")[0] for line in names if line} - {"NEARFIELD_0"}
        declared = set(re.findall(r"^[\w* ]*?(nf_\w+)\(", (SOURCE / "include/nearfield/nearfield.h").read_text(), re.MULTILINE))
        self.assertEqual(shown, declared)

    def test_components_hold_what_they_say(self):
        wanted = {"libnearfield0": {f"libnearfield.so.{self.version()}", "libnearfield.so.0"},
                  "libnearfield-ring3": {f"libnearfield_ring.so.{self.version()}", "libnearfield_ring.so.3"},
                  "libnearfield-dev": {"libnearfield.so", "libnearfield_ring.so", "nearfield.h", "nearfield_ring.h", "nearfield.pc",
                                       "nearfield_ring.pc"}}
        for component, names in wanted.items():
            prefix = self.folder / f"only_{component}"
            run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
            found = {path.name for path in prefix.rglob("*")}
            self.assertEqual({name for name in found if ".so" in name or name.endswith((".h", ".pc"))}, names)


if __name__ == "__main__":
    import os
    BUILD, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    ENVIRONMENT = dict(os.environ)
    unittest.main(argv=sys.argv[:1])

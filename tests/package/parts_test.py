#!/usr/bin/python3
"""What packages are made with, without a package: the version of a commit, Debian's changelog, the SPDX document, the packed program.

parts_test.py SOURCE_DIR BIN_DIR
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE, BIN = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
sys.path[:0] = [str(SOURCE / "packaging"), str(SOURCE / "tests/package")]
import changelog  # noqa: E402
import sbom  # noqa: E402
import ten_steps  # noqa: E402

VERSION = re.search(r"project\(nearfield VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
VALID = re.compile(r"[0-9][A-Za-z0-9.+~]*")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **options).stdout


class Version(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve() / "tree"
        self.tree.mkdir()
        (self.tree / "file").write_text("one")

    def git(self, *words):
        return run("git", "-C", self.tree, "-c", "user.name=a", "-c", "user.email=a@b.invalid", *words).strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")
        return self.git("rev-parse", "--short=12", "HEAD")

    def described(self, version="1.2.0", tree=None):
        header = self.tree.parent / "commit.hpp"
        run("cmake", f"-DROOT={tree or self.tree}", f"-DOUTPUT={header}", f"-DVERSION={version}", "-P",
            SOURCE / "cmake/describe_commit.cmake")
        values = dict(re.findall(r'(k\w+)(?:\[\])? = "?([^";]*)"?;', header.read_text()))
        self.assertRegex(values["kVersion"], VALID)
        return values["kVersion"], values["kCommit"], int(values["kCommitTime_s"])

    def test_outside_git(self):
        self.assertEqual(self.described(), ("1.2.0", "unknown", 0))

    def test_in_a_folder_of_anothers_repository(self):
        self.git("init", "-q")
        self.commit()
        (self.tree / "unpacked").mkdir()
        self.assertEqual(self.described(tree=self.tree / "unpacked"), ("1.2.0", "unknown", 0))

    def test_before_at_and_after_a_tag(self):
        self.git("init", "-q")
        versions = []
        for tag in (None, "v1.2.0", None, None):
            commit = self.commit()
            if tag:
                self.git("tag", tag)
            version, found, time_s = self.described()
            self.assertEqual(found, commit)
            self.assertEqual(time_s, int(self.git("log", "-1", "--format=%ct")))
            versions.append((version, commit))
        self.assertEqual([version for version, _ in versions],
                         [f"1.2.0~1.g{versions[0][1]}", "1.2.0", f"1.2.0+1.g{versions[2][1]}", f"1.2.0+2.g{versions[3][1]}"])
        versions.append((self.described("1.3.0")[0], ""))  # the tree is on its way to the next one
        self.assertTrue(versions[-1][0].startswith("1.3.0~4.g"))
        for (older, _), (newer, _) in zip(versions, versions[1:]):
            run("dpkg", "--compare-versions", older, "lt", newer)

    def test_changed_files(self):
        self.git("init", "-q")
        commit = self.commit()
        (self.tree / "file").write_text("two")
        version, found, _ = self.described()
        self.assertEqual((version, found), (f"1.2.0~1.g{commit}.dirty", f"{commit}-dirty"))

    def test_the_header_is_rewritten_only_when_it_changes(self):
        self.described()
        header = self.tree.parent / "commit.hpp"
        os.utime(header, (1, 1))
        self.described()
        self.assertEqual(header.stat().st_mtime, 1)
        self.described("1.2.1")
        self.assertGreater(header.stat().st_mtime, 1)

    def test_programs_print_version_commit_loader_and_licence(self):
        version, commit, _ = self.described(VERSION, SOURCE)
        for program in ("nearfield", "nearfieldd", "nearfield-bench"):
            lines = run(BIN / program, "--version").splitlines()
            self.assertEqual(len(lines), 4)
            self.assertTrue(lines[0].startswith(f"{program} {version.split('.g')[0].split('~')[0].split('+')[0]}"))
            self.assertRegex(lines[1], r"^commit ([0-9a-f]{12}(-dirty)?|unknown)$")
            self.assertRegex(lines[2], r"OpenCL 1\.2.*loader: OpenCL ICD Loader [0-9.]+, OpenCL [0-9.]+")
            self.assertEqual(lines[3], "Apache License 2.0")
        self.assertNotEqual(commit, "")


class OlderCommit(unittest.TestCase):
    """The commit whose packages `./dev package --test` upgrades from."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve()
        (self.tree / "dev").write_text((SOURCE / "dev").read_text())
        self.git("init", "-q")
        self.commit("file")

    def git(self, *words):
        return run("git", "-C", self.tree, "-c", "user.name=a", "-c", "user.email=a@b.invalid", *words).strip()

    def commit(self, *paths):
        """A commit that changes the named files."""
        for path in paths:
            (self.tree / path).parent.mkdir(exist_ok=True)
            with (self.tree / path).open("a") as file:
                file.write("a line\n")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")
        return self.git("rev-parse", "HEAD")

    def older(self, *words):
        return subprocess.run(["bash", "-c", 'source "$0" help >/dev/null; older_commit "$@"', self.tree / "dev", *words],
                              capture_output=True, text=True, check=False)

    def test_no_commit_before_makes_packages(self):
        self.commit("packaging/package.py")
        self.assertEqual((self.older().returncode, self.older().stdout), (1, ""))
        self.assertIn("expected a commit with packaging/package.py, found none before this one", self.older().stderr)

    def test_the_commit_before_where_no_other_changed_packaging(self):
        first = self.commit("packaging/package.py")
        self.commit("file")
        self.assertEqual(self.older().stdout.strip(), first)
        second = self.git("rev-parse", "HEAD")
        self.commit("file")
        self.assertEqual(self.older().stdout.strip(), second)

    def test_the_commit_before_the_newest_change_of_packaging(self):
        self.commit("packaging/package.py")
        before = self.commit("file")
        self.commit("packaging/other")
        self.commit("file")
        self.commit("file")
        self.assertEqual(self.older().stdout.strip(), before)

    def test_the_newest_tag_that_makes_packages(self):
        self.git("tag", "v0.1.0")
        self.commit("packaging/package.py")
        before = self.commit("file")
        self.commit("packaging/other")
        self.commit("file")
        self.assertEqual(self.older().stdout.strip(), before, "v0.1.0 has no packaging/")
        tagged = self.git("rev-parse", "HEAD")
        self.git("tag", "v0.2.0")
        self.commit("packaging/other")
        self.commit("file")
        self.assertEqual(self.older().stdout.strip(), tagged)

    def test_the_commit_that_is_named(self):
        first = self.git("rev-parse", "HEAD")
        second = self.commit("packaging/package.py")
        self.commit("packaging/package.py")
        self.assertEqual(self.older("HEAD^").stdout.strip(), second)
        for wrong in (first, "nothing"):
            self.assertEqual((self.older(wrong).returncode, self.older(wrong).stdout), (1, ""))
            self.assertIn(f"expected a commit with packaging/package.py, found {wrong}", self.older(wrong).stderr)


class Release(unittest.TestCase):
    """`./dev release` where packages and site are made already."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.tree, built = self.folder / "tree", self.folder / "tree/build"
        documents = self.folder / "package/usr/share/doc/nearfield"
        for path in (self.folder / "package/DEBIAN", documents, built / "packages", built / "docs/html"):
            path.mkdir(parents=True)
        (self.folder / "package/DEBIAN/control").write_text("Package: nearfield\nVersion: 1.2.0\nArchitecture: all\n"
                                                            "Maintainer: a <a@b.invalid>\nDescription: n\n")
        (documents / "nearfield.spdx.json").write_text("{}")
        run("dpkg-deb", "--root-owner-group", "-b", self.folder / "package", built / "packages/nearfield_1.2.0_all.deb")
        (built / "packages/nearfield-1.2.0.whl").write_text("wheel")
        for name, text in (("CMakeLists.txt", "project(nearfield VERSION 1.2.0 LANGUAGES C)\n"), (".gitignore", "/build/\n"),
                           ("CHANGELOG.md", "## 1.2.0 (not released yet)\n"), ("dev", (SOURCE / "dev").read_text())):
            (self.tree / name).write_text(text)
        self.git("init", "-q")
        self.commit()

    def git(self, *words):
        run("git", "-C", self.tree, "-c", "user.name=a", "-c", "user.email=a@b.invalid", *words)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a change")

    def released(self, *words, umask=0o022, page="page"):
        shutil.rmtree(self.tree / "build/docs")
        (self.tree / "build/docs/html").mkdir(parents=True)
        (self.tree / "build/docs/html/index.html").write_text(page)
        return subprocess.run(["bash", "-c", 'source "$0" help >/dev/null; make_packages() { :; }; release "$@"', self.tree / "dev", *words],
                              capture_output=True, text=True, check=False, umask=umask)

    def test_it_is_the_same_each_time_and_says_how_it_is_tagged(self):
        said = self.released().stdout
        self.assertIn('git tag -a v1.2.0 -m "Nearfield 1.2.0"', said)
        sums = (self.tree / "build/release_files/SHA256SUMS").read_text()
        self.assertEqual([line.split()[1] for line in sums.splitlines()], [
            "nearfield-1.2.0-site.tar.gz", "nearfield-1.2.0.tar.gz", "nearfield-1.2.0.whl", "nearfield.spdx.json", "nearfield_1.2.0_all.deb"])
        run("sha256sum", "-c", "SHA256SUMS", cwd=self.tree / "build/release_files")
        self.assertEqual(self.released(self.folder / "second", umask=0o077).returncode, 0)
        self.assertEqual((self.folder / "second/SHA256SUMS").read_text(), sums)
        self.released(page="another")
        self.assertNotEqual((self.tree / "build/release_files/SHA256SUMS").read_text(), sums)
        self.assertIn("expected an empty folder", self.released(self.folder / "second").stderr)

    def test_changed_and_new_files_are_refused(self):
        (self.tree / "new").write_text("")
        self.assertIn("release: expected a tree without changes, found\n?? new", self.released().stderr)

    def test_a_tag_needs_the_date_of_its_changes(self):
        self.git("tag", "v1.2.0")
        self.assertIn('expected a heading "## 1.2.0 (DATE)", found "## 1.2.0 (not released yet)"', self.released().stderr)
        self.git("tag", "-d", "v1.2.0")
        (self.tree / "CHANGELOG.md").write_text("## 1.2.0 (2027-01-31)\n")
        self.commit()
        self.git("tag", "v1.2.0")
        done = self.released()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("git tag", done.stdout)


class Changelog(unittest.TestCase):
    TEXT = "# Changes\n\n## Not released yet\n\n### Added\n- A `thing` that\n  goes on.\n\n## 0.2.0 (2027-01-31)\n\n### Changed\n- Another.\n"

    def test_entries_of_all_releases(self):
        found = changelog.of_debian(self.TEXT, "nearfield", "0.3.0~7.gabc", 86400)
        self.assertEqual(found, "nearfield (0.3.0~7.gabc) unstable; urgency=medium\n\n  * Added: A thing that goes on.\n\n"
                                f" -- {changelog.MAINTAINER}  Fri, 02 Jan 1970 00:00:00 +0000\n\n"
                                "nearfield (0.2.0) unstable; urgency=medium\n\n  * Changed: Another.\n\n"
                                f" -- {changelog.MAINTAINER}  Sun, 31 Jan 2027 00:00:00 +0000\n")

    def test_debian_reads_that_of_this_tree(self):
        text = changelog.of_debian((SOURCE / "CHANGELOG.md").read_text(), "nearfield", "1.0", 86400)
        read = run("dpkg-parsechangelog", "-l", "-", "--all", "-S", "Changes", input=text)
        self.assertIn("Debian packages", read)

    def test_the_newest_release_is_that_of_the_tree(self):
        titles = [title for title, _ in changelog.releases((SOURCE / "CHANGELOG.md").read_text())]
        self.assertEqual(next(filter(None, map(changelog.version_of, titles))), VERSION)

    def test_nothing_to_say_is_an_error(self):
        with self.assertRaises(SystemExit):
            changelog.of_debian("# Changes\n", "nearfield", "1.0", 0)


class Document(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "usr/bin").mkdir(parents=True)
        self.program = self.root / "usr/bin/nearfieldd"
        self.program.write_bytes((BIN / "nearfieldd").read_bytes())

    def test_it_lists_files_and_what_is_linked_and_embedded(self):
        document = json.loads(sbom.document(self.root, "nearfield", "1.0", 86400, ("libjs-dygraphs",)))
        self.assertEqual((document["spdxVersion"], document["creationInfo"]["created"]), ("SPDX-2.3", "1970-01-02T00:00:00Z"))
        file, = document["files"]
        self.assertEqual(file["checksums"][1]["checksumValue"], hashlib.sha256(self.program.read_bytes()).hexdigest())
        packages = {package["name"]: package for package in document["packages"]}
        for pattern, licence in ((r"libyaml-cpp0\.\d", "X11"), (r"libhdf5-\d+(-\d)?", "BSD-3-Clause"), ("libjs-dygraphs", "MIT"),
                                 (r"libboost1\.\d+-dev", "BSL-1.0")):
            name, = (name for name in packages if re.fullmatch(pattern, name))
            self.assertEqual(packages[name]["versionInfo"], run("dpkg-query", "-W", "-f=${Version}", name))
            self.assertEqual(packages[name]["licenseDeclared"], licence)
        self.assertNotIn("libcairo2", packages, "nearfieldd draws nothing")
        self.assertNotIn("NOASSERTION", {package["licenseDeclared"] for package in packages.values()})

    def test_its_identifiers_are_what_spdx_permits_and_its_relations_lead_to_them(self):
        document = json.loads(sbom.document(self.root, "nearfield", "1.0", 86400, ("libjs-dygraphs",)))
        names = [part["SPDXID"] for part in document["packages"] + document["files"]] + ["SPDXRef-DOCUMENT"]
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertRegex(name, r"^SPDXRef-[A-Za-z0-9.-]+$")
        for relation in document["relationships"]:
            self.assertIn(relation["spdxElementId"], names)
            self.assertIn(relation["relatedSpdxElement"], names)
        named = {word for part in document["packages"] for word in part["licenseDeclared"].split() if word.startswith("LicenseRef-")}
        self.assertEqual(named, {part["licenseId"] for part in document.get("hasExtractedLicensingInfos", [])})


class TenSteps(unittest.TestCase):
    """How ten_steps.py reads docs/use/your_array.md."""

    def test_commands_of_several_lines_are_one(self):
        self.assertEqual(ten_steps.typed("# a comment\none\n\ntwo \\\n  more\nthree   # why\n"), ["one", "two \\\n  more", "three   # why"])

    def test_the_page_has_commands(self):
        self.assertGreater(sum(len(block) for _, block in ten_steps.blocks(ten_steps.read_page())), 10)


class Autopkgtest(unittest.TestCase):
    """packaging/debian/tests, which package_test.py and wheel_test.py run."""

    def test_its_scripts_can_be_run(self):
        folder = SOURCE / "packaging/debian/tests"
        for name in re.search(r"^Tests: (.+)$", (folder / "control").read_text(), re.MULTILINE).group(1).split():
            self.assertTrue(os.access(folder / name, os.X_OK), name)
            run("sh", "-n", folder / name)


class PackedProgram(unittest.TestCase):
    def test_times_of_files_leave_no_trace(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "report").mkdir()
            sums = []
            for time_s in (400000000, 1700000000):
                (folder / "report/__main__.py").write_text("print('runs')\n")
                os.utime(folder / "report/__main__.py", (time_s, time_s))
                run(sys.executable, "-B", SOURCE / "cmake/pack_program.py", folder / "report", folder / "program")
                sums.append((folder / "program").read_bytes())
            self.assertEqual(sums[0], sums[1])
            self.assertEqual(run(folder / "program"), "runs\n")


class SameFiles(unittest.TestCase):
    """same_files.py, which `./dev package --reproducible` ends with."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def package(self, folder, text="text", time_s=400000000):
        tree = self.path / "tree"
        (tree / "DEBIAN").mkdir(parents=True, exist_ok=True)
        (tree / "DEBIAN/control").write_text("Package: p\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.invalid>\nDescription: p\n")
        (tree / "file").write_text(text)
        for path in (tree, tree / "DEBIAN", tree / "DEBIAN/control", tree / "file"):
            os.utime(path, (time_s, time_s))
        (self.path / folder).mkdir(exist_ok=True)
        run("dpkg-deb", "--root-owner-group", "-b", tree, self.path / folder / "p.deb", env=os.environ | {"SOURCE_DATE_EPOCH": str(time_s)})

    def wheel(self, folder, names):
        (self.path / folder).mkdir(exist_ok=True)
        with zipfile.ZipFile(self.path / folder / "p.whl", "w") as archive:
            for name in names:
                archive.writestr(zipfile.ZipInfo(name), name)

    def compared(self):
        return subprocess.run([sys.executable, "-B", SOURCE / "tests/package/same_files.py", self.path / "one", self.path / "other"],
                              capture_output=True, text=True, check=False)

    def test_the_same(self):
        for folder in ("one", "other"):
            self.package(folder)
            self.wheel(folder, ("a", "b"))
        self.assertEqual(self.compared().returncode, 0)

    def test_what_differs_is_named(self):
        for other, named in (({"text": "another"}, "./file: "), ({"time_s": 400000001}, "./file: ")):
            self.package("one")
            self.package("other", **other)
            done = self.compared()
            self.assertEqual(done.returncode, 1)
            self.assertIn("p.deb: NOT THE SAME", done.stdout)
            self.assertIn(named, done.stdout)

    def test_order_differs(self):
        self.wheel("one", ("a", "b"))
        self.wheel("other", ("b", "a"))
        done = self.compared()
        self.assertEqual(done.returncode, 1)
        self.assertIn("another order", done.stdout)

    def test_one_is_missing(self):
        self.package("one")
        (self.path / "other").mkdir()
        self.assertIn("expected the same packages", self.compared().stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

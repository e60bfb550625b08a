#!/usr/bin/env python3
"""Subjects of commits are `area: effect` (CONTRIBUTING.md): what .githooks/commit-msg lets pass, as git's hook and over the commits of a
landing, and where ./dev has git use it. All in a repository of the test's own."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOK = ".githooks/commit-msg"
GOOD = ["ring: wake two readers from the writer (-20 us)", "docs/results/performance.md: name the GPU", "dot_product: need no table", "health: format",
        "tests: pass 1 µm " + "µ" * 55, "page: focus a field", "cl: know a device\n\nBody.\n", "Merge branch 'x'", 'Revert "Ring: wakes"']
BAD = ["Linted", "Ring: wake", "time data: read", "ring: Wake", "ring:wake", "ring: wakes a reader", "ring: woken and named.", "ring: wake a reader.",
       "ring: waking a reader", "ring: skipped windows", "ring: the wake-up", "ring: " + "w" * 67, "ring: wake\nwithout a body's blank", "", "ring: "]


class Subjects(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "clone"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") and name != "CI"}
        self.environment = {**kept, "HOME": folder.name, "XDG_CONFIG_HOME": folder.name, "GIT_CONFIG_NOSYSTEM": "1"}
        (self.root / ".githooks").mkdir(parents=True)
        self.run_in("git", "init", "-q", "-b", "main")
        for key, value in (("user.name", "A"), ("user.email", "a@example.org")):
            self.run_in("git", "config", key, value)

    def run_in(self, *words, code=0, **variables):
        done = subprocess.run(words, cwd=self.root, env={**self.environment, **variables}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def commit(self, message, code=0):
        self.run_in("git", "commit", "-q", "--allow-empty", "-m", message, code=code)

    def add(self, name):
        shutil.copy(ROOT / name, self.root / name)
        self.run_in("git", "add", name)

    def test_messages(self):
        self.add(HOOK)
        for code, messages in ((0, GOOD + ["fixup! Linted", "# of git\nring: wake\n\n# ---- >8 ----\ndiff"]), (1, BAD)):
            for message in messages:
                with self.subTest(message):
                    (self.root / "message").write_text(message, encoding="utf-8")
                    self.run_in(HOOK, "message", code=code, LC_ALL="C")

    def test_commits_count_from_the_one_that_added_the_hook(self):
        self.commit("Linted")
        self.run_in("git", "branch", "older")
        self.add(HOOK)
        self.commit("Hook")
        self.commit("ring: wake a reader")
        self.run_in("git", "checkout", "-q", "older")
        self.commit("Begun before the hook")
        self.run_in("git", "checkout", "-q", "main")
        self.run_in("git", "merge", "-q", "--no-edit", "older")
        for since in ("", "older", "HEAD"):
            self.run_in(HOOK, "--since", since)
        self.commit("Linted again")
        self.run_in(HOOK, "--since", code=1)
        for since in ("older", "HEAD~"):
            self.run_in(HOOK, "--since", since, code=1)
        self.run_in(HOOK, "--since", "HEAD")
        self.run_in(HOOK, "--since", "no_commit", code=128)

    def use_hooks(self, **variables):
        self.run_in("bash", "-c", "source ./dev help >/dev/null; use_hooks", **variables)
        return self.run_in("git", "config", "--default", "", "core.hooksPath")

    def test_dev_has_git_use_it(self):
        for name in ("dev", HOOK):
            self.add(name)
        self.assertEqual(self.use_hooks(CI="true"), "")
        own = self.root / ".git/hooks/pre-push"
        own.parent.mkdir(exist_ok=True)
        own.write_text("")
        self.assertEqual(self.use_hooks(), "", "a hook of the clone's own stays in use")
        own.unlink()
        self.assertEqual(self.use_hooks(), ".githooks")
        self.commit("Linted", code=1)
        self.commit("ring: wake a reader")
        self.run_in("git", "config", "core.hooksPath", "elsewhere")
        self.assertEqual(self.use_hooks(), "elsewhere")

    def test_dev_leaves_other_repositories_alone(self):
        for name in ("dev", HOOK):
            (self.root / "part" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / "part" / name)
        self.run_in("bash", "-c", "source part/dev help >/dev/null; use_hooks")
        self.assertEqual(self.run_in("git", "config", "--default", "", "core.hooksPath"), "")
        shutil.rmtree(self.root / ".git")
        self.run_in("bash", "-c", "source part/dev help >/dev/null; use_hooks")


if __name__ == "__main__":
    unittest.main()

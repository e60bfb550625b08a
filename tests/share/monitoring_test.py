#!/usr/bin/env python3
"""share/grafana and share/prometheus against a daemon's /metrics: every metric that they name is there, Prometheus's own
tool reads the metrics and the rules, and the rules give their alarms (rules_test.yaml).

    monitoring_test.py BIN

Needs promtool, which `./dev test` fetches into build/promtool, and Debian's package python3-prometheus-client.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

PATIENCE_S = 120
ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "share/prometheus/nearfield_rules.yml"
PROMTOOL = ROOT / "build/promtool/usr/bin/promtool"
BOARD = ROOT / "share/grafana/nearfield.json"
NAME = re.compile(r"\b((?:nearfield|process)_[a-z0-9_]+)\b(?!\s*=~?)")

CONFIGURATION = """
version: 1
array: {rows: 8, columns: 8, layout: row-major}
front_end: {window_samples: 128, hop_samples: 256, frequencies_hz: [1464.84375]}
holography: {extrapolation: {order: 4}}
daemon:
  source: {kind: udp, address: '127.0.0.1:0'}
  publish: {ring: {socket: frames.sock}}
  control: {socket: control.sock}
  recording: {directory: .}
  metrics: {address: '127.0.0.1:0'}
  page: {address: off}
  limits: {loud: {above: 1}}
"""


def promtool(*arguments, text=None):
    done = subprocess.run([PROMTOOL, *map(str, arguments)], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def names_in(expressions):
    return {name for expression in expressions for name in NAME.findall(expression)}


class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="nearfield-monitoring-") as name:
            folder = pathlib.Path(name)
            (folder / "nearfieldd.yaml").write_text(CONFIGURATION)
            cls.begun = time.time()
            with open(folder / "log", "w") as log:
                daemon = subprocess.Popen([BIN / "nearfieldd", "-c", "nearfieldd.yaml"], cwd=folder, stderr=log)
            try:
                end = time.monotonic() + PATIENCE_S
                while "frames a second on" not in (folder / "log").read_text():
                    assert daemon.poll() is None and time.monotonic() < end, (folder / "log").read_text()
                    time.sleep(0.02)
                port = re.search(r"metrics at port (\d+)", (folder / "log").read_text())[1]
                url = f"http://127.0.0.1:{port}/metrics"
                urllib.request.urlopen(url).read()
                cls.text = urllib.request.urlopen(url).read().decode()
                cls.status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text()
            finally:
                daemon.terminate()
                daemon.wait()
        cls.families = {family.name: family for family in text_string_to_metric_families(cls.text)}
        cls.names = {sample.name for family in cls.families.values() for sample in family.samples}

    def value(self, name):
        (sample,) = [sample for family in self.families.values() for sample in family.samples if sample.name == name]
        return sample.value

    def test_promtool_reads_the_metrics(self):
        code, said = promtool("check", "metrics", text=self.text)
        self.assertEqual((code, said), (0, ""))

    def test_the_process_is_described(self):
        kilobytes = int(re.search(r"VmRSS:\s+(\d+) kB", self.status)[1])
        self.assertLess(abs(self.value("process_resident_memory_bytes") / 1024 / kilobytes - 1), 0.2)
        self.assertEqual(self.value("process_threads"), int(re.search(r"Threads:\s+(\d+)", self.status)[1]))
        self.assertGreater(self.value("process_cpu_seconds_total"), 0)
        self.assertLess(abs(self.value("process_start_time_seconds") - self.begun), 5)
        self.assertGreater(self.value("process_open_fds"), 5)
        self.assertLess(self.value("process_open_fds"), self.value("process_max_fds"))
        self.assertGreater(self.value("process_virtual_memory_bytes"), self.value("process_resident_memory_bytes"))

    def test_the_build_is_named(self):
        (sample,) = self.families["nearfield_build_info"].samples
        self.assertRegex(sample.labels["version"], r"^\d+\.\d+\.\d+")
        self.assertRegex(sample.labels["commit"], r"^([0-9a-f]{7,}(-dirty)?|unknown)$")

    def test_every_metric_of_the_rules_is_there(self):
        expressions = re.findall(r"^\s+expr: (.+)$", RULES.read_text(), re.MULTILINE)
        names = names_in(expressions)
        self.assertGreater(len(names), 10)
        self.assertEqual(names - self.names, set())

    def test_every_metric_of_the_board_is_there(self):
        board = json.loads(BOARD.read_text())
        expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
        names = names_in(expressions)
        self.assertGreater(len(names), 20)
        self.assertEqual(names - self.names, set())
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))

    def test_every_metric_is_on_the_page(self):
        page = (ROOT / "docs/reference/metrics.md").read_text()
        named = set(re.findall(r"`((?:nearfield|process)_[a-z_]+)`", page))
        served = {family if not self.families[family].type == "counter" else family + "_total" for family in self.families}
        self.assertEqual(served - named, set())
        self.assertEqual(named - served - self.names, set())

    def test_the_board_is_read_by_prometheus(self):
        """Each of its queries, as a rule: promtool parses it."""
        board = json.loads(BOARD.read_text())
        rules = "groups:\n  - name: board\n    rules:\n"
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                expression = target["expr"].replace("$instance", ".*")
                rules += f"      - {{record: 'x:y{panel['id']}{target['refId']}', expr: {json.dumps(expression)}}}\n"
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write(rules)
            file.flush()
            code, said = promtool("check", "rules", file.name)
        self.assertEqual(code, 0, said)

    def test_the_rules_load_and_give_their_alarms(self):
        code, said = promtool("check", "rules", RULES)
        self.assertEqual(code, 0, said)
        code, said = promtool("test", "rules", ROOT / "tests/share/rules_test.yaml")
        self.assertEqual(code, 0, said)

    def test_every_rule_has_a_test(self):
        alarms = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
        tested = set(re.findall(r"alertname: (\w+)\s+exp_alerts:\s+- exp", (ROOT / "tests/share/rules_test.yaml").read_text()))
        self.assertEqual(alarms - tested, set())


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()

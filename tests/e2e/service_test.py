#!/usr/bin/env python3
"""Scheme listing, health, metadata, logs, the HTTP port and metrics of a server."""

import re
import subprocess
import unittest

import grpc

import wire
from daemon import Daemon
from tools import needs

SERVICES = ("locus.v1.EncodingService", "locus.v1.AttentionService",
            "locus.v1.EvaluationService")
SERVING, NOT_SERVING = 1, 2
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def sinusoidal_request(count=4):
    request = wire.EncodeRequest(dim=8)
    request.scheme.sinusoidal.SetInParent()
    request.positions.range.count = count
    return request


class ServiceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)
        cls.client = wire.Client(cls.daemon.grpc_port)
        cls.addClassCleanup(cls.client.close)

    # Listing.

    def test_lists_every_scheme_of_the_contract(self):
        listed = self.client(wire.LIST_SCHEMES, wire.ListSchemesRequest()).schemes
        fields = wire.Scheme.DESCRIPTOR.oneofs_by_name["kind"].fields
        self.assertEqual([s.name for s in listed], [f.name for f in fields])
        for scheme, field in zip(listed, fields):
            self.assertEqual([p.name for p in scheme.parameters],
                             sorted_by_listing(scheme, field.message_type))
            self.assertTrue(scheme.title and scheme.reference and scheme.beyond_training)
            self.assertNotEqual(scheme.acts_on, 0)
            self.assertEqual(len(scheme.promises), 13)

    # Health.

    def check(self, service):
        request = wire.HealthCheckRequest(service=service)
        return self.client(wire.HEALTH_CHECK, request).status

    def test_every_service_is_healthy(self):
        for service in ("", *SERVICES):
            self.assertEqual(self.check(service), SERVING, service)

    def test_health_of_an_unknown_service_is_not_found(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.check("locus.v1.NoSuchService")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_health_watch_begins_with_the_current_state(self):
        for service in ("", *SERVICES):
            watch = self.client.channel.unary_stream(
                wire.HEALTH_WATCH, request_serializer=wire.HealthCheckRequest.SerializeToString,
                response_deserializer=wire.HealthCheckResponse.FromString)
            stream = watch(wire.HealthCheckRequest(service=service), timeout=10)
            self.assertEqual(next(stream).status, SERVING)
            stream.cancel()

    # Metadata.

    def test_response_has_request_id_and_timings(self):
        _, trailing = self.client.call(wire.ENCODE, sinusoidal_request())
        self.assertTrue(trailing["x-request-id"])
        for key in ("locus-queue-us", "locus-compute-us"):
            self.assertRegex(trailing[key], r"^\d+$")

    def test_error_has_request_id_and_timings(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.client(wire.ENCODE, wire.EncodeRequest())
        trailing = dict(caught.exception.trailing_metadata())
        for key in ("x-request-id", "locus-queue-us", "locus-compute-us"):
            self.assertIn(key, trailing)

    def test_returns_the_request_id_of_the_client(self):
        _, trailing = self.client.call(wire.ENCODE, sinusoidal_request(),
                                       metadata=[("x-request-id", "client-17")])
        self.assertEqual(trailing["x-request-id"], "client-17")

    def test_generated_request_ids_are_unique(self):
        ids = {self.client.call(wire.ENCODE, sinusoidal_request())[1]["x-request-id"]
               for _ in range(5)}
        self.assertEqual(len(ids), 5)

    # Logs.

    def test_log_has_one_line_per_call(self):
        self.client.call(wire.ENCODE, sinusoidal_request(),
                         metadata=[("x-request-id", "logged-once"), ("traceparent", TRACE)])
        self.daemon.log.wait_for(lambda e: e.get("request_id") == "logged-once")
        lines = [e for e in self.daemon.log.events() if e.get("request_id") == "logged-once"]
        self.assertEqual(len(lines), 1)
        self.assertEqual(lines[0]["method"], wire.ENCODE)
        self.assertEqual(lines[0]["code"], "OK")
        self.assertEqual(lines[0]["traceparent"], TRACE)

    def test_client_metadata_cannot_forge_log_events(self):
        hostile = 'x","event":"forged'
        self.client.call(wire.ENCODE, sinusoidal_request(),
                         metadata=[("x-request-id", hostile), ("traceparent", hostile)])
        self.client.call(wire.ENCODE, sinusoidal_request(), metadata=[("x-request-id", "after")])
        self.daemon.log.wait_for(lambda e: e.get("request_id") == "after")
        self.assertNotIn("forged", [e["event"] for e in self.daemon.log.events()])

    # HTTP.

    def test_http_port_serves_probes_and_rejects_other_requests(self):
        self.assertEqual(self.daemon.http("/healthz")[0], 200)
        self.assertEqual(self.daemon.http("/livez")[0], 200)
        self.assertEqual(self.daemon.http("/readyz")[0], 200)
        self.assertEqual(self.daemon.http("/no-such-page")[0], 404)
        self.assertEqual(self.daemon.http("/metrics", method="POST")[0], 405)

    def test_metrics_count_calls(self):
        before = self.daemon.metric("grpc_server_handled_total")
        for _ in range(3):
            self.client(wire.ENCODE, sinusoidal_request())
        self.assertGreaterEqual(self.daemon.metric("grpc_server_handled_total"), before + 3)
        self.assertEqual(self.daemon.metric("locus_in_flight_calls"), 0)

    def test_metric_names_follow_conventions(self):
        self.client(wire.ENCODE, sinusoidal_request())
        _, text = self.daemon.http("/metrics")
        for name in ("grpc_server_started_total", "grpc_server_handled_total",
                     "grpc_server_handling_seconds_bucket"):
            self.assertIn(name, text)
        self.assertIn('le="1e-05"', text)
        for name in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE):
            self.assertRegex(name, r"^(grpc_server_|locus_|process_)")

    def test_metrics_exist_before_the_first_event(self):
        _, text = self.daemon.http("/metrics")
        for line in ("locus_evaluations_in_progress 0", "locus_evaluation_cells_total 0",
                     "locus_evaluation_steps_total 0",
                     'locus_admitted_calls_total{cost_class="long"} 0',
                     'locus_rejected_calls_total{reason="evaluations"} 0'):
            self.assertIn(line, text.splitlines())
        self.assertIn('grpc_type="server_stream"', text)

    def test_metrics_contain_no_text_of_clients(self):
        request = wire.AttendRequest()
        request.scheme.none.SetInParent()
        request.module.tokens.append("unmistakable-token")
        self.client(wire.ATTEND, request, metadata=[("x-request-id", "unmistakable-id")])
        self.assertNotIn("unmistakable", self.daemon.http("/metrics")[1])

    @needs("promtool")
    def test_promtool_accepts_the_metrics(self):
        self.client(wire.ENCODE, sinusoidal_request())
        checked = subprocess.run(["promtool", "check", "metrics"], text=True, timeout=60,
                                 input=self.daemon.http("/metrics")[1], capture_output=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))


def sorted_by_listing(scheme, message_type):
    """The field names of a scheme's message, in the order of its listed parameters."""
    order = {parameter.name: i for i, parameter in enumerate(scheme.parameters)}
    return sorted(field_names(message_type), key=lambda name: order.get(name, -1))


def field_names(message_type):
    """The field names of a message. A message field is followed by its own fields with their
    paths, such as yarn.factor."""
    names = []
    for field in message_type.fields:
        names.append(field.name)
        inner = field.message_type
        if inner is not None and inner.name != "Tensor":
            names += [f"{field.name}.{name}" for name in field_names(inner)]
    return names


if __name__ == "__main__":
    unittest.main()

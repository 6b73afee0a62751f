#!/usr/bin/env python3
"""What a real server is besides its numbers: listing, health, reflection, metadata, metrics."""

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
            self.assertEqual(len(scheme.promises), 9)

    # Health.

    def check(self, service):
        request = wire.HealthCheckRequest(service=service)
        return self.client(wire.HEALTH_CHECK, request).status

    def test_health_of_each_service(self):
        for service in ("", *SERVICES):
            self.assertEqual(self.check(service), SERVING, service)

    def test_health_of_an_unknown_service(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.check("locus.v1.NoSuchService")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_health_watch_begins_with_the_state(self):
        for service in ("", *SERVICES):
            watch = self.client.channel.unary_stream(
                wire.HEALTH_WATCH, request_serializer=wire.HealthCheckRequest.SerializeToString,
                response_deserializer=wire.HealthCheckResponse.FromString)
            stream = watch(wire.HealthCheckRequest(service=service), timeout=10)
            self.assertEqual(next(stream).status, SERVING)
            stream.cancel()

    # Reflection.

    def test_reflection_lists_the_services(self):
        """The request is written by hand: list_services (field 7) of "*"."""
        reflect = self.client.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=bytes, response_deserializer=bytes)
        stream = reflect(iter([b"\x3a\x01*"]), timeout=10)
        answer = next(stream)
        stream.cancel()
        for service in (*SERVICES, "grpc.health.v1.Health"):
            self.assertIn(service.encode(), answer)

    # Metadata.

    def test_trailing_metadata_of_an_answer(self):
        _, trailing = self.client.call(wire.ENCODE, sinusoidal_request())
        self.assertTrue(trailing["x-request-id"])
        for key in ("locus-queue-us", "locus-compute-us"):
            self.assertRegex(trailing[key], r"^\d+$")

    def test_trailing_metadata_of_an_error(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.client(wire.ENCODE, wire.EncodeRequest())
        trailing = dict(caught.exception.trailing_metadata())
        for key in ("x-request-id", "locus-queue-us", "locus-compute-us"):
            self.assertIn(key, trailing)

    def test_request_id_is_the_callers(self):
        _, trailing = self.client.call(wire.ENCODE, sinusoidal_request(),
                                       metadata=[("x-request-id", "mine-17")])
        self.assertEqual(trailing["x-request-id"], "mine-17")

    def test_request_ids_differ(self):
        ids = {self.client.call(wire.ENCODE, sinusoidal_request())[1]["x-request-id"]
               for _ in range(5)}
        self.assertEqual(len(ids), 5)

    # Logs.

    def test_one_line_per_call(self):
        self.client.call(wire.ENCODE, sinusoidal_request(),
                         metadata=[("x-request-id", "logged-once"), ("traceparent", TRACE)])
        self.daemon.log.wait_for(lambda e: e.get("request_id") == "logged-once")
        lines = [e for e in self.daemon.log.events() if e.get("request_id") == "logged-once"]
        self.assertEqual(len(lines), 1)
        self.assertEqual(lines[0]["method"], wire.ENCODE)
        self.assertEqual(lines[0]["code"], "OK")
        self.assertEqual(lines[0]["traceparent"], TRACE)

    def test_a_callers_text_cannot_forge_a_line(self):
        hostile = 'x","event":"forged'
        self.client.call(wire.ENCODE, sinusoidal_request(),
                         metadata=[("x-request-id", hostile), ("traceparent", hostile)])
        self.client.call(wire.ENCODE, sinusoidal_request(), metadata=[("x-request-id", "after")])
        self.daemon.log.wait_for(lambda e: e.get("request_id") == "after")
        self.assertNotIn("forged", [e["event"] for e in self.daemon.log.events()])

    # HTTP.

    def test_health_over_http(self):
        self.assertEqual(self.daemon.http("/healthz")[0], 200)
        self.assertEqual(self.daemon.http("/readyz")[0], 200)
        self.assertEqual(self.daemon.http("/no-such-page")[0], 404)
        self.assertEqual(self.daemon.http("/metrics", method="POST")[0], 405)

    def test_metrics_count_calls(self):
        before = self.daemon.metric("grpc_server_handled_total")
        for _ in range(3):
            self.client(wire.ENCODE, sinusoidal_request())
        self.assertGreaterEqual(self.daemon.metric("grpc_server_handled_total"), before + 3)
        self.assertEqual(self.daemon.metric("locus_in_flight_calls"), 0)

    def test_metrics_are_named_as_the_ecosystem_names_them(self):
        self.client(wire.ENCODE, sinusoidal_request())
        _, text = self.daemon.http("/metrics")
        for name in ("grpc_server_started_total", "grpc_server_handled_total",
                     "grpc_server_handling_seconds_bucket"):
            self.assertIn(name, text)
        self.assertIn('le="1e-05"', text)
        ours = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
        for name in ours:
            self.assertRegex(name, r"^(grpc_server_|locus_|process_)")

    def test_metrics_are_there_before_anything_happened(self):
        _, text = self.daemon.http("/metrics")
        for line in ("locus_evaluations_in_progress 0", "locus_evaluation_cells_total 0",
                     "locus_evaluation_steps_total 0",
                     'locus_admitted_calls_total{lane="long"} 0',
                     'locus_shed_calls_total{reason="evaluations"} 0'):
            self.assertIn(line, text.splitlines())
        self.assertIn('grpc_type="server_stream"', text)

    def test_metrics_keep_callers_strings_out(self):
        request = wire.AttendRequest()
        request.scheme.none.SetInParent()
        request.module.tokens.append("unmistakable-word")
        self.client(wire.ATTEND, request, metadata=[("x-request-id", "unmistakable-id")])
        self.assertNotIn("unmistakable", self.daemon.http("/metrics")[1])

    @needs("promtool")
    def test_promtool_accepts_the_metrics(self):
        self.client(wire.ENCODE, sinusoidal_request())
        checked = subprocess.run(["promtool", "check", "metrics"], text=True, timeout=60,
                                 input=self.daemon.http("/metrics")[1], capture_output=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))


def sorted_by_listing(scheme, message_type):
    """The fields of a scheme's message, in the order in which its parameters are listed."""
    order = {parameter.name: i for i, parameter in enumerate(scheme.parameters)}
    return sorted(field_names(message_type), key=lambda name: order.get(name, -1))


def field_names(message_type):
    """Those of a message inside it follow it, as yarn.factor."""
    names = []
    for field in message_type.fields:
        names.append(field.name)
        inner = field.message_type
        if inner is not None and inner.name != "Tensor":
            names += [f"{field.name}.{name}" for name in field_names(inner)]
    return names


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""deploy/haproxy/public.cfg with a real HAProxy in front of a real locusd: calls through it, its
limits, and floods against it."""

import os
import subprocess
import tempfile
import time
import unittest

import grpc
import numpy as np
from google.protobuf import text_format

import http2
import wire
from certificates import Authority, read
from daemon import SANITIZED, Daemon
from flood_bench import Target, run_flood
from floods import LARGE, SOURCE
from haproxy import PublicFace
from tools import needs

LOCUS = os.environ.get("LOCUS", "locus")
SMALL = text_format.Parse("scheme { rope {} } dim: 8 positions { range { count: 4 } }",
                          wire.EncodeRequest())
TINY_EVALUATION = """
  schemes { none {} } schemes { rope {} }
  trained { text {} model { dim: 16 layer_count: 1 head_count: 2 }
            training { step_count: 20 batch_size: 4 } }
  train_length: 16 eval_lengths: 16 eval_lengths: 32 seed: 7 seed_count: 2"""
# Takes half an hour or more.
LONG_EVALUATION = """
  schemes { rope {} } schemes { none {} }
  trained { text {} training { step_count: 400 } } train_length: 64 seed_count: 64"""


class SecureClient(wire.Client):
    """A client that connects to HAProxy with TLS."""

    def __init__(self, face, certificate=None, key=None):  # pylint: disable=super-init-not-called
        credentials = grpc.ssl_channel_credentials(
            read(face.ca), read(key) if key else None, read(certificate) if certificate else None)
        self.channel = grpc.secure_channel(
            face.address, credentials,
            options=[("grpc.max_receive_message_length", -1),
                     ("grpc.max_send_message_length", -1),
                     ("grpc.use_local_subchannel_pool", 1)])


def wait_until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"timed out after {seconds} s waiting until {what}")
        time.sleep(0.02)  # Metrics can only be polled.


class FaceTest(unittest.TestCase):
    """Starts locusd and HAProxy for a test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def daemon(self, *flags):
        daemon = Daemon("--threads=2", "--background-evaluations=false", *flags)
        self.addCleanup(daemon.stop)
        return daemon

    def face(self, daemon, **settings):
        face = PublicFace(self.folder, daemon, **settings)
        face.__enter__()
        self.addCleanup(face.__exit__)
        return face

    def client(self, face, *files):
        client = SecureClient(face, *files)
        self.addCleanup(client.close)
        return client

    def raw(self, face, **options):
        context = http2.tls_context(face.ca)
        connection = http2.Connection("127.0.0.1", face.port, context=context, source=SOURCE,
                                      **options)
        self.addCleanup(connection.close)
        return connection

    def assert_fails(self, code, call, *arguments, **options):
        with self.assertRaises(grpc.RpcError) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.code(), code, caught.exception)
        return caught.exception


@needs("haproxy", "openssl")
class CallsTest(FaceTest):
    def test_configuration_is_valid_without_a_warning(self):
        daemon = self.daemon()
        authority = Authority(self.folder, "ca").certificate
        for settings in ({}, {"CLIENT_CA": authority},
                         {"SERVER_CA": authority, "SERVER_NAME": "localhost"}):
            checked = PublicFace(self.folder, daemon, **settings).check()
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertNotIn("WARNING", checked.stderr)

    def test_values_are_those_of_the_server(self):
        daemon = self.daemon()
        client = self.client(self.face(daemon))
        direct = wire.Client(daemon.grpc_port)
        self.addCleanup(direct.close)
        request = wire.AttendRequest()
        request.scheme.rope.SetInParent()
        values = np.random.default_rng(1).normal(size=(1, 8, 2048, 64))
        for name in "qkv":
            getattr(request.heads, name).CopyFrom(wire.tensor(values))
        for path, message in ((wire.ENCODE, SMALL), (wire.ATTEND, request),
                              (wire.LIST_SCHEMES, wire.ListSchemesRequest())):
            self.assertEqual(client(path, message), direct(path, message))

    def test_evaluation_streams_until_its_summary(self):
        client = self.client(self.face(self.daemon()))
        request = text_format.Parse(TINY_EVALUATION, wire.EvaluateRequest())
        kinds = [response.WhichOneof("event") for response in client.stream(wire.EVALUATE, request)]
        self.assertIn("cell", kinds)
        self.assertEqual(kinds[-1], "summary")

    def test_progress_of_an_evaluation_arrives_at_once_and_cancellation_reaches_the_server(self):
        daemon = self.daemon()
        client = self.client(self.face(daemon))
        request = text_format.Parse(LONG_EVALUATION, wire.EvaluateRequest())
        stream = client.stream(wire.EVALUATE, request, timeout=300)
        self.assertEqual(next(stream).WhichOneof("event"), "progress")
        self.assertEqual(daemon.metric("locus_evaluations_in_progress"), 1)
        stream.cancel()
        wait_until(lambda: not daemon.metric("locus_evaluations_in_progress"),
                   "the evaluation has stopped")

    def test_deadline_reaches_the_server(self):
        """The server ends an evaluation with a partial summary only if it knows the deadline."""
        client = self.client(self.face(self.daemon()))
        request = text_format.Parse(LONG_EVALUATION, wire.EvaluateRequest())
        events = list(client.stream(wire.EVALUATE, request, timeout=20 if SANITIZED else 5))
        self.assertEqual(events[-1].WhichOneof("event"), "summary")

    def test_error_details_pass_through(self):
        client = self.client(self.face(self.daemon()))
        wrong = text_format.Parse("scheme { rope {} } dim: 7 positions { range { count: 4 } }",
                                  wire.EncodeRequest())
        error = self.assert_fails(grpc.StatusCode.INVALID_ARGUMENT, client, wire.ENCODE, wrong)
        status, details = wire.details_of(error)
        self.assertEqual(status.message, error.details())
        self.assertEqual(details["BadRequest"].field_violations[0].field, "scheme.rope.rotary_dim")

    def test_silent_stream_outlives_the_client_timeout(self):
        daemon = self.daemon("--grace-seconds=5")
        client = self.client(self.face(daemon, CLIENT_TIMEOUT="1s"))
        watch = client.stream(wire.HEALTH_WATCH, wire.HealthCheckRequest(), timeout=60,
                              deserialize=wire.HealthCheckResponse.FromString)
        self.assertEqual(next(watch).status, 1)
        time.sleep(3)  # longer than the timeout
        daemon.terminate()
        self.assertEqual(next(watch).status, 2)

    def test_idle_connection_outlives_the_other_timeouts(self):
        connection = self.raw(self.face(self.daemon(), CLIENT_TIMEOUT="1s"))
        block = http2.call_block(wire.ENCODE, scheme="https")
        for stream in (1, 3):
            connection.send(http2.headers(stream, block) + http2.data(
                stream, http2.message(SMALL.SerializeToString()), end=True))
            connection.wait(time.monotonic() + 10, lambda s=stream: s in connection.ended)
            self.assertIn(stream, connection.ended)
            if stream == 1:
                connection.wait(time.monotonic() + 7)  # longer than timeout http-request
        self.assertIsNone(connection.goaway)

    def test_unread_response_ends_after_the_client_timeout(self):
        daemon = self.daemon()
        connection = self.raw(self.face(daemon, CLIENT_TIMEOUT="1s"),
                              values={http2.INITIAL_WINDOW_SIZE: 0})
        block = http2.call_block(wire.ENCODE, scheme="https")
        connection.send(http2.headers(1, block) + http2.data(
            1, http2.message(LARGE.SerializeToString()), end=True))
        wait_until(lambda: daemon.metric("locus_memory_reserved_bytes") > 100e6,
                   "the response is computed")
        wait_until(lambda: daemon.metric("locus_memory_reserved_bytes") == 0,
                   "its memory is released")

    def test_command_line_works_with_the_authority(self):
        token = os.path.join(self.folder, "token")
        with open(token, "w", encoding="ascii") as file:
            file.write("a-token-of-this-test-alone\n")
        face = self.face(self.daemon(f"--auth-tokens={token}"))
        for command in (("health",), ("encode", "--scheme", "rope", "--dim", "8")):
            done = subprocess.run(
                [LOCUS, *command, "--server", face.address, "--ca", face.ca, "--token-file", token,
                 "--timeout", "20s"],
                capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_server_tls_is_verified(self):
        authority, other = Authority(self.folder, "ca"), Authority(self.folder, "other")
        certificate, key = authority.issue("server")
        daemon = self.daemon(f"--tls-cert={certificate}", f"--tls-key={key}")
        for ca, name, valid in ((authority, "localhost", True), (other, "localhost", False),
                                (authority, "example.org", False)):
            try:
                face = self.face(daemon, SERVER_CA=ca.certificate, SERVER_NAME=name)
            except AssertionError as error:
                # The health check verifies the certificate as well.
                self.assertFalse(valid)
                self.assertIn("Layer6 invalid response", str(error))
                continue
            client = self.client(face)
            if valid:
                client(wire.ENCODE, SMALL)
            else:
                self.assert_fails(grpc.StatusCode.UNAVAILABLE, client, wire.ENCODE, SMALL)

    def test_client_certificates_are_verified(self):
        authority = Authority(self.folder, "clients")
        face = self.face(self.daemon(), CLIENT_CA=authority.certificate)
        self.client(face, *authority.issue("client"))(wire.ENCODE, SMALL)
        self.assert_fails(grpc.StatusCode.UNAVAILABLE, self.client(face), wire.ENCODE, SMALL)


@needs("haproxy", "openssl")
class LimitsTest(FaceTest):
    def test_other_methods_are_rejected(self):
        daemon = self.daemon()
        client = self.client(self.face(daemon))
        for path in ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                     "/unknown.Service/Method"):
            self.assert_fails(grpc.StatusCode.UNIMPLEMENTED, client, path, b"")

    def test_connections_of_an_address_are_limited(self):
        daemon = self.daemon()
        face = self.face(daemon, MAX_CONNECTIONS=3)
        kept = [self.raw(face) for _ in range(3)]
        for connection in kept:
            connection.wait(time.monotonic() + 10, lambda c=connection: c.server_settings)
        # Less than the timeout of a connection without a call.
        with self.assertRaises(OSError):
            self.raw(face).wait(time.monotonic() + 3)
        self.client(face)(wire.ENCODE, SMALL)  # from another address

    def test_rate_of_connections_of_an_address_is_limited(self):
        face = self.face(self.daemon(), MAX_CONNECTIONS_PER_SECOND=3)
        with self.assertRaises(OSError):
            for _ in range(10):
                self.raw(face).wait(time.monotonic() + 0.02)
        self.client(face)(wire.ENCODE, SMALL)  # from another address

    def test_rate_of_calls_of_an_address_is_limited(self):
        daemon = self.daemon()
        connection = self.raw(self.face(daemon, MAX_CALLS_PER_SECOND=20))
        block = http2.call_block(wire.ENCODE, scheme="https")
        with self.assertRaises(http2.Closed):
            for stream in range(1, 401, 2):
                call = http2.data(stream, http2.message(SMALL.SerializeToString()), end=True)
                connection.send(http2.headers(stream, block) + call)
                connection.wait(time.monotonic() + 5,
                                lambda stream=stream: stream in connection.ended)
            connection.wait(time.monotonic() + 10)
        self.assertLess(daemon.metric("grpc_server_started_total"), 40)

    def test_calls_in_flight_of_an_address_are_limited(self):
        client = self.client(self.face(self.daemon(), MAX_CALLS=2))
        watches = [client.stream(wire.HEALTH_WATCH, wire.HealthCheckRequest(), timeout=60,
                                 deserialize=wire.HealthCheckResponse.FromString)
                   for _ in range(2)]
        for watch in watches:
            next(watch)
        error = self.assert_fails(grpc.StatusCode.UNAVAILABLE, client, wire.ENCODE, SMALL)
        self.assertIn("429", error.details())
        watches[0].cancel()

        def succeeds():
            try:
                return client(wire.ENCODE, SMALL)
            except grpc.RpcError:
                return False
        wait_until(succeeds, "another call is allowed")

    def test_call_without_a_message_does_not_reach_the_server(self):
        daemon = self.daemon()
        connection = self.raw(self.face(daemon))
        started = daemon.metric("grpc_server_started_total")
        connection.send(http2.headers(1, http2.call_block(wire.ENCODE, scheme="https")))
        connection.wait(time.monotonic() + 10, lambda: 1 in connection.ended)
        self.assertIn(1, connection.ended)
        self.assertEqual(daemon.metric("grpc_server_started_total"), started)
        self.assertEqual(daemon.metric("locus_connections"), 0)

    def test_invalid_header_of_one_client_does_not_affect_another(self):
        """gRPC closes a connection that carries a -bin header that is not base64."""
        face = self.face(self.daemon())
        client = self.client(face)
        watch = client.stream(wire.HEALTH_WATCH, wire.HealthCheckRequest(), timeout=60,
                              deserialize=wire.HealthCheckResponse.FromString)
        next(watch)
        block = http2.call_block(wire.ENCODE, ("x-note-bin", "!!!"), scheme="https")
        for _ in range(8):  # on every thread of HAProxy
            connection = self.raw(face)
            connection.send(http2.headers(1, block) + http2.data(
                1, http2.message(SMALL.SerializeToString()), end=True))
            connection.wait(time.monotonic() + 10, lambda c=connection: 1 in c.ended)
            self.assertIn(1, connection.ended)
        client(wire.ENCODE, SMALL)
        self.assertTrue(watch.is_active())


@needs("haproxy", "openssl")
class FloodTest(FaceTest):
    def assert_harmless(self, name):
        daemon = self.daemon()
        face = self.face(daemon)
        found = run_flood(name, Target(face.address, daemon.http_port, daemon.process.pid, face.ca),
                          seconds=2, after_seconds=0)
        self.assertGreater(found["units"], 0, found)
        self.assertTrue(found["alive"], found)
        if SANITIZED:
            return  # Memory and latency differ under sanitizers.
        self.assertLess(found["rss_peak"] - found["rss_before"], 64 << 20, found)
        self.assertLess(found["threads"], 64, found)
        for probe in ("health", "encode"):
            self.assertEqual(found["probes"][probe]["failures"], 0, found)
            self.assertLess(found["probes"][probe]["p50"], 0.25, found)

    def test_rapid_reset(self):
        self.assert_harmless("reset_check_properties")

    def test_streams_that_the_server_resets(self):
        self.assert_harmless("made_reset_headers")

    def test_metadata_beyond_the_limit(self):
        self.assert_harmless("open_tiny_fields")

    def test_endless_header_block(self):
        self.assert_harmless("continuation")


if __name__ == "__main__":
    unittest.main(verbosity=2)

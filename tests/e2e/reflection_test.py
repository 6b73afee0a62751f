#!/usr/bin/env python3
"""Server reflection, v1 and v1alpha: clients that know no .proto file of the server."""

import base64
import json
import os
import subprocess
import threading
import unittest

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

import wire
from daemon import Daemon
from methods import REFLECT_METHODS, registered_methods
from tools import missing_tool

SERVICES = {"locus.v1.EncodingService", "locus.v1.AttentionService", "locus.v1.EvaluationService",
            "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection"}
GOOD = {"scheme": {"sinusoidal": {}}, "positions": {"range": {"count": 2}}, "dim": 4}
BAD = {**GOOD, "dim": -4}
BUF_SCRIPT = f"{wire.ROOT}/tests/proto/buf.sh"
BUF_DIRECTORY = os.environ.get("LOCUS_BUF_DIRECTORY", "/tmp/locus-buf")
BUF_MISSING = 77  # exit code of the script if buf cannot be installed


def open_stream(channel, version, requests):
    """Starts a reflection stream, and returns the iterator over its responses."""
    package = f"grpc.reflection.{version}"
    request = wire.message_class(f"{package}.ServerReflectionRequest")
    response = wire.message_class(f"{package}.ServerReflectionResponse")
    method = channel.stream_stream(REFLECT_METHODS[version],
                                   request_serializer=request.SerializeToString,
                                   response_deserializer=response.FromString)
    return method((request(**fields) for fields in requests), timeout=30)


def ask(channel, version, **fields):
    (response,) = open_stream(channel, version, [fields])
    return response


class ReflectedTypes:
    """Message classes of a server, made from its reflection alone."""

    def __init__(self, channel, version):
        self._channel, self._version = channel, version

    def message(self, name):
        """An empty message of this type."""
        response = ask(self._channel, self._version, file_containing_symbol=name)
        files = [descriptor_pb2.FileDescriptorProto.FromString(data)
                 for data in response.file_descriptor_response.file_descriptor_proto]
        known = {file.name: file for file in files}
        pool = descriptor_pool.DescriptorPool()

        def add(file_name):
            if file_name in known:
                file = known.pop(file_name)
                for imported in file.dependency:
                    add(imported)
                pool.Add(file)

        for file in files:
            add(file.name)
        descriptor = pool.FindMessageTypeByName(name)
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)()
        return message_factory.MessageFactory(pool).GetPrototype(descriptor)()


def one_request(stop):
    """A request for the services. The client ends the stream when `stop` is set."""
    yield {"list_services": "*"}
    stop.wait()


class ReflectionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.stop)
        cls.channel = grpc.insecure_channel(f"127.0.0.1:{cls.daemon.grpc_port}")
        cls.addClassCleanup(cls.channel.close)

    def for_each_version(self):
        for version in REFLECT_METHODS:
            with self.subTest(version=version):
                yield version

    # Clients in Python.

    def test_lists_all_services(self):
        for version in self.for_each_version():
            response = ask(self.channel, version, list_services="*")
            listed = [service.name for service in response.list_services_response.service]
            self.assertEqual(sorted(listed), sorted(SERVICES))

    def test_describes_all_services(self):
        """The program links the descriptors of all files, also of those that no code uses."""
        services = {path.split("/")[1] for path in registered_methods(self.channel)}
        self.assertEqual(services, SERVICES)

    def call_encode(self, types, fields):
        request = json_format.ParseDict(fields, types.message("locus.v1.EncodeRequest"))
        call = self.channel.unary_unary(
            wire.ENCODE, request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=types.message("locus.v1.EncodeResponse").FromString)
        return call(request, timeout=30)

    def test_calls_work_with_reflected_types(self):
        for version in self.for_each_version():
            response = self.call_encode(ReflectedTypes(self.channel, version), GOOD)
            self.assertEqual(list(response.additive.table.shape), [2, 4])

    def test_error_details_decode_with_reflected_types(self):
        for version in self.for_each_version():
            types = ReflectedTypes(self.channel, version)
            with self.assertRaises(grpc.RpcError) as caught:
                self.call_encode(types, BAD)
            status = types.message("google.rpc.Status")
            status.ParseFromString(
                dict(caught.exception.trailing_metadata())["grpc-status-details-bin"])
            details = {}
            for detail in status.details:
                name = detail.type_url.split("/")[1]
                details[name] = json_format.MessageToDict(
                    types.message(name).FromString(detail.value))
            violation = {"field": "dim", "description": "dim: is -4; must not be negative"}
            self.assertEqual(details["google.rpc.BadRequest"], {"fieldViolations": [violation]})
            self.assertEqual(details["google.rpc.ErrorInfo"]["reason"], "INVALID_FIELD")

    def test_all_types_of_error_details_are_described(self):
        for version in self.for_each_version():
            types = ReflectedTypes(self.channel, version)
            for name in ("Status", "BadRequest", "ErrorInfo", "RetryInfo", "QuotaFailure"):
                self.assertEqual(types.message(f"google.rpc.{name}").DESCRIPTOR.name, name)

    def thread_count(self):
        return len(os.listdir(f"/proc/{self.daemon.process.pid}/task"))

    def test_open_streams_need_no_threads(self):
        before = self.thread_count()
        streams, stop = [], threading.Event()
        self.addCleanup(stop.set)
        for _ in range(20):
            for version in REFLECT_METHODS:
                stream = open_stream(self.channel, version, one_request(stop))
                self.assertTrue(next(stream).list_services_response.service)
                streams.append(stream)
        self.assertEqual(self.daemon.metric("locus_open_streams"), len(streams))
        self.assertLess(self.thread_count(), before + len(streams) // 2)
        for stream in streams:
            stream.cancel()

    # buf, a client in Go.

    def buf_curl(self, version, *arguments):
        """Runs `buf curl` with that version of reflection."""
        done = subprocess.run(
            ["sh", BUF_SCRIPT, BUF_DIRECTORY, "curl", "--http2-prior-knowledge", "--protocol=grpc",
             f"--reflect-protocol=grpc-{version}", *arguments],
            capture_output=True, text=True, timeout=180, check=False)
        if done.returncode == BUF_MISSING:
            missing_tool(done.stdout)
        return done

    def url(self, path=""):
        return f"http://127.0.0.1:{self.daemon.grpc_port}{path}"

    def test_buf_lists_services(self):
        for version in self.for_each_version():
            done = self.buf_curl(version, "--list-services", self.url())
            self.assertEqual(set(done.stdout.split()), SERVICES, done.stderr)

    def test_buf_lists_methods(self):
        expected = [path[1:] for path in registered_methods(self.channel)]
        for version in self.for_each_version():
            done = self.buf_curl(version, "--list-methods", self.url())
            self.assertEqual(sorted(done.stdout.split()), expected, done.stderr)

    def test_buf_calls_encode(self):
        for version in self.for_each_version():
            done = self.buf_curl(version, f"--data={json.dumps(GOOD)}", self.url(wire.ENCODE))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["additive"]["table"]["shape"], ["2", "4"])

    def test_buf_shows_errors(self):
        """buf prints the type of a detail and its bytes; it does not look the type up."""
        for version in self.for_each_version():
            done = self.buf_curl(version, f"--data={json.dumps(BAD)}", self.url(wire.ENCODE))
            error = json.loads(done.stderr)
            self.assertEqual(error["code"], "invalid_argument")
            self.assertEqual(error["message"], "dim: is -4; must not be negative")
            details = {detail["type"]: base64.b64decode(detail["value"] + "==")
                       for detail in error["details"]}
            bad_request = ReflectedTypes(self.channel, version).message("google.rpc.BadRequest")
            bad_request.ParseFromString(details["google.rpc.BadRequest"])
            self.assertEqual(bad_request.field_violations[0].field, "dim")


if __name__ == "__main__":
    unittest.main()

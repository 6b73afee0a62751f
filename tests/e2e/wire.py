"""Message classes, tensor conversion, a client and error details for tests in Python."""

import os
import subprocess
import tempfile

import grpc
import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROTOC = os.environ.get("PROTOC", "protoc")
FILES = ("locus/v1/encoding.proto", "locus/v1/attention.proto", "locus/v1/evaluation.proto",
         "google/rpc/status.proto", "google/rpc/error_details.proto",
         "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto",
         "grpc/reflection/v1alpha/reflection.proto")

LIST_SCHEMES = "/locus.v1.EncodingService/ListSchemes"
ENCODE = "/locus.v1.EncodingService/Encode"
ATTEND = "/locus.v1.AttentionService/Attend"
CHECK_PROPERTIES = "/locus.v1.EvaluationService/CheckProperties"
EVALUATE = "/locus.v1.EvaluationService/EvaluateExtrapolation"
HEALTH_CHECK = "/grpc.health.v1.Health/Check"
HEALTH_WATCH = "/grpc.health.v1.Health/Watch"

FLOATS = ("FLOAT64", "FLOAT32", "FLOAT16", "BFLOAT16")
CODES = {"FLOAT32": 1, "FLOAT64": 2, "FLOAT16": 3, "BFLOAT16": 4, "INT64": 5, "BOOL": 6}
NUMPY = {1: "<f4", 2: "<f8", 3: "<f2", 4: "<u2", 5: "<i8", 6: "?"}


def _load_pool():
    """Compiles the .proto files to descriptors at import, so that no generated code is needed."""
    with tempfile.NamedTemporaryFile(suffix=".binpb") as file:
        subprocess.run([PROTOC, f"-I{ROOT}/proto", f"-I{ROOT}/third_party/proto",
                        "--include_imports", f"--descriptor_set_out={file.name}", *FILES],
                       check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for descriptor in files.file:
        pool.Add(descriptor)
    return pool


_POOL = _load_pool()
_FACTORY = message_factory.MessageFactory(_POOL)


def message_class(name):
    descriptor = _POOL.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return _FACTORY.GetPrototype(descriptor)


Tensor = message_class("locus.v1.Tensor")
Scheme = message_class("locus.v1.Scheme")
EncodeRequest = message_class("locus.v1.EncodeRequest")
EncodeResponse = message_class("locus.v1.EncodeResponse")
AttendRequest = message_class("locus.v1.AttendRequest")
AttendResponse = message_class("locus.v1.AttendResponse")
ListSchemesRequest = message_class("locus.v1.ListSchemesRequest")
ListSchemesResponse = message_class("locus.v1.ListSchemesResponse")
CheckPropertiesRequest = message_class("locus.v1.CheckPropertiesRequest")
CheckPropertiesResponse = message_class("locus.v1.CheckPropertiesResponse")
EvaluateRequest = message_class("locus.v1.EvaluateExtrapolationRequest")
EvaluateResponse = message_class("locus.v1.EvaluateExtrapolationResponse")
HealthCheckRequest = message_class("grpc.health.v1.HealthCheckRequest")
HealthCheckResponse = message_class("grpc.health.v1.HealthCheckResponse")
RpcStatus = message_class("google.rpc.Status")

RESPONSES = {LIST_SCHEMES: ListSchemesResponse, ENCODE: EncodeResponse, ATTEND: AttendResponse,
             CHECK_PROPERTIES: CheckPropertiesResponse, EVALUATE: EvaluateResponse,
             HEALTH_CHECK: HealthCheckResponse}


# Tensors.

def tensor(values, dtype="FLOAT32"):
    """A Tensor of this type; BOOL if the values are bools. BFLOAT16 truncates, so pass values that
    it represents exactly."""
    values = np.asarray(values)
    if values.dtype == bool:
        dtype, data = "BOOL", values.astype("u1")
    elif dtype == "BFLOAT16":
        data = (values.astype("<f4").view("<u4") >> 16).astype("<u2")
    else:
        data = values.astype(NUMPY[CODES[dtype]])
    return Tensor(dtype=CODES[dtype], shape=values.shape, data=data.tobytes())


def array(message):
    """The elements of a Tensor, converted to float64."""
    values = np.frombuffer(message.data, dtype=NUMPY[message.dtype])
    if message.dtype == CODES["BFLOAT16"]:
        values = (values.astype("<u4") << 16).view("<f4")
    return values.astype(float).reshape(message.shape)


# Calls.

class Client:
    """A plaintext channel to a port on loopback, without limits of the message size."""

    def __init__(self, port, options=()):
        self.channel = grpc.insecure_channel(
            f"127.0.0.1:{port}", options=[("grpc.max_receive_message_length", -1),
                                          ("grpc.max_send_message_length", -1), *options])

    def close(self):
        self.channel.close()

    def method(self, path):
        """A unary method as a callable. It takes a message, or bytes, which are sent unchanged."""
        return self.channel.unary_unary(
            path, request_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
            response_deserializer=RESPONSES.get(path, RpcStatus).FromString)

    def stream(self, path, request, timeout=60, deserialize=None, **options):
        """Calls a server-streaming method, and returns the iterator over its responses."""
        method = self.channel.unary_stream(
            path, request_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
            response_deserializer=deserialize or RESPONSES[path].FromString)
        return method(request, timeout=timeout, **options)

    def __call__(self, path, request, timeout=60, **options):
        """Calls a unary method, and returns the response."""
        return self.method(path)(request, timeout=timeout, **options)

    def call(self, path, request, timeout=60, **options):
        """Calls a unary method, and returns (response, trailing metadata as a dict)."""
        response, finished = self.method(path).with_call(request, timeout=timeout, **options)
        return response, dict(finished.trailing_metadata())


def details_of(error):
    """The google.rpc.Status of an RpcError, and its details as {type name: message}."""
    metadata = dict(error.trailing_metadata() or ())
    status = RpcStatus.FromString(metadata.get("grpc-status-details-bin", b""))
    found = {}
    for detail in status.details:
        name = detail.type_url.rsplit("/", 1)[1]
        found[name.rsplit(".", 1)[1]] = message_class(name).FromString(detail.value)
    return status, found

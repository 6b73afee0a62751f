"""Message classes, made at run time from the descriptors in descriptors.binpb.

The package contains no generated code, because generated code only works with the version of the
protobuf library that it was generated for. The descriptors are in a pool of their own, so that they
never collide with generated classes of the same messages in the same process.
"""

from __future__ import annotations

import os
from typing import Any, Dict, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# Messages and descriptors of protobuf have no static types here.
Message = Any
Descriptor = Any

_DESCRIPTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "descriptors.binpb")
# Label of repeated fields. In new versions of protobuf, the attribute `label` is deprecated.
_LABEL_REPEATED = 3


def _load_files() -> Any:
    with open(_DESCRIPTORS, "rb") as file:
        return descriptor_pb2.FileDescriptorSet.FromString(file.read())


def _load_pool(files: Any) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for descriptor in files.file:
        pool.AddSerializedFile(descriptor.SerializeToString())
    return pool


def class_maker(module: Any, pool: Any) -> Any:
    """Returns the function that turns a descriptor into a class. GetMessageClass() exists since
    protobuf 4.22; older versions have MessageFactory.GetPrototype(), which newer ones removed."""
    if hasattr(module, "GetMessageClass"):
        return module.GetMessageClass
    return module.MessageFactory(pool).GetPrototype


_FILES = _load_files()
_POOL = _load_pool(_FILES)
_make_class = class_maker(message_factory, _POOL)
_CLASSES: Dict[str, Any] = {}


def message_class(name: str) -> Any:
    """The class of a message, by its full name, such as "locus.v1.Tensor"."""
    if name not in _CLASSES:
        _CLASSES[name] = _make_class(_POOL.FindMessageTypeByName(name))
    return _CLASSES[name]


class Method(NamedTuple):
    """A unary method: the full names of its request and response."""

    request: str
    response: str


def _unary_methods(files: Any) -> Dict[str, Method]:
    return {f"/{file.package}.{service.name}/{method.name}":
            Method(method.input_type.lstrip("."), method.output_type.lstrip("."))
            for file in files.file for service in file.service for method in service.method
            if not method.server_streaming and not method.client_streaming}


def is_repeated(field: Any) -> bool:
    """Whether a field (a FieldDescriptor) is repeated."""
    repeated = getattr(field, "is_repeated", None)
    return bool(repeated) if repeated is not None else bool(field.label == _LABEL_REPEATED)


def fields_of(descriptor: Descriptor) -> Dict[str, Any]:
    """The fields of a message by name, in the order of the proto file."""
    return {field.name: field for field in descriptor.fields}


# The unary methods of all services, by their path.
UNARY_METHODS = _unary_methods(_FILES)

Tensor = message_class("locus.v1.Tensor")
Positions = message_class("locus.v1.Positions")
Scheme = message_class("locus.v1.Scheme")
AttentionOptions = message_class("locus.v1.AttentionOptions")
AttendRequest = message_class("locus.v1.AttendRequest")
AttendResponse = message_class("locus.v1.AttendResponse")
EncodeRequest = message_class("locus.v1.EncodeRequest")
EncodeResponse = message_class("locus.v1.EncodeResponse")
ListSchemesRequest = message_class("locus.v1.ListSchemesRequest")
ListSchemesResponse = message_class("locus.v1.ListSchemesResponse")
CheckPropertiesRequest = message_class("locus.v1.CheckPropertiesRequest")
CheckPropertiesResponse = message_class("locus.v1.CheckPropertiesResponse")
EvaluateRequest = message_class("locus.v1.EvaluateExtrapolationRequest")
EvaluateResponse = message_class("locus.v1.EvaluateExtrapolationResponse")
HealthCheckRequest = message_class("grpc.health.v1.HealthCheckRequest")
HealthCheckResponse = message_class("grpc.health.v1.HealthCheckResponse")
RpcStatus = message_class("google.rpc.Status")
BadRequest = message_class("google.rpc.BadRequest")
ErrorInfo = message_class("google.rpc.ErrorInfo")
RetryInfo = message_class("google.rpc.RetryInfo")

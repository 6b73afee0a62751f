"""Every method that a server has, found by asking it."""

from google.protobuf import descriptor_pb2

import wire

REFLECT = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


def _fields(data):
    """(number, value) of each length-delimited field of a message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            yield tag >> 3, data[at:at + size]
            at += size
        else:
            varint()


def _ask(channel, field, text):
    """The answer to one question of reflection, as its fields."""
    reflect = channel.stream_stream(REFLECT, request_serializer=bytes, response_deserializer=bytes)
    question = bytes([field << 3 | 2, len(text)]) + text
    (answer,) = reflect(iter([question]), timeout=10)
    return list(_fields(answer))


def registered_methods(channel):
    """The paths of all methods of a server, gRPC's own included."""
    (services,) = [value for number, value in _ask(channel, 7, b"*") if number == 6]
    names = [dict(_fields(service))[1].decode() for _, service in _fields(services)]
    paths = {wire.HEALTH_CHECK, wire.HEALTH_WATCH, REFLECT}
    for name in names:
        for number, answer in _ask(channel, 4, name.encode()):
            if number != 4:
                continue
            for _, file in _fields(answer):
                described = descriptor_pb2.FileDescriptorProto.FromString(file)
                for service in described.service:
                    full = f"{described.package}.{service.name}"
                    if full == name:
                        paths.update(f"/{full}/{method.name}" for method in service.method)
    return sorted(paths)

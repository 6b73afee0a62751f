"""Lists the methods of a running server through gRPC reflection."""

from google.protobuf import descriptor_pb2

import wire

REFLECT_METHODS = {version: f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
                   for version in ("v1", "v1alpha")}


def _fields(data):
    """Yields (number, value) of each length-delimited field of a serialized message."""
    offset = 0

    def varint():
        nonlocal offset
        value = shift = 0
        while True:
            byte = data[offset]
            offset += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while offset < len(data):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            yield tag >> 3, data[offset:offset + size]
            offset += size
        else:
            varint()


def _reflect(channel, field, text):
    """Sends one reflection request, and returns the fields of the response."""
    method = channel.stream_stream(REFLECT_METHODS["v1"], request_serializer=bytes,
                                   response_deserializer=bytes)
    request = bytes([field << 3 | 2, len(text)]) + text
    (response,) = method(iter([request]), timeout=10)
    return list(_fields(response))


def registered_methods(channel):
    """The paths of all methods of a server, including health and reflection, sorted."""
    (services,) = [value for number, value in _reflect(channel, 7, b"*") if number == 6]
    names = [dict(_fields(service))[1].decode() for _, service in _fields(services)]
    paths = set()
    for name in names:
        for number, response in _reflect(channel, 4, name.encode()):
            if number != 4:
                continue
            for _, file in _fields(response):
                parsed = descriptor_pb2.FileDescriptorProto.FromString(file)
                for service in parsed.service:
                    full_name = f"{parsed.package}.{service.name}"
                    if full_name == name:
                        paths.update(f"/{full_name}/{method.name}" for method in service.method)
    return sorted(paths)

"""Converts cases in the neutral form of tests/golden to request messages."""

import os
import sys

import wire

sys.path.insert(0, os.path.join(wire.ROOT, "tests", "golden"))

from neutral import to_array  # noqa: E402 (found through the line above)


def tensor_of(neutral, dtype):
    return wire.tensor(to_array(neutral), dtype)


def set_positions(message, neutral):
    if neutral is None:
        return
    if "ids" in neutral:
        message.ids.ids.extend(neutral["ids"])
    else:
        message.range.start = neutral.get("start", 0)
        message.range.count = neutral["count"]


def set_scheme(message, neutral, dtype):
    """Sets the scheme; each parameter has the name of its field in the .proto file."""
    (name, parameters), = neutral.items()
    set_parameters(getattr(message, name), parameters, dtype)


def set_parameters(scheme, parameters, dtype):
    """Sets the parameters of a scheme, or of a message within it."""
    scheme.SetInParent()
    for key, value in parameters.items():
        field = scheme.DESCRIPTOR.fields_by_name[key]
        if field.label == field.LABEL_REPEATED:
            getattr(scheme, key).extend(value)
        elif field.type == field.TYPE_MESSAGE and field.message_type.name != "Tensor":
            set_parameters(getattr(scheme, key), value, dtype)
        elif field.type == field.TYPE_MESSAGE:
            getattr(scheme, key).CopyFrom(tensor_of(value, dtype))
        elif field.type == field.TYPE_ENUM:
            prefix = field.enum_type.values[0].name[:-len("UNSPECIFIED")]
            setattr(scheme, key, field.enum_type.values_by_name[prefix + value].number)
        else:
            setattr(scheme, key, value)


def encode_request(case, dtype):
    request = wire.EncodeRequest(dim=case.get("dim", 0), head_count=case.get("head_count", 0),
                                 dtype=wire.CODES[dtype])
    set_scheme(request.scheme, case["scheme"], dtype)
    set_positions(request.positions, case.get("positions"))
    set_positions(request.key_positions, case.get("key_positions"))
    if "input" in case:
        request.input.CopyFrom(tensor_of(case["input"], dtype))
    if "side" in case:
        request.side = {"QUERIES": 1, "KEYS": 2}[case["side"]]
    return request


def set_options(message, neutral, dtype):
    message.SetInParent()
    for key, value in neutral.items():
        if key == "mask":
            message.mask.CopyFrom(tensor_of(value, dtype))
        elif key.endswith("_positions"):
            set_positions(getattr(message, key), value)
        else:
            setattr(message, key, value)
    message.return_log_sum_exp = True


def attend_request(case, dtype):
    request = wire.AttendRequest()
    set_scheme(request.scheme, case["scheme"], dtype)
    for name in ("q", "k", "v"):
        getattr(request.heads, name).CopyFrom(tensor_of(case[name], dtype))
    set_options(request.options, case["options"], dtype)
    return request


def module_request(case, dtype):
    request = wire.AttendRequest()
    set_scheme(request.scheme, case["scheme"], dtype)
    module = request.module
    module.head_count, module.dim = case.get("head_count", 0), case.get("dim", 0)
    module.tokens.extend(case.get("tokens", ()))
    if "x" in case:
        module.x.CopyFrom(tensor_of(case["x"], dtype))
    if "seed" in case:
        module.seed = case["seed"]
    for name, weight in case.get("weights", {}).items():
        getattr(module.weights, name).CopyFrom(tensor_of(weight, dtype))
    set_options(request.options, case.get("options", {}), dtype)
    return request

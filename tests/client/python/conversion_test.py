#!/usr/bin/env python3
"""Conversion of arrays, wire format, positions and message classes, without a server."""

import pickle
import sys
import types
import unittest

import support  # noqa: F401
import numpy as np
from google.protobuf import message_factory

import locus
from locus import _fill, _messages, _tensors, _wire, errors


class TensorTest(unittest.TestCase):
    def test_arrays_keep_their_type_shape_and_values(self):
        for dtype in ("f4", "f8", "f2", "i8", "?"):
            array = (np.arange(6).reshape(2, 3) % 2).astype(dtype)
            back = _tensors.to_array(_tensors.tensor_of(array, "x"))
            self.assertEqual(back.dtype, array.dtype)
            np.testing.assert_array_equal(back, array)

    def test_strided_and_big_endian_arrays_are_converted(self):
        for array in (np.arange(24.0).reshape(4, 6)[::2, ::3], np.arange(6.0).reshape(2, 3).T,
                      np.arange(4.0).astype(">f8")):
            back = _tensors.to_array(_tensors.tensor_of(array, "x"))
            np.testing.assert_array_equal(back, array)

    def test_lists_of_integers_become_float32(self):
        self.assertEqual(_tensors.tensor_of([[1, 2]], "x").dtype, _tensors.FLOAT32)

    def test_scalars_and_empty_arrays(self):
        self.assertEqual(_tensors.to_array(_tensors.tensor_of(np.float32(2), "x")).shape, ())
        self.assertEqual(_tensors.to_array(_tensors.tensor_of(np.zeros((0, 3)), "x")).shape, (0, 3))

    def test_serialising_does_not_copy_a_contiguous_array(self):
        array = np.zeros(4, "f4")
        _, elements = _tensors.make_tensor(array, "x")
        array[0] = 1
        self.assertEqual(np.frombuffer(elements, "f4")[0], 1)

    def test_received_arrays_are_read_only_and_aligned(self):
        for offset in range(4):
            data = memoryview(bytes(offset) + np.arange(3, dtype="<f4").tobytes())[offset:]
            array = _tensors.to_array(_messages.Tensor(dtype=1, shape=[3]), data)
            np.testing.assert_array_equal(array, [0, 1, 2])
            self.assertTrue(array.flags.aligned)
            self.assertFalse(array.flags.writeable)

    def test_other_types_are_rejected(self):
        for value in (np.zeros(2, "complex64"), ["a"], np.zeros(2, "M8[s]")):
            with self.assertRaises(locus.InvalidInput):
                _tensors.tensor_of(value, "x")

    def test_bfloat16_rounds_to_nearest_even(self):
        one = 0x3F80
        for value, bits in ((1.0, one), (1 + 2**-8, one), (1 + 3 * 2**-8, one + 2),
                            (1 + 2**-8 + 2**-20, one + 1), (-np.inf, 0xFF80), (3.4e38, 0x7F80)):
            self.assertEqual(int(_tensors.round_to_bfloat16(np.array([value], "f4"))[0]), bits)
        nan = _tensors.round_to_bfloat16(np.array([np.nan], "f4"))
        self.assertTrue(np.isnan((nan.astype("<u4") << 16).view("<f4"))[0])

    def test_bfloat16_without_ml_dtypes_is_float32(self):
        tensor = _tensors.tensor_of(np.array([1.5, -2.0], "f4"), "x", "bfloat16")
        self.assertEqual((tensor.dtype, len(tensor.data)), (_tensors.BFLOAT16, 4))
        np.testing.assert_array_equal(_tensors.to_array(tensor).astype("f8"), [1.5, -2])

    def test_bfloat16_uses_ml_dtypes_if_present(self):
        # A stand-in of the same size; the real one is not packaged in Debian 12.
        sys.modules["ml_dtypes"] = types.SimpleNamespace(bfloat16=np.dtype("<i2"))
        self.addCleanup(sys.modules.pop, "ml_dtypes")
        tensor = _tensors.tensor_of(np.array([1.0], "f4"), "x", "bfloat16")
        self.assertEqual(_tensors.to_array(tensor).dtype, np.dtype("<i2"))

    def test_objects_like_torch_tensors_are_accepted(self):
        class Detached:
            dtype = "torch.float32"

            def __array__(self, dtype=None, copy=None):
                return np.arange(3, dtype="f4")

        class Tensor:
            """Like a torch.Tensor that requires a gradient."""
            def detach(self):
                return self

            def cpu(self):
                return Detached()

        np.testing.assert_array_equal(_tensors.to_array(_tensors.tensor_of(Tensor(), "x")),
                                      [0, 1, 2])


    def test_bfloat16_tensors_of_torch_are_sent_as_their_bits(self):
        class Tensor:
            """Like a torch.Tensor of bfloat16, which has no __array__."""
            dtype = "torch.bfloat16"

            def detach(self):
                return self

            cpu = contiguous = detach

            def view(self, dtype):
                self.viewed = dtype
                return self

            def numpy(self):
                assert self.viewed == "int16"
                return np.array([0x3F80, 0x4000], "i2")

        sys.modules["torch"] = types.SimpleNamespace(int16="int16")
        self.addCleanup(sys.modules.pop, "torch")
        tensor = _tensors.tensor_of(Tensor(), "x")
        self.assertEqual((tensor.dtype, list(tensor.shape)), (_tensors.BFLOAT16, [2]))
        np.testing.assert_array_equal(_tensors.to_array(tensor).astype("f8"), [1, 2])


class WireTest(unittest.TestCase):
    def request(self):
        """An AttendRequest with its elements apart, and the same request with all of it inside."""
        message = _messages.AttendRequest(scheme=locus.parse_scheme("rope:base=5"))
        message.options.causal = True
        whole = _messages.AttendRequest()
        whole.CopyFrom(message)
        elements = {}
        random = np.random.default_rng(0)
        for path, shape in ((("heads", "q"), (1, 2, 3, 4)), (("heads", "k"), (1, 1, 70, 4)),
                            (("heads", "v"), (0,)), (("options", "mask"), (3, 70))):
            array = random.standard_normal(shape).astype("f4")
            for target, with_data in ((message, False), (whole, True)):
                tensor, data = _tensors.make_tensor(array, "x")
                if with_data:
                    tensor.data = data.tobytes()
                getattr(getattr(target, path[0]), path[1]).CopyFrom(tensor)
            elements[path] = data
        return message, elements, whole

    def test_serialises_like_protobuf(self):
        message, elements, whole = self.request()
        self.assertEqual(_messages.AttendRequest.FromString(_wire.serialize(message, elements)),
                         whole)

    def test_parses_without_copying_elements(self):
        message, elements, whole = self.request()
        data = whole.SerializeToString()
        parsed, found = _wire.parse(_messages.AttendRequest, data)
        self.assertEqual(found[("heads", "q")].obj, data)
        # An empty field is not on the wire.
        self.assertEqual({path: view.tobytes() for path, view in found.items()},
                         {path: view.tobytes() for path, view in elements.items() if len(view)})
        self.assertEqual(parsed, message)

    def test_truncated_messages_are_rejected(self):
        data = self.request()[2].SerializeToString()
        for size in range(1, len(data), 37):
            try:
                _messages.AttendRequest.FromString(data[:size])
            except Exception:  # protobuf's DecodeError
                with self.assertRaises(Exception):
                    _wire.parse(_messages.AttendRequest, data[:size])

    def test_unknown_fields_are_kept(self):
        data = self.request()[2].SerializeToString() + b"\xf8\x3f\x01"  # field 1023
        parsed, _ = _wire.parse(_messages.AttendRequest, data)
        self.assertTrue(parsed.SerializeToString().endswith(b"\xf8\x3f\x01"))


class PositionsTest(unittest.TestCase):
    def positions(self, value):
        message = _messages.Positions()
        _fill.set_positions(message, value, "positions")
        return message

    def test_ranges_and_counts_take_no_memory(self):
        self.assertEqual(self.positions(5).range.count, 5)
        message = self.positions(range(10, 2**40)).range
        self.assertEqual((message.start, message.count), (10, 2**40 - 10))
        self.assertEqual(self.positions(range(0)).WhichOneof("kind"), "range")

    def test_lists_arrays_and_steps_are_ids(self):
        for value in ([0, 4, 8], (0, 4, 8), np.array([0, 4, 8]), range(0, 9, 4)):
            self.assertEqual(list(self.positions(value).ids.ids), [0, 4, 8])
        self.assertEqual(self.positions([]).WhichOneof("kind"), "ids")

    def test_other_values_are_rejected(self):
        for value in ("abc", [[[1]]], None, True):
            with self.assertRaises(locus.InvalidInput):
                self.positions(value)


class MessageClassTest(unittest.TestCase):
    def test_uses_the_function_of_new_versions_of_protobuf(self):
        module = types.SimpleNamespace(GetMessageClass="new")
        self.assertEqual(_messages.class_maker(module, None), "new")

    def test_uses_the_factory_of_old_versions_of_protobuf(self):
        factory = types.SimpleNamespace(GetPrototype="old")
        module = types.SimpleNamespace(MessageFactory=lambda pool: factory)
        self.assertEqual(_messages.class_maker(module, None), "old")

    def test_the_installed_version_has_one_of_them(self):
        self.assertTrue(callable(_messages.class_maker(message_factory, _messages._POOL)))

    def test_repeated_fields_are_recognised_in_all_versions(self):
        self.assertTrue(_messages.is_repeated(types.SimpleNamespace(is_repeated=True)))
        self.assertTrue(_messages.is_repeated(types.SimpleNamespace(label=3)))
        self.assertFalse(_messages.is_repeated(types.SimpleNamespace(label=1)))


class ErrorTest(unittest.TestCase):
    def test_errors_are_also_built_in_exceptions(self):
        for code, kind in (("INVALID_ARGUMENT", ValueError), ("UNAVAILABLE", ConnectionError),
                           ("DEADLINE_EXCEEDED", TimeoutError),
                           ("UNAUTHENTICATED", PermissionError), ("INTERNAL", locus.RpcError)):
            error = errors.error_of(code, "why")
            self.assertIsInstance(error, kind)
            self.assertIsInstance(error, locus.LocusError)
            self.assertEqual(str(error), f"{code}: why")

    def test_errors_can_be_pickled(self):
        error = errors.error_of("UNAVAILABLE", "why")
        error.reason = "QUEUE_FULL"
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(copy), str(copy), copy.reason),
                         (locus.Unavailable, str(error), "QUEUE_FULL"))

    def test_details_that_cannot_be_parsed_do_not_hide_the_error(self):
        error = errors.from_grpc("INTERNAL", "why", {"grpc-status-details-bin": b"\xff\xff"})
        self.assertEqual((error.code, error.field_violations), ("INTERNAL", []))


if __name__ == "__main__":
    unittest.main()

"""Conversion between arrays and tensors.

Input arrays may be anything with `__array__`: numpy, torch, jax, lists. An array is serialised
straight from its own memory, and a received tensor is a view of the response, so that gRPC's own
copies are the only ones. Received arrays are read-only; `.copy()` makes one that can be changed.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Optional, Tuple

import numpy as np
import numpy.typing as npt

from locus._messages import Message, Tensor
from locus.errors import InvalidInput

Array = npt.NDArray[Any]

FLOAT32, FLOAT64, FLOAT16, BFLOAT16, INT64, BOOL = 1, 2, 3, 4, 5, 6
_NUMPY: Dict[int, str] = {FLOAT32: "<f4", FLOAT64: "<f8", FLOAT16: "<f2", BFLOAT16: "<u2",
                          INT64: "<i8", BOOL: "|b1"}
DTYPE_NAMES: Dict[str, int] = {"float32": FLOAT32, "float64": FLOAT64, "float16": FLOAT16,
                               "bfloat16": BFLOAT16, "int64": INT64, "bool": BOOL}


def _bfloat16() -> Optional[Any]:
    """The bfloat16 type of ml_dtypes, or None if ml_dtypes is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes.bfloat16


def dtype_code(dtype: Any) -> int:
    """The DataType of a numpy type, a torch type, or a name such as "bfloat16"."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if name is None and isinstance(dtype, type):
        name = np.dtype(dtype).name
    name = str(name if name is not None else dtype).replace("torch.", "")
    if name not in DTYPE_NAMES:
        raise InvalidInput("dtype", f'is "{name}"; must be one of {", ".join(DTYPE_NAMES)}')
    return DTYPE_NAMES[name]


def round_to_bfloat16(values: Array) -> Array:
    """The upper 16 bits of float32 values, rounded to nearest even, as uint16."""
    bits = np.ascontiguousarray(values, dtype="<f4").view("<u4")
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet_nan = (bits >> np.uint32(16)) | np.uint32(0x40)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(is_nan, quiet_nan, rounded).astype("<u2")


def _from_bfloat16_bits(bits: Array) -> Array:
    """bfloat16 bits as an array: of ml_dtypes.bfloat16 if that is installed, else of float32."""
    bfloat16 = _bfloat16()
    if bfloat16 is not None:
        return bits.view(bfloat16)
    return (bits.astype("<u4") << np.uint32(16)).view("<f4")


def _torch_bfloat16_bits(value: Any) -> Array:
    torch = sys.modules["torch"]
    return np.asarray(value.contiguous().view(torch.int16).numpy()).view("<u2")


def as_array(value: Any, field: str) -> Tuple[int, Array]:
    """The DataType and the elements of `value`. Elements of bfloat16 are returned as uint16.
    Integers and lists of integers become float32, except int64 arrays, which stay as they are."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # torch
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            return BFLOAT16, _torch_bfloat16_bits(value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InvalidInput(field, f"is not an array of numbers: {error}") from None
    if array.dtype.name == "bfloat16":
        return BFLOAT16, array.view("<u2")
    if not hasattr(value, "__array__") and array.dtype.kind in "iu":
        array = array.astype("<f4")
    code = DTYPE_NAMES.get(array.dtype.name)
    if code is None and array.dtype.kind in "iu":
        array, code = array.astype("<i8"), INT64
    if code is None:
        raise InvalidInput(field, f"has elements of type {array.dtype.name}; must be "
                                  f'one of {", ".join(DTYPE_NAMES)}')
    return code, array


def _converted(code: int, array: Array, wanted: int) -> Array:
    if code == wanted:
        return array
    values = _from_bfloat16_bits(array).astype("<f4") if code == BFLOAT16 else array
    return round_to_bfloat16(values) if wanted == BFLOAT16 else values.astype(_NUMPY[wanted])


def make_tensor(value: Any, field: str, dtype: Any = None) -> Tuple[Message, memoryview]:
    """A Tensor without elements, and its elements as bytes. `dtype` converts the elements."""
    code, array = as_array(value, field)
    if dtype is not None:
        wanted = dtype_code(dtype)
        code, array = wanted, _converted(code, array, wanted)
    array = np.asarray(array, dtype=_NUMPY[code], order="C")
    return Tensor(dtype=code, shape=array.shape), array.reshape(-1).view(np.uint8).data


def tensor_of(value: Any, field: str, dtype: Any = None) -> Message:
    """A whole Tensor, for small arrays inside of other messages."""
    tensor, elements = make_tensor(value, field, dtype)
    tensor.data = elements.tobytes()
    return tensor


def to_array(tensor: Message, data: Optional[memoryview] = None) -> Array:
    """The elements of a Tensor as a read-only array. `data` holds the elements if they are not in
    the message. An array whose memory would be misaligned is copied."""
    if len(tensor.values if hasattr(tensor, "values") else ()):
        array = np.array(tensor.values, dtype=float)
        return array.reshape(tuple(tensor.shape))
    flat = np.frombuffer(tensor.data if data is None else data, dtype=_NUMPY[tensor.dtype])
    if not flat.flags.aligned:
        flat = flat.copy()
    if tensor.dtype == BFLOAT16:
        flat = _from_bfloat16_bits(flat)
    array = flat.reshape(tuple(tensor.shape))
    array.flags.writeable = False
    return array

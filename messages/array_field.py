"""Arrays: the field of a numpy array with a fixed type of elements."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from .buffers import MIN_SEPARATE_BYTES, Reader, Writer
from .errors import MessageError, MisuseError, Private
from .fields import kind_of
from .values import Shape, Unsendable

__all__ = ["DTYPES", "ArrayField"]

MAX_AXES: Final = 8
MAX_ARRAY_BYTES: Final = 1 << 62
"""From here on numpy cannot express a shape, even when one axis is empty."""

DTYPES: Final = {
    code: np.dtype(name)
    for code, name in enumerate(
        ["?", "<u1", "<u2", "<u4", "<u8", "<i1", "<i2", "<i4", "<i8", "<f4", "<f8"]
    )
}
"""Types of elements by their codes on the wire."""
_BOOL_CODE: Final = 0
_CODES: Final = {dtype: code for code, dtype in DTYPES.items()}
_HEADS: Final = tuple(struct.Struct(f"<BB{axes}Q") for axes in range(MAX_AXES + 1))
_AXES: Final = tuple(struct.Struct(f"<{axes}Q") for axes in range(MAX_AXES + 1))
_ZEROS: Final = tuple(bytes(length) for length in range(8))

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class ArrayField:
    dtype: np.dtype[np.generic]
    shape: Shape | None
    min_bytes: int = 2
    code: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", _CODES[self.dtype])

    def check(self, value: object) -> Array:
        """Return the array, read-only and in the type of elements that travels."""
        if not isinstance(value, np.ndarray):
            raise MisuseError(f"expected an array of {self.dtype}, found {kind_of(value)}")
        if isinstance(value, Unsendable):
            raise MisuseError(value.refusal)
        if value.dtype != self.dtype and value.dtype.newbyteorder("<") != self.dtype:
            raise MisuseError(f"expected an array of {self.dtype}, found one of {value.dtype}")
        if self.shape is not None and not self.shape.admits(value.shape):
            raise MisuseError(
                f"expected an array of shape {self.shape}, found ", Private(value.shape)
            )
        if value.ndim > MAX_AXES:
            raise MisuseError(f"expected at most {MAX_AXES} axes, found {value.ndim}")
        travels_as_it_is = (
            not value.flags.writeable
            and self.code != _BOOL_CODE
            and value.dtype == self.dtype
            and type(value) is np.ndarray
        )
        if travels_as_it_is:
            return value
        held = value.astype(self.dtype, copy=False).view(np.ndarray)
        if self.code == _BOOL_CODE:
            # In memory a true byte may be any but 0. On the wire it is 1.
            held = (np.ascontiguousarray(held).view(np.uint8) != 0).reshape(value.shape)
        # This view alone becomes read-only: the owner may still write to the array.
        held.flags.writeable = False
        return held

    def write(self, value: Array, writer: Writer) -> None:
        head = _HEADS[value.ndim].pack(self.code, value.ndim, *value.shape)
        head += _ZEROS[-(writer.size + len(head)) % 8]
        if value.nbytes < MIN_SEPARATE_BYTES:
            writer.write(head + value.tobytes())
        else:
            writer.write(head)
            writer.write(np.ascontiguousarray(value).reshape(-1).data.cast("B"))

    def read(self, reader: Reader) -> Array:
        code, axes = reader.take(2)
        if code != self.code:
            name = DTYPES.get(code) or f"unknown type {code}"
            raise MessageError(f"expected an array of {self.dtype}, found ", Private(name))
        if axes > MAX_AXES:
            raise MessageError(f"expected at most {MAX_AXES} axes, found ", Private(axes))
        shape = _AXES[axes].unpack(reader.take(8 * axes))
        if self.shape is not None and not self.shape.admits(shape):
            raise MessageError(f"expected an array of shape {self.shape}, found ", Private(shape))
        elements, reach = 1, self.dtype.itemsize
        for length in shape:
            elements *= length
            reach *= length or 1
        if reach >= MAX_ARRAY_BYTES:
            raise MessageError(
                "expected an array that fits in memory, found one that no memory holds"
            )
        reader.align()
        data = reader.take(elements * self.dtype.itemsize)
        # The array is read-only, because the reader's buffer is.
        array = np.frombuffer(data, self.dtype)
        if code == _BOOL_CODE and elements and array.view(np.uint8).max() > 1:
            raise MessageError("expected 0 or 1 for every bool of an array, found another byte")
        return array if axes == 1 else array.reshape(shape)

    def sample(self) -> Array:
        axes = (self.shape or Shape(None)).axes
        return np.ones([2 if axis is None else axis for axis in axes], self.dtype)

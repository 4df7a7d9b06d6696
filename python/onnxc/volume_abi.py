"""The structures of onnxc_volume.h as ctypes; the order of fields is that of the header."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_double, c_int32, c_int64, c_uint32, c_void_p

from onnxc import abi

STOPPED = 13  # a status

PLACES = {"scan": 0, "even": 1}
IMPORTANCE = {"constant": 0, "gaussian": 1, "gaussian-nnunet": 2}
PADDING = {"constant": 0, "reflect": 1, "replicate": 2, "circular": 3}
WRITTEN = {"nothing": 0, "values": 1, "softmax": 2, "sigmoid": 3, "labels": 4}

Read = CFUNCTYPE(c_int32, c_void_p, c_int64, c_void_p)  # context, slice, data
Write = CFUNCTYPE(c_int32, c_void_p, c_int64, c_void_p)
Progress = CFUNCTYPE(c_int32, c_void_p, c_int64, c_int64)  # context, windows done, windows


class Scaling(ctypes.Structure):
    _fields_ = (
        ("slope", c_double),
        ("intercept", c_double),
        ("low", c_double),
        ("high", c_double),
        ("subtract", c_double),
        ("divide", c_double),
    )


class Input(ctypes.Structure):
    _fields_ = (
        ("fixed", POINTER(abi.Value)),
        ("dtype", c_int32),
        ("reserved", c_int32),
        ("channels", c_int64),
        ("data", c_void_p),
        ("strides", POINTER(c_int64)),
        ("bytes", c_int64),
        ("scaling", POINTER(Scaling)),
        ("read", Read),
        ("read_context", c_void_p),
    )


class Output(ctypes.Structure):
    _fields_ = (
        ("what", c_int32),
        ("dtype", c_int32),
        ("data", c_void_p),
        ("strides", POINTER(c_int64)),
        ("bytes", c_int64),
        ("write", Write),
        ("write_context", c_void_p),
    )


class Member(ctypes.Structure):
    _fields_ = (("api", c_void_p), ("instance", c_void_p))


class Volume(ctypes.Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("rank", c_int32),
        ("places", c_int32),
        ("importance", c_int32),
        ("padding", c_int32),
        ("dims", POINTER(c_int64)),
        ("window", POINTER(c_int64)),
        ("overlap", POINTER(c_double)),
        ("step", POINTER(c_double)),
        ("sigma_scale", POINTER(c_double)),
        ("padding_value", c_double),
        ("batch", c_int64),
        ("mirrored_axes", c_uint32),
        ("slab_axis", c_int32),
        ("inputs", POINTER(Input)),
        ("outputs", POINTER(Output)),
        ("members", POINTER(Member)),
        ("member_count", c_int64),
        ("progress", Progress),
        ("progress_context", c_void_p),
    )


class Result(ctypes.Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("slab_axis", c_int32),
        ("windows", c_int64),
        ("runs", c_int64),
        ("nan_voxels", c_int64),
        ("working_bytes", c_int64),
        ("seconds", c_double),
        ("network_seconds", c_double),
    )

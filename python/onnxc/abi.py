"""The C ABI of a model.so, onnxc.h, as ctypes; the order of fields is that of the header."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_void_p

ABI_VERSION = 1
ERROR_SIZE = 1024
OK = 0
INVALID_ARGUMENT = 1
GPU_GRAPH = HIP_GRAPH = 4  # of the flags of Options
OWN_STREAM, ENQUEUE = 1, 2  # of the flags of RunOptions


class Value(ctypes.Structure):
    _fields_ = (
        ("kind", c_int32),
        ("dtype", c_int32),
        ("device", c_int32),
        ("rank", c_int32),
        ("dims", POINTER(c_int64)),
        ("data", c_void_p),
        ("bytes", c_int64),
        ("extension", c_void_p),
    )


class ValueInfo(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("dims", POINTER(c_char_p)),
        ("kind", c_int32),
    )


class Options(ctypes.Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("device", c_int32),
        ("device_index", c_int32),
        ("threads", c_int32),
        ("reserved", c_int32),
        ("parallel_for", c_void_p),
        ("parallel_for_context", c_void_p),
        ("states_of", c_void_p),
    )


# context, output, dtype, rank, dims, bytes to memory
AllocateOutput = CFUNCTYPE(c_void_p, c_void_p, c_int32, c_int32, c_int32, POINTER(c_int64), c_int64)


class RunOptions(ctypes.Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("allocate_output", AllocateOutput),
        ("allocate_context", c_void_p),
        ("hook", c_void_p),
        ("hook_context", c_void_p),
        ("stream", c_void_p),
    )


Instance = c_void_p
InfoOf = CFUNCTYPE(POINTER(ValueInfo), c_int32)
TextOf = CFUNCTYPE(c_char_p, c_int32)


class Api(ctypes.Structure):
    pass


Api._fields_ = (
    ("abi_version", c_uint32),
    ("table_size", c_uint32),
    ("onnxc_version", c_char_p),
    ("target", c_char_p),
    ("information", c_char_p),
    ("weights_bytes", c_int64),
    ("input_count", c_int32),
    ("output_count", c_int32),
    ("step_count", c_int32),
    ("symbol_count", c_int32),
    ("input", InfoOf),
    ("output", InfoOf),
    ("symbol", TextOf),
    ("step_name", TextOf),
    ("step_nodes", TextOf),
    ("step_operators", TextOf),
    ("step_output_count", CFUNCTYPE(c_int32, c_int32)),
    ("step_output", CFUNCTYPE(POINTER(ValueInfo), c_int32, c_int32)),
    ("status_text", TextOf),
    ("create", CFUNCTYPE(c_int32, POINTER(Options), POINTER(Instance), c_char_p, c_size_t)),
    ("destroy", CFUNCTYPE(None, Instance)),
    ("last_error", CFUNCTYPE(c_char_p, Instance)),
    ("output_dims", CFUNCTYPE(c_int32, Instance, POINTER(POINTER(c_int64)), POINTER(POINTER(c_int64)))),
    (
        "run",
        CFUNCTYPE(c_int32, Instance, POINTER(Value), c_int32, POINTER(Value), c_int32, POINTER(RunOptions)),
    ),
    ("symbol_values", CFUNCTYPE(c_int32, Instance, POINTER(c_int64))),
    ("working_bytes", CFUNCTYPE(c_int64, Instance)),
    ("step_operations", CFUNCTYPE(c_double, Instance, c_int32)),
    ("step_output_dims", CFUNCTYPE(c_int32, Instance, c_int32, c_int32, POINTER(c_int64))),
    ("step_output_data", CFUNCTYPE(c_int32, Instance, c_int32, c_int32, c_void_p, c_int64)),
    ("threads", CFUNCTYPE(c_int32, Instance)),
    ("least_working_bytes", CFUNCTYPE(c_int64, Instance)),
    ("run_output_dims", CFUNCTYPE(c_int32, Instance, c_int32, POINTER(c_int64))),
    ("instance_step_count", CFUNCTYPE(c_int32, Instance)),
    ("instance_step", CFUNCTYPE(c_int32, Instance, c_int32, c_void_p)),
    ("instance_step_output_count", CFUNCTYPE(c_int32, Instance, c_int32)),
    ("instance_step_output", CFUNCTYPE(POINTER(ValueInfo), Instance, c_int32, c_int32)),
    ("captured_graphs", CFUNCTYPE(c_int64, Instance)),
    ("volume_output_dims", CFUNCTYPE(c_int32, Instance, c_void_p, POINTER(POINTER(c_int64)))),
    ("run_volume", CFUNCTYPE(c_int32, Instance, c_void_p, c_void_p)),
    ("cpu_march", CFUNCTYPE(c_char_p)),
    ("instance_step_source", CFUNCTYPE(c_int32, Instance, c_int32, c_void_p)),
    ("instance_step_bytes", CFUNCTYPE(c_int64, Instance, c_int32)),
    ("instance_step_traffic", CFUNCTYPE(c_double, Instance, c_int32)),
    ("instance_architecture", CFUNCTYPE(c_char_p, Instance)),
    ("entry_name", c_char_p),
    ("entry_count", c_int32),
    ("entry", CFUNCTYPE(POINTER(Api), c_int32)),
    ("state_count", c_int32),
    ("state", InfoOf),
    ("state_dims", CFUNCTYPE(c_int32, Instance, c_int32, POINTER(c_int64))),
    ("get_state", CFUNCTYPE(c_int32, Instance, c_int32, POINTER(Value))),
    ("set_state", CFUNCTYPE(c_int32, Instance, c_int32, POINTER(Value))),
    ("reset_states", CFUNCTYPE(c_int32, Instance)),
)

// The functions of a GPU's driver that we call, the same for both vendors: AMD's HIP runtime (hip_library.cpp) and
// NVIDIA's driver (cuda_library.cpp). One is opened when the first instance asks for a GPU: a model.so runs without
// it, and reports what is missing when a GPU is asked for.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error_text.h"

namespace onnxc::runtime {

enum class GpuVendor : int32_t { amd, nvidia };
inline constexpr int32_t gpu_vendor_count = 2;

// Handles of the library's own.
using GpuModule = struct GpuModuleObject*;
using GpuKernel = struct GpuKernelObject*;
using GpuStream = struct GpuStreamObject*;
using GpuEvent = struct GpuEventObject*;
using GpuGraph = struct GpuGraphObject*;
using GpuGraphExecutable = struct GpuGraphExecutableObject*;

// The numbers that we pass and get are the same in both libraries.
inline constexpr int32_t gpu_invalid_value = 1, gpu_out_of_memory = 2;
inline constexpr uint32_t gpu_stream_non_blocking = 1, gpu_event_without_time = 2;
inline constexpr int32_t gpu_capture_of_this_thread = 1;  // how a capture begins
inline constexpr int32_t gpu_captures_nothing = 0;        // what stream_is_capturing tells
// A thread's word that its calls do nothing to a capture of another thread's or stream's: without it an allocation of
// ours would spoil each that PyTorch has begun (the relaxed mode of captures).
inline constexpr int32_t gpu_spoils_no_capture = 2;
enum class GpuCopy : int32_t { to_device = 1, to_host = 2, on_device = 3 };

// The code that a call returned (0: it succeeded), and the call's name.
struct GpuResult {
  bool is_ok() const { return code == 0; }
  bool is_out_of_memory() const { return code == gpu_out_of_memory; }

  int32_t code = 0;
  const char* call = "";
};

// A function under the library's own name.
template <class... Arguments>
struct GpuFunction {
  GpuResult operator()(Arguments... arguments) const { return {function(arguments...), name}; }

  int32_t (*function)(Arguments...);
  const char* name;
};

struct GpuDevice {
  int index = 0;
  void* context = nullptr;  // of NVIDIA's driver: the primary one, which PyTorch uses as well
};

// The thread's state before it entered a device.
struct CallersDevice {
  int index = 0;
  bool has_another_device = false;
  void* context = nullptr;
  int32_t capture_mode = 0;
};

struct GpuDescription {
  char name[128];         // for error texts
  char architecture[64];  // "gfx942:sramecc+:xnack-", "sm_90"; empty if the library does not tell
  int32_t capability;     // NVIDIA: 90 for compute capability 9.0
  int32_t compute_units;  // 0 if the library does not tell
};

// The place of a caller's memory.
struct GpuPlace {
  // Kernels reach memory of `reached`: pinned memory of the host, and what the library does not tell.
  enum class Kind : int32_t { reached, device, pageable };
  Kind kind = Kind::reached;
  int32_t device = 0;
};

struct GpuLaunch {
  GpuKernel kernel;
  uint32_t blocks, threads, shared_bytes;
  const void* arguments;
  size_t arguments_size;
};

struct GpuLibrary {
  GpuVendor vendor;
  const char* name;          // before the number of an error: "HIP"
  const char* if_no_device;  // the likely reasons
  const char* (*error_text)(int32_t code);
  // The advice about a failure, as the end of its text; "" without one.
  const char* (*advice)(int32_t code);
  // Appends advice on a model without code for the device.
  void (*advise_on_code)(const GpuDescription& device, ErrorText& error);
  // Whether it says that the driver is older than the code, so that older code may do.
  bool (*is_too_new)(int32_t code);
  // The error of an earlier call, which some libraries tell again, is forgotten.
  void (*forget_error)();

  GpuFunction<unsigned> init;
  GpuFunction<int*> device_count;
  // Keep the device in use, from the first call on it to the last.
  GpuResult (*open_device)(GpuDevice& device);
  void (*close_device)(const GpuDevice& device);
  GpuResult (*describe)(const GpuDevice& device, GpuDescription& description);
  // Makes a device this thread's current one, and the caller's again, if `enter` says that something has changed.
  GpuResult (*enter)(const GpuDevice& device, CallersDevice& callers, bool& has_changed);
  GpuResult (*leave)(const CallersDevice& callers);

  // Whether a stream is of another device or context, and the place of memory; null if the library does not tell.
  bool (*is_foreign)(const GpuDevice& device, GpuStream stream);
  GpuPlace (*locate)(const void* pointer);

  // The driver's words about code that it refuses go to `log`.
  GpuResult (*load_module)(GpuModule* module, const void* code, char* log, size_t log_size);
  GpuFunction<GpuModule> unload_module;
  GpuFunction<GpuKernel*, GpuModule, const char*> find_kernel;
  // So that launches may ask for so much shared memory; null if they need no leave.
  GpuResult (*allow_shared_bytes)(GpuKernel kernel, uint32_t bytes);
  GpuResult (*launch)(const GpuLaunch& launch, GpuStream stream);

  GpuFunction<void**, size_t> allocate;
  GpuFunction<void*> free;
  // Memory of the host that a copy beside kernels needs: its pages stay in place.
  GpuFunction<void**, size_t, unsigned> allocate_host;
  GpuFunction<void*> free_host;
  GpuResult (*copy)(void* to, const void* from, size_t bytes, GpuCopy kind, GpuStream stream);
  GpuResult (*fill)(void* to, uint8_t value, size_t bytes, GpuStream stream);

  GpuFunction<GpuStream*, unsigned> create_stream;
  GpuFunction<GpuStream> wait_for_stream;
  GpuFunction<GpuStream> destroy_stream;
  GpuFunction<GpuStream, GpuEvent, unsigned> stream_waits_for;
  GpuFunction<GpuStream, int32_t*> stream_is_capturing;
  GpuFunction<GpuEvent*, unsigned> create_event;
  GpuFunction<GpuEvent, GpuStream> record;
  GpuFunction<GpuEvent> wait_for_event;
  GpuFunction<GpuEvent> destroy_event;
  GpuFunction<GpuStream, int32_t> begin_capture;
  GpuFunction<GpuStream, GpuGraph*> end_capture;
  GpuFunction<GpuGraphExecutable*, GpuGraph, unsigned long long> instantiate;
  GpuResult (*launch_graph)(GpuGraphExecutable graph, GpuStream stream);
  GpuFunction<GpuGraph> destroy_graph;
  GpuFunction<GpuGraphExecutable> destroy_executable;
};

// Opens a vendor's library once for the whole process. Returns null, and the reason in `error`, if it cannot be opened.
// A library that the process has already is taken, as with PyTorch, whose streams and pointers belong to it.
const GpuLibrary* gpu_library(GpuVendor vendor, ErrorText& error);

// Whether a call succeeded; if not, its name, what it was of and the library's error text are appended.
bool succeeded(const GpuLibrary& gpu, GpuResult result, const char* of, ErrorText& error);

// For calls that free something, or follow a failure: nobody is left to be told.
inline void ignore(GpuResult) {}

// ONNXC_OUT_OF_MEMORY if that is the failure, else ONNXC_UNSUPPORTED_DEVICE.
onnxc_status status_of(GpuResult result);

}  // namespace onnxc::runtime

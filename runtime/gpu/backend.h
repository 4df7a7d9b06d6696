// The GPU runtime as an instance (host/instance.h) sees it: a table of functions, so that only a model that was
// compiled for a GPU links that runtime.
#pragma once

#include "base/array.h"
#include "base/error_text.h"
#include "gpu/program.h"
#include "gpu/volume_description.h"

namespace onnxc::runtime {

class DeviceInstance;

// One run: its checked values, in the model's order.
struct DeviceRun {
  const onnxc_value* inputs;
  const onnxc_value* outputs;
  void* const* output_data;  // the destination of each output
  void* stream;              // null: the default stream, or the instance's own
  bool has_own_stream;
  bool waits;  // until all is done
  // Called around each step; another result than 0 ends the run. May be null.
  int32_t (*hook)(void* context, int32_t step, int32_t when);
  // Sets the symbol that counts the rounds, if a level begins with a loop.
  void (*begin_round)(void* context, int32_t level, int32_t round, bool is_first);
  // Binds the symbols of a step from the buffers that it reads, which `frame` has on the host; plans the level and sets
  // the addresses of the outputs whose size is now known.
  onnxc_status (*enter_level)(void* context, const StepDescription& step, int32_t level, const Frame& frame);
  void* context;
};

struct DeviceOptions {
  int32_t device_index;
  bool poison;
  bool captures_graphs;
};

struct DeviceBackend {
  // Takes the program of the card that is nearest to the device.
  DeviceInstance* (*create)(const DeviceOptions& options, onnxc_status& status, ErrorText& error);
  const DeviceProgram& (*program)(const DeviceInstance* instance);
  void (*destroy)(DeviceInstance* instance);
  // Plans the memory of a level for runs with these symbols.
  onnxc_status (*plan)(DeviceInstance* instance, int32_t level, const int64_t* symbols, ErrorText& error);
  int64_t (*working_bytes)(const DeviceInstance* instance);
  int64_t (*captured_graphs)(const DeviceInstance* instance);
  onnxc_status (*run)(DeviceInstance* instance, const DeviceRun& run, ErrorText& error);
  // Copies a buffer, as the steps launched so far leave it, to the host. Only from a hook.
  onnxc_status (*read_buffer)(DeviceInstance* instance, int32_t buffer, Array<char>& bytes, ErrorText& error);

  // For a run over a volume (device_volume.h); null and a status if there is no room. None of the others waits for the
  // GPU but for room in its own memory.
  DeviceVolume* (*make_volume)(DeviceInstance* instance, const VolumeOnDevice& description, onnxc_status& status,
                               ErrorText& error);
  void (*destroy_volume)(DeviceVolume* volume);
  // Memory of the host for slices of an input from `first` on, [slice, channel, the other axes], and their way to the
  // GPU. `count` is reduced to those that it has room for.
  onnxc_status (*take_slices)(DeviceVolume* volume, int32_t input, int64_t first, int64_t& count, float*& memory,
                              ErrorText& error);
  onnxc_status (*send_slices)(DeviceVolume* volume, int32_t input, int64_t first, int64_t count, ErrorText& error);
  // Windows that are cut from now on may read the slices that were sent. Slices that are sent from now on may replace
  // those which no window from now on reads.
  onnxc_status (*begin_slab)(DeviceVolume* volume, ErrorText& error);
  // The windows of the inputs, before the model runs; then those of an output to its sums. `adds_weights` once a
  // window.
  onnxc_status (*cut_windows)(DeviceVolume* volume, const DeviceWindows& windows, ErrorText& error);
  onnxc_status (*add_windows)(DeviceVolume* volume, int32_t output, const DeviceWindows& windows, bool adds_weights,
                              ErrorText& error);
  // Makes results of sums, which are zero then, and brings them to a piece of the host's memory, whose last results
  // nobody reads any more; until they are there.
  onnxc_status (*finish_box)(DeviceVolume* volume, const FinishedBox& box, int32_t piece, ErrorText& error);
  onnxc_status (*wait_for_piece)(DeviceVolume* volume, int32_t piece, const void*& results, ErrorText& error);
  // Remembers the end of a run under a number below DeviceVolume::runs_under_way, and waits for it.
  onnxc_status (*end_run)(DeviceVolume* volume, int32_t number, ErrorText& error);
  onnxc_status (*wait_for_run)(DeviceVolume* volume, int32_t number, ErrorText& error);
};

extern const DeviceBackend gpu_backend;

}  // namespace onnxc::runtime

// The GPU runtime as an instance (host/instance.h) sees it: a table of functions, so that only a model that was
// compiled for a GPU links that runtime.
#pragma once

#include "base/array.h"
#include "base/error_text.h"
#include "gpu/program.h"

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

// The fate of a value in runs over the windows of a volume.
enum class WindowUse : int32_t {
  sent,     // an input that the host writes for each run
  fixed,    // an input that is the same for every run
  fetched,  // an output that the host reads after each run
  ignored   // an output
};

struct WindowBuffer {
  WindowUse use;
  onnxc_value value;  // of a whole batch, as a run on the CPU has it; data counts only for fixed ones
};

// The values of runs over windows, each in two slots, and the stream that these runs belong in (window_transfers.h).
struct DeviceWindows {
  static constexpr int32_t slots = 2;
  Array<void*> host[slots];          // what is sent and fetched, in memory of the host
  Array<onnxc_value> values[slots];  // all values, on the GPU
  void* stream = nullptr;
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

  // For runs over up to `batch` windows; null and a status if there is no room.
  DeviceWindows* (*make_windows)(DeviceInstance* instance, const Array<WindowBuffer>& buffers, int64_t batch,
                                 onnxc_status& status, ErrorText& error);
  void (*destroy_windows)(DeviceWindows* windows);
  // Before and after a run in `stream`: the inputs, or outputs, of a slot for so many windows. Neither waits.
  onnxc_status (*send_windows)(DeviceWindows* windows, int32_t slot, int64_t count, ErrorText& error);
  onnxc_status (*fetch_windows)(DeviceWindows* windows, int32_t slot, int64_t count, ErrorText& error);
  // Until the outputs that were fetched last into a slot are there.
  onnxc_status (*wait_for_windows)(DeviceWindows* windows, int32_t slot, ErrorText& error);
};

extern const DeviceBackend gpu_backend;

}  // namespace onnxc::runtime

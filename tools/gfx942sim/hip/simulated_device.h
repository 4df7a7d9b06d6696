// The one GPU that the stand-in for libamdhip64 offers: its memory, modules and streams. Work is done when it is
// enqueued, so a stream is always idle; while a stream captures, its operations are noted in a graph instead, and what
// HIP does not allow then is refused and spoils the capture.
#pragma once

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gfx942sim/dispatch.h"

namespace gfx942sim::hip {

// What HIP's handles point to.
struct Function {
  const LoadedModule* module = nullptr;
  const Kernel* kernel = nullptr;
};
struct Module {
  std::unique_ptr<LoadedModule> loaded;
  std::map<std::string, Function> functions;
};
using Work = std::function<hipError_t()>;
struct Graph {
  std::vector<Work> work;
};
struct ExecutableGraph {
  std::vector<Work> work;
};
struct Capture {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  hipStreamCaptureMode mode;
  std::thread::id thread = std::this_thread::get_id();
  bool is_invalid = false;
};
struct Stream {
  bool waits_for_null_stream = true;
  std::unique_ptr<Capture> capture;  // null while the stream runs what it gets
};
struct Event {
  bool recorded = false;
  const Stream* captured_in = nullptr;  // recorded in a graph, so it says nothing of the device
  double milliseconds = 0;              // when it was recorded
};

// A call that HIP refuses: its error code; the text goes to stderr.
class Refusal : public std::runtime_error {
 public:
  Refusal(hipError_t code, const std::string& message) : std::runtime_error(message), code(code) {}
  hipError_t code;
};

// A code object's bytes; throws Refusal.
std::string file_content(const char* path);

class SimulatedDevice {
 public:
  static SimulatedDevice& instance();

  // One call at a time.
  std::recursive_mutex mutex;

  // Device addresses and sizes; throws Refusal for what HIP refuses.
  void* allocate(size_t bytes);
  void* allocate_host(size_t bytes);
  void release(void* pointer);
  void release_host(void* pointer);
  void copy(void* destination, const void* source, size_t bytes, hipMemcpyKind kind);
  void fill(void* destination, int value, size_t bytes);
  size_t free_bytes() const { return DeviceMemory::total_bytes - memory_.used_bytes(); }

  Module* load(const void* image);
  void unload(Module* module);
  Function* function(Module* module, const char* name);
  // Runs a kernel; a fault is reported on stderr.
  hipError_t launch(const Function& function, const Launch& geometry, const std::vector<std::byte>& arguments);

  // A line of JSON for each launch since the last call; the first call begins the record. Valid until the next.
  const char* take_launches();

  // Does the work, or notes it if the stream captures.
  hipError_t enqueue(hipStream_t stream, Work work);
  // For calls that are not of a stream: refused while this thread captures one, or any thread one for all threads.
  void refuse_while_capturing();
  // For calls that wait for a stream.
  void refuse_while_capturing(Stream* stream);
  Graph* end_capture(hipStream_t stream);
  Stream* stream_of(hipStream_t handle);

  std::map<Stream*, std::unique_ptr<Stream>> streams;
  std::map<Event*, std::unique_ptr<Event>> events;
  std::map<Graph*, std::unique_ptr<Graph>> graphs;
  std::map<ExecutableGraph*, std::unique_ptr<ExecutableGraph>> executable_graphs;

 private:
  SimulatedDevice();
  // The host's address of bytes on the device.
  std::byte* device_bytes(const void* pointer, size_t bytes, const char* what);

  bool is_loaded(const LoadedModule* module) const;

  DeviceMemory memory_;
  std::map<void*, std::unique_ptr<std::byte[]>> host_memory_;
  std::map<Module*, std::unique_ptr<Module>> modules_;
  DispatchOptions options_;
  void log_launch(const std::string& line);
  bool records_ = false;
  std::string recorded_, taken_;
};

}  // namespace gfx942sim::hip

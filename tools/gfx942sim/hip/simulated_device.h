// The devices that the stand-in for libamdhip64 offers, GFX942SIM_DEVICES of them (those of one MI300X, see
// partition.h): their memory, modules and streams. Work of a stream is held back until somebody waits for it
// (pending_work.h); while a stream captures, its operations are noted in a graph instead, and what HIP does not allow
// then is refused and spoils the capture.
#pragma once

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gfx942sim/dispatch.h"
#include "gfx942sim/hip/pending_work.h"

namespace gfx942sim::hip {

// The objects that HIP's handles point to.
struct Function {
  const LoadedModule* module = nullptr;
  const Kernel* kernel = nullptr;
  int device = 0;
};
struct Module {
  int device = 0;
  std::unique_ptr<LoadedModule> loaded;
  std::map<std::string, Function> functions;
};
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
  int device = 0;
  bool is_null_stream = false;
  bool waits_for_null_stream = true;
  std::vector<WorkNumber> before_next;  // of this stream, of events that it waits for, of streams that are gone
  std::unique_ptr<Capture> capture;     // null while the stream runs what it gets
};
struct Event {
  int device = 0;
  WorkNumber work = 0;                  // that records it; 0: it was never recorded
  const Stream* captured_in = nullptr;  // recorded in a graph, so it says nothing of the device
  double milliseconds = 0;              // when it was recorded
};

// A call that HIP refuses: its error code; the text goes to stderr.
class Refusal : public std::runtime_error {
 public:
  Refusal(hipError_t code, const std::string& message) : std::runtime_error(message), code(code) {}
  hipError_t code;
};

// How many GPUs there are, and the one that this thread's calls are for.
int device_count();
inline thread_local int current_device = 0;
void require_device(int device);

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
  // Both may lie on the host or on any device; throws Refusal for a range that is on neither.
  void check_copy(const void* destination, const void* source, size_t bytes, hipMemcpyKind kind) const;
  void copy(void* destination, const void* source, size_t bytes, hipMemcpyKind kind) const;
  void check_fill(const void* destination, size_t bytes) const { device_bytes(destination, bytes, "the destination"); }
  void fill(void* destination, int value, size_t bytes) const;
  // Memory of the host that a copy can be made from and to while the host does other things.
  bool is_pinned(const void* pointer) const;
  // In the memory that the device allocates in, which others may share.
  size_t free_bytes(int device) const;
  void allow_peer_access(int device, int peer) { peers_[device] |= uint64_t{1} << peer; }

  Module* load(const void* image);
  void unload(Module* module);
  Function* function(Module* module, const char* name);
  // Runs a kernel; a fault is reported on stderr.
  hipError_t launch(const Function& function, const Launch& geometry, const std::vector<std::byte>& arguments);

  // A line of JSON for each launch since the last call; the first call begins the record. Valid until the next.
  const char* take_launches();

  // Does the work when the stream comes to it, or notes it if the stream captures. Work that the stream's device cannot
  // do must have been refused before.
  hipError_t enqueue(hipStream_t stream, Work work);
  // Returns when the stream, or the device, has done all that it was given.
  hipError_t finish(hipStream_t stream);
  void leave_to_null_stream(const Stream& stream);
  hipError_t finish_device() { return pending.finish_device(current_device); }
  // For calls that are not of a stream: refused while this thread captures one, or any thread one for all threads.
  void refuse_while_capturing();
  // For calls that wait for the device, or for a copy: HIP refuses them during any capture of any thread.
  void refuse_while_anything_captures(hipError_t code);
  // For calls that wait for a stream, and for graphs, which HIP would launch beside the capture.
  void refuse_while_capturing(Stream* stream);
  Graph* end_capture(hipStream_t stream);
  // The null stream of this thread's device for a null handle.
  Stream* stream_of(hipStream_t handle);

  PendingWork pending;
  std::map<Stream*, std::unique_ptr<Stream>> streams;
  std::map<Event*, std::unique_ptr<Event>> events;
  std::map<Graph*, std::unique_ptr<Graph>> graphs;
  std::map<ExecutableGraph*, std::unique_ptr<ExecutableGraph>> executable_graphs;

 private:
  SimulatedDevice();
  // The host's address of bytes on a device.
  std::byte* device_bytes(const void* pointer, size_t bytes, const char* what) const;
  // Which of a copy's ends are device memory.
  struct Ends {
    bool to_device, from_device;
  };
  Ends ends_of_copy(const void* destination, const void* source, hipMemcpyKind kind) const;
  // The work that must have happened before new work of a stream does.
  std::vector<WorkNumber> before_work_of(const Stream& stream) const;

  bool is_loaded(const LoadedModule* module) const;

  DeviceMemory memory_;
  std::map<void*, std::unique_ptr<std::byte[]>> host_memory_;
  std::map<Module*, std::unique_ptr<Module>> modules_;
  std::map<int, Stream> null_streams_;
  std::map<int, uint64_t> peers_;  // of a device, a bit each
  DispatchOptions options_;
  void log_launch(const std::string& line);
  bool records_ = false;
  std::string recorded_, taken_;
};

}  // namespace gfx942sim::hip

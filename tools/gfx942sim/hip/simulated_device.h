// The devices that the stand-in for libamdhip64 offers, GFX942SIM_DEVICES of them (those of one MI300X, see
// partition.h): their memory, modules and streams (gpu_streams/streams.h). GFX942SIM_STREAMS is "late" or "early".
#pragma once

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gfx942sim/dispatch.h"
#include "gpu_streams/streams.h"

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

using gpu_streams::Refusal;
using gpu_streams::Work;

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

  // Does the work when the stream comes to it, or notes it if the stream captures.
  int enqueue(hipStream_t stream, Work work) { return streams.enqueue(stream, current_device, std::move(work)); }
  // Returns when the stream, or the device, has done all that it was given.
  int finish(hipStream_t stream) { return streams.finish(stream, current_device); }
  int finish_device() { return streams.finish_device(current_device); }

  gpu_streams::Streams streams{"GFX942SIM_STREAMS", false};

 private:
  SimulatedDevice();
  // The host's address of bytes on a device.
  std::byte* device_bytes(const void* pointer, size_t bytes, const char* what) const;
  // Which of a copy's ends are device memory.
  struct Ends {
    bool to_device, from_device;
  };
  Ends ends_of_copy(const void* destination, const void* source, hipMemcpyKind kind) const;
  bool is_loaded(const LoadedModule* module) const;

  DeviceMemory memory_;
  std::map<void*, std::unique_ptr<std::byte[]>> host_memory_;
  std::map<Module*, std::unique_ptr<Module>> modules_;
  std::map<int, uint64_t> peers_;  // of a device, a bit each
  DispatchOptions options_;
  void log_launch(const std::string& line);
  bool records_ = false;
  std::string recorded_, taken_;
};

}  // namespace gfx942sim::hip

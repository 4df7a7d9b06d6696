// A stand-in for libcuda.so.1: the functions of NVIDIA's driver that the runtime calls, without a GPU. It refuses what
// a driver refuses (no current context, another context's stream, memory that was freed, a call that no capture
// allows), and says why on stderr. Streams are strict: work is held back until somebody waits (gpu_streams/streams.h).
//
// Only the declarations of a module's PTX are read, or the headers of a cubin. Kernels run as functions of the host:
// the library that CUDA_STAND_IN_KERNELS names has
//
//   extern "C" void onnxc_host_launch(const char* kernel, uint32_t blocks, uint32_t threads,
//                                     uint32_t dynamic_shared_bytes, void** arguments);
//
// with the arguments as cuLaunchKernel has them: a pointer to each. Without that variable a launch does nothing.
//
// Other variables of the environment, all read at the call that needs them:
//   CUDA_STAND_IN_DEVICES      how many GPUs there are (1)
//   CUDA_STAND_IN_CAPABILITY   their compute capability (9.0)
//   CUDA_STAND_IN_UNITS        their multiprocessors (132)
//   CUDA_STAND_IN_MEMORY       bytes of each (16 GiB)
//   CUDA_STAND_IN_DRIVER       the driver's CUDA version (12.8), which limits the versions of PTX and cubins
//   CUDA_STAND_IN_STREAMS      "late" (default) or "early" (gpu_streams/pending_work.h)
//   CUDA_STAND_IN_FAIL         "cuMemAlloc_v2 3 2": the call of that name fails with code 2 the third time
//                              after the variable was set
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_stand_in/device_memory.h"
#include "cuda_stand_in/errors.h"
#include "cuda_stand_in/ptx.h"
#include "gpu_streams/streams.h"

namespace cuda_stand_in {

struct Context {
  int number = 0;  // of all contexts; gpu_streams takes it for the device's
  int device = 0;
  int users = 0;      // of a primary context
  int lost_with = 0;  // the error that ended it
};
struct Module;
struct Function {
  const Module* module = nullptr;
  std::string name;
  const PtxKernel* kernel = nullptr;
  uint32_t most_dynamic_shared_bytes = 48 * 1024;
};
struct Module {
  int context = 0;
  PtxModule ptx;
  std::map<std::string, Function> functions;
};

// The current contexts of this thread, the last on top.
inline thread_local std::vector<Context*> context_stack;

int device_count();
int capability();      // 90
int driver_version();  // 12080
int multiprocessors();
size_t memory_bytes();

class StandIn {
 public:
  static StandIn& instance();

  // One call at a time.
  std::recursive_mutex mutex;

  // Counts the call, and throws if it is to fail.
  void enter(const char* name);
  // A later call that fails: the one of that number, whatever its name; -1: none.
  void fail_at(int call);
  const std::string& failed_call() const { return failed_call_; }

  Context& primary(int device);
  void retain(Context& primary);
  Context* create_context(int device);
  void destroy_context(Context* context);
  bool has(const Context* context) const;
  // This thread's; throws if there is none, or it is lost.
  Context& current() const;
  // The number of a stream's context, which must be the current one.
  int context_of(const void* stream);
  Context* context_of_any(const void* stream);
  Context* context_of_number(int number);

  void* allocate(size_t bytes);
  Module* load(const char* image, std::string& log);
  void unload(const void* module);
  Function* function(const void* module, const char* name);
  Function& known(const void* function) const;
  int launch(const void* function, uint32_t blocks, uint32_t threads, uint32_t dynamic_shared_bytes, const void* stream,
             void** parameters, void** extra);
  // "kernel blocks threads dynamic_shared_bytes" for each since the last call.
  std::string take_launches();
  // Memory, modules, streams, events, graphs and uses of primary contexts.
  size_t alive() const;

  bool is_initialized = false;
  gpu_streams::Streams streams{"CUDA_STAND_IN_STREAMS", true};
  DeviceMemory memory;

 private:
  StandIn() = default;
  void run_kernel(const Function& function, uint32_t blocks, uint32_t threads, uint32_t dynamic_shared_bytes,
                  std::vector<std::byte>& arguments);

  std::map<int, Context> primaries_;
  gpu_streams::Handles<Context> contexts_;
  gpu_streams::Handles<Module> modules_;
  int last_context_ = 0;
  int calls_ = 0, fails_at_ = -1;
  std::map<std::string, int> calls_of_;
  std::string wish_, failed_call_, launches_;
};

}  // namespace cuda_stand_in

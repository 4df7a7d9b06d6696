#include "cuda_stand_in/stand_in.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "cuda_stand_in/cubin.h"

namespace cuda_stand_in {
namespace {

using gpu_streams::Refusal;
using gpu_streams::require;

constexpr uint32_t most_threads = 1024, most_blocks = 0x7fffffff;

const char* variable(const char* name, const char* without) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : without;
}

// "12.8" as CUDA writes it with the second number times `scale`.
int version(const char* text, int first, int second) {
  const char* point = std::strchr(text, '.');
  return std::atoi(text) * first + (point != nullptr ? std::atoi(point + 1) * second : 0);
}

// The newest PTX that a driver reads: 7.1 with CUDA 11.1, 8.0 with 12.0.
int newest_ptx() { return (driver_version() / 1000 - 4) * 10 + driver_version() % 1000 / 10; }

// A packed buffer or an array of pointers, as cuLaunchKernel takes either.
std::vector<std::byte> gather_arguments(const PtxKernel& kernel, void** parameters, void** extra) {
  std::vector<std::byte> bytes(kernel.parameter_bytes());
  if (extra == nullptr) {
    require(parameters != nullptr || bytes.empty(), gpu_streams::invalid_value, "the launch has no arguments");
    for (size_t i = 0; i < kernel.parameters.size(); ++i)
      std::memcpy(bytes.data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].bytes);
    return bytes;
  }
  const void* buffer = nullptr;
  size_t size = 0;
  for (void** entry = extra; *entry != nullptr; entry += 2) {
    const auto what = reinterpret_cast<uintptr_t>(*entry);
    require(what == 1 || what == 2, gpu_streams::invalid_value, "the launch's list of extra parameters does not end");
    if (what == 1) buffer = entry[1];
    if (what == 2) size = *static_cast<const size_t*>(entry[1]);
  }
  if (buffer == nullptr || size != bytes.size())
    throw Refusal(gpu_streams::invalid_value,
                  fmt::format("the launch has {} bytes of arguments, the kernel takes {}", size, bytes.size()));
  std::memcpy(bytes.data(), buffer, size);
  return bytes;
}

// Cubins of a later CUDA of the same major version are read (minor version compatibility).
void refuse_newer_code(const PtxModule& code, std::string& log) {
  if (code.is_cubin)
    return require(code.version / 10 <= driver_version() / 1000, gpu_streams::invalid_image,
                   "the cubin was made by a newer CUDA than the driver's");
  if (code.version <= newest_ptx()) return;
  log = fmt::format(
      "ptxas application ptx input, line 1; fatal   : Unsupported .version {}.{}; current version is '{}.{}'\n",
      code.version / 10, code.version % 10, newest_ptx() / 10, newest_ptx() % 10);
  throw Refusal(unsupported_ptx_version, log);
}

// PTX on newer cards, a cubin on those of its generation that are not older.
bool runs_here(const PtxModule& code) {
  if (code.only_target) return code.target == capability();
  return code.target <= capability() && (!code.is_cubin || code.target / 10 == capability() / 10);
}

using HostLaunch = void (*)(const char* kernel, uint32_t blocks, uint32_t threads, uint32_t dynamic_shared_bytes,
                            void** arguments);

HostLaunch host_launch() {
  const char* path = variable("CUDA_STAND_IN_KERNELS", nullptr);
  if (path == nullptr) return nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const auto launch = library != nullptr ? reinterpret_cast<HostLaunch>(dlsym(library, "onnxc_host_launch")) : nullptr;
  if (launch == nullptr)
    throw Refusal(gpu_streams::launch_failure, fmt::format("CUDA_STAND_IN_KERNELS: {}", dlerror()));
  return launch;
}

}  // namespace

int device_count() { return std::atoi(variable("CUDA_STAND_IN_DEVICES", "1")); }
int capability() { return version(variable("CUDA_STAND_IN_CAPABILITY", "9.0"), 10, 1); }
int driver_version() { return version(variable("CUDA_STAND_IN_DRIVER", "12.8"), 1000, 10); }
int multiprocessors() { return std::atoi(variable("CUDA_STAND_IN_UNITS", "132")); }
size_t memory_bytes() { return std::strtoull(variable("CUDA_STAND_IN_MEMORY", "17179869184"), nullptr, 10); }

// Never destroyed: a host may call the driver while it exits.
StandIn& StandIn::instance() {
  static auto* stand_in = new StandIn;
  return *stand_in;
}

void StandIn::enter(const char* name) {
  const std::string text = variable("CUDA_STAND_IN_FAIL", "");
  if (text != wish_) calls_of_.clear();
  wish_ = text;
  const int call = calls_++, of_this_name = ++calls_of_[name];
  int code = call == fails_at_ ? gpu_streams::out_of_memory : 0;
  std::istringstream wish(text);
  std::string wished;
  int wished_call = 0, wished_code = 0;
  if (wish >> wished >> wished_call >> wished_code && wished == name && wished_call == of_this_name) code = wished_code;
  if (code == 0) return;
  failed_call_ = name;
  throw Refusal(code, "this call was to fail");
}

void StandIn::fail_at(int call) {
  calls_ = 0;
  failed_call_.clear();
  fails_at_ = call;
}

Context& StandIn::primary(int device) {
  Context& context = primaries_[device];
  context.device = device;
  return context;
}

void StandIn::retain(Context& primary) {
  if (primary.users++ == 0) primary.number = ++last_context_;
}

Context* StandIn::create_context(int device) {
  Context* context = contexts_.create();
  context->number = ++last_context_;
  context->device = device;
  return context;
}

// A primary one is destroyed when its last user leaves it. Everything in it goes.
void StandIn::destroy_context(Context* context) {
  if (context->lost_with == 0) streams.finish_device(context->number);
  streams.forget_device(context->number);
  modules_.destroy_if([&](const Module& module) { return module.context == context->number; });
  memory.free_context(context->number);
  if (contexts_.has(context)) {
    contexts_.destroy(*context);
  } else {
    context->number = context->lost_with = 0;
  }
}

bool StandIn::has(const Context* context) const {
  if (contexts_.has(context)) return true;
  for (const auto& [device, primary] : primaries_)
    if (&primary == context) return primary.users > 0;
  return false;
}

Context& StandIn::current() const {
  if (context_stack.empty()) throw Refusal(invalid_context, "no context is current to this thread");
  Context& context = *context_stack.back();
  if (!has(&context)) throw Refusal(context_is_destroyed, "the current context was destroyed");
  if (context.lost_with != 0) throw Refusal(context.lost_with, "an earlier kernel ended this context");
  return context;
}

int StandIn::context_of(const void* stream) {
  const Context& context = current();
  if (streams.stream(stream, context.number).device != context.number)
    throw Refusal(gpu_streams::invalid_handle, "the stream is of another context than the current one");
  return context.number;
}

Context* StandIn::context_of_any(const void* stream) {
  return context_of_number(streams.stream(stream, current().number).device);
}

Context* StandIn::context_of_number(int number) {
  for (auto& [device, primary] : primaries_)
    if (primary.number == number) return &primary;
  for (const auto& [context, owner] : contexts_)
    if (context->number == number) return context;
  throw Refusal(context_is_destroyed, "its context was destroyed");
}

void* StandIn::allocate(size_t bytes) {
  void* pointer = memory.allocate(current().number, bytes, memory_bytes());
  if (pointer == nullptr)
    throw Refusal(gpu_streams::out_of_memory, fmt::format("{} bytes are asked for, {} of {} are in use", bytes,
                                                          memory.used_bytes(current().number), memory_bytes()));
  return pointer;
}

Module* StandIn::load(const char* image, std::string& log) {
  const Context& context = current();
  require(image != nullptr, gpu_streams::invalid_value, "the module is null");
  PtxModule code = is_cubin(image) ? read_cubin(image) : read_ptx(image);
  refuse_newer_code(code, log);
  if (!runs_here(code))
    throw Refusal(no_binary_for_gpu, fmt::format("{} for sm_{} on compute capability {}",
                                                 code.is_cubin ? "a cubin" : "PTX", code.target, capability()));
  Module* module = modules_.create();
  module->context = context.number;
  module->ptx = std::move(code);
  for (const auto& [name, kernel] : module->ptx.kernels) module->functions[name] = {module, name, &kernel};
  return module;
}

void StandIn::unload(const void* module) { modules_.destroy(modules_.known(module, "module")); }

Function* StandIn::function(const void* module, const char* name) {
  Module& found = modules_.known(module, "module");
  require(found.context == current().number, gpu_streams::invalid_handle, "the module is of another context");
  const auto function = found.functions.find(name);
  if (function == found.functions.end())
    throw Refusal(gpu_streams::not_found, fmt::format("the module has no kernel {}", name));
  return &function->second;
}

Function& StandIn::known(const void* function) const {
  for (const auto& [module, owner] : modules_)
    for (auto& [name, candidate] : module->functions)
      if (&candidate == function) return candidate;
  throw Refusal(gpu_streams::invalid_handle, "the kernel's module is not loaded");
}

int StandIn::launch(const void* handle, uint32_t blocks, uint32_t threads, uint32_t dynamic_shared_bytes,
                    const void* stream, void** parameters, void** extra) {
  const Function& function = known(handle);
  const int context = context_of(stream);
  require(function.module->context == context, gpu_streams::invalid_handle,
          "the kernel's module is of another context than the current one");
  require(blocks > 0 && blocks <= most_blocks && threads > 0 && threads <= most_threads, gpu_streams::invalid_value,
          "the launch has no legal number of blocks or threads");
  require(threads <= function.kernel->most_threads, gpu_streams::invalid_value,
          "the launch has more threads than the kernel was compiled for");
  require(dynamic_shared_bytes <= function.most_dynamic_shared_bytes, gpu_streams::invalid_value,
          "the launch wants more dynamic shared memory than the kernel was allowed");
  // Arguments are read when the launch is enqueued, as the driver does.
  std::vector<std::byte> arguments = gather_arguments(*function.kernel, parameters, extra);
  return streams.enqueue(stream, context, [=, this, bytes = std::move(arguments)]() mutable {
    // A graph may outlive the module that it was captured from.
    run_kernel(known(handle), blocks, threads, dynamic_shared_bytes, bytes);
    return 0;
  });
}

void StandIn::run_kernel(const Function& function, uint32_t blocks, uint32_t threads, uint32_t dynamic_shared_bytes,
                         std::vector<std::byte>& arguments) {
  launches_ += fmt::format("{} {} {} {}\n", function.name, blocks, threads, dynamic_shared_bytes);
  const HostLaunch launch = host_launch();
  if (launch == nullptr) return;
  std::vector<void*> pointers;
  for (const PtxParameter& parameter : function.kernel->parameters)
    pointers.push_back(arguments.data() + parameter.offset);
  launch(function.name.c_str(), blocks, threads, dynamic_shared_bytes, pointers.data());
  if (const std::string damage = memory.damage(); !damage.empty())
    throw Refusal(illegal_address, fmt::format("the kernel {} wrote {}", function.name, damage));
}

std::string StandIn::take_launches() { return std::exchange(launches_, ""); }

size_t StandIn::alive() const {
  size_t users = 0;
  for (const auto& [device, primary] : primaries_) users += static_cast<size_t>(primary.users);
  return users + contexts_.size() + modules_.size() + memory.count() + streams.count();
}

}  // namespace cuda_stand_in

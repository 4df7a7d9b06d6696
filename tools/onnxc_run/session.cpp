#include "onnxc_run/session.h"

#include <cstddef>

#include <dlfcn.h>
#include <elf.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>

#include "onnxc_run/slow_notice.h"
#include "onnxc_run/steps.h"
#include "support/list_text.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

template <class Info>
int32_t find(const std::string& name, int32_t count, const char* role, Info info) {
  std::vector<std::string> names;
  for (int32_t i = 0; i < count; ++i) {
    if (name == info(i)->name) return i;
    names.push_back(quote(info(i)->name));
  }
  throw UsageError(
      fmt::format("the model has no {} {}; it has {}", role, quote(name), names.empty() ? "none" : list_text(names)));
}

std::vector<Tensor> packed(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(pack(tensor));
  return result;
}

// `memory` holds what the tensors are in the C ABI's form.
std::vector<onnxc_value> values_of(const std::vector<Tensor>& tensors, const std::vector<Tensor>& memory) {
  std::vector<onnxc_value> values;
  for (size_t i = 0; i < tensors.size(); ++i) values.push_back(value_of(tensors[i], memory[i]));
  return values;
}

// Exceptions may not pass through the runtime: they wait here until it has returned.
struct HookCall {
  const StepHook& hook;
  std::exception_ptr exception = {};

  static int32_t call(void* context, onnxc_instance*, int32_t step, int32_t when) noexcept {
    HookCall& self = *static_cast<HookCall*>(context);
    try {
      self.hook(step, when);
      return 0;
    } catch (...) {
      self.exception = std::current_exception();
      return 1;
    }
  }
};

// Makes the outputs whose dims only the run knows.
struct OutputAllocation {
  std::vector<Tensor>&outputs, &memory;
  std::exception_ptr exception = {};

  static void* call(void* context, int32_t output, onnxc_dtype dtype, int32_t rank, const int64_t* dims,
                    int64_t) noexcept {
    OutputAllocation& self = *static_cast<OutputAllocation*>(context);
    try {
      const DTypeInfo* row = find_dtype(dtype);
      internal_check(row != nullptr, "the dtype of an output");
      Tensor& tensor = self.outputs.at(static_cast<size_t>(output));
      tensor = Tensor::zeros(row->dtype, {dims, dims + rank});
      Tensor& held = self.memory.at(static_cast<size_t>(output));
      held = pack(tensor);
      return held.mutable_bytes();
    } catch (...) {
      self.exception = std::current_exception();
      return nullptr;
    }
  }
};

}  // namespace

onnxc_value value_of(const Tensor& tensor, const Tensor& memory) {
  onnxc_value value = {};
  value.dtype = static_cast<onnxc_dtype>(tensor.dtype());
  value.rank = static_cast<int32_t>(tensor.dims().size());
  value.dims = tensor.dims().data();
  value.data = const_cast<std::byte*>(memory.bytes().data());
  value.bytes = static_cast<int64_t>(memory.bytes().size());
  return value;
}

namespace {

// A file that was cut short, as by a broken download, would end the loader by a signal.
void check_whole(const std::filesystem::path& path) {
  const std::shared_ptr<const MappedFile> file = map_file(path);
  const std::string_view text = file->text();
  const bool is_onnx = path.extension() == ".onnx";
  user_check(text.starts_with(ELFMAG),
             "{} is not a shared object, and onnxc-run takes models that are compiled: compile {} first, as "
             "onnxc {} -o {}",
             quote(path.string()), is_onnx ? "it" : "the model", is_onnx ? printable(path.string()) : "model.onnx",
             is_onnx ? printable(std::filesystem::path(path).replace_extension(".so").string()) : "model.so");
  Elf64_Ehdr header{};
  const bool has_header = text.size() >= sizeof header;
  if (has_header) std::memcpy(&header, text.data(), sizeof header);
  const uint64_t sections = uint64_t{header.e_shnum} * header.e_shentsize;
  user_check(has_header && header.e_shoff <= text.size() && sections <= text.size() - header.e_shoff,
             "{} is cut short: it has {} bytes of {}", quote(path.string()), text.size(),
             has_header ? std::to_string(header.e_shoff + sections) : "a library");
}

}  // namespace

int32_t state_count(const onnxc_api& api) {
  return api.table_size > offsetof(onnxc_api, reset_states) ? api.state_count : 0;
}

namespace {

// Models of before are of one graph.
bool knows_entries(const onnxc_api& api) { return api.table_size > offsetof(onnxc_api, entry); }

const onnxc_api& find_entry(const std::vector<const onnxc_api*>& entries, const std::string& name) {
  std::vector<std::string> names;
  for (const onnxc_api* entry : entries) {
    if (!knows_entries(*entry)) throw UsageError("--entry: the model is of an older onnxc, and of one graph");
    if (name == entry->entry_name) return *entry;
    names.push_back(quote(entry->entry_name));
  }
  throw UsageError(fmt::format("--entry: the model has no entry {}; it has {}", quote(name), list_text(names)));
}

}  // namespace

ModelLibrary::ModelLibrary(const std::filesystem::path& path, const std::optional<std::string>& entry) : path_(path) {
  // With a folder in its name, so that the loader does not search for it.
  std::string file = std::filesystem::absolute(path).string();
  user_check(std::filesystem::exists(file), "{}: no such file", quote(path.string()));
  check_whole(path);
  library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const char* reason = dlerror();
    user_error("{} cannot be loaded: {}", quote(path.string()),
               printable(reason != nullptr ? reason : "no reason known"));
  }
  auto get_api = reinterpret_cast<onnxc_get_api_function>(dlsym(library_, "onnxc_get_api"));
  if (get_api != nullptr) api_ = get_api(ONNXC_ABI_VERSION);
  if (api_ != nullptr) {
    if (entry) api_ = &find_entry(entries(), *entry);
    return;
  }
  dlclose(library_);
  user_check(get_api != nullptr, "{} is a library, but not a model that onnxc compiled", quote(path.string()));
  user_error("{} was compiled by an older onnxc than this onnxc-run knows: compile the model again",
             quote(path.string()));
}

ModelLibrary::~ModelLibrary() { dlclose(library_); }

std::vector<const onnxc_api*> ModelLibrary::entries() const {
  if (!knows_entries(*api_)) return {api_};
  std::vector<const onnxc_api*> entries;
  for (int32_t i = 0; i < api_->entry_count; ++i) entries.push_back(api_->entry(i));
  return entries;
}

int32_t ModelLibrary::find_input(const std::string& name) const {
  return find(name, api_->input_count, "input", api_->input);
}

int32_t ModelLibrary::find_output(const std::string& name) const {
  return find(name, api_->output_count, "output", api_->output);
}

DType dtype_of(const onnxc_value_info& info) {
  const DTypeInfo* row = find_dtype(info.dtype);
  user_check(row != nullptr && row->dtype != DType::undefined && row->dtype != DType::string,
             "{} has a type that onnxc-run cannot hold (ONNX's number {})", quote(info.name), info.dtype);
  return row->dtype;
}

namespace {

// NVIDIA's driver compiles the kernels when a model is loaded for the first time, for up to seconds.
std::unique_ptr<SlowNotice> notice_of_compile(const onnxc_api& api, const Device& device) {
  if (!device.is_gpu || std::string_view(api.target).find("cuda ") == std::string_view::npos) return nullptr;
  return std::make_unique<SlowNotice>(std::chrono::seconds(1), [] {
    spdlog::info("the GPU's driver compiles the kernels; it keeps them for the next load");
  });
}

}  // namespace

Session::Session(const ModelLibrary& library, int threads, const Device& device, bool hip_graph) : library_(library) {
  onnxc_options options = {};
  options.struct_size = sizeof options;
  options.threads = threads;
  options.device = device.is_gpu ? ONNXC_GPU : ONNXC_CPU;
  options.device_index = device.index;
  if (hip_graph) options.flags |= ONNXC_GPU_GRAPH;
  char error[ONNXC_ERROR_SIZE] = "";
  std::unique_ptr<SlowNotice> notice = notice_of_compile(api(), device);
  const onnxc_status status = api().create(&options, &instance_, error, sizeof error);
  notice.reset();
  // An option, or an environment variable.
  if (status == ONNXC_INVALID_ARGUMENT) throw UsageError(error);
  user_check(status == ONNXC_OK, "{}: {}", quote(library.path().string()), error);
}

Session::~Session() { api().destroy(instance_); }

void Session::check(onnxc_status status) const {
  if (status == ONNXC_OK) return;
  std::string text = fmt::format("{}: {}", quote(library_.path().string()), api().last_error(instance_));
  if (status == ONNXC_INTERNAL_ERROR) internal_error(text);
  throw UserError(text);
}

void Session::reset_states() {
  if (state_count(api()) > 0) check(api().reset_states(instance_));
}

std::vector<std::vector<int64_t>> Session::output_dims(const std::vector<std::vector<int64_t>>& input_dims) {
  std::vector<const int64_t*> inputs;
  for (int32_t i = 0; i < api().input_count; ++i) {
    const onnxc_value_info& info = *api().input(i);
    const std::vector<int64_t>& dims = input_dims.at(static_cast<size_t>(i));
    user_check(static_cast<int32_t>(dims.size()) == info.rank, "input {}: expected rank {}, found rank {}",
               quote(info.name), info.rank, dims.size());
    inputs.push_back(dims.data());
  }
  std::vector<std::vector<int64_t>> dims;
  std::vector<int64_t*> outputs;
  for (int32_t i = 0; i < api().output_count; ++i) dims.emplace_back(api().output(i)->rank);
  for (std::vector<int64_t>& one : dims) outputs.push_back(one.data());
  check(api().output_dims(instance_, inputs.data(), outputs.data()));
  return dims;
}

std::vector<Tensor> Session::make_outputs(const std::vector<Tensor>& inputs) {
  std::vector<std::vector<int64_t>> input_dims;
  for (const Tensor& input : inputs) input_dims.push_back(input.dims());
  const std::vector<std::vector<int64_t>> dims = output_dims(input_dims);
  std::vector<Tensor> outputs;
  for (int32_t i = 0; i < api().output_count; ++i) {
    const std::vector<int64_t>& known = dims[static_cast<size_t>(i)];
    const bool waits = std::ranges::find(known, -1) != known.end();
    outputs.push_back(waits ? Tensor(DType::undefined, {}, {}, nullptr)
                            : Tensor::zeros(dtype_of(*api().output(i)), known));
  }
  return outputs;
}

void Session::run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, const StepHook& hook) {
  const std::vector<Tensor> input_memory = packed(inputs);
  std::vector<Tensor> output_memory = packed(outputs);
  const std::vector<onnxc_value> input_values = values_of(inputs, input_memory);
  std::vector<onnxc_value> output_values = values_of(outputs, output_memory);
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  OutputAllocation allocation{outputs, output_memory};
  options.allocate_output = OutputAllocation::call;
  options.allocate_context = &allocation;
  for (int32_t i = 0; i < api().output_count; ++i)
    if (outputs.at(static_cast<size_t>(i)).dtype() == DType::undefined) {
      onnxc_value& waiting = output_values[static_cast<size_t>(i)];
      waiting = {};
      waiting.dtype = api().output(i)->dtype;
    }
  HookCall hook_call{hook};
  if (hook) {
    options.hook = HookCall::call;
    options.hook_context = &hook_call;
  }
  onnxc_status status = api().run(instance_, input_values.data(), static_cast<int32_t>(inputs.size()),
                                  output_values.data(), static_cast<int32_t>(outputs.size()), &options);
  if (hook_call.exception) std::rethrow_exception(hook_call.exception);
  if (allocation.exception) std::rethrow_exception(allocation.exception);
  check(status);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (is_sub_byte(outputs[i].dtype()))
      outputs[i] = unpack(outputs[i].dtype(), outputs[i].dims(), output_memory[i].bytes());
}

std::vector<Tensor> Session::run(const std::vector<Tensor>& inputs, const StepHook& hook) {
  std::vector<Tensor> outputs = make_outputs(inputs);
  run(inputs, outputs, hook);
  return outputs;
}

std::vector<onnxc_step_info> Session::steps() const {
  std::vector<onnxc_step_info> steps;
  // Models of before had one list of steps, the CPU's.
  const bool has_own = api().table_size > offsetof(onnxc_api, instance_step);
  const int32_t count = has_own ? api().instance_step_count(instance_) : api().step_count;
  for (int32_t i = 0; i < count; ++i) {
    steps.push_back(i < api().step_count ? cpu_step(api(), i) : onnxc_step_info{});
    if (has_own) check(api().instance_step(instance_, i, &steps.back()));
  }
  return steps;
}

std::vector<const onnxc_value_info*> Session::step_outputs(int32_t step) const {
  const bool has_own = api().table_size > offsetof(onnxc_api, instance_step_output);
  const int32_t count = has_own ? api().instance_step_output_count(instance_, step) : api().step_output_count(step);
  std::vector<const onnxc_value_info*> outputs;
  for (int32_t i = 0; i < count; ++i)
    outputs.push_back(has_own ? api().instance_step_output(instance_, step, i) : api().step_output(step, i));
  return outputs;
}

Tensor Session::step_output(int32_t step, int32_t output) {
  const onnxc_value_info& info = *step_outputs(step).at(static_cast<size_t>(output));
  std::vector<int64_t> dims(static_cast<size_t>(info.rank));
  check(api().step_output_dims(instance_, step, output, dims.data()));
  Tensor tensor = Tensor::zeros(dtype_of(info), dims);
  check(api().step_output_data(instance_, step, output, tensor.mutable_bytes(),
                               static_cast<int64_t>(tensor.bytes().size())));
  return tensor;
}

}  // namespace onnxc

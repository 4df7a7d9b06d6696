// A model.so, opened and run through its C ABI.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "onnxc.h"
#include "onnxc_run/options.h"

namespace onnxc {

// The library; unloaded at the end.
class ModelLibrary {
 public:
  // UserError if the file is missing, is not a library that onnxc made, or is newer than this program.
  // `entry`: the graph to run, of a library of several; nothing for the first. UsageError that lists the names there
  // are.
  explicit ModelLibrary(const std::filesystem::path& path, const std::optional<std::string>& entry = std::nullopt);
  ~ModelLibrary();
  ModelLibrary(const ModelLibrary&) = delete;
  ModelLibrary& operator=(const ModelLibrary&) = delete;

  const onnxc_api& api() const { return *api_; }
  const std::filesystem::path& path() const { return path_; }
  // The table of each entry.
  std::vector<const onnxc_api*> entries() const;
  // Makes another entry the one that api() and the functions below are about.
  void select(const onnxc_api& entry) { api_ = &entry; }
  // The index of an input or output; UsageError that lists the names there are.
  int32_t find_input(const std::string& name) const;
  int32_t find_output(const std::string& name) const;

 private:
  std::filesystem::path path_;
  void* library_ = nullptr;
  const onnxc_api* api_ = nullptr;
};

// None of a model that is older than states.
int32_t state_count(const onnxc_api& api);

// The element type of a value; UserError when this program cannot hold it.
DType dtype_of(const onnxc_value_info& info);

// A tensor as the C ABI takes it. Its dims stay the tensor's, its data are `memory`, which is pack(tensor).
onnxc_value value_of(const Tensor& tensor, const Tensor& memory);

// Called before and after each step; see onnxc_step_hook.
using StepHook = std::function<void(int32_t step, int32_t when)>;

// An instance of a model. Errors of the runtime become UserError with its text.
class Session {
 public:
  Session(const ModelLibrary& library, int threads, const Device& device, bool hip_graph = false);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const onnxc_api& api() const { return library_.api(); }
  const ModelLibrary& library() const { return library_; }
  onnxc_instance* instance() const { return instance_; }
  int threads() const { return api().threads(instance_); }
  // The steps that a run executes on this session's device.
  std::vector<onnxc_step_info> steps() const;

  // The dims of the outputs for inputs of these dims; -1 for one that only the run knows. Binds the instance to them.
  std::vector<std::vector<int64_t>> output_dims(const std::vector<std::vector<int64_t>>& input_dims);
  // Tensors for the outputs that these inputs give, zeroed; one of no dtype if only the run knows the dims, and then
  // makes it.
  std::vector<Tensor> make_outputs(const std::vector<Tensor>& inputs);
  void run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, const StepHook& hook = {});
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const StepHook& hook = {});

  // Makes the model's states zero, if it has any.
  void reset_states();

  // The tensors that a step materialises, on this session's device.
  std::vector<const onnxc_value_info*> step_outputs(int32_t step) const;
  // One of them; only from the hook after the step.
  Tensor step_output(int32_t step, int32_t output);

 private:
  void check(onnxc_status status) const;

  const ModelLibrary& library_;
  onnxc_instance* instance_ = nullptr;
};

}  // namespace onnxc

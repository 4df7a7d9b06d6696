// The calls on an instance: output dims, a run, and what hooks and tools ask in between.
#include <string.h>

#include "base/step_walk.h"
#include "base/value_check.h"
#include "gpu/backend.h"
#include "host/instance.h"
#include "host/options.h"
#include "host/state_set.h"
#include "strings/string_values.h"
#include "threads/shared_pool.h"

namespace onnxc::runtime {
namespace {

// The elements of a tensor of strings; none of another.
int64_t string_count(const TensorDescription& info, const int64_t* dims) {
  if (info.dtype != ONNXC_STRING) return 0;
  return tensor_bytes(ONNXC_STRING, info.rank, dims) / static_cast<int64_t>(sizeof(onnxc_string));
}

bool has_value_on_gpu(const ModelDescription& model, const onnxc_value* inputs, const onnxc_value* outputs) {
  for (int32_t i = 0; i < model.input_count; ++i)
    if (inputs[i].device != ONNXC_CPU) return true;
  for (int32_t i = 0; i < model.output_count; ++i)
    if (outputs[i].device != ONNXC_CPU) return true;
  return false;
}

}  // namespace

onnxc_status Instance::output_dims(const int64_t* const* input_dims, int64_t* const* output_dims) {
  Call call(*this);
  return call.entered() ? output_dims_in_call(input_dims, output_dims) : ONNXC_BUSY;
}

onnxc_status Instance::output_dims_in_call(const int64_t* const* input_dims, int64_t* const* output_dims) {
  if ((input_dims == nullptr && model.input_count > 0) || (output_dims == nullptr && model.output_count > 0))
    return refuse(ONNXC_INVALID_ARGUMENT, "input_dims or output_dims is null");
  for (int32_t i = 0; i < model.input_count; ++i) {
    onnxc_status status = check_dims({"input", i, model.inputs[i]}, model.inputs[i].rank, input_dims[i], error_);
    if (status != ONNXC_OK) return status;
  }
  for (int32_t i = 0; i < model.output_count; ++i)
    if (output_dims[i] == nullptr && model.outputs[i].rank > 0)
      return refuse(ONNXC_INVALID_ARGUMENT, "a pointer in output_dims is null");
  onnxc_status status = bind(input_dims);
  if (status != ONNXC_OK) return status;
  const int64_t* dims = output_dims_.data();
  const int32_t* level = model.output_dim_levels;
  for (int32_t i = 0; i < model.output_count; ++i)
    for (int32_t axis = 0; axis < model.outputs[i].rank; ++axis, ++dims)
      // The next run need not have the sizes of the earlier one.
      output_dims[i][axis] = level != nullptr && *level++ > 0 ? -1 : *dims;
  return ONNXC_OK;
}

onnxc_status Instance::check_inputs(const onnxc_value* inputs) {
  for (int32_t i = 0; i < model.input_count; ++i) {
    const ValuePlace place{"input", i, model.inputs[i]};
    const onnxc_value& value = inputs[i];
    onnxc_status status = check_type(place, value, device_ != nullptr, error_);
    if (status == ONNXC_OK) status = check_dims(place, value.rank, value.dims, error_);
    if (status == ONNXC_OK) status = check_memory(place, value, value.dims, error_);
    if (status != ONNXC_OK) return status;
    dims_pointers_[i] = value.dims;
  }
  return ONNXC_OK;
}

int32_t Instance::level_of_output(int32_t output) const {
  if (model.output_dim_levels == nullptr) return 0;
  int32_t highest = 0;
  const int32_t* levels = model.output_dim_levels + (dims_of_output(output) - output_dims_.data());
  for (int32_t axis = 0; axis < model.outputs[output].rank; ++axis)
    if (levels[axis] > highest) highest = levels[axis];
  return highest;
}

onnxc_status Instance::check_outputs(int32_t level, const Values& values) {
  for (int32_t i = 0; i < model.output_count; ++i) {
    const ValuePlace place{"output", i, model.outputs[i]};
    const onnxc_value& value = values.outputs[i];
    const bool can_allocate = value.data == nullptr && values.options.allocate_output != nullptr;
    onnxc_status status = level == 0 ? check_type(place, value, device_ != nullptr, error_) : ONNXC_OK;
    if (status == ONNXC_OK && level == 0 && value.dims != nullptr)
      status = check_dims(place, value.rank, value.dims, error_);
    if (status == ONNXC_OK && level_of_output(i) == level) {
      const int64_t* dims = dims_of_output(i);
      if (value.dims != nullptr) status = check_equal_dims(place, value.dims, dims, error_);
      if (status == ONNXC_OK && !can_allocate) status = check_memory(place, value, dims, error_);
    }
    if (status != ONNXC_OK) return status;
  }
  return ONNXC_OK;
}

onnxc_status Instance::check_overlap(int32_t level, const Values& values) {
  const auto* inputs = values.inputs;
  const auto* outputs = values.outputs;
  for (int32_t i = 0; i < model.output_count; ++i) {
    if (level_of_output(i) != level) continue;
    int64_t bytes = tensor_bytes(model.outputs[i].dtype, model.outputs[i].rank, dims_of_output(i));
    const char* begin = static_cast<const char*>(outputs[i].data);
    auto meets = [&](const void* data, int64_t other_bytes) {
      const char* other = static_cast<const char*>(data);
      return bytes > 0 && other_bytes > 0 && begin != nullptr && other != nullptr && begin < other + other_bytes &&
             other < begin + bytes;
    };
    const onnxc_value_info* other = nullptr;
    for (int32_t j = 0; j < model.input_count && other == nullptr; ++j) {
      const TensorDescription& input = model.inputs[j];
      if (meets(inputs[j].data, tensor_bytes(input.dtype, input.rank, inputs[j].dims))) other = &input;
    }
    for (int32_t j = 0; j < model.output_count && other == nullptr; ++j) {
      // Each pair once: when the later of the two is known.
      const bool is_earlier = level_of_output(j) < level || (level_of_output(j) == level && j < i);
      const TensorDescription& output = model.outputs[j];
      if (is_earlier && meets(outputs[j].data, tensor_bytes(output.dtype, output.rank, dims_of_output(j))))
        other = &output;
    }
    if (other == nullptr) continue;
    error_.append("output %d ", i);
    error_.append_name(model.outputs[i].name);
    error_.append(": its memory overlaps that of ");
    error_.append_name(other->name);
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

onnxc_status Instance::reserve_memory(int32_t level) {
  const Level& laid_out = levels_[level];
  Arena& arena = arenas_[level];
  if (!arena.reserve(laid_out.planned_bytes)) {
    error_.append("no %lld bytes of working memory", static_cast<long long>(laid_out.planned_bytes));
    return ONNXC_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < program_.buffer_count; ++i)
    if (program_.buffers[i].kind == BufferKind::temporary && program_.buffers[i].level == level)
      buffers_[i] = arena.data() + offsets_[i];
  frame_.scratch = arena.data() + laid_out.scratch_offset;
  frame_.scratch_stride = laid_out.scratch_stride;
  return ONNXC_OK;
}

onnxc_status Instance::place_outputs(int32_t level, const Values& values) {
  const onnxc_run_options& options = values.options;
  for (int32_t i = 0; i < model.output_count; ++i) {
    if (level_of_output(i) != level) continue;
    const TensorDescription& info = model.outputs[i];
    const int64_t* dims = dims_of_output(i);
    output_data_[i] = values.outputs[i].data;
    if (values.outputs[i].data != nullptr || options.allocate_output == nullptr) continue;
    onnxc_value allocated = values.outputs[i];
    allocated.bytes = tensor_bytes(info.dtype, info.rank, dims);
    allocated.data = options.allocate_output(options.allocate_context, i, info.dtype, info.rank, dims, allocated.bytes);
    output_data_[i] = allocated.data;
    if (allocated.data == nullptr && allocated.bytes > 0) {
      error_.append("output %d ", i);
      error_.append_name(info.name);
      error_.append(": allocate_output gave no memory for %lld bytes", static_cast<long long>(allocated.bytes));
      return ONNXC_OUT_OF_MEMORY;
    }
    onnxc_status status = check_memory({"output", i, info}, allocated, dims, error_);
    if (status != ONNXC_OK) return status;
  }
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const BufferDescription& buffer = program_.buffers[i];
    if (buffer.kind == BufferKind::input) buffers_[i] = input_data_[buffer.index];
    if (buffer.kind == BufferKind::output) buffers_[i] = output_data_[buffer.index];
  }
  return ONNXC_OK;
}

// Steps read the memory of the caller, but handles in place of strings.
onnxc_status Instance::take_inputs(const onnxc_value* inputs) {
  int64_t strings = 0;
  for (int32_t i = 0; i < model.input_count; ++i) {
    input_data_[i] = inputs[i].data;
    strings += string_count(model.inputs[i], inputs[i].dims);
  }
  if (model.string_count == 0) return ONNXC_OK;
  strings_.begin_run();
  for (int32_t i = 0; i < model.output_count; ++i) output_data_[i] = nullptr;
  if (strings > input_strings_.size() && !input_strings_.allocate(strings))
    return refuse(ONNXC_OUT_OF_MEMORY, "no memory for the strings of the inputs");
  int64_t* handles = input_strings_.data();
  for (int32_t i = 0; i < model.input_count; ++i) {
    if (model.inputs[i].dtype != ONNXC_STRING) continue;
    const int64_t count = string_count(model.inputs[i], inputs[i].dims);
    const onnxc_status status = take_strings({"input", i, model.inputs[i]}, static_cast<onnxc_string*>(inputs[i].data),
                                             count, strings_, handles, error_);
    if (status != ONNXC_OK) return status;
    input_data_[i] = handles;
    handles += count;
  }
  return ONNXC_OK;
}

// Texts in place of the handles that the steps have written; empty ones if the run has failed before.
onnxc_status Instance::give_outputs(onnxc_status status) {
  for (int32_t i = 0; i < model.output_count && model.string_count > 0; ++i) {
    const TensorDescription& info = model.outputs[i];
    if (info.dtype != ONNXC_STRING || output_data_[i] == nullptr) continue;
    const int64_t count = string_count(info, dims_of_output(i));
    if (status == ONNXC_OK)
      status = give_strings({"output", i, info}, output_data_[i], count, strings_, error_);
    else
      memset(output_data_[i], 0, static_cast<size_t>(count) * sizeof(onnxc_string));
  }
  return status;
}

void Instance::poison(int32_t level) {
  if (levels_[level].planned_bytes > 0)
    memset(arenas_[level].data(), 0xff, static_cast<size_t>(levels_[level].planned_bytes));
  for (int32_t i = 0; i < model.output_count; ++i) {
    if (level_of_output(i) != level) continue;
    int64_t bytes = tensor_bytes(model.outputs[i].dtype, model.outputs[i].rank, dims_of_output(i));
    if (bytes > 0) memset(output_data_[i], 0xff, static_cast<size_t>(bytes));
  }
}

onnxc_status Instance::prepare(int32_t level, const Values& values) {
  onnxc_status status = check_outputs(level, values);
  if (status == ONNXC_OK) status = check_overlap(level, values);
  if (status == ONNXC_OK && device_ == nullptr) status = reserve_memory(level);
  if (status == ONNXC_OK) status = place_outputs(level, values);
  if (status == ONNXC_OK && device_ == nullptr && poison_) poison(level);
  return status;
}

onnxc_status Instance::enter_level(Binding bind, const Frame& frame, int32_t level, const Values& values) {
  onnxc_status status = bind_run_time_symbols(bind, frame, level);
  return status == ONNXC_OK ? prepare(level, values) : status;
}

void Instance::begin_random_numbers() {
  if (model.random_symbols < 0) return;
  symbols_[model.random_symbols] = random_seed_.next();
  symbols_[model.random_symbols + 1] = 0;
}

// Counts the rounds of a loop, whose levels are laid out anew.
void Instance::begin_round(int32_t level, int32_t round, bool is_first) {
  forget_levels(level);
  symbols_[round] = is_first ? 0 : symbols_[round] + 1;
  if (model.random_symbols >= 0) ++symbols_[model.random_symbols + 1];
}

onnxc_status Instance::run_step(int32_t step, const Values& values) {
  const onnxc_run_options& options = values.options;
  auto stops = [&](int32_t when) {
    return options.hook != nullptr &&
           options.hook(options.hook_context, reinterpret_cast<onnxc_instance*>(this), step, when) != 0;
  };
  if (stops(ONNXC_BEFORE_STEP)) return refuse(ONNXC_STOPPED, "stopped by the hook");
  const StepDescription& description = program_.steps[step];
  if (description.bind != nullptr) {
    const onnxc_status status = enter_level(description.bind, frame_, level_of_step(program_.steps, step), values);
    if (status != ONNXC_OK) return status;
  } else {
    description.run(frame_);
  }
  if (const char* failure = failure_.load(std::memory_order_acquire)) return refuse(ONNXC_INVALID_DATA, failure);
  if (strings_.failure() != ONNXC_OK) return refuse_strings(description);
  finished_step_ = step;
  const bool stop = stops(ONNXC_AFTER_STEP);
  finished_step_ = -1;
  return stop ? refuse(ONNXC_STOPPED, "stopped by the hook") : ONNXC_OK;
}

onnxc_status Instance::refuse_strings(const StepDescription& step) {
  error_.append("in ");
  error_.append_model_text(step.nodes);
  error_.append(": %s", strings_.failure_text());
  return strings_.failure();
}

onnxc_status Instance::run_steps(const Values& values) {
  struct Walk {
    Instance& self;
    const Values& values;
    void begin_round(int32_t step, bool is_first) {
      const StepDescription* const steps = self.program_.steps;
      self.begin_round(level_of_step(steps, step), steps[step].round, is_first);
    }
    onnxc_status holds(int32_t step, bool& result) {
      result = self.program_.steps[step].condition(self.frame_);
      return ONNXC_OK;
    }
    onnxc_status run(int32_t step) { return self.run_step(step, values); }
  };
  failure_.store(nullptr, std::memory_order_relaxed);
  return walk_steps(program_.steps, program_.step_count, Walk{*this, values});
}

onnxc_status Instance::run_on_device(const Values& values) {
  const onnxc_run_options& options = values.options;
  struct Context {
    const Values& values;
    Instance& instance;
  } context{values, *this};
  DeviceRun run{};
  run.inputs = values.inputs;
  run.outputs = values.outputs;
  run.output_data = output_data_.data();
  run.states = states_ != nullptr ? states_->memory().on_gpu() : nullptr;
  run.state_data = state_data_.data();
  run.stream = options.stream;
  run.has_own_stream = options.stream == nullptr && ((options.flags & ONNXC_OWN_STREAM) != 0 ||
                                                     !has_value_on_gpu(model, values.inputs, values.outputs));
  run.waits = options.stream == nullptr && (options.flags & ONNXC_ENQUEUE) == 0;
  run.context = &context;
  if (options.hook != nullptr)
    run.hook = [](void* given, int32_t step, int32_t when) {
      const auto& [run_values, instance] = *static_cast<Context*>(given);
      if (when == ONNXC_AFTER_STEP) instance.finished_step_ = step;
      const int32_t stop = run_values.options.hook(run_values.options.hook_context,
                                                   reinterpret_cast<onnxc_instance*>(&instance), step, when);
      instance.finished_step_ = -1;
      return stop;
    };
  run.begin_round = [](void* given, int32_t level, int32_t round, bool is_first) {
    static_cast<Context*>(given)->instance.begin_round(level, round, is_first);
  };
  run.enter_level = [](void* given, const StepDescription& step, int32_t level, const Frame& frame) {
    const auto& [run_values, instance] = *static_cast<Context*>(given);
    return instance.enter_level(step.bind, frame, level, run_values);
  };
  const onnxc_status status = model.device_backend->run(device_, run, error_);
  return status == ONNXC_STOPPED ? refuse(status, "stopped by the hook") : status;
}

int64_t Instance::working_bytes() const {
  if (device_ != nullptr) return is_bound() ? model.device_backend->working_bytes(device_) : 0;
  int64_t bytes = 0;
  for (int32_t level = 0; level < model.level_count; ++level)
    if (levels_[level].known) bytes += levels_[level].planned_bytes;
  return bytes;
}

const char* Instance::architecture() const {
  return device_ != nullptr ? device_program_->architecture : program_.march;
}

int64_t Instance::captured_graphs() const {
  return device_ != nullptr ? model.device_backend->captured_graphs(device_) : 0;
}

int64_t Instance::least_working_bytes() const {
  int64_t bytes = 0;
  for (int32_t level = 0; device_ == nullptr && level < model.level_count; ++level)
    if (levels_[level].known) bytes += levels_[level].least_bytes;
  return bytes;
}

onnxc_status Instance::run(const onnxc_value* inputs, int32_t input_count, const onnxc_value* outputs,
                           int32_t output_count, const onnxc_run_options* options) {
  Call call(*this);
  return call.entered() ? run_in_call(inputs, input_count, outputs, output_count, options) : ONNXC_BUSY;
}

onnxc_status Instance::run_in_call(const onnxc_value* inputs, int32_t input_count, const onnxc_value* outputs,
                                   int32_t output_count, const onnxc_run_options* given) {
  StateSet::Call states(states_);
  if (!states.entered()) return refuse_busy_states();
  onnxc_run_options options;
  onnxc_status status = read_options(given, options, error_);
  if (status == ONNXC_OK && device_ == nullptr && (options.stream != nullptr || options.flags != 0))
    status = refuse(ONNXC_INVALID_ARGUMENT, options.stream != nullptr
                                                ? "onnxc_run_options.stream is set, and this instance runs on the CPU"
                                                : "onnxc_run_options.flags is of streams, and this instance runs on "
                                                  "the CPU");
  if (status == ONNXC_OK) status = check_count("inputs", inputs, input_count, model.input_count, error_);
  if (status == ONNXC_OK) status = check_count("outputs", outputs, output_count, model.output_count, error_);
  if (status == ONNXC_OK) status = check_inputs(inputs);
  if (status == ONNXC_OK) status = bind(dims_pointers_.data());
  if (status == ONNXC_OK) begin_random_numbers();
  const Values values{inputs, outputs, options};
  if (status == ONNXC_OK) status = take_inputs(inputs);
  if (status == ONNXC_OK) status = prepare(0, values);
  if (status == ONNXC_OK) status = take_states();
  if (status != ONNXC_OK) return status;
  return device_ != nullptr ? run_on_device(values) : give_outputs(run_steps(values));
}

void Instance::parallel_for(const Frame& frame, int64_t tasks, ParallelBody body, const void* context) {
  Instance* instance = static_cast<Instance*>(frame.instance);
  if (instance->host_threads_.present()) {
    if (!instance->host_threads_.run(tasks, body, context))
      fail(frame, "the host's parallel_for did not run each task once");
    return;
  }
  ThreadPool& pool = instance->shares_pool_ ? shared_pool() : instance->own_pool_;
  pool.run(tasks, instance->threads_, body, context);
}

void Instance::fail(const Frame& frame, const char* text) {
  const char* none = nullptr;
  static_cast<Instance*>(frame.instance)->failure_.compare_exchange_strong(none, text, std::memory_order_release);
}

// The questions of hooks and tools.

// Whether the sizes that a step works with are known.
bool Instance::is_laid_out(int32_t step) const {
  const int32_t level =
      device_ != nullptr ? level_of_step(device_program_->steps, step) : level_of_step(program_.steps, step);
  return levels_[level].known;
}

onnxc_status Instance::run_output_dims(int32_t output, int64_t* dims) {
  Call call(*this);
  if (!call.entered()) return ONNXC_BUSY;
  if (output < 0 || output >= model.output_count) return refuse(ONNXC_INVALID_ARGUMENT, "no such output");
  if (dims == nullptr && model.outputs[output].rank > 0)
    return refuse(ONNXC_INVALID_ARGUMENT, "the place for the dims is null");
  if (!levels_[level_of_output(output)].known)
    return refuse(ONNXC_INVALID_ARGUMENT, "the dims of this output are known after a run");
  for (int32_t axis = 0; axis < model.outputs[output].rank; ++axis) dims[axis] = dims_of_output(output)[axis];
  return ONNXC_OK;
}

onnxc_status Instance::symbol_values(int64_t* values) {
  if (values == nullptr && model.symbol_count > 0) return refuse(ONNXC_INVALID_ARGUMENT, "values is null");
  if (!is_bound()) return refuse(ONNXC_INVALID_ARGUMENT, nothing_bound);
  for (int32_t i = 0; i < model.symbol_count; ++i) values[i] = symbols_[i];
  return ONNXC_OK;
}

}  // namespace onnxc::runtime

// The model's facts about its steps, and about what they have written while a hook looks on.
#include "base/value_check.h"
#include "gpu/backend.h"
#include "host/copy_out.h"
#include "host/instance.h"
#include "strings/string_values.h"

namespace onnxc::runtime {

int32_t Instance::step_count() const { return device_ != nullptr ? device_program_->step_count : program_.step_count; }

const StepDescription* Instance::steps() const { return device_ != nullptr ? device_program_->steps : program_.steps; }

onnxc_status Instance::step_info(int32_t step, onnxc_step_info& info) const {
  if (step < 0 || step >= step_count()) return ONNXC_INVALID_ARGUMENT;
  const StepDescription& found = steps()[step];
  info = {found.name, found.nodes, found.operators};
  return ONNXC_OK;
}

onnxc_status Instance::step_source(int32_t step, onnxc_step_source& source) const {
  if (step < 0 || step >= step_count()) return ONNXC_INVALID_ARGUMENT;
  source = steps()[step].source;
  return ONNXC_OK;
}

int64_t Instance::step_bytes(int32_t step) const {
  int64_t bytes = 0;
  for (int32_t i = 0; device_ == nullptr && i < program_.buffer_count; ++i) {
    const BufferDescription& buffer = program_.buffers[i];
    const bool is_alive = buffer.kind == BufferKind::temporary && buffer.first_step <= step && step <= buffer.last_step;
    if (is_alive && levels_[buffer.level].known)
      bytes += aligned_bytes({buffer_bytes_[i], buffer.first_step, buffer.last_step, 0});
  }
  return bytes;
}

int32_t Instance::step_output_count(int32_t step) const {
  return step >= 0 && step < step_count() ? steps()[step].output_count : 0;
}

const StepOutput* Instance::step_output(int32_t step, int32_t output) const {
  return output >= 0 && output < step_output_count(step) ? steps()[step].outputs + output : nullptr;
}

StepCounts Instance::step_counts(int32_t step) const {
  if (device_ != nullptr || step < 0 || step >= program_.step_count || program_.steps[step].counts == nullptr ||
      !is_laid_out(step))
    return {};
  return program_.steps[step].counts(symbols_.data());
}

onnxc_status Instance::check_step_output(int32_t step, int32_t output, const void* result) {
  if (step < 0 || step >= step_count()) return refuse(ONNXC_INVALID_ARGUMENT, "no such step");
  const StepOutput* found = step_output(step, output);
  if (found == nullptr) return refuse(ONNXC_INVALID_ARGUMENT, "the step has no such output");
  if (result == nullptr && found->tensor.rank > 0)
    return refuse(ONNXC_INVALID_ARGUMENT, "the place for the result is null");
  if (!is_bound()) return refuse(ONNXC_INVALID_ARGUMENT, nothing_bound);
  if (!is_laid_out(step)) return refuse(ONNXC_INVALID_ARGUMENT, "only a run knows the sizes of this step");
  return ONNXC_OK;
}

onnxc_status Instance::place_step_output(const StepOutput& output, Array<PlacedAxis>& axes, int64_t& first) {
  if (!axes.allocate(output.tensor.rank))
    return refuse(ONNXC_OUT_OF_MEMORY, "no memory for the axes of a step's output");
  first = output.place(symbols_.data(), axes.data());
  return ONNXC_OK;
}

onnxc_status Instance::step_output_dims(int32_t step, int32_t output, int64_t* dims) {
  onnxc_status status = check_step_output(step, output, dims);
  if (status != ONNXC_OK) return status;
  Array<PlacedAxis> axes;
  int64_t first = 0;
  status = place_step_output(*step_output(step, output), axes, first);
  for (int64_t i = 0; i < axes.size(); ++i) dims[i] = axes[i].extent;
  return status;
}

onnxc_status Instance::step_output_data(int32_t step, int32_t output, void* data, int64_t bytes) {
  onnxc_status status = check_step_output(step, output, data);
  if (status != ONNXC_OK) return status;
  if (step != finished_step_)
    return refuse(ONNXC_INVALID_ARGUMENT, "a step's outputs can be read only from the hook after that step");
  const StepOutput& description = *step_output(step, output);
  Array<PlacedAxis> axes;
  int64_t first = 0;
  status = place_step_output(description, axes, first);
  if (status != ONNXC_OK) return status;
  Array<int64_t> dims;
  if (!dims.allocate(axes.size())) return refuse(ONNXC_OUT_OF_MEMORY, "no memory for the dims");
  for (int64_t i = 0; i < axes.size(); ++i) dims[i] = axes[i].extent;
  error_.clear();
  onnxc_value value = {};
  value.data = data;
  value.bytes = bytes;
  status = check_memory({"step output", output, description.tensor}, value, dims.data(), error_);
  if (status != ONNXC_OK) return status;
  const bool has_strings = description.tensor.dtype == ONNXC_STRING;
  const int64_t element_size = has_strings ? sizeof(int64_t) : tensor_bytes(description.tensor.dtype, 0, nullptr);
  Array<char> fetched;
  if (device_ != nullptr) status = model.device_backend->read_buffer(device_, description.buffer, fetched, error_);
  if (status != ONNXC_OK) return status;
  const char* buffer =
      device_ != nullptr ? fetched.data() : static_cast<const char*>(frame_.buffers[description.buffer]);
  copy_out(buffer + first * element_size, element_size, axes.data(), description.tensor.rank, data);
  if (!has_strings) return status;
  const int64_t count = tensor_bytes(ONNXC_STRING, description.tensor.rank, dims.data()) / sizeof(onnxc_string);
  return give_strings({"step output", output, description.tensor}, data, count, strings_, error_);
}

}  // namespace onnxc::runtime

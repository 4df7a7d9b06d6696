// A model with states as generated code describes it, written by hand, with a program for the CPU and one for a GPU:
//
//   total[N, 4] = total[N, 4] + k[4]        kernel "add", in place
//   y[N, 4] = total[N, 4] * weights[4]      kernel "multiply"
//
// Its second entry has the same state "total", and before it one of its own, "count", which it never uses.
#include <string.h>

#include "base/entry.h"
#include "gpu/backend.h"
#include "runtime/gpu/fake_code.h"
#include "runtime/gpu/fake_kernels.h"
#include "runtime/gpu/gpu_steps.h"

namespace onnxc::runtime {
namespace {

enum Storage { x_buffer, k_buffer, total_buffer, y_buffer, weights_buffer };

const char* const rows_dims[] = {"N", "4"};
const char* const row_dims[] = {"4"};
const TensorDescription inputs[] = {{"x", ONNXC_FLOAT32, 2, rows_dims, ONNXC_TENSOR},
                                    {"k", ONNXC_FLOAT32, 1, row_dims, ONNXC_TENSOR}};
const TensorDescription outputs[] = {{"y", ONNXC_FLOAT32, 2, rows_dims, ONNXC_TENSOR}};
const TensorDescription states[] = {{"count", ONNXC_INT64, 1, row_dims, ONNXC_TENSOR},
                                    {"total", ONNXC_FLOAT32, 2, rows_dims, ONNXC_TENSOR}};
const int32_t state_places[] = {1, 0};
const char* const symbol_names[] = {"N"};

const char* bind(const int64_t* const* input_dims, int64_t* symbols) {
  symbols[0] = input_dims[0][0];
  return input_dims[1][0] == 4 ? nullptr : "input 'k': dim 0 must be 4";
}
void rows_of(const int64_t* symbols, int64_t* dims) {
  dims[0] = symbols[0];
  dims[1] = 4;
}
void output_dims(int32_t, const int64_t* symbols, int64_t* dims) { rows_of(symbols, dims); }
void state_dims(const int64_t* symbols, int64_t* dims) { rows_of(symbols, dims); }
void state_dims_of_both(const int64_t* symbols, int64_t* dims) {
  dims[0] = 4;
  rows_of(symbols, dims + 1);
}
int32_t sizes(int32_t, const int64_t* symbols, int64_t* buffer_bytes, int64_t* scratch_bytes) {
  int64_t rows = 0;
  if (__builtin_mul_overflow(symbols[0], 16, &rows)) return 1;
  const int64_t bytes[] = {rows, 16, rows, rows, 16};
  memcpy(buffer_bytes, bytes, sizeof bytes);
  *scratch_bytes = 0;
  return 0;
}
constexpr BufferDescription buffers[] = {{BufferKind::input, 0, 0, 0, 0},
                                         {BufferKind::input, 1, 0, 0, 0},
                                         {BufferKind::state, 0, 0, 0, 0},
                                         {BufferKind::output, 0, 0, 0, 0},
                                         {BufferKind::constant, 0, 0, 0, 0}};
constexpr BufferDescription other_buffers[] = {
    buffers[0], buffers[1], {BufferKind::state, 1, 0, 0, 0}, buffers[3], buffers[4]};
alignas(64) const float weights[] = {1, 2, 3, 4};

float* data(const Frame& frame, Storage buffer) { return static_cast<float*>(frame.buffers[buffer]); }

void add(const Frame& frame) {
  if (data(frame, k_buffer)[0] < 0) frame.fail(frame, "node 'add': an element of input 'k' is negative");
  for (int64_t i = 0; i < frame.symbols[0] * 4; ++i) data(frame, total_buffer)[i] += data(frame, k_buffer)[i % 4];
}
void multiply(const Frame& frame) {
  for (int64_t i = 0; i < frame.symbols[0] * 4; ++i)
    data(frame, y_buffer)[i] = data(frame, total_buffer)[i] * data(frame, weights_buffer)[i % 4];
}

void launch_row(const DeviceFrame& frame, int32_t kernel, Storage left, Storage right, Storage result) {
  FakeArguments arguments = {};
  arguments.points = frame.symbols[0] * 4;
  arguments.left = static_cast<float*>(frame.buffers[left]);
  arguments.right = static_cast<float*>(frame.buffers[right]);
  arguments.result = static_cast<float*>(frame.buffers[result]);
  launch_points(frame, kernel, 256, 256, arguments);
}
const StepDescription steps[] = {{"loops add", "add", "Add", {}, add, nullptr, 0, nullptr},
                                 {"loops multiply", "mul", "Mul", {}, multiply, nullptr, 0, nullptr}};
const StepDescription device_steps[] = {
    on_gpu(steps[0], [](const DeviceFrame& frame) { launch_row(frame, 1, total_buffer, k_buffer, total_buffer); }),
    on_gpu(steps[1], [](const DeviceFrame& frame) { launch_row(frame, 0, total_buffer, weights_buffer, y_buffer); })};
const char* const kernels[] = {"multiply", "add"};
const WeightBlock weight_block = {reinterpret_cast<const unsigned char*>(weights), sizeof weights};

DeviceProgram device_program_with(const BufferDescription* table) {
  return {
      .architecture = fake_architecture,
      .compute_units = fake_compute_units,
      .code_object = reinterpret_cast<const unsigned char*>(fake_code),
      .kernels = kernels,
      .kernel_count = 2,
      .sizes = sizes,
      .buffer_count = 5,
      .buffers = table,
      .step_count = 2,
      .steps = device_steps,
      .weights = &weight_block,
  };
}
constexpr CpuProgram program_with(const BufferDescription* table) {
  return {.march = "x86-64",
          .features = nullptr,
          .sizes = sizes,
          .buffer_count = 5,
          .buffers = table,
          .step_count = 2,
          .steps = steps};
}
const DeviceProgram device_program = device_program_with(buffers);
const DeviceProgram other_device_program = device_program_with(other_buffers);
const CpuProgram program = program_with(buffers), other_program = program_with(other_buffers);
const DeviceProgram* const device_programs[] = {&device_program};
const DeviceProgram* const other_device_programs[] = {&other_device_program};
const CpuProgram* const programs[] = {&program};
const CpuProgram* const other_programs[] = {&other_program};

constexpr ModelDescription model = {
    .name = "fake",
    .target = "of a test",
    .cpu_features = nullptr,
    .information = "{}",
    .input_count = 2,
    .output_count = 1,
    .inputs = inputs,
    .outputs = outputs,
    .symbol_count = 1,
    .symbol_names = symbol_names,
    .bind = bind,
    .output_dims = output_dims,
    .cpu_programs = programs,
    .cpu_program_count = 1,
    .state_count = 1,
    .states = states + 1,
    .state_places = state_places + 1,
    .state_dims = state_dims,
    .device_programs = device_programs,
    .device_program_count = 1,
    .device_backend = &gpu_backend,
};
constexpr ModelDescription as_entry_with_both_states(ModelDescription description) {
  description.name = "other";
  description.cpu_programs = other_programs;
  description.device_programs = other_device_programs;
  description.state_count = 2;
  description.states = states;
  description.state_places = state_places;
  description.state_dims = state_dims_of_both;
  return description;
}
constexpr ModelDescription as_entry_without_states(ModelDescription description) {
  description.name = "none";
  description.state_count = 0;
  return description;
}
constexpr ModelDescription other = as_entry_with_both_states(model), none = as_entry_without_states(model);
Entry entries[] = {
    {&model, &entry_functions<0>, {}, {}}, {&other, &entry_functions<1>, {}, {}}, {&none, &entry_functions<2>, {}, {}}};

}  // namespace

extern const SharedObject shared_object = {
    .onnxc_version = "0.1.0",
    .weights = reinterpret_cast<const unsigned char*>(weights),
    .weights_size = sizeof weights,
    .entries = entries,
    .entry_count = 3,
    .state_count = 2,
};

}  // namespace onnxc::runtime

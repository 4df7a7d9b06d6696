// A model with a program for a GPU as generated code describes it, written by hand:
//   t[N, 4] = x[N, 4] * weights[4]          kernel "multiply"
//   y[N, 4] = t[N, 4] + k[4]                kernel "add"
#include "base/entry.h"
#include "gpu/backend.h"
#include "runtime/gpu/fake_code.h"
#include "runtime/gpu/fake_kernels.h"
#include "runtime/gpu/gpu_steps.h"
#include "runtime/other_entry.h"

namespace onnxc::runtime {
namespace {

enum Storage { x_buffer, k_buffer, y_buffer, weights_buffer, t_buffer };

const char* const x_dims[] = {"N", "4"};
const char* const k_dims[] = {"4"};
const TensorDescription inputs[] = {{"x", ONNXC_FLOAT32, 2, x_dims, ONNXC_TENSOR},
                                    {"k", ONNXC_FLOAT32, 1, k_dims, ONNXC_TENSOR}};
const TensorDescription outputs[] = {{"y", ONNXC_FLOAT32, 2, x_dims, ONNXC_TENSOR}};
const char* const symbol_names[] = {"N"};

const char* bind(const int64_t* const* input_dims, int64_t* symbols) {
  symbols[0] = input_dims[0][0];
  return nullptr;
}
void output_dims(int32_t, const int64_t* symbols, int64_t* dims) {
  dims[0] = symbols[0];
  dims[1] = 4;
}
int32_t sizes(int32_t, const int64_t* symbols, int64_t* buffer_bytes, int64_t* scratch_bytes) {
  const int64_t rows = symbols[0] * 16;
  const int64_t bytes[] = {rows, 16, rows, 16, rows};
  for (int i = 0; i < 5; ++i) buffer_bytes[i] = bytes[i];
  *scratch_bytes = 0;
  return 0;
}
const BufferDescription buffers[] = {{BufferKind::input, 0, 0, 0, 0},
                                     {BufferKind::input, 1, 0, 0, 0},
                                     {BufferKind::output, 0, 0, 0, 0},
                                     {BufferKind::constant, 0, 0, 0, 0},
                                     {BufferKind::temporary, 0, 0, 1, 0}};
alignas(64) const float weights[] = {1, 2, 3, 4};

void launch_row(const DeviceFrame& frame, int32_t kernel, Storage left, Storage right, Storage result) {
  FakeArguments arguments = {};
  arguments.points = frame.symbols[0] * 4;
  arguments.left = static_cast<float*>(frame.buffers[left]);
  arguments.right = static_cast<float*>(frame.buffers[right]);
  arguments.result = static_cast<float*>(frame.buffers[result]);
  launch_points(frame, kernel, 256, 256, arguments);
}
int64_t place(const int64_t* symbols, PlacedAxis* axes) {
  axes[0] = {symbols[0], 1, 4, 0};
  axes[1] = {4, 1, 1, 0};
  return 0;
}
const StepOutput multiply_outputs[] = {{{"t", ONNXC_FLOAT32, 2, x_dims, ONNXC_TENSOR}, t_buffer, place}};
const StepOutput add_outputs[] = {{{"y", ONNXC_FLOAT32, 2, x_dims, ONNXC_TENSOR}, y_buffer, place}};
const StepDescription device_steps[] = {
    on_gpu({"loops multiply", "mul", "Mul", {}, nullptr, nullptr, 1, multiply_outputs},
           [](const DeviceFrame& frame) { launch_row(frame, 0, x_buffer, weights_buffer, t_buffer); }),
    on_gpu({"loops add", "add", "Add", {}, nullptr, nullptr, 1, add_outputs},
           [](const DeviceFrame& frame) { launch_row(frame, 1, t_buffer, k_buffer, y_buffer); })};
const char* const kernels[] = {"multiply", "add"};
const uint32_t shared_bytes[] = {0, 64 * 1024};
const WeightBlock weight_block = {reinterpret_cast<const unsigned char*>(weights), sizeof weights};
DeviceProgram planned_for(const char* architecture, int32_t compute_units, const char* code) {
  return {
      .architecture = architecture,
      .compute_units = compute_units,
      .code_object = reinterpret_cast<const unsigned char*>(code),
      .kernels = kernels,
      .kernel_count = 2,
      .shared_bytes = shared_bytes,
      .sizes = sizes,
      .buffer_count = 5,
      .buffers = buffers,
      .step_count = 2,
      .steps = device_steps,
      .weights = &weight_block,
  };
}
#ifdef FAKE_NVIDIA
constexpr char target[] = "cuda sm_90a, cuda sm_80, cpu x86-64";
const DeviceProgram hopper = planned_for("sm_90a", 132, FAKE_PTX("8.0", "sm_90a"));
const DeviceProgram ampere = planned_for("sm_80", 108, FAKE_PTX("7.1", "sm_80"));
const DeviceProgram* const device_programs[] = {&hopper, &ampere};
#else
constexpr char target[] = "hip gfx1100, hip gfx950, hip gfx942, cpu x86-64";
const DeviceProgram narrow = planned_for("gfx1100", 96, "narrow code");
const DeviceProgram newer = planned_for("gfx950", 256, "newer code");
const DeviceProgram part = planned_for("gfx942", 38, "code of a part");
const DeviceProgram whole = planned_for("gfx942", 304, "code");
const DeviceProgram* const device_programs[] = {&narrow, &newer, &part, &whole};
#endif

const CpuProgram program = {
    .march = "x86-64",
    .features = nullptr,
    .sizes = sizes,
    .buffer_count = 5,
    .buffers = buffers,
    .step_count = 0,
    .steps = nullptr,
};
const CpuProgram* const programs[] = {&program};

constexpr ModelDescription model = {
    .name = "fake",
    .target = target,
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
    .device_programs = device_programs,
    .device_program_count = sizeof device_programs / sizeof *device_programs,
    .device_backend = &gpu_backend,
};
constexpr ModelDescription other = as_other_entry(model);
Entry entries[] = {{&model, &entry_functions<0>, {}, {}}, {&other, &entry_functions<1>, {}, {}}};

}  // namespace

extern const SharedObject shared_object = {
    .onnxc_version = "0.1.0",
    .weights = reinterpret_cast<const unsigned char*>(weights),
    .weights_size = sizeof weights,
    .entries = entries,
    .entry_count = 2,
};

}  // namespace onnxc::runtime

// A model of windows, written by hand: x[N, 1, D, H, W] and k[1] to y[N, 2, D, H, W]; y's first channel is x and its
// second k - x. W must be a multiple of 4. On a GPU one kernel computes it.
#include "base/entry.h"
#include "gpu/backend.h"
#include "runtime/gpu/fake_code.h"
#include "runtime/gpu/fake_kernels.h"
#include "runtime/gpu/gpu_steps.h"

namespace onnxc::runtime {
namespace {

enum Storage { x_buffer, k_buffer, y_buffer };
enum Symbol { n, d, h, w };

const char* const x_dims[] = {"N", "1", "D", "H", "W"};
const char* const k_dims[] = {"1"};
const char* const y_dims[] = {"N", "2", "D", "H", "W"};
const TensorDescription inputs[] = {{"x", ONNXC_FLOAT32, 5, x_dims, ONNXC_TENSOR},
                                    {"k", ONNXC_FLOAT32, 1, k_dims, ONNXC_TENSOR}};
const TensorDescription outputs[] = {{"y", ONNXC_FLOAT32, 5, y_dims, ONNXC_TENSOR}};
const char* const symbol_names[] = {"N", "D", "H", "W"};

const char* bind(const int64_t* const* input_dims, int64_t* symbols) {
  const int64_t* dims = input_dims[0];
  symbols[n] = dims[0];
  for (int i = 0; i < 3; ++i) symbols[d + i] = dims[2 + i];
  if (dims[1] != 1) return "input 'x': dim 1 must be 1";
  return dims[4] % 4 != 0 ? "input 'x': dim 4 must be 4*n" : nullptr;
}

void output_dims(int32_t, const int64_t* symbols, int64_t* dims) {
  dims[0] = symbols[n];
  dims[1] = 2;
  for (int i = 0; i < 3; ++i) dims[2 + i] = symbols[d + i];
}

int32_t sizes(int32_t, const int64_t* symbols, int64_t* buffer_bytes, int64_t* scratch_bytes) {
  buffer_bytes[y_buffer] = symbols[n] * 2 * symbols[d] * symbols[h] * symbols[w] * 4;
  *scratch_bytes = 0;
  return 0;
}

void run(const Frame& frame) {
  const float* x = static_cast<const float*>(frame.buffers[x_buffer]);
  const float k = *static_cast<const float*>(frame.buffers[k_buffer]);
  float* y = static_cast<float*>(frame.buffers[y_buffer]);
  const int64_t voxels = frame.symbols[d] * frame.symbols[h] * frame.symbols[w];
  if (k < 0) frame.fail(frame, "node 'subtract': input 'k' is negative");
  for (int64_t window = 0; window < frame.symbols[n]; ++window)
    for (int64_t i = 0; i < voxels; ++i) {
      y[2 * window * voxels + i] = x[window * voxels + i];
      y[(2 * window + 1) * voxels + i] = k - x[window * voxels + i];
    }
}

const StepDescription steps[] = {{"loops", "subtract", "Sub", {}, run, nullptr, 0, nullptr}};
const BufferDescription buffers[] = {
    {BufferKind::input, 0, 0, 0, 0}, {BufferKind::input, 1, 0, 0, 0}, {BufferKind::output, 0, 0, 0, 0}};
const char* const cpu_features[] = {"sse2", nullptr};

const CpuProgram program = {
    .march = "x86-64",
    .features = cpu_features,
    .sizes = sizes,
    .buffer_count = 3,
    .buffers = buffers,
    .step_count = 1,
    .steps = steps,
};
const CpuProgram* const programs[] = {&program};

void launch(const DeviceFrame& frame) {
  FakeArguments arguments = {};
  arguments.limit = frame.symbols[d] * frame.symbols[h] * frame.symbols[w];
  arguments.points = frame.symbols[n] * arguments.limit;
  arguments.left = static_cast<float*>(frame.buffers[x_buffer]);
  arguments.right = static_cast<float*>(frame.buffers[k_buffer]);
  arguments.result = static_cast<float*>(frame.buffers[y_buffer]);
  launch_points(frame, 0, 256, 256, arguments);
}
int32_t device_sizes(int32_t level, const int64_t* symbols, int64_t* buffer_bytes, int64_t* scratch_bytes) {
  buffer_bytes[x_buffer] = symbols[n] * symbols[d] * symbols[h] * symbols[w] * 4;
  buffer_bytes[k_buffer] = 4;
  return sizes(level, symbols, buffer_bytes, scratch_bytes);
}
const StepDescription device_steps[] = {on_gpu({"loops", "subtract", "Sub", {}, nullptr, nullptr, 0, nullptr}, launch)};
const char* const kernels[] = {"difference_of_windows", "volume_cut_float32", "volume_add_float32", "volume_finish"};
const DeviceProgram device_program = {
    .architecture = fake_architecture,
    .compute_units = fake_compute_units,
    .code_object = reinterpret_cast<const unsigned char*>(fake_code),
    .kernels = kernels,
    .kernel_count = 4,
    .volume = {{1, -1, -1}, {2, -1, -1}, 3},
    .sizes = device_sizes,
    .buffer_count = 3,
    .buffers = buffers,
    .step_count = 1,
    .steps = device_steps,
};
const DeviceProgram* const device_programs[] = {&device_program};

const ModelDescription model = {
    .name = "fake",
    .target = "hip gfx942, cpu x86-64",
    .cpu_features = cpu_features,
    .information = "{}",
    .input_count = 2,
    .output_count = 1,
    .inputs = inputs,
    .outputs = outputs,
    .symbol_count = 4,
    .symbol_names = symbol_names,
    .bind = bind,
    .output_dims = output_dims,
    .cpu_programs = programs,
    .cpu_program_count = 1,
    .device_programs = device_programs,
    .device_program_count = 1,
    .device_backend = &gpu_backend,
};
Entry entries[] = {{&model, &entry_functions<0>, {}, {}}};

}  // namespace

extern const SharedObject shared_object = {
    .onnxc_version = "0.1.0",
    .weights = nullptr,
    .weights_size = 0,
    .entries = entries,
    .entry_count = 1,
};

}  // namespace onnxc::runtime

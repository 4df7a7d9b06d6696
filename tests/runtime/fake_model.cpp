// A model as generated code describes it, written by hand: two steps, a symbolic dim N, a padded temporary.
//
//   t[N, 4] = x[N, 4] * weights[4]          step 0, stored with rows of 8 elements
//   y[N, 4] = t[N, 4] + k[4]                step 1
//   z[N]    = sum over axis 1 of t          step 1, through scratch memory of the thread
//
// A negative k[0] is an element that step 1 refuses.
#include <string.h>

#include "base/entry.h"
#include "runtime/other_entry.h"

namespace onnxc::runtime {
namespace {

constexpr int64_t width = 4, padded_width = 8;
enum Storage { x_buffer, k_buffer, y_buffer, z_buffer, weights_buffer, t_buffer, unused_buffer };

const char* const x_dims[] = {"N", "4"};
const char* const k_dims[] = {"4"};
const char* const z_dims[] = {"N"};
const TensorDescription inputs[] = {{"x", ONNXC_FLOAT32, 2, x_dims, ONNXC_TENSOR},
                                    {"k\n", ONNXC_FLOAT32, 1, k_dims, ONNXC_TENSOR}};
const TensorDescription outputs[] = {{"y", ONNXC_FLOAT32, 2, x_dims, ONNXC_TENSOR},
                                     {"z", ONNXC_FLOAT32, 1, z_dims, ONNXC_TENSOR}};
const char* const symbol_names[] = {"N"};

const char* bind(const int64_t* const* input_dims, int64_t* symbols) {
  symbols[0] = input_dims[0][0];
  if (input_dims[0][1] != width) return "input 'x': dim 1 must be 4";
  if (input_dims[1][0] != width) return "input 'k': dim 0 must be 4";
  return nullptr;
}

void output_dims(int32_t, const int64_t* symbols, int64_t* dims) {
  dims[0] = symbols[0];
  dims[1] = width;
  dims[2] = symbols[0];
}

int32_t sizes(int32_t, const int64_t* symbols, int64_t* buffer_bytes, int64_t* scratch_bytes) {
  int64_t row = 0, n = symbols[0];
  if (__builtin_mul_overflow(n, padded_width * 4, &row)) return 1;
  const int64_t bytes[] = {n * width * 4, width * 4, n * width * 4, n * 4, width * 4, row, row};
  memcpy(buffer_bytes, bytes, sizeof bytes);
  *scratch_bytes = width * 4;
  return 0;
}

float* data(const Frame& frame, int32_t buffer) { return static_cast<float*>(frame.buffers[buffer]); }

void scale(const Frame& frame) {
  frame.parallel_for(
      frame, frame.symbols[0],
      [](const void* context, int64_t begin, int64_t end, int) {
        const Frame& frame = *static_cast<const Frame*>(context);
        const float *x = data(frame, x_buffer), *weights = data(frame, weights_buffer);
        float* t = data(frame, t_buffer);
        for (int64_t row = begin; row < end; ++row)
          for (int64_t i = 0; i < width; ++i) t[row * padded_width + i] = x[row * width + i] * weights[i];
      },
      &frame);
}

void add_and_sum(const Frame& frame) {
  if (data(frame, k_buffer)[0] < 0) frame.fail(frame, "node 'add': an element of input 'k' is negative");
  frame.parallel_for(
      frame, frame.symbols[0],
      [](const void* context, int64_t begin, int64_t end, int thread) {
        const Frame& frame = *static_cast<const Frame*>(context);
        const float *t = data(frame, t_buffer), *k = data(frame, k_buffer);
        float *y = data(frame, y_buffer), *z = data(frame, z_buffer);
        float* row_copy = static_cast<float*>(frame.thread_scratch(thread));
        for (int64_t row = begin; row < end; ++row) {
          memcpy(row_copy, t + row * padded_width, width * sizeof(float));
          z[row] = ((row_copy[0] + row_copy[1]) + row_copy[2]) + row_copy[3];
          for (int64_t i = 0; i < width; ++i) y[row * width + i] = row_copy[i] + k[i];
        }
      },
      &frame);
}

int64_t place_t(const int64_t* symbols, PlacedAxis* axes) {
  axes[0] = {symbols[0], 1, padded_width, 0};
  axes[1] = {width, 1, 1, 0};
  return 0;
}

int64_t place_y(const int64_t* symbols, PlacedAxis* axes) {
  axes[0] = {symbols[0], 1, width, 0};
  axes[1] = {width, 1, 1, 0};
  return 0;
}

int64_t place_z(const int64_t* symbols, PlacedAxis* axes) {
  axes[0] = {symbols[0], 1, 1, 0};
  return 0;
}

// x, the weights and t.
StepCounts scale_counts(const int64_t* symbols) {
  const double elements = static_cast<double>(symbols[0]) * width;
  return {elements, 8 * elements + 4 * width};
}

const StepOutput scale_outputs[] = {{{"t", ONNXC_FLOAT32, 2, x_dims, ONNXC_TENSOR}, t_buffer, place_t}};
const StepOutput add_outputs[] = {{{"y", ONNXC_FLOAT32, 2, x_dims, ONNXC_TENSOR}, y_buffer, place_y},
                                  {{"z", ONNXC_FLOAT32, 1, z_dims, ONNXC_TENSOR}, z_buffer, place_z}};

const StepDescription steps[] = {
    {"loops multiply", "scale", "Mul", {}, scale, scale_counts, 1, scale_outputs},
    {"loops add and sum", "add\nsum", "Add\nReduceSum", {}, add_and_sum, nullptr, 2, add_outputs},
};

const BufferDescription buffers[] = {{BufferKind::input, 0, 0, 0, 0},     {BufferKind::input, 1, 0, 0, 0},
                                     {BufferKind::output, 0, 0, 0, 0},    {BufferKind::output, 1, 0, 0, 0},
                                     {BufferKind::constant, 0, 0, 0, 64}, {BufferKind::temporary, 0, 0, 1, 0},
                                     {BufferKind::temporary, 0, 0, 0, 0}};

struct alignas(64) Weights {
  float padding[16];
  float values[16];
};
const Weights weights = {{}, {1, 2, 3, 4}};

#ifndef FAKE_MODEL_FEATURE
#define FAKE_MODEL_FEATURE "sse2"
#endif
const char* const cpu_features[] = {"sse2", FAKE_MODEL_FEATURE, nullptr};

const CpuProgram program = {
    .march = "x86-64",
    .features = cpu_features,
    .sizes = sizes,
    .buffer_count = 7,
    .buffers = buffers,
    .step_count = 2,
    .steps = steps,
};
const CpuProgram* const programs[] = {&program};

constexpr ModelDescription model = {
    .name = "fake",
    .target = "cpu x86-64",
    .cpu_features = cpu_features,
    .information = "{\"model\": \"fake\"}",
    .input_count = 2,
    .output_count = 2,
    .inputs = inputs,
    .outputs = outputs,
    .symbol_count = 1,
    .symbol_names = symbol_names,
    .bind = bind,
    .output_dims = output_dims,
    .cpu_programs = programs,
    .cpu_program_count = 1,
};
constexpr ModelDescription other = as_other_entry(model);
Entry entries[] = {{&model, &entry_functions<0>, {}, {}}, {&other, &entry_functions<1>, {}, {}}};

}  // namespace

extern const SharedObject shared_object = {
    .onnxc_version = "0.1.0",
    .weights = reinterpret_cast<const unsigned char*>(&weights),
    .weights_size = sizeof weights,
    .entries = entries,
    .entry_count = 2,
};

}  // namespace onnxc::runtime

// A model by hand whose sizes become known while it runs: a step binds a size, and a loop counts its rounds.
//
//   t[N]    = 2 * x[N]                      step 0, level 0
//   s       = k[0]                          step 1 begins level 1
//   t[N]    = -t[N] if k[2] != 0            step 2
//   state[s] = t[:s], 0 beyond it           step 3
//   k[1] times:                             step 4 begins level 2 in each round
//     w[s + round] = 1;  state += sum(w)    step 5, and step 6 ends the round, or the loop: level 3
//   y[s] = state;  z[rounds] = 0, 1, ...    step 7
//
// s must not be 13. The same for a GPU, whose kernels are those of gpu/fake_kernels.cpp.
#include "base/entry.h"
#include "gpu/backend.h"
#include "runtime/gpu/fake_code.h"
#include "runtime/gpu/fake_kernels.h"
#include "runtime/gpu/gpu_steps.h"

namespace onnxc::runtime {
namespace {

enum Storage { x_buffer, k_buffer, y_buffer, z_buffer, t_buffer, state_buffer, w_buffer };
enum Symbols { n_symbol, s_symbol, round_symbol };

const char* const x_dims[] = {"N"};
const char* const k_dims[] = {"3"};
const char* const y_dims[] = {"s"};
const char* const z_dims[] = {"round"};
const char* const w_dims[] = {"round + s"};
const TensorDescription inputs[] = {{"x", ONNXC_FLOAT32, 1, x_dims, ONNXC_TENSOR},
                                    {"k", ONNXC_FLOAT32, 1, k_dims, ONNXC_TENSOR}};
const TensorDescription outputs[] = {{"y", ONNXC_FLOAT32, 1, y_dims, ONNXC_TENSOR},
                                     {"z", ONNXC_FLOAT32, 1, z_dims, ONNXC_TENSOR}};
const char* const symbol_names[] = {"N", "s", "round"};
const int32_t output_dim_levels[] = {1, 3};

float* data(const Frame& frame, int32_t buffer) { return static_cast<float*>(frame.buffers[buffer]); }

const char* bind(const int64_t* const* input_dims, int64_t* symbols) {
  symbols[n_symbol] = input_dims[0][0];
  return input_dims[1][0] == 3 ? nullptr : "input 'k': dim 0 must be 3";
}

const char* bind_size(const Frame& frame, int64_t* symbols) {
  symbols[s_symbol] = static_cast<int64_t>(data(frame, k_buffer)[0]);
  return symbols[s_symbol] == 13 ? "node 'take' (Slice): s must not be 13" : nullptr;
}

const char* bind_nothing(const Frame&, int64_t*) { return nullptr; }

bool is_negated(const Frame& frame) { return data(frame, k_buffer)[2] != 0; }

bool has_round(const Frame& frame) {
  return frame.symbols[round_symbol] < static_cast<int64_t>(data(frame, k_buffer)[1]);
}

void output_dims(int32_t level, const int64_t* symbols, int64_t* dims) {
  if (level == 1) dims[0] = symbols[s_symbol];
  if (level == 3) dims[1] = symbols[round_symbol];
}

bool floats(int64_t count, int64_t& bytes) { return !__builtin_mul_overflow(count, 4, &bytes); }

int32_t sizes(int32_t level, const int64_t* symbols, int64_t* bytes, int64_t* scratch_bytes) {
  *scratch_bytes = 0;
  bool fits = true;
  if (level == 0)
    fits = floats(symbols[n_symbol], bytes[x_buffer]) && floats(3, bytes[k_buffer]) &&
           floats(symbols[n_symbol], bytes[t_buffer]);
  if (level == 1) fits = floats(symbols[s_symbol], bytes[y_buffer]) && floats(symbols[s_symbol], bytes[state_buffer]);
  if (level == 2) fits = floats(symbols[s_symbol] + symbols[round_symbol], bytes[w_buffer]);
  if (level == 3) fits = floats(symbols[round_symbol], bytes[z_buffer]);
  return fits ? 0 : 1;
}

void double_x(const Frame& frame) {
  for (int64_t i = 0; i < frame.symbols[n_symbol]; ++i) data(frame, t_buffer)[i] = 2 * data(frame, x_buffer)[i];
}

void negate(const Frame& frame) {
  for (int64_t i = 0; i < frame.symbols[n_symbol]; ++i) data(frame, t_buffer)[i] *= -1;
}

void begin_state(const Frame& frame) {
  for (int64_t i = 0; i < frame.symbols[s_symbol]; ++i)
    data(frame, state_buffer)[i] = i < frame.symbols[n_symbol] ? data(frame, t_buffer)[i] : 0;
}

void grow(const Frame& frame) {
  const int64_t size = frame.symbols[s_symbol] + frame.symbols[round_symbol];
  float sum = 0;
  for (int64_t i = 0; i < size; ++i) data(frame, w_buffer)[i] = 1;
  for (int64_t i = 0; i < size; ++i) sum += data(frame, w_buffer)[i];
  for (int64_t i = 0; i < frame.symbols[s_symbol]; ++i) data(frame, state_buffer)[i] += sum;
}

void end(const Frame& frame) {
  for (int64_t i = 0; i < frame.symbols[s_symbol]; ++i) data(frame, y_buffer)[i] = data(frame, state_buffer)[i];
  for (int64_t i = 0; i < frame.symbols[round_symbol]; ++i) data(frame, z_buffer)[i] = static_cast<float>(i);
}

int64_t place_w(const int64_t* symbols, PlacedAxis* axes) {
  axes[0] = {symbols[s_symbol] + symbols[round_symbol], 1, 1, 0};
  return 0;
}

const StepOutput grow_outputs[] = {{{"w", ONNXC_FLOAT32, 1, w_dims, ONNXC_TENSOR}, w_buffer, place_w}};

// On both targets.
const StepDescription loop_begin = {"loop",    "loop", "Loop",      {},           nullptr,
                                    nullptr,   0,      nullptr,     bind_nothing, StepKind::loop_begin,
                                    has_round, 6,      round_symbol};
const StepDescription loop_end = {"end loop",         "loop",  "Loop", {}, nullptr, nullptr, 0, nullptr, bind_nothing,
                                  StepKind::loop_end, nullptr, 4};

const StepDescription steps[] = {
    {"loops double", "double", "Mul", {}, double_x, nullptr, 0, nullptr},
    {"bind s", "take", "Slice", {}, nullptr, nullptr, 0, nullptr, bind_size, StepKind::bind},
    {"loops negate", "negate", "Neg", {}, negate, nullptr, 0, nullptr, nullptr, StepKind::work, is_negated},
    {"loops begin", "loop", "Loop", {}, begin_state, nullptr, 0, nullptr},
    loop_begin,
    {"loops grow", "grow", "Add", {}, grow, nullptr, 1, grow_outputs},
    loop_end,
    {"loops end", "loop", "Loop", {}, end, nullptr, 0, nullptr},
};

const BufferDescription buffers[] = {{BufferKind::input, 0, 0, 0, 0},       {BufferKind::input, 1, 0, 0, 0},
                                     {BufferKind::output, 0, 0, 0, 0, 1},   {BufferKind::output, 1, 0, 0, 0, 3},
                                     {BufferKind::temporary, 0, 0, 3, 0},   {BufferKind::temporary, 0, 3, 7, 0, 1},
                                     {BufferKind::temporary, 0, 5, 5, 0, 2}};

// The same on a GPU.

enum Kernels { twice_kernel, negate_kernel, take_kernel, ones_kernel, add_sum_kernel, count_kernel };
const char* const kernels[] = {"twice", "negate", "take", "ones", "add_sum", "count"};

void launch(const DeviceFrame& frame, Kernels kernel, int64_t points, Storage left, Storage result, int64_t limit = 0) {
  FakeArguments arguments = {};
  arguments.points = points;
  arguments.left = static_cast<float*>(frame.buffers[left]);
  arguments.result = static_cast<float*>(frame.buffers[result]);
  arguments.limit = limit;
  launch_points(frame, kernel, 256, 256, arguments);
}

void launch_grow(const DeviceFrame& frame) {
  const int64_t size = frame.symbols[s_symbol] + frame.symbols[round_symbol];
  launch(frame, ones_kernel, size, w_buffer, w_buffer);
  launch(frame, add_sum_kernel, frame.symbols[s_symbol], w_buffer, state_buffer, size);
}

void launch_end(const DeviceFrame& frame) {
  const int64_t size = frame.symbols[s_symbol];
  launch(frame, take_kernel, size, state_buffer, y_buffer, size);
  launch(frame, count_kernel, frame.symbols[round_symbol], z_buffer, z_buffer);
}

const StepDescription device_steps[] = {
    on_gpu({"loops double", "double", "Mul", {}, nullptr, nullptr, 0, nullptr},
           [](const DeviceFrame& frame) { launch(frame, twice_kernel, frame.symbols[n_symbol], x_buffer, t_buffer); }),
    on_gpu({"bind s", "take", "Slice", {}, nullptr, nullptr, 0, nullptr, bind_size, StepKind::bind}, nullptr, k_buffer),
    on_gpu(
        {"loops negate", "negate", "Neg", {}, nullptr, nullptr, 0, nullptr, nullptr, StepKind::work, is_negated},
        [](const DeviceFrame& frame) { launch(frame, negate_kernel, frame.symbols[n_symbol], t_buffer, t_buffer); },
        k_buffer),
    on_gpu({"loops begin", "loop", "Loop", {}, nullptr, nullptr, 0, nullptr},
           [](const DeviceFrame& frame) {
             launch(frame, take_kernel, frame.symbols[s_symbol], t_buffer, state_buffer, frame.symbols[n_symbol]);
           }),
    on_gpu(loop_begin, nullptr, k_buffer),
    on_gpu({"loops grow", "grow", "Add", {}, nullptr, nullptr, 1, grow_outputs}, launch_grow),
    on_gpu(loop_end, nullptr),
    on_gpu({"loops end", "loop", "Loop", {}, nullptr, nullptr, 0, nullptr}, launch_end),
};

const DeviceProgram device_program = {
    .architecture = fake_architecture,
    .compute_units = fake_compute_units,
    .code_object = reinterpret_cast<const unsigned char*>(fake_code),
    .kernels = kernels,
    .kernel_count = 6,
    .level_count = 4,
    .sizes = sizes,
    .buffer_count = 7,
    .buffers = buffers,
    .step_count = 8,
    .steps = device_steps,
};
#ifdef FAKE_BOTH_VENDORS
const DeviceProgram of_other_vendor =
    with_code(device_program, "sm_80", 108, reinterpret_cast<const unsigned char*>(fake_ptx));
const DeviceProgram* const device_programs[] = {&device_program, &of_other_vendor};
#else
const DeviceProgram* const device_programs[] = {&device_program};
#endif

const char* const cpu_features[] = {"sse2", nullptr};
alignas(64) const unsigned char weights[64] = {};

const CpuProgram program = {
    .march = "x86-64",
    .features = cpu_features,
    .sizes = sizes,
    .buffer_count = 7,
    .buffers = buffers,
    .step_count = 8,
    .steps = steps,
};
const CpuProgram* const programs[] = {&program};

const ModelDescription model = {
    .name = "fake",
    .target = "cpu x86-64",
    .cpu_features = cpu_features,
    .information = "{\"model\": \"fake\"}",
    .input_count = 2,
    .output_count = 2,
    .inputs = inputs,
    .outputs = outputs,
    .symbol_count = 3,
    .level_count = 4,
    .output_dim_levels = output_dim_levels,
    .symbol_names = symbol_names,
    .bind = bind,
    .output_dims = output_dims,
    .cpu_programs = programs,
    .cpu_program_count = 1,
    .device_programs = device_programs,
    .device_program_count = sizeof device_programs / sizeof *device_programs,
    .device_backend = &gpu_backend,
};
Entry entries[] = {{&model, &entry_functions<0>, {}, {}}};

}  // namespace

extern const SharedObject shared_object = {
    .onnxc_version = "0.1.0",
    .weights = weights,
    .weights_size = sizeof weights,
    .entries = entries,
    .entry_count = 1,
};

}  // namespace onnxc::runtime

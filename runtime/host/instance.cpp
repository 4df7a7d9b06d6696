// Making an instance, and binding it to dims.
#include "host/instance.h"

#include <errno.h>

#include <new>

#include "cpu/cpu_program.h"
#include "gpu/backend.h"
#include "host/options.h"
#include "host/state_set.h"
#include "threads/shared_pool.h"
#include "threads/thread_count.h"

namespace onnxc::runtime {
namespace {

constexpr int64_t not_known = -1;

int64_t total_rank(const TensorDescription* values, int32_t count) {
  int64_t total = 0;
  for (int32_t i = 0; i < count; ++i) total += values[i].rank;
  return total;
}

}  // namespace

Instance* Instance::create(const ModelDescription& model, const onnxc_options* options, onnxc_status& status,
                           ErrorText& error) {
  int saved_errno = errno;
  const CpuProgram* const program = choose_cpu_program(model, error);
  if (program == nullptr) {
    status = ONNXC_UNSUPPORTED_CPU;
    return nullptr;
  }
  // Its threads' words lie in cache lines of their own, which malloc does not align to.
  void* memory = aligned_alloc(alignof(Instance), sizeof(Instance));
  if (memory == nullptr) {
    error.append("no memory for an instance");
    status = ONNXC_OUT_OF_MEMORY;
    return nullptr;
  }
  Instance* instance = new (memory) Instance(model, *program);
  status = instance->set_up(options, error);
  errno = saved_errno;
  if (status == ONNXC_OK) return instance;
  destroy(instance);
  return nullptr;
}

void Instance::destroy(Instance* instance) {
  if (instance == nullptr) return;
  instance->~Instance();
  free(instance);
}

Instance::~Instance() {
  if (device_ != nullptr) model.device_backend->destroy(device_);
  for (int32_t level = 0; arenas_ != nullptr && level < model.level_count; ++level) arenas_[level].~Arena();
  free(arenas_);
  StateSet::release(states_);
  if (shares_pool_) release_shared_pool();
}

onnxc_status Instance::set_up(const onnxc_options* given, ErrorText& error) {
  onnxc_options options;
  onnxc_status status = read_options(model, given, options, error);
  if (status != ONNXC_OK) return status;

  threads_ = options.threads > 0 ? options.threads : default_thread_count();
  const char* poison_variable = getenv("ONNXC_POISON");
  poison_ = (options.flags & ONNXC_POISON) != 0 || (poison_variable != nullptr && *poison_variable != 0);
  if (options.parallel_for != nullptr) {
    host_threads_.set(options.parallel_for, options.parallel_for_context, threads_);
  } else if ((options.flags & ONNXC_SHARED_POOL) != 0) {
    acquire_shared_pool(threads_);
    shares_pool_ = true;
  } else {
    own_pool_.set_threads(threads_);
  }

  if (options.device == ONNXC_GPU) {
    const DeviceOptions device_options{model, options.device_index, poison_, (options.flags & ONNXC_GPU_GRAPH) != 0};
    device_ = model.device_backend->create(device_options, status, error);
    if (device_ == nullptr) return status;
    device_program_ = &model.device_backend->program(device_);
  }

  status = make_states(options, error);
  if (status != ONNXC_OK) return status;
  int64_t temporaries = count_temporaries(program_.buffers, program_.buffer_count);
  if (!input_dims_.allocate(total_rank(model.inputs, model.input_count)) || !symbols_.allocate(model.symbol_count) ||
      !output_dims_.allocate(total_rank(model.outputs, model.output_count)) ||
      !buffer_bytes_.allocate(program_.buffer_count) || !dims_pointers_.allocate(model.input_count) ||
      !previous_symbols_.allocate(model.symbol_count) || !plan_.allocate(temporaries) ||
      !plan_workspace_.allocate(2 * temporaries) || !offsets_.allocate(program_.buffer_count) ||
      !levels_.allocate(model.level_count) || !make_arenas() || !buffers_.allocate(program_.buffer_count) ||
      !input_data_.allocate(model.input_count) || !output_data_.allocate(model.output_count) ||
      !strings_.set_up(model)) {
    error.append("no memory for an instance");
    return ONNXC_OUT_OF_MEMORY;
  }

  for (int32_t i = 0; i < program_.buffer_count; ++i)
    if (program_.buffers[i].kind == BufferKind::constant)
      buffers_[i] = const_cast<unsigned char*>(shared_object.weights) + program_.buffers[i].offset;
  if (model.random_symbols >= 0) random_seed_.set_up();
  frame_.buffers = buffers_.data();
  frame_.symbols = symbols_.data();
  frame_.parallel_for = parallel_for;
  frame_.fail = fail;
  frame_.instance = this;
  frame_.strings = &strings_;
  return ONNXC_OK;
}

bool Instance::make_arenas() {
  arenas_ = static_cast<Arena*>(malloc(sizeof(Arena) * static_cast<size_t>(model.level_count)));
  for (int32_t level = 0; arenas_ != nullptr && level < model.level_count; ++level) new (&arenas_[level]) Arena;
  return arenas_ != nullptr;
}

onnxc_status Instance::refuse(onnxc_status status, const char* text) {
  error_.clear();
  error_.append("%s", text);
  return status;
}

const int64_t* Instance::dims_of_output(int32_t output) const {
  return output_dims_.data() + total_rank(model.outputs, output);
}

// Binding: the dims of the inputs, and what follows from them.

onnxc_status Instance::bind(const int64_t* const* input_dims) {
  bool same = is_bound();
  const int64_t* bound_dims = input_dims_.data();
  for (int32_t i = 0; i < model.input_count && same; ++i) {
    for (int32_t axis = 0; axis < model.inputs[i].rank; ++axis) same &= *bound_dims++ == input_dims[i][axis];
  }
  if (same) return ONNXC_OK;

  forget_levels(0);
  int64_t* dims = input_dims_.data();
  for (int32_t i = 0; i < model.input_count; ++i)
    for (int32_t axis = 0; axis < model.inputs[i].rank; ++axis) *dims++ = input_dims[i][axis];
  for (int64_t& symbol : symbols_) symbol = not_known;
  for (int64_t& dim : output_dims_) dim = not_known;

  if (const char* rule = model.bind(input_dims, symbols_.data())) {
    error_.append("%s; the inputs are", rule);
    for (int32_t i = 0; i < model.input_count; ++i) {
      error_.append(i > 0 ? ", " : " ");
      error_.append_name(model.inputs[i].name);
      error_.append(" ");
      error_.append_dims(input_dims[i], model.inputs[i].rank);
    }
    return ONNXC_WRONG_DIMS;
  }
  return plan(0);
}

// Those from `first` on, since what they were laid out for has changed.
void Instance::forget_levels(int32_t first) {
  for (int32_t level = first; level < model.level_count; ++level) levels_[level].known = false;
}

// Reads the symbols that a step binds. The plan of the level, and of those after it, is kept while they stay.
onnxc_status Instance::bind_run_time_symbols(Binding bind, const Frame& frame, int32_t level) {
  int64_t* previous = previous_symbols_.data();
  for (int32_t i = 0; i < model.symbol_count; ++i) previous[i] = symbols_[i];
  const char* rule = bind(frame, symbols_.data());
  bool same = levels_[level].known && rule == nullptr;
  for (int32_t i = 0; i < model.symbol_count; ++i) same &= previous[i] == symbols_[i];
  if (same) return ONNXC_OK;

  forget_levels(level);
  if (rule != nullptr) {
    error_.append("%s; this run has", rule);
    const char* separator = " ";
    for (int32_t i = 0; i < model.symbol_count; ++i) {
      error_.append("%s%s = %lld", separator, model.symbol_names[i], static_cast<long long>(symbols_[i]));
      separator = ", ";
    }
    return ONNXC_INVALID_DATA;
  }
  return plan(level);
}

onnxc_status Instance::plan(int32_t level) {
  model.output_dims(level, symbols_.data(), output_dims_.data());
  if (device_ != nullptr) {
    const onnxc_status status = model.device_backend->plan(device_, level, symbols_.data(), error_);
    levels_[level].known = status == ONNXC_OK;
    return status;
  }
  int64_t scratch_bytes = 0;
  const char* too_large = level == 0 ? "with these dims of the inputs, the size of a tensor does not fit in 63 bits"
                                     : "with this data, the size of a tensor does not fit in 63 bits";
  const onnxc_status refusal = level == 0 ? ONNXC_WRONG_DIMS : ONNXC_INVALID_DATA;
  if (program_.sizes(level, symbols_.data(), buffer_bytes_.data(), &scratch_bytes) != 0)
    return refuse(refusal, too_large);

  int32_t count = 0;
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const BufferDescription& buffer = program_.buffers[i];
    if (buffer.kind == BufferKind::temporary && buffer.level == level)
      plan_[count++] = {buffer_bytes_[i], buffer.first_step, buffer.last_step, 0};
  }
  Level& laid_out = levels_[level];
  laid_out.scratch_offset = plan_memory(plan_.data(), count, plan_workspace_.data());

  int64_t stride, all_scratch;
  if (laid_out.scratch_offset < 0 || __builtin_add_overflow(scratch_bytes, memory_alignment - 1, &stride) ||
      __builtin_mul_overflow(stride -= stride % memory_alignment, int64_t{threads_}, &all_scratch) ||
      __builtin_add_overflow(laid_out.scratch_offset, all_scratch, &laid_out.planned_bytes))
    return refuse(refusal, too_large);
  laid_out.least_bytes = least_memory(plan_.data(), count) + all_scratch;
  laid_out.scratch_stride = stride;
  count = 0;
  for (int32_t i = 0; i < program_.buffer_count; ++i) {
    const BufferDescription& buffer = program_.buffers[i];
    if (buffer.kind == BufferKind::temporary && buffer.level == level) offsets_[i] = plan_[count++].offset;
  }
  laid_out.known = true;
  return ONNXC_OK;
}

}  // namespace onnxc::runtime

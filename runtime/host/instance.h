// One executor of the model: the dims it is bound to, the memory plan that follows from them, its working memory and
// its threads.
#pragma once

#include <errno.h>

#include <atomic>

#include "base/arena.h"
#include "base/array.h"
#include "base/error_text.h"
#include "base/floating_point.h"
#include "base/memory_plan.h"
#include "base/model.h"
#include "base/random_seed.h"
#include "strings/interned_strings.h"
#include "threads/fork_lock.h"
#include "threads/host_threads.h"
#include "threads/thread_pool.h"

namespace onnxc::runtime {

class DeviceInstance;
class StateSet;

class Instance {
 public:
  // Null and a status when it cannot be made.
  static Instance* create(const ModelDescription& model, const onnxc_options* options, onnxc_status& status,
                          ErrorText& error);
  static void destroy(Instance* instance);

  onnxc_status output_dims(const int64_t* const* input_dims, int64_t* const* output_dims);
  onnxc_status run(const onnxc_value* inputs, int32_t input_count, const onnxc_value* outputs, int32_t output_count,
                   const onnxc_run_options* options);
  const char* last_error() const { return error_.text(); }
  int threads() const { return threads_; }

  // The dims that an output had in the last run.
  onnxc_status run_output_dims(int32_t output, int64_t* dims);

  // The symbols and working memory for the dims bound last.
  onnxc_status symbol_values(int64_t* values);
  int64_t working_bytes() const;
  int64_t captured_graphs() const;
  const char* architecture() const;
  // The steps of this instance's runs, on whatever device.
  int32_t step_count() const;
  const StepDescription* steps() const;
  onnxc_status step_info(int32_t step, onnxc_step_info& info) const;
  onnxc_status step_source(int32_t step, onnxc_step_source& source) const;
  // Bytes of temporaries that are alive during a step.
  int64_t step_bytes(int32_t step) const;
  // Null for an index that is not a step, or not an output.
  const StepOutput* step_output(int32_t step, int32_t output) const;
  int32_t step_output_count(int32_t step) const;
  int64_t least_working_bytes() const;
  // Nothing if they are not known, as on a GPU.
  StepCounts step_counts(int32_t step) const;
  onnxc_status step_output_dims(int32_t step, int32_t output, int64_t* dims);
  onnxc_status step_output_data(int32_t step, int32_t output, void* data, int64_t bytes);

  onnxc_status state_dims(int32_t state, int64_t* dims);
  onnxc_status get_state(int32_t state, const onnxc_value* value);
  onnxc_status set_state(int32_t state, const onnxc_value* value);
  onnxc_status reset_states();

  const ModelDescription& model;

 private:
  static constexpr const char* nothing_bound =
      "no sizes are known, since nothing has run yet or the last inputs were refused: run first";

  friend class VolumeRun;  // runs the model many times in one call
  class Call;
  // The arguments of a run.
  struct Values {
    const onnxc_value* inputs;
    const onnxc_value* outputs;
    const onnxc_run_options& options;
  };
  // The memory of one level (plan stage; ModelDescription::level_count).
  struct Level {
    bool known;  // of use: for the symbols as they are now
    int64_t scratch_offset, scratch_stride, planned_bytes;
    int64_t least_bytes;  // that any plan would need
  };

  Instance(const ModelDescription& a_model, const CpuProgram& program) : model(a_model), program_(program) {}
  ~Instance();
  onnxc_status set_up(const onnxc_options* options, ErrorText& error);
  bool make_arenas();

  onnxc_status refuse(onnxc_status status, const char* text);
  // The work of output_dims and run once they are in a call.
  onnxc_status output_dims_in_call(const int64_t* const* input_dims, int64_t* const* output_dims);
  onnxc_status run_in_call(const onnxc_value* inputs, int32_t input_count, const onnxc_value* outputs,
                           int32_t output_count, const onnxc_run_options* options);
  onnxc_status check_inputs(const onnxc_value* inputs);
  // The dims of the outputs that become known at a level.
  onnxc_status check_outputs(int32_t level, const Values& values);
  onnxc_status check_overlap(int32_t level, const Values& values);
  onnxc_status bind(const int64_t* const* input_dims);
  using Binding = const char* (*)(const Frame& frame, int64_t* symbols);
  onnxc_status bind_run_time_symbols(Binding bind, const Frame& frame, int32_t level);
  onnxc_status plan(int32_t level);
  // All work between binding a level's symbols and the first of its steps.
  onnxc_status prepare(int32_t level, const Values& values);
  onnxc_status reserve_memory(int32_t level);
  onnxc_status place_outputs(int32_t level, const Values& values);
  onnxc_status take_inputs(const onnxc_value* inputs);
  onnxc_status give_outputs(onnxc_status status);
  void poison(int32_t level);
  void forget_levels(int32_t first);
  bool is_bound() const { return levels_.size() > 0 && levels_[0].known; }
  onnxc_status enter_level(Binding bind, const Frame& frame, int32_t level, const Values& values);
  void begin_random_numbers();
  void begin_round(int32_t level, int32_t round, bool is_first);
  onnxc_status refuse_strings(const StepDescription& step);
  onnxc_status run_step(int32_t step, const Values& values);
  onnxc_status run_steps(const Values& values);
  onnxc_status run_on_device(const Values& values);
  int32_t level_of_output(int32_t output) const;
  bool is_laid_out(int32_t step) const;
  onnxc_status check_step_output(int32_t step, int32_t output, const void* result);
  onnxc_status place_step_output(const StepOutput& output, Array<PlacedAxis>& axes, int64_t& first);
  const int64_t* dims_of_output(int32_t output) const;
  onnxc_status make_states(const onnxc_options& options, ErrorText& error);
  onnxc_status take_states();
  onnxc_status refuse_busy_states();
  onnxc_status check_state(int32_t state, const void* result);
  onnxc_status dims_of_state(int32_t state, Array<int64_t>& dims);
  onnxc_status check_state_value(int32_t state, const onnxc_value& value);
  onnxc_status check_state_dims(int32_t state, const onnxc_value& value, const int64_t* expected);

  static void parallel_for(const Frame& frame, int64_t tasks, ParallelBody body, const void* context);
  static void fail(const Frame& frame, const char* text);

  const CpuProgram& program_;
  ForkLock in_call_;
  ErrorText error_;
  bool poison_ = false;

  DeviceInstance* device_ = nullptr;  // null on the CPU
  const DeviceProgram* device_program_ = nullptr;

  int threads_ = 1;
  bool shares_pool_ = false;
  ThreadPool own_pool_;
  HostThreads host_threads_;

  // The values that follow from the inputs' dims and, from level 1 on, from what was computed from them; valid for the
  // levels that are known.
  Array<int64_t> input_dims_;  // of all inputs, one after the other
  Array<int64_t> symbols_;
  Array<int64_t> previous_symbols_;  // while a level is bound
  Array<int64_t> output_dims_;       // of all outputs, one after the other
  Array<int64_t> buffer_bytes_;
  Array<const int64_t*> dims_pointers_;
  Array<PlannedBuffer> plan_;  // of the temporaries of one level, in their order
  Array<int64_t> offsets_;     // of all buffers; of temporaries, from the start of their level's memory
  Array<int32_t> plan_workspace_;
  Array<Level> levels_;
  Arena* arenas_ = nullptr;  // of the levels

  Frame frame_ = {};
  Array<void*> buffers_;
  Array<void*> input_data_;  // the steps' view of the inputs
  Array<void*> output_data_;
  StateSet* states_ = nullptr;  // null in a model without
  Array<void*> state_data_;
  Array<int64_t> state_dims_;  // of all states, one after the other
  InternedStrings strings_;
  Array<int64_t> input_strings_;  // handles, of all inputs
  std::atomic<const char*> failure_ = nullptr;
  RandomSeed random_seed_;
  int32_t finished_step_ = -1;  // whose outputs a hook may read
};

// A call on an instance: refuses to be the second one at a time, and leaves the thread's floating-point environment and
// errno as they were.
class Instance::Call {
 public:
  explicit Call(Instance& instance) : instance_(instance), entered_(instance.in_call_.try_lock()) {
    if (entered_) instance.error_.clear();
  }
  ~Call() {
    if (entered_) instance_.in_call_.unlock();
    errno = errno_;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  bool entered() const { return entered_; }

 private:
  Instance& instance_;
  int errno_ = errno;
  bool entered_;
  DefaultFloatingPoint floating_point_;
};

}  // namespace onnxc::runtime

// The one exported symbol: the tables of include/onnxc.h over the graphs that this library was linked with.
#include "base/entry.h"
#include "base/model.h"
#include "cpu/cpu_program.h"
#include "gpu/program.h"
#include "host/instance.h"
#include "volume/volume_run.h"

namespace onnxc::runtime {
namespace {

Instance* from(onnxc_instance* instance) { return reinterpret_cast<Instance*>(instance); }

const ModelDescription& model_of(int32_t entry) { return *shared_object.entries[entry].model; }

StepDescription find_step(int32_t entry, int32_t step) {
  const ShownSteps& shown = shared_object.entries[entry].shown;
  return step >= 0 && step < shown.count ? shown.steps[step] : StepDescription{};
}

ShownSteps steps_to_show(const ModelDescription& model) {
  if (model.cpu_program_count == 0) return {model.device_programs[0]->step_count, model.device_programs[0]->steps};
  ErrorText error;
  const CpuProgram* const chosen = choose_cpu_program(model, error);
  const CpuProgram& program = chosen != nullptr ? *chosen : *model.cpu_programs[0];
  return {program.step_count, program.steps};
}

const char* status_text(onnxc_status status) {
  switch (status) {
    case ONNXC_OK:
      return "done";
    case ONNXC_INVALID_ARGUMENT:
      return "invalid argument";
    case ONNXC_WRONG_COUNT:
      return "wrong number of inputs or outputs";
    case ONNXC_WRONG_KIND:
      return "wrong kind of value";
    case ONNXC_WRONG_DTYPE:
      return "wrong dtype";
    case ONNXC_WRONG_RANK:
      return "wrong rank";
    case ONNXC_WRONG_DIMS:
      return "wrong dims";
    case ONNXC_SHORT_BUFFER:
      return "buffer too short";
    case ONNXC_INVALID_DATA:
      return "invalid data";
    case ONNXC_OUT_OF_MEMORY:
      return "out of memory";
    case ONNXC_UNSUPPORTED_CPU:
      return "unsupported CPU";
    case ONNXC_UNSUPPORTED_DEVICE:
      return "unsupported device";
    case ONNXC_BUSY:
      return "the instance is in another call";
    case ONNXC_STOPPED:
      return "stopped by the hook";
    case ONNXC_INTERNAL_ERROR:
      return "internal error";
    default:
      return "unknown status";
  }
}

void destroy(onnxc_instance* instance) { Instance::destroy(from(instance)); }

const char* last_error(onnxc_instance* instance) {
  return instance != nullptr ? from(instance)->last_error() : "the instance is null";
}

onnxc_status output_dims(onnxc_instance* instance, const int64_t* const* input_dims, int64_t* const* dims) {
  return instance != nullptr ? from(instance)->output_dims(input_dims, dims) : ONNXC_INVALID_ARGUMENT;
}

onnxc_status run(onnxc_instance* instance, const onnxc_value* inputs, int32_t input_count, const onnxc_value* outputs,
                 int32_t output_count, const onnxc_run_options* options) {
  if (instance == nullptr) return ONNXC_INVALID_ARGUMENT;
  return from(instance)->run(inputs, input_count, outputs, output_count, options);
}

onnxc_status symbol_values(onnxc_instance* instance, int64_t* values) {
  return instance != nullptr ? from(instance)->symbol_values(values) : ONNXC_INVALID_ARGUMENT;
}

int64_t working_bytes(onnxc_instance* instance) { return instance != nullptr ? from(instance)->working_bytes() : 0; }

int64_t least_working_bytes(onnxc_instance* instance) {
  return instance != nullptr ? from(instance)->least_working_bytes() : 0;
}

double step_operations(onnxc_instance* instance, int32_t step) {
  return instance != nullptr ? from(instance)->step_counts(step).operations : 0;
}

onnxc_status step_output_dims(onnxc_instance* instance, int32_t step, int32_t output, int64_t* dims) {
  return instance != nullptr ? from(instance)->step_output_dims(step, output, dims) : ONNXC_INVALID_ARGUMENT;
}

onnxc_status step_output_data(onnxc_instance* instance, int32_t step, int32_t output, void* data, int64_t bytes) {
  return instance != nullptr ? from(instance)->step_output_data(step, output, data, bytes) : ONNXC_INVALID_ARGUMENT;
}

onnxc_status run_output_dims(onnxc_instance* instance, int32_t output, int64_t* dims) {
  return instance != nullptr ? from(instance)->run_output_dims(output, dims) : ONNXC_INVALID_ARGUMENT;
}

int32_t threads(onnxc_instance* instance) { return instance != nullptr ? from(instance)->threads() : 0; }

int32_t instance_step_count(onnxc_instance* instance) { return instance != nullptr ? from(instance)->step_count() : 0; }

onnxc_status instance_step(onnxc_instance* instance, int32_t step, onnxc_step_info* info) {
  return instance != nullptr && info != nullptr ? from(instance)->step_info(step, *info) : ONNXC_INVALID_ARGUMENT;
}

int32_t instance_step_output_count(onnxc_instance* instance, int32_t step) {
  return instance != nullptr ? from(instance)->step_output_count(step) : 0;
}

const onnxc_value_info* instance_step_output(onnxc_instance* instance, int32_t step, int32_t output) {
  const StepOutput* found = instance != nullptr ? from(instance)->step_output(step, output) : nullptr;
  return found != nullptr ? &found->tensor : nullptr;
}

onnxc_status instance_step_source(onnxc_instance* instance, int32_t step, onnxc_step_source* source) {
  return instance != nullptr && source != nullptr ? from(instance)->step_source(step, *source) : ONNXC_INVALID_ARGUMENT;
}

int64_t instance_step_bytes(onnxc_instance* instance, int32_t step) {
  return instance != nullptr ? from(instance)->step_bytes(step) : 0;
}

double instance_step_traffic(onnxc_instance* instance, int32_t step) {
  return instance != nullptr ? from(instance)->step_counts(step).bytes : 0;
}

int64_t captured_graphs(onnxc_instance* instance) {
  return instance != nullptr ? from(instance)->captured_graphs() : 0;
}

onnxc_status volume_output_dims(onnxc_instance* instance, const onnxc_volume* volume, int64_t* const* dims) {
  return instance != nullptr ? VolumeRun::output_dims(*from(instance), volume, dims) : ONNXC_INVALID_ARGUMENT;
}

onnxc_status run_volume(onnxc_instance* instance, const onnxc_volume* volume, onnxc_volume_result* result) {
  return instance != nullptr ? VolumeRun::run(*from(instance), volume, result) : ONNXC_INVALID_ARGUMENT;
}

const char* instance_architecture(onnxc_instance* instance) {
  return instance != nullptr ? from(instance)->architecture() : nullptr;
}

onnxc_status state_dims(onnxc_instance* instance, int32_t state, int64_t* dims) {
  return instance != nullptr ? from(instance)->state_dims(state, dims) : ONNXC_INVALID_ARGUMENT;
}

onnxc_status get_state(onnxc_instance* instance, int32_t state, const onnxc_value* value) {
  return instance != nullptr ? from(instance)->get_state(state, value) : ONNXC_INVALID_ARGUMENT;
}

onnxc_status set_state(onnxc_instance* instance, int32_t state, const onnxc_value* value) {
  return instance != nullptr ? from(instance)->set_state(state, value) : ONNXC_INVALID_ARGUMENT;
}

onnxc_status reset_states(onnxc_instance* instance) {
  return instance != nullptr ? from(instance)->reset_states() : ONNXC_INVALID_ARGUMENT;
}

const onnxc_api* entry(int32_t index) {
  return index >= 0 && index < shared_object.entry_count ? &shared_object.entries[index].table : nullptr;
}

int64_t weights_size(const DeviceProgram& program) { return program.weights != nullptr ? program.weights->size : 0; }

onnxc_api table_of(const Entry& shown) {
  const ModelDescription& model = *shown.model;
  const EntryFunctions& functions = *shown.functions;
  return {
      .abi_version = ONNXC_ABI_VERSION,
      .table_size = sizeof(onnxc_api),
      .onnxc_version = shared_object.onnxc_version,
      .target = model.target,
      .information = model.information,
      .weights_bytes =
          model.cpu_program_count > 0 ? shared_object.weights_size : weights_size(*model.device_programs[0]),
      .input_count = model.input_count,
      .output_count = model.output_count,
      .step_count = shown.shown.count,
      .symbol_count = model.symbol_count,
      .input = functions.input,
      .output = functions.output,
      .symbol = functions.symbol,
      .step_name = functions.step_name,
      .step_nodes = functions.step_nodes,
      .step_operators = functions.step_operators,
      .step_output_count = functions.step_output_count,
      .step_output = functions.step_output,
      .status_text = status_text,
      .create = functions.create,
      .destroy = destroy,
      .last_error = last_error,
      .output_dims = output_dims,
      .run = run,
      .symbol_values = symbol_values,
      .working_bytes = working_bytes,
      .step_operations = step_operations,
      .step_output_dims = step_output_dims,
      .step_output_data = step_output_data,
      .threads = threads,
      .least_working_bytes = least_working_bytes,
      .run_output_dims = run_output_dims,
      .instance_step_count = instance_step_count,
      .instance_step = instance_step,
      .instance_step_output_count = instance_step_output_count,
      .instance_step_output = instance_step_output,
      .captured_graphs = captured_graphs,
      .volume_output_dims = volume_output_dims,
      .run_volume = run_volume,
      .cpu_march = functions.cpu_march,
      .instance_step_source = instance_step_source,
      .instance_step_bytes = instance_step_bytes,
      .instance_step_traffic = instance_step_traffic,
      .instance_architecture = instance_architecture,
      .entry_name = model.name,
      .entry_count = shared_object.entry_count,
      .entry = entry,
      .state_count = model.state_count,
      .state = functions.state,
      .state_dims = state_dims,
      .get_state = get_state,
      .set_state = set_state,
      .reset_states = reset_states,
  };
}

void fill_tables() {
  for (int32_t i = 0; i < shared_object.entry_count; ++i) {
    Entry& each = shared_object.entries[i];
    each.shown = steps_to_show(*each.model);
    each.table = table_of(each);
  }
}

}  // namespace

const EntryFunctions first_entry_functions = entry_functions<0>;

const onnxc_value_info* input_of(int32_t entry, int32_t index) {
  const ModelDescription& model = model_of(entry);
  return index >= 0 && index < model.input_count ? &model.inputs[index] : nullptr;
}

const onnxc_value_info* output_of(int32_t entry, int32_t index) {
  const ModelDescription& model = model_of(entry);
  return index >= 0 && index < model.output_count ? &model.outputs[index] : nullptr;
}

const onnxc_value_info* state_of(int32_t entry, int32_t index) {
  const ModelDescription& model = model_of(entry);
  return index >= 0 && index < model.state_count ? &model.states[index] : nullptr;
}

const char* symbol_of(int32_t entry, int32_t index) {
  const ModelDescription& model = model_of(entry);
  return index >= 0 && index < model.symbol_count ? model.symbol_names[index] : nullptr;
}

const char* step_name_of(int32_t entry, int32_t step) { return find_step(entry, step).name; }
const char* step_nodes_of(int32_t entry, int32_t step) { return find_step(entry, step).nodes; }
const char* step_operators_of(int32_t entry, int32_t step) { return find_step(entry, step).operators; }
int32_t step_output_count_of(int32_t entry, int32_t step) { return find_step(entry, step).output_count; }

const onnxc_value_info* step_output_of(int32_t entry, int32_t step, int32_t index) {
  const StepDescription found = find_step(entry, step);
  return index >= 0 && index < found.output_count ? &found.outputs[index].tensor : nullptr;
}

onnxc_status create_of(int32_t entry, const onnxc_options* options, onnxc_instance** instance, char* error,
                       size_t error_size) {
  ErrorText text;
  onnxc_status status = ONNXC_INVALID_ARGUMENT;
  if (instance == nullptr) {
    text.append("the place for the instance is null");
  } else {
    *instance = reinterpret_cast<onnxc_instance*>(Instance::create(model_of(entry), options, status, text));
  }
  text.copy_to(error, error_size);
  return status;
}

const char* cpu_march_of(int32_t entry) {
  ErrorText error;
  const CpuProgram* const program = choose_cpu_program(model_of(entry), error);
  return program != nullptr ? program->march : nullptr;
}

}  // namespace onnxc::runtime

// The tables are filled by the first caller: to fill them when the library is loaded would take a global constructor.
const onnxc_api* onnxc_get_api(uint32_t abi_version) {
  using namespace onnxc::runtime;
  static constinit ForkLock lock;
  static constinit bool is_filled = false;
  if (abi_version > ONNXC_ABI_VERSION) return nullptr;
  lock.lock();
  if (!is_filled) fill_tables();
  is_filled = true;
  lock.unlock();
  return &shared_object.entries[0].table;
}

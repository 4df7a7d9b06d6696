// The functions of a table (include/onnxc.h) that are about a graph and take no instance. C gives them no context, so
// generated code makes a set of them for each entry.
#pragma once

#include "base/model.h"

namespace onnxc::runtime {

struct EntryFunctions {
  decltype(onnxc_api::input) input;
  decltype(onnxc_api::output) output;
  decltype(onnxc_api::symbol) symbol;
  decltype(onnxc_api::step_name) step_name;
  decltype(onnxc_api::step_nodes) step_nodes;
  decltype(onnxc_api::step_operators) step_operators;
  decltype(onnxc_api::step_output_count) step_output_count;
  decltype(onnxc_api::step_output) step_output;
  decltype(onnxc_api::create) create;
  decltype(onnxc_api::cpu_march) cpu_march;
};

// Defined in api/api.cpp.
const onnxc_value_info* input_of(const ModelDescription& model, int32_t index);
const onnxc_value_info* output_of(const ModelDescription& model, int32_t index);
const char* symbol_of(const ModelDescription& model, int32_t index);
StepDescription step_of(const Entry& entry, int32_t step);
const onnxc_value_info* step_output_of(const Entry& entry, int32_t step, int32_t index);
onnxc_status create_of(const ModelDescription& model, const onnxc_options* options, onnxc_instance** instance,
                       char* error, size_t error_size);
const char* cpu_march_of(const ModelDescription& model);

// Those of `shared_object.entries[index]`.
template <int32_t index>
inline constexpr EntryFunctions entry_functions = {
    .input = [](int32_t input) { return input_of(*shared_object.entries[index].model, input); },
    .output = [](int32_t output) { return output_of(*shared_object.entries[index].model, output); },
    .symbol = [](int32_t symbol) { return symbol_of(*shared_object.entries[index].model, symbol); },
    .step_name = [](int32_t step) { return step_of(shared_object.entries[index], step).name; },
    .step_nodes = [](int32_t step) { return step_of(shared_object.entries[index], step).nodes; },
    .step_operators = [](int32_t step) { return step_of(shared_object.entries[index], step).operators; },
    .step_output_count = [](int32_t step) { return step_of(shared_object.entries[index], step).output_count; },
    .step_output = [](int32_t step,
                      int32_t output) { return step_output_of(shared_object.entries[index], step, output); },
    .create =
        [](const onnxc_options* options, onnxc_instance** instance, char* error, size_t size) {
          return create_of(*shared_object.entries[index].model, options, instance, error, size);
        },
    .cpu_march = [] { return cpu_march_of(*shared_object.entries[index].model); },
};

}  // namespace onnxc::runtime

// The functions of a table (include/onnxc.h) that are about a graph and take no instance. C gives them no context, so
// each entry has a set of its own. The runtime holds the set of the first, generated code makes those of the others: a
// model of one graph spends no time of the compiler on them.
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
  decltype(onnxc_api::state) state;
};

// The same with the number of the entry, defined in api/api.cpp.
const onnxc_value_info* input_of(int32_t entry, int32_t index);
const onnxc_value_info* output_of(int32_t entry, int32_t index);
const char* symbol_of(int32_t entry, int32_t index);
const char* step_name_of(int32_t entry, int32_t step);
const char* step_nodes_of(int32_t entry, int32_t step);
const char* step_operators_of(int32_t entry, int32_t step);
int32_t step_output_count_of(int32_t entry, int32_t step);
const onnxc_value_info* step_output_of(int32_t entry, int32_t step, int32_t index);
onnxc_status create_of(int32_t entry, const onnxc_options* options, onnxc_instance** instance, char* error,
                       size_t error_size);
const char* cpu_march_of(int32_t entry);
const onnxc_value_info* state_of(int32_t entry, int32_t index);

// They only add the number, since clang compiles them with each model.
template <int32_t entry>
inline constexpr EntryFunctions entry_functions = {
    .input = [](int32_t index) { return input_of(entry, index); },
    .output = [](int32_t index) { return output_of(entry, index); },
    .symbol = [](int32_t index) { return symbol_of(entry, index); },
    .step_name = [](int32_t step) { return step_name_of(entry, step); },
    .step_nodes = [](int32_t step) { return step_nodes_of(entry, step); },
    .step_operators = [](int32_t step) { return step_operators_of(entry, step); },
    .step_output_count = [](int32_t step) { return step_output_count_of(entry, step); },
    .step_output = [](int32_t step, int32_t index) { return step_output_of(entry, step, index); },
    .create = [](const onnxc_options* options, onnxc_instance** instance, char* error,
                 size_t size) { return create_of(entry, options, instance, error, size); },
    .cpu_march = [] { return cpu_march_of(entry); },
    .state = [](int32_t index) { return state_of(entry, index); },
};

}  // namespace onnxc::runtime

// The sources of the inputs of a run: files, or random values with dims that the command line gives.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

// "NAME=FILE" of --input and --expect. The name may hold '=': the longest of `names` that fits is taken. With only one
// name, "FILE" will do. UsageError naming the option.
std::pair<size_t, std::filesystem::path> split_assignment(const std::string& option, const std::string& text,
                                                          const std::vector<std::string>& names);

// Every input of the model, in order. UserError if a file does not fit, UsageError if an input has no value or a random
// one no dims. UsageError for a dim, an input or an output that an option names and the model does not have, with the
// nearest one.
void check_names(const ModelLibrary& library, const RunOptions& options);

std::vector<Tensor> gather_inputs(const ModelLibrary& library, const RunOptions& options);

// The dims of a value, with symbols as given; UsageError that says which symbol is missing.
std::vector<int64_t> evaluate_dims(const onnxc_value_info& info, const std::map<std::string, int64_t>& symbols);

// Values that are the same on every machine: reals uniform in [-1, 1), integers in [0, 10), booleans.
Tensor random_tensor(DType dtype, const std::vector<int64_t>& dims, uint64_t seed);

std::vector<std::string> input_names(const onnxc_api& api);
std::vector<std::string> output_names(const onnxc_api& api);

}  // namespace onnxc

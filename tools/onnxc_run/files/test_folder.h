// ONNX's test layout: test_data_set_N/input_i.pb and output_i.pb beside a model.
#pragma once

#include <filesystem>
#include <vector>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

// The folders of data that `folder` is or holds, in the order of their numbers. UserError if there are none.
std::vector<std::filesystem::path> find_test_data(const std::filesystem::path& folder);

// Runs the model on each and compares with its outputs; prints a line an output. True when all are equal.
bool run_tests(Session& session, const RunOptions& options);

}  // namespace onnxc

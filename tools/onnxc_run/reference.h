// The reference of --verify.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "onnxc_run/session.h"

namespace onnxc {

struct Reference {
  std::string engine;                     // who computed the tensors: "-O0", "onnxruntime 1.31.1"
  std::map<std::string, Tensor> tensors;  // by their ONNX names
};

// Compiles the model with `onnxc -O0` (the onnxc beside this program, else that in PATH): default schedules, nothing
// fused, every tensor of the model. `options`: further ones of the command, such as those that take inputs away.
Reference compute_without_optimization(const std::filesystem::path& model, const std::vector<std::string>& options,
                                       const std::vector<Tensor>& inputs, int threads);

// Runs onnxruntime, through `python3 -m onnxc.reference` (of the Python environment that this program is installed in,
// else that in PATH): gives the tensors that the session's steps give. UserError that names the Python and its packages
// if these are missing, and with onnxruntime's words if it does not run the model.
Reference compute_by_onnxruntime(const std::filesystem::path& model, const std::vector<Tensor>& inputs,
                                 Session& session);

}  // namespace onnxc

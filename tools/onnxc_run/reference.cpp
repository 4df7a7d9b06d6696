#include "onnxc_run/reference.h"

#include <spdlog/spdlog.h>

#include <set>

#include "frontend/import.h"
#include "onnxc_run/files/tensor_files.h"
#include "onnxc_run/progress_line.h"
#include "onnxc_run/reports/json.h"
#include "support/diagnostics.h"
#include "support/installation_prefix.h"
#include "support/processes/subprocess.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::filesystem::path folder_of_this_program() { return program_file().parent_path(); }

std::string find_onnxc() {
  const std::filesystem::path beside = folder_of_this_program() / "onnxc";
  return std::filesystem::exists(beside) ? beside.string() : "onnxc";
}

void compile_reference(const std::filesystem::path& model, const std::vector<std::string>& given,
                       const std::filesystem::path& output) {
  ProcessOptions options;
  options.install_hint = "put the folder of onnxc into PATH";
  std::vector<std::string> words{find_onnxc(),   std::filesystem::absolute(model).string(), "-O0", "-q", "-o",
                                 output.string()};
  words.insert(words.end(), given.begin(), given.end());
  ProcessResult result = run_process(words, options);
  user_check(result.succeeded(), "onnxc -O0 cannot compile {} ({}):\n{}", quote(model.string()), result.describe(),
             printable_message(result.errors));
}

// The names of the model's own tensors. A tensor between an operator's loops is named after its node, and need not mean
// the same in two compiles: a group normalisation found in the graph keeps other sums than the nodes that it was
// written with.
std::set<std::string> names_of_model(const std::filesystem::path& model) {
  std::set<std::string> names;
  const ImportedModel imported = import_model(model);
  for (const auto& value : imported.graph->values()) names.insert(value->name);
  return names;
}

// Every tensor that a run materialises, by its ONNX name.
std::map<std::string, Tensor> collect(Session& session, const std::vector<Tensor>& inputs) {
  const onnxc_api& api = session.api();
  std::map<std::string, Tensor> tensors;
  const auto count = static_cast<int64_t>(session.steps().size());
  ProgressLine progress("at -O0", "step", false);  // a large convolution of plain loops takes minutes
  std::vector<Tensor> outputs = session.run(inputs, [&](int32_t step, int32_t when) {
    if (when != ONNXC_AFTER_STEP) return;
    progress.tell(step + 1, count);
    int32_t output = 0;
    for (const onnxc_value_info* described : session.step_outputs(step))
      tensors.insert_or_assign(described->name, session.step_output(step, output++));
  });
  for (int32_t i = 0; i < api.output_count; ++i)
    tensors.insert_or_assign(api.output(i)->name, outputs[static_cast<size_t>(i)]);
  return tensors;
}

// ------------------------------------------------------------------------------------------------------- onnxruntime

// A virtual environment has pyvenv.cfg beside its bin.
std::string find_python() {
  const std::filesystem::path folder = folder_of_this_program(), beside = folder / "python3";
  const bool is_environment = std::filesystem::exists(folder.parent_path() / "pyvenv.cfg");
  return is_environment && std::filesystem::exists(beside) ? beside.string() : "python3";
}

std::set<std::string> names_of_steps(const Session& session) {
  std::set<std::string> names;
  const auto count = static_cast<int32_t>(session.steps().size());
  for (int32_t step = 0; step < count; ++step)
    for (const onnxc_value_info* described : session.step_outputs(step)) names.insert(described->name);
  return names;
}

// -P: a folder that happens to be called onnxc in the current folder is not imported.
void run_python(const std::filesystem::path& model, const std::filesystem::path& folder) {
  const std::string python = find_python();
  ProcessOptions options;
  options.install_hint = "--verify-with onnxruntime needs Python with the packages onnxc, onnx and onnxruntime";
  const ProcessResult result = run_process({python, "-P", "-m", "onnxc.reference", folder.string()}, options);
  const bool lacks_package = result.errors.find("No module named") != std::string::npos;
  user_check(
      result.succeeded(), "onnxruntime cannot compute the tensors of {} ({}):\n{}{}", quote(model.string()),
      result.describe(), printable_message(result.errors),
      lacks_package ? fmt::format("\n{} needs the packages onnxc (the wheel), onnx and onnxruntime", python) : "");
}

}  // namespace

Reference compute_without_optimization(const std::filesystem::path& model, const std::vector<std::string>& options,
                                       const std::vector<Tensor>& inputs, int threads) {
  TemporaryFolder folder("verify");
  const std::filesystem::path file = folder.path() / "reference.so";
  spdlog::info("compiling {} at -O0", quote(model.string()));
  compile_reference(model, options, file);
  ModelLibrary library(file);
  Session session(library, threads, Device{});
  Reference reference{"-O0", collect(session, inputs)};
  const std::set<std::string> names = names_of_model(model);
  std::erase_if(reference.tensors, [&](const auto& tensor) { return !names.contains(tensor.first); });
  return reference;
}

Reference compute_by_onnxruntime(const std::filesystem::path& model, const std::vector<Tensor>& inputs,
                                 Session& session) {
  TemporaryFolder folder("verify");
  TensorFolder files(folder.path() / "inputs");
  Json given = Json::object();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const char* name = session.api().input(static_cast<int32_t>(i))->name;
    given[name] = files.write(name, inputs[i]).string();
  }
  const Json request = {{"model", std::filesystem::absolute(model).string()},
                        {"threads", session.threads()},
                        {"inputs", given},
                        {"tensors", names_of_steps(session)}};
  write_file(folder.path() / "request.json", json_text(request));
  spdlog::info("running {} with onnxruntime", quote(model.string()));
  run_python(model, folder.path());
  const Json answer = Json::parse(map_file(folder.path() / "answer.json")->text());
  Reference reference{answer.at("engine").get<std::string>(), {}};
  for (const auto& [name, file] : answer.at("tensors").items())
    reference.tensors.emplace(name, read_tensor(file.get<std::string>()));
  return reference;
}

}  // namespace onnxc

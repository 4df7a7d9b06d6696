#include "onnxc_run/overwriting.h"

#include <string>
#include <vector>

#include "frontend/import.h"
#include "onnxc_run/files/tensor_files.h"
#include "onnxc_run/inputs.h"
#include "onnxc_run/reports/trace.h"
#include "onnxc_run/volume/result_record.h"
#include "onnxc_run/volume/result_targets.h"

namespace onnxc {
namespace {

InputFiles named_inputs(const RunOptions& options) {
  InputFiles inputs;
  inputs.add("MODEL", options.model);
  if (!options.tests.empty()) inputs.add_folder("TESTS", options.tests);
  if (!options.against.empty()) inputs.add("--against", options.against);
  for (const std::filesystem::path& volume : options.volume.volumes) inputs.add("--volume", volume);
  if (!options.verify) return inputs;
  inputs.add("--verify", *options.verify);
  for (const std::filesystem::path& file : external_files(*options.verify))
    inputs.add("external data of --verify", file);
  return inputs;
}

void check_file(std::string_view option, const std::filesystem::path& output, const InputFiles& inputs) {
  inputs.check_output(option, output);
  check_folder_of(option, output);
}

void check_named_outputs(const RunOptions& options, const InputFiles& inputs) {
  if (options.profile && !options.profile->empty()) check_file("--profile", *options.profile, inputs);
  if (!options.trace_events.empty()) check_file("--trace-events", options.trace_events, inputs);
}

void check_tensors(const std::string& option, const std::filesystem::path& folder,
                   const std::vector<std::string>& names, const InputFiles& inputs) {
  inputs.check_outputs(option, folder, [&](const std::string& file) { return is_file_of_tensor(file, names); });
}

std::vector<std::string> names_of_steps(const Session& session) {
  std::vector<std::string> names;
  const auto count = static_cast<int32_t>(session.steps().size());
  for (int32_t step = 0; step < count; ++step)
    for (const onnxc_value_info* described : session.step_outputs(step)) names.emplace_back(described->name);
  return names;
}

}  // namespace

InputFiles check_outputs(const RunOptions& options) {
  InputFiles inputs = named_inputs(options);
  check_named_outputs(options, inputs);
  if (options.volume.volumes.empty()) return inputs;
  const ResultTargets targets = result_targets(options);
  for (const std::filesystem::path& target : targets.files) inputs.check_output("--output", target);
  if (targets.folder) inputs.check_output("--output", *targets.folder / ResultRecord::file_name);
  return inputs;
}

void check_outputs(const RunOptions& options, const Session& session, InputFiles inputs) {
  const onnxc_api& api = session.api();
  for (const std::string& text : options.inputs)
    inputs.add("--input", split_assignment("--input", text, input_names(api)).second);
  for (const std::string& text : options.expected)
    inputs.add("--expect", split_assignment("--expect", text, output_names(api)).second);
  check_named_outputs(options, inputs);
  if (options.output) check_tensors("--output", *options.output, output_names(api), inputs);
  if (!options.trace) return;
  check_tensors("--trace", *options.trace, names_of_steps(session), inputs);
  inputs.check_output("--trace", *options.trace / trace_table);
}

}  // namespace onnxc

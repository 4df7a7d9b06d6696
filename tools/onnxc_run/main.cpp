// onnxc-run: runs, checks and measures a model.so.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "onnxc_run/command_line.h"
#include "onnxc_run/files/tensor_files.h"
#include "onnxc_run/files/test_folder.h"
#include "onnxc_run/inputs.h"
#include "onnxc_run/overwriting.h"
#include "onnxc_run/profile/profile.h"
#include "onnxc_run/reports/benchmark.h"
#include "onnxc_run/reports/information.h"
#include "onnxc_run/reports/results.h"
#include "onnxc_run/reports/trace.h"
#include "onnxc_run/session.h"
#include "onnxc_run/verify.h"
#include "onnxc_run/volume/segment.h"
#include "support/process_end.h"
#include "support/standard_output.h"
#include "support/text.h"

namespace onnxc {
namespace {

enum ExitCode { done = 0, user_fault = 1, usage_fault = 2, our_fault = 3, comparison_failed = 4 };

void set_up_messages() {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_st>();
  if (getenv("NO_COLOR") != nullptr) sink->set_color_mode(spdlog::color_mode::never);
  auto logger = std::make_shared<spdlog::logger>("onnxc-run", sink);
  logger->set_level(isatty(STDERR_FILENO) != 0 ? spdlog::level::info : spdlog::level::warn);
  logger->set_pattern("onnxc-run: %^%l%$: %v");
  spdlog::set_default_logger(logger);
}

void write_outputs(const onnxc_api& api, const std::vector<Tensor>& outputs, const std::filesystem::path& folder) {
  TensorFolder files(folder);
  for (int32_t i = 0; i < api.output_count; ++i) {
    std::filesystem::path file = files.write(api.output(i)->name, outputs[static_cast<size_t>(i)]);
    spdlog::info("wrote {}", printable(file.string()));
  }
}

bool compare_outputs(const onnxc_api& api, const std::vector<Tensor>& outputs, const RunOptions& options) {
  Results results(options);
  std::vector<std::string> names = output_names(api);
  for (const std::string& text : options.expected) {
    auto [index, file] = split_assignment("--expect", text, names);
    results.compare(names[index], outputs[index], read_tensor(file));
  }
  return results.report();
}

int execute(const RunOptions& options) {
  if (!options.volume.volumes.empty()) return segment_volumes(options) ? done : user_fault;
  InputFiles files = check_outputs(options);
  ModelLibrary library(options.model, options.entry);
  check_names(library, options);
  if (options.information) {
    print_information(library, options);
    return done;
  }
  Session session(library, options.threads, options.device, options.hip_graph);
  check_outputs(options, session, std::move(files));
  if (!options.tests.empty()) return run_tests(session, options) ? done : comparison_failed;

  std::vector<Tensor> inputs = gather_inputs(library, options);
  std::vector<Tensor> outputs = options.trace ? trace(session, inputs, options) : session.run(inputs);
  if (options.output) write_outputs(library.api(), outputs, *options.output);
  bool equal = options.expected.empty() || compare_outputs(library.api(), outputs, options);
  if (options.verify) equal &= verify(session, inputs, options);
  if (options.profile || !options.trace_events.empty()) profile(session, inputs, options);
  if (options.benchmark_runs) benchmark(session, inputs, options);
  return equal ? done : comparison_failed;
}

int run(int argc, char** argv) {
  try {
    std::variant<RunOptions, int> parsed = parse_command_line(argc, argv);
    if (const int* code = std::get_if<int>(&parsed)) return *code;
    const int code = execute(std::get<RunOptions>(parsed));
    finish_standard_output();
    return code;
  } catch (const UsageError& error) {
    spdlog::error("{} (onnxc-run --help lists the options)", error.what());
    return usage_fault;
  } catch (const UserError& error) {
    spdlog::error("{}", error.what());
    return user_fault;
  } catch (const std::bad_alloc&) {
    spdlog::error("out of memory");
    return user_fault;
  } catch (const std::system_error& error) {  // of the file system, or of a standard output that cannot be written
    spdlog::error("{}", printable(error.what()));
    return user_fault;
  } catch (const std::exception& error) {
    spdlog::critical("a bug of onnxc: {}; please report it with the model and this command", error.what());
    return our_fault;
  }
}

}  // namespace
}  // namespace onnxc

int main(int argc, char** argv) {
  onnxc::keep_standard_streams();
  const std::string lacks = onnxc::tidy_up_on_signals("onnxc-run: error: ");
  onnxc::set_up_messages();
  if (!lacks.empty()) spdlog::warn("{}", lacks);
  return onnxc::run(argc, argv);
}

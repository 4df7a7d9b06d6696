#include "provider/compiler_command.h"

#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "support/diagnostics.h"
#include "support/environment_error.h"
#include "support/installation_prefix.h"
#include "support/processes/subprocess.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace onnxc::provider {
namespace {

namespace fs = std::filesystem;

constexpr int usage_error = 2;  // the command's exit code

// The command's message, without the name of the temporary file.
std::string reason(const ProcessResult& result, const fs::path& model) {
  std::string text = result.errors;
  for (const std::string& part : {std::string("error: "), quote(model.string()) + ": "})
    if (const size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "onnxc ended with " + result.describe() : text;
}

[[noreturn]] void refuse(const ProcessResult& result, const fs::path& model) {
  const std::string text = reason(result, model);
  if (result.exit_code != usage_error) throw UserError(text);
  constexpr std::string_view command = "onnxc: ";
  const bool is_of_variable =
      text.starts_with(command) && EnvironmentError::is_told_by(std::string_view(text).substr(command.size()));
  throw UsageError(is_of_variable ? text : "the provider's option 'options': " + text);
}

ProcessResult run(const CompilerCommand& command, const fs::path& model, const std::vector<std::string>& words) {
  std::vector<std::string> arguments = {command.file.string(), model.string()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  arguments.insert(arguments.end(), command.options.begin(), command.options.end());
  return run_process(arguments);
}

// The number of a node by its name, or by that of a node of its subgraphs: "n12", "n12/then_branch/add". Nothing for a
// node of the compiler's own.
std::optional<size_t> number_of(const std::string& name) {
  size_t number = 0;
  if (!name.starts_with('n') || std::from_chars(name.data() + 1, name.data() + name.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

}  // namespace

fs::path find_compiler_command() {
  const char* chosen = std::getenv("ONNXC_BIN");
  if (chosen != nullptr && *chosen != '\0') {
    if (!fs::exists(fs::path(chosen) / "onnxc"))
      throw EnvironmentError("ONNXC_BIN", fmt::format(" is {}, and this folder has no command onnxc", quote(chosen)));
    return fs::path(chosen) / "onnxc";
  }
  const fs::path file = installation_prefix() / "bin" / "onnxc";
  user_check(fs::exists(file), "the command {} is missing; install onnxc again, or set ONNXC_BIN to its folder",
             quote(file.string()));
  return file;
}

void compile(const CompilerCommand& command, std::string_view model, const fs::path& output) {
  const TemporaryFolder folder("provider");
  const fs::path file = folder.path() / "model.onnx";
  write_file(file, model);
  const ProcessResult result = run(command, file, {"-o", output.string()});
  if (!result.succeeded()) refuse(result, file);
  if (!fs::exists(output))  // as with --help
    throw UsageError("the provider's option 'options': with these words the command compiles nothing");
}

std::vector<size_t> faulty_nodes(const CompilerCommand& command, std::string_view model) {
  const TemporaryFolder folder("provider");
  const fs::path file = folder.path() / "model.onnx", shapes = folder.path() / "shapes.json";
  write_file(file, model);
  const ProcessResult result = run(command, file, {"--dump-shapes=" + shapes.string()});
  if (!fs::exists(shapes)) refuse(result, file);
  std::set<size_t> numbers;
  const nlohmann::json dump = nlohmann::json::parse(map_file(shapes)->text());
  for (const nlohmann::json& node : dump.at("nodes"))
    if (const std::optional<size_t> number = number_of(node.at("name").get<std::string>());
        number && node.contains("fault"))
      numbers.insert(*number);
  return {numbers.begin(), numbers.end()};
}

}  // namespace onnxc::provider

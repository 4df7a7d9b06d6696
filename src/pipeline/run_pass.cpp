#include "pipeline/run_pass.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "frontend/import.h"
#include "ir/program/parser.h"
#include "passes/lowering/text_target.h"
#include "pipeline/pass_table.h"
#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

template <class Row>
const Row* find(std::span<const Row> rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

std::string all_names() {
  std::vector<std::string_view> names;
  for (const GraphPass& pass : shape_passes()) names.push_back(pass.name);
  for (const GraphPass& pass : graph_passes()) names.push_back(pass.name);
  for (const ProgramPass& pass : program_passes()) names.push_back(pass.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Runs `pass`, then looks at what it made.
template <class Subject>
void run(std::string_view name, Subject& subject, const std::function<void(Subject&)>& pass,
         const MessageSink& messages) {
  try {
    pass(subject);
    verify(subject);
  } catch (const std::logic_error& error) {
    throw InternalError(fmt::format("pass {}: {}", name, error.what()));
  }
  messages(MessageKind::output, to_string(subject));
}

Program read_program(const std::filesystem::path& path) {
  const std::shared_ptr<const MappedFile> file = map_file(path);
  try {
    Program program = parse_program(file->text());
    verify(program);
    return program;
  } catch (const UserError& error) {
    user_error("{}: {}", quote(path.string()), error.what());
  } catch (const std::logic_error& error) {
    user_error("{}: the program is not a lawful one: {}", quote(path.string()), error.what());
  }
}

void run_on_model(const GraphPass& pass, const Options& options, const MessageSink& messages) {
  ImportOptions import_options;
  import_options.limits = options.limits;
  import_options.dims = options.dims;
  import_options.outputs = options.outputs;
  const ImportedModel model = import_model(options.model, import_options);
  const GraphPass& shapes = shape_passes().front();
  if (pass.name != shapes.name) shapes.run(*model.graph, options.limits);
  run<Graph>(pass.name, *model.graph, [&](Graph& graph) { pass.run(graph, options.limits); }, messages);
}

}  // namespace

void run_pass(const Options& options, const MessageSink& messages) {
  const std::string& name = *options.run_pass;
  if (const ProgramPass* pass = find(program_passes(), name)) {
    Program program = read_program(options.model);
    return run<Program>(name, program, [&](Program& changed) { pass->run(changed, text_target()); }, messages);
  }
  const GraphPass* pass = find(shape_passes(), name);
  if (pass == nullptr) pass = find(graph_passes(), name);
  if (pass != nullptr) return run_on_model(*pass, options, messages);
  throw UsageError(fmt::format("--run-pass={}: no pass of this name; the passes are {}", printable(name), all_names()));
}

}  // namespace onnxc

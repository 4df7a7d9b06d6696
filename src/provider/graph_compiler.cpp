#include "provider/graph_compiler.h"

#include <algorithm>
#include <optional>

#include "provider/model_cache.h"
#include "provider/model_writer.h"
#include "provider/partition.h"
#include "support/diagnostics.h"
#include "support/list_text.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace onnxc::provider {
namespace {

// A part costs a compile and two crossings of its border: of a graph in many pieces the largest are taken.
constexpr size_t most_parts = 8;

std::vector<size_t> numbers_where(const std::vector<bool>& flags, bool value) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < flags.size(); ++i)
    if (flags[i] == value) numbers.push_back(i);
  return numbers;
}

std::string names_of(const GraphView& graph, const std::vector<size_t>& nodes) {
  std::vector<std::string> lines;
  for (const size_t node : nodes)
    lines.push_back(fmt::format("{}: {}", quote(graph.nodes()[node].name), printable(graph.nodes()[node].type)));
  return "\n  " + list_text(lines, "\n  ");
}

// Nodes that read a value of unknown rank which no node of a part makes: an input of a model has a rank.
std::vector<size_t> readers_of_unknown_ranks(const Api& api, const GraphView& graph, const std::vector<bool>& is_left) {
  std::vector<bool> is_outside = is_left;
  std::vector<size_t> readers;
  const auto is_unknown = [&](const ValueUse& use) {
    if (!use.is_given()) return false;
    const std::optional<size_t> producer = graph.producer(use.name);
    if (producer && !is_outside[*producer]) return false;
    const std::optional<TensorType> type = tensor_type(api, use.info);
    return type && !type->dims;
  };
  for (size_t i = 0; i < is_outside.size(); ++i) {
    const NodeView& node = graph.nodes()[i];
    if (is_outside[i] ||
        (std::ranges::none_of(node.inputs, is_unknown) && std::ranges::none_of(node.captured, is_unknown)))
      continue;
    is_outside[i] = true;
    readers.push_back(i);
  }
  return readers;
}

}  // namespace

CompiledGraph GraphCompiler::compile(const GraphView& graph) {
  try {
    return compile_parts(graph, {find_compiler_command(), options_});
  } catch (const UserError& error) {
    return {{}, error.what()};
  }
}

CompiledGraph GraphCompiler::compile_parts(const GraphView& graph, const CompilerCommand& command) {
  const ModelWriter writer(api_, graph);
  const auto name_of = [&](const std::string& model) { return cache_name(model, command.file, command.options); };
  CompiledGraph result;
  const auto add_part = [&](const std::vector<size_t>& nodes, const std::string& model, const std::string& name) {
    try {
      result.parts.push_back({nodes, compile_model(command, model, name)});
      return true;
    } catch (const UserError& error) {
      result.reason += (result.reason.empty() ? "" : "\n") + std::string(error.what());
      return false;
    }
  };

  std::vector<bool> is_left;
  for (const NodeView& node : graph.nodes()) is_left.push_back(!writer.can_write(node));
  std::string why_unwritten;
  const auto leave = [&](const char* why, const std::vector<size_t>& nodes) {
    if (nodes.empty()) return;
    why_unwritten += (why_unwritten.empty() ? "" : "\n") + (why + names_of(graph, nodes));
    for (const size_t node : nodes) is_left.at(node) = true;
  };
  leave("values that are not tensors of numbers:", numbers_where(is_left, true));
  leave("values whose rank onnxruntime does not know:", readers_of_unknown_ranks(api_, graph, is_left));
  const std::vector<size_t> unwritten = numbers_where(is_left, true), written = numbers_where(is_left, false);
  if (written.empty()) return {{}, why_unwritten};
  const std::string whole = writer.write(written, NodeNames::own), name = name_of(whole);
  if (const std::optional<Refusal> known = find_refusal(name)) {
    result.reason = known->reason;
    for (const size_t node : known->nodes) is_left.at(node) = true;
  } else {
    if (!unwritten.empty())
      result.reason = why_unwritten;
    else if (add_part(written, whole, name))
      return result;
    const std::vector<size_t> faulty = faulty_nodes(command, writer.write(written, NodeNames::numbered));
    // A fault of the whole graph, which belongs to no node of its own, would stop each part.
    if (faulty.empty() && unwritten.empty()) return result;
    for (const size_t node : faulty) is_left.at(node) = true;
    keep_refusal(name, {faulty, result.reason});
  }
  for (const size_t node : readers_of_unknown_ranks(api_, graph, is_left)) is_left.at(node) = true;

  std::vector<std::vector<size_t>> parts = partition(graph.predecessors(), is_left);
  if (parts.size() > most_parts) parts.resize(most_parts);
  for (const std::vector<size_t>& nodes : parts) {
    const std::string model = writer.write(nodes, NodeNames::own);
    try {
      add_part(nodes, model, name_of(model));
    } catch (const UsageError& error) {  // such as --dim of a name that the graph has, and this part lacks
      result.reason += (result.reason.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  return result;
}

std::shared_ptr<const LoadedModel> GraphCompiler::compile_model(const CompilerCommand& command,
                                                                const std::string& model, const std::string& name) {
  std::shared_ptr<const LoadedModel>& loaded = models_[name];
  if (loaded != nullptr) return loaded;
  const std::optional<ModelCache> kept = find_cache();
  std::optional<TemporaryFolder> temporary;
  if (!kept) temporary.emplace("provider");
  const std::filesystem::path file = (kept ? kept->folder : temporary->path()) / (name + ".so");
  if (!find_cached(file)) {
    provider::compile(command, model, file);
    if (kept) make_room(*kept);
  }
  const auto made = std::make_shared<LoadedModel>(file);
  if (made->api().state_count > 0)
    throw UsageError(
        "the provider's option 'options': --state takes inputs and outputs away, which onnxruntime gives and expects; "
        "leave it out, or run a model.so without onnxruntime");
  return loaded = made;
}

}  // namespace onnxc::provider

#include "ops/control/deciding_dims.h"

#include <set>
#include <vector>

#include "ops/control/control_flow.h"
#include "ops/op.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

void add_symbols(std::set<std::string>& names, const Expr& size) {
  for (const Symbol& symbol : size.without_quotients().symbols()) names.insert(symbol.name());
}

// Calls visit(value) for the value and all that it is computed from, each once, as long as visit wants to go on there.
template <class Visit>
void walk_back(const Value& from, const Visit& visit) {
  std::vector<const Value*> left = {&from};
  std::set<const Value*> seen = {&from};
  while (!left.empty()) {
    const Value* value = left.back();
    left.pop_back();
    if (!visit(*value) || value->producer == nullptr) continue;
    for (const Value* input : value->producer->inputs)
      if (input != nullptr && seen.insert(input).second) left.push_back(input);
  }
}

// The free dims of the graph's inputs that a value is computed from.
std::set<std::string> dims_of_inputs(const Value& value) {
  std::set<std::string> names;
  walk_back(value, [&](const Value& one) {
    if (one.producer == nullptr && !one.constant && one.shape)
      for (const Expr& dim : *one.shape) add_symbols(names, dim);
    return true;
  });
  return names;
}

}  // namespace

std::string hint_at_deciding_dims(const Value& condition) {
  std::set<std::string> names, of_inputs;
  bool data_decides = false;
  walk_back(condition, [&](const Value& value) {
    if (value.constant) return false;
    if (value.elements && !value.elements_at_run_time) {
      for (const Expr& element : *value.elements) add_symbols(names, element);
      of_inputs.merge(dims_of_inputs(value));
      return false;
    }
    const Node* const producer = value.producer;
    data_decides |= producer == nullptr || producer->op->domain == control_flow_domain || producer->random_stream;
    return !data_decides;
  });
  std::vector<std::string> dims, options;
  for (const std::string& name : names) {
    // A size that only a run knows.
    if (!of_inputs.contains(name)) return "";
    dims.push_back(quote(name));
    options.push_back(fmt::format("--dim {}=VALUE", printable(name)));
  }
  if (data_decides || names.empty()) return "";
  return fmt::format("; the dim{} {} decide{} it: compile for one size, with {}", dims.size() == 1 ? "" : "s",
                     list_text(dims), dims.size() == 1 ? "s" : "", list_text(options, " "));
}

}  // namespace onnxc

#include "codegen/nests/nest_scope.h"

#include <algorithm>

#include "support/text.h"

namespace onnxc {

void declare_dims(TextWriter& writer, const std::set<Symbol>& used, const ModelNames& names,
                  const std::string& values) {
  for (const auto& [symbol, name] : names.symbols)
    if (used.contains(symbol))
      writer.line(fmt::format("const int64_t {} = {}[{}];", name, values, names.places.at(symbol)));
}

NestScope::NestScope(TextWriter& writer, const FlatNest& nest, const ModelNames& names)
    : writer_(writer),
      nest_(nest),
      model_(names),
      symbols_(names.symbols),
      printer_(writer, dialect_, symbols_, pointers_) {
  for (const auto& [symbol, name] : names.symbols) available_.insert(symbol);
  for (const FlatStore& store : nest.stores) stored_.insert(store.storage);
  for (size_t i = 0; i < nest.lets.size(); ++i) symbols_.emplace(nest.lets[i].symbol, fmt::format("j{}", i));
}

void NestScope::name_loops(const std::vector<FlatLoop>& loops) {
  for (const FlatLoop& loop : loops) {
    // The names that we give to axes ("i2", "i2_block") are fit to be used; any other is made so.
    const std::string& hint = loop.symbol.name();
    const bool is_plain =
        hint.starts_with('i') && hint.size() < 60 &&
        std::ranges::all_of(hint, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
    const bool is_free = is_plain && loop_names_.insert(hint).second;
    symbols_.emplace(loop.symbol, is_free ? hint : identifier("k", static_cast<int64_t>(symbols_.size()), hint));
  }
}

std::vector<NestScope::StorageUse> NestScope::storages() const {
  std::map<BufferId, DType> used;
  for_each_scalar(nest_, [&](const Scalar& scalar) {
    visit(scalar, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::load) used.emplace(node.buffer, node.dtype);
    });
  });
  for (const FlatStore& store : nest_.stores) used.emplace(store.storage, store.dtype);
  std::vector<StorageUse> result;
  for (const auto& [storage, dtype] : used)
    result.push_back({storage, (stored_.contains(storage) ? "" : "const ") + dialect_.storage_type(dtype)});
  return result;
}

void NestScope::declare_pointers(const std::string& buffers) {
  for (const StorageUse& use : storages()) declare_pointer(use, buffers);
}

void NestScope::declare_pointer(const StorageUse& use, const std::string& buffers) {
  if (pointers_.contains(use.storage)) return;
  const std::string pointer = fmt::format("b{}", use.storage);
  writer_.line(fmt::format("{}* const {} = static_cast<{}*>({}[{}]);", use.type, pointer, use.type, buffers,
                           model_.storages.at(use.storage)));
  name_pointer(use.storage, pointer);
}

bool NestScope::is_available(const std::set<Symbol>& symbols) const {
  return std::ranges::all_of(symbols, [&](const Symbol& symbol) { return available_.contains(symbol); });
}

const NestScope::Needs& NestScope::needs(const ScalarNode& node) {
  if (auto known = needs_.find(&node); known != needs_.end()) return known->second;
  Needs result;
  auto add = [&](const Expr& expr) { result.symbols.merge(expr.symbols()); };
  if (node.op == ScalarOp::index) add(node.expr);
  for (const Expr& index : node.indices) add(index);
  result.accumulators = node.op == ScalarOp::accumulator;
  result.loads = node.op == ScalarOp::load;
  result.own_stores = result.loads && stored_.contains(node.buffer);
  for (const Scalar& operand : node.operands) {
    const Needs& of_operand = needs(*operand);
    result.symbols.insert(of_operand.symbols.begin(), of_operand.symbols.end());
    result.accumulators |= of_operand.accumulators;
    result.loads |= of_operand.loads;
    result.own_stores |= of_operand.own_stores;
  }
  return needs_[&node] = std::move(result);
}

void NestScope::print_lets() {
  for (const Let& let : nest_.lets) {
    if (available_.contains(let.symbol) || !is_available(needs(*let.value).symbols)) continue;
    const std::string text = printer_.value(let.value);
    writer_.line(fmt::format("const int64_t {} = {};", symbols_.at(let.symbol), text));
    available_.insert(let.symbol);
  }
}

void NestScope::hoist(const Scalar& root, Hoist hoist) {
  for (const ScalarNode* node : printer_.always_needed(*root)) {
    const Needs& what = needs(*node);
    if (what.accumulators || what.own_stores || (what.loads && hoist == Hoist::values_no_loads)) continue;
    if (is_available(what.symbols)) printer_.value(*node);
  }
}

void NestScope::hoist_elements(Hoist how) {
  if (how == Hoist::nothing) return;
  for (const Accumulator& accumulator : nest_.accumulators) hoist(accumulator.element, how);
}

void NestScope::hoist_stores() {
  for (const FlatStore& store : nest_.stores) hoist(store.condition ? store.condition : store.value, Hoist::values);
}

}  // namespace onnxc

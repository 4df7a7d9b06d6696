#include "passes/states/narrow_states.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace onnxc {
namespace {

// The 16-bit types in which a program can hold a state.
using Types = std::set<DType>;

class StateInProgram {
 public:
  StateInProgram(Program& program, BufferId state) : program_(program), state_(state) {}

  // Removes those in which this program cannot hold the state.
  void keep(Types& types) const {
    for (size_t i = 0; i < program_.buffers.size(); ++i)
      if (const Buffer& buffer = program_.buffers[i];
          is_state(static_cast<BufferId>(i)) && (buffer.dtype != DType::float32 || buffer.packs))
        return types.clear();
    for (const Step& step : program_.steps)
      if (touches(step)) keep(types, step);
  }

  void narrow(DType type) {
    for (size_t i = 0; i < program_.buffers.size(); ++i)
      if (is_state(static_cast<BufferId>(i))) program_.buffers[i].dtype = type;
    for (Step& step : program_.steps)
      if (touches(step)) narrow(std::get<LoopNest>(step.work), type);
  }

 private:
  bool is_state(BufferId id) const { return program_.storage(id) == state_; }

  bool touches(const Step& step) const {
    const auto is_here = [&](BufferId id) { return is_state(id); };
    return std::ranges::any_of(reads(step), is_here) || std::ranges::any_of(writes(step), is_here);
  }

  void keep(Types& types, const Step& step) const {
    const auto* nest = std::get_if<LoopNest>(&step.work);
    if (nest == nullptr) return types.clear();
    for (const Let& let : nest->lets) keep_read(types, let.value);
    for (const Accumulator& accumulator : nest->accumulators) keep_read(types, accumulator.element);
    for (const Store& store : nest->stores) {
      keep_read(types, store.condition);
      if (moves_within(store)) continue;
      keep_read(types, store.value);
      if (is_state(store.buffer)) keep_stored(types, store);
    }
  }

  bool is_load(const ScalarNode& node) const { return node.op == ScalarOp::load && is_state(node.buffer); }
  // As a cache does that goes on by a frame.
  bool moves_within(const Store& store) const {
    return store.kind == StoreKind::assign && is_state(store.buffer) && is_load(*store.value);
  }

  void keep_read(Types& types, const Scalar& value) const {
    if (!value) return;
    if (is_load(*value)) types.clear();
    visit(value, [&](const ScalarNode& node) {
      if (std::ranges::any_of(node.operands, [&](const Scalar& operand) { return is_load(*operand); }))
        keep_only(types, node.op == ScalarOp::cast ? std::optional(node.dtype) : std::nullopt);
    });
  }

  static void keep_stored(Types& types, const Store& store) {
    const bool widens = store.kind == StoreKind::assign && store.value->op == ScalarOp::cast;
    keep_only(types, widens ? std::optional(store.value->operands[0].dtype()) : std::nullopt);
  }

  static void keep_only(Types& types, std::optional<DType> type) {
    std::erase_if(types, [&](DType each) { return each != type; });
  }

  void narrow(LoopNest& nest, DType type) const {
    const auto narrowed = [&](const Scalar& value) {
      return replace_loads(value, [&](const ScalarNode& load) {
        if (!is_state(load.buffer)) return Scalar();
        return scalar::cast(DType::float32, scalar::load(type, load.buffer, load.indices, load.in_bounds));
      });
    };
    for (Let& let : nest.lets) let.value = narrowed(let.value);
    for (Accumulator& accumulator : nest.accumulators) accumulator.element = narrowed(accumulator.element);
    for (Store& store : nest.stores) {
      store.value = narrowed(store.value);
      store.condition = narrowed(store.condition);
      if (is_state(store.buffer)) store.value = scalar::cast(type, store.value);
    }
  }

  Program& program_;
  BufferId state_;
};

}  // namespace

void narrow_states(const std::vector<Program*>& programs) {
  std::map<std::string, std::vector<StateInProgram>> states;
  for (Program* program : programs)
    for (const State& state : program->states) states[state.name].emplace_back(*program, state.buffer);
  for (auto& [name, uses] : states) {
    Types types{DType::bfloat16, DType::float16};
    for (const StateInProgram& use : uses) use.keep(types);
    if (types.size() != 1) continue;  // one that nothing reads or writes may have either
    for (StateInProgram& use : uses) use.narrow(*types.begin());
  }
}

}  // namespace onnxc

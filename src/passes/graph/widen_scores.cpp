#include "passes/graph/widen_scores.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ops/op.h"
#include "passes/graph/insert_node.h"

namespace onnxc {
namespace {

bool has_half_type(const Value* value) { return value != nullptr && value->shape && is_half(value->dtype); }

bool scales_or_masks(const Node* node) { return is_one_of(node, {"Add", "Sub", "Mul", "Div", "Tanh", "Where"}); }

class ScoreWidening {
 public:
  explicit ScoreWidening(Graph& graph) : graph_(graph) {}

  void run() {
    for (const auto& node : graph_.nodes()) {
      if (!is_operator(node.get(), "Softmax")) continue;
      Node* reader = node.get();
      // An attention whose softmax is asked for in float32 casts its scores.
      Node* const cast = reader->inputs[0]->producer;
      if (is_operator(cast, "Cast") && !is_copy(*cast)) reader = cast;
      constexpr int most_nodes = 8;  // each may have two inputs to look at
      widen_input(reader, 0, most_nodes);
    }
    graph_.erase_unused();
  }

 private:
  bool is_copy(const Node& cast) const { return wide_.contains(cast.outputs[0]); }

  // Widens the values between a product, at most so many nodes before, and the reader; false if no product is there.
  bool widen_input(Node* reader, size_t index, int nodes) {
    Value* const value = reader->inputs[index];
    if (const auto found = wide_.find(value); found != wide_.end()) {
      graph_.set_input(reader, index, found->second);
      return true;
    }
    if (!has_half_type(value)) return false;
    Node* const producer = value->producer;
    bool found = is_operator(producer, "MatMul");
    if (nodes > 0 && scales_or_masks(producer))
      for (size_t i = 0; i < producer->inputs.size(); ++i) found |= widen_input(producer, i, nodes - 1);
    if (!found) return false;
    widen(value, reader);
    if (is_operator(producer, "Where")) match_sides(producer);
    return true;
  }

  // Makes the value float32 for one of its readers; the others read a copy of the type that it had.
  void widen(Value* value, const Node* reader) {
    const DType half = value->dtype;
    value->dtype = DType::float32;
    const std::vector<Use> uses = value->uses;
    const auto is_reader = [&](const Use& use) { return use.node == reader; };
    if (std::ranges::all_of(uses, is_reader) && !graph_.is_output(value)) return;
    Value* const copy = insert_cast(graph_, value, half, std::next(value->producer->place)->get(), value->producer);
    graph_.replace_uses(value, copy);
    graph_.set_input(copy->producer, 0, value);
    for (const Use& use : uses)
      if (is_reader(use)) graph_.set_input(use.node, use.index, value);
    wide_[copy] = value;
  }

  // A Where hands on elements of one type.
  void match_sides(Node* where) {
    for (const size_t side : {size_t{1}, size_t{2}})
      if (has_half_type(where->inputs[side]))
        graph_.set_input(where, side, insert_cast(graph_, where->inputs[side], DType::float32, where, where));
  }

  Graph& graph_;
  std::map<const Value*, Value*> wide_;  // by the copy in a half type
};

}  // namespace

void widen_scores(Graph& graph) { ScoreWidening(graph).run(); }

}  // namespace onnxc

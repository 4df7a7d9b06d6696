// Infers the dtype and symbolic shape of every value, and the elements of small integer tensors as expressions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "support/diagnostics.h"

namespace onnxc {

// Walks the nodes in order. Each node's row gives the shapes. Shape arithmetic (Shape, Gather, Mul, Concat…) runs the
// row's definition over expressions; nodes whose inputs are known numbers are folded on the way, since shapes may
// depend on them (the scales of a Resize). Only what neither gives is left to the run. Throws ShapeFaults if a node's
// rule meets a contradiction. Then the rest is inferred: the outputs of such a node have the shape that the file
// declares, if any, and nodes that read a value without a shape are passed over.
//
// Sizes grow exponentially if each layer repeats its first frame by a Slice, whose size is min(t, 1) of what the last
// layer gave. Nothing there says that t is at least 1, but the guards of the layers before do. So inference begins anew
// at a size of many parts: with what the guards have shown until there, else with the dims in that size at least 1.
void infer_shapes(Graph& graph);
// Forgets what it inferred, and infers anew: called when more is known of the inputs' dims, or a value has become a
// constant.
void infer_shapes_again(Graph& graph);

// Nodes whose inputs do not fit each other, in order, and those of operators that onnxc does not compile.
class ShapeFaults : public UserError {
 public:
  struct Fault {
    const Node* node;
    std::string text;  // which begins with Node::describe()
  };
  // The text of a message about them: one by itself, several in lines of their own, at most `most`.
  static std::string text_of(const std::vector<Fault>& faults);
  explicit ShapeFaults(std::vector<Fault> found) : UserError(text_of(found)), faults(std::move(found)) {}

  std::vector<Fault> faults;
};

}  // namespace onnxc

// Optional values whose presence is known when the model is compiled: a node has the input or has it not.
#include "ops/families.h"

namespace onnxc {
namespace {

// ONNX Optional 15, OptionalGetElement 18.
void expand_to_element(ExpandContext& c) {
  c.check(c.has_input(0), "it has no input; an optional without an element is not supported yet");
  c.give(0, c.add("Identity", {c.in(0)}));
}

// ONNX OptionalHasElement 18.
void expand_has_element(ExpandContext& c) { c.give(0, c.number(DType::boolean, c.has_input(0) ? 1 : 0)); }

constexpr OpRow rows[] = {
    {.domain = "", .name = "Optional", .expand = expand_to_element},
    {.domain = "", .name = "OptionalGetElement", .expand = expand_to_element},
    {.domain = "", .name = "OptionalHasElement", .expand = expand_has_element},
};

}  // namespace

std::span<const OpRow> optional_ops() { return rows; }

}  // namespace onnxc

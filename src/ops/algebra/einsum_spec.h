// The equation of an Einsum, resolved once (ONNX 12).
#pragma once

#include <string>
#include <vector>

namespace onnxc {

class NodeReader;

// The axes of a term: letters as they are; those that an ellipsis stands for are '0', '1'…, counted from the last axis,
// so that they align as in broadcasting.
using AxisLabels = std::string;

struct EinsumSpec {
  std::vector<AxisLabels> inputs;
  AxisLabels output;  // each axis once; if the equation does not say it, as ONNX has it
};

// UserError if the equation is malformed, or does not fit the inputs.
EinsumSpec resolve_einsum(const NodeReader& node);

}  // namespace onnxc

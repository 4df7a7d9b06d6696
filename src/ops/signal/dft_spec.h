// The inputs and attributes of the operator DFT, resolved once.
#pragma once

#include <functional>
#include <string_view>

#include "ir/loops/loops.h"

namespace onnxc {

class DefineContext;
class NodeReader;
struct Node;

// Longer ones are refused: kernels compute with several times the length.
inline constexpr int64_t longest_transform = int64_t{1} << 40;

// If only a run knows the axis, then also the dims of the output and the extent along it.
struct DftSpec {
  Shape input;
  Expr axis;    // counted from the first one if it is known; else as it is given
  Expr extent;  // of the input along the axis
  Expr length;  // of the transform
  bool inverse, one_sided;

  size_t rank() const { return input.size(); }
  bool has_known_axis() const { return axis.constant().has_value(); }
  bool gives_real() const { return inverse && one_sided; }
  Expr output_extent() const { return one_sided && !inverse ? floor_div(length, 2) + 1 : length; }
  // The number of input elements that count.
  Expr used() const { return min(extent, gives_real() ? floor_div(length, 2) + 1 : length); }
  // Whether axis i is the one.
  Scalar is(size_t i) const;
  // How many lines there are along the axes in front of it, and along those between it and the parts.
  Expr outer() const;
  Expr inner() const;
};

// The one number that an input gives.
Expr given_number(const NodeReader& node, size_t input, std::string_view role);
// The extent along an axis that only a run knows is what the function gives.
DftSpec resolve_dft(const NodeReader& node, const std::function<Expr()>& extent_at_run_time);
// Whether a node is the DFT that the operators of ONNX become; its spec, once the shape of its output is known.
bool is_dft(const Node& node);
DftSpec resolve_dft(const NodeReader& node);
// Binds the extent along an axis that only a run knows, and the dims that follow from it. To be called before anything
// that uses them is emitted.
void bind_dft(DefineContext& c, const DftSpec& spec);

}  // namespace onnxc

// Size hints: the usual value of a size that is known only at run time. They serve the choice between kernels, whose
// speed and packed weights depend on the size; every kernel is right for every size.
//
// A free dim of an input counts as 64, within its bounds. Batches are smaller, but kernels are chosen for one image;
// volumes are cut to 64 to 128 along an axis, and clips of 16 frames of 112x112 have as many voxels as 64^3. All other
// sizes follow from the expressions: after four layers of stride 2 a map counts as 4x4x4. A size that depends on data
// counts as 64 too.
#pragma once

#include <map>
#include <optional>

#include "ir/program/program.h"

namespace onnxc {

// Nothing if the size cannot be computed in 64 bits. Graph and program have their inputs.
std::optional<int64_t> usual_size(const Graph& graph, const Expr& size);
std::optional<int64_t> usual_size(const Program& program, const Expr& size);

// The same of many sizes of a graph, in which each symbol is looked up once.
class UsualSizes {
 public:
  explicit UsualSizes(const Graph& graph) : graph_(graph) {}

  // As a real number; 0 if it cannot be computed.
  double of(const Expr& size);

 private:
  const Graph& graph_;
  std::map<Symbol, int64_t> symbols_;
};

}  // namespace onnxc

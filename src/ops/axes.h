// A tensor's axes in two parts: those that an operator folds over (reductions, normalisations, softmax), and those that
// it keeps. If only a run knows which is which, each axis is in both, and has an extent of 1 in one of them.
#pragma once

#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

class FoldedAxes {
 public:
  // folded[i] tells whether axis i of a tensor of this shape is folded.
  FoldedAxes(const Shape& shape, std::vector<bool> folded) : shape_(shape), folded_(std::move(folded)) {}
  // If a run decides: each axis's extent among the kept ones and among the folded ones; one of the two is 1.
  static FoldedAxes decided_by_run(const Shape& shape, Shape kept_shape, Shape folded_shape) {
    FoldedAxes axes(shape, {});
    axes.run_kept_ = std::move(kept_shape);
    axes.run_folded_ = std::move(folded_shape);
    return axes;
  }

  // The axes from `first` on.
  static FoldedAxes from(const Shape& shape, size_t first) { return range(shape, first, shape.size()); }
  static FoldedAxes one(const Shape& shape, size_t axis) { return range(shape, axis, axis + 1); }
  // The axes from `first` to before `end`.
  static FoldedAxes range(const Shape& shape, size_t first, size_t end) {
    std::vector<bool> folded(shape.size(), false);
    for (size_t i = first; i < end; ++i) folded.at(i) = true;
    return {shape, std::move(folded)};
  }

  bool are_decided_by_run() const { return !run_kept_.empty(); }
  Shape kept_shape() const { return are_decided_by_run() ? run_kept_ : part(shape_, false); }
  Shape folded_shape() const { return are_decided_by_run() ? run_folded_ : part(shape_, true); }
  // The kept shape, with a dim of 1 in place of each folded axis.
  Shape shape_with_ones() const {
    if (are_decided_by_run()) return kept_shape();
    Shape shape = shape_;
    for (size_t i = 0; i < shape.size(); ++i)
      if (folded_[i]) shape[i] = 1;
    return shape;
  }

  // Splits the indices of the whole tensor into those of the kept and of the folded axes, and joins them again.
  std::vector<Expr> kept(const std::vector<Expr>& indices) const { return part(indices, false); }
  std::vector<Expr> folded(const std::vector<Expr>& indices) const { return part(indices, true); }
  std::vector<Expr> join(const std::vector<Expr>& kept, const std::vector<Expr>& folded) const {
    std::vector<Expr> indices;
    if (are_decided_by_run()) {
      for (size_t i = 0; i < kept.size(); ++i) indices.push_back(kept[i] + folded.at(i));
      return indices;
    }
    size_t next_kept = 0, next_folded = 0;
    for (bool is_folded : folded_) indices.push_back(is_folded ? folded.at(next_folded++) : kept.at(next_kept++));
    return indices;
  }

 private:
  std::vector<Expr> part(const std::vector<Expr>& whole, bool folded) const {
    std::vector<Expr> result;
    for (size_t i = 0; i < whole.size(); ++i)
      if (folded_[i] == folded) result.push_back(whole[i]);
    return result;
  }

  Shape shape_;
  std::vector<bool> folded_;
  Shape run_kept_, run_folded_;
};

}  // namespace onnxc

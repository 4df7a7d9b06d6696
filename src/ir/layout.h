// The physical layout of a tensor, as data: one function turns logical indices into an offset. Packers, kernels and the
// interpreter all use it.
#pragma once

#include <string>
#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

// One physical axis: a whole logical axis, the blocks of one, or the elements within its blocks.
struct PhysicalAxis {
  enum class Part { whole, blocks, within_block };
  size_t axis;  // logical axis
  Part part = Part::whole;
  bool operator==(const PhysicalAxis&) const = default;
};

// Physical axes from outermost to innermost. A logical axis appears once if whole, or twice as blocks and within_block:
// nCdhw16c is {0}, {1, blocks}, {2}, {3}, {4}, {1, within_block} with block_size 16. The extent of a blocked axis is
// padded to whole blocks; the padding holds zeros.
struct Layout {
  std::vector<PhysicalAxis> axes;
  int64_t block_size = 1;  // of every blocked axis
  bool operator==(const Layout&) const = default;

  static Layout row_major(size_t rank);
  // Axis 1 in blocks whose elements are innermost; the others in order: nCw8c, nChw8c, nCdhw8c.
  static Layout channel_blocked(size_t rank, int64_t block_size);

  bool is_row_major() const;
  bool is_blocked(size_t axis) const;

  // The extents of the physical axes.
  Shape physical_shape(const Shape& shape) const;
  // Elements in memory, padding included.
  Expr element_count(const Shape& shape) const;
  // The offset in elements of the element with these logical indices.
  Expr offset(const Shape& shape, const std::vector<Expr>& indices) const;

  std::string to_string() const;  // "row-major", or "0 1/16 2 3 4 1%16"
};

}  // namespace onnxc

#include "ir/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/diagnostics.h"

namespace onnxc {

Layout Layout::row_major(size_t rank) {
  Layout layout;
  for (size_t axis = 0; axis < rank; ++axis) layout.axes.push_back({axis, PhysicalAxis::Part::whole});
  return layout;
}

Layout Layout::channel_blocked(size_t rank, int64_t block_size) {
  internal_check(rank >= 2 && block_size >= 1, "a channel axis and a block");
  Layout layout = row_major(rank);
  layout.block_size = block_size;
  layout.axes[1].part = PhysicalAxis::Part::blocks;
  layout.axes.push_back({1, PhysicalAxis::Part::within_block});
  return layout;
}

bool Layout::is_row_major() const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].axis != i || axes[i].part != PhysicalAxis::Part::whole) return false;
  return true;
}

bool Layout::is_blocked(size_t axis) const {
  for (const PhysicalAxis& physical : axes)
    if (physical.axis == axis && physical.part == PhysicalAxis::Part::blocks) return true;
  return false;
}

Shape Layout::physical_shape(const Shape& shape) const {
  Shape extents;
  for (const PhysicalAxis& physical : axes) {
    const Expr& extent = shape.at(physical.axis);
    switch (physical.part) {
      case PhysicalAxis::Part::whole:
        extents.push_back(extent);
        break;
      case PhysicalAxis::Part::blocks:
        extents.push_back(ceil_div(extent, block_size));
        break;
      case PhysicalAxis::Part::within_block:
        extents.emplace_back(block_size);
        break;
    }
  }
  return extents;
}

Expr Layout::element_count(const Shape& shape) const { return product(physical_shape(shape)); }

Expr Layout::offset(const Shape& shape, const std::vector<Expr>& indices) const {
  internal_check(indices.size() == shape.size(), "as many indices as the tensor has axes");
  Shape extents = physical_shape(shape);
  Expr offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Expr& index = indices.at(axes[i].axis);
    offset *= extents[i];
    switch (axes[i].part) {
      case PhysicalAxis::Part::whole:
        offset += index;
        break;
      case PhysicalAxis::Part::blocks:
        offset += floor_div(index, block_size);
        break;
      case PhysicalAxis::Part::within_block:
        offset += mod(index, block_size);
        break;
    }
  }
  return offset;
}

std::string Layout::to_string() const {
  if (is_row_major()) return "row-major";
  std::vector<std::string> parts;
  for (const PhysicalAxis& physical : axes) {
    switch (physical.part) {
      case PhysicalAxis::Part::whole:
        parts.push_back(fmt::format("{}", physical.axis));
        break;
      case PhysicalAxis::Part::blocks:
        parts.push_back(fmt::format("{}/{}", physical.axis, block_size));
        break;
      case PhysicalAxis::Part::within_block:
        parts.push_back(fmt::format("{}%{}", physical.axis, block_size));
        break;
    }
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace onnxc

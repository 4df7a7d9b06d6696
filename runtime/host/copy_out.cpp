#include "host/copy_out.h"

namespace onnxc::runtime {
namespace {

template <class T>
T* copy_axes(const T* from, const PlacedAxis* axes, int32_t rank, T* to) {
  if (rank == 0) {
    *to = *from;
    return to + 1;
  }
  for (int64_t i = 0; i < axes->extent; ++i) {
    const int64_t offset = i / axes->block_size * axes->outer_step + i % axes->block_size * axes->inner_step;
    to = copy_axes(from + offset, axes + 1, rank - 1, to);
  }
  return to;
}

}  // namespace

void copy_out(const void* first, int64_t element_size, const PlacedAxis* axes, int32_t rank, void* row_major) {
  switch (element_size) {
    case 1:
      copy_axes(static_cast<const uint8_t*>(first), axes, rank, static_cast<uint8_t*>(row_major));
      break;
    case 2:
      copy_axes(static_cast<const uint16_t*>(first), axes, rank, static_cast<uint16_t*>(row_major));
      break;
    case 4:
      copy_axes(static_cast<const uint32_t*>(first), axes, rank, static_cast<uint32_t*>(row_major));
      break;
    default:
      copy_axes(static_cast<const uint64_t*>(first), axes, rank, static_cast<uint64_t*>(row_major));
      break;
  }
}

}  // namespace onnxc::runtime

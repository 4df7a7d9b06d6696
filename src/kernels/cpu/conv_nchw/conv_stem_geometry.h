// The contract of the compiler and conv_stem.h: how a stem's work is cut into tasks, and their scratch.
#pragma once

#include "kernels/cpu/conv/conv_direct_geometry.h"

namespace onnxc::kernels {

// Output voxels in a register tile: neighbours in a row. Fewer accumulators would not hide the FMA's latency, more
// would spill.
constexpr int64_t stem_tile(int64_t blocks, int target_lanes) {
  const int64_t registers = machine::vector_unit(target_lanes).accumulators();
  return registers / blocks;
}

// A task computes all channels of a band of rows of one output plane. Its scratch holds the input rows that the band
// reads as floats [input channel][tap of the depth][row][column], with zeros for a row that continues past its ends.
struct StemGeometry {
  int64_t band_rows;   // of outputs; the last band may have fewer
  int64_t bands;       // of a plane
  int64_t input_rows;  // of a band, for each channel and tap of the depth
  int64_t row_stride;  // in scratch, in elements
  KernelWork work;
};

constexpr StemGeometry stem_geometry(const DirectPacking& packing, const ConvSizes& sizes) {
  // A quarter of a second-level cache of 1 MiB; the weights take another.
  constexpr int64_t budget = 256 * 1024 / static_cast<int64_t>(sizeof(float)), wished_tasks = 16;
  const ConvShape& shape = packing.shape;
  const auto rows_read = [&](int64_t rows) {
    return (rows - 1) * shape.stride.h + (shape.kernel.h - 1) * shape.dilation.h + 1;
  };
  StemGeometry result{};
  // A row's last tile may reach past its end.
  const int64_t columns = sizes.output.w + stem_tile(1, packing.lanes);
  result.row_stride = (columns - 1) * shape.stride.w + (shape.kernel.w - 1) * shape.dilation.w + 1;
  const int64_t lines = shape.input_channels * shape.kernel.d;
  const int64_t fitting = (budget / (lines * result.row_stride) - rows_read(1)) / shape.stride.h + 1;
  const int64_t planes = sizes.batch * sizes.output.d;
  const int64_t wished_bands = planes == 0 ? 1 : divide_up(wished_tasks, planes);
  const int64_t most_rows = larger(1, smaller(fitting, divide_up(sizes.output.h, wished_bands)));
  result.bands = divide_up(sizes.output.h, most_rows);
  result.band_rows = result.bands == 0 ? 0 : divide_up(sizes.output.h, result.bands);
  result.bands = result.band_rows == 0 ? 0 : divide_up(sizes.output.h, result.band_rows);
  result.input_rows = result.band_rows == 0 ? 0 : rows_read(result.band_rows);
  const bool is_empty = sizes.output.product() == 0;
  result.work = {is_empty ? 0 : planes * result.bands,
                 lines * result.input_rows * result.row_stride * static_cast<int64_t>(sizeof(float))};
  return result;
}

}  // namespace onnxc::kernels

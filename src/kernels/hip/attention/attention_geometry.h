// The contract of the compiler, the host and the attention kernel of the GPU. Pure functions.
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"

namespace onnxc::kernels {

// The kernel's template argument.
struct FlashAttentionPlan {
  int64_t depth;    // of a query and a key
  int64_t columns;  // of a value
  Products products = Products::float32;
  bool reads_scores = false;  // something is read for each score, such as a bias

  constexpr bool operator==(const FlashAttentionPlan&) const = default;

  // Queries of a wavefront, and keys of a step: a tile of the matrix unit. A block has four wavefronts.
  static constexpr int64_t tile = 32, block_queries = 4 * tile;

  constexpr int64_t element_bytes() const { return is_half(products) ? 2 : 4; }
  constexpr int64_t chunk_elements() const { return chunk_bytes / element_bytes(); }
  // Chunks of a query or key come in pairs, one for each half of a wavefront. Four chunks are a row of LDS.
  constexpr int64_t depth_pairs() const { return divide_up(depth, 2 * chunk_elements()); }
  constexpr int64_t column_tiles() const { return divide_up(columns, tile); }
  // A column of the values has 32 keys, and 16 bytes of padding, against bank conflicts.
  constexpr int64_t value_row_bytes() const { return tile * element_bytes() + 16; }
  constexpr int64_t key_bytes() const { return divide_up(depth_pairs(), 2) * tile * lds_row_bytes; }
  constexpr int64_t value_bytes() const { return column_tiles() * tile * value_row_bytes(); }
  // Whether a GPU makes the products by attention_mfma.h. Else wavefronts have 32 lanes and half of the queries, by
  // attention_mma.h or attention_wmma.h.
  static constexpr bool has_mfma(const GpuMachine& gpu) { return gpu.matrix_unit == machine::MatrixUnit::mfma; }
  // MFMA's lanes read with a key each what is added to the scores, and exchange the results: each wavefront has rows of
  // 16 queries.
  constexpr bool scores_change_lanes(const GpuMachine& gpu) const { return reads_scores && has_mfma(gpu); }
  static constexpr int64_t score_row_floats = tile + 4;
  constexpr int64_t score_floats(const GpuMachine& gpu) const {
    return scores_change_lanes(gpu) ? tile / 2 * score_row_floats : 1;
  }
  constexpr int64_t lds_bytes(const GpuMachine& gpu) const {
    return key_bytes() + value_bytes() + 4 * score_floats(gpu) * 4;
  }

  constexpr int64_t padded_depth() const { return depth_pairs() * 2 * chunk_elements(); }

  // Elements of keys and values that a thread fetches for a step.
  constexpr int64_t fetched_elements() const {
    const int64_t key_chunks = depth_pairs() * 2 * tile, value_chunks = round_up(columns, 8) * tile / chunk_elements();
    return (divide_up(key_chunks, nest_threads) + divide_up(value_chunks, nest_threads)) * chunk_elements();
  }
  // Columns that are computed.
  constexpr int64_t padded_columns(const GpuMachine& gpu) const { return round_up(columns, has_mfma(gpu) ? tile : 16); }

  // Registers: for queries, sums, prefetched data and its addresses, and others as counted; more for the addresses of
  // what is read for each score. NVIDIA's matrix unit has other lanes, but as many registers of each kind.
  constexpr int64_t registers(const GpuMachine& gpu) const {
    const int64_t of_biases = has_mfma(gpu) ? 56 : 8, of_pair = gpu.matrix_unit == machine::MatrixUnit::wmma ? 8 : 4;
    return of_pair * depth_pairs() + 16 * column_tiles() + 2 * fetched_elements() + 88 + (reads_scores ? of_biases : 0);
  }
  // The waves of a SIMD unit. AMD's compiler is told to plan for two (ONNXC_ONLY_TWO_WAVES), which on RDNA leaves all
  // registers that a lane may have; ptxas for two blocks of a unit if that leaves registers enough, else for one.
  constexpr int64_t waves(const GpuMachine& gpu) const {
    constexpr int64_t most_of_two_blocks = 172, most_registers = 256;
    if (machine::multiplies_by_wmma(gpu)) return gpu.registers / round_up(most_registers, gpu.register_granule);
    return machine::multiplies_by_mma(gpu) && registers(gpu) <= most_of_two_blocks ? 2 * block_waves(gpu) : 2;
  }
  constexpr int64_t blocks_a_unit(const GpuMachine& gpu) const {
    return smaller(waves(gpu) / block_waves(gpu), machine::blocks_by_lds(gpu, lds_bytes(gpu)));
  }
  // The matrix unit multiplies operands as they are stored, or in xf32 rounded.
  constexpr bool is_made_at_once(const GpuMachine& gpu) const {
    return is_half(products) || (has_mfma(gpu) && products == Products::float32) ||
           (machine::multiplies_by_mma(gpu) && products == Products::xf32);
  }
  // On RDNA a depth of 127 spills if no register is to spare.
  constexpr bool fits(const GpuMachine& gpu) const {
    const int64_t most_registers = machine::multiplies_by_wmma(gpu) ? 240 : 256;
    return is_made_at_once(gpu) && depth > 0 && columns > 0 && depth_pairs() <= 8 && column_tiles() <= 4 &&
           registers(gpu) <= most_registers && machine::blocks_by_lds(gpu, lds_bytes(gpu)) >= 2;
  }
};

// Strides in elements. `row` and `element` are those of queries, keys, values and results; a value's element is a
// column.
struct FlashAttentionView {
  int64_t batch, group, row, element;
  // The kernel counts a tile of rows, and the elements of a row, in 32 bits.
  constexpr bool fits() const {
    constexpr int64_t most = int64_t{1} << 23;
    return row < most && element < most;
  }
};

struct FlashAttentionSizes {
  int64_t batch, groups, queries, keys;

  constexpr int64_t query_tiles() const { return divide_up(queries, FlashAttentionPlan::block_queries); }
  constexpr int64_t blocks() const {
    constexpr int64_t most = int64_t{1} << 30;
    if (batch * groups * queries == 0) return 0;
    return batch < most && groups < most && queries < most && keys < most && batch * groups * query_tiles() < most
               ? batch * groups * query_tiles()
               : INT64_MAX;
  }
};

template <class T, class Output>
struct FlashAttentionArguments {
  const T *queries, *keys, *values;
  Output* output;
  FlashAttentionSizes sizes;
  FlashAttentionView query_view, key_view, value_view, output_view;
  Divisor query_tiles, groups;
};

// No launch is possible if strides do not fit.
template <class T, class Output>
constexpr int64_t attention_blocks(const FlashAttentionArguments<T, Output>& arguments) {
  return arguments.key_view.fits() && arguments.value_view.fits() ? arguments.sizes.blocks() : INT64_MAX;
}

}  // namespace onnxc::kernels

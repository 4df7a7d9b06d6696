// CPUs as rows of data: the features that the compiler may use, and the costs of what kernels do. No other code of the
// compiler names a CPU or compares a number of lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/vector_unit.h"

namespace onnxc {

// Costs that the offers of convolution kernels (codegen/cpu/conv/*_row.cpp) weigh, in vector multiply-adds at the peak
// rate. They were measured on machines with the row's vector unit.
struct ConvolutionCosts {
  double strided_input;  // strided Winograd: transforming one input vector to one (outer, row) point
  // A byte of weights from memory: about 12 GB/s a core with eight lanes, 5 GB/s with sixteen, whose multiply-adds take
  // half as long for the same products.
  double weight_byte;
  double held_byte;                       // a byte of packed weights, for the memory it holds; between Winograd's tiles
  double least_gain;                      // Winograd may cost this fraction of direct, for its weights to be worth it
  double direct_share_of_partial_blocks;  // direct's fraction of the peak if the last input block is not full
  // Winograd's tiles of 2x4x4 pack one and a half times the weights of 2x2x4: up to so many bytes.
  int64_t most_weights_of_two_fours;
  double planar_winograd_share;       // its fraction of the peak; few registers take more operands from memory
  bool leaves_out_taps_of_padding;    // direct skips a tap that is padding for a whole register tile
  double bfloat16_products = 0;       // of pairs (bfloat16_pairs.h), to one of an FMA in the time; 0: no instruction
  double int8_products = 0;           // of quads (int8_quads.h), likewise; of pairs of int16 half as many
  double bfloat16_tile_products = 0;  // of matrix tiles (tile.h), likewise
  double int8_tile_products = 0;
};

struct CpuMachine {
  std::string march;                  // as clang spells it: "x86-64-v4"
  std::vector<std::string> features;  // what the machine that runs it must have, as __builtin_cpu_supports spells it
  machine::VectorUnit vectors;
  ConvolutionCosts convolution;
  // Features that it must also have if a kernel of the model uses matrix tiles.
  std::vector<std::string> tile_features = {};
  // For an emulated machine: the one that its code runs on, as clang spells it.
  std::string emulated_on = {};

  int lanes() const { return vectors.lanes; }
  const std::string& name_for_clang() const { return emulated_on.empty() ? march : emulated_on; }
};

// The rows: the CPUs that --march names without asking clang, the least capable first.
std::span<const CpuMachine> cpu_machines();
// The row of that name, or nothing.
std::optional<CpuMachine> find_cpu_machine(std::string_view march);
// A CPU that clang knows and no row names. It gets the costs of the row with the same vector unit and matrix tiles, or
// none.
CpuMachine cpu_machine_with(const machine::VectorUnit& vectors, std::string march, std::vector<std::string> features,
                            std::vector<std::string> tile_features = {});

}  // namespace onnxc

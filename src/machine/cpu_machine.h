// CPUs as rows of data: what the compiler may use of one, and what things cost on it. Nothing else in the compiler
// names a CPU or compares a number of lanes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/vector_unit.h"

namespace onnxc {

// What the choice between convolution kernels weighs (codegen/cpu/conv/conv_choice.cpp), in multiply-adds of a vector
// at the peak rate. Measured on machines of the row's vector unit.
struct ConvolutionCosts {
  double strided_input;  // of Winograd with strides: a vector of the input into a point of outer and row
  // A byte of weights that comes from memory: about 12 GB/s a core where a product takes eight lanes, 5 GB/s with
  // sixteen, which take half as long for their products.
  double weight_byte;
  double held_byte;                       // what a byte of weights costs by being held, among Winograd's forms
  double least_gain;                      // of direct's cost Winograd's may be, for its weights to be worth holding
  double direct_share_of_partial_blocks;  // of the peak, where the last block of input channels is not full
  double planar_winograd_share;           // of the peak; with few registers more operands come from memory
  bool leaves_out_taps_of_padding;        // direct does, where a whole register tile has them in the padding
  bool takes_two_fours;                   // Winograd's tiles of 4x4; not measured on the others
};

struct CpuMachine {
  std::string march;                  // as clang spells it: "x86-64-v4"
  std::vector<std::string> features;  // what the machine that runs it must have, as __builtin_cpu_supports spells it
  machine::VectorUnit vectors;
  ConvolutionCosts convolution;

  int lanes() const { return vectors.lanes; }
};

// The rows: what --march names without asking clang, the least first.
std::span<const CpuMachine> cpu_machines();
// The row of that name, or nothing.
std::optional<CpuMachine> find_cpu_machine(std::string_view march);
// A CPU that clang knows and no row names: the costs of the row with the same vector unit.
CpuMachine cpu_machine_with(const machine::VectorUnit& vectors, std::string march, std::vector<std::string> features);

}  // namespace onnxc

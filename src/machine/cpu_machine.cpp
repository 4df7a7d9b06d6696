#include "machine/cpu_machine.h"

#include <algorithm>

namespace onnxc {
namespace {

using Features = std::vector<std::string>;

Features operator+(Features features, const Features& more) {
  features.insert(features.end(), more.begin(), more.end());
  return features;
}

constexpr ConvolutionCosts avx2_costs{.strided_input = 12.0,
                                      .weight_byte = 0.5,
                                      .held_byte = 0.75,
                                      .least_gain = 0.95,
                                      .direct_share_of_partial_blocks = 0.55,
                                      .most_weights_of_two_fours = 8 << 20,
                                      .planar_winograd_share = 0.75,
                                      .leaves_out_taps_of_padding = true};
// Tiles of 2x4x4 with 9 to 64 MiB of weights: 0.96 to 0.98 of the time of 2x2x4 on a Zen 4; with eight lanes 1.1
// to 1.2.
constexpr ConvolutionCosts avx512_costs{.strided_input = 20.0,
                                        .weight_byte = 1.25,
                                        .held_byte = 0.0,
                                        .least_gain = 1.0,
                                        .direct_share_of_partial_blocks = 0.72,
                                        .most_weights_of_two_fours = 64 << 20,
                                        .planar_winograd_share = 0.9,
                                        .leaves_out_taps_of_padding = false};

// Zen 4: as many VDPBF16PS and VPDPBUSD as FMAs a cycle, measured; each makes two or four products. On Intel's
// processors with AMX one takes two cycles, as many products as an FMA's in twice its time.
constexpr ConvolutionCosts zen4_costs() {
  ConvolutionCosts costs = avx512_costs;
  costs.bfloat16_products = 2.0;
  costs.int8_products = 4.0;
  return costs;
}
// VPDPBUSD at the rate of FMAs: Intel SDM's throughput tables; not measured. Products of tiles: measured on a Granite
// Rapids with tiles loaded from the first-level cache, 3372 GFLOP/s a core beside 249 of FMAs; TDPBUSD twice as many.
constexpr ConvolutionCosts sapphire_rapids_costs() {
  ConvolutionCosts costs = avx512_costs;
  costs.int8_products = 4.0;
  costs.bfloat16_tile_products = 13.5;
  costs.int8_tile_products = 27.0;
  return costs;
}

}  // namespace

std::span<const CpuMachine> cpu_machines() {
  // Features by level: the x86-64 psABI, 3.1.1, table 3.1; of the processors: clang's X86TargetParser.
  static const Features v3{"avx2", "fma", "f16c", "bmi2"},
      v4 = v3 + Features{"avx512f", "avx512bw", "avx512dq", "avx512vl"},
      icelake = Features{"avx512ifma",      "avx512vbmi", "avx512vbmi2", "avx512bitalg",
                         "avx512vpopcntdq", "gfni",       "vaes",        "vpclmulqdq"},
      znver4 = v4 + Features{"avx512vnni", "avx512bf16"} + icelake,
      sapphirerapids = v4 + Features{"avx512vnni", "avx512bf16", "avx512fp16", "avxvnni"} + icelake;
  static const std::vector<CpuMachine> rows{
      // march, features, vectors, convolution, features of tiles, emulated on
      {"x86-64-v3", v3, machine::avx2, avx2_costs},
      {"x86-64-v4", v4, machine::avx512, avx512_costs},
      {"znver4", znver4, machine::avx512, zen4_costs()},
      {"sapphirerapids",
       sapphirerapids,
       machine::avx512,
       sapphire_rapids_costs(),
       {"amx-tile", "amx-bf16", "amx-int8"}},
      // The same kernels with tiles emulated in plain C++ (tile.h): the bits of sapphirerapids, slowly, for tests.
      {"x86-64-v4-emulating-amx", v4, machine::avx512, sapphire_rapids_costs(), {}, "x86-64-v4"},
  };
  return rows;
}

std::optional<CpuMachine> find_cpu_machine(std::string_view march) {
  const auto found = std::ranges::find(cpu_machines(), march, &CpuMachine::march);
  return found == cpu_machines().end() ? std::nullopt : std::optional(*found);
}

CpuMachine cpu_machine_with(const machine::VectorUnit& vectors, std::string march, Features features,
                            Features tile_features) {
  const auto is_alike = [&](const CpuMachine& row) {
    return row.lanes() == vectors.lanes && row.tile_features == tile_features;
  };
  const auto alike = std::ranges::find_if(cpu_machines(), is_alike);
  if (alike == cpu_machines().end()) return cpu_machine_with(vectors, std::move(march), std::move(features));
  return {std::move(march), std::move(features), vectors, alike->convolution, std::move(tile_features)};
}

}  // namespace onnxc

#include "toolchain/march.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "support/diagnostics.h"
#include "support/processes/subprocess.h"
#include "support/text.h"

namespace onnxc {
namespace {

struct Feature {
  std::string_view macro;  // that clang defines when it may use the feature
  const char* name;        // of __builtin_cpu_supports
  bool (*is_here)();       // whether the machine that compiles has it
};

// Features beyond those of x86-64-v3 and v4 that clang may make vector code for (bmi, lzcnt, movbe, avx512cd). Each is
// asked for by itself: __builtin_cpu_supports takes no variable.
constexpr std::array features = {
    Feature{"__AVX2__", "avx2", [] { return __builtin_cpu_supports("avx2") != 0; }},
    Feature{"__FMA__", "fma", [] { return __builtin_cpu_supports("fma") != 0; }},
    Feature{"__F16C__", "f16c", [] { return __builtin_cpu_supports("f16c") != 0; }},
    Feature{"__BMI2__", "bmi2", [] { return __builtin_cpu_supports("bmi2") != 0; }},
    Feature{"__AVX512F__", "avx512f", [] { return __builtin_cpu_supports("avx512f") != 0; }},
    Feature{"__AVX512BW__", "avx512bw", [] { return __builtin_cpu_supports("avx512bw") != 0; }},
    Feature{"__AVX512DQ__", "avx512dq", [] { return __builtin_cpu_supports("avx512dq") != 0; }},
    Feature{"__AVX512VL__", "avx512vl", [] { return __builtin_cpu_supports("avx512vl") != 0; }},
    Feature{"__AVX512VNNI__", "avx512vnni", [] { return __builtin_cpu_supports("avx512vnni") != 0; }},
    Feature{"__AVX512BF16__", "avx512bf16", [] { return __builtin_cpu_supports("avx512bf16") != 0; }},
    Feature{"__AVX512FP16__", "avx512fp16", [] { return __builtin_cpu_supports("avx512fp16") != 0; }},
    Feature{"__AVXVNNI__", "avxvnni", [] { return __builtin_cpu_supports("avxvnni") != 0; }},
    Feature{"__AVX512IFMA__", "avx512ifma", [] { return __builtin_cpu_supports("avx512ifma") != 0; }},
    Feature{"__AVX512VBMI__", "avx512vbmi", [] { return __builtin_cpu_supports("avx512vbmi") != 0; }},
    Feature{"__AVX512VBMI2__", "avx512vbmi2", [] { return __builtin_cpu_supports("avx512vbmi2") != 0; }},
    Feature{"__AVX512BITALG__", "avx512bitalg", [] { return __builtin_cpu_supports("avx512bitalg") != 0; }},
    Feature{"__AVX512VPOPCNTDQ__", "avx512vpopcntdq", [] { return __builtin_cpu_supports("avx512vpopcntdq") != 0; }},
    Feature{"__GFNI__", "gfni", [] { return __builtin_cpu_supports("gfni") != 0; }},
    Feature{"__VAES__", "vaes", [] { return __builtin_cpu_supports("vaes") != 0; }},
    Feature{"__VPCLMULQDQ__", "vpclmulqdq", [] { return __builtin_cpu_supports("vpclmulqdq") != 0; }},
    Feature{"__AVXIFMA__", "avxifma", [] { return __builtin_cpu_supports("avxifma") != 0; }},
    Feature{"__AVXVNNIINT8__", "avxvnniint8", [] { return __builtin_cpu_supports("avxvnniint8") != 0; }},
    Feature{"__AVXNECONVERT__", "avxneconvert", [] { return __builtin_cpu_supports("avxneconvert") != 0; }},
    Feature{"__AVXVNNIINT16__", "avxvnniint16", [] { return __builtin_cpu_supports("avxvnniint16") != 0; }},
};

// Features that clang never uses by itself.
constexpr std::array tile_features = {
    Feature{"__AMX_TILE__", "amx-tile", [] { return __builtin_cpu_supports("amx-tile") != 0; }},
    Feature{"__AMX_BF16__", "amx-bf16", [] { return __builtin_cpu_supports("amx-bf16") != 0; }},
    Feature{"__AMX_INT8__", "amx-int8", [] { return __builtin_cpu_supports("amx-int8") != 0; }},
};

bool has_all(const std::vector<std::string>& names, std::span<const Feature> known) {
  return std::ranges::all_of(names, [&](const std::string& name) {
    const auto found = std::ranges::find(known, name, &Feature::name);
    return found != known.end() && found->is_here();
  });
}

// The most capable row whose features this CPU has: a processor's own if that is faster, else an x86-64 one.
CpuMachine native_machine(const NarrowProducts& products) {
  std::optional<CpuMachine> baseline, processor;
  for (const CpuMachine& machine : cpu_machines()) {
    if (!machine.emulated_on.empty() || !has_all(machine.features, features)) continue;
    (machine.march.starts_with("x86-64") ? baseline : processor) = machine;
  }
  user_check(baseline.has_value(), "this CPU lacks AVX2, FMA or F16C, which onnxc's CPU code needs at least");
  if (!processor) return *baseline;
  const ConvolutionCosts& costs = processor->convolution;
  const bool has_tiles = !processor->tile_features.empty() && has_all(processor->tile_features, tile_features);
  const bool gains = (products.bfloat16 && (costs.bfloat16_products > 0 || has_tiles)) ||
                     (products.int8 && (costs.int8_products > 0 || has_tiles));
  if (!gains) return *baseline;
  // Without its tiles (a virtual machine may hide them) a model that asks for them would not run.
  if (!has_tiles) processor->convolution.bfloat16_tile_products = processor->convolution.int8_tile_products = 0;
  return *processor;
}

}  // namespace

CpuMachine resolve_march(const std::string& march, const CompilerRequest& request, const NarrowProducts& products) {
  if (march == "native") return native_machine(products);
  // Asking clang would take a tenth of a small model's compile.
  const std::optional<CpuMachine> known = find_cpu_machine(march);
  return known ? *known : ask_compiler(march, find_compiler(request));
}

std::vector<CpuMachine> resolve_marches(const std::vector<std::string>& marches, const CompilerRequest& request,
                                        const NarrowProducts& products) {
  std::vector<CpuMachine> machines;
  for (const std::string& march : marches) {
    CpuMachine machine = resolve_march(march, request, products);
    if (std::ranges::find(machines, machine.march, &CpuMachine::march) != machines.end())
      throw UsageError(fmt::format("--march names {} twice", quote(machine.march)));
    machines.push_back(std::move(machine));
  }
  std::ranges::sort(machines, {},
                    [](const CpuMachine& machine) { return std::pair(machine.features.size(), machine.march); });
  const auto sorted_features = [](const CpuMachine& machine) {
    return std::set<std::string>(machine.features.begin(), machine.features.end());
  };
  const CpuMachine& least = machines.front();
  for (const CpuMachine& machine : machines)
    if (!std::ranges::includes(sorted_features(machine), sorted_features(least)))
      throw UsageError(
          fmt::format("--march: {} has features that {} lacks; add a CPU whose features both have, such as x86-64-v3",
                      quote(least.march), quote(machine.march)));
  return machines;
}

CpuMachine ask_compiler(const std::string& march, const Compiler& compiler) {
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), {compiler.cpu_option(march), "-dM", "-E", "-x", "c++", "/dev/null"});
  const ProcessResult result = run_process(command);
  if (result.errors.find("unknown") != std::string::npos)  // the names of all CPUs stand after it
    throw UsageError(
        fmt::format("--march {}: {} does not know this CPU; native, x86-64-v3, x86-64-v4 and znver4 are such names",
                    quote(march), command.front()));
  user_check(result.succeeded(), "--march {}: {} failed: {}", quote(march), command.front(),
             printable_message(result.errors));
  auto defines = [&](std::string_view macro) {
    return result.output.find(fmt::format("#define {} ", macro)) != std::string::npos;
  };
  if (!defines("__AVX2__") || !defines("__FMA__") || !defines("__F16C__"))
    throw UsageError(
        fmt::format("--march {}: onnxc's CPU code needs at least AVX2, FMA and F16C (x86-64-v3)", quote(march)));
  const auto defined = [&](std::span<const Feature> known) {
    std::vector<std::string> names;
    for (const Feature& feature : known)
      if (defines(feature.macro)) names.emplace_back(feature.name);
    return names;
  };
  bool is_wide =
      defines("__AVX512F__") && defines("__AVX512BW__") && defines("__AVX512VL__") && defines("__AVX512DQ__");
  return cpu_machine_with(is_wide ? machine::avx512 : machine::avx2, march, defined(features), defined(tile_features));
}

}  // namespace onnxc

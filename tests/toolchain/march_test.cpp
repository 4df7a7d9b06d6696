#include "toolchain/march.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

TEST(March, TheRowsOfMachinesAreWhatTheCompilerSays) {
  for (const CpuMachine& known : cpu_machines()) {
    if (!known.emulated_on.empty()) continue;
    SCOPED_TRACE(known.march);
    const CpuMachine asked = ask_compiler(known.march);
    EXPECT_EQ(known.march, asked.march);
    EXPECT_EQ(known.lanes(), asked.lanes());
    EXPECT_EQ(known.features, asked.features);
    EXPECT_EQ(known.tile_features, asked.tile_features);
  }
}

// /proc/cpuinfo is the witness.
TEST(March, NativeIsAnX8664CpuButForNarrowProductsWhereTheyGain) {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const bool has_avx512 = text.find(" avx512vl") != std::string::npos;
  // Zen 4 and 5; Intel's processors with the instruction have it at half the rate.
  const bool has_pairs =
      has_avx512 && text.find(" avx512_bf16") != std::string::npos && text.find("AuthenticAMD") != std::string::npos;
  const bool has_tiles = text.find(" amx_bf16") != std::string::npos && text.find(" amx_int8") != std::string::npos &&
                         text.find(" avx512_fp16") != std::string::npos;
  const std::string baseline = has_avx512 ? "x86-64-v4" : "x86-64-v3";
  EXPECT_EQ(resolve_march("native").march, baseline);
  EXPECT_EQ(resolve_march("native", {}, {.bfloat16 = true}).march, has_tiles   ? "sapphirerapids"
                                                                   : has_pairs ? "znver4"
                                                                               : baseline);
  EXPECT_EQ(resolve_march("native", {}, {.int8 = true}).march.starts_with("x86-64"),
            !has_pairs && text.find(" avx512_fp16") == std::string::npos);
}

TEST(March, TheFirstOfSeveralRunsOnAll) {
  const auto names = [](const std::vector<std::string>& marches) {
    std::vector<std::string> result;
    for (const CpuMachine& machine : resolve_marches(marches)) result.push_back(machine.march);
    return result;
  };
  EXPECT_THAT(names({"sapphirerapids", "x86-64-v3", "x86-64-v4"}),
              testing::ElementsAre("x86-64-v3", "x86-64-v4", "sapphirerapids"));
  EXPECT_THAT(names({"znver4"}), testing::ElementsAre("znver4"));
  // Neither of the last two has all that the other has.
  EXPECT_THAT(names({"x86-64-v4", "alderlake", "x86-64-v3"}),
              testing::ElementsAre("x86-64-v3", "alderlake", "x86-64-v4"));
  EXPECT_THROW(names({"alderlake", "x86-64-v4"}), UsageError);
  EXPECT_THROW(names({"x86-64-v3", "x86-64-v3"}), UsageError);
}

}  // namespace
}  // namespace onnxc

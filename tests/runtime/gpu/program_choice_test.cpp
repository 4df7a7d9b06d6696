// Which of a model's programs a device runs.
#include "gpu/program_choice.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace onnxc::runtime {
namespace {

constexpr char ptx[] = ".version 7.1", cubin[] = "\177ELF\2\1";

struct Card {
  const char* architecture;
  int32_t compute_units;
  const char* code = ptx;
};

// The architecture and compute units of the program that is taken, or "none".
std::string taken(const std::vector<Card>& cards, GpuVendor vendor, const Card& device, int32_t capability = 0) {
  std::vector<DeviceProgram> programs(cards.size());
  std::vector<const DeviceProgram*> pointers;
  for (size_t i = 0; i < cards.size(); ++i) {
    programs[i].architecture = cards[i].architecture;
    programs[i].compute_units = cards[i].compute_units;
    programs[i].code_object = reinterpret_cast<const unsigned char*>(cards[i].code);
    pointers.push_back(&programs[i]);
  }
  GpuDescription description = {};
  std::snprintf(description.architecture, sizeof description.architecture, "%s", device.architecture);
  description.compute_units = device.compute_units;
  description.capability = capability;
  const auto* chosen =
      choose_program(pointers.data(), static_cast<int32_t>(pointers.size()), vendor, description, nullptr);
  if (chosen == nullptr) return "none";
  return std::string(chosen->architecture) + " " + std::to_string(chosen->compute_units);
}

const std::vector<Card> all = {{"gfx1100", 96}, {"sm_80", 108}, {"gfx942", 304}, {"sm_90a", 132},
                               {"gfx942", 38},  {"sm_89", 58},  {"sm_89", 128},  {"sm_90", 100}};

TEST(ProgramChoice, VendorOfTheCode) {
  DeviceProgram program = {};
  program.architecture = "sm_90a";
  EXPECT_EQ(vendor_of(program), GpuVendor::nvidia);
  program.code_object = reinterpret_cast<const unsigned char*>(ptx);
  EXPECT_FALSE(is_cubin(program));
  program.code_object = reinterpret_cast<const unsigned char*>(cubin);
  EXPECT_TRUE(is_cubin(program));
  program.architecture = "gfx942";
  EXPECT_EQ(vendor_of(program), GpuVendor::amd);
  EXPECT_FALSE(is_cubin(program)) << "though a code object is an ELF file as well";
}

TEST(ProgramChoice, CodeOfAFamilyRunsOnItsCardsThatHaveNoneOfTheirOwn) {
  const std::vector<Card> families = {{"gfx11-generic", 16}, {"gfx1100", 48}, {"gfx12-generic", 16}, {"gfx942", 304}};
  const auto taken_by = [&](const char* architecture, int32_t units) {
    return taken(families, GpuVendor::amd, {architecture, units});
  };
  EXPECT_EQ(taken_by("gfx1100", 42), "gfx1100 48");
  EXPECT_EQ(taken_by("gfx1103", 6), "gfx11-generic 16");
  EXPECT_EQ(taken_by("gfx1153:sramecc-", 4), "gfx11-generic 16");
  EXPECT_EQ(taken_by("gfx1201", 32), "gfx12-generic 16");
  EXPECT_EQ(taken_by("gfx1250", 256), "none");
  EXPECT_EQ(taken_by("gfx1170", 8), "none");
  EXPECT_EQ(taken_by("gfx1036", 1), "none");
}

TEST(ProgramChoice, NvidiaRunsTheNewestThatItCan) {
  const struct {
    int32_t capability, units;
    const char* expected;
  } cases[] = {{75, 40, "none"},        {80, 108, "sm_80 108"}, {86, 82, "sm_80 108"},   {89, 58, "sm_89 58"},
               {89, 60, "sm_89 58"},    {89, 94, "sm_89 128"},  {90, 132, "sm_90a 132"}, {90, 100, "sm_90a 132"},
               {100, 148, "sm_90 100"}, {120, 170, "sm_90 100"}};
  for (const auto& [capability, units, expected] : cases) {
    const std::string name = "sm_" + std::to_string(capability);
    EXPECT_EQ(taken(all, GpuVendor::nvidia, {name.c_str(), units}, capability), expected) << capability;
  }
  EXPECT_EQ(taken({{"sm_90a", 132}}, GpuVendor::nvidia, {"sm_100", 148}, 100), "none");
  EXPECT_EQ(taken({{"gfx942", 304}}, GpuVendor::nvidia, {"sm_90", 132}, 90), "none");
}

// CUDA C++ Programming Guide, "Binary Compatibility": from one minor revision to the next, never to a major one.
TEST(ProgramChoice, ACubinRunsOnItsGenerationOnly) {
  const std::vector<Card> cubins = {{"sm_80", 108, cubin}, {"sm_89", 58, cubin}, {"sm_90a", 132, cubin}};
  const struct {
    int32_t capability;
    const char* expected;
  } cases[] = {{75, "none"},       {80, "sm_80 108"}, {86, "sm_80 108"}, {87, "sm_80 108"}, {89, "sm_89 58"},
               {90, "sm_90a 132"}, {100, "none"},     {103, "none"},     {120, "none"},     {121, "none"}};
  for (const auto& [capability, expected] : cases)
    EXPECT_EQ(taken(cubins, GpuVendor::nvidia, {"", 100}, capability), expected) << capability;
  const std::vector<Card> blackwell = {{"sm_100", 148, cubin}, {"sm_120", 170, cubin}};
  EXPECT_EQ(taken(blackwell, GpuVendor::nvidia, {"", 148}, 103), "sm_100 148");
  EXPECT_EQ(taken(blackwell, GpuVendor::nvidia, {"", 148}, 110), "none");
  EXPECT_EQ(taken(blackwell, GpuVendor::nvidia, {"", 148}, 121), "sm_120 170");
  EXPECT_EQ(taken({{"sm_80", 108, cubin}, {"sm_80", 58}}, GpuVendor::nvidia, {"", 108}, 90), "sm_80 58") << "the PTX";
}

TEST(ProgramChoice, AmdRunsThatOfItsArchitectureAndNearestCard) {
  EXPECT_EQ(taken(all, GpuVendor::amd, {"gfx942:sramecc+:xnack-", 304}), "gfx942 304");
  EXPECT_EQ(taken(all, GpuVendor::amd, {"gfx942", 80}), "gfx942 38");
  EXPECT_EQ(taken(all, GpuVendor::amd, {"gfx1100", 48}), "gfx1100 96");
  EXPECT_EQ(taken(all, GpuVendor::amd, {"gfx110", 96}), "none");
  EXPECT_EQ(taken(all, GpuVendor::amd, {"gfx90a", 104}), "none");
  // HIP 5 does not tell.
  EXPECT_EQ(taken(all, GpuVendor::amd, {"", 38}), "gfx1100 96");
}

}  // namespace
}  // namespace onnxc::runtime

#include "gpu/program_choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/begins_with.h"
#include "base/number_text.h"
#include "gpu/library/amd_family.h"

namespace onnxc::runtime {
namespace {

constexpr char nvidia_prefix[] = "sm_";
constexpr int32_t does_not_run = -1;

// Whether the device's name says so; features may follow.
bool is_architecture(const char* name, const char* architecture) {
  return begins_with(name, architecture) && (name[strlen(architecture)] == '\0' || name[strlen(architecture)] == ':');
}

int32_t rank_on_amd(const char* architecture, const char* device) {
  if (device[0] == '\0' || is_architecture(device, architecture)) return 1;
  const char* const family = family_of(device);
  return family != nullptr && is_architecture(family, architecture) ? 0 : does_not_run;
}

// The higher, the better is the code for the device.
int32_t rank(const DeviceProgram& program, GpuVendor vendor, const GpuDescription& device) {
  if (vendor == GpuVendor::amd) return rank_on_amd(program.architecture, device.architecture);
  const char* text = program.architecture + sizeof nvidia_prefix - 1;
  const auto capability = static_cast<int32_t>(take_number(text));
  if (*text != '\0') return capability == device.capability ? 2 * capability + 1 : does_not_run;
  if (is_cubin(program) && capability / 10 != device.capability / 10) return does_not_run;
  return capability <= device.capability ? 2 * capability : does_not_run;
}

}  // namespace

GpuVendor vendor_of(const DeviceProgram& program) {
  return begins_with(program.architecture, nvidia_prefix) ? GpuVendor::nvidia : GpuVendor::amd;
}

bool is_cubin(const DeviceProgram& program) {
  return vendor_of(program) == GpuVendor::nvidia && memcmp(program.code_object, "\177ELF", 4) == 0;
}

const DeviceProgram* choose_program(const DeviceProgram* const* programs, int32_t count, GpuVendor vendor,
                                    const GpuDescription& device, const DeviceProgram* refused) {
  const int32_t limit = refused != nullptr ? rank(*refused, vendor, device) : INT32_MAX;
  const DeviceProgram* chosen = nullptr;
  int32_t best = does_not_run;
  int difference = 0;
  for (int32_t i = 0; i < count; ++i) {
    const DeviceProgram& program = *programs[i];
    if (vendor_of(program) != vendor) continue;
    const int32_t its_rank = rank(program, vendor, device);
    if (its_rank >= limit) continue;
    const int its_difference = device.architecture[0] == '\0' ? 0 : abs(program.compute_units - device.compute_units);
    const bool is_better = its_rank > best || (its_rank == best && chosen != nullptr && its_difference < difference);
    if (!is_better) continue;
    chosen = &program;
    best = its_rank;
    difference = its_difference;
  }
  return chosen;
}

}  // namespace onnxc::runtime

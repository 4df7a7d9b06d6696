#include "gfx942sim/code/module.h"

#include <algorithm>
#include <cstring>

#include "support/diagnostics.h"

namespace gfx942sim {

LoadedModule::LoadedModule(DeviceMemory& memory, std::span<const std::byte> code_object)
    : memory_(memory), code_object_(CodeObject::parse(code_object)) {
  // One allocation for all segments, so that their distances are kept.
  uint64_t end = 0;
  for (const Segment& segment : code_object_->segments) end = std::max(end, segment.address + segment.bytes.size());
  const Allocation* allocation = memory_.allocate(end, "the code object");
  onnxc::user_check(allocation != nullptr, "the device has no room for a code object of {} bytes", end);
  base_ = allocation->address;
  for (const Segment& segment : code_object_->segments)
    std::memcpy(allocation->bytes + segment.address, segment.bytes.data(), segment.bytes.size());
  for (const Relocation& relocation : code_object_->relocations) {
    onnxc::user_check(allocation->contains(base_ + relocation.address, 8), "a relocation lies outside the code object");
    const uint64_t target = base_ + relocation.target;
    std::memcpy(allocation->bytes + relocation.address, &target, sizeof target);
  }
  for (const Segment& segment : code_object_->segments)
    if (segment.executable && !program_) program_.emplace(segment.bytes, base_ + segment.address);
  onnxc::user_check(program_.has_value(), "the code object holds no code");
}

LoadedModule::~LoadedModule() { memory_.release(base_); }

}  // namespace gfx942sim

// The constants of a program as one block of bytes, each packed into its layout.
#pragma once

#include <map>
#include <vector>

#include "ir/program/program.h"

namespace onnxc {

struct Weights {
  std::vector<std::byte> bytes;
  std::map<BufferId, int64_t> offsets;  // of each constant storage: multiples of 64
};

// Constants with equal bytes share their place. After each constant there are at least 64 bytes that may be read.
Weights pack_weights(const Program& program, const std::vector<BufferId>& constants);

}  // namespace onnxc

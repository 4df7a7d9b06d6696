// Calls of the statistics kernels (kernels/channel_moments.h), for normalisations and global average pools.
#pragma once

#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/kernel_spec.h"

namespace onnxc {

// A tensor [N, C, spatial...] whose channels are summed up over space; `groups` of neighbouring channels have common
// statistics.
struct MomentsCall {
  BufferId input;
  Expr groups;
  int lanes;  // of the blocks that it is in; 1: it is in rows (emit_moments alone)
  Origin origin;
};

// Writes the calls that give float32 [3, N, groups]: mean, residue of the mean, population variance; returns its
// buffer.
BufferId emit_moments(const MomentsCall& moments, Program& program);

// Writes the calls that give the mean of each channel of input 0, in blocks.
void emit_means(const MomentsCall& moments, const Value& output, LoweringContext& context);

}  // namespace onnxc

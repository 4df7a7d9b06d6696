// Calls of the statistics kernels, for normalisations and global average pools.
#pragma once

#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/kernel_spec.h"

namespace onnxc {

// A tensor [N, C, spatial...] and the statistics of its channels over space; `groups` of neighbouring channels have
// common statistics.
struct MomentsCall {
  BufferId input;
  Expr groups;
  int lanes;  // of the blocks that it is in; 1: it is in rows (only emit_moments)
  Origin origin;
};

// Adds the calls that compute float32 [3, N, groups] (mean, rounding residue of the mean, population variance) and
// returns its buffer.
BufferId emit_moments(const MomentsCall& moments, Program& program);

// Adds the calls that compute the mean of each channel of input 0, in NCHWc.
void emit_means(const MomentsCall& moments, const Value& output, LoweringContext& context);

}  // namespace onnxc

// Convolutions to a few channels, such as the last layer of a decoder, by the implicit GEMM.
//
// Problem: 3 output channels are 3 of the 32 columns that the narrowest tile has, and a voxel's row is read at each
// tap.
//
//   y[o, voxel] = sum over taps t, channels c of x[c, voxel + t] * w[o, c, t]                        3 columns, 27 taps
//
// Method: a block of voxels, 2x3x3 say, becomes a row, and each of its voxels some columns. This is a convolution whose
// stride is the block. Its kernel reaches over all of it, with zeros for the taps that a voxel does not have. A second
// launch gives each voxel its place, with the convolution's epilogue (kernels/hip/gemm/voxel_places.h).
//
//   b[(v, o), block] = sum over t', c of x[c, block * stride + t'] * w[o, c, t' - v]                54 columns, 100
//   taps y[o, voxel] = b[(voxel % stride, o), voxel // stride]                                   which are 5.6 taps a
//   voxel
//
// The block is the one of least expected time. Limits: constant weights, stride 1, one group, no dilation.
#pragma once

#include "codegen/hip/call/kernel_rows.h"

namespace onnxc {

// Adds an offer if there is one. Offers of offer_implicit_gemm, which calls it.
void offer_voxel_blocks(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);

}  // namespace onnxc

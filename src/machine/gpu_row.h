// A GPU as a row of data: a card, or the part of one that is a device. The compiler, the kernels that it
// instantiates and the simulator read the same row (amd_machines.h, nvidia_machines.h).
#pragma once

#include <cstdint>

namespace onnxc::machine {

enum class Vendor { amd, nvidia };

// The matrix instructions that kernels use.
enum class MatrixUnit {
  mfma,    // of a wavefront of 64 lanes, on AMD's CDNA
  mma,     // mma.sync of a warp, on NVIDIA's since Ampere; float32 is left to the vector unit
  wgmma,   // besides, wgmma of four warps, on NVIDIA's Hopper: operands lie in shared memory
  wmma,    // of a wavefront of 32 lanes, on AMD's RDNA3; float32 is left to the vector unit
  wmma12,  // the same on RDNA4 (gfx12), with other operands of a lane
};

// AMD's words; in NVIDIA's a compute unit is a streaming multiprocessor, a SIMD one of its four partitions, a wavefront
// a warp and LDS shared memory. A unit of AMD's RDNA is a work group processor: two compute units, which share the LDS
// and the wavefronts of a workgroup. Members with a value here are the same on every CDNA2, 3 and 4: ISA guide of the
// MI300, 3.6 (registers and waves of a SIMD). Rates of 0 are not known: costs leave them out.
struct GpuMachine {
  const char* name;          // of the row, as --gpu-arch takes it; with _ for - that of the constant
  const char* architecture;  // that code is compiled for, as clang's --offload-arch names it
  Vendor vendor = Vendor::amd;
  int compute_capability = 0;  // of NVIDIA's: 89 for 8.9
  int compute_units;
  int xcds;                               // dies with an L2 cache of their own; workgroups are dealt to them in turn
  int simds = 4;                          // of a compute unit
  int wave_lanes = 64;                    // of a wavefront
  int waves_per_simd = 8;                 // at most
  int registers = 512;                    // of a lane of a SIMD, shared by its waves; accumulation registers count
  int taken_registers = 0;                // of a lane, by any product: its compiler takes those that it may
  int register_granule = 8, lds_granule;  // what is given to a wave and to a workgroup is a multiple; bytes of LDS
  int64_t lds_bytes;                      // of a compute unit
  int64_t block_lds_bytes;                // the most of a workgroup, as code asks for it
  int64_t launch_lds_bytes = 0;           // the most of a workgroup whose launch asks for it; 0: no launch does
  int64_t taken_lds_bytes = 0;            // of each workgroup, beside its own
  int threads_of_block = 1024;            // at most
  int64_t l2_bytes;                       // of an XCD
  double clock_megahertz;                 // peak engine clock
  double memory_bytes_a_second;           // peak
  double l1_bytes_a_cycle = 64, lds_bytes_a_cycle;  // of a compute unit
  double l2_bytes_a_cycle = 0;                      // of an XCD
  MatrixUnit matrix_unit = MatrixUnit::mfma;
  bool has_xf32;                     // matrix instructions of float32 with 10 bits of mantissa
  int vector_products_a_cycle = 16;  // of float32 on a SIMD
  int half_products_a_cycle = 256;   // of 16-bit types on a SIMD's matrix unit, by the instructions that kernels use
  bool has_wide_mfma = false;        // MFMA of 16-bit types over 16 elements of the reduction
  int byte_products_a_half = 2;      // products of bytes in the time of one of a 16-bit type
  int wgmma_products_a_cycle = 0;    // those of 16-bit types by wgmma
  // The instruction sets of AMD's device libraries (oclc_isa_version_NAME) that lack nothing that this GPU has not:
  // those of its family and of its predecessor, for releases that do not know its own.
  const char *family_isa = "9-4-generic", *older_isa = "90a";
};

// Whether it has mma.sync, ldmatrix and cp.async.
constexpr bool multiplies_by_mma(const GpuMachine& gpu) {
  return gpu.matrix_unit == MatrixUnit::mma || gpu.matrix_unit == MatrixUnit::wgmma;
}

// Whether it has WMMA, of either kind.
constexpr bool multiplies_by_wmma(const GpuMachine& gpu) {
  return gpu.matrix_unit == MatrixUnit::wmma || gpu.matrix_unit == MatrixUnit::wmma12;
}

// Whether its matrix unit multiplies bytes.
constexpr bool multiplies_bytes(const GpuMachine& gpu) { return multiplies_by_mma(gpu) || multiplies_by_wmma(gpu); }

}  // namespace onnxc::machine

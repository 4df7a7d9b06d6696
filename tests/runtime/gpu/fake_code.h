// The code of the models written by hand: words that the double of libamdhip64.so knows, or PTX with FAKE_NVIDIA, which
// the stand-in of NVIDIA's driver reads.
#pragma once

#include "gpu/program.h"

// A text can be put together only by the preprocessor. With FAKE_LONG_KERNELS each is a module of its own
// (gpu/device_code.h).
#ifdef FAKE_LONG_KERNELS
#define FAKE_TEN(text) text text text text text text text text text text
#define FAKE_BODY \
  FAKE_TEN(FAKE_TEN(FAKE_TEN("// A long comment, so that each kernel fills the 64 KiB of a module.   \n")))
#else
#define FAKE_BODY
#endif
#define FAKE_KERNEL_OF(name, bytes) \
  ".visible .entry " name "(\n.param .align 8 .b8 " name "_param_0[" bytes "]\n)\n{\n" FAKE_BODY "ret;\n}\n"
#define FAKE_KERNEL(name) FAKE_KERNEL_OF(name, "48")
#define FAKE_PTX(version, target)                                                                               \
  "//\n.version " version "\n.target " target "\n.address_size 64\n" FAKE_KERNEL("multiply") FAKE_KERNEL("add") \
      FAKE_KERNEL("twice") FAKE_KERNEL("negate") FAKE_KERNEL("take") FAKE_KERNEL("ones") FAKE_KERNEL("add_sum") \
          FAKE_KERNEL("count") FAKE_KERNEL("difference_of_windows") FAKE_KERNEL_OF("volume_cut_float32", "528") \
              FAKE_KERNEL_OF("volume_add_float32", "560") FAKE_KERNEL_OF("volume_finish", "168")

namespace onnxc::runtime {

#ifdef FAKE_NVIDIA
inline constexpr char fake_architecture[] = "sm_80", fake_code[] = FAKE_PTX("7.1", "sm_80");
inline constexpr int32_t fake_compute_units = 108;
#else
inline constexpr char fake_architecture[] = "gfx942", fake_code[] = "code";
inline constexpr int32_t fake_compute_units = 304;
#endif
inline constexpr char fake_ptx[] = FAKE_PTX("7.1", "sm_80");

// Other code of the same program.
inline DeviceProgram with_code(DeviceProgram program, const char* architecture, int32_t compute_units,
                               const unsigned char* code) {
  program.architecture = architecture;
  program.compute_units = compute_units;
  program.code_object = code;
  return program;
}

}  // namespace onnxc::runtime

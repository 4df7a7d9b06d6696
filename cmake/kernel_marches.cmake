# The instruction sets that this machine can run, for what compiles the CPU kernels' headers itself (tests, micro-benchmarks).
set(ONNXC_KERNEL_MARCHES x86-64-v3)
file(STRINGS /proc/cpuinfo avx512_flags REGEX "avx512f.*avx512vl" LIMIT_COUNT 1)
if(avx512_flags)
  list(APPEND ONNXC_KERNEL_MARCHES x86-64-v4)
endif()

# The parts of the CPU kernels that no model changes. They stand beside their headers, and are compiled once for each
# instruction set, with the runtime.
file(GLOB_RECURSE ONNXC_KERNEL_INSTANCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernels/cpu/*_instances.cpp)

// Kernel tests are compiled once for each instruction set and linked into one binary: suites need different names.
#pragma once

#if defined(__AVX512F__)
#define ISA_SUITE(name) name##Avx512
#else
#define ISA_SUITE(name) name##Avx2
#endif

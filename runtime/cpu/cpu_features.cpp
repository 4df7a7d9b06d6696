// clang's __builtin_cpu_supports would do, but it links a global constructor in.
#include "cpu/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace onnxc::runtime {

#if defined(__x86_64__)

namespace {

enum Register { eax, ebx, ecx, edx };

// Register state that the system must save for a feature: bits of XCR0.
constexpr unsigned no_state = 0, avx_state = 0x6, avx512_state = 0xe6, amx_state = 0x60000;

struct Feature {
  const char* name;
  unsigned leaf, subleaf;
  Register from;
  int bit;
  unsigned state;
};

// Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E for leaf 0x80000001.
constexpr Feature features[] = {
    {"cmov", 1, 0, edx, 15, no_state},
    {"mmx", 1, 0, edx, 23, no_state},
    {"sse", 1, 0, edx, 25, no_state},
    {"sse2", 1, 0, edx, 26, no_state},
    {"sse3", 1, 0, ecx, 0, no_state},
    {"pclmul", 1, 0, ecx, 1, no_state},
    {"ssse3", 1, 0, ecx, 9, no_state},
    {"fma", 1, 0, ecx, 12, avx_state},
    {"cx16", 1, 0, ecx, 13, no_state},
    {"sse4.1", 1, 0, ecx, 19, no_state},
    {"sse4.2", 1, 0, ecx, 20, no_state},
    {"movbe", 1, 0, ecx, 22, no_state},
    {"popcnt", 1, 0, ecx, 23, no_state},
    {"aes", 1, 0, ecx, 25, no_state},
    {"avx", 1, 0, ecx, 28, avx_state},
    {"f16c", 1, 0, ecx, 29, avx_state},
    {"lzcnt", 0x80000001, 0, ecx, 5, no_state},
    {"bmi", 7, 0, ebx, 3, no_state},
    {"avx2", 7, 0, ebx, 5, avx_state},
    {"bmi2", 7, 0, ebx, 8, no_state},
    {"avx512f", 7, 0, ebx, 16, avx512_state},
    {"avx512dq", 7, 0, ebx, 17, avx512_state},
    {"avx512ifma", 7, 0, ebx, 21, avx512_state},
    {"avx512cd", 7, 0, ebx, 28, avx512_state},
    {"avx512bw", 7, 0, ebx, 30, avx512_state},
    {"avx512vl", 7, 0, ebx, 31, avx512_state},
    {"avx512vbmi", 7, 0, ecx, 1, avx512_state},
    {"avx512vbmi2", 7, 0, ecx, 6, avx512_state},
    {"gfni", 7, 0, ecx, 8, no_state},
    {"vaes", 7, 0, ecx, 9, avx_state},
    {"vpclmulqdq", 7, 0, ecx, 10, avx_state},
    {"avx512vnni", 7, 0, ecx, 11, avx512_state},
    {"avx512bitalg", 7, 0, ecx, 12, avx512_state},
    {"avx512vpopcntdq", 7, 0, ecx, 14, avx512_state},
    {"avx512vp2intersect", 7, 0, edx, 8, avx512_state},
    {"amx-bf16", 7, 0, edx, 22, amx_state},
    {"avx512fp16", 7, 0, edx, 23, avx512_state},
    {"amx-tile", 7, 0, edx, 24, amx_state},
    {"amx-int8", 7, 0, edx, 25, amx_state},
    {"avxvnni", 7, 1, eax, 4, avx_state},
    {"avx512bf16", 7, 1, eax, 5, avx512_state},
    {"amx-fp16", 7, 1, eax, 21, amx_state},
    {"avxifma", 7, 1, eax, 23, avx_state},
    {"avxvnniint8", 7, 1, edx, 4, avx_state},
    {"avxneconvert", 7, 1, edx, 5, avx_state},
    {"avxvnniint16", 7, 1, edx, 10, avx_state},
};

// Which register states the system saves (XCR0); 0 when it does not use XSAVE.
unsigned saved_state() {
  unsigned registers[4];
  if (!__get_cpuid(1, &registers[eax], &registers[ebx], &registers[ecx], &registers[edx])) return 0;
  if ((registers[ecx] >> 27 & 1) == 0) return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// The system saves tiles only of a process that has asked (Linux, Documentation/arch/x86/xstate.rst); the answer holds
// for all of its threads. It refuses if one has an alternate signal stack without room for them.
bool are_tiles_permitted() {
#if defined(__linux__)
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

bool are_equal(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}

}  // namespace

bool cpu_has(const char* name) {
  for (const Feature& feature : features) {
    if (!are_equal(feature.name, name)) continue;
    unsigned registers[4];
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &registers[eax], &registers[ebx], &registers[ecx],
                           &registers[edx]))
      return false;
    if ((registers[feature.from] >> feature.bit & 1) == 0 || (saved_state() & feature.state) != feature.state)
      return false;
    return feature.state != amx_state || are_tiles_permitted();
  }
  return false;
}

void cpu_name(char* name) {
  unsigned text[12] = {};
  for (unsigned part = 0; part < 3; ++part) {
    unsigned* words = text + part * 4;
    if (!__get_cpuid(0x80000002 + part, &words[0], &words[1], &words[2], &words[3])) break;
  }
  __builtin_memcpy(name, text, sizeof text);
  name[sizeof text] = 0;
}

#else

bool cpu_has(const char*) { return false; }
void cpu_name(char* name) { name[0] = 0; }

#endif

}  // namespace onnxc::runtime

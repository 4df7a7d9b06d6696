// libFuzzer's way to the harnesses: ONNXC_FUZZ=NAME bin/onnxc_fuzz CORPUS... (scripts/fuzz.sh).
#include <cstdio>
#include <cstdlib>

#include "fuzz/harnesses.h"

namespace {

const onnxc::fuzz::Harness* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  const char* name = std::getenv("ONNXC_FUZZ");
  chosen = name == nullptr ? nullptr : onnxc::fuzz::find_harness(name);
  if (chosen != nullptr) return 0;
  std::fputs("ONNXC_FUZZ must name one of:", stderr);
  for (const auto& harness : onnxc::fuzz::harnesses()) std::fprintf(stderr, " %s", harness.name.data());
  std::fputs("\n", stderr);
  std::exit(2);
}

// An exception that leaves this function ends the process: that is the finding.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}

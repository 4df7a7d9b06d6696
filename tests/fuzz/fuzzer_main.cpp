// libFuzzer's way to the harnesses: ONNXC_FUZZ=NAME bin/onnxc_fuzz CORPUS... (scripts/fuzz.sh).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "fuzz/harnesses.h"
#include "fuzz/model_changes.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

const onnxc::fuzz::Harness* chosen = nullptr;

std::string_view text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// The size of the text put there; 0 if it is nothing, or too large.
size_t put(const std::optional<std::string>& made, uint8_t* to, size_t max_size) {
  if (!made || made->size() > max_size) return 0;
  std::ranges::copy(*made, to);
  return made->size();
}

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
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  chosen->run(text_of(data, size));
  return 0;
}

// Now and then single bytes of a model are changed too, for its reader.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (chosen->reads_models() && seed % 8 != 0)
    if (const size_t made = put(onnxc::fuzz::change_model(text_of(data, size), seed), data, max_size)) return made;
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                            size_t second_size, uint8_t* to, size_t max_size, unsigned seed) {
  if (!chosen->reads_models()) return 0;
  return put(onnxc::fuzz::join_models(text_of(first, first_size), text_of(second, second_size), seed), to, max_size);
}

#include "ir/expr/effort.h"

namespace onnxc {
namespace {

// Some hundredths of a second. Operations on the sizes of usual networks take a thousand at most.
constexpr int64_t allowance = 200'000;

thread_local int64_t remaining = 0;
thread_local int64_t nesting = 0;

}  // namespace

Effort::Effort() {
  if (nesting++ == 0) remaining = allowance;
}

Effort::~Effort() { --nesting; }

void Effort::spend(int64_t work) { remaining -= work; }

bool Effort::is_spent() { return nesting > 0 && remaining < 0; }

}  // namespace onnxc

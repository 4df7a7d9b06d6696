#include "ir/expr/effort.h"

namespace onnxc {
namespace {

thread_local int64_t total = 0;
thread_local int64_t nesting = 0;

}  // namespace

Effort::Effort() {
  if (nesting++ == 0) total = 0;
}

Effort::~Effort() { --nesting; }

void Effort::spend(int64_t work) { total += work; }

bool Effort::is_spent() { return nesting > 0 && total > allowance; }

int64_t Effort::spent() { return total; }

}  // namespace onnxc

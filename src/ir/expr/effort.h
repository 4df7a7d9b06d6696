// The limit of what one operation on expressions may cost.
//
// A sum, a quotient or a minimum is simplified by proofs, whose steps make sums, quotients and minima, which are
// simplified by proofs. Each expression on the way is less deep, but the number of all grows exponentially with the
// depth of the first. So an operation that is not part of another one has an allowance of work for all that it causes.
// Once it is used up, nothing more is proven and no rule is tried: the expression stays longer than it might be, and
// what is not proven is checked by a guard or compiled for the general case.
#pragma once

#include <cstdint>

namespace onnxc {

// An operation under way in this thread; what it calls counts as a part of it.
class Effort {
 public:
  Effort();
  ~Effort();
  Effort(const Effort&) = delete;
  Effort& operator=(const Effort&) = delete;

  // The work that an operation may cause, in terms made or atoms compared: some hundredths of a second. Operations on
  // the sizes of usual networks take a thousand at most.
  static constexpr int64_t allowance = 200'000;

  // Outside of an operation it has no effect.
  static void spend(int64_t work);
  static bool is_spent();
  // The work of the operation under way; more than its allowance if it ended without proofs.
  static int64_t spent();
};

}  // namespace onnxc

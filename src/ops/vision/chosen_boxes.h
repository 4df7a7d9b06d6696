// The operator ChosenBoxes, which NonMaxSuppression becomes: which boxes of each class are kept, in the order of their
// scores.
#pragma once

#include <cstddef>

namespace onnxc {

struct Node;

// Its inputs.
struct ChosenBoxes {
  static constexpr size_t corners = 0;     // [images, boxes, 4]: the lower corner, then the upper one
  static constexpr size_t order = 1;       // int64 [images, classes, boxes]: the best first
  static constexpr size_t candidates = 2;  // bool, the same shape, in that order; absent if all are
  static constexpr size_t most = 3;        // int64, one number: of a class; absent for 0
  static constexpr size_t threshold = 4;   // one number: intersection over union; absent for 0
  static constexpr size_t inputs = 5;
};

bool is_chosen_boxes(const Node& node);

}  // namespace onnxc

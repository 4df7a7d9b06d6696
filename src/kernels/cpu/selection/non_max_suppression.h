// Non-maximum suppression: which boxes of a class are kept.
//
// Problem: in the order of the scores, a box is chosen unless one that was chosen before overlaps it by more than a
// part of what both cover (intersection over union), until there are enough. Method: each box is held only against the
// chosen ones, a vector of these at a time, and only until one overlaps it; the corners and areas of the chosen lie in
// columns. So the time is boxes times chosen boxes; comparing each with each is its square.
//
// Bound by: some 15 vector operations for each vector of chosen boxes. Limits: a class is one thread's; corners are
// float32.
#pragma once

#include "kernels/cpu/selection/non_max_suppression_geometry.h"

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

struct SuppressionArguments {
  const float* corners;       // [images, boxes, 4]: the lower corner, then the upper one
  const int64_t* order;       // [images, classes, boxes]
  const uint8_t* candidates;  // the same, in that order; null if all are
  const int64_t* most;        // of a class; null for none
  const float* threshold;     // null for 0
  uint8_t* chosen;            // [images, classes, boxes], in that order
  SuppressionSizes sizes;
};

class NonMaxSuppression {
 public:
  using Arguments = SuppressionArguments;

  static KernelWork work(const SuppressionSizes& sizes) { return suppression_geometry(sizes, lanes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks.
  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* scratch) {
    const SuppressionSizes& sizes = arguments.sizes;
    const SuppressionGeometry geometry = suppression_geometry(sizes, lanes);
    for (int64_t task = task_begin; task < task_end; ++task) {
      const float* const corners = arguments.corners + task / sizes.classes * sizes.boxes * 4;
      Chosen chosen(static_cast<float*>(scratch), geometry.column_elements, arguments.threshold);
      const int64_t most = arguments.most == nullptr ? 0 : *arguments.most;
      for (int64_t place = task * sizes.boxes; place < (task + 1) * sizes.boxes; ++place) {
        const bool is_candidate =
            chosen.count() < most && (arguments.candidates == nullptr || arguments.candidates[place] != 0);
        const Box box(corners + arguments.order[place] * 4);
        const bool is_chosen = is_candidate && !chosen.overlap(box);
        if (is_chosen) chosen.add(box);
        arguments.chosen[place] = is_chosen;
      }
    }
  }

 private:
  struct Box {
    float low[2], high[2], area;

    explicit Box(const float* corners)
        : low{corners[0], corners[1]},
          high{corners[2], corners[3]},
          area((corners[2] - corners[0]) * (corners[3] - corners[1])) {}
  };

  class Chosen {
   public:
    Chosen(float* columns, int64_t elements, const float* threshold)
        : columns_(columns), elements_(elements), threshold_(splat(threshold == nullptr ? 0.0f : *threshold)) {}

    int64_t count() const { return count_; }

    void add(const Box& box) {
      if (count_ % lanes == 0) clear_vector();
      const float values[] = {box.low[0], box.low[1], box.high[0], box.high[1], box.area};
      for (int64_t i = 0; i < SuppressionGeometry::columns; ++i) column(i)[count_] = values[i];
      ++count_;
    }

    // Whether one of them overlaps the box.
    bool overlap(const Box& box) const {
      for (int64_t i = 0; i < count_; i += lanes) {
        const vec first =
            minimum(splat(box.high[0]), load(column(2) + i)) - maximum(splat(box.low[0]), load(column(0) + i));
        const vec second =
            minimum(splat(box.high[1]), load(column(3) + i)) - maximum(splat(box.low[1]), load(column(1) + i));
        const vec common = first * second, both = splat(box.area) + load(column(4) + i);
        const vec_mask overlaps =
            (splat(0.0f) < first) & (splat(0.0f) < second) & (threshold_ < common / (both - common));
        if (__builtin_reduce_or(overlaps) != 0) return true;
      }
      return false;
    }

   private:
    float* column(int64_t i) const { return columns_ + i * elements_; }

    // Boxes that overlap none: the rest of the last vector after the chosen ones.
    void clear_vector() {
      for (int64_t i = 0; i < SuppressionGeometry::columns; ++i)
        store(column(i) + count_, splat(i < 2 ? __builtin_inff() : i < 4 ? -__builtin_inff() : 0.0f));
    }

    float* columns_;
    int64_t elements_;
    vec threshold_;
    int64_t count_ = 0;
  };
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA

// Orders of lines, and suppression of boxes.
#include <vector>

#include "kernels/cpu/selection/argsort.h"
#include "kernels/cpu/selection/non_max_suppression.h"
#include "measurement.h"

namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA {
namespace {

using namespace kernels;

Floats scratch_of(const KernelWork& work) {
  return {work.scratch_bytes / static_cast<int64_t>(sizeof(float)) + 1, 0.0f};
}

// The first `count` of `extent` in each of so many lines.
template <int64_t lines, int64_t extent, int64_t count>
void argsort(benchmark::State& state) {
  using Kernel = Argsort<float, true>;
  constexpr ArgsortSizes sizes{lines, extent, 1, count};
  const Floats input = Floats::random(lines * extent);
  Floats positions = Floats::not_a_number(2 * lines * count);  // int64
  const KernelWork work = Kernel::work(sizes);
  Floats scratch = scratch_of(work);
  measure(state, positions, {.bytes = 4.0 * static_cast<double>(input.size())}, [&] {
    Kernel::run({input.data(), reinterpret_cast<int64_t*>(positions.data()), sizes}, 0, work.tasks, scratch.data());
  });
}

// Boxes in the order in which they stand; at most `most` are chosen.
template <int64_t boxes, int64_t most_boxes>
void suppression(benchmark::State& state) {
  constexpr SuppressionSizes sizes{1, 1, boxes};
  Floats corners = Floats::random(4 * boxes);
  for (int64_t box = 0; box < boxes; ++box)
    for (int64_t axis : {0, 1}) corners.data()[4 * box + 2 + axis] = corners.data()[4 * box + axis] + 0.1f;
  std::vector<int64_t> order;
  for (int64_t box = 0; box < boxes; ++box) order.push_back(box);
  Floats chosen = Floats::not_a_number(divide_up(boxes, int64_t{sizeof(float)}));  // bytes
  const KernelWork work = NonMaxSuppression::work(sizes);
  Floats scratch = scratch_of(work);
  const int64_t most = most_boxes;
  const float threshold = 0.5f;
  measure(state, chosen, {.bytes = 4.0 * static_cast<double>(corners.size())}, [&] {
    NonMaxSuppression::run(
        {corners.data(), order.data(), nullptr, &most, &threshold, reinterpret_cast<uint8_t*>(chosen.data()), sizes}, 0,
        work.tasks, scratch.data());
  });
}

[[maybe_unused]] const bool rows_added =
    (add("argsort/RPN first 1000 of 200000", argsort<1, 200000, 1000>),
     add("argsort/RetinaNet first 10 of 1000, 64 lines", argsort<64, 1000, 10>),
     add("argsort/all of 100000", argsort<1, 100000, 100000>),
     add("non-max suppression/RPN 1000 boxes of 4000", suppression<4000, 1000>), true);

}  // namespace
}  // namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA

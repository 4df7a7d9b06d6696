// The parts of argsort.h that no model changes, compiled with the runtime.
#include <algorithm>

#include "kernels/cpu/selection/argsort.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {
namespace detail {
namespace {

constexpr int digits = 8, values = 256;  // a key's bytes

bool precedes(const SortRecord& a, const SortRecord& b) {
  return a.key != b.key ? a.key < b.key : a.position < b.position;
}

int64_t digit_of(const SortRecord& record, int digit) { return static_cast<int64_t>(record.key >> (8 * digit) & 0xff); }

}  // namespace

void select_first(SortRecord* records, int64_t size, int64_t count) {
  std::nth_element(records, records + count - 1, records + size, precedes);
}

void sort_records(SortRecord* records, int64_t size) { std::sort(records, records + size, precedes); }

SortRecord* radix_sort_records(SortRecord* records, int64_t size, SortRecord* workspace) {
  int64_t counts[digits][values] = {};
  for (int64_t i = 0; i < size; ++i)
    for (int digit = 0; digit < digits; ++digit) ++counts[digit][digit_of(records[i], digit)];
  for (int digit = 0; digit < digits; ++digit) {
    int64_t(&places)[values] = counts[digit];
    if (places[digit_of(records[0], digit)] == size) continue;
    int64_t before = 0;
    for (int64_t& place : places) {
      const int64_t count = place;
      place = before;
      before += count;
    }
    for (int64_t i = 0; i < size; ++i) workspace[places[digit_of(records[i], digit)]++] = records[i];
    std::swap(records, workspace);
  }
  return records;
}

}  // namespace detail
}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA

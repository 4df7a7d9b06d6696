// The positions of a line's elements in their order, or only of the first of that order: argsort, and top k.
//
// Problem: y[o, r, i] is where in x[o, :, i] the element stands that comes r-th. Equal elements keep their order; NaN
// counts as the largest; -0 equals 0.
//
// Method: an element becomes an unsigned key with the same order. A line keeps the records of the elements that may be
// among the first `count`: when twice as many and some have come, it keeps the first of these (quickselect), and later
// elements must come before the last of them. So a line takes time linear in its length, whatever the order of its
// elements, and the sort of `count` records. If all are wanted, a radix sort by the bytes of the key that are not the
// same in all.
//
// Bound by: one comparison an element; with large counts by quickselect, with all by the passes of the radix sort.
// Limits: a line is one thread's.
#pragma once

#include "kernels/cpu/selection/argsort_geometry.h"

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Compiled with the runtime: argsort_instances.cpp.
namespace detail {

// Moves the `count` records that come first to the front, the last of them to place count - 1.
void select_first(SortRecord* records, int64_t size, int64_t count);
void sort_records(SortRecord* records, int64_t size);
// Records that stand in the order of their positions; returns the place of the result, in `records` or in `workspace`.
SortRecord* radix_sort_records(SortRecord* records, int64_t size, SortRecord* workspace);

}  // namespace detail

// Unsigned numbers in the order of the values.
template <class T>
[[gnu::always_inline]] inline uint64_t sort_key(T value) {
  if constexpr (__is_integral(T)) {
    if constexpr (__is_signed(T)) return static_cast<uint64_t>(int64_t{value}) ^ uint64_t { 1 } << 63;
    return static_cast<uint64_t>(value);
  } else if constexpr (sizeof(T) == sizeof(double)) {
    const auto bits = __builtin_bit_cast(uint64_t, value + T(0));  // -0 becomes 0
    if (value != value) return ~uint64_t{0};
    return bits >> 63 != 0 ? ~bits : bits | uint64_t{1} << 63;
  } else {
    const float number = static_cast<float>(value);
    const auto bits = __builtin_bit_cast(uint32_t, number + 0.0f);
    if (number != number) return ~uint32_t{0};
    return bits >> 31 != 0 ? ~bits : bits | uint32_t{1} << 31;
  }
}

template <class Input>
struct ArgsortArguments {
  const Input* input;
  int64_t* output;
  ArgsortSizes sizes;
};

template <class Input, bool descending>
class Argsort {
 public:
  using Arguments = ArgsortArguments<Input>;

  static KernelWork work(const ArgsortSizes& sizes) { return argsort_geometry(sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks.
  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* scratch) {
    const ArgsortSizes& sizes = arguments.sizes;
    const ArgsortGeometry geometry = argsort_geometry(sizes);
    const int64_t groups = divide_up(sizes.inner, geometry.task_lines);
    for (int64_t task = task_begin; task < task_end; ++task) {
      const int64_t outer = task / groups, first = task % groups * geometry.task_lines;
      sort_lines(arguments, geometry, outer, first, smaller(geometry.task_lines, sizes.inner - first), scratch);
    }
  }

 private:
  // The records of a line that may be among the first.
  struct Line {
    SortRecord* records;
    int64_t size = 0;
    bool is_bounded = false;  // whether an element must come before `bound`
    uint64_t bound = 0;

    void keep_first(int64_t count) {
      detail::select_first(records, size, count);
      size = count;
      is_bounded = true;
      bound = records[count - 1].key;
    }
  };

  static void sort_lines(const Arguments& arguments, const ArgsortGeometry& geometry, int64_t outer, int64_t first,
                         int64_t count, void* scratch) {
    const ArgsortSizes& sizes = arguments.sizes;
    auto* const keys = static_cast<uint64_t*>(scratch);
    auto* const records = reinterpret_cast<SortRecord*>(static_cast<char*>(scratch) + geometry.keys_bytes());
    Line lines[ArgsortGeometry::most_lines];
    for (int64_t i = 0; i < count; ++i) lines[i].records = records + i * geometry.line_records;
    for (int64_t begin = 0; begin < sizes.extent; begin += ArgsortGeometry::chunk) {
      const int64_t end = smaller(begin + ArgsortGeometry::chunk, sizes.extent);
      const Input* const input = arguments.input + (outer * sizes.extent + begin) * sizes.inner + first;
      make_keys(input, end - begin, sizes.inner, count, keys);
      for (int64_t i = 0; i < count; ++i) add(keys + i, count, begin, end, sizes.count, geometry, lines[i]);
    }
    for (int64_t i = 0; i < count; ++i)
      store(lines[i], geometry, sizes, arguments.output + outer * sizes.count * sizes.inner + first + i);
  }

  // keys[element, line]
  static void make_keys(const Input* input, int64_t elements, int64_t inner, int64_t lines, uint64_t* keys) {
    const bool is_dense = inner == lines;
    const int64_t rows = is_dense ? 1 : elements, columns = is_dense ? elements * lines : lines;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < columns; ++i) {
        const uint64_t key = sort_key(input[row * inner + i]);
        keys[row * lines + i] = descending ? ~key : key;
      }
  }

  // The elements of a line from `begin` on, whose keys are `stride` apart.
  static void add(const uint64_t* keys, int64_t stride, int64_t begin, int64_t end, int64_t count,
                  const ArgsortGeometry& geometry, Line& line) {
    for (int64_t position = begin; position < end; ++position, keys += stride) {
      // An element with the key of the bound comes after it in the order, as it does in the line.
      if (line.is_bounded && *keys >= line.bound) continue;
      if (line.size == geometry.line_records) {
        line.keep_first(count);
        if (*keys >= line.bound) continue;
      }
      line.records[line.size++] = {*keys, position};
    }
  }

  static void store(Line& line, const ArgsortGeometry& geometry, const ArgsortSizes& sizes, int64_t* output) {
    const SortRecord* sorted = line.records;
    if (geometry.sorts_all) {
      sorted = detail::radix_sort_records(line.records, line.size, line.records + sizes.extent);
    } else {
      if (line.size > sizes.count) line.keep_first(sizes.count);
      detail::sort_records(line.records, line.size);
    }
    for (int64_t rank = 0; rank < sizes.count; ++rank) output[rank * sizes.inner] = sorted[rank].position;
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA

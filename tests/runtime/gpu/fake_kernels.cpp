#include "runtime/gpu/fake_kernels.h"

#include <map>

namespace onnxc {
namespace {

void multiply(const FakeArguments& row) {
  for (int64_t i = 0; i < row.points; ++i) row.result[i] = row.left[i] * row.right[i % 4];
}

void add(const FakeArguments& row) {
  for (int64_t i = 0; i < row.points; ++i) row.result[i] = row.left[i] + row.right[i % 4];
}

void twice(const FakeArguments& row) {
  for (int64_t i = 0; i < row.points; ++i) row.result[i] = 2 * row.left[i];
}

void negate(const FakeArguments& row) {
  for (int64_t i = 0; i < row.points; ++i) row.result[i] = -row.left[i];
}

void take(const FakeArguments& row) {
  for (int64_t i = 0; i < row.points; ++i) row.result[i] = i < row.limit ? row.left[i] : 0;
}

void ones(const FakeArguments& row) {
  for (int64_t i = 0; i < row.points; ++i) row.result[i] = 1;
}

void add_sum(const FakeArguments& row) {
  float sum = 0;
  for (int64_t i = 0; i < row.limit; ++i) sum += row.left[i];
  for (int64_t i = 0; i < row.points; ++i) row.result[i] += sum;
}

void count(const FakeArguments& row) {
  for (int64_t i = 0; i < row.points; ++i) row.result[i] = static_cast<float>(i);
}

// For windows of `limit` voxels: each of left, and right minus it.
void difference_of_windows(const FakeArguments& row) {
  for (int64_t i = 0; i < row.points; ++i) {
    float* result = row.result + (i / row.limit * 2) * row.limit + i % row.limit;
    result[0] = row.left[i];
    result[row.limit] = row.right[0] - row.left[i];
  }
}

template <void (*function)(const FakeArguments&)>
constexpr FakeKernel kernel = {[](const void* arguments) { function(*static_cast<const FakeArguments*>(arguments)); },
                               sizeof(FakeArguments),
                               [](const void* arguments, int64_t threads) {
                                 return static_cast<const FakeArguments*>(arguments)->point_stride == threads;
                               }};

const std::map<std::string, const FakeKernel*> kernels = {{"multiply", &kernel<multiply>},
                                                          {"add", &kernel<add>},
                                                          {"twice", &kernel<twice>},
                                                          {"negate", &kernel<negate>},
                                                          {"take", &kernel<take>},
                                                          {"ones", &kernel<ones>},
                                                          {"add_sum", &kernel<add_sum>},
                                                          {"count", &kernel<count>},
                                                          {"difference_of_windows", &kernel<difference_of_windows>}};

}  // namespace

const FakeKernel* find_fake_kernel(const std::string& name) {
  const auto found = kernels.find(name);
  return found != kernels.end() ? found->second : find_fake_volume_kernel(name);
}

}  // namespace onnxc

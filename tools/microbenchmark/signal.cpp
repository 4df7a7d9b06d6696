// Fourier transforms.
#include "kernels/cpu/signal/fourier.h"
#include "measurement.h"

namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA {
namespace {

using namespace kernels;

// Transforms of so many real lines, each of `length`.
template <int64_t lines, int64_t length>
void fourier_lines(benchmark::State& state) {
  constexpr FourierSizes sizes{lines, length, 1, 1, length, length};
  const Floats input = Floats::random(lines * length);
  Floats output = Floats::not_a_number(2 * lines * length);
  const KernelWork work = Fourier<float>::work(sizes);
  Floats scratch{work.scratch_bytes / static_cast<int64_t>(sizeof(float)) + 1, 0.0f};
  measure(state, output, {.bytes = 12.0 * static_cast<double>(input.size())}, [&] {
    Fourier<float>::run({input.data(), output.data(), sizes, false, false}, 0, work.tasks, scratch.data());
  });
}

[[maybe_unused]] const bool rows_added =
    (add("fourier/64 lines of 512", fourier_lines<64, 512>), add("fourier/64 lines of 4096", fourier_lines<64, 4096>),
     add("fourier/a line of 44100", fourier_lines<1, 44100>),
     add("fourier/64 lines of 127, by a convolution", fourier_lines<64, 127>), true);

}  // namespace
}  // namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA

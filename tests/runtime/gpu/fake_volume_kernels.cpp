// The kernels of volumes, written as loops over windows and places.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "kernels/hip/volume/volume_geometry.h"
#include "runtime/gpu/fake_kernels.h"

namespace onnxc {
namespace {

using namespace onnxc::kernels;

struct Extents {
  int64_t at[window_axes];
  template <class Work>
  void for_places(const Work& work) const {
    for (int32_t i = 0; i < at[0]; ++i)
      for (int32_t j = 0; j < at[1]; ++j)
        for (int32_t k = 0; k < at[2]; ++k) work(i, j, k);
  }
};

int64_t place_in(const SliceRing& ring, int64_t channel, int64_t i, int64_t j, int64_t k) {
  const int64_t at[] = {i, j, k};
  int64_t offset = channel * ring.channel_stride;
  for (int a = 0; a < window_axes; ++a)
    offset += (a == ring.slab_axis ? at[a] % static_cast<int64_t>(ring.places.divisor) : at[a]) * ring.strides[a];
  return offset;
}

int32_t mirrored(uint32_t axes, int axis, int32_t place, int64_t extent) {
  return (axes >> axis & 1) != 0 ? static_cast<int32_t>(extent) - 1 - place : place;
}

void cut(const CutArguments& row) {
  const PointBox& box = row.window;
  const Extents window{{box.extents[0].divisor, box.extents[1].divisor, box.extents[2].divisor}};
  auto* to = static_cast<float*>(row.windows);
  for (int32_t w = 0; w < row.launched.count; ++w)
    for (uint32_t c = 0; c < row.channels.divisor; ++c)
      window.for_places([&](int32_t i, int32_t j, int32_t k) {
        const int32_t(&start)[window_axes] = row.launched.starts[w];
        const uint32_t axes = row.launched.mirrored;
        *to++ = row.slices[place_in(row.ring, c, start[0] + mirrored(axes, 0, i, window.at[0]),
                                    start[1] + mirrored(axes, 1, j, window.at[1]),
                                    start[2] + mirrored(axes, 2, k, window.at[2]))];
      });
}

void add(const AddArguments& row) {
  const Extents window{{row.extents[0], row.extents[1], row.extents[2]}};
  const auto* values = static_cast<const float*>(row.values);
  for (int32_t w = 0; w < row.launched.count; ++w)
    for (int32_t c = 0; c < row.channels + row.adds_weights; ++c)
      window.for_places([&](int32_t i, int32_t j, int32_t k) {
        const int32_t(&start)[window_axes] = row.launched.starts[w];
        const uint32_t axes = row.launched.mirrored;
        const float product = row.importance[0][i] * row.importance[1][j] * row.importance[2][k];
        const float weight = std::max(product, row.least_importance);
        const int64_t channel = (int64_t{w} * row.channels + c) * window.at[0];
        const int64_t plane = (channel + mirrored(axes, 0, i, window.at[0])) * window.at[1];
        const int64_t line = (plane + mirrored(axes, 1, j, window.at[1])) * window.at[2];
        float& sum = row.sums[place_in(row.ring, c, start[0] + i, start[1] + j, start[2] + k)];
        sum += c == row.channels ? weight : weight * values[line + mirrored(axes, 2, k, window.at[2])];
      });
}

// Values and labels, which is all that the models written by hand are asked for.
void finish(const FinishArguments& row) {
  const PointBox& box = row.box;
  const Extents extents{{box.extents[0].divisor, box.extents[1].divisor, box.extents[2].divisor}};
  if (row.what != Finish::values && row.what != Finish::labels) std::abort();
  extents.for_places([&](int32_t i, int32_t j, int32_t k) {
    const auto sum = [&](int32_t channel) -> float& {
      return row.sums[place_in(row.ring, channel, box.first[0] + i, box.first[1] + j, box.first[2] + k)];
    };
    const auto value = [&](int32_t channel) { return sum(channel) / (sum(row.channels) * row.times); };
    const int64_t offset = i * row.result_strides[0] + j * row.result_strides[1] + k * row.result_strides[2];
    int32_t best = 0;
    for (int32_t c = 0; c < row.channels; ++c) {
      if (value(c) > value(best)) best = c;
      if (row.what == Finish::values)
        static_cast<float*>(row.results)[offset + c * row.result_channel_stride] = value(c);
    }
    // The machine has the lowest byte first.
    if (row.what == Finish::labels)
      std::memcpy(static_cast<char*>(row.results) + offset * row.label_bytes, &best,
                  static_cast<size_t>(row.label_bytes));
    for (int32_t c = 0; c <= row.channels; ++c) sum(c) = 0;
  });
}

template <class Arguments, void (*function)(const Arguments&)>
constexpr FakeKernel kernel = {[](const void* arguments) { function(*static_cast<const Arguments*>(arguments)); },
                               sizeof(Arguments),
                               [](const void* arguments, int64_t threads) {
                                 const int64_t points = static_cast<const Arguments*>(arguments)->points;
                                 return threads >= points && threads < points + nest_threads;
                               }};

const std::map<std::string, const FakeKernel*> kernels_of_volumes = {
    {"volume_cut_float32", &kernel<CutArguments, cut>},
    {"volume_add_float32", &kernel<AddArguments, add>},
    {"volume_finish", &kernel<FinishArguments, finish>}};

}  // namespace

const FakeKernel* find_fake_volume_kernel(const std::string& name) {
  const auto found = kernels_of_volumes.find(name);
  return found != kernels_of_volumes.end() ? found->second : nullptr;
}

}  // namespace onnxc

// Runs over a volume of a hand-written model whose result is known: windows with no importance of their own blend to
// the model's values exactly. On the CPU, and in front of a double of libamdhip64.so.
#include <gmock/gmock.h>

#include <functional>

#include "runtime/gpu/fake_hip_library.h"
#include "runtime/loaded_model.h"
#include "runtime/volume/scan_volume.h"

namespace onnxc {
namespace {

using ::testing::HasSubstr;

constexpr int64_t depth = 11, height = 9, width = 14, voxels = depth * height * width;

class Volume : public ::testing::TestWithParam<bool>, public ScanVolume {
 public:
  Volume() : ScanVolume({depth, height, width}, {4, 5, 8}) {}
  ~Volume() override { model->destroy(instance); }

  static bool is_on_gpu() { return GetParam(); }
  onnxc_instance* create(const LoadedModel& of) {
    if (!is_on_gpu()) return of.create(3);
    hip.reset(-1);
    onnxc_instance* made = nullptr;
    std::string why;
    EXPECT_EQ(create_on_device(of, made, why), ONNXC_OK) << why;
    return made;
  }
  onnxc_status run() { return model->run_volume(instance, &volume, &result); }
  std::string error() { return model->last_error(instance); }
  std::string refusal(onnxc_status status) {
    EXPECT_EQ(run(), status) << error();
    return error();
  }

  FakeHip hip;
  LoadedModel model{"fake_volume_model.so"};
  onnxc_instance* instance = create(model);
};

INSTANTIATE_TEST_SUITE_P(On, Volume, ::testing::Values(false, true),
                         [](const auto& which) { return which.param ? "Gpu" : "Cpu"; });

TEST_P(Volume, BlendsWindowsOfEachSlabAxis) {
  for (int axis = -1; axis < 3; ++axis)
    for (int64_t batch : {0, 1, 3, 1000}) {
      volume.slab_axis = axis;
      volume.batch = batch;
      clear();
      ASSERT_EQ(run(), ONNXC_OK) << error();
      expect_values();
      EXPECT_EQ(result.windows, 5 * 3 * 3);
      EXPECT_EQ(result.runs, result.windows);
      EXPECT_GE(result.seconds, result.network_seconds);
      if (axis >= 0) {
        EXPECT_EQ(result.slab_axis, axis);
      }
    }
}

// The memory of a window, and sums of two classes and the weights in lines; 64 of them get their memory at once.
int64_t bytes_of(const std::array<int64_t, 3>& window, int64_t lines, int64_t line_floats) {
  return 3 * window[0] * window[1] * window[2] * 4 + (lines + 63) / 64 * 64 * 3 * line_floats * 4;
}

// Rows of windows that are whole leave before their slab is: of 8 slices of 64 rows, 4 are over all rows, and 4 over
// those of one row of windows.
TEST(VolumeMemory, SumsAreThoseOfOneRowOfWindowsAndOfTheOverlap) {
  LoadedModel model("fake_volume_model.so");
  onnxc_instance* instance = model.create(2);
  for (const auto& [axis, size] : {std::pair{0, std::array<int64_t, 3>{24, 64, 8}}, {1, {64, 24, 8}}}) {
    ScanVolume scan(size, {8, 8, 8});
    scan.volume.slab_axis = axis;
    scan.volume.batch = 1;
    ASSERT_EQ(model->run_volume(instance, &scan.volume, &scan.result), ONNXC_OK) << model->last_error(instance);
    scan.expect_values();
    EXPECT_EQ(scan.result.working_bytes, bytes_of(scan.window, 4 * 64 + 4 * 8, 8)) << axis;
  }
  // Along the last axis lines have 16 slices, here on 24 rows each.
  ScanVolume scan({64, 24, 112}, {8, 8, 32});
  scan.volume.slab_axis = 2;
  scan.volume.batch = 1;
  ASSERT_EQ(model->run_volume(instance, &scan.volume, &scan.result), ONNXC_OK) << model->last_error(instance);
  scan.expect_values();
  EXPECT_EQ(scan.result.working_bytes, bytes_of(scan.window, 64 + 8, 24 * 16));
  model->destroy(instance);
}

TEST_P(Volume, PaddedAxesAreCutOff) {
  for (int axis = 0; axis < 3; ++axis) {
    window[0] = 4, window[1] = 5, window[2] = 8;
    window[axis] = 16;
    for (int slab_axis = 0; slab_axis < 3; ++slab_axis) {
      volume.slab_axis = slab_axis;
      clear();
      ASSERT_EQ(run(), ONNXC_OK) << error();
      expect_values();
    }
  }
}

// Slices in and out one by one are the same as whole arrays, for each axis.
TEST_P(Volume, ReadsAndWritesSlices) {
  const int64_t strides[] = {height * width, width, 1};
  for (int64_t padded : {0, 1})
    for (int axis = 0; axis < 3; ++axis) {
      window[axis] = padded != 0 ? 16 : 4;
      const int64_t extents[] = {depth, height, width};
      int64_t order[2], next = 0;
      for (int a = 0; a < 3; ++a)
        if (a != axis) order[next++] = a;
      std::vector<int64_t> read_slices, written_slices;
      // The offset in the whole volume of element i of a slice.
      const std::function<int64_t(int64_t, int64_t)> offset = [&](int64_t slice, int64_t i) {
        return slice * strides[axis] + i / extents[order[1]] * strides[order[0]] +
               i % extents[order[1]] * strides[order[1]];
      };
      const int64_t slice_voxels = voxels / extents[axis];
      struct Context {
        Volume* self;
        const std::function<int64_t(int64_t, int64_t)>& offset;
        std::vector<int64_t>&read, &written;
        int64_t slice_voxels;
      } context{this, offset, read_slices, written_slices, slice_voxels};
      inputs[0].data = nullptr;
      inputs[0].read_context = output.write_context = &context;
      inputs[0].read = [](void* given, int64_t slice, void* data) {
        Context& c = *static_cast<Context*>(given);
        c.read.push_back(slice);
        for (int64_t i = 0; i < c.slice_voxels; ++i)
          static_cast<int16_t*>(data)[i] = c.self->scan[static_cast<size_t>(c.offset(slice, i))];
        return 0;
      };
      output.data = nullptr;
      output.write = [](void* given, int64_t slice, const void* data) {
        Context& c = *static_cast<Context*>(given);
        c.written.push_back(slice);
        for (int64_t channel = 0; channel < 2; ++channel)
          for (int64_t i = 0; i < c.slice_voxels; ++i)
            c.self->values[static_cast<size_t>(channel * voxels + c.offset(slice, i))] =
                static_cast<const float*>(data)[channel * c.slice_voxels + i];
        return 0;
      };
      volume.slab_axis = axis;
      clear();
      ASSERT_EQ(run(), ONNXC_OK) << error();
      expect_values();
      std::vector<int64_t> all;
      for (int64_t slice = 0; slice < extents[axis]; ++slice) all.push_back(slice);
      EXPECT_EQ(read_slices, all);
      EXPECT_EQ(written_slices, all);
      window[axis] = axis == 2 ? 8 : 4;
    }
}

TEST_P(Volume, HandsOverLabelsInSlices) {
  output.what = ONNXC_VOLUME_LABELS;
  output.dtype = ONNXC_UINT8;
  output.data = nullptr;
  const int64_t extents[] = {depth, height, width}, strides[] = {height * width, width, 1};
  for (int axis = 0; axis < 3; ++axis)
    for (double part : {0.0, 0.5, 0.9})
      for (int64_t batch : {1, 4, -16}) {  // and a window that is larger than the volume
        std::fill(overlap, overlap + 3, part);
        window = {4, 5, 8};
        if (batch < 0) window[static_cast<size_t>(axis)] = -batch;
        volume.slab_axis = axis;
        volume.batch = std::max<int64_t>(batch, 1);
        struct Context {
          std::vector<uint8_t> labels;
          int64_t slice_voxels;
        } context{{}, voxels / extents[axis]};
        output.write_context = &context;
        output.write = [](void* given, int64_t slice, const void* data) {
          Context& c = *static_cast<Context*>(given);
          EXPECT_EQ(slice * c.slice_voxels, static_cast<int64_t>(c.labels.size()));
          const uint8_t* labels = static_cast<const uint8_t*>(data);
          c.labels.insert(c.labels.end(), labels, labels + c.slice_voxels);
          return 0;
        };
        ASSERT_EQ(run(), ONNXC_OK) << error();
        ASSERT_EQ(context.labels.size(), scan.size());
        const int others[] = {axis == 0 ? 1 : 0, axis == 2 ? 1 : 2};
        size_t next = 0;
        for (int64_t i = 0; i < extents[axis]; ++i)
          for (int64_t j = 0; j < extents[others[0]]; ++j)
            for (int64_t l = 0; l < extents[others[1]]; ++l) {
              const int16_t x =
                  scan[static_cast<size_t>(i * strides[axis] + j * strides[others[0]] + l * strides[others[1]])];
              ASSERT_EQ(context.labels[next++], k - x > x ? 1 : 0) << axis << " " << part << " " << i;
            }
      }
}

// Results of more bytes than come from a GPU at once: many slices, and slices that are too large by themselves.
TEST_P(Volume, LargeResultsComeInPieces) {
  for (const auto& [size, windows] :
       {std::pair{std::array<int64_t, 3>{20, 260, 400}, std::array<int64_t, 3>{12, 260, 400}},
        {{4, 900, 1000}, {2, 900, 1000}},
        {{900, 5, 1000}, {900, 2, 1000}}}) {
    ScanVolume large(size, windows);
    for (int32_t slab_axis : {0, 1, 2}) {
      large.volume.slab_axis = slab_axis;
      large.clear();
      ASSERT_EQ(model->run_volume(instance, &large.volume, &large.result), ONNXC_OK) << error();
      large.expect_values();
    }
    // The same handed over slice by slice.
    large.output.data = nullptr;
    large.volume.slab_axis = 0;
    large.output.write_context = &large;
    large.output.write = [](void* given, int64_t slice, const void* data) {
      ScanVolume& to = *static_cast<ScanVolume*>(given);
      const auto of_slice = static_cast<size_t>(to.dims[1] * to.dims[2]);
      for (size_t channel = 0; channel < 2; ++channel)
        std::copy_n(static_cast<const float*>(data) + channel * of_slice, of_slice,
                    to.values.data() + channel * to.scan.size() + static_cast<size_t>(slice) * of_slice);
      return 0;
    };
    large.clear();
    ASSERT_EQ(model->run_volume(instance, &large.volume, &large.result), ONNXC_OK) << error();
    large.expect_values();
  }
}

TEST_P(Volume, SlicesThatFailEndTheRun) {
  inputs[0].data = nullptr;
  inputs[0].read = [](void*, int64_t slice, void*) { return slice == 6 ? 1 : 0; };
  EXPECT_THAT(refusal(ONNXC_INVALID_DATA), HasSubstr("slice 6 of input 'x' was not read"));
  inputs[0].read = [](void*, int64_t, void*) { return 0; };
  output.data = nullptr;
  output.write = [](void*, int64_t slice, const void*) { return slice == 3 ? 1 : 0; };
  EXPECT_THAT(refusal(ONNXC_STOPPED), HasSubstr("slice 3 of output 'y' was not taken"));
  volume.slab_axis = -1;
  EXPECT_THAT(refusal(ONNXC_INVALID_ARGUMENT), HasSubstr("state the slab axis"));
}

TEST_P(Volume, Labels) {
  std::vector<int32_t> labels(voxels, -1);
  output.what = ONNXC_VOLUME_LABELS;
  for (const auto& [dtype, bytes] :
       {std::pair{ONNXC_UINT8, 1}, {ONNXC_UINT16, 2}, {ONNXC_INT16, 2}, {ONNXC_INT32, 4}}) {
    std::vector<unsigned char> memory(static_cast<size_t>(voxels * bytes), 0xff);
    output.dtype = dtype;
    output.data = memory.data();
    output.bytes = voxels * bytes;
    ASSERT_EQ(run(), ONNXC_OK) << error();
    for (size_t i = 0; i < voxels; ++i) {
      ASSERT_EQ(memory[i * static_cast<size_t>(bytes)], k - scan[i] > scan[i] ? 1 : 0);
      for (size_t byte = 1; byte < static_cast<size_t>(bytes); ++byte)
        ASSERT_EQ(memory[i * static_cast<size_t>(bytes) + byte], 0);
    }
  }
  int64_t written[4];
  int64_t* places[] = {written};
  ASSERT_EQ(model->volume_output_dims(instance, &volume, places), ONNXC_OK) << error();
  EXPECT_THAT(written, ::testing::ElementsAre(1, depth, height, width));
}

TEST_P(Volume, ScalesAndClips) {
  onnxc_volume_scaling scaling = {0.5, 3, -4, 12, 1, 4};
  inputs[0].scaling = &scaling;
  ASSERT_EQ(run(), ONNXC_OK) << error();
  for (size_t i = 0; i < voxels; ++i)
    ASSERT_EQ(values[i], (std::min(std::max(scan[i] * 0.5f + 3, -4.0f), 12.0f) - 1) / 4) << i;
}

TEST_P(Volume, MirroredWindowsAndMembersAreAveraged) {
  volume.mirrored_axes = 0b111;
  ASSERT_EQ(run(), ONNXC_OK) << error();
  expect_values();
  EXPECT_EQ(result.runs, 8 * result.windows);

  LoadedModel other("fake_volume_model.so");
  onnxc_instance* further = create(other);
  const onnxc_volume_member member = {other.operator->(), further};
  volume.mirrored_axes = 0b010;
  volume.members = &member;
  volume.member_count = 1;
  EXPECT_EQ(run(), ONNXC_OK) << error();
  expect_values();
  EXPECT_EQ(result.runs, 4 * result.windows);
  other->destroy(further);
  const onnxc_volume_member itself = {model.operator->(), instance};
  volume.members = &itself;
  EXPECT_THAT(refusal(ONNXC_BUSY), HasSubstr("member 0: the instance is in another call"));
}

TEST_P(Volume, TellsProgressAndStops) {
  struct Context {
    LoadedModel& model;
    onnxc_instance* instance;
    std::vector<std::pair<int64_t, int64_t>> told;
    int64_t stop_at;
  } context{model, instance, {}, -1};
  volume.batch = 4;
  volume.progress_context = &context;
  volume.progress = [](void* given, int64_t done, int64_t windows) {
    Context& c = *static_cast<Context*>(given);
    c.told.emplace_back(done, windows);
    EXPECT_EQ(c.model->run(c.instance, nullptr, 0, nullptr, 0, nullptr), ONNXC_BUSY);
    return done == c.stop_at ? 1 : 0;
  };
  ASSERT_EQ(run(), ONNXC_OK) << error();
  ASSERT_EQ(context.told.size(), 15u);  // 9 windows a slab: 4, 4 and 1
  EXPECT_EQ(context.told.back(), (std::pair<int64_t, int64_t>(45, 45)));
  context.stop_at = 8;
  EXPECT_THAT(refusal(ONNXC_STOPPED), HasSubstr("stopped by the progress function"));
  EXPECT_EQ(result.runs, 8);
}

TEST_P(Volume, CountsNaN) {
  std::vector<float> scan_of_floats(voxels, 1);
  for (size_t i : {size_t{0}, size_t{100}, size_t{777}, size_t{voxels - 1}}) scan_of_floats[i] = __builtin_nanf("");
  inputs[0].dtype = ONNXC_FLOAT32;
  inputs[0].data = scan_of_floats.data();
  inputs[0].bytes = voxels * 4;
  for (int64_t size : {4, 16}) {
    window[0] = size;
    volume.padding = ONNXC_PAD_REPLICATE;
    ASSERT_EQ(run(), ONNXC_OK) << error();
    EXPECT_EQ(result.nan_voxels, 4);
  }
}

TEST_P(Volume, NamesWindowsThatFit) {
  window[2] = 10;
  EXPECT_THAT(
      refusal(ONNXC_WRONG_DIMS),
      HasSubstr("dim 4 must be 4*n; the inputs are 'x' 1x1x4x5x10, 'k' 1; the window is 4x5x10, and the nearest "
                "that fit are 4x4x8 and 4x8x12"));
  inputs[0].channels = 2;
  inputs[0].bytes *= 2;
  EXPECT_THAT(refusal(ONNXC_WRONG_DIMS), HasSubstr("dim 1 must be 1"));
}

TEST_P(Volume, RefusesWhatItCannotDo) {
  const onnxc_volume right = volume;
  const auto refuses = [&](onnxc_status status, const char* text) {
    EXPECT_THAT(refusal(status), HasSubstr(text));
    volume = right;
  };
  EXPECT_EQ(model->run_volume(nullptr, &volume, nullptr), ONNXC_INVALID_ARGUMENT);
  EXPECT_EQ(model->run_volume(instance, nullptr, nullptr), ONNXC_INVALID_ARGUMENT);
  volume.struct_size = 0;
  refuses(ONNXC_INVALID_ARGUMENT, "onnxc_volume.struct_size is 0");
  volume.rank = 4;
  refuses(ONNXC_INVALID_ARGUMENT, "onnxc_volume.rank is 4");
  volume.rank = 2;
  refuses(ONNXC_WRONG_RANK, "has dtype 1 and rank 5, and windows of a volume with 2 axes");
  volume.window = nullptr;
  refuses(ONNXC_INVALID_ARGUMENT, "the dims or the window of the volume are null");
  volume.mirrored_axes = 8;
  refuses(ONNXC_INVALID_ARGUMENT, "onnxc_volume.mirrored_axes is 0x8");
  volume.slab_axis = 3;
  refuses(ONNXC_INVALID_ARGUMENT, "onnxc_volume.slab_axis is 3");
  volume.batch = -1;
  refuses(ONNXC_INVALID_ARGUMENT, "-1 windows in a run");
  inputs[0].bytes = voxels * 2 - 1;
  refuses(ONNXC_SHORT_BUFFER,
          "a buffer of 2771 bytes, and the elements of 1x11x9x14 need 2772 (input 'x' of the volume)");
  const int64_t negative[] = {0, 0, -1, 1};
  inputs[0].strides = negative;
  refuses(ONNXC_INVALID_ARGUMENT, "stride 2 is -1, and strides are not negative");
  inputs[0].strides = nullptr;
  inputs[0].bytes = voxels * 2;
  inputs[0].dtype = ONNXC_INT64;
  refuses(ONNXC_WRONG_DTYPE, "elements of dtype 7 are not converted");
  inputs[0].dtype = ONNXC_INT16;
  output.bytes = 8;
  refuses(ONNXC_SHORT_BUFFER, "(output 'y' of the volume)");
  output.bytes = voxels * 8;
  output.dtype = ONNXC_UINT8;
  refuses(ONNXC_WRONG_DTYPE, "dtype 2 cannot hold values");
  output.what = ONNXC_VOLUME_NOTHING;
  refuses(ONNXC_INVALID_ARGUMENT, "nothing would be written of any output");
  output.what = ONNXC_VOLUME_VALUES;
  output.dtype = ONNXC_FLOAT32;
  inputs[0].fixed = &k_value;
  refuses(ONNXC_INVALID_ARGUMENT, "every input of the volume is fixed");
  inputs[0].fixed = nullptr;
  k = -1;
  if (!is_on_gpu()) refuses(ONNXC_INVALID_DATA, "input 'k' is negative");
  k = 30;
  ASSERT_EQ(run(), ONNXC_OK) << error();
  expect_values();
}

}  // namespace
}  // namespace onnxc

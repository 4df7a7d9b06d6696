// Places of windows and importances, against values that MONAI 1.6.1 and nnU-Net 2.8.1 gave for the same arguments.
#include "volume/geometry.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace onnxc::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

struct Line {
  onnxc_volume volume() {
    onnxc_volume result = {};
    result.rank = 1;
    result.dims = &size;
    result.window = &window;
    result.overlap = &overlap;
    result.step = &step;
    result.places = places;
    result.importance = importance;
    result.padding = padding;
    return result;
  }
  const VolumeGeometry& make() {
    EXPECT_EQ(make_geometry(volume(), geometry, error), ONNXC_OK) << error.text();
    return geometry;
  }
  std::vector<int64_t> starts() {
    Array<int64_t>& found = const_cast<VolumeGeometry&>(make()).axes[2].starts;
    return {found.begin(), found.end()};
  }

  int64_t size, window;
  double overlap = 0.25, step = 0.5;
  int32_t places = ONNXC_PLACES_SCAN, importance = ONNXC_IMPORTANCE_CONSTANT, padding = ONNXC_PAD_CONSTANT;
  VolumeGeometry geometry = {};
  ErrorText error = {};
};

TEST(VolumeGeometry, ScanMovesTheLastWindowBack) {
  EXPECT_THAT((Line{10, 4, 0}.starts()), ElementsAre(0, 4, 6));
  EXPECT_THAT((Line{12, 4, 0}.starts()), ElementsAre(0, 4, 8));
  EXPECT_THAT((Line{110, 64, 0.5}.starts()), ElementsAre(0, 32, 46));
  EXPECT_THAT((Line{4, 4, 0.5}.starts()), ElementsAre(0));
  EXPECT_THAT((Line{3, 4, 0.5}.starts()), ElementsAre(0));
}

TEST(VolumeGeometry, ScanGoesOnByOneVoxelAtLeast) {
  // 10 * (1 - 0.9) is 0.9999999999999998
  EXPECT_THAT((Line{13, 10, 0.9}.starts()), ElementsAre(0, 1, 2, 3));
}

TEST(VolumeGeometry, EvenPlacesAreSpreadAsNnunetDoes) {
  // its own example: 110 voxels, windows of 64, steps of 0.5
  EXPECT_THAT((Line{110, 64, 0, 0.5, ONNXC_PLACES_EVEN}.starts()), ElementsAre(0, 23, 46));
  EXPECT_THAT((Line{64, 64, 0, 0.5, ONNXC_PLACES_EVEN}.starts()), ElementsAre(0));
  EXPECT_THAT((Line{67, 64, 0, 0.5, ONNXC_PLACES_EVEN}.starts()), ElementsAre(0, 3));
  // numpy rounds 2.5 and 7.5 to the even neighbour
  EXPECT_THAT((Line{20, 10, 0, 0.25, ONNXC_PLACES_EVEN}.starts()), ElementsAre(0, 2, 5, 8, 10));
}

TEST(VolumeGeometry, MonaiGaussian) {
  Line line{8, 4};
  line.importance = ONNXC_IMPORTANCE_GAUSSIAN;
  const Array<float>& importance = line.make().axes[2].importance;
  // exp(-x^2 / (2 * 0.5^2)) at x of -1.5, -0.5, 0.5, 1.5
  EXPECT_THAT(std::vector<float>(importance.data(), importance.data() + 4),
              Pointwise(FloatNear(1e-7f), {0.011108997f, 0.60653067f, 0.60653067f, 0.011108997f}));
  EXPECT_FLOAT_EQ(line.geometry.least_importance, 0.011108997f);
}

TEST(VolumeGeometry, NnunetGaussianHasItsPeakAtHalfTheWindow) {
  Line line{8, 4};
  line.importance = ONNXC_IMPORTANCE_GAUSSIAN_NNUNET;
  const Array<float>& importance = line.make().axes[2].importance;
  EXPECT_THAT(std::vector<float>(importance.data(), importance.data() + 4),
              Pointwise(FloatNear(1e-6f), {0.0033546262f, 1.3533528f, 10.0f, 1.3533528f}));
}

TEST(VolumeGeometry, PaddingStandsOnBothSides) {
  const auto sources = [](int32_t padding) {
    Line line{3, 6};
    line.padding = padding;
    Array<int64_t>& source = const_cast<VolumeGeometry&>(line.make()).axes[2].source;
    return std::vector<int64_t>(source.begin(), source.end());
  };
  EXPECT_THAT(sources(ONNXC_PAD_CONSTANT), ElementsAre(-1, 0, 1, 2, -1, -1));
  EXPECT_THAT(sources(ONNXC_PAD_REFLECT), ElementsAre(1, 0, 1, 2, 1, 0));
  EXPECT_THAT(sources(ONNXC_PAD_REPLICATE), ElementsAre(0, 0, 1, 2, 2, 2));
  EXPECT_THAT(sources(ONNXC_PAD_CIRCULAR), ElementsAre(2, 0, 1, 2, 0, 1));
}

TEST(VolumeGeometry, RefusesWhatCannotBe) {
  const auto refusal = [](Line line) {
    EXPECT_EQ(make_geometry(line.volume(), line.geometry, line.error), ONNXC_INVALID_ARGUMENT);
    return std::string(line.error.text());
  };
  EXPECT_THAT(refusal({0, 4}), HasSubstr("axis 0 of the volume has 0 voxels and the window 4; both range from 1"));
  EXPECT_THAT(refusal({8, 4, 1.0}), HasSubstr("the overlap of axis 0 is 1, and it ranges from 0 to below 1"));
  EXPECT_THAT(refusal({8, 4, __builtin_nan("")}), HasSubstr("the overlap of axis 0 is nan"));
  EXPECT_THAT(refusal({8, 4, 0, 0, ONNXC_PLACES_EVEN}), HasSubstr("the step of axis 0 is 0 windows"));
  EXPECT_THAT(refusal({8, 4, 0, 0, 7}), HasSubstr("onnxc_volume.places is 7, and it ranges from 0 to 1"));
  EXPECT_THAT(refusal({3, 9, 0, 0.5, ONNXC_PLACES_SCAN, ONNXC_IMPORTANCE_CONSTANT, ONNXC_PAD_REFLECT}),
              HasSubstr("axis 0 of the volume has 3 voxels, too few to pad it to the window's 9 by reflection"));
}

TEST(VolumeGeometry, AnOutputOfHalfTheResolution) {
  Line line{22, 8, 0.5};
  const WindowedAxis& input = line.make().axes[2];  // starts 0, 4, 8, 12, 14
  OutputAxis axis;
  bool fits = true;
  ASSERT_TRUE(make_output_axis(input, 4, input.importance, axis, fits));
  EXPECT_TRUE(fits);
  EXPECT_EQ(axis.padded, 11);
  EXPECT_THAT(std::vector<int64_t>(axis.starts.begin(), axis.starts.end()), ElementsAre(0, 2, 4, 6, 7));
  OutputAxis none;
  ASSERT_TRUE(make_output_axis(input, 0, input.importance, none, fits));
  EXPECT_FALSE(fits);
}

}  // namespace
}  // namespace onnxc::runtime

#include "onnxc_run/profile/compared_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnxc {
namespace {

using testing::ElementsAre;
using Step = RecordedProfile::Step;

RecordedProfile of(std::vector<Step> steps) {
  RecordedProfile profile;
  profile.steps = std::move(steps);
  return profile;
}

TEST(ComparedProfile, SumsWhatIsFusedOtherwise) {
  const std::vector<ComparedSteps> found =
      compare_steps(of({{"conv 3", {"a (Conv)"}, 4}, {"loops relu", {"b (Relu)"}, 1}, {"conv 1", {"c (Conv)"}, 2}}),
                    of({{"conv 3", {"a (Conv)", "b (Relu)"}, 3}, {"conv 1", {"c (Conv)"}, 2.5}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].layers, ElementsAre("a (Conv)", "b (Relu)"));
  EXPECT_THAT(found[0].kernels_before, ElementsAre("conv 3", "loops relu"));
  EXPECT_THAT(found[0].kernels_now, ElementsAre("conv 3"));
  EXPECT_EQ(found[0].before, 5);
  EXPECT_EQ(found[0].now, 3);
  EXPECT_EQ(found[1].before, 2);
  EXPECT_EQ(found[1].now, 2.5);
}

TEST(ComparedProfile, JoinsThroughStepsOfEitherRun) {
  const std::vector<ComparedSteps> found = compare_steps(of({{"x", {"1", "2"}, 1}, {"y", {"3", "4"}, 1}}),
                                                         of({{"p", {"1"}, 1}, {"q", {"2", "3"}, 1}, {"r", {"4"}, 1}}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].before, 2);
  EXPECT_EQ(found[0].now, 3);
}

TEST(ComparedProfile, KeepsWhatOneRunHasAlone) {
  const std::vector<ComparedSteps> found =
      compare_steps(of({{"conv", {"a"}, 1}, {"loops copy", {}, 0.5}}), of({{"conv", {"a"}, 1}, {"end", {}, 0.25}}));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_THAT(found[0].kernels_before, ElementsAre("loops copy"));
  EXPECT_EQ(found[0].now, 0);
  EXPECT_THAT(found[1].kernels_now, ElementsAre("end"));
  EXPECT_EQ(found[1].before, 0);
  EXPECT_EQ(found[2].before, found[2].now);
}

}  // namespace
}  // namespace onnxc

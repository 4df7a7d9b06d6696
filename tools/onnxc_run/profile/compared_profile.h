// A profile beside an earlier one, which `--profile --json` wrote.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "onnxc_run/profile/measured_profile.h"

namespace onnxc {

// The compared part of a profile.
struct RecordedProfile {
  struct Step {
    std::string kernel;
    std::vector<std::string> layers;  // as step_nodes gives them
    double milliseconds;
  };
  std::string model;
  RunConditions conditions;
  double run_milliseconds = 0;
  double peak_gflops = 0;
  std::vector<Step> steps;
};

RecordedProfile record(const Profile& profile, const RunOptions& options);
// UserError, naming the file, where it is not what --profile --json writes.
RecordedProfile read_profile(const std::filesystem::path& file);
// UserError if the two runs had other inputs, threads or precision.
void check_same_conditions(const std::filesystem::path& file, const RunConditions& before, const RunConditions& now);

// The steps of both runs that compute the same layers: two compiles may fuse them differently, so that a step of one
// stands for several of the other.
struct ComparedSteps {
  std::vector<std::string> layers, kernels_before, kernels_now;  // each once, in the order of the runs
  double before = 0, now = 0;                                    // milliseconds
};

// Steps belong together if they have a layer in common, or a step between has. Steps of no layer are told by their
// kernel. The largest change comes first.
std::vector<ComparedSteps> compare_steps(const RecordedProfile& before, const RecordedProfile& now);

}  // namespace onnxc

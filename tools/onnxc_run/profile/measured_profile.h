// The measured times of the parts of a run.
#pragma once

#include <string>
#include <vector>

#include "ir/source_place.h"
#include "onnxc_run/memory.h"
#include "onnxc_run/reports/machine_peak.h"
#include "onnxc_run/reports/run_conditions.h"
#include "onnxc_run/session.h"

namespace onnxc {

struct StepProfile {
  onnxc_step_info info;
  std::vector<SourcePlace> places;  // of its nodes, in their order
  double milliseconds = 0;
  double operations = 0;      // 0 if they are not known
  double traffic = 0;         // bytes of the tensors that it reads and writes; 0 if they are not known
  int64_t working_bytes = 0;  // in use for tensors during the step
  // In the last run, in milliseconds from its begin; both 0 for a step that it left out.
  double begin = 0, end = 0;
};

struct Profile {
  std::vector<StepProfile> steps;
  double steps_milliseconds = 0;  // their sum
  double run_milliseconds = 0;
  RunConditions conditions;
  MachinePeak peak;
  MemoryUse memory;
  int64_t process_bytes = 0;  // the most that this process held

  double share(double milliseconds) const {
    return steps_milliseconds > 0 ? 100 * milliseconds / steps_milliseconds : 0;
  }
};

// 0 if the operations are not known.
double gigaflops(double operations, double milliseconds);

// Runs the model for a second at least with a clock around each step. Times are means over the faster half of the runs,
// so that the steps add up to the run and what disturbs a run now and then is left out.
Profile measure_profile(Session& session, const std::vector<Tensor>& inputs);

// Steps of one kind, or of one module, together.
struct SummedTime {
  std::string name;
  double milliseconds = 0;
  double operations = 0;
  int steps = 0;
  size_t depth = 0;  // of a module
};

// "conv_direct" of the step "conv_direct 3x3x3 64->64"; "loops copy" as it is.
std::string kind_of(const std::string& step);

// Sums by kernel, "conv_direct" of "conv_direct 3x3x3 64->64", the slowest first.
std::vector<SummedTime> times_by_kind(const Profile& profile);

// Sums by module of the PyTorch program: each with all that lies in it, the slowest first, its parts below it. A step
// belongs to the module of its first node that has one. A module that is all of another is left out; empty if no module
// is known.
std::vector<SummedTime> times_by_module(const Profile& profile);

}  // namespace onnxc

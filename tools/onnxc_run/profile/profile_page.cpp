#include "onnxc_run/profile/profile_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnxc_run/steps.h"
#include "report/page/page.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

using Json = Page::Json;

constexpr double mebibyte = 1 << 20;

std::vector<Page::Column> time_columns(const std::string& what) {
  return {{.name = "ms", .is_number = true, .decimals = 3},
          {.name = "share %", .is_number = true, .has_bar = true, .decimals = 1},
          {.name = "GFLOP/s", .is_number = true, .decimals = 1},
          {.name = "of peak %", .is_number = true, .has_bar = true, .decimals = 0},
          {.name = what}};
}

std::vector<Json> time_cells(const Profile& profile, double milliseconds, double operations) {
  const double rate = gigaflops(operations, milliseconds);
  return {milliseconds, profile.share(milliseconds), rate > 0 ? Json(rate) : Json(),
          rate > 0 ? Json(100 * rate / profile.peak.gflops) : Json()};
}

void add_sums(Page& page, const Profile& profile, const std::string& title, const std::string& note,
              const std::string& what, const std::vector<SummedTime>& sums) {
  if (sums.empty()) return;
  std::vector<Page::Column> columns = time_columns(what);
  columns.push_back({.name = "steps", .is_number = true});
  std::vector<Json> rows;
  for (const SummedTime& sum : sums) {
    std::vector<Json> row = time_cells(profile, sum.milliseconds, sum.operations);
    row.emplace_back(std::string(4 * sum.depth, ' ') + sum.name);
    row.emplace_back(sum.steps);
    rows.emplace_back(std::move(row));
  }
  page.add_table(title, note, columns, std::move(rows));
}

// The tensors that a step gives, for the dims of this run.
std::string outputs_of(Session& session, int32_t step) {
  std::vector<std::string> texts;
  int32_t output = 0;
  for (const onnxc_value_info* info : session.step_outputs(step)) {
    std::vector<int64_t> dims(static_cast<size_t>(info->rank));
    const bool is_known = session.api().step_output_dims(session.instance(), step, output++, dims.data()) == ONNXC_OK;
    texts.push_back(fmt::format("{} {}", info->name,
                                is_known ? fmt::format("{}", fmt::join(dims, "x")) : "of a size that a run decides"));
  }
  return fmt::format("{}", fmt::join(texts, "\n"));
}

std::string places_of(const StepProfile& step) {
  std::vector<std::string> texts;
  for (const SourcePlace& place : step.places)
    if (place.is_known())
      texts.push_back(place.code.empty() ? place.describe() : fmt::format("{}: {}", place.describe(), place.code));
  return fmt::format("{}", fmt::join(texts, "\n"));
}

void add_steps(Page& page, const Profile& profile, Session& session) {
  std::vector<Page::Column> columns = time_columns("kernel");
  columns.insert(columns.begin(), {.name = "step", .is_number = true});
  columns.push_back({.name = "working MiB", .is_number = true, .decimals = 1});
  for (const char* name : {"layers", "gives", "from"}) columns.push_back({.name = name});
  std::vector<Json> rows;
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const StepProfile& step = profile.steps[i];
    std::vector<Json> row = time_cells(profile, step.milliseconds, step.operations);
    row.insert(row.begin(), i);
    row.emplace_back(step.info.name);
    row.emplace_back(static_cast<double>(step.working_bytes) / mebibyte);
    row.emplace_back(fmt::format("{}", fmt::join(step_nodes(step.info), "\n")));
    row.emplace_back(outputs_of(session, static_cast<int32_t>(i)));
    row.emplace_back(places_of(step));
    rows.emplace_back(std::move(row));
  }
  page.add_table(
      "Steps",
      "In the order of the run; a click on a column's head sorts. A step computes one layer or several fused "
      "ones. 'of peak' counts the operations of the layer's definition; Winograd kernels need fewer.",
      columns, std::move(rows));
}

void add_memory(Page& page, const Profile& profile) {
  std::vector<std::string> labels;
  std::vector<double> values;
  for (const StepProfile& step : profile.steps) {
    labels.push_back(fmt::format("{} {}", values.size(), step.info.name));
    values.push_back(static_cast<double>(step.working_bytes) / mebibyte);
  }
  page.add_chart("Working memory over the run", memory_text(profile.memory), labels, values, "MiB");
}

// S. Williams, A. Waterman, D. Patterson: Roofline, 2009.
void add_roofline(Page& page, const Profile& profile) {
  std::vector<Page::RooflinePoint> points;
  double shown = 0;
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const StepProfile& step = profile.steps[i];
    if (step.operations <= 0 || step.traffic <= 0 || step.milliseconds <= 0) continue;
    shown += step.milliseconds;
    points.push_back({.label = fmt::format("{} {}", i, step.info.name),
                      .group = kind_of(step.info.name),
                      .intensity = step.operations / step.traffic,
                      .rate = gigaflops(step.operations, step.milliseconds),
                      .weight = step.milliseconds});
  }
  if (points.empty()) return;
  page.add_roofline(
      "Steps under the machine's roofs",
      fmt::format(
          "A circle is a step, as large as its time: {} of {}, {:.1f}% of the time; the others do no floating-point "
          "arithmetic. Across: operations of the layer's definition for each byte of the tensors that the step reads "
          "and writes, weights included, each counted once. Up: operations a second. The lines were measured on this "
          "machine with as many threads as the run: multiply-adds of the widest vectors, and reading from memory. Near "
          "the sloping line memory bounds a step, near the level one arithmetic. Above the sloping line a cache still "
          "held what it reads; above the level one is Winograd's method, which needs fewer multiplications than the "
          "definition, or a type of 8 or 16 bits.",
          points.size(), counted(profile.steps.size(), "step"), profile.share(shown)),
      {profile.peak.gflops, profile.peak.gigabytes_read}, points);
}

void add_comparison(Page& page, const RecordedProfile& earlier, const RecordedProfile& now) {
  const auto run = [](const RecordedProfile& recorded) {
    return fmt::format("{:.3f} ms on a machine of {:.1f} GFLOP/s, inputs {}", recorded.run_milliseconds,
                       recorded.peak_gflops, recorded.conditions.text());
  };
  const double ratio = earlier.run_milliseconds > 0 ? now.run_milliseconds / earlier.run_milliseconds : 0;
  page.add_facts("Beside an earlier run", {{"before", fmt::format("{}, {}", earlier.model, run(earlier))},
                                           {"now", fmt::format("{}, {}", now.model, run(now))},
                                           {"a run takes", fmt::format("{:.3f} of its time before", ratio)}});
  std::vector<Json> rows;
  for (const ComparedSteps& steps : compare_steps(earlier, now))
    rows.push_back({steps.now - steps.before, steps.before, steps.now,
                    steps.before > 0 && steps.now > 0 ? Json(steps.now / steps.before) : Json(),
                    fmt::format("{}", fmt::join(steps.kernels_before, "\n")),
                    fmt::format("{}", fmt::join(steps.kernels_now, "\n")),
                    fmt::format("{}", fmt::join(steps.layers, "\n"))});
  page.add_table(
      "What changed",
      "Steps that compute the same layers, however they are fused; what changed most comes first. The two runs "
      "were measured at two times: differences of a few percent may be the machine's.",
      {{.name = "change ms", .is_number = true, .decimals = 3},
       {.name = "before ms", .is_number = true, .has_bar = true, .decimals = 3},
       {.name = "now ms", .is_number = true, .has_bar = true, .decimals = 3},
       {.name = "now/before", .is_number = true, .decimals = 2},
       {.name = "kernels before"},
       {.name = "kernels now"},
       {.name = "layers"}},
      std::move(rows));
}

}  // namespace

std::string profile_page(const Profile& profile, Session& session, const RunOptions& options,
                         const std::optional<RecordedProfile>& earlier) {
  Page page("Profile of " + options.model.filename().string());
  page.add_facts("This run",
                 {{"model", options.model.string()},
                  {"compiled for", session.api().target},
                  {"inputs", profile.conditions.inputs_text()},
                  {"ran on", fmt::format("{}, {}", options.device.text, counted(session.threads(), "thread"))},
                  {"a run takes", fmt::format("{:.3f} ms, {:.3f} of them in {}", profile.run_milliseconds,
                                              profile.steps_milliseconds, counted(profile.steps.size(), "step"))},
                  {"peak of this machine", fmt::format("{:.1f} GFLOP/s, {:.1f} GB/s read from memory",
                                                       profile.peak.gflops, profile.peak.gigabytes_read)},
                  {"onnxc", session.api().onnxc_version}});
  if (earlier) add_comparison(page, *earlier, record(profile, options));
  add_sums(
      page, profile, "Time by module",
      "Modules of the PyTorch program, each with all that lies in it. A step counts for the module of its first layer.",
      "module", times_by_module(profile));
  add_sums(page, profile, "Time by kernel", "", "kind of kernel", times_by_kind(profile));
  add_roofline(page, profile);
  add_steps(page, profile, session);
  add_memory(page, profile);
  return page.text();
}

}  // namespace onnxc

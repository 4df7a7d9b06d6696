#include "gfx942sim/reports/unit_replay.h"

#include <algorithm>
#include <vector>

#include "gfx942sim/wave/wave_clock.h"
#include "machine/gpu_machine.h"

namespace gfx942sim {
namespace {

constexpr auto simds = static_cast<size_t>(onnxc::machine::gfx942.simds);
constexpr uint64_t most_steps = 20'000'000;  // beyond them, the rest of the groups takes as long as those before

class Replay {
 public:
  Replay(const GroupTrace& group, UnitLoad load, LineCycles lines)
      : trace_(group.waves), latencies_(group.first_touch_latencies), lines_(lines) {
    left_ = load.groups;
    groups_.resize(std::min(load.resident, load.groups));
    waves_.resize(groups_.size() * trace_.size());
    for (size_t i = 0; i < groups_.size(); ++i) start(i, 0);
  }

  double run() {
    while (Wave* wave = next()) step(*wave);
    return end_;
  }

 private:
  struct Wave {
    size_t group = 0, number = 0, simd = 0, at = 0;
    double time = 0;
    bool waits = false, ended = true;
    CompletionQueue vector_memory{}, lds{};
    double scalar_memory = 0;
  };
  struct Group {
    size_t running = 0, at_barrier = 0;
    double latest = 0;
  };

  void start(size_t number, double time) {
    if (left_ == 0) return;
    --left_;
    groups_[number] = {.running = trace_.size()};
    for (size_t i = 0; i < trace_.size(); ++i)
      waves_[number * trace_.size() + i] = {
          .group = number, .number = i, .simd = next_simd_++ % simds, .time = time, .ended = false};
  }

  Wave* next() {
    Wave* first = nullptr;
    for (Wave& wave : waves_)
      if (!wave.ended && !wave.waits && (!first || wave.time < first->time)) first = &wave;
    return first;
  }

  // Takes a unit for so long from when it is free; returns when that begins.
  static double take(double& free, double from, double busy) {
    const double begin = std::max(free, from);
    free = begin + busy;
    return begin;
  }

  void step(Wave& wave) {
    const WaveTrace& trace = trace_[wave.number];
    if (wave.at == trace.size()) return end(wave);
    const Step& step = trace[wave.at++];
    const double busy = step.busy;
    switch (step.kind) {
      case Step::Kind::matrix:
      case Step::Kind::exclusive_matrix: {
        const double ready = std::max(wave.time, vector_free_[wave.simd]);
        const double begin = take(matrix_free_[wave.simd], ready, busy);
        vector_free_[wave.simd] = begin + (step.kind == Step::Kind::matrix ? issue_cycles : busy);
        wave.time = begin + issue_cycles;
        break;
      }
      case Step::Kind::vector:
        wave.time = take(vector_free_[wave.simd], wave.time, busy) + busy;
        break;
      case Step::Kind::scalar:
      case Step::Kind::scalar_memory:
        wave.time = take(scalar_free_, wave.time, 1) + busy;
        if (step.latency) wave.scalar_memory = std::max(wave.scalar_memory, wave.time + step.latency);
        break;
      case Step::Kind::control:
        wave.time += busy;
        break;
      case Step::Kind::lds:
        wave.time += issue_cycles;
        wave.lds.add(static_cast<uint64_t>(take(lds_free_, wave.time, busy) + busy + step.latency));
        break;
      case Step::Kind::vector_memory:
        wave.time += busy;
        wave.vector_memory.add(static_cast<uint64_t>(arrival(step, wave.time) + latency(step)));
        break;
      case Step::Kind::wait_vector_memory:
        wave.time = std::max(wave.time, static_cast<double>(wave.vector_memory.complete_but(step.busy)));
        break;
      case Step::Kind::wait_lds:
        wave.time = std::max(wave.time, static_cast<double>(wave.lds.complete_but(step.busy)));
        if (step.busy == 0) wave.time = std::max(wave.time, wave.scalar_memory);
        break;
      case Step::Kind::barrier:
        reach_barrier(wave);
        break;
    }
  }

  // How long the slowest line of an access takes.
  double latency(const Step& step) const {
    if (step.first_touches == 0 || latencies_.empty()) return step.latency;
    const auto first = latencies_.begin() + step.first_touch;
    const auto of_others = load_latency(step.misses > step.first_touches ? LineSource::l2 : LineSource::l1);
    return static_cast<double>(std::max<uint64_t>(of_others, *std::max_element(first, first + step.first_touches)));
  }

  // When the last line of an access has passed all units on its way.
  double arrival(const Step& step, double time) {
    const double l1 = lines_.l1 * step.lines, l2 = lines_.l2 * step.misses,
                 beyond = lines_.beyond_l2 * step.first_touches;
    double end = take(l1_free_, time, l1) + l1;
    if (l2 > 0) end = std::max(end, take(l2_free_, time, l2) + l2);
    if (beyond > 0) end = std::max(end, take(beyond_free_, time, beyond) + beyond);
    return end;
  }

  void reach_barrier(Wave& wave) {
    Group& group = groups_[wave.group];
    group.latest = std::max(group.latest, wave.time);
    wave.waits = true;
    if (++group.at_barrier < group.running) return;
    for (size_t i = 0; i < trace_.size(); ++i) {
      Wave& other = waves_[wave.group * trace_.size() + i];
      if (other.waits) other.time = group.latest;
      other.waits = false;
    }
    group.at_barrier = 0;
  }

  void end(Wave& wave) {
    Group& group = groups_[wave.group];
    wave.ended = true;
    group.latest = std::max(group.latest, wave.time);
    end_ = std::max(end_, wave.time);
    if (--group.running == 0) start(wave.group, group.latest);
  }

  const std::vector<WaveTrace>& trace_;
  const std::vector<uint16_t>& latencies_;
  LineCycles lines_;
  uint64_t left_ = 0;  // groups that have not begun
  std::vector<Group> groups_;
  std::vector<Wave> waves_;
  size_t next_simd_ = 0;
  double matrix_free_[simds] = {}, vector_free_[simds] = {};
  double scalar_free_ = 0, lds_free_ = 0, l1_free_ = 0, l2_free_ = 0, beyond_free_ = 0, end_ = 0;
};

}  // namespace

double unit_cycles(const GroupTrace& group, UnitLoad load, LineCycles lines) {
  uint64_t steps = 1;
  for (const WaveTrace& wave : group.waves) steps += wave.size();
  const uint64_t most = std::max(most_steps / steps, std::min<uint64_t>(load.resident, 4));
  const uint64_t groups = std::min(load.groups, most);
  const double cycles = Replay(group, {groups, load.resident}, lines).run();
  return cycles * static_cast<double>(load.groups) / static_cast<double>(groups);
}

}  // namespace gfx942sim

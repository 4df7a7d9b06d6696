// The steps of a profile summed up, by kind and by module.
#include <algorithm>
#include <map>

#include "onnxc_run/profile/measured_profile.h"

namespace onnxc {
namespace {

void add(SummedTime& sum, const StepProfile& step) {
  sum.milliseconds += step.milliseconds;
  sum.operations += step.operations;
  ++sum.steps;
}

std::string module_of(const StepProfile& step) {
  const auto found = std::ranges::find_if(step.places, [](const SourcePlace& place) { return !place.module.empty(); });
  return found == step.places.end() ? "" : found->module;
}

// A module and those in it, by the next part of their path.
struct Module {
  SummedTime sum;
  std::map<std::string, Module> parts;
};

void list(const Module& module, size_t depth, std::vector<SummedTime>& result) {
  std::vector<const Module*> parts;
  for (const auto& [name, part] : module.parts) parts.push_back(&part);
  std::ranges::sort(parts, [](const Module* a, const Module* b) {
    const double first = a->sum.milliseconds, second = b->sum.milliseconds;
    return first != second ? first > second : a->sum.name < b->sum.name;
  });
  for (const Module* part : parts) {
    const bool is_all = part->sum.steps == module.sum.steps;
    if (!is_all) {
      result.push_back(part->sum);
      result.back().depth = depth;
    }
    list(*part, is_all ? depth : depth + 1, result);
  }
}

}  // namespace

std::string kind_of(const std::string& step) {
  return step.starts_with("loops ") ? step : step.substr(0, step.find(' '));
}

std::vector<SummedTime> times_by_kind(const Profile& profile) {
  std::map<std::string, SummedTime> kinds;
  for (const StepProfile& step : profile.steps) {
    const std::string kind = kind_of(step.info.name);
    SummedTime& sum = kinds[kind];
    sum.name = kind;
    add(sum, step);
  }
  std::vector<SummedTime> sorted;
  for (auto& [kind, sum] : kinds) sorted.push_back(std::move(sum));
  std::ranges::sort(sorted, std::ranges::greater(), &SummedTime::milliseconds);
  return sorted;
}

std::vector<SummedTime> times_by_module(const Profile& profile) {
  Module root;
  for (const StepProfile& step : profile.steps) {
    add(root.sum, step);
    const std::string path = module_of(step);
    Module* at = &root;
    for (size_t end = 0; !path.empty() && end != std::string::npos;) {
      const size_t begin = end == 0 ? 0 : end + 1;
      end = path.find('.', begin);
      at = &at->parts[path.substr(begin, end - begin)];
      at->sum.name = path.substr(0, end);
      add(at->sum, step);
    }
  }
  std::vector<SummedTime> result;
  list(root, 0, result);
  return result;
}

}  // namespace onnxc

// The options of onnxc-run's command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onnxc_run/volume/volume_options.h"

namespace onnxc {

// How far two results may be apart: |actual - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double relative;
  double absolute;
};

// A tolerance for all outputs, and others for some by name.
struct ToleranceOptions {
  std::optional<double> relative, absolute;  // absent: by dtype
  std::map<std::string, double> relative_by_name, absolute_by_name;
  bool equal_nan = false;  // NaN equals NaN, and an infinity itself
};

struct Device {
  std::string text = "cpu";  // as it was given: "cpu", "gpu" or "gpu:1"
  bool is_gpu = false;
  int32_t index = 0;  // of the GPU
};

struct RunOptions {
  std::filesystem::path model;
  std::optional<std::string> entry;           // of a model of several graphs; nothing: the first
  std::filesystem::path tests;                // a folder in ONNX's test layout; empty: none
  std::vector<std::string> inputs, expected;  // NAME=FILE
  std::optional<uint64_t> random_seed;
  std::map<std::string, int64_t> dims;                 // --dim N=4
  std::map<std::string, std::vector<int64_t>> shapes;  // --shapes x:1x1x96x96x96
  std::optional<std::filesystem::path> output, trace, verify;
  std::string verify_with = "onnxc";  // or "onnxruntime"
  ToleranceOptions tolerance;
  std::optional<int> benchmark_runs;
  std::optional<std::string> profile;  // "" is a table, or JSON, on stdout; else an HTML file
  std::filesystem::path against;       // an earlier profile as JSON, which the page is to compare with; empty: none
  bool compares_anyway = false;        // a profile of other inputs, threads or precision, or another model
  std::string trace_events;            // a JSON file
  bool information = false;
  bool json = false;
  int threads = 0;
  Device device;
  bool hip_graph = false;
  VolumeOptions volume;
};

}  // namespace onnxc

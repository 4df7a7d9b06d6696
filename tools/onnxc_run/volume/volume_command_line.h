// The options of --volume.
#pragma once

#include <string>

#include "command/option_table.h"
#include "onnxc_run/volume/volume_options.h"

namespace onnxc {

// The options as they are written, before their parts are read.
struct VolumeWords {
  VolumeOptions& options;
  std::string window = {}, mirrored = {}, clip = {}, normalization = {}, raw = {};
  bool labels = false, softmax = false, sigmoid = false;

  void add_to(OptionTable& table);
  // Once they are parsed: fills `options`. UsageError for a text that cannot be read.
  void read();

 private:
  void add_windows(OptionTable& table);
  void add_results(OptionTable& table);
};

}  // namespace onnxc

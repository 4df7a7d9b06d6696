// onnxc-run --volume: scans through a model in windows, one file after the other.
#pragma once

#include "onnxc_run/options.h"

namespace onnxc {

// Writes a result for each volume. A file that cannot be read or written is reported, and the others are done; false
// when there was one. Of several volumes those whose result is there already are skipped, unless --overwrite is given.
bool segment_volumes(const RunOptions& options);

}  // namespace onnxc

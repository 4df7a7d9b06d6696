// onnxc-run --volume: scans through a model in windows, one file after the other.
#pragma once

#include "onnxc_run/options.h"

namespace onnxc {

// Writes a result for each volume. A file that cannot be read or written is reported, and the others are done; false
// when there was one. In a folder, results that are there and belong to their scan, the model and the options are kept
// (result_record.h), unless --overwrite is given.
bool segment_volumes(const RunOptions& options);

}  // namespace onnxc

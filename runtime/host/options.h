// Reads the option structs of a caller, which may be older or newer than this library, and checks their values.
#pragma once

#include "base/error_text.h"
#include "base/model.h"
#include "onnxc.h"
#include "onnxc_volume.h"

namespace onnxc::runtime {

// Fields that an older caller lacks are zero; a newer caller may not set fields that this library does not know.
// `given` may be null.
onnxc_status read_options(const ModelDescription& model, const onnxc_options* given, onnxc_options& options,
                          ErrorText& error);
onnxc_status read_options(const onnxc_run_options* given, onnxc_run_options& options, ErrorText& error);
onnxc_status read_options(const onnxc_volume* given, onnxc_volume& volume, ErrorText& error);
onnxc_status read_options(const onnxc_volume_result* given, onnxc_volume_result& result, ErrorText& error);

}  // namespace onnxc::runtime

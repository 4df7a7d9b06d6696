// The ordinary preprocessing of intensities: the file's own scale, clipping, and normalisation by the volume's
// statistics.
#pragma once

#include <vector>

#include "onnxc_run/volume/scan.h"
#include "onnxc_run/volume/volume_options.h"
#include "onnxc_volume.h"

namespace onnxc {

// One scaling for each channel. Statistics are those of the voxels after the clip that are not NaN, as MONAI's
// NormalizeIntensity (mean and standard deviation over all voxels of the channel) and ScaleIntensity (least and
// greatest) have them. A channel that is all one value is divided by 1.
std::vector<onnxc_volume_scaling> scalings_of(const Scan& scan, const VolumeOptions& options);

}  // namespace onnxc

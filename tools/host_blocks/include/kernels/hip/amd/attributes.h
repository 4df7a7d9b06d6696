// HIP's attributes on the host, in place of those for AMD's GPUs.
#pragma once

#include "kernels/hip/nvidia/attributes.h"

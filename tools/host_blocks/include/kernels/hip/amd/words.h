// The words of the hardware on the host, in place of AMD's: they mean the same as NVIDIA's (kernels/hip/wave/words.h).
#pragma once

#include "kernels/hip/nvidia/words.h"

// The elementary functions on the host, in place of OCML's.
#pragma once

#include "kernels/hip/nvidia/elementary.h"

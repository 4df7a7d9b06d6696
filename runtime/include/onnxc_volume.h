/* Whole volumes: a model of windows run over a scan, the C ABI's part for sliding windows.
 *
 *     onnxc_volume_input scan = {.dtype = ONNXC_INT16, .channels = 1, .data = voxels, .bytes = sizeof voxels};
 *     onnxc_volume_output labels = {.what = ONNXC_VOLUME_LABELS, .dtype = ONNXC_UINT8, .data = l, .bytes = sizeof l};
 *     int64_t dims[] = {512, 512, 304}, window[] = {96, 96, 96};
 *     double overlap[] = {0.5, 0.5, 0.5};
 *     onnxc_volume volume = {.struct_size = sizeof volume, .rank = 3, .dims = dims, .window = window,
 *                            .overlap = overlap, .importance = ONNXC_IMPORTANCE_GAUSSIAN,
 *                            .inputs = &scan, .outputs = &labels};
 *     if (api->run_volume(instance, &volume, NULL) != ONNXC_OK) fail(api->last_error(instance));
 *
 * Each voxel's result is the mean of the windows that cover it, weighted by the importance of its place in each. Sums
 * are float32, made in one order: the bits depend neither on threads nor on the batch if the model's own do not.
 *
 * Memory: windows go along one axis, the slab axis, and there row by row. Voxels that no later window covers are
 * written and leave; the sums in flight are, for each class, at most one window's extent of slices, and mostly less.
 * The volume is not copied.
 *
 * On a GPU the volume is sent once, slab by slab. Windows are cut, run and blended there, and only results come back;
 * the sums take a window's extent of slices of its memory. If there is too little for `batch` windows, half as many are
 * run at once, down to one. Progress is told when a run has ended, while up to three more are under way.
 *
 * Compatibility is that of onnxc.h; only onnxc_volume and onnxc_volume_result carry their size. onnxc_volume_input,
 * _output and _member keep theirs. */
#ifndef ONNXC_VOLUME_H
#define ONNXC_VOLUME_H

#include "onnxc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The placement of windows along an axis. */
enum {
  /* MONAI's SlidingWindowInferer: int(window * (1 - overlap)) apart, at least 1; the last is moved back to the edge. */
  ONNXC_PLACES_SCAN = 0,
  /* nnU-Net's compute_steps_for_sliding_window: as few as a distance of at most window * step allows, spread evenly. */
  ONNXC_PLACES_EVEN = 1
};

/* The weight of a place in the window. */
enum {
  ONNXC_IMPORTANCE_CONSTANT = 0,
  /* MONAI's: a Gaussian about the window's middle, nowhere below 0.001 */
  ONNXC_IMPORTANCE_GAUSSIAN = 1,
  /* nnU-Net's: a Gaussian about element window // 2, cut at 4 sigma, 10 at its peak; zeros count as its least value */
  ONNXC_IMPORTANCE_GAUSSIAN_NNUNET = 2
};

/* The values around a volume that is smaller than the window, half before and half (and the odd one) after. */
enum { ONNXC_PAD_CONSTANT = 0, ONNXC_PAD_REFLECT = 1, ONNXC_PAD_REPLICATE = 2, ONNXC_PAD_CIRCULAR = 3 };

/* An output of another resolution: of the window's w voxels along an axis the model makes v. With zoom = v / w, its
 * voxel j lies at (j + rint(p * zoom) + 0.5) / zoom - 0.5 - p among the volume's, with p voxels padded before it.
 * Voxels are boxes, and the corners of both grids meet (half_pixel in ONNX's Resize, align_corners=False in PyTorch).
 */

/* The values that are written for an output. */
enum {
  ONNXC_VOLUME_NOTHING = 0,
  ONNXC_VOLUME_VALUES = 1,  /* the blended values, ONNXC_FLOAT32 */
  ONNXC_VOLUME_SOFTMAX = 2, /* of the blended values, over the channels, ONNXC_FLOAT32 */
  ONNXC_VOLUME_SIGMOID = 3, /* of the blended values, ONNXC_FLOAT32 */
  /* the first channel of the largest value, a NaN being the largest; of a single channel, 1 if it is above 0 (a sigmoid
   * above one half). ONNXC_UINT8, ONNXC_UINT16, ONNXC_INT16 or ONNXC_INT32. Has no axis of channels. */
  ONNXC_VOLUME_LABELS = 4
};

/* For one channel of an input: x becomes (clip(x * slope + intercept, low, high) - subtract) / divide. */
typedef struct onnxc_volume_scaling {
  double slope; /* 0 counts as 1 */
  double intercept;
  double low, high; /* equal: nothing is clipped */
  double subtract;
  double divide; /* 0 counts as 1 */
} onnxc_volume_scaling;

/* Reads one slice, a slab axis's index: dense and row-major, the channels and then the spatial axes but the slab axis.
 * Called with rising indices, each once, on the calling thread. Another result than 0 ends the run. */
typedef int32_t (*onnxc_volume_read)(void* context, int64_t slice, void* data);
/* Takes one slice of an output, dense in the same manner. Another result than 0 ends the run. */
typedef int32_t (*onnxc_volume_write)(void* context, int64_t slice, const void* data);

/* An input of the model: cut into windows, or the same for every run. */
typedef struct onnxc_volume_input {
  const onnxc_value* fixed; /* given to each run as it is; the fields below do not count then */
  onnxc_dtype dtype;        /* of the scan: a whole number of up to 32 bits, ONNXC_FLOAT32 or ONNXC_FLOAT64 */
  int32_t reserved;
  int64_t channels;
  const void* data;       /* null: `read` gives the slices */
  const int64_t* strides; /* of the channels, then of each spatial axis, in elements, not negative; null: row-major */
  int64_t bytes;          /* size of the memory at data */
  const onnxc_volume_scaling* scaling; /* one for each channel; null: none */
  onnxc_volume_read read;
  void* read_context;
} onnxc_volume_input;

typedef struct onnxc_volume_output {
  int32_t what;
  onnxc_dtype dtype;
  void* data;             /* null: `write` takes the slices */
  const int64_t* strides; /* as those of an input; labels have no stride for channels */
  int64_t bytes;
  onnxc_volume_write write;
  void* write_context;
} onnxc_volume_output;

/* Another model of the same inputs and outputs whose values are averaged with this one's, such as a fold. If this one
 * runs on a GPU, so must the others, on the same one. */
typedef struct onnxc_volume_member {
  const onnxc_api* api;
  onnxc_instance* instance;
} onnxc_volume_member;

/* Called on the calling thread after each run of windows. Another result than 0 ends the run with ONNXC_STOPPED. */
typedef int32_t (*onnxc_volume_progress)(void* context, int64_t windows_done, int64_t windows);

/* A volume is one image: channels and `rank` spatial axes. The model takes [windows, channels, axes...]. */
struct onnxc_volume {
  uint32_t struct_size; /* sizeof(onnxc_volume) */
  uint32_t flags;       /* 0 */
  int32_t rank;         /* 1 to 3 */
  int32_t places;
  int32_t importance;
  int32_t padding;
  const int64_t* dims;       /* of the spatial axes, in voxels */
  const int64_t* window;     /* its sizes; one that is not positive is that of the volume */
  const double* overlap;     /* ONNXC_PLACES_SCAN: of each axis, from 0 to below 1; null: 0.25 */
  const double* step;        /* ONNXC_PLACES_EVEN: of each axis, above 0 to 1; null: 0.5 */
  const double* sigma_scale; /* the Gaussian's sigma, in windows, of each axis; null: 0.125 */
  double padding_value;      /* ONNXC_PAD_CONSTANT: as the model sees it, after the scaling */
  int64_t batch;             /* windows in a run; 0: the model's own number if it has one, else more of small ones */
  uint32_t mirrored_axes;    /* bit a: each window runs also mirrored in axis a, with every combination of these bits */
  int32_t slab_axis;         /* -1: the one that needs least memory */
  const onnxc_volume_input* inputs;   /* as many as the model has, at least one not fixed */
  const onnxc_volume_output* outputs; /* as many as the model has, at least one not ONNXC_VOLUME_NOTHING */
  const onnxc_volume_member* members;
  int64_t member_count;
  onnxc_volume_progress progress;
  void* progress_context;
};

/* The outcome of a run over a volume. Set struct_size before. */
struct onnxc_volume_result {
  uint32_t struct_size; /* sizeof(onnxc_volume_result) */
  int32_t slab_axis;
  int64_t windows;
  int64_t runs;          /* windows times mirrorings times models */
  int64_t nan_voxels;    /* elements of the inputs that are NaN */
  int64_t working_bytes; /* of sums, windows and slices, also on a GPU; the instances' own come on top */
  double seconds;
  double network_seconds; /* inside the models; on a GPU what the host takes to start them and to wait for them */
};

#ifdef __cplusplus
}
#endif

#endif

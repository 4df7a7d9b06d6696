/* The C ABI of a compiled model.
 *
 * `onnxc model.onnx -o model.so` makes a shared library that exports one symbol, onnxc_get_api. It returns a table of
 * functions; everything else is reached through that table:
 *
 *     void* library = dlopen("./model.so", RTLD_NOW | RTLD_LOCAL);
 *     onnxc_get_api_function get_api = (onnxc_get_api_function)dlsym(library, "onnxc_get_api");
 *     const onnxc_api* api = get_api(ONNXC_ABI_VERSION);
 *
 *     char error[ONNXC_ERROR_SIZE];
 *     onnxc_instance* instance = NULL;
 *     if (api->create(NULL, &instance, error, sizeof error) != ONNXC_OK) fail(error);
 *
 *     int64_t dims[] = {1, 1, 64, 64, 64};
 *     onnxc_value x = {.dtype = ONNXC_FLOAT32, .rank = 5, .dims = dims, .data = voxels, .bytes = sizeof voxels};
 *     onnxc_value y = {.dtype = ONNXC_FLOAT32, .data = labels, .bytes = sizeof labels};
 *     if (api->run(instance, &x, 1, &y, 1, NULL) != ONNXC_OK) fail(api->last_error(instance));
 *
 *     api->destroy(instance);
 *
 * `onnxc first.onnx later.onnx -o video.so` makes one library of several graphs, which share their weights. Each is an
 * entry with a table of its own, in place of `api` above:
 *
 *     const onnxc_api* later = NULL;
 *     for (int32_t i = 0; i < api->entry_count; ++i)
 *       if (strcmp(api->entry(i)->entry_name, "later") == 0) later = api->entry(i);
 *
 * Threads: the table and what it says of the model may be read from any thread. An instance runs one thing at a time:
 * a call on an instance that is busy returns ONNXC_BUSY and touches nothing. Many instances, of one model or of
 * several, run at once on as many threads as one likes; their weights are shared.
 *
 * Errors: a call that fails returns a status and leaves the instance usable. Values are checked (count, kind, dtype,
 * rank, dims, null pointers, bytes, alignment) before any memory of theirs is read or written.
 *
 * Manners: nothing is printed, no signal handler or exit handler is installed, dlopen runs no code of ours, worker
 * threads start with the first run that needs them and block all signals, a child of fork() may go on using an
 * instance, the floating-point environment and (on success) errno are as they were. Once every instance is destroyed,
 * dlclose frees everything. The results do not depend on the number of threads.
 *
 * Compatibility: structs and the table grow at their end only. A struct that the caller fills starts with its own size,
 * so that a newer model.so knows which fields an older caller has; zero is the default of every field.
 */
#ifndef ONNXC_H
#define ONNXC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ONNXC_ABI_VERSION 1u

/* Enough for any error text, with its terminating zero; longer texts are cut. */
#define ONNXC_ERROR_SIZE 1024

/* Element types: the numbers of ONNX's TensorProto.DataType. */
typedef int32_t onnxc_dtype;
enum {
  ONNXC_UNDEFINED = 0,
  ONNXC_FLOAT32 = 1,
  ONNXC_UINT8 = 2,
  ONNXC_INT8 = 3,
  ONNXC_UINT16 = 4,
  ONNXC_INT16 = 5,
  ONNXC_INT32 = 6,
  ONNXC_INT64 = 7,
  ONNXC_STRING = 8,
  ONNXC_BOOL = 9, /* one byte, 0 or 1 */
  ONNXC_FLOAT16 = 10,
  ONNXC_FLOAT64 = 11,
  ONNXC_UINT32 = 12,
  ONNXC_UINT64 = 13,
  ONNXC_COMPLEX64 = 14,
  ONNXC_COMPLEX128 = 15,
  ONNXC_BFLOAT16 = 16,
  ONNXC_FLOAT8E4M3FN = 17,
  ONNXC_FLOAT8E4M3FNUZ = 18,
  ONNXC_FLOAT8E5M2 = 19,
  ONNXC_FLOAT8E5M2FNUZ = 20,
  ONNXC_UINT4 = 21,
  ONNXC_INT4 = 22,
  ONNXC_FLOAT4E2M1 = 23,
  ONNXC_FLOAT8E8M0 = 24,
  ONNXC_UINT2 = 25,
  ONNXC_INT2 = 26
};

typedef int32_t onnxc_status;
enum {
  ONNXC_OK = 0,
  ONNXC_INVALID_ARGUMENT = 1, /* a null pointer, an index or an option out of range, values that overlap */
  ONNXC_WRONG_COUNT = 2,      /* not as many inputs or outputs as the model has */
  ONNXC_WRONG_KIND = 3,       /* a sequence instead of a tensor */
  ONNXC_WRONG_DTYPE = 4,
  ONNXC_WRONG_RANK = 5,
  ONNXC_WRONG_DIMS = 6,   /* a dim that the model does not take, or dims that contradict each other */
  ONNXC_SHORT_BUFFER = 7, /* fewer bytes than the dims need */
  ONNXC_INVALID_DATA = 8, /* an element that the model cannot take, such as an index out of range */
  ONNXC_OUT_OF_MEMORY = 9,
  ONNXC_UNSUPPORTED_CPU = 10,    /* the model was compiled for a CPU that this one is not */
  ONNXC_UNSUPPORTED_DEVICE = 11, /* the model has no code for it, or it is not there */
  ONNXC_BUSY = 12,               /* the instance is in another call; nothing was touched */
  ONNXC_STOPPED = 13,            /* a step hook asked to stop */
  ONNXC_INTERNAL_ERROR = 14      /* a bug of onnxc */
};

/* Places of values and of a model's runs: the host, or a GPU of either vendor. ONNXC_HIP is the older name. */
enum { ONNXC_CPU = 0, ONNXC_GPU = 1, ONNXC_HIP = ONNXC_GPU };

/* An element of a tensor of strings: `size` bytes of any kind, without a terminating zero. The memory that an output
 * points to belongs to the model, to the instance, or to an input of that run: it lasts until the next call on the
 * instance, as long as the inputs' bytes stay. */
typedef struct onnxc_string {
  const char* text; /* null is fine when size is 0 */
  int64_t size;
} onnxc_string;

/* The kind of a value. Models of this version take and give tensors only. */
enum { ONNXC_TENSOR = 0, ONNXC_SEQUENCE = 1, ONNXC_OPTIONAL = 2 };

/* An input or an output. Zero it, then set what you need.
 *
 * A tensor's elements are dense and row-major. Their address is a multiple of their size, of 8 for larger ones; else
 * the run is refused. A CPU asks for no more (a multiple of 64 is best). Memory of a GPU that does not begin at a
 * multiple of 16 is copied, an input before the kernels and an output after them.
 *
 * Elements of 4 and of 2 bits are packed, the first in the lowest bits of the first byte; unused bits of the last byte
 * are 0 in outputs. Those of strings are onnxc_string, 16 bytes each (only on the CPU).
 *
 * Sequences (later): data points to bytes / sizeof(onnxc_value) values. */
typedef struct onnxc_value {
  int32_t kind; /* ONNXC_TENSOR */
  onnxc_dtype dtype;
  int32_t device;      /* the place of the data: ONNXC_CPU, or ONNXC_GPU for memory of the instance's GPU */
  int32_t rank;        /* output: ignored when dims is null */
  const int64_t* dims; /* `rank` of them, in elements; output: null, or dims that must equal the model's own */
  void* data;          /* null is fine when the tensor has no elements; output: null asks onnxc_allocate_output */
  int64_t bytes;       /* size of the memory at data; may be more than the tensor needs */
  void* extension;     /* null */
} onnxc_value;

/* The model's facts about an input, an output, or a tensor that a step writes. */
typedef struct onnxc_value_info {
  const char* name; /* UTF-8, as in the ONNX file */
  onnxc_dtype dtype;
  int32_t rank;
  const char* const* dims; /* `rank` texts: "1", "N", "2*D + 1"; expressions over the inputs' symbols, as Python's */
  int32_t kind;            /* ONNXC_TENSOR */
} onnxc_value_info;

/* One executor of the model, with its own working memory. */
typedef struct onnxc_instance onnxc_instance;

/* A host application's own threads. Calls body(body_context, begin, end) until [0, tasks) is covered, each task once,
 * in pieces of any size on any threads, and returns when all calls have returned. At most onnxc_options.threads calls
 * make progress at once: further ones wait. */
typedef void (*onnxc_parallel_body)(void* body_context, int64_t begin, int64_t end);
typedef void (*onnxc_parallel_for)(void* host_context, int64_t tasks, onnxc_parallel_body body, void* body_context);

enum {
  /* All instances of this model that set it share one pool of threads. While one of them uses the pool, the others run
   * only on their calling threads. */
  ONNXC_SHARED_POOL = 1,
  /* For tests: fills outputs and working memory with 0xff bytes (NaN) before each run, so that reading what was never
   * written shows. Also set by a non-empty environment variable ONNXC_POISON. */
  ONNXC_POISON = 2,
  /* ONNXC_GPU: the kernels of a run are launched as one graph of HIP or CUDA, which is captured by the first run with
   * its dims and device pointers, and replayed by those that follow: for models of many short kernels. Pointers to host
   * memory may change, their contents are copied in and out by each run. The last eight graphs are kept. It has no
   * effect on a run with a hook, in a capture of the caller's, and on a model in which the host decides (see
   * onnxc_run_options.stream). */
  ONNXC_GPU_GRAPH = 4,
  ONNXC_HIP_GRAPH = ONNXC_GPU_GRAPH /* the older name */
};

typedef struct onnxc_options {
  uint32_t struct_size; /* sizeof(onnxc_options) */
  uint32_t flags;
  int32_t device;       /* ONNXC_CPU, or ONNXC_GPU for a model compiled with --target gpu or cpu,gpu */
  int32_t device_index; /* which GPU */
  /* Threads that a run may use, the calling one among them. 0: ONNXC_THREADS or OMP_NUM_THREADS of the environment,
   * else as many as the affinity mask and the cgroup's quota allow. */
  int32_t threads;
  int32_t reserved;
  onnxc_parallel_for parallel_for; /* null: threads of the runtime's own */
  void* parallel_for_context;
  /* An instance of this library, such as one of another entry, on the same device: the new one shares its states, those
   * of equal name. Null: it has states of its own. Either may be destroyed first. */
  onnxc_instance* states_of;
} onnxc_options;

/* Gives memory for an output whose data is null: called once the dims are known, before it is written. Returns null
 * when there is none (the run ends with ONNXC_OUT_OF_MEMORY); the memory is the caller's. */
typedef void* (*onnxc_allocate_output)(void* context, int32_t output, onnxc_dtype dtype, int32_t rank,
                                       const int64_t* dims, int64_t bytes);

enum { ONNXC_BEFORE_STEP = 0, ONNXC_AFTER_STEP = 1 };

/* The name of a step, in the texts of step_name, step_nodes and step_operators. */
typedef struct onnxc_step_info {
  const char* name;
  const char* nodes;
  const char* operators;
} onnxc_step_info;

/* The places of a step's nodes in the program that the model was exported from, as far as the file says them. Each text
 * has a line for each node, in the order of step_nodes, which may be empty; or it is "". */
typedef struct onnxc_step_source {
  const char* modules; /* of PyTorch: "skip_layers.upsample" */
  const char* lines;   /* "monai/networks/blocks/dynunet_block.py:242" */
  const char* code;    /* of that line: "out = torch.cat((out, skip), dim=1)" */
} onnxc_step_source;

/* Called on the calling thread before and after each step. It may call the table's step_* functions on this instance,
 * step_output_data for the outputs of this step after it. Another result than 0 ends the run with ONNXC_STOPPED. */
typedef int32_t (*onnxc_step_hook)(void* context, onnxc_instance* instance, int32_t step, int32_t when);

enum {
  /* GPU: runs in a stream of the instance's own, which waits for no stream of the caller's: what the inputs hold on the
   * GPU is complete when the run is called. */
  ONNXC_OWN_STREAM = 1,
  /* GPU: a run in the default stream returns when all is enqueued, as one in a named stream does. */
  ONNXC_ENQUEUE = 2
};

typedef struct onnxc_run_options {
  uint32_t struct_size; /* sizeof(onnxc_run_options) */
  uint32_t flags;       /* ONNXC_OWN_STREAM or ONNXC_ENQUEUE */
  onnxc_allocate_output allocate_output;
  void* allocate_context;
  onnxc_step_hook hook;
  void* hook_context;
  /* GPU: the hipStream_t or CUstream of the instance's GPU to run in; CPU: null. Null is the default stream, as
   * everywhere in HIP and CUDA: what it was given before (PyTorch's default stream is this one) is waited for, and what
   * is given to it later waits. A run in it returns when it is done, unless it has ONNXC_ENQUEUE; if all values are in
   * host memory, it runs as with ONNXC_OWN_STREAM, beside those of other instances. In a named stream a run returns
   * when all is enqueued; only these runs block until the stream has come to them:
   * - if an output, or an input, is host memory, since it is copied;
   * - of a model in which the host decides (sizes that depend on data; an If, a Loop, a Scan): before each such step it
   *   waits for the kernels before it and reads what they computed;
   * - the first with larger dims, or with a graph to capture (ONNXC_GPU_GRAPH), which may make room in the memory of
   * the run before;
   * - with a hook, after each step.
   *
   * A run in a stream that the caller captures becomes part of the caller's graph. Calls that would block it are
   * refused, and leave the capture as it was: memory of the host, a hook, a model in which the host decides,
   * ONNXC_POISON, and dims that need more working memory than the runs before. The graph uses that memory: it must not
   * be launched beside another run of the instance, nor after one with larger dims.
   *
   * An instance that runs in another stream than before waits there for its last run, and is destroyed when that is
   * done. The current device (or CUDA context) of the calling thread is as it was, after each call and in each
   * callback. */
  void* stream;
} onnxc_run_options;

/* A run over a volume in windows, and what it was: onnxc_volume.h. */
typedef struct onnxc_volume onnxc_volume;
typedef struct onnxc_volume_result onnxc_volume_result;

/* All that a model can do. */
typedef struct onnxc_api {
  uint32_t abi_version; /* ONNXC_ABI_VERSION of the header that the model was built with */
  uint32_t table_size;  /* sizeof(onnxc_api) of that header */

  /* The model. Texts and infos live as long as the library is loaded. */
  const char* onnxc_version; /* "0.1.0" */
  const char* target; /* "cpu x86-64-v4", "cpu x86-64-v3, cpu x86-64-v4", "hip gfx942, cpu x86-64-v4", "cuda sm_80" */
  const char* information; /* JSON: hash of the ONNX file, compile options, rules for the inputs' dims */
  int64_t weights_bytes;   /* of all entries */
  int32_t input_count;
  int32_t output_count;
  int32_t step_count;
  int32_t symbol_count;
  const onnxc_value_info* (*input)(int32_t index); /* null when out of range, as for all that follow */
  const onnxc_value_info* (*output)(int32_t index);
  const char* (*symbol)(int32_t index); /* symbolic dims, such as "N": the inputs', then those that only a run knows */

  /* The steps that a run on the CPU executes, in order; in a model for only a GPU, those of a run on it. */
  const char* (*step_name)(int32_t step);      /* "conv_direct 3x3x3 64->64" */
  const char* (*step_nodes)(int32_t step);     /* names of the ONNX nodes that it computes, one a line */
  const char* (*step_operators)(int32_t step); /* their operator types, one a line */
  int32_t (*step_output_count)(int32_t step);  /* tensors that it materialises */
  const onnxc_value_info* (*step_output)(int32_t step, int32_t output);

  const char* (*status_text)(onnxc_status status); /* "wrong dtype" */

  /* Makes an instance. Options may be null. On failure *instance is null and error, when it is not null, gets a text
   * of at most error_size bytes with its terminating zero. */
  onnxc_status (*create)(const onnxc_options* options, onnxc_instance** instance, char* error, size_t error_size);
  /* Ends its threads and frees its memory. Null is fine. The instance must not be in another call. */
  void (*destroy)(onnxc_instance* instance);
  /* The error of the last failed call on this instance, naming the input and the dim; "" if nothing failed. Valid until
   * the next call on the instance. */
  const char* (*last_error)(onnxc_instance* instance);

  /* Computes the dims of the outputs from those of the inputs, before a run: input_dims[i] points to the dims of input
   * i, output_dims[i] to room for the dims of output i (ranks as in input() and output()). A dim that only a run can
   * know is -1: give such an output no data and an onnxc_allocate_output, or enough memory, and ask run_output_dims
   * afterwards. */
  onnxc_status (*output_dims)(onnxc_instance* instance, const int64_t* const* input_dims, int64_t* const* output_dims);

  /* Runs the model: inputs in the order of input(), outputs in that of output(). Options may be null. Working memory is
   * planned when the inputs' dims change and kept while they stay; a run with the dims of the one before it allocates
   * nothing. */
  onnxc_status (*run)(onnxc_instance* instance, const onnxc_value* inputs, int32_t input_count,
                      const onnxc_value* outputs, int32_t output_count, const onnxc_run_options* options);

  /* For the dims bound last (by output_dims or run): values of the symbols (-1 for one that only a run knows and none
   * has given), bytes of working memory. */
  onnxc_status (*symbol_values)(onnxc_instance* instance, int64_t* values);
  int64_t (*working_bytes)(onnxc_instance* instance);

  /* For hooks. Floating-point operations of a step for the dims bound last; 0 when it is not known, as on a
   * GPU. */
  double (*step_operations)(onnxc_instance* instance, int32_t step);
  onnxc_status (*step_output_dims)(onnxc_instance* instance, int32_t step, int32_t output, int64_t* dims);
  /* Copies what the step wrote into row-major memory of `bytes` bytes. Only from the hook after that step. */
  onnxc_status (*step_output_data)(onnxc_instance* instance, int32_t step, int32_t output, void* data, int64_t bytes);

  /* Threads that runs of this instance may use. */
  int32_t (*threads)(onnxc_instance* instance);

  /* For the dims bound last: the least working memory that any placement of the tensors between steps needs, the most
   * that is in use during one step. 0 on a GPU. */
  int64_t (*least_working_bytes)(onnxc_instance* instance);

  /* The dims that an output had in the last run, for one whose size only a run knows and that the caller gave memory
   * for: `dims` has room for as many as its rank. */
  onnxc_status (*run_output_dims)(onnxc_instance* instance, int32_t output, int64_t* dims);

  /* The steps that a run of this instance executes and its hook sees: on a GPU they are others than the steps above.
   * instance_step fails for a step out of range. */
  int32_t (*instance_step_count)(onnxc_instance* instance);
  onnxc_status (*instance_step)(onnxc_instance* instance, int32_t step, onnxc_step_info* info);

  /* The tensors that such a step materialises, for step_output_dims and step_output_data; null for another index. */
  int32_t (*instance_step_output_count)(onnxc_instance* instance, int32_t step);
  const onnxc_value_info* (*instance_step_output)(onnxc_instance* instance, int32_t step, int32_t output);

  /* How many graphs runs of this instance have captured (ONNXC_GPU_GRAPH). If the number grows with every run, dims
   * or device pointers change every time, and capturing costs more than it gains. */
  int64_t (*captured_graphs)(onnxc_instance* instance);

  /* Runs the model over a volume in windows (onnxc_volume.h). volume_output_dims gives, for each output that is not
   * ONNXC_VOLUME_NOTHING, the channels and the spatial dims of what is written: output_dims[i] has room for one more
   * than the volume's rank. Labels have no channels, and 1 stands there. The members nan_voxels, runs and seconds of
   * `result`, which may be null, count up to the point that a failed run reached. */
  onnxc_status (*volume_output_dims)(onnxc_instance* instance, const onnxc_volume* volume, int64_t* const* output_dims);
  onnxc_status (*run_volume)(onnxc_instance* instance, const onnxc_volume* volume, onnxc_volume_result* result);

  /* The CPU in `target` whose code an instance made now would run: the last whose features this machine has, or with
   * several the one that the environment variable ONNXC_MARCH names. "x86-64-v4"; null if there is none. */
  const char* (*cpu_march)(void);

  /* For the steps that a run of this instance executes: the sources of their nodes, and the bytes of working memory
   * that hold tensors during one, for the dims bound last (0 on a GPU). */
  onnxc_status (*instance_step_source)(onnxc_instance* instance, int32_t step, onnxc_step_source* source);
  int64_t (*instance_step_bytes)(onnxc_instance* instance, int32_t step);
  /* Bytes of the tensors that such a step reads and writes, weights included, each counted once, for the dims bound
   * last: the least that it moves if no cache holds any of them. 0 if it is not known, as on a GPU. */
  double (*instance_step_traffic)(onnxc_instance* instance, int32_t step);

  /* The architecture in `target` whose code the instance runs: "x86-64-v4", "gfx942" or "sm_90a". */
  const char* (*instance_architecture)(onnxc_instance* instance);

  /* A library that was compiled from several graphs has an entry for each, in the order in which onnxc was given them.
   * An entry has a table of its own, and the instances that its `create` makes run its graph; functions that take an
   * instance are the same in all tables. onnxc_get_api returns the table of the first entry. The library holds
   * weights that are equal once, and `weights_bytes` counts those of all entries. */
  const char* entry_name; /* of this table's entry: its ONNX file's without folder and ending; "model" of one graph */
  int32_t entry_count;    /* at least 1 */
  const struct onnxc_api* (*entry)(int32_t index); /* null when out of range */

  /* States, of a model compiled with --state: inputs whose memory the instance holds, and to which a run writes an
   * output for the next run. They are not among the inputs and outputs, and have the input's name. A state is zero in
   * the first run, and again in one whose inputs give it other dims than it has. A run that fails at a step leaves
   * states as far as it came; one that is refused does not change them. */
  int32_t state_count;
  const onnxc_value_info* (*state)(int32_t index); /* null when out of range */
  /* The dims that a state has. One whose dims depend on the inputs' has none before the first run. */
  onnxc_status (*state_dims)(onnxc_instance* instance, int32_t state, int64_t* dims);
  /* Copies a state to or from host memory, once all runs before are done. `dims` may be null in get_state, else they
   * must be those of the state. A state that was set must have the dims that the next run gives it. */
  onnxc_status (*get_state)(onnxc_instance* instance, int32_t state, const onnxc_value* value);
  onnxc_status (*set_state)(onnxc_instance* instance, int32_t state, const onnxc_value* value);
  /* Makes all states zero, also those that only instances have which share them. */
  onnxc_status (*reset_states)(onnxc_instance* instance);
} onnxc_api;

/* The table, or null when the model is older than the ABI that the caller asks for (give ONNXC_ABI_VERSION). */
typedef const onnxc_api* (*onnxc_get_api_function)(uint32_t abi_version);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const onnxc_api*
onnxc_get_api(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif

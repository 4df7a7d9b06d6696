/* Runs a model.so on float32 inputs of ones, symbolic dims taken as 16: cc run_model.c -IPREFIX/include -o run_model */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "onnxc.h"

static void fail(const char* text) {
  fprintf(stderr, "run_model: %s\n", text);
  exit(1);
}

/* Memory for an output, once its dims are known; kept in the value that the caller reads afterwards. */
static void* allocate(void* outputs, int32_t index, onnxc_dtype type, int32_t rank, const int64_t* dims,
                      int64_t bytes) {
  printf("output %" PRId32 ":", index);
  for (int32_t axis = 0; axis < rank; ++axis) printf(" %" PRId64, dims[axis]);
  printf(" (%" PRId64 " bytes of dtype %" PRId32 ")\n", bytes, type);
  return ((onnxc_value*)outputs)[index].data = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64);
}

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library == NULL) fail(argc == 2 ? dlerror() : "usage: run_model ./model.so");
  onnxc_get_api_function get_api = (onnxc_get_api_function)dlsym(library, "onnxc_get_api");
  const onnxc_api* api = get_api != NULL ? get_api(ONNXC_ABI_VERSION) : NULL;
  if (api == NULL) fail("not a model that onnxc compiled");

  char error[ONNXC_ERROR_SIZE];
  onnxc_instance* instance = NULL;
  if (api->create(NULL, &instance, error, sizeof error) != ONNXC_OK) fail(error);

  onnxc_value* inputs = calloc((size_t)api->input_count + 1, sizeof *inputs);
  for (int32_t i = 0; i < api->input_count; ++i) {
    const onnxc_value_info* info = api->input(i);
    int64_t* dims = calloc((size_t)info->rank + 1, sizeof *dims);
    int64_t elements = 1;
    for (int32_t axis = 0; axis < info->rank; ++axis) {
      char* end;
      dims[axis] = strtoll(info->dims[axis], &end, 10);
      if (*end != 0) dims[axis] = 16; /* a symbol */
      elements *= dims[axis];
    }
    float* data = aligned_alloc(64, (4 * (size_t)elements + 63) / 64 * 64);
    for (int64_t j = 0; j < elements; ++j) data[j] = 1;
    inputs[i] =
        (onnxc_value){.dtype = ONNXC_FLOAT32, .rank = info->rank, .dims = dims, .data = data, .bytes = 4 * elements};
  }
  /* A null `data` asks the allocator: no size has to be known beforehand. */
  onnxc_value* outputs = calloc((size_t)api->output_count + 1, sizeof *outputs);
  for (int32_t i = 0; i < api->output_count; ++i) outputs[i].dtype = api->output(i)->dtype;
  onnxc_run_options options = {.struct_size = sizeof options, .allocate_output = allocate, .allocate_context = outputs};
  if (api->run(instance, inputs, api->input_count, outputs, api->output_count, &options) != ONNXC_OK)
    fail(api->last_error(instance));
  api->destroy(instance);
  return 0;
}

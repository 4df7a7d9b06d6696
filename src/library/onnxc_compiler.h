/* The compiler inside of another program: link libonnxc_compiler.so. It prints nothing, ends no process and changes no
 * signal handler, locale or floating-point environment; it runs clang, as the command does. Any thread may call it,
 * several at once. */
#ifndef ONNXC_COMPILER_H
#define ONNXC_COMPILER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a compile ended, by whose fault; the command's exit codes. */
typedef enum onnxc_compile_status {
  ONNXC_COMPILE_OK = 0,
  ONNXC_COMPILE_MODEL = 1, /* the model, the machine or the files are at fault */
  ONNXC_COMPILE_USAGE = 2, /* the request is: an unknown option, no model */
  ONNXC_COMPILE_BUG = 3    /* onnxc is: please report it */
} onnxc_compile_status;

/* The kind of a message of a compile. */
typedef enum onnxc_compile_message {
  ONNXC_MESSAGE_OUTPUT = 0,   /* what an option asked for: shapes, IR, reports; lines are complete */
  ONNXC_MESSAGE_TIMES = 1,    /* of --time-passes */
  ONNXC_MESSAGE_DETAIL = 2,   /* a stage has ended, and how long it took */
  ONNXC_MESSAGE_PROGRESS = 3, /* a stage begins */
  ONNXC_MESSAGE_WARNING = 4
} onnxc_compile_message;

/* Set every member that is not named to 0. */
typedef struct onnxc_compile_request {
  size_t size;       /* sizeof(onnxc_compile_request) */
  const char* model; /* the file; with model_bytes its name in messages, in whose folder external data is looked for */
  const void* model_bytes; /* the model itself, which must stay until the call returns; NULL reads the file */
  size_t model_size;
  const char* output;         /* the file to write; NULL if the options only ask for shapes, IR or reports */
  const char* const* options; /* as words of the command: "--march", "x86-64-v3" */
  size_t option_count;
  /* Called by the thread that called onnxc_compile, with text in UTF-8; NULL hears nothing. */
  void (*message)(void* context, onnxc_compile_message kind, const char* text);
  void* context;
} onnxc_compile_request;

/* Writes the output file whole, or not at all. If it fails, up to error_size bytes of `error` get the reason in
 * UTF-8, cut and ended by a 0; `error` may be NULL. */
__attribute__((visibility("default"))) onnxc_compile_status onnxc_compile(const onnxc_compile_request* request,
                                                                          char* error, size_t error_size);

/* "0.1.0" */
__attribute__((visibility("default"))) const char* onnxc_compiler_version(void);

#ifdef __cplusplus
}
#endif

#endif

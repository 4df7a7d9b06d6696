// A C++ compiler that has been taken over: it tries what onnxc's sandbox forbids, notes what it could do in
// $TMPDIR/done, and then compiles as clang does. HOSTILE_FOLDER is a folder that is no business of the compile.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static FILE* notes;

static void note(const char* what, int worked) { fprintf(notes, "%s %s\n", what, worked ? "done" : strerror(errno)); }

static const char* at(const char* folder, const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

int main(int count, char** arguments) {
  (void)count;
  const char* other = getenv("HOSTILE_FOLDER");
  notes = fopen(at(getenv("TMPDIR"), "done"), "a");
  if (notes == NULL) return 1;
  note("read", open(at(other, "secret"), O_RDONLY) >= 0);
  note("list", open(other, O_RDONLY | O_DIRECTORY) >= 0);
  note("write", open(at(other, "secret"), O_WRONLY) >= 0);
  note("make", open(at(other, "made"), O_WRONLY | O_CREAT, 0600) >= 0);
  note("make_folder", mkdir(at(other, "folder"), 0700) == 0);
  note("truncate", truncate(at(other, "cut"), 0) == 0);
  note("remove", unlink(at(other, "removed")) == 0);
  note("socket", socket(AF_INET, SOCK_STREAM, 0) >= 0);
  note("unix_socket", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
  note("trace", ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0);
  note("namespace", syscall(SYS_unshare, 0) == 0);
  fclose(notes);
  arguments[0] = "clang++-19";
  execvp(arguments[0], arguments);
  return 1;
}

#include "support/processes/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "support/diagnostics.h"
#include "support/file_descriptor.h"
#include "support/text.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

void check(bool holds, const char* what) {
  user_check(holds, "cannot enter the sandbox: {}: {}; --no-sandbox compiles without it", what, std::strerror(errno));
}

// ------------------------------------------------------------------------------------------------- files (Landlock)

constexpr uint64_t reads = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t runs = reads | LANDLOCK_ACCESS_FS_EXECUTE;
// Access rights of the second and third version; older headers do not name the third's.
constexpr uint64_t renames_elsewhere = LANDLOCK_ACCESS_FS_REFER, truncates = uint64_t{1} << 14;
constexpr uint64_t writes = reads | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                            LANDLOCK_ACCESS_FS_REMOVE_DIR | renames_elsewhere | truncates;
// The rights that a rule for a file, rather than a folder, may hold.
constexpr uint64_t of_files =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE | truncates;
// All of the first version: what is not named here would stay allowed everywhere.
constexpr uint64_t first_version = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

// The rights that the kernel's version of Landlock can forbid; 0 if it has none.
uint64_t known_accesses() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, size_t{0}, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return 0;
  return first_version | (version >= 2 ? renames_elsewhere : 0) | (version >= 3 ? truncates : 0);
}

void allow(const FileDescriptor& ruleset, const fs::path& path, uint64_t accesses) {
  const FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP)) return;
  const std::string name = quote(path.string());
  check(file.is_open(), name.c_str());
  struct stat status{};
  check(fstat(file.get(), &status) == 0, name.c_str());
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(status.st_mode) ? accesses : accesses & of_files;
  rule.parent_fd = file.get();
  check(syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0, name.c_str());
}

bool restrict_files(const SandboxRules& rules) {
  const uint64_t known = known_accesses();
  if (known == 0) return false;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = known;
  const FileDescriptor ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  check(ruleset.is_open(), "landlock_create_ruleset");
  for (const fs::path& path : rules.readable) allow(ruleset, path, reads & known);
  for (const fs::path& path : rules.runnable) allow(ruleset, path, runs & known);
  for (const fs::path& path : rules.writable) allow(ruleset, path, writes & known);
  check(syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0, "landlock_restrict_self");
  return true;
}

// -------------------------------------------------------------------------------------------------- calls (seccomp)

#if defined(__x86_64__)
constexpr uint32_t processor = AUDIT_ARCH_X86_64;
constexpr uint32_t first_foreign_call = 0x40000000;  // those of x32 have this bit
#elif defined(__aarch64__)
constexpr uint32_t processor = AUDIT_ARCH_AARCH64;
constexpr uint32_t first_foreign_call = UINT32_MAX;
#endif

constexpr std::array<uint32_t, 32> forbidden_calls = {
    // connections; a ring of io_uring would make them by itself
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_io_uring_setup,
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_kcmp,
    // the machine, and ways out of what is forbidden here
    SYS_mount, SYS_umount2, SYS_move_mount, SYS_open_tree, SYS_fsopen, SYS_fsmount, SYS_pivot_root, SYS_chroot,
    SYS_unshare, SYS_setns, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key,
    SYS_init_module, SYS_finit_module, SYS_kexec_load};

// The filter's program: calls of another processor's table, and those of the list, fail with EPERM.
std::vector<sock_filter> filter_program() {
  constexpr auto load = [](uint32_t offset) { return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offset}; };
  constexpr sock_filter fail = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM};
  constexpr sock_filter pass = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  // Skips the next statement if it does not hold.
  constexpr auto equal = [](uint32_t value) { return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value}; };
  std::vector<sock_filter> program = {
      load(offsetof(seccomp_data, arch)), {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, processor},          fail,
      load(offsetof(seccomp_data, nr)),   {BPF_JMP | BPF_JGE | BPF_K, 0, 1, first_foreign_call}, fail};
  for (const uint32_t call : forbidden_calls) program.insert(program.end(), {equal(call), fail});
  program.push_back(pass);
  return program;
}

bool restrict_calls() {
  uint32_t action = SECCOMP_RET_ERRNO;
  if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) return false;
  std::vector<sock_filter> statements = filter_program();
  const sock_fprog program = {static_cast<unsigned short>(statements.size()), statements.data()};
  check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
  return true;
}

}  // namespace

std::string enter_sandbox(const SandboxRules& rules) {
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  std::string lacks;
  if (!restrict_files(rules)) lacks = "this kernel has no Landlock, so that files are not kept from the compile";
  if (!restrict_calls()) lacks += std::string(lacks.empty() ? "" : "; ") + "it has no seccomp, so that sockets are not";
  return lacks;
}

}  // namespace onnxc

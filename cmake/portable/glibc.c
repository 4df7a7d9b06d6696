// What objects that were compiled against a newer glibc take from it, where ONNXC_GLIBC lacks it.

// New in glibc 2.32: whether libstdc++'s reference counts may do without atomic instructions. They may not.
char __libc_single_threaded = 0;

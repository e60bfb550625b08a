// A helper with `__local` arguments must be inlined into the kernel that owns the memory. If a compiler leaves it a
// function of its own, LLVM may propagate the only array that it is ever called with into it, by name; PoCL (3.1),
// which makes the local arrays named by a kernel itself private to its groups, does not find that one, and groups on
// several threads share it. tests/kernels/local_arrays_test.cpp looks for such arrays.
#define LOCAL_HELPER static inline __attribute__((always_inline))

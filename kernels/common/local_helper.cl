// A helper that is given `__local` memory must be part of the kernel that has it. Where a compiler leaves it a function of
// its own, LLVM may put the one array that it is ever called with into it, by name; PoCL (3.1), which makes the local arrays
// that a kernel itself names its groups' own, does not find that one, and groups on several threads share it.
// tests/kernels/local_arrays_test.cpp looks for such arrays.
#define LOCAL_HELPER static inline __attribute__((always_inline))

// Sizes of operators' arrays and launches, and offsets of the arrays. operators.cl documents their contents.

// Bytes from the arena's start; an owner with an arena defines each.
#ifndef HAS_ARENA
#define MODES_AT 0
#define USED_AT 0
#define COEFFICIENTS_AT 0
#define RESTS_AT 0
#define POWERS_AT 0
#define IMAGE_POWERS_AT 0
#define LOG_SUMS_AT 0
#define NOISES_AT 0
#define ERRORS_AT 0
#define FACTORS_AT 0
#define ON_SURFACE_AT 0
#define PRIORS_AT 0
#define NOISE_RECORDS_AT 0
#define MEMORIES_AT 0
#define INCOMPLETE_AT 0
#define AMPLITUDES_AT 0
#define WAVES_AT 0
#endif

#ifndef MICROPHONES  // all of the array
#define MICROPHONES 1024
#endif
#ifndef USED  // without those left out
#define USED MICROPHONES
#endif
#ifndef MODES  // modes of the frequency that has most, rounded up to a multiple of 32
#define MODES 416
#endif
#ifndef PIXELS
#define PIXELS 1024
#endif
#ifndef PLANES
#define PLANES 1
#endif
#define MODE_BLOCKS (MODES / 32)
#define MICROPHONE_BLOCKS ((MICROPHONES + 31) / 32)
#define PIXEL_BLOCKS ((PIXELS + 31) / 32)
#define ERROR_TERMS 8
#ifndef MOST_OF_UNRESOLVED  // scale of the unresolved part over that of the weakest modes
#define MOST_OF_UNRESOLVED 5.0f
#endif
#define SOURCE_VALUES MICROPHONES
#define IMAGE_PIXELS PIXELS

// Sizes of operators' arrays and launches, and offsets of the arrays. operators.cl documents their contents.

//! arena MODES USED COEFFICIENTS RESTS POWERS IMAGE_POWERS LOG_SUMS NOISES ERRORS FACTORS ON_SURFACE PRIORS
//! arena NOISE_RECORDS MEMORIES INCOMPLETE AMPLITUDES WAVES

//! default MICROPHONES 1024  // all of the array
//! default USED MICROPHONES  // without those left out
//! default MODES 416  // modes of the frequency that has most, rounded up to a multiple of 32
//! default PIXELS 1024
//! default PLANES 1  // images of the surface, then as many of what comes from behind
//! default SHARES 1  // models of each frequency, which differ in the power of what comes from behind
#define MODE_BLOCKS (MODES / 32)
#define MICROPHONE_BLOCKS ((MICROPHONES + 31) / 32)
#define PIXEL_BLOCKS ((PIXELS + 31) / 32)
#define ERROR_TERMS 8
#define STEPS (GRID / SHARES)  // steps of noise of each share
//! default MOST_OF_UNRESOLVED 5.0f  // scale of the unresolved part over that of the weakest modes
#define SOURCE_VALUES MICROPHONES
#define IMAGE_PIXELS PIXELS

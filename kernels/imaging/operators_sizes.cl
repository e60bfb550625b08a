// Sizes of operators' arrays and launches, and offsets of the arrays. operators.cl documents their contents.

//! arena MODES FOLDS SCALES COEFFICIENTS RESTS POWERS IMAGE_POWERS LOG_SUMS NOISES ERRORS FACTORS VIEWS ON_SURFACE PRIORS
//! arena NOISE_RECORDS MEMORIES INCOMPLETE AMPLITUDES WAVES

//! default MICROPHONES 1024  // all of the array
//! default USED MICROPHONES  // without those left out
//! default CLASSES 1  // 4: fields are folded to parity classes
//! default SAMPLES USED  // microphones of a class
//! default CLASS_MODES 416  // modes of the frequency and class that has most, rounded up to a multiple of 32
//! default PIXELS 1024
//! default FOLDED_PIXELS PIXELS  // pixels of a class
//! default PIXEL_LANES 32  // folded pixels per group of operators_images: 8, 16 or 32; 32 for groups of one item
//! default PLANES 1  // images of the surface, then as many of what comes from behind
//! default SHARES 1  // models of each frequency, which differ in the power of what comes from behind
#define MODES (CLASSES * CLASS_MODES)
#define CLASS_BLOCKS (CLASS_MODES / 32)
#define MODE_BLOCKS (CLASSES * CLASS_BLOCKS)
#define SAMPLE_BLOCKS ((SAMPLES + 31) / 32)
#define REST_BLOCKS (CLASSES * SAMPLE_BLOCKS)
#define PIXEL_BLOCKS ((FOLDED_PIXELS + PIXEL_LANES - 1) / PIXEL_LANES)
#define ERROR_TERMS 8
#define STEPS (GRID / SHARES)  // steps of noise of each share
//! default MOST_OF_UNRESOLVED 5.0f  // scale of the unresolved part over that of the weakest modes
#define SOURCE_VALUES MICROPHONES
#define IMAGE_PIXELS PIXELS

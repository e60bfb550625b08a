// Shared by the two kernels of the incremental front end popcount: sizes, and offsets of arrays in their arena.

//! needs common/complex.cl
//! needs common/local_helper.cl
//! needs frontend/common/sliding_dft.cl

// 32-bit words of one bit-time on the wire.
#ifndef WIRE_WORDS
#define WIRE_WORDS 32
#endif
// Highest moment, 0 to 2.
#ifndef ORDER
#define ORDER 1
#endif
// Sum of eight words' signs at or above which they count as clipped.
#ifndef CLIP_SUM
#define CLIP_SUM 244
#endif
// Bytes from the arena's start; an owner with an arena defines each.
#ifndef HAS_ARENA
#define WIRE_AT 0
#define COEFFICIENTS_AT 0
#define STEPS_AT 0
#define IS_ALIVE_AT 0
#define SUMS_AT 0
#define WEIGHTS_AT 0
#define CHANNEL_OF_AT 0
#define STATE_A_AT 0
#define STATE_B_AT 0
#endif

#define BITS 32
#define MOMENTS (ORDER + 1)
#define CLIP_RUN 8

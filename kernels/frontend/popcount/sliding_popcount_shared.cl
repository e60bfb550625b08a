// Shared by the two kernels of the incremental front end popcount: sizes, and offsets of arrays in their arena.

//! needs common/complex.cl
//! needs common/local_helper.cl
//! needs frontend/common/sliding_dft.cl

//! default WIRE_WORDS 32  // 32-bit words of one bit-time on the wire
//! default ORDER 1  // highest moment, 0 to 2
//! default CLIP_SUM 244  // sum of eight words' signs at or above which they count as clipped
//! arena WIRE COEFFICIENTS STEPS IS_ALIVE SUMS WEIGHTS CHANNEL_OF STATE_A STATE_B

#define BITS 32
#define MOMENTS (ORDER + 1)
#define CLIP_RUN 8

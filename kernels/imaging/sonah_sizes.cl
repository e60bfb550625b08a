// Sizes of sonah's arrays and launches, and offsets of the arrays. sonah.cl documents their contents.

//! needs imaging/sonah_noise.cl

//! arena PROJECTIONS SLOT_MODES SLOT_POWERS COEFFICIENTS SHARES STARTS LIST_MODES LIST_POWERS IMAGE_POWERS NOISES
//! arena LOG_SUMS ERRORS CUTOFFS FACTORS ON_SURFACE NOISE_RECORDS AMPLITUDES MEMORIES INCOMPLETE WAVES

//! default SQUARE 1  // 1: as many rows as columns, and the same pitch along both
//! default MODES 256  // modes per class, a multiple of 32
//! default KEPT 768  // most modes that contribute to images, over all classes
//! default ROWS_OF_ALL 768  // rows of the factors of all frequencies
//! default PART_BLOCKS 1  // blocks of slots per group of sonah_modes
//! default PAIR_PART_BLOCKS PART_BLOCKS  // likewise for fold 4
//! default PIXEL_LANES 32  // folded pixels per group of sonah_images: 4, 8, 16 or 32; 32 for groups of one item
//! default PLANES 1
//! default UPSAMPLE 1
//! default SURFACE_PIXELS 0  // pixels of a curved surface; 0: planes
#define HALF_ROWS ((ROWS + 1) / 2)
#define HALF_COLUMNS ((COLUMNS + 1) / 2)
#define SAMPLES (HALF_ROWS * HALF_COLUMNS)
#define TRIANGLE (HALF_ROWS * (HALF_ROWS + 1) / 2)
#define IMAGE_ROWS (UPSAMPLE * (ROWS - 1) + 1)  // from the first microphone to the last
#define IMAGE_COLUMNS (UPSAMPLE * (COLUMNS - 1) + 1)
#define HALF_IMAGE_ROWS ((IMAGE_ROWS + 1) / 2)
#define HALF_IMAGE_COLUMNS ((IMAGE_COLUMNS + 1) / 2)
// SUMS: sums per folded pixel from which its pixels are computed; VIEWS: pixels that one represents.
#if SURFACE_PIXELS
#define SUMS 1
#define VIEWS 1
#define LIST_PARTS 1
#define PIXELS SURFACE_PIXELS
#define IMAGE_PIXELS SURFACE_PIXELS
#else
#if SQUARE
#define SUMS 8
#define VIEWS 8
#define LIST_PARTS 6
#define PIXELS (HALF_IMAGE_ROWS * (HALF_IMAGE_ROWS + 1) / 2)
#else
#define SUMS 4
#define VIEWS 4
#define LIST_PARTS 4
#define PIXELS (HALF_IMAGE_ROWS * HALF_IMAGE_COLUMNS)
#endif
#define IMAGE_PIXELS (IMAGE_ROWS * IMAGE_COLUMNS)
#endif
#define LIST_STARTS 8
#define PIXEL_BLOCKS ((PIXELS + PIXEL_LANES - 1) / PIXEL_LANES)
#define CLASSES 4
#define BLOCKS_FOR(count) (((count) + 31) / 32)
#define PARTS_OF(blocks, of_part) (((blocks) + (of_part)-1) / (of_part))
#define CLASS_PARTS PARTS_OF(MODES / 32, PART_BLOCKS)
// Square arrays: blocks and parts of folds 0 and 2, of 1 and 3, of 4.
#define STAYING_BLOCKS BLOCKS_FOR(TRIANGLE)
#define SIGNED_BLOCKS BLOCKS_FOR(TRIANGLE - HALF_ROWS)
#define STAYING_PARTS PARTS_OF(STAYING_BLOCKS, PART_BLOCKS)
#define SIGNED_PARTS PARTS_OF(SIGNED_BLOCKS, PART_BLOCKS)
#define PAIR_PARTS PARTS_OF(MODES / 32, PAIR_PART_BLOCKS)
#if SQUARE
#define MODE_PARTS (2 * (STAYING_PARTS + SIGNED_PARTS) + PAIR_PARTS)
#define SLOT_BLOCKS (2 * (STAYING_BLOCKS + SIGNED_BLOCKS) + MODES / 32)
#define PROJECTION_ROWS (2 * (STAYING_BLOCKS + SIGNED_BLOCKS) * TRIANGLE + MODES / 32 * SAMPLES)
#define MOST_BLOCKS (PART_BLOCKS > PAIR_PART_BLOCKS ? PART_BLOCKS : PAIR_PART_BLOCKS)
#else
#define MODE_PARTS (CLASSES * CLASS_PARTS)
#define SLOT_BLOCKS (CLASSES * MODES / 32)
#define PROJECTION_ROWS (SLOT_BLOCKS * SAMPLES)
#define MOST_BLOCKS PART_BLOCKS
#endif
#define SLOTS (32 * SLOT_BLOCKS)
#define SOURCE_VALUES (CLASSES * MODES)

DEFINE_SUM_OF_ITEMS(GROUP)

// Position number `index` of those with a <= b, (b, a) in the order (0, 0), (1, 0), (1, 1), (2, 0) and so on.
static int2 triangle_place(const int index) {
  int b = (int)(0.5f * (sqrt(8.0f * index + 1.5f) - 1.0f));
  b -= b * (b + 1) / 2 > index ? 1 : 0;  // corrects a root that was rounded up, or down
  b += (b + 1) * (b + 2) / 2 <= index ? 1 : 0;
  return (int2)(index - b * (b + 1) / 2, b);
}

// Microphones that are not finite and their neighbours, from which they are filled.

//! default PITCH_X 0.02f  // metres
//! default PITCH_Y 0.02f  // metres
//! default HAS_GAINS 0  // 1: multiply by gains
//! default MIN_NEIGHBOURS 3  // used microphones required for an interpolation
//! default FILL_NEIGHBOURS 16  // most microphones from which a masked one is predicted
//! default LARGEST 1e18f  // Pa; above it squares overflow, so a value counts as not finite
//! default FLAG_MASKED 2  // nearfield::kFlagMaskedMicrophones
//! default FLAG_NON_FINITE 16  // nearfield::kFlagNonFiniteInput

// False for NaN too.
static int is_finite(float2 value) { return fabs(value.x) < LARGEST && fabs(value.y) < LARGEST; }

// Half the side of the smallest square around (row, column) with enough usable microphones, of ROWS x COLUMNS.
#define DEFINE_FILL_RADIUS(qualifiers, space)                                                \
  qualifiers int fill_radius(space const uchar* usable, int row, int column) {               \
    int radius = 0;                                                                          \
    int found = 0;                                                                           \
    while (found < MIN_NEIGHBOURS && radius < (ROWS > COLUMNS ? ROWS : COLUMNS)) {           \
      ++radius;                                                                              \
      found = 0;                                                                             \
      for (int y = max(row - radius, 0); y <= min(row + radius, ROWS - 1); ++y) {            \
        for (int x = max(column - radius, 0); x <= min(column + radius, COLUMNS - 1); ++x) { \
          found += usable[y * COLUMNS + x];                                                  \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
    return radius;                                                                           \
  }

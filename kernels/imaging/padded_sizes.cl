// Sizes of the aperture and of its extrapolation, shared by the stages of pnah.

//! default ROWS 32  // microphones in y
//! default COLUMNS 32  // microphones in x
//! default PADDED_ROWS 96  // after extrapolation
//! default PADDED_COLUMNS 96  // after extrapolation
//! default BEFORE_ROWS 32  // padding above the aperture
//! default BEFORE_COLUMNS 32  // padding left of the aperture
//! default FREQUENCIES 1  // frequencies per frame

// Sizes and choices of the plan, shared by the kernels of beamform.

//! default CHANNELS 64
//! default PIXELS 64
//! default PIXEL_STRIDE 64  // PIXELS rounded up to 64
//! default FREQUENCIES 1
//! default WINDOWS 1  // windows that have sums at once
//! default PARTS 1
//! default FORMULATION 2
//! default PLANE_WAVE 0
//! default REFERENCE 0.0f  // metres from a source
//! default HAS_REFERENCE 0  // 0: the reference is the array's centre
//! default FEWEST_MICROPHONES 4
//! default NEAREST 1e-3f  // metres
//! default REMOVAL 0
//! default SNAPSHOTS 8  // most snapshots of a map
//! default SLOTS 8  // at least SNAPSHOTS
//! default EXPONENT 16.0f

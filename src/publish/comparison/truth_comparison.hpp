#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "publish/comparison/comparison.hpp"

/// `nearfield compare --truth`: compares images with the true field in a simulated capture.
namespace nearfield {

/// Compares the images of the first processor on the plane z = 0, at the frequencies of /truth, with the true field of
/// their quantity: pressure and normal velocity directly, displacement v/(jw), active intensity Re(p v*)/2. Each
/// complex image is rotated by the one phase that brings it nearest to the truth, since its phase refers to its window
/// and the truth's to bit-time 0. Throws NoInputError and DataError: no truth, no such plane, frequency or quantity,
/// other pixels than the capture's microphones.
Comparison compare_with_truth(const std::filesystem::path& capture, const std::filesystem::path& images);

/// Violation of a tolerance: a sentence if the relative L2 of an image, or of a further processor's product, is above
/// `most` or undefined, if values are not finite (a further processor's: in one file only), if tables differ in their
/// number of rows, and if something was not compared; otherwise nullopt.
std::optional<std::string> beyond_tolerance(const Comparison& comparison, double most);

}  // namespace nearfield

#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "publish/comparison/comparison.hpp"

/// `nearfield compare --truth`: images beside the true field that a simulated capture carries.
namespace nearfield {

/// Compares the images of the first processor on the plane z = 0, at the frequencies that /truth has, with the true
/// field of their quantity: pressure and normal velocity as they are, displacement v/(jw), active intensity Re(p v*)/2.
/// Each complex image is turned by the one phase that brings it nearest to the truth, since its phase refers to its
/// window and the truth's to bit-time 0. Throws NoInputError and DataError: no truth, no such plane, frequency or
/// quantity, other pixels than the capture's microphones.
Comparison compare_with_truth(const std::filesystem::path& capture, const std::filesystem::path& images);

/// What is wrong by a tolerance: a sentence where the relative L2 of an image, or of a further processor's product, is
/// above `most` or undefined, where values are not finite (a further processor's: in one file alone), where tables
/// differ in their number of rows, and where something was not compared; else nothing.
std::optional<std::string> beyond_tolerance(const Comparison& comparison, double most);

}  // namespace nearfield

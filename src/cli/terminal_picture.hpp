#pragma once
#include <complex>
#include <span>
#include <string>

#include "core/system/host.hpp"

/// Images drawn with a terminal's characters.
namespace nearfield::cli {

/// An image of phasors, [row][column], row 0 on top.
struct PhasorImage {
  std::span<const std::complex<float>> values;
  int rows = 0;
  int columns = 0;
};

/// Draws the values at a phase of the oscillation, Re(value e^{j phase}) over `top`, in colours from blue over white to
/// red: two pixels per character, as half blocks with 24-bit colours, within `room`. Lines end with a line feed.
std::string draw_moment(const PhasorImage& image, double phase_rad, double top, const TextSize& room);
/// Draws magnitudes over `top` as characters from " " to "@", for outputs without colours.
std::string draw_magnitudes(const PhasorImage& image, double top, const TextSize& room);

}  // namespace nearfield::cli

#include "core/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/settings.hpp"

namespace nearfield {
namespace {

constexpr std::array<FlagName, 12> kFlagNames = {
    {{kFlagExtrapolationFellBack, "extrapolation fell back to zero padding"},
     {kFlagMaskedMicrophones, "dead or masked microphones interpolated"},
     {kFlagMissingBits, "missing bits"},
     {kFlagOverload, "overload"},
     {kFlagNonFiniteInput, "non-finite input interpolated"},
     {kFlagClipped, "clipped microphones"},
     {kFlagWavenumberAboveNyquist, "k above \u03c0/pitch"},
     {kFlagCommonToAll, "a source straight ahead, or what all channels share"},
     {kFlagLimit, "above a limit"},
     {kFlagMemoryNotFull, "hops before it were not computed"},
     {kFlagInformationMissing, "more than a tenth of the information missing"},
     {kFlagDoubtfulInput, "input is not as announced"}}};

double spacing_m(const std::vector<double>& positions_m) {
  return positions_m.size() > 1
             ? (positions_m.back() - positions_m.front()) / static_cast<double>(positions_m.size() - 1)
             : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::span<const FlagName> flag_names() { return kFlagNames; }

std::string flags_in_words(std::uint32_t flags) {
  std::string text;
  const auto append = [&](std::string_view word) { text += (text.empty() ? "" : ", ") + std::string(word); };
  for (const FlagName& name : kFlagNames) {
    if ((flags & name.flag) != 0) {
      append(name.text);
      flags &= ~static_cast<std::uint32_t>(name.flag);
    }
  }
  if (flags != 0) {
    append(fmt::format("flags 0x{:x}", flags));
  }
  return text;
}

std::string unit_of_bands(const ImagesHeader& header) {
  if (header.quantity == name_of(Quantity::kActiveIntensity)) {
    return header.unit;
  }
  return header.unit.find('/') == std::string::npos ? header.unit + "^2" : "(" + header.unit + ")^2";
}

std::vector<double> ImagesHeader::surface_heights_m() const {
  constexpr std::size_t kComponents = 3;
  std::vector<double> heights_m;
  for (std::size_t i = 0; i + 2 < std::min(normals.size(), surface_m.size()); i += kComponents) {
    if (normals[i] != 0.0 || normals[i + 1] != 0.0 || normals[i + 2] != 0.0) {
      heights_m.push_back(surface_m[i + 2]);
    }
  }
  return heights_m;
}

std::vector<float> radiated_power_w(const ImagesHeader& header, std::span<const std::complex<float>> images) {
  const bool is_intensity = header.quantity == name_of(Quantity::kActiveIntensity);
  std::vector<float> power_w(is_intensity ? header.values_per_frame() / std::max<std::size_t>(header.pixels(), 1) : 0);
  radiated_power_w(header, images, power_w);
  return power_w;
}

void radiated_power_w(const ImagesHeader& header, std::span<const std::complex<float>> images,
                      std::span<float> power_w) {
  if (power_w.empty()) {
    return;
  }
  const double pixel_m2 = spacing_m(header.x_m) * spacing_m(header.y_m);
  for (std::size_t i = 0; i < power_w.size(); ++i) {
    const auto image = images.subspan(i * header.pixels(), header.pixels());
    const double sum = std::accumulate(image.begin(), image.end(), 0.0, [](double so_far, std::complex<float> pixel) {
      return so_far + static_cast<double>(pixel.real());
    });
    power_w[i] = static_cast<float>(pixel_m2 * sum);
  }
}

}  // namespace nearfield

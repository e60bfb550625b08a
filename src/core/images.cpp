#include "core/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/settings.hpp"

namespace nearfield {
namespace {

/// Range of the microphones' coordinates along an axis.
struct Span {
  double low_m;
  double high_m;
  [[nodiscard]] double length_m() const { return high_m - low_m; }
  [[nodiscard]] double middle_m() const { return (low_m + high_m) / 2.0; }
};

Span span_along(const ArrayGeometry& geometry, double MicrophonePosition::*axis) {
  Span span{.low_m = geometry.position_m(0).*axis, .high_m = geometry.position_m(0).*axis};
  for (int channel = 1; channel < geometry.channels(); ++channel) {
    const double at_m = geometry.position_m(channel).*axis;
    span = {.low_m = std::min(span.low_m, at_m), .high_m = std::max(span.high_m, at_m)};
  }
  return span;
}

/// Number of microphones seen from the front: of those in layers, microphones behind one another, to a hundredth of the
/// distance between neighbours, count once.
int count_from_front(const ArrayGeometry& geometry) {
  if (!stands_in_layers(geometry.placement->positions_m)) {
    return geometry.channels();
  }
  const double apart_m = 0.01 * geometry.pitch_x_m;
  std::vector<MicrophonePosition> places_m;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    places_m.push_back(geometry.position_m(channel));
  }
  std::sort(places_m.begin(), places_m.end(),
            [](const MicrophonePosition& a, const MicrophonePosition& b) { return a.x_m < b.x_m; });
  int count = 0;
  for (std::size_t i = 0; i < places_m.size(); ++i) {
    bool is_seen = true;
    for (std::size_t j = i; j-- > 0 && places_m[i].x_m - places_m[j].x_m <= apart_m;) {
      is_seen = is_seen && std::abs(places_m[i].y_m - places_m[j].y_m) > apart_m;
    }
    count += is_seen ? 1 : 0;
  }
  return count;
}

/// The pitch p that solves (width / p + 1) (height / p + 1) = count. `otherwise_m` if all microphones share one x and
/// one y.
double pitch_of(double width_m, double height_m, int count, double otherwise_m) {
  const double sum_m = width_m + height_m;
  const double pitch_m =
      (sum_m + std::sqrt(sum_m * sum_m + 4.0 * width_m * height_m * (count - 1))) / (2.0 * (count - 1));
  return pitch_m > 0.0 ? pitch_m : otherwise_m;
}

int nodes_along(double length_m, double pitch_m) {
  constexpr double kRounding = 1e-9;  // so that rounding of a length of whole pitches adds no node
  return length_m > 0.0 ? 1 + static_cast<int>(std::ceil(length_m / pitch_m - kRounding)) : 1;
}

}  // namespace

std::vector<double> ImageGrid::x_m() const {
  std::vector<double> positions_m;
  for (int column = 0; column < columns(); ++column) {
    positions_m.push_back(x_m(column));
  }
  return positions_m;
}

std::vector<double> ImageGrid::y_m() const {
  std::vector<double> positions_m;
  for (int row = 0; row < rows(); ++row) {
    positions_m.push_back(y_m(row));
  }
  return positions_m;
}

std::size_t image_sides(const HolographySettings& holography, const ArrayGeometry& geometry) {
  const OperatorSettings& operators = holography.operators;
  if (geometry.is_grid() || operators.behind == Behind::kIgnore) {
    return 1;
  }
  const bool is_told_apart = operators.behind == Behind::kSeparate ||
                             (holography.surface_path.empty() && !operators.wall.y_m &&
                              operators.templates_path.empty() && stands_in_layers(geometry.placement->positions_m));
  return is_told_apart ? 2 : 1;
}

ImageGrid image_grid(const ArrayGeometry& geometry, int upsample) {
  if (geometry.is_grid()) {
    return {.node_rows = geometry.rows,
            .node_columns = geometry.columns,
            .pitch_x_m = geometry.pitch_x_m,
            .pitch_y_m = geometry.pitch_y_m,
            .upsample = upsample};
  }
  const Span x = span_along(geometry, &MicrophonePosition::x_m);
  const Span y = span_along(geometry, &MicrophonePosition::y_m);
  const int count = std::max(count_from_front(geometry), 2);  // a single microphone has no extent
  const double pitch_m = pitch_of(x.length_m(), y.length_m(), count, geometry.pitch_x_m);
  return {.node_rows = nodes_along(y.length_m(), pitch_m),
          .node_columns = nodes_along(x.length_m(), pitch_m),
          .pitch_x_m = pitch_m,
          .pitch_y_m = pitch_m,
          .centre_x_m = x.middle_m(),
          .centre_y_m = y.middle_m(),
          .upsample = upsample};
}

std::string text_of(const ImageGrid& grid) {
  constexpr double kPerMillimetre = 1e3;
  const auto mm = [](double length_m) { return fmt::format("{:.4g}", length_m * kPerMillimetre); };
  return fmt::format("{} x {} pixels, {} mm apart, x from {} to {} mm, y from {} to {} mm", grid.rows(), grid.columns(),
                     mm(grid.pitch_x_m / grid.upsample), mm(grid.x_m(0)), mm(grid.x_m(grid.columns() - 1)),
                     mm(grid.y_m(0)), mm(grid.y_m(grid.rows() - 1)));
}

namespace {

using Names = std::vector<std::string>;

/// Numbers of an entry of an axis of images.
std::size_t components_of(std::string_view axis) {
  if (axis == "surface" || axis == "normal") {
    return 3;
  }
  return axis == "point" || axis == "band" ? 2 : 1;
}

bool is_quantity_of_images(const std::string& quantity) {
  return std::any_of(kQuantities.begin(), kQuantities.end(), [&](Quantity one) { return name_of(one) == quantity; });
}

/// The product, if it is as images are: of one of their quantities over these axes, whose entries have the numbers that
/// those of images have, so that an axis's coordinates are as many as the values along it.
const Product* complex_over(const ResultHeader& header, std::string_view name, const Names& axes) {
  const Product* const product = header.product(name);
  const auto is_as_in_images = [&](const std::string& axis) {
    return header.axis(axis) != nullptr && header.axis(axis)->components == components_of(axis);
  };
  const bool is_it = product != nullptr && product->form == Product::Form::kArray &&
                     product->type == ElementType::kComplex64 && product->axes == axes &&
                     is_quantity_of_images(product->quantity) && std::all_of(axes.begin(), axes.end(), is_as_in_images);
  return is_it ? product : nullptr;
}

/// Unit of a band's image: that of an intensity, else of the quantity's square.
std::string unit_of_bands(const std::string& quantity, const std::string& unit) {
  if (quantity == name_of(Quantity::kActiveIntensity)) {
    return unit;
  }
  return unit.find('/') == std::string::npos ? unit + "^2" : "(" + unit + ")^2";
}

double spacing_m(const std::vector<double>& positions_m) {
  return positions_m.size() > 1
             ? (positions_m.back() - positions_m.front()) / static_cast<double>(positions_m.size() - 1)
             : std::numeric_limits<double>::quiet_NaN();
}

Axis image_axis(std::string_view name, std::vector<double> values) {
  Axis axis{.name = std::string(name), .unit = "m", .values = std::move(values)};
  if (name == "frequency" || name == "band") {
    axis.unit = "Hz";
  } else if (name == "normal") {
    axis.unit = "1";
  }
  axis.components = components_of(name);
  return axis;
}

}  // namespace

const Product* images_of(const ResultHeader& header) {
  return complex_over(header, "images", {"z", "frequency", "y", "x"});
}

const Product* points_of(const ResultHeader& header) {
  return complex_over(header, "points", {"z", "frequency", "point"});
}

const Product* images_or_points_of(const ResultHeader& header) {
  const Product* const images = images_of(header);
  return images != nullptr ? images : points_of(header);
}

std::vector<Axis> image_axes(std::vector<std::pair<std::string_view, std::vector<double>>> values) {
  std::vector<Axis> axes;
  for (auto& [name, of_axis] : values) {
    Axis axis = image_axis(name, std::move(of_axis));
    if (axis.components == 1 || !axis.values.empty()) {
      axes.push_back(std::move(axis));
    }
  }
  return axes;
}

void add_image_products(ResultHeader& header, const std::string& quantity, const std::string& unit, bool has_images) {
  const auto figure = [&](std::string name, std::string what, std::string its_unit, Names axes = {"frequency"}) {
    header.products.push_back({.name = std::move(name),
                               .quantity = std::move(what),
                               .unit = std::move(its_unit),
                               .form = Product::Form::kFigure,
                               .type = ElementType::kFloat32,
                               .axes = std::move(axes)});
  };
  figure("cutoff_rad_per_m", "cut-off wavenumber", "rad/m");
  figure("slope", "slope of the filter", "1");
  figure("noise_pa", "noise of a microphone", "Pa");
  figure("error_estimate", "relative error", "1");
  if (quantity == name_of(Quantity::kActiveIntensity)) {
    figure("radiated_power_w", "radiated power", "W", {"z", "frequency"});
  }
  if (header.axis("point") != nullptr) {
    header.products.push_back(
        {.name = "points", .quantity = quantity, .unit = unit, .axes = {"z", "frequency", "point"}});
  }
  if (has_images) {
    header.products.push_back(
        {.name = "images", .quantity = quantity, .unit = unit, .axes = {"z", "frequency", "y", "x"}});
  }
  if (has_images && header.axis("band") != nullptr) {
    header.products.push_back({.name = "bands",
                               .quantity = fmt::format("{} of bands", quantity),
                               .unit = unit_of_bands(quantity, unit),
                               .type = ElementType::kFloat32,
                               .axes = {"z", "band", "y", "x"}});
  }
}

std::size_t image_pixels(const ResultHeader& header) {
  return header.coordinates("y").size() * header.coordinates("x").size();
}

std::vector<double> surface_heights_m(const ResultHeader& header) {
  constexpr std::size_t kComponents = 3;
  const std::vector<double>& surface_m = header.coordinates("surface");
  const std::vector<double>& normals = header.coordinates("normal");
  std::vector<double> heights_m;
  for (std::size_t i = 0; i + 2 < std::min(normals.size(), surface_m.size()); i += kComponents) {
    if (normals[i] != 0.0 || normals[i + 1] != 0.0 || normals[i + 2] != 0.0) {
      heights_m.push_back(surface_m[i + 2]);
    }
  }
  return heights_m;
}

void radiated_power_w(const ResultHeader& header, std::span<const std::complex<float>> images,
                      std::span<float> power_w) {
  if (power_w.empty()) {
    return;
  }
  const std::size_t pixels = image_pixels(header);
  const double pixel_m2 = spacing_m(header.coordinates("x")) * spacing_m(header.coordinates("y"));
  for (std::size_t i = 0; i < power_w.size(); ++i) {
    const auto image = images.subspan(i * pixels, pixels);
    const double sum = std::accumulate(image.begin(), image.end(), 0.0, [](double so_far, std::complex<float> pixel) {
      return so_far + static_cast<double>(pixel.real());
    });
    power_w[i] = static_cast<float>(pixel_m2 * sum);
  }
}

}  // namespace nearfield

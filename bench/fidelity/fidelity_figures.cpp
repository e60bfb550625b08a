#include "bench/fidelity/fidelity_figures.hpp"

#include <algorithm>
#include <cmath>

#include "nearfield/metrics.hpp"

namespace nearfield::bench {
namespace {

constexpr double kHigh = 0.95;

/// Magnitudes over an array.
class Heights {
 public:
  Heights(const ArrayGeometry& geometry, std::span<const std::complex<float>> image) : geometry_(geometry) {
    for (const std::complex<float>& value : image) {
      heights_.push_back(std::abs(std::complex<double>(value)));
    }
  }
  [[nodiscard]] double highest() const { return *std::max_element(heights_.begin(), heights_.end()); }
  [[nodiscard]] double at(int row, int column) const {
    return heights_[static_cast<std::size_t>(row * geometry_.columns + column)];
  }
  [[nodiscard]] bool stands_out(int row, int column) const {
    for (int r = std::max(row - 1, 0); r <= std::min(row + 1, geometry_.rows - 1); ++r) {
      for (int c = std::max(column - 1, 0); c <= std::min(column + 1, geometry_.columns - 1); ++c) {
        if (at(r, c) > at(row, column)) {
          return false;
        }
      }
    }
    return true;
  }
  /// The places of all pixels that stand out and reach `least`.
  [[nodiscard]] std::vector<Place> peaks(double least) const {
    std::vector<Place> places;
    for (int row = 0; row < geometry_.rows; ++row) {
      for (int column = 0; column < geometry_.columns; ++column) {
        if (at(row, column) >= least && stands_out(row, column)) {
          places.push_back(top(row, column));
        }
      }
    }
    return places;
  }

 private:
  /// Where the parabolas through a pixel and its neighbours along x and y have their tops.
  [[nodiscard]] Place top(int row, int column) const {
    const auto shift = [](double before, double middle, double after) {
      const double bend = before - 2.0 * middle + after;
      return bend < 0.0 ? 0.5 * (before - after) / bend : 0.0;
    };
    double c = column;
    double r = row;
    if (column > 0 && column + 1 < geometry_.columns) {
      c += shift(at(row, column - 1), at(row, column), at(row, column + 1));
    }
    if (row > 0 && row + 1 < geometry_.rows) {
      r += shift(at(row - 1, column), at(row, column), at(row + 1, column));
    }
    return {geometry_.x_m(c), geometry_.y_m(r)};
  }
  ArrayGeometry geometry_;
  std::vector<double> heights_;
};

double peak_off(const ArrayGeometry& geometry, std::span<const std::complex<float>> truth,
                std::span<const std::complex<float>> image) {
  const Heights found(geometry, image);
  const Heights known(geometry, truth);
  double nearest_m = std::numeric_limits<double>::infinity();
  for (const Place& a : found.peaks(found.highest())) {
    for (const Place& b : known.peaks(kHigh * known.highest())) {
      nearest_m = std::min(nearest_m, std::hypot(a.x_m - b.x_m, a.y_m - b.y_m));
    }
  }
  return nearest_m;
}

Values inner(const ArrayGeometry& geometry, std::span<const std::complex<float>> image) {
  Values values;
  for (int row = kBorder; row < geometry.rows - kBorder; ++row) {
    for (int column = kBorder; column < geometry.columns - kBorder; ++column) {
      values.push_back(image[static_cast<std::size_t>(row * geometry.columns + column)]);
    }
  }
  return values;
}

double mean(const std::vector<Figures>& draws, double Figures::*figure) {
  double sum = 0.0;
  for (const Figures& one : draws) {
    sum += one.*figure;
  }
  return sum / static_cast<double>(draws.size());
}

}  // namespace

Figures figures_of(const TrueField& field, std::size_t frequency, std::span<const std::complex<float>> image) {
  const ImageMetrics metrics = compare_images(known_truth(field, frequency), where_true(field, image));
  Figures figures;
  figures.relative_l2 = metrics.relative_l2;
  figures.nmse_db = metrics.nmse_db;
  figures.ncc = metrics.ncc;
  if (!field.valid.empty() || !field.points.empty()) {
    return figures;
  }
  const std::span<const std::complex<float>> truth = field.truth_of(frequency);
  figures.peak_off_m = peak_off(field.geometry, truth, image);
  if (std::min(field.geometry.rows, field.geometry.columns) > 3 * kBorder) {
    figures.inner_l2 = compare_images(inner(field.geometry, truth), inner(field.geometry, image)).relative_l2;
  }
  return figures;
}

MeanFigures mean_of(const std::vector<Figures>& draws) {
  MeanFigures figures;
  figures.mean.relative_l2 = mean(draws, &Figures::relative_l2);
  figures.mean.inner_l2 = mean(draws, &Figures::inner_l2);
  figures.mean.ncc = mean(draws, &Figures::ncc);
  figures.mean.peak_off_m = mean(draws, &Figures::peak_off_m);
  double power = 0.0;
  for (const Figures& one : draws) {
    power += std::pow(10.0, one.nmse_db / 10.0);
    figures.worst_l2 = std::max(figures.worst_l2, one.relative_l2);
  }
  figures.mean.nmse_db = 10.0 * std::log10(power / static_cast<double>(draws.size()));
  return figures;
}

}  // namespace nearfield::bench

#pragma once
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

#include "cl/device.hpp"
#include "core/product.hpp"
#include "processors/processor.hpp"
#include "processors/srp_phat/cut.hpp"
#include "processors/srp_phat/plan.hpp"
#include "processors/srp_phat/sources.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// An SRP-PHAT processor with its array and its input, for tests.
namespace nearfield::test {

inline ocl::Device& srp_device() {
  static ocl::Device device = ocl::Device::open(DeviceSettings());
  return device;
}

class SrpSetup {
 public:
  /// `bins` bins of windows of 1024 samples, from `first` on.
  /// Rows and columns 2 cm apart.
  SrpSetup(int rows, int columns, std::size_t first, std::size_t bins) {
    array.geometry = {.rows = rows, .columns = columns, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
    array.standoff_m = 0.03;
    for (std::size_t k = 0; k < bins; ++k) {
      array.frequencies_hz.push_back(static_cast<double>(first + k) * kRate_hz / 1024.0);
    }
    own.band_hz = {1.0, 20000.0};
    own.domain = SrpDomain::kFrequency;
  }
  [[nodiscard]] ProcessorPlan plan() const {
    return {.name = "where",
            .settings = &settings,
            .own = &own,
            .array = array,
            .frequencies_hz = array.frequencies_hz,
            .sample_rate_hz = kRate_hz,
            .batch = batch};
  }
  [[nodiscard]] SrpPlan places() const { return SrpPlan(plan()); }
  void look_far(double most_deg, double step_deg) {
    own.grid.kind = far_field::GridKind::kAngles;
    own.grid.distance_m = {far_field::kInfinitelyFar};
    own.grid.azimuth_deg = own.grid.elevation_deg = {-most_deg, most_deg};
    own.grid.step_deg = step_deg;
  }
  /// Of a source with another amplitude and phase at each bin, [bin][channel]; a direction of length 1 where the grid
  /// is far. All pressures have the magnitude of the bin's where `is_level`.
  [[nodiscard]] std::vector<Complex> source(const far_field::Position& place, std::mt19937& generator,
                                            bool is_level = false) const {
    const SrpPlan of = places();
    std::vector<Complex> spectra;
    for (std::size_t k = 0; k < array.frequencies_hz.size(); ++k) {
      const Complex amplitude = normal(generator);
      for (const far_field::Position& microphone : of.microphones) {
        const double path_m = of.grid.is_far ? -dot(place, microphone) : distance(place, microphone);
        const double spread = of.grid.is_far || is_level ? 1.0 : 1.0 / path_m;
        spectra.push_back(amplitude * spread * std::polar(1.0, -array.wavenumber(k) * path_m));
      }
    }
    return spectra;
  }
  /// Noise of each microphone's own, of standard deviation 1; neighbouring bins are correlated as by Hann's window.
  [[nodiscard]] std::vector<Complex> noise(std::mt19937& generator) const {
    const std::size_t bins = array.frequencies_hz.size();
    const auto channels = static_cast<std::size_t>(array.geometry.channels());
    std::vector<Complex> spectra(bins * channels);
    for (std::size_t m = 0; m < channels; ++m) {
      Complex before = normal(generator);
      Complex here = normal(generator);
      for (std::size_t k = 0; k < bins; ++k) {
        const Complex after = normal(generator);
        spectra[k * channels + m] = (here - 0.5 * before - 0.5 * after) / std::sqrt(1.5);
        before = here;
        here = after;
      }
    }
    return spectra;
  }
  static Complex normal(std::mt19937& generator) {
    std::normal_distribution<double> values(0.0, std::sqrt(0.5));
    const double real = values(generator);
    return {real, values(generator)};
  }

  static constexpr double kRate_hz = 46875.0;
  Settings settings;
  SrpPhatSettings own;
  ArrayPlan array;
  int batch = 1;
};

/// A table's rows as numbers, [row][column].
inline std::vector<std::vector<double>> rows_of_table(const Product& table, std::span<const std::byte> bytes) {
  std::vector<std::vector<double>> rows(rows_of(bytes));
  const std::vector<ProductPlaces::Place> places = column_places(table);
  for (std::size_t c = 0; c < places.size(); ++c) {
    const std::vector<Complex> column =
        complex_values_of(table.columns[c].type, bytes.subspan(places[c].offset, places[c].bytes));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r].push_back(column[r].real());
    }
  }
  return rows;
}

struct SrpFrame {
  std::vector<std::vector<double>> rows;  ///< of the table of sources
  std::vector<float> map;
  std::uint32_t flags = 0;
};
/// Columns of the table.
enum SrpColumn : std::size_t {
  kId,
  kState,
  kX,
  kY,
  kZ,
  kVx,
  kVy,
  kVz,
  kMajor,
  kMinor,
  kConfidence,
  kSignificance,
  kLevel,
  kFirstBitTime
};

inline SrpFrame frame_of(const ResultHeader& header, Products products, std::uint32_t flags) {
  SrpFrame frame{.rows = rows_of_table(header.products[0], products[0]), .map = {}, .flags = flags};
  if (products.size() > 1) {
    const auto values = values_of<float>(products[1]);
    frame.map.assign(values.begin(), values.end());
  }
  return frame;
}

class SrpReference {
 public:
  explicit SrpReference(const SrpSetup& setup) : processor_(processor_entry("srp_phat").make_reference(setup.plan())) {}
  SrpFrame look(const std::vector<Complex>& spectra) {
    const std::uint32_t flags =
        processor_->compute(std::array{reference::WindowInput{.spectra = spectra}}).front().flags;
    return frame_of(processor_->header(), processor_->products({.window = 0}).products, flags);
  }
  void use(const MicrophoneMask& mask) { processor_->use(mask); }
  void forget() { processor_->forget(); }

 private:
  std::unique_ptr<reference::Processor> processor_;
};

class SrpOnDevice {
 public:
  explicit SrpOnDevice(const SrpSetup& setup)
      : processor_(processor_entry("srp_phat").make(srp_device(), setup.plan())) {}
  SrpOnDevice(const SrpSetup& setup, const SrpCut& cut) : processor_(make_srp_phat(srp_device(), setup.plan(), cut)) {}
  SrpFrame look(const std::vector<Complex>& spectra) {
    const auto input = srp_device().upload<std::complex<float>>(narrow(spectra), "test");
    const auto status = srp_device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords), "test");
    processor_->enqueue({.spectra = input, .status = status, .windows = 1});
    srp_device().wait();
    const Products products = processor_->products({.window = 0}).products;
    return frame_of(processor_->header(), products, processor_->host_status(0)[0]);
  }
  void use(const MicrophoneMask& mask) { processor_->use(mask); }
  void forget() { processor_->forget(); }

 private:
  std::unique_ptr<Processor> processor_;
};

}  // namespace nearfield::test

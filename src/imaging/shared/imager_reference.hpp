#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/search.hpp"

namespace nearfield::reference {

using Complex = std::complex<double>;

/// A complex field, [row][column], column fastest.
struct Field {
  int rows = 0;
  int columns = 0;
  std::vector<Complex> values;

  Field() = default;
  Field(int row_count, int column_count)
      : rows(row_count), columns(column_count), values(static_cast<std::size_t>(row_count * column_count)) {}
  [[nodiscard]] Complex& at(int row, int column) { return values[static_cast<std::size_t>(row * columns + column)]; }
  [[nodiscard]] const Complex& at(int row, int column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

struct ConditionedSpectra {
  std::vector<Field> fields;  ///< [frequency]
  std::uint32_t flags = 0;
  int non_finite_channels = 0;
};

/// Calibration and interpolation of unusable microphones (kernels/imaging/microphones.cl has the definition).
ConditionedSpectra condition_microphones(std::span<const Complex> spectra, const ImagePlan& plan);

struct Images {
  std::vector<Complex> images;        ///< [plane][frequency][row][column]
  std::vector<FilterReport> reports;  ///< [frequency]
  std::uint32_t flags = 0;
  int non_finite_channels = 0;
};

/// Position of a frame in its stream, and whether it has all its bits; else it is not remembered.
struct FrameHop {
  std::uint64_t hop = 0;
  bool is_whole = true;
};

/// An imager in plain double precision on the host, written from its formulas.
class Imager {
 public:
  Imager() = default;
  Imager(const Imager&) = delete;
  Imager& operator=(const Imager&) = delete;
  virtual ~Imager() = default;
  /// Images one frame of spectra [frequency][row][column], Pa. May depend on earlier frames, as on the device.
  virtual Images image(std::span<const Complex> spectra) = 0;
  /// Sets the hop of the next image(); without it hops count from 0, and all frames are whole.
  void set_hop(std::uint64_t hop, bool is_whole) { next_ = {.hop = hop, .is_whole = is_whole}; }
  /// Like the functions of nearfield::Imager, with its contracts.
  virtual void use(const MicrophoneMask& mask) = 0;
  virtual void forget() {}
  virtual void adopt(const std::shared_ptr<const Findings>& findings) = 0;
  /// Returns the device's search, which is in double precision anyway.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const = 0;

 protected:
  /// Hop of the present frame; advances to the next one.
  FrameHop take_hop() { return std::exchange(next_, {.hop = next_.hop + 1}); }

 private:
  FrameHop next_;
};

}  // namespace nearfield::reference

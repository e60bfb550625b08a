#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frontend/front_end.hpp"

namespace nearfield::reference {

/// A front end on the host, in double precision, from the formulas; shares no table with the OpenCL one. Its members
/// have the contracts of nearfield::FrontEnd.
class FrontEnd {
 public:
  FrontEnd() = default;
  FrontEnd(const FrontEnd&) = delete;
  FrontEnd& operator=(const FrontEnd&) = delete;
  virtual ~FrontEnd() = default;

  [[nodiscard]] virtual std::uint64_t history_words() const = 0;
  /// Wire words [bit-time][word].
  virtual void push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) = 0;
  /// Samples [sample][channel] in pascal.
  virtual void push_samples(std::uint64_t first_sample, std::span<const float> values) = 0;
  /// [frequency][channel] of the window that starts at this decimated sample.
  [[nodiscard]] virtual std::vector<std::complex<double>> spectra(std::uint64_t first_sample_index) = 0;
  /// True when a live channel of the last window was at 0.95 of full scale or above; bits only.
  [[nodiscard]] virtual bool clipped() const = 0;
  [[nodiscard]] virtual const std::vector<double>& actual_frequencies_hz() const = 0;
};

template <class Kind>
std::unique_ptr<FrontEnd> make(const FrontEndPlan& plan) {
  return std::make_unique<Kind>(plan);
}

/// The reference of the plan's front end. Throws ConfigError.
inline std::unique_ptr<FrontEnd> make_front_end(const FrontEndPlan& plan) {
  return front_end_entry(plan.settings.kind).make_reference(plan);
}

}  // namespace nearfield::reference

#pragma once
#include <optional>

#include "cl/measured_choice.hpp"
#include "frontend/dot_product/dot_stage.hpp"
#include "frontend/front_end.hpp"
#include "frontend/samples/decimated_samples.hpp"

namespace nearfield {

/// Wall time per window of one variant on the device in use: the shortest of several runs.
struct DotMeasurement {
  DotVariant variant;
  double seconds_s = 0.0;
};

/// Front end `dot_product`: a dot product of each channel's window of a SampleSource with the analysis vector of every
/// frequency. Frequencies are the settings' own. Spectra are divided by the decimator's complex response.
class DotProduct final : public FrontEnd {
 public:
  /// Uses the variant of front_end.dot_kernel. `auto` is the choice of ocl::choose_once() from dot_candidates(): where
  /// it measures, each of them runs, and one that fails is left out. If all fail, no choice is stored and this process
  /// uses the candidate by rule; if that one cannot be built again, its DeviceError is thrown. The plan must have
  /// passed validate(). Throws ConfigError, DeviceError.
  DotProduct(const ocl::Device& device, const FrontEndPlan& plan);
  /// Uses one variant, whatever the settings say.
  DotProduct(const ocl::Device& device, const FrontEndPlan& plan, const DotVariant& variant);

  [[nodiscard]] std::uint64_t history_words() const override { return source_.history_words(); }
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override {
    source_.enqueue_bits(first_word, wire);
  }
  void enqueue_samples(std::uint64_t first_sample, std::span<const float> values) override {
    source_.enqueue_samples(first_sample, values);
  }
  void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                       const ocl::Buffer<std::uint32_t>& status) override;
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return frequencies_hz_; }
  /// Name such as "dot_product (tiled in 16 parts)"; front ends whose spectra may differ in their last bits have
  /// different ones.
  [[nodiscard]] std::string description() const override;

  [[nodiscard]] const DotVariant& variant() const { return variant_; }
  /// Origin of the choice for `auto`; nullopt if a kernel was named.
  [[nodiscard]] std::optional<ocl::ChoiceOrigin> origin() const { return origin_; }
  /// Measurements of every candidate that this front end ran, in order of the candidates.
  [[nodiscard]] const std::vector<DotMeasurement>& measurements() const { return measurements_; }

 private:
  void choose(const ocl::Device& device);
  std::optional<std::size_t> measure(const ocl::Device& device, const std::vector<DotVariant>& candidates);

  std::vector<double> frequencies_hz_;
  SampleSource source_;
  DotWork work_;
  DotVariant variant_;
  std::optional<ocl::ChoiceOrigin> origin_;
  std::vector<DotMeasurement> measurements_;
  std::unique_ptr<DotStage> stage_;
};

std::unique_ptr<FrontEnd> make_dot_product(const ocl::Device& device, const FrontEndPlan& plan);

}  // namespace nearfield

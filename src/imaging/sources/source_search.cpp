#include "imaging/sources/source_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nearfield {

SourceSearch::SourceSearch(const ImagePlan& plan, std::vector<std::unique_ptr<FrequencyFinder>> finders,
                           std::shared_ptr<const void> models)
    : plan_(plan), models_(std::move(models)), finders_(std::move(finders)) {}

std::shared_ptr<const Findings> SourceSearch::search(std::span<const std::complex<float>> spectra,
                                                     const MicrophoneMask& mask, std::uint64_t number) {
  const std::vector<std::complex<double>> fields = usable_spectra(spectra, plan_, mask);
  if (fields.empty()) {
    return nullptr;
  }
  const auto channels = static_cast<std::size_t>(plan_.geometry.channels());
  auto findings = std::make_shared<WaveFindings>();
  for (std::size_t f = 0; f < finders_.size(); ++f) {
    findings->waves.push_back(finders_[f]->find(std::span(fields).subspan(f * channels, channels), number, mask));
  }
  return findings;
}

void SourceSearch::restart() {
  for (const std::unique_ptr<FrequencyFinder>& finder : finders_) {
    finder->restart();
  }
}

std::vector<std::complex<double>> usable_spectra(std::span<const std::complex<float>> spectra, const ImagePlan& plan,
                                                 const MicrophoneMask& mask) {
  const auto channels = static_cast<std::size_t>(plan.geometry.channels());
  std::vector<std::complex<double>> fields(spectra.begin(), spectra.end());
  for (std::size_t i = 0; i < plan.gains.size(); ++i) {
    fields[i] *= plan.gains[i];
  }
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    fill_masked(std::span(fields).subspan(f * channels, channels), mask, plan, f);
  }
  const auto is_finite = [](const std::complex<double>& value) {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
  };
  return std::all_of(fields.begin(), fields.end(), is_finite) ? fields : std::vector<std::complex<double>>();
}

}  // namespace nearfield

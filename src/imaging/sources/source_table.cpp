#include "imaging/sources/source_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"

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

namespace {

using Complex = std::complex<double>;
using Eigen::Index;

}  // namespace

void require_fit(const std::vector<FoundWaves>& found, std::size_t frequencies, const SourceTable& table) {
  const auto is_of_table = [&](const FoundWaves& of) {
    const std::size_t sources = of.waves.size() + of.points.size();
    return sources <= static_cast<std::size_t>(kMostWaves) &&
           of.table.size() == SourceTable::kHeader + sources * table.stride();
  };
  const bool fits = found.size() == frequencies && std::all_of(found.begin(), found.end(), is_of_table);
  if (!fits) {
    throw Error(ExitCode::kInternal, "expected findings of this imager's own search, found some of another plan's");
  }
}

std::vector<float> make_source_table(const SourceFinder& found, const Eigen::MatrixXcd& amplitudes,
                                     const Eigen::MatrixXcd& fields) {
  std::vector<float> values(SourceTable::kHeader, 0.0F);
  const Sources& sources = found.sources();
  if (sources.empty()) {
    return values;
  }
  const SourceSpace& space = found.space();
  std::vector<Eigen::MatrixXcd> images;
  for (std::size_t plane = 0; plane < space.planes(); ++plane) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Eigen::VectorXcd image = space.image_of(sources[i], plane);
      if (i == 0) {
        images.emplace_back(image.size(), static_cast<Index>(sources.size()));
      }
      images.back().col(static_cast<Index>(i)) = image;
    }
  }
  values[0] = static_cast<float>(sources.size());
  values[1] = static_cast<float>(found.expected_error(images.front()));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    values[2] += space.is_of_either_side(sources[i]) ? static_cast<float>(1U << i) : 0.0F;
  }
  const Eigen::MatrixXcd energies = images.front().adjoint() * images.front();
  const auto put = [&](Complex value) {
    values.push_back(static_cast<float>(value.real()));
    values.push_back(static_cast<float>(value.imag()));
  };
  for (Index source = 0; source < energies.cols(); ++source) {
    for (const Complex& value : amplitudes.col(source)) {
      put(value);
    }
    for (const Complex& value : fields.col(source)) {
      put(value);
    }
    for (Index other = 0; other < kMostWaves; ++other) {
      put(other < energies.cols() ? energies(source, other) : Complex());
    }
    for (const Eigen::MatrixXcd& on_plane : images) {
      for (const Complex& pixel : on_plane.col(source)) {
        put(pixel);
      }
    }
  }
  return values;
}

std::vector<float> with_fields(std::vector<float> table, std::size_t stride, const Eigen::MatrixXcd& amplitudes,
                               const Eigen::MatrixXcd& fields) {
  for (Index source = 0; source < fields.cols(); ++source) {
    std::size_t at = SourceTable::kHeader + static_cast<std::size_t>(source) * stride;
    for (const Eigen::MatrixXcd* values : {&amplitudes, &fields}) {
      for (const Complex& value : values->col(source)) {
        table[at++] = static_cast<float>(value.real());
        table[at++] = static_cast<float>(value.imag());
      }
    }
  }
  return table;
}

Eigen::MatrixXcd amplitude_factors(const SourceFit& fit) { return (fit.white * fit.covariance).conjugate(); }

}  // namespace nearfield

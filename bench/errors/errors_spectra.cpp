#include "bench/errors/errors_spectra.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "bench/common/scenes.hpp"
#include "bench/errors/errors_bits.hpp"
#include "nearfield/error.hpp"
#include "simulate/fields.hpp"

namespace nearfield::bench {
namespace {

constexpr double kStandoff_m = 0.03;
constexpr std::uint64_t kSeed = 7;

/// Peak phasors, full scale 1.
ArrayTone two_monopoles(const ArrayGeometry& geometry, double frequency_hz, double level_dbfs) {
  const std::array<Monopole, 2> sources = {Monopole{{-0.13, 0.07, 0.0}, 1.0},
                                           Monopole{{0.21, -0.16, -0.05}, std::polar(0.7, 1.9)}};
  ArrayTone tone{frequency_hz, {}};
  double squares = 0.0;
  for (int row = 0; row < geometry.rows; ++row) {
    for (int column = 0; column < geometry.columns; ++column) {
      std::complex<double> sum = 0.0;
      for (const Monopole& source : sources) {
        sum += monopole_field(source, {frequency_hz, {}}, {geometry.x_m(column), geometry.y_m(row), kStandoff_m})
                   .pressure_pa;
      }
      tone.phasors.push_back(sum);
      squares += std::norm(sum);
    }
  }
  const double rms = std::sqrt(squares / static_cast<double>(tone.phasors.size()));
  for (std::complex<double>& phasor : tone.phasors) {
    phasor *= std::pow(10.0, level_dbfs / 20.0) / rms;
  }
  return tone;
}

/// The bits of one frequency at every level and modulator.
struct Case {
  int order;
  double level_dbfs;
  KnownBits bits;
};

std::vector<Case> cases_of(const SpectraOptions& options, double frequency_hz, int window_samples) {
  std::vector<Case> cases;
  for (const double level_dbfs : kSpectraLevels_db) {
    const ArrayTone tone = two_monopoles(options.geometry, frequency_hz, level_dbfs);
    for (const int order : options.orders) {
      const BitSynthesizerSettings settings{.layout = default_layout(options.geometry),
                                            .geometry = options.geometry,
                                            .order = order == 4 ? SigmaDeltaOrder::kFourth : SigmaDeltaOrder::kSecond,
                                            .seed = kSeed};
      cases.push_back({order, level_dbfs, known_bits(settings, &tone, window_samples)});
    }
  }
  return cases;
}

/// Throws what the front end throws.
void fill(const ocl::Device& device, const SpectraOptions& options, const std::vector<Case>& cases,
          std::vector<SpectralError>& rows) {
  FrontEndPlan plan{.geometry = options.geometry,
                    .layout = default_layout(options.geometry),
                    .settings = settings_of(rows.front().variant, {}),
                    .dead_channels = {}};
  plan.settings.frequencies_hz = {rows.front().frequency_hz};
  FrontEndOnBits front_end(device, plan);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    rows[i].error = relative_error(front_end.spectra(cases[i].bits), cases[i].bits.truth);
  }
}

std::vector<SpectralError> run_variant(const ocl::Device& device, const SpectraOptions& options, const Variant& variant,
                                       double frequency_hz, const std::vector<Case>& cases) {
  std::vector<SpectralError> rows;
  for (const Case& one : cases) {
    rows.push_back(
        {.variant = variant, .order = one.order, .level_dbfs = one.level_dbfs, .frequency_hz = frequency_hz});
  }
  std::string problem;
  try {
    fill(device, options, cases, rows);
  } catch (const ConfigError& error) {
    problem = error.what();
  } catch (const DeviceError& error) {
    problem = error.what();
  }
  for (SpectralError& row : rows) {
    row.problem = problem;
    row.error = problem.empty() ? row.error : std::numeric_limits<double>::quiet_NaN();
  }
  return rows;
}

std::string column_title(const SpectralError& error) {
  return fmt::format("order {}, {:.0f} dBFS", error.order, error.level_dbfs);
}

}  // namespace

std::vector<SpectralError> spectral_errors(const ocl::Device& device, const SpectraOptions& options) {
  std::vector<std::vector<SpectralError>> by_variant;
  for (const int bin : kSpectraBins) {
    const double frequency_hz = bin * kBin_hz;
    if (options.progress) {
      options.progress(fmt::format("spectra at {:.0f} Hz", frequency_hz));
    }
    const std::vector<Case> cases = cases_of(options, frequency_hz, FrontEndSettings{}.window_samples);
    std::size_t index = 0;
    for (const Variant& variant : error_variants(options.with_slow)) {
      const std::vector<SpectralError> rows = run_variant(device, options, variant, frequency_hz, cases);
      by_variant.resize(std::max(by_variant.size(), index + 1));
      by_variant[index].insert(by_variant[index].end(), rows.begin(), rows.end());
      ++index;
    }
  }
  std::vector<SpectralError> errors;
  for (const std::vector<SpectralError>& rows : by_variant) {
    errors.insert(errors.end(), rows.begin(), rows.end());
  }
  return errors;
}

std::string to_table(const std::vector<SpectralError>& errors) {
  if (errors.empty()) {
    return "";
  }
  std::vector<std::string> titles;  // one for each order and level, in the order of the first variant's rows
  std::map<std::string, std::map<std::string, std::string>> cells;
  std::vector<std::string_view> names;
  for (const SpectralError& error : errors) {
    const std::string title = column_title(error);
    if (std::find(titles.begin(), titles.end(), title) == titles.end()) {
      titles.push_back(title);
    }
    if (names.empty() || names.back() != error.variant.name) {
      names.push_back(error.variant.name);
    }
    cells[std::string(error.variant.name)][title] +=
        error.problem.empty() ? fmt::format("{:>9.4f}", 100.0 * error.error) : fmt::format("{:>9}", "-");
  }
  std::string text =
      "\nSpectra against the true field, two monopoles off the axis: |X - P| / |P| over the microphones [%]\n" +
      fmt::format("{:<27}", "");
  for (const std::string& title : titles) {
    text += fmt::format(" |{:>27}", title);
  }
  text += fmt::format("\n{:<27}", "Hz");
  for (std::size_t i = 0; i < titles.size(); ++i) {
    text += " |";
    for (const int bin : kSpectraBins) {
      text += fmt::format("{:>9.0f}", bin * kBin_hz);
    }
  }
  for (const std::string_view name : names) {
    text += fmt::format("\n{:<27}", name);
    for (const std::string& title : titles) {
      text += " |" + cells[std::string(name)][title];
    }
  }
  return text + "\n";
}

}  // namespace nearfield::bench

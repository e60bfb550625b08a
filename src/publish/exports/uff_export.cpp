#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/system/partial_file.hpp"
#include "publish/exports/exports.hpp"

/// Universal files: datasets between lines of -1, with numbers in columns of fixed width. 151 names the program that
/// wrote the file, 164 the units, 15 the positions of the nodes, 58 has a function at a node; 58b has binary values.
namespace nearfield {
namespace {

constexpr const char* kUffDelimiter = "    -1\n";
constexpr int kUffTime = 17;
constexpr int kUffFrequency = 18;

std::string uff_dataset(int number, const std::string& lines) {
  return fmt::format("{0}{1:6}\n{2}{0}", kUffDelimiter, number, lines);
}

/// Limits a line to 80 characters; an empty line is written as NONE.
std::string uff_line(const std::string& text) {
  constexpr std::size_t kMostLetters = 80;
  return (text.empty() ? "NONE" : text.substr(0, kMostLetters)) + "\n";
}

std::string uff_program() {
  const std::string no_date = fmt::format("{:10}{:10}", "NONE", "NONE");
  return uff_dataset(151, uff_line("") + uff_line("Results of Nearfield") + uff_line("Nearfield") +
                              fmt::format("{}{:10}{:10}{:10}\n", no_date, 0, 0, 0) + no_date + "\n" +
                              uff_line("Nearfield") + no_date + fmt::format("{:5}{:5}\n", 0, 0));
}

/// A Fortran number in double precision.
std::string uff_double(double value) {
  std::string text = fmt::format("{:25.17E}", value);
  std::replace(text.begin(), text.end(), 'E', 'D');
  return text;
}

/// Units metre, newton, kelvin with the offset of degrees Celsius.
std::string uff_units() {
  constexpr double kZeroCelsius = 273.15;
  const std::string one = uff_double(1.0);
  return uff_dataset(164, fmt::format("{:10}{:20}{:10}\n{}{}{}\n{}\n", 1, "SI: Meter (newton)", 2, one, one, one,
                                      uff_double(kZeroCelsius)));
}

std::string uff_nodes(const ExportSource& source) {
  std::string lines;
  std::size_t node = 0;
  for (const ExportPlace& place : source.places()) {
    lines += fmt::format("{:10}{:10}{:10}{:10}{:13.5E}{:13.5E}{:13.5E}\n", ++node, 0, 0, 1, place.x_m, place.y_m,
                         place.z_m.value_or(0.0));
  }
  return uff_dataset(15, lines);
}

/// Code of a quantity in dataset 58: its number, and the direction of a node's value (0 without one, 3 along z).
struct UffQuantity {
  int kind;
  int direction;
};
UffQuantity uff_quantity(const Product& product) {
  if (product.unit == "Pa") {
    return {.kind = 15, .direction = 0};
  }
  if (product.unit == "m/s") {
    return {.kind = 11, .direction = 3};
  }
  if (product.unit == "m" && product.type == ElementType::kComplex64) {
    return {.kind = 8, .direction = 3};
  }
  return {.kind = 1, .direction = product.unit == "W/m^2" ? 3 : 0};
}

std::string uff_axis_line(int kind, const std::string& name, const std::string& unit) {
  constexpr std::size_t kMostLetters = 20;
  return fmt::format("{:10}{:5}{:5}{:5} {:20} {:20}\n", kind, 0, 0, 0, name.substr(0, kMostLetters),
                     unit.substr(0, kMostLetters));
}

/// Entries that differ only in frequency, which become one function, and these frequencies.
struct UffSpectra {
  std::vector<std::vector<ExportEntry>> groups;
  std::vector<double> frequencies_hz;  ///< empty if there is no such axis
  bool is_even = true;
  double first_hz = 0.0;
  double step_hz = 0.0;
};

/// True if the six digits of the even spacing state all frequencies with the precision of the uneven spacing's float32.
bool uff_is_even(const std::vector<double>& frequencies_hz, double step_hz) {
  constexpr double kTolerance = 1e-7;
  const double first = std::stod(fmt::format("{:.5E}", frequencies_hz.front()));
  const double step = std::stod(fmt::format("{:.5E}", step_hz));
  for (std::size_t i = 0; i < frequencies_hz.size(); ++i) {
    if (std::abs(first + step * static_cast<double>(i) - frequencies_hz[i]) > kTolerance * frequencies_hz[i]) {
      return false;
    }
  }
  return true;
}

UffSpectra uff_spectra(const ExportSource& source) {
  UffSpectra spectra;
  const std::vector<Axis>& axes = source.outer_axes();
  const auto frequency = std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.name == "frequency"; });
  std::map<std::vector<std::size_t>, std::vector<ExportEntry>> groups;
  for (const ExportEntry& entry : source.entries()) {
    std::vector<std::size_t> others = entry.indices;
    if (frequency != axes.end()) {
      others.erase(others.begin() + (frequency - axes.begin()));
    }
    groups[others].push_back(entry);
  }
  for (auto& [others, group] : groups) {
    spectra.groups.push_back(std::move(group));
  }
  if (frequency != axes.end()) {
    const std::vector<double>& values = frequency->values;
    spectra.frequencies_hz = values;
    spectra.first_hz = values.front();
    spectra.step_hz = values.size() > 1 ? values[1] - values[0] : 0.0;
    spectra.is_even = uff_is_even(values, spectra.step_hz);
  }
  return spectra;
}

/// Record fields shared by all functions.
struct UffFunction {
  const ExportSource& source;
  const UffSpectra& spectra;
  std::uint64_t frame = 0;

  [[nodiscard]] std::string records(const std::vector<ExportEntry>& group, std::size_t node) const;
  [[nodiscard]] std::string values(const std::vector<ExportEntry>& group, const ExportPlace& place,
                                   const std::vector<std::complex<double>>& of_frame) const;
  [[nodiscard]] bool is_spectrum() const { return !spectra.frequencies_hz.empty(); }
};

std::string UffFunction::records(const std::vector<ExportEntry>& group, std::size_t node) const {
  constexpr double kPerSecond = 1e-9;
  constexpr int kSpectrum = 12;
  const ResultStamps& stamps = source.stamps();
  const double since_s = static_cast<double>(stamps.timestamps_ns[frame] - stamps.timestamps_ns.front()) * kPerSecond;
  const Product& product = source.product();
  const UffQuantity quantity = uff_quantity(product);
  std::string text = uff_line(fmt::format("{}, frame {}", source.name(), frame));
  text += uff_line(fmt::format("{} [{}]", product.quantity, product.unit));
  text += uff_line("");
  text += uff_line(
      fmt::format("timestamp {} ns TAI, first sample {}", stamps.timestamps_ns[frame], stamps.first_samples[frame]));
  text += uff_line(group.size() == 1 ? source.words_of(group.front()) : fmt::format("{} frequencies", group.size()));
  text += fmt::format("{:5}{:10}{:5}{:10} {:10}{:10}{:4} {:10}{:10}{:4}\n", is_spectrum() ? kSpectrum : 0, node, 0,
                      frame, "NONE", node, quantity.direction, "NONE", 0, 0);
  text += fmt::format("{:10}{:10}{:10}{:13.5E}{:13.5E}{:13.5E}\n", source.is_complex() ? 5 : 2, group.size(),
                      spectra.is_even ? 1 : 0, spectra.is_even ? spectra.first_hz : 0.0,
                      spectra.is_even ? spectra.step_hz : 0.0, since_s);
  text += is_spectrum() ? uff_axis_line(kUffFrequency, "Frequency", "Hz") : uff_axis_line(0, "NONE", "NONE");
  text += uff_axis_line(quantity.kind, product.quantity, product.unit);
  text += uff_axis_line(0, "NONE", "NONE");
  return text + uff_axis_line(kUffTime, "Time", "s");
}

/// Values as float32: for each entry the frequency if the spacing is uneven, the real part, and for complex values the
/// imaginary part.
std::string UffFunction::values(const std::vector<ExportEntry>& group, const ExportPlace& place,
                                const std::vector<std::complex<double>>& of_frame) const {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::complex<double> value = of_frame[group[i].offset + place.offset];
    if (!spectra.is_even) {
      numbers.push_back(static_cast<float>(spectra.frequencies_hz[i]));
    }
    numbers.push_back(static_cast<float>(value.real()));
    if (source.is_complex()) {
      numbers.push_back(static_cast<float>(value.imag()));
    }
  }
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

/// Makes a dataset 58b: 11 lines, then the bytes.
std::string uff_binary(const std::string& lines, const std::string& bytes) {
  constexpr int kByteOrder = std::endian::native == std::endian::little ? 1 : 2;
  constexpr int kIeee = 2;
  constexpr int kLines = 11;
  return fmt::format("{0}{1:6}b{2:6}{3:6}{4:12}{5:12}{6:6}{6:6}{6:12}{6:12}\n{7}{8}\n{0}", kUffDelimiter, 58,
                     kByteOrder, kIeee, kLines, bytes.size(), 0, lines, bytes);
}

}  // namespace

ExportedFiles export_uff(const std::filesystem::path& path, const ExportSource& source) {
  const UffSpectra spectra = uff_spectra(source);
  PartialFile file(path);
  file.write(uff_program() + uff_units() + uff_nodes(source));
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    const std::vector<std::complex<double>> values = source.values(frame);
    const UffFunction function = {.source = source, .spectra = spectra, .frame = frame};
    for (const std::vector<ExportEntry>& group : spectra.groups) {
      std::size_t node = 0;
      for (const ExportPlace& place : source.places()) {
        file.write(uff_binary(function.records(group, ++node), function.values(group, place, values)));
      }
    }
  }
  file.finish();
  return {path};
}

}  // namespace nearfield

#include "files/templates_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/format.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kCoordinates = 3;
constexpr const char* kReferenceChannel = "reference_channel";

void require_sound(const h5::InputFile& file, const Templates& templates) {
  const std::vector<double>& frequencies_hz = templates.frequencies_hz;
  const auto wrong = std::adjacent_find(frequencies_hz.begin(), frequencies_hz.end(), std::greater_equal<>());
  if (wrong != frequencies_hz.end()) {
    throw file.wrong(fmt::format("/frequencies_hz[{}]", wrong - frequencies_hz.begin() + 1),
                     fmt::format("{} after {}", *(wrong + 1), *wrong), "ascending frequencies");
  }
  for (std::size_t i = 0; i < templates.positions_m.size(); ++i) {
    if (!std::isfinite(templates.positions_m[i])) {
      throw file.wrong(fmt::format("/positions_m[{}]", i / kCoordinates), fmt::format("{}", templates.positions_m[i]),
                       "a place in m");
    }
  }
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  for (std::size_t i = 0; i < templates.coherence.size(); ++i) {
    const std::string index = fmt::format("[{}][{}]", i / templates.count(), i % templates.count());
    const float coherence = templates.coherence[i];
    if (!std::isfinite(coherence)) {
      throw file.wrong("/coherence" + index, fmt::format("{}", coherence), "a coherence from 0 to 1");
    }
    if (static_cast<double>(coherence) < kLeastTemplateCoherence) {
      continue;  // template left out; silence would give 0 / 0
    }
    for (std::size_t m = 0; m < channels; ++m) {
      const std::complex<float> value = templates.a[i * channels + m];
      if (!std::isfinite(value.real()) || !std::isfinite(value.imag())) {
        throw file.wrong(fmt::format("/templates{}[{}]", index, m),
                         fmt::format("{} + {} i", value.real(), value.imag()),
                         "a finite value where the coherence is good");
      }
      if (!(std::abs(value) <= static_cast<float>(kLargestTemplate))) {
        throw file.wrong(fmt::format("/templates{}[{}]", index, m),
                         fmt::format("a magnitude of {:.4g}", std::abs(value)),
                         fmt::format("at most {} (60 dB), of 1 at the array's centre", kLargestTemplate));
      }
    }
  }
}

}  // namespace

void write_templates(const std::filesystem::path& path, const Templates& templates) {
  const std::size_t frequencies = templates.frequencies_hz.size();
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  const std::size_t values = frequencies * templates.count();
  require_values("templates", templates.a.size(), values * channels);
  require_values("coherence", templates.coherence.size(), values);
  require_values("microphone_coherence", templates.of_microphones.size(), values * channels);
  h5::OutputFile file(path);
  write_format(file, FileKind::kTemplates);
  write_measurement(file, templates.measurement);
  write_list(file, "/frequencies_hz", templates.frequencies_hz);
  const auto write = [&](const std::string& place, const h5::Shape& shape, const auto& data, std::string_view unit,
                         std::string_view words, const std::vector<std::string>& scales) {
    file.write(place, shape, data);
    write_words(file, place, unit, words);
    name_axes(file, place, shape, scales);
  };
  const std::string at_frequencies = "/frequencies_hz";
  const std::string at_templates = "/template";
  const std::string at_channels = "/channel";
  write("/positions_m", {templates.count(), kCoordinates}, templates.positions_m, "m", "x, y and z of the source",
        {at_templates, "/component"});
  write("/templates", {frequencies, templates.count(), channels}, templates.a, "1", "steering vector",
        {at_frequencies, at_templates, at_channels});
  write("/coherence", {frequencies, templates.count()}, templates.coherence, "1", "coherence",
        {at_frequencies, at_templates});
  write("/microphone_coherence", {frequencies, templates.count(), channels}, templates.of_microphones, "1",
        "coherence of the microphone", {at_frequencies, at_templates, at_channels});
  if (templates.reference_channel) {
    file.write_attribute("/templates", kReferenceChannel, std::int64_t{*templates.reference_channel});
  }
  file.finish();
}

Templates read_templates(const std::filesystem::path& path) {
  const h5::InputFile file = open_input(path, FileKind::kTemplates);
  Templates templates;
  templates.measurement = read_measurement(file, true);
  templates.frequencies_hz = read_frequencies(file);
  const std::size_t frequencies = templates.frequencies_hz.size();
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  templates.positions_m = file.values<double>("/positions_m", {{"template"}, {"coordinate", kCoordinates}});
  templates.a = file.values<std::complex<float>>(
      "/templates", {{"frequencies", frequencies}, {"templates", templates.count()}, {"channels", channels}});
  templates.coherence =
      file.values<float>("/coherence", {{"frequencies", frequencies}, {"templates", templates.count()}});
  if (file.has("/microphone_coherence")) {
    templates.of_microphones =
        file.values<float>("/microphone_coherence",
                           {{"frequencies", frequencies}, {"templates", templates.count()}, {"channels", channels}});
  }
  if (file.has_attribute("/templates", kReferenceChannel)) {
    templates.reference_channel = static_cast<int>(
        file.integer_attribute("/templates", kReferenceChannel, 0, static_cast<std::int64_t>(channels) - 1));
  }
  require_sound(file, templates);
  return templates;
}

}  // namespace nearfield

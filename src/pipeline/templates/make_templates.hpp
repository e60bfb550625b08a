#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "engine/engine.hpp"
#include "files/files.hpp"

namespace nearfield {

/// Result of the snapshots of one place and frequency.
struct PrincipalField {
  std::vector<std::complex<double>> field;  ///< [channel], the principal eigenvector of their cross-spectra, length 1
  double coherence = 0.0;                   ///< its eigenvalue over the sum of all; 0 for silence
  std::vector<double> of_microphones;       ///< [channel], coherence with the principal component, 0 to 1
};
/// `snapshots` [snapshot][channel], at least one. Iterates without forming the matrix.
PrincipalField principal_field(std::span<const std::vector<std::complex<double>>> snapshots);

/// Reference channel of all templates: among the microphones that are below kLeastTemplateCoherence in the fewest of
/// the fields that are not, the nearest to the array's centre, and the first of equally near ones.
int reference_microphone(const ArrayGeometry& geometry, std::span<const PrincipalField> fields);

struct TemplateOptions {
  std::vector<std::filesystem::path> inputs;       ///< recordings of one source, one per place
  std::vector<std::array<double, 3>> positions_m;  ///< [input], on the axes of images; equal positions are combined
  Settings settings;
  EngineKind engine = EngineKind::kOpencl;
  std::function<void(const std::string&)> warn = {};  ///< called for microphones with windows left out
};

/// Makes templates from recordings of a source at known places: at each frequency the principal eigenvector of the
/// windows' cross-spectra, with phase 0 at one common reference microphone, and the magnitude r_0/r there, r_0 being
/// the place's distance from the array's centre and r its distance from that microphone. A template is left out, by a
/// coherence of 0, where this microphone was silent. Windows do not overlap and are those of calibrate(); the settings'
/// calibration is applied where there is one. Throws what calibrate() throws, and UsageError where there is not one
/// place for each recording.
Templates make_templates(const TemplateOptions& options);

/// A sentence for each template with a coherence below kLeastTemplateCoherence at some frequency, and for each
/// microphone that is below it in a template that is not: it moved between recordings of the place, or is broken.
std::vector<std::string> doubts_about(const Templates& templates);

}  // namespace nearfield

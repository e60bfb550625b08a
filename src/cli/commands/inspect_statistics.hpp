#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "files/files.hpp"
#include "pipeline/microphones/microphone_statistics.hpp"

namespace nearfield::cli {

/// Lines for people: a summary, then the microphones that stand out, or all of them.
std::vector<FileFact> facts_of(const MicrophoneStatistics& statistics, bool shows_all);

/// Figures and spectra of all microphones for programs.
nlohmann::json json_of(const MicrophoneStatistics& statistics);

}  // namespace nearfield::cli

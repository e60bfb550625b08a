#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/microphones.hpp"
#include "core/settings.hpp"
#include "health/monitor.hpp"

namespace nearfield {

/// Conditions of a recording's microphones.
struct MicrophoneInspection {
  ArrayGeometry geometry;
  MicrophoneUse use;                   ///< at these frequencies, without masked bad microphones
  std::uint64_t windows = 0;           ///< number of analysed windows, spread over the recording
  std::vector<double> frequencies_hz;  ///< frequencies at which microphones were compared with their neighbours
  std::vector<health::Change> bad;     ///< ascending by channel; `now` is the last cause found
};

/// Checks the microphones of a recording of any kind by the daemon's rules (health/monitor.hpp), from raw bits and
/// spectra of up to 32 windows spread over it. Frequencies and windows are those of the settings' front end or, where
/// the user gave none, short windows at the loudest frequencies that the array resolves; in both cases where the
/// calibration is defined. Throws what open_recording() does, DeviceError, and DataError where there are fewer than 16
/// whole windows or fewer than 6 microphones a side.
MicrophoneInspection inspect_microphones(const std::filesystem::path& path, const Settings& settings);

/// Microphone positions of a recording, from itself or these settings. Throws what open_recording() does.
ArrayGeometry geometry_of_recording(const std::filesystem::path& path, const Settings& settings);

}  // namespace nearfield

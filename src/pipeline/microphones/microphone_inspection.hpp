#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "health/monitor.hpp"
#include "nearfield/microphone_use.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// The conditions of a recording's microphones.
struct MicrophoneInspection {
  ArrayGeometry geometry;
  MicrophoneUse use;          ///< without those that the settings have masked as they are found, at these frequencies
  std::uint64_t windows = 0;  ///< that were analysed, spread over the recording
  std::vector<double> frequencies_hz;  ///< at which microphones were compared with their neighbours
  std::vector<health::Change> bad;     ///< ascending by channel, `now` the cause that was found last
};

/// Decides on the microphones of a recording of any kind by the daemon's rules (health/monitor.hpp): from up to 32
/// windows spread over it, raw bits and spectra: at the frequencies of the settings' front end, in its windows, or,
/// where the user gave none, at the loudest that the array resolves, in short ones; in both cases where the
/// calibration is defined. Throws what open_recording() does, DeviceError, and DataError where there are fewer than 16
/// whole windows or fewer than 6 microphones a side.
MicrophoneInspection inspect_microphones(const std::filesystem::path& path, const Settings& settings);

/// Where the microphones of a recording stand, by itself or these settings. Throws what open_recording() does.
ArrayGeometry geometry_of_recording(const std::filesystem::path& path, const Settings& settings);

}  // namespace nearfield

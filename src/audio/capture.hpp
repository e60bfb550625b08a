#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/sample_format.hpp"

/// Samples from ALSA's devices.
namespace nearfield::audio {

/// Abilities of a device that captures.
struct DeviceFacts {
  std::string name;         ///< a value of `daemon.source.device`: "hw:UMA16,0"
  std::string description;  ///< by the card or by ALSA's configuration
  int fewest_channels = 0;
  int most_channels = 0;
  std::vector<double> rates_hz = {};  ///< usual rates that it has
  std::vector<SampleFormat> formats = {};
  std::string flaw = {};  ///< why the rest is not known, such as that another program uses the device; else empty
};

/// The hardware of this machine, then what ALSA's configuration names. Throws NoInputError without ALSA's library.
std::vector<DeviceFacts> list_devices();
/// One line: "16 channels; 44100, 48000 Hz; s32, s16"
std::string text_of(const DeviceFacts& facts);

struct CaptureSettings {
  std::string device;
  double sample_rate_hz = 0.0;
  int microphones = 0;
  std::vector<int> channels =
      {};  ///< a channel of the device for each microphone; empty: the device has exactly the microphones
  double period_s = 1e-3;  ///< wanted time between two reads
};

/// An open device, with samples as float32, integers as fractions of full scale. For one thread.
class Capture {
 public:
  /// Opens and starts the device. Throws NoInputError where it is not there or in use, and ConfigError where it has not
  /// the rate or the channels; the message says what it has.
  explicit Capture(const CaptureSettings& settings);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// "s32 of 16 channels, periods of 48 samples"
  [[nodiscard]] const std::string& form() const { return form_; }

  struct Samples {
    std::span<const float> values;  ///< [sample][microphone]; none before the time is over
    std::int64_t newest_ns = 0;  ///< when the last of them was captured, CLOCK_MONOTONIC, by the driver if it says so
    bool follows_an_overrun = false;  ///< samples between these and those before were lost
  };
  /// The samples that are there, waiting at most `timeout_ms` for them; valid until the next call. Throws NoInputError
  /// when the device has gone.
  Samples read(int timeout_ms);

 private:
  struct Handles;

  void set_hardware(const CaptureSettings& settings);
  void set_software();
  [[nodiscard]] std::int64_t captured_ns(std::uint64_t read_samples, std::uint64_t there) const;
  void restart(int error);

  std::unique_ptr<Handles> handles_;
  std::string device_;
  std::string form_;
  double sample_rate_hz_ = 0.0;
  SampleFormat format_ = SampleFormat::kF32;
  int channels_there_ = 0;
  std::vector<int> channels_;
  std::size_t microphones_ = 0;
  std::uint64_t period_samples_ = 0;
  bool has_overrun_ = false;
  std::vector<std::byte> bytes_;
  std::vector<float> values_;
};

}  // namespace nearfield::audio

#include "audio/capture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "audio/alsa.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"

namespace nearfield::audio {
namespace {

struct Format {
  SampleFormat format;
  snd_pcm_format_t alsa;
};

/// Formats by preference: a device gives the first that it has.
constexpr std::array kFormats = {
    Format{SampleFormat::kS32, SND_PCM_FORMAT_S32_LE}, Format{SampleFormat::kS24, SND_PCM_FORMAT_S24_3LE},
    Format{SampleFormat::kS24In32, SND_PCM_FORMAT_S24_LE}, Format{SampleFormat::kF32, SND_PCM_FORMAT_FLOAT_LE},
    Format{SampleFormat::kS16, SND_PCM_FORMAT_S16_LE}};

constexpr std::array<unsigned, 14> kUsualRates_hz = {8000,  11025, 16000, 22050, 32000,  44100,  48000,
                                                     50000, 64000, 88200, 96000, 128000, 176400, 192000};
/// A device without limits of its own, such as ALSA's null, says 10,000.
constexpr unsigned kMostChannels = 4096;
constexpr unsigned kBufferUs = 500'000;
/// A driver's time further away than this from the host's is no time of CLOCK_MONOTONIC.
constexpr std::int64_t kPlausibleNs = 2 * kNsPerSecond;

struct CloseDevice {
  void operator()(snd_pcm_t* device) const { (void)alsa().snd_pcm_close(device); }
};
struct FreeHardware {
  void operator()(snd_pcm_hw_params_t* parameters) const { alsa().snd_pcm_hw_params_free(parameters); }
};
struct FreeSoftware {
  void operator()(snd_pcm_sw_params_t* parameters) const { alsa().snd_pcm_sw_params_free(parameters); }
};
struct FreeStatus {
  void operator()(snd_pcm_status_t* status) const { alsa().snd_pcm_status_free(status); }
};
using Device = std::unique_ptr<snd_pcm_t, CloseDevice>;
using Hardware = std::unique_ptr<snd_pcm_hw_params_t, FreeHardware>;

/// Throws NoInputError.
Device opened(const std::string& name) {
  snd_pcm_t* device = nullptr;
  const int error = alsa().snd_pcm_open(&device, name.c_str(), SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK);
  if (error == -EBUSY) {
    throw NoInputError(fmt::format(
        "daemon.source.device: {}: another program uses it; `fuser -v /dev/snd/*` says which, a sound server such as "
        "PipeWire lets go of it when its own recorders end",
        name));
  }
  if (error == -EACCES || error == -EPERM) {
    throw NoInputError(
        fmt::format("daemon.source.device: {}: {}; expected a user of the group audio", name, text_of_error(error)));
  }
  if (error < 0) {
    throw NoInputError(fmt::format("daemon.source.device: {}: {}; `nearfield devices --audio` lists what there is",
                                   name, text_of_error(error)));
  }
  return Device(device);
}

Hardware parameters_of(snd_pcm_t* device, const std::string& name) {
  snd_pcm_hw_params_t* parameters = nullptr;
  (void)alsa().snd_pcm_hw_params_malloc(&parameters);
  Hardware owned(parameters);
  if (const int error = alsa().snd_pcm_hw_params_any(device, parameters); error < 0) {
    throw NoInputError(fmt::format("daemon.source.device: {}: {}", name, text_of_error(error)));
  }
  (void)alsa().snd_pcm_hw_params_set_rate_resample(device, parameters, 0);  // no rate that the hardware has not
  return owned;
}

void add_limits(snd_pcm_t* device, snd_pcm_hw_params_t* parameters, DeviceFacts& facts) {
  unsigned fewest = 0;
  unsigned most = 0;
  (void)alsa().snd_pcm_hw_params_get_channels_min(parameters, &fewest);
  (void)alsa().snd_pcm_hw_params_get_channels_max(parameters, &most);
  facts.fewest_channels = static_cast<int>(std::min(fewest, kMostChannels));
  facts.most_channels = static_cast<int>(std::min(most, kMostChannels));
  for (const unsigned rate_hz : kUsualRates_hz) {
    if (alsa().snd_pcm_hw_params_test_rate(device, parameters, rate_hz, 0) == 0) {
      facts.rates_hz.push_back(rate_hz);
    }
  }
  for (const Format& one : kFormats) {
    if (alsa().snd_pcm_hw_params_test_format(device, parameters, one.alsa) == 0) {
      facts.formats.push_back(one.format);
    }
  }
}

/// Never throws for a device that can't be opened: its flaw says why.
DeviceFacts facts_of(const std::string& name, std::string description) {
  DeviceFacts facts{.name = name, .description = std::move(description)};
  try {
    const Device device = opened(name);
    const Hardware parameters = parameters_of(device.get(), name);
    add_limits(device.get(), parameters.get(), facts);
  } catch (const NoInputError& error) {
    facts.flaw = error.what();
  }
  return facts;
}

void list_card(int card, std::vector<DeviceFacts>& found) {
  snd_ctl_t* control = nullptr;
  if (alsa().snd_ctl_open(&control, fmt::format("hw:{}", card).c_str(), 0) < 0) {
    return;
  }
  snd_ctl_card_info_t* info = nullptr;
  snd_pcm_info_t* pcm = nullptr;
  (void)alsa().snd_ctl_card_info_malloc(&info);
  (void)alsa().snd_pcm_info_malloc(&pcm);
  (void)alsa().snd_ctl_card_info(control, info);
  for (int device = -1; alsa().snd_ctl_pcm_next_device(control, &device) == 0 && device >= 0;) {
    alsa().snd_pcm_info_set_device(pcm, static_cast<unsigned>(device));
    alsa().snd_pcm_info_set_stream(pcm, SND_PCM_STREAM_CAPTURE);
    if (alsa().snd_ctl_pcm_info(control, pcm) == 0) {
      const std::string name = fmt::format("hw:{},{}", alsa().snd_ctl_card_info_get_id(info), device);
      found.push_back(facts_of(
          name, fmt::format("{}, {}", alsa().snd_ctl_card_info_get_name(info), alsa().snd_pcm_info_get_name(pcm))));
    }
  }
  alsa().snd_pcm_info_free(pcm);
  alsa().snd_ctl_card_info_free(info);
  (void)alsa().snd_ctl_close(control);
}

std::string hint_of(const void* hint, const char* key) {
  char* const text = alsa().snd_device_name_get_hint(hint, key);
  std::string result = text == nullptr ? "" : text;
  std::free(text);  // NOLINT(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory): ALSA's malloc
  return result;
}

/// Names of ALSA's configuration that can be opened and are no other name of a card's devices. JACK's library would
/// write to stderr where no server runs.
void list_names(std::vector<DeviceFacts>& found) {
  void** hints = nullptr;
  if (alsa().snd_device_name_hint(-1, "pcm", &hints) < 0) {
    return;
  }
  for (void** hint = hints; *hint != nullptr; ++hint) {
    const std::string name = hint_of(*hint, "NAME");
    if (hint_of(*hint, "IOID") == "Output" || name.find("CARD=") != std::string::npos || name == "null" ||
        name == "jack") {
      continue;
    }
    std::string description = hint_of(*hint, "DESC");
    std::replace(description.begin(), description.end(), '\n', ' ');
    if (DeviceFacts facts = facts_of(name, std::move(description)); facts.flaw.empty()) {
      found.push_back(std::move(facts));
    }
  }
  (void)alsa().snd_device_name_free_hint(hints);
}

std::string names_of(const std::vector<SampleFormat>& formats) {
  std::vector<std::string_view> names;
  std::transform(formats.begin(), formats.end(), std::back_inserter(names),
                 [](SampleFormat one) { return name_of(one); });
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string text_of_channels(const DeviceFacts& facts) {
  return facts.fewest_channels == facts.most_channels
             ? fmt::format("{} channels", facts.most_channels)
             : fmt::format("{} to {} channels", facts.fewest_channels, facts.most_channels);
}

}  // namespace

std::vector<DeviceFacts> list_devices() {
  std::vector<DeviceFacts> found;
  for (int card = -1; alsa().snd_card_next(&card) == 0 && card >= 0;) {
    list_card(card, found);
  }
  list_names(found);
  return found;
}

std::string text_of(const DeviceFacts& facts) {
  return !facts.flaw.empty() ? facts.flaw
                             : fmt::format("{}; {} Hz; {}", text_of_channels(facts), fmt::join(facts.rates_hz, ", "),
                                           names_of(facts.formats));
}

struct Capture::Handles {
  Device device;
  std::unique_ptr<snd_pcm_status_t, FreeStatus> status;
};

Capture::Capture(const CaptureSettings& settings)
    : handles_(std::make_unique<Handles>()),
      device_(settings.device),
      sample_rate_hz_(settings.sample_rate_hz),
      channels_(settings.channels),
      microphones_(static_cast<std::size_t>(settings.microphones)) {
  handles_->device = opened(device_);
  snd_pcm_status_t* status = nullptr;
  (void)alsa().snd_pcm_status_malloc(&status);
  handles_->status.reset(status);
  set_hardware(settings);
  set_software();
  bytes_.resize(period_samples_ * static_cast<std::size_t>(channels_there_) * bytes_of(format_));
  values_.resize(period_samples_ * microphones_);
  (void)alsa().snd_pcm_start(handles_->device.get());  // the first read says why it failed
}

Capture::~Capture() = default;

void Capture::set_hardware(const CaptureSettings& settings) {
  snd_pcm_t* const device = handles_->device.get();
  const Hardware owned = parameters_of(device, device_);
  snd_pcm_hw_params_t* const parameters = owned.get();
  DeviceFacts facts{.name = device_, .description = {}};
  add_limits(device, parameters, facts);

  const int highest =
      channels_.empty() ? settings.microphones - 1 : *std::max_element(channels_.begin(), channels_.end());
  channels_there_ = highest + 1;
  while (channels_there_ <= facts.most_channels &&
         alsa().snd_pcm_hw_params_test_channels(device, parameters, static_cast<unsigned>(channels_there_)) != 0) {
    ++channels_there_;
  }
  if (channels_there_ > facts.most_channels || (channels_.empty() && channels_there_ != settings.microphones)) {
    throw ConfigError(
        channels_.empty() && channels_there_ <= facts.most_channels
            ? fmt::format(
                  "array.channels: expected those of the {} channels of {} that are its {} microphones, such as "
                  "[0, 1, 2, ...], found none",
                  channels_there_, device_, settings.microphones)
            : fmt::format("{}: expected at least {} channels of {}, found {}",
                          channels_.empty() ? "array.rows, array.columns" : "array.channels", highest + 1, device_,
                          text_of_channels(facts)));
  }
  (void)alsa().snd_pcm_hw_params_set_channels(device, parameters, static_cast<unsigned>(channels_there_));

  const double whole_hz = std::round(settings.sample_rate_hz);
  if (whole_hz != settings.sample_rate_hz ||
      alsa().snd_pcm_hw_params_set_rate(device, parameters, static_cast<unsigned>(whole_hz), 0) < 0) {
    throw ConfigError(fmt::format(
        "daemon.source.sample_rate_hz: expected a rate of {}, {}, found {:.10g}", device_,
        facts.rates_hz.empty() ? "none of the usual ones" : fmt::format("{} Hz", fmt::join(facts.rates_hz, ", ")),
        settings.sample_rate_hz));
  }
  if (alsa().snd_pcm_hw_params_set_access(device, parameters, SND_PCM_ACCESS_RW_INTERLEAVED) < 0) {
    throw ConfigError(
        fmt::format("daemon.source.device: expected a device that interleaves its channels, found {}; "
                    "plug{} converts",
                    device_, device_));
  }
  const auto* const chosen = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& one) {
    return alsa().snd_pcm_hw_params_set_format(device, parameters, one.alsa) == 0;
  });
  if (chosen == kFormats.end()) {
    throw ConfigError(
        fmt::format("daemon.source.device: expected samples of 16, 24 or 32 bits, little-endian, found that "
                    "{} has none; plug{} converts",
                    device_, device_));
  }
  format_ = chosen->format;
  unsigned buffer_us = kBufferUs;
  auto period_us = static_cast<unsigned>(std::lround(settings.period_s * 1e6));
  (void)alsa().snd_pcm_hw_params_set_period_time_near(device, parameters, &period_us, nullptr);
  (void)alsa().snd_pcm_hw_params_set_buffer_time_near(device, parameters, &buffer_us, nullptr);
  if (const int error = alsa().snd_pcm_hw_params(device, parameters); error < 0) {
    throw NoInputError(fmt::format("daemon.source.device: {}: {}", device_, text_of_error(error)));
  }
  snd_pcm_uframes_t period = 0;
  (void)alsa().snd_pcm_hw_params_get_period_size(parameters, &period, nullptr);
  period_samples_ = std::max<std::uint64_t>(1, period);
  form_ = fmt::format("{} of {} channels, periods of {} samples", name_of(format_), channels_there_, period_samples_);
}

void Capture::set_software() {
  snd_pcm_sw_params_t* parameters = nullptr;
  (void)alsa().snd_pcm_sw_params_malloc(&parameters);
  const std::unique_ptr<snd_pcm_sw_params_t, FreeSoftware> owned(parameters);
  snd_pcm_t* const device = handles_->device.get();
  (void)alsa().snd_pcm_sw_params_current(device, parameters);
  (void)alsa().snd_pcm_sw_params_set_tstamp_mode(device, parameters, SND_PCM_TSTAMP_ENABLE);
  (void)alsa().snd_pcm_sw_params_set_tstamp_type(device, parameters, SND_PCM_TSTAMP_TYPE_MONOTONIC);
  (void)alsa().snd_pcm_sw_params_set_avail_min(device, parameters, period_samples_);
  if (const int error = alsa().snd_pcm_sw_params(device, parameters); error < 0) {
    throw NoInputError(fmt::format("daemon.source.device: {}: {}", device_, text_of_error(error)));
  }
}

/// The driver's time is that of the newest of the `there` samples that it had.
std::int64_t Capture::captured_ns(std::uint64_t read_samples, std::uint64_t there) const {
  const std::int64_t now_ns = monotonic_ns();
  snd_htimestamp_t stamp{};
  alsa().snd_pcm_status_get_htstamp(handles_->status.get(), &stamp);
  const std::int64_t driver_ns = stamp.tv_sec * kNsPerSecond + stamp.tv_nsec;
  const bool is_plausible = driver_ns <= now_ns && driver_ns >= now_ns - kPlausibleNs;
  const std::uint64_t left = there - std::min(there, read_samples);
  return (is_plausible ? driver_ns : now_ns) -
         std::llround(static_cast<double>(left) / sample_rate_hz_ * static_cast<double>(kNsPerSecond));
}

void Capture::restart(int error) {
  has_overrun_ = true;
  snd_pcm_t* const device = handles_->device.get();
  if (alsa().snd_pcm_prepare(device) < 0 || alsa().snd_pcm_start(device) < 0) {
    throw NoInputError(fmt::format("daemon.source.device: {}: {}", device_, text_of_error(error)));
  }
}

Capture::Samples Capture::read(int timeout_ms) {
  snd_pcm_t* const device = handles_->device.get();
  const auto is_overrun = [](long result) { return result == -EPIPE || result == -ESTRPIPE; };
  if (const int ready = alsa().snd_pcm_wait(device, timeout_ms); ready == 0) {
    return {};
  } else if (is_overrun(ready)) {
    restart(ready);
    return {};
  } else if (ready < 0 && ready != -EINTR) {
    throw NoInputError(fmt::format("daemon.source.device: {}: {}", device_, text_of_error(ready)));
  }
  const bool is_known = alsa().snd_pcm_status(device, handles_->status.get()) == 0;
  const std::uint64_t there = is_known ? alsa().snd_pcm_status_get_avail(handles_->status.get()) : 0;
  const snd_pcm_sframes_t count = alsa().snd_pcm_readi(device, bytes_.data(), period_samples_);
  if (count == -EAGAIN || count == 0) {
    return {};
  }
  if (is_overrun(count)) {
    restart(static_cast<int>(count));
    return {};
  }
  if (count < 0) {
    throw NoInputError(fmt::format("daemon.source.device: {}: {}", device_, text_of_error(static_cast<int>(count))));
  }
  const auto samples = static_cast<std::uint64_t>(count);
  const std::span<float> values = std::span(values_).first(samples * microphones_);
  to_floats(format_, bytes_, channels_there_, channels_, values);
  return {.values = values,
          .newest_ns = captured_ns(samples, there),
          .follows_an_overrun = std::exchange(has_overrun_, false)};
}

}  // namespace nearfield::audio

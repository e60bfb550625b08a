#include "publish/sound/beam_files.hpp"

#include <fmt/format.h>
#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/system/files.hpp"

namespace nearfield {

WavOutput::WavOutput(std::filesystem::path folder, int hop_samples, double gain_db)
    : folder_(std::move(folder)), hop_samples_(static_cast<std::uint64_t>(hop_samples)), gain_db_(gain_db) {}

void WavOutput::begin(const ResultHeader& header, const Beginning& beginning) {
  if (const std::optional<BeamLayout> layout = beams_of(header)) {
    files_[beginning.processor] = std::make_unique<BeamFiles>(folder_, header.processor, *layout, gain_db_);
  }
}

void WavOutput::write(const Frame& frame) {
  const auto files = files_.find(frame.processor);
  if (files == files_.end()) {
    return;
  }
  frames_with_losses_ += frame.missing_bit_times > 0 ? 1U : 0U;
  files->second->add(frame.sequence * hop_samples_, values_of<float>(frame.products[files->second->layout().product]));
}

void WavOutput::finish() {
  for (const auto& [processor, files] : files_) {
    SoundReport report = files->finish();
    std::move(report.files.begin(), report.files.end(), std::back_inserter(report_.files));
    std::move(report.warnings.begin(), report.warnings.end(), std::back_inserter(report_.warnings));
  }
  if (files_.empty()) {
    report_.warnings.push_back(fmt::format(
        "{}: no sound files: no frame of these has beams (processors.NAME.kind: listen)", folder_.string()));
  }
  if (frames_with_losses_ > 0) {
    report_.warnings.push_back(fmt::format("{}: {} frames have bits that never came, which are silence",
                                           folder_.string(), frames_with_losses_));
  }
}

namespace {

constexpr double kLongestGap_s = 600.0;
constexpr std::size_t kZerosOfABlock = 4096;

struct CloseSound {
  void operator()(SNDFILE* handle) const { sf_close(handle); }
};

}  // namespace

struct BeamFiles::File {
  explicit File(const std::filesystem::path& path) : partial(path) {}
  PartialFile partial;
  std::unique_ptr<SNDFILE, CloseSound> sound;  // closed before the file is renamed or removed
  double largest_pa = 0.0;

  [[nodiscard]] IoError error(const std::string& reason) const {
    return IoError(fmt::format("{}: cannot be written: {}", partial.path().string(), reason));
  }
};

std::optional<BeamLayout> beams_of(const ResultHeader& header) {
  const auto product = std::find_if(header.products.begin(), header.products.end(), [](const Product& one) {
    return one.name == "beams" && one.form == Product::Form::kArray && one.type == ElementType::kFloat32 &&
           one.unit == "Pa" && one.axes == std::vector<std::string>{"beam", "sample"};
  });
  if (product == header.products.end()) {
    return std::nullopt;
  }
  const Axis& samples = *header.axis("sample");
  const double length_s = samples.values.back() - samples.values.front();
  if (samples.unit != "s" || samples.components != 1 || !(length_s > 0.0)) {
    return std::nullopt;
  }
  const Axis* const places = header.axis("focus");
  return BeamLayout{.product = static_cast<std::size_t>(product - header.products.begin()),
                    .beams = header.axis("beam")->size(),
                    .samples = samples.size(),
                    .rate_hz = static_cast<double>(samples.size() - 1) / length_s,
                    .places = places != nullptr ? places->values : std::vector<double>()};
}

BeamFiles::BeamFiles(const std::filesystem::path& folder, const std::string& processor, const BeamLayout& layout,
                     double gain_db)
    : name_((folder / processor).string()), layout_(layout), gain_db_(gain_db) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw IoError(fmt::format("{}: can't make the folder for sound files: {}", folder.string(), error.message()));
  }
  for (std::size_t beam = 0; beam < layout.beams; ++beam) {
    File& file = *files_.emplace_back(std::make_unique<File>(folder / fmt::format("{}-{}.wav", processor, beam)));
    // Sets RF64 for files of more than 4 GiB, which WAV does not support.
    SF_INFO info{};
    info.samplerate = static_cast<int>(std::lround(layout.rate_hz));
    info.channels = 1;
    info.format = SF_FORMAT_RF64 | SF_FORMAT_FLOAT;
    file.sound.reset(sf_open(file.partial.path_by_descriptor().c_str(), SFM_WRITE, &info));
    if (!file.sound) {
      throw file.error(sf_strerror(nullptr));
    }
    sf_command(file.sound.get(), SFC_RF64_AUTO_DOWNGRADE, nullptr, SF_TRUE);
    sf_command(file.sound.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);  // the chunk contains a time
  }
}

BeamFiles::~BeamFiles() = default;

void BeamFiles::add(std::uint64_t first_sample, std::span<const float> values) {
  const auto longest_gap = static_cast<std::uint64_t>(kLongestGap_s * layout_.rate_hz);
  std::uint64_t begin = 0;  // first unwritten sample of the frame
  if (next_) {
    const bool is_leap =
        first_sample > *next_ ? first_sample - *next_ > longest_gap : *next_ - first_sample >= layout_.samples;
    if (is_leap) {
      ++beginnings_;
    } else if (first_sample > *next_) {
      write_zeros(first_sample - *next_);
    } else {
      begin = *next_ - first_sample;
    }
  }
  for (std::size_t beam = 0; beam < layout_.beams; ++beam) {
    write(beam, values.subspan(beam * layout_.samples, layout_.samples).subspan(begin));
  }
  samples_ += layout_.samples - begin;
  next_ = first_sample + layout_.samples;
}

void BeamFiles::begin_anew() {
  beginnings_ += next_ ? 1U : 0U;
  next_.reset();
}

void BeamFiles::write_zeros(std::uint64_t samples) {
  const std::vector<float> zeros(kZerosOfABlock);
  for (std::uint64_t done = 0; done < samples; done += kZerosOfABlock) {
    for (std::size_t beam = 0; beam < layout_.beams; ++beam) {
      write(beam, std::span(zeros).first(std::min<std::uint64_t>(kZerosOfABlock, samples - done)));
    }
  }
  samples_ += samples;
  missing_ += samples;
  ++gaps_;
}

void BeamFiles::write(std::size_t beam, std::span<const float> values) {
  File& file = *files_[beam];
  const double gain = std::pow(10.0, gain_db_ / 20.0);
  block_.clear();
  for (const float value : values) {
    const bool has_value = std::isfinite(value);
    without_value_ += has_value ? 0U : 1U;
    const double pressure_pa = has_value ? static_cast<double>(value) : 0.0;
    file.largest_pa = std::max(file.largest_pa, std::abs(pressure_pa));
    block_.push_back(static_cast<float>(gain * pressure_pa));
  }
  const auto count = static_cast<sf_count_t>(block_.size());
  if (sf_writef_float(file.sound.get(), block_.data(), count) != count) {
    throw file.error(sf_strerror(file.sound.get()));
  }
}

SoundReport BeamFiles::finish() {
  SoundReport report;
  const double gain = std::pow(10.0, gain_db_ / 20.0);
  const std::string scale = gain_db_ == 0.0 ? "1 is 1 Pa" : fmt::format("1 is {:.4g} Pa", 1.0 / gain);
  bool is_loud = false;
  for (const std::unique_ptr<File>& file : files_) {
    sf_write_sync(file->sound.get());
    if (const int error = sf_close(file->sound.release()); error != 0) {
      throw file->error(sf_error_number(error));
    }
    file->partial.finish();
    is_loud = is_loud || gain * file->largest_pa > 1.0;
    report.files.push_back(fmt::format("{}: {:.3f} s at {} Hz, largest {:.4g} Pa; {}", file->partial.path().string(),
                                       static_cast<double>(samples_) / layout_.rate_hz, std::lround(layout_.rate_hz),
                                       file->largest_pa, scale));
  }
  if (missing_ > 0) {
    report.warnings.push_back(
        fmt::format("{}: {} samples in {} gaps never came and are zeros", name_, missing_, gaps_));
  }
  if (without_value_ > 0) {
    report.warnings.push_back(
        fmt::format("{}: {} samples have no value, for want of microphones, and are zeros", name_, without_value_));
  }
  if (beginnings_ > 0) {
    report.warnings.push_back(
        fmt::format("{}: the stream began again {} times; what came then follows at once", name_, beginnings_));
  }
  if (is_loud) {
    report.warnings.push_back(
        fmt::format("{}: samples lie beyond 1 and -1, where players clip; --wav-gain-db lowers them", name_));
  }
  if (std::abs(layout_.rate_hz - std::round(layout_.rate_hz)) > 1e-6 * layout_.rate_hz) {
    report.warnings.push_back(fmt::format("{}: WAV holds rates in whole Hz: {} Hz stands for {:.6f} Hz", name_,
                                          std::lround(layout_.rate_hz), layout_.rate_hz));
  }
  return report;
}

}  // namespace nearfield

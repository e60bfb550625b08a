#include <fmt/format.h>

#include <cstring>

#include "core/error.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "files/time_data/time_data_input.hpp"

namespace nearfield::time_data {
namespace {

/// The samples of a recording, with silence where none were received.
class RecordedFile : public Input {
 public:
  explicit RecordedFile(const std::filesystem::path& path) : reader_(path) {
    const nfr::FileInfo& info = reader_.info();
    const nfr::BitsSummary& samples = reader_.summary().bits;
    if (!info.holds_samples || samples.records == 0) {
      throw DataError(fmt::format("{}: expected samples, found a recording of {}", path.string(),
                                  samples.records > 0 ? "bits" : "images alone"));
    }
    reader_.require_plausible_span(samples.first_bit_time, samples.end_bit_time);
    description_ = {.format = "recording (.nfr)",
                    .sample_rate_hz = info.sample_rate_hz,
                    .samples = samples.expected(),
                    .channels = info.measurement.geometry.channels(),
                    .pascal_per_unit = info.pascal_per_unit};
    if (samples.expected() > samples.received) {
      description_.note =
          fmt::format("{} of its {} samples were not received, and are silence: {}",
                      samples.expected() - samples.received, samples.expected(), nfr::text_of_losses(samples));
    }
  }
  [[nodiscard]] const Description& description() const override { return description_; }
  void read(std::uint64_t first_sample, std::span<float> values) override {
    words_.resize(values.size());
    reader_.read_bits(reader_.summary().bits.first_bit_time + first_sample, words_, missing_);
    missing_.clear();
    if (!words_.empty()) {  // memcpy() must not get a null pointer
      std::memcpy(values.data(), words_.data(), values.size_bytes());
    }
  }

 private:
  nfr::Reader reader_;
  Description description_;
  std::vector<std::uint32_t> words_;
  std::vector<MissingRun> missing_;
};

}  // namespace

std::unique_ptr<Input> open_recorded(const std::filesystem::path& path) { return std::make_unique<RecordedFile>(path); }

}  // namespace nearfield::time_data

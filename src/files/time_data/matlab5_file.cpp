#include <fmt/format.h>

#include <algorithm>

#include "files/time_data/matlab5_elements.hpp"
#include "files/time_data/time_data_input.hpp"

namespace nearfield::time_data {
namespace {

bool is_reversed_file(const ByteFile& file) {
  constexpr std::uint64_t kEndianOffset = 126;
  const std::string mark = file.text(kEndianOffset, 2);
  if (mark != "IM" && mark != "MI") {
    throw file.wrong("head", "no mark of the order of bytes", "IM or MI at byte 126");
  }
  return (mark == "IM") != (std::endian::native == std::endian::little);
}

/// Deflate's best ratio is 1032.
constexpr std::uint64_t kMostCompression = 1032;

class Matlab5File : public Input {
 public:
  explicit Matlab5File(const std::filesystem::path& path) : file_(path), is_reversed_(is_reversed_file(file_)) {
    std::vector<Matlab5Variable> found = read_matlab5_variables(file_, is_reversed_);
    std::vector<Variable> variables;
    for (const Matlab5Variable& one : found) {
      variables.push_back(one.variable);
    }
    chosen_ = choose_variables(variables, path.string());
    matrix_ = std::move(found[chosen_.samples]);
    value_bytes_ = bytes_of_stored(matrix_.numbers.type);
    if (matrix_.is_compressed) {
      require_possible_compression();
    } else if (matrix_.numbers_offset + matrix_.numbers.bytes > matrix_.bytes) {
      throw file_.wrong(matrix_.variable.name, fmt::format("{} bytes", matrix_.bytes), "room for its numbers");
    }
    full_scale_ = full_scale_of(matrix_.variable.class_name);
    description_ = {.format = fmt::format("MATLAB file of level 5, matrix {} ({})", matrix_.variable.name,
                                          matrix_.variable.class_name),
                    .sample_rate_hz = chosen_.sample_rate_hz,
                    .samples = chosen_.sample_count,
                    .channels = static_cast<int>(chosen_.channels),
                    .pascal_per_unit = std::nullopt,
                    .are_integers = full_scale_.scale != 1.0};
  }
  [[nodiscard]] const Description& description() const override { return description_; }

  void read(std::uint64_t first_sample, std::span<float> values) override { pieces_.read(first_sample, values); }

 private:
  /// MATLAB stores column by column: a [channel][sample] matrix is in the order of samples, the other in that of
  /// channels.
  class Pieces : public ChannelMajorInput {
   public:
    explicit Pieces(Matlab5File& owner) : owner_(owner) {}
    [[nodiscard]] const Description& description() const override { return owner_.description_; }

   protected:
    void read_piece(std::uint64_t first_sample, std::uint64_t samples, std::span<float> piece) override {
      const std::uint64_t channels = owner_.chosen_.channels;
      if (owner_.chosen_.are_channels_columns) {
        for (std::uint64_t channel = 0; channel < channels; ++channel) {
          owner_.numbers(channel * owner_.chosen_.sample_count + first_sample,
                         piece.subspan(channel * samples, samples));
        }
        return;
      }
      std::vector<float> rows(piece.size());
      owner_.numbers(first_sample * channels, rows);
      for (std::uint64_t sample = 0; sample < samples; ++sample) {
        for (std::uint64_t channel = 0; channel < channels; ++channel) {
          piece[channel * samples + sample] = rows[sample * channels + channel];
        }
      }
    }

   private:
    Matlab5File& owner_;
  };

  void require_possible_compression() const {
    if (matrix_.numbers.bytes / kMostCompression > matrix_.bytes) {
      throw file_.wrong(matrix_.variable.name, fmt::format("{} compressed bytes", matrix_.bytes),
                        fmt::format("enough for {}", matrix_.numbers.bytes));
    }
  }
  /// A compressed variable can be read only from its beginning: keep all of it inflated, as stored.
  void inflate_whole() {
    const std::unique_ptr<ByteStream> stream = open_variable(file_, matrix_);
    stream->skip(matrix_.numbers_offset);
    std::vector<std::byte> bytes;
    bytes.reserve(static_cast<std::size_t>(matrix_.numbers.bytes));
    constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20U;
    while (bytes.size() < matrix_.numbers.bytes) {  // grow step by step: commits only inflated memory
      const std::size_t begin = bytes.size();
      bytes.resize(static_cast<std::size_t>(std::min(begin + kPieceBytes, matrix_.numbers.bytes)));
      stream->read(std::span(bytes).subspan(begin));
    }
    inflated_ = std::move(bytes);
  }
  /// Bytes of the matrix as stored; valid until the next call.
  std::span<const std::byte> stored(std::uint64_t offset, std::size_t count) {
    if (matrix_.is_compressed) {
      if (inflated_.empty()) {
        inflate_whole();
      }
      return std::span(inflated_).subspan(static_cast<std::size_t>(offset), count);
    }
    buffer_.resize(count);
    file_.read(matrix_.offset + matrix_.numbers_offset + offset, buffer_, matrix_.variable.name);
    return buffer_;
  }
  /// Reads numbers in file order.
  void numbers(std::uint64_t first, std::span<float> values) {
    const std::span<const std::byte> bytes = stored(first * value_bytes_, values.size() * value_bytes_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = full_scale_.of(stored_number(bytes.data() + i * value_bytes_, matrix_.numbers.type, is_reversed_));
    }
  }

  ByteFile file_;
  bool is_reversed_;
  ChosenVariables chosen_;
  Matlab5Variable matrix_;
  std::size_t value_bytes_ = 0;
  FullScale full_scale_;
  std::vector<std::byte> inflated_;  ///< filled on the first read
  std::vector<std::byte> buffer_;
  Description description_;
  Pieces pieces_{*this};
};

}  // namespace

std::unique_ptr<Input> open_matlab5(const std::filesystem::path& path) { return std::make_unique<Matlab5File>(path); }

}  // namespace nearfield::time_data

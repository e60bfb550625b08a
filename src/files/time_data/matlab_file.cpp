#include "files/time_data/matlab_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "files/hdf5/h5_input.hpp"
#include "files/time_data/time_data_input.hpp"

namespace nearfield::time_data {
namespace {

constexpr std::uint64_t kFewestChannels = 4;  ///< least for imaging; excludes lists of positions
constexpr std::uint64_t kLongerBy = 2;

/// Lower case, without underscores.
constexpr std::array<std::string_view, 9> kRates = {
    "fs",           "samplerate",        "sampleratehz", "samplefrequency", "samplefreq",
    "samplingrate", "samplingfrequency", "srate",        "samplingfreq"};
constexpr std::array<std::string_view, 7> kSamples = {"timedata", "pressure", "p", "data", "samples", "signals", "x"};

std::string plain(const std::string& name) {
  std::string result;
  for (const char letter : name) {
    if (letter != '_') {
      result.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
    }
  }
  return result;
}

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), plain(name)) != names.end();
}

std::string text_of(const std::vector<Variable>& variables) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> texts;
  for (const Variable& variable : variables) {
    if (texts.size() == kMost) {
      texts.push_back(fmt::format("and {} more", variables.size() - kMost));
      break;
    }
    texts.push_back(fmt::format("{} ({}{}{})", variable.name, fmt::join(variable.lengths, " x "),
                                variable.lengths.empty() ? "" : " ", variable.class_name));
  }
  return texts.empty() ? "no variables" : fmt::format("{}", fmt::join(texts, ", "));
}

bool may_be_samples(const Variable& variable) {
  return variable.is_real_number && variable.lengths.size() == 2 &&
         std::min(variable.lengths[0], variable.lengths[1]) >= kFewestChannels;
}

std::size_t choose_samples(const std::vector<Variable>& variables, const std::string& path) {
  std::vector<std::size_t> all;
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (may_be_samples(variables[i])) {
      all.push_back(i);
      if (is_one_of(kSamples, variables[i].name)) {
        named.push_back(i);
      }
    }
  }
  if (all.size() == 1) {
    return all.front();
  }
  if (named.size() == 1) {
    return named.front();
  }
  throw DataError(fmt::format(
      "{}: found {}, expected one real matrix of samples with four channels or more, or one of several that is named "
      "time_data, pressure, p, data, samples, signals or x",
      path, text_of(variables)));
}

double choose_rate(const std::vector<Variable>& variables, const std::string& path) {
  std::optional<double> rate_hz;
  bool is_unique = true;
  for (const Variable& variable : variables) {
    if (variable.value && is_one_of(kRates, variable.name)) {
      is_unique = is_unique && (!rate_hz || *rate_hz == *variable.value);
      rate_hz = variable.value;
    }
  }
  if (!rate_hz || !is_unique) {
    throw DataError(fmt::format(
        "{}: found {}, expected one number of Hz that is named fs, sample_rate, sample_freq, SampleFrequency or alike",
        path, text_of(variables)));
  }
  if (!(*rate_hz > 0.0) || !std::isfinite(*rate_hz)) {
    throw DataError(fmt::format("{}: found a sample rate of {:g} Hz, expected one above 0", path, *rate_hz));
  }
  return *rate_hz;
}

}  // namespace

FullScale full_scale_of(const std::string& class_name) {
  constexpr std::array<std::pair<std::string_view, int>, 4> kBits{
      {{"int8", 8}, {"int16", 16}, {"int32", 32}, {"int64", 64}}};
  for (const auto& [name, bits] : kBits) {
    const bool is_unsigned = class_name == fmt::format("u{}", name);
    if (is_unsigned || class_name == name) {
      return {.scale = std::ldexp(1.0, 1 - bits), .offset = is_unsigned ? -1.0 : 0.0};
    }
  }
  return {};
}

ChosenVariables choose_variables(const std::vector<Variable>& variables, const std::string& path) {
  ChosenVariables chosen{.samples = choose_samples(variables, path), .sample_rate_hz = choose_rate(variables, path)};
  const Variable& matrix = variables[chosen.samples];
  const std::uint64_t rows = matrix.lengths[0];
  const std::uint64_t columns = matrix.lengths[1];
  chosen.sample_count = std::max(rows, columns);
  chosen.channels = std::min(rows, columns);
  chosen.are_channels_columns = rows > columns;
  if (chosen.sample_count / kLongerBy < chosen.channels ||
      chosen.channels > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw DataError(fmt::format(
        "{}: {}: found {} x {} values, expected a side for time at least {} times as long as that for channels", path,
        matrix.name, rows, columns, kLongerBy));
  }
  return chosen;
}

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

// MATLAB's version 7.3 is HDF5 behind 512 bytes of its own; axes are in the reverse order of MATLAB's.
namespace {

constexpr const char* kClass = "MATLAB_class";
constexpr std::size_t kMostNames = 65536;

Variable variable_of(const h5::InputFile& file, const std::string& name) {
  const std::string object = "/" + name;
  Variable variable{.name = name, .class_name = "of an unknown class", .lengths = {}, .is_real_number = false};
  if (file.has_attribute(object, kClass)) {
    variable.class_name = file.text_attribute(object, kClass);
  }
  const std::optional<h5::Shape> shape = file.shape_of_dataset(object);
  if (!shape) {
    return variable;
  }
  variable.lengths.assign(shape->rbegin(), shape->rend());
  if (!file.has_attribute(object, kClass) && file.holds_numbers(object)) {
    variable.class_name = file.type_of_numbers(object);  // for programs that write no classes
  }
  const bool is_text_or_truth = variable.class_name == "char" || variable.class_name == "logical";
  variable.is_real_number = !is_text_or_truth && file.holds_numbers(object);
  const bool is_scalar = std::all_of(shape->begin(), shape->end(), [](hsize_t length) { return length == 1; });
  if (variable.is_real_number && is_scalar && shape->size() == 2) {
    variable.value = file.values<double>(object, {{"rows", 1}, {"columns", 1}}).front();
  }
  return variable;
}

std::vector<Variable> variables_of(const h5::InputFile& file) {
  std::vector<Variable> variables;
  for (const std::string& name : file.names_in_root(kMostNames)) {
    if (!name.starts_with('#')) {  // MATLAB's own groups
      variables.push_back(variable_of(file, name));
    }
  }
  return variables;
}

class Matlab73File : public ChannelMajorInput {
 public:
  explicit Matlab73File(const std::filesystem::path& path) : file_(path) {
    const std::vector<Variable> variables = variables_of(file_);
    chosen_ = choose_variables(variables, path.string());
    const std::string& name = variables[chosen_.samples].name;
    const std::string& class_name = variables[chosen_.samples].class_name;
    full_scale_ = full_scale_of(class_name);
    data_ = file_.dataset<double>("/" + name, {{"columns"}, {"rows"}});
    description_ = {.format = fmt::format("MATLAB file of version 7.3, matrix {} ({})", name, class_name),
                    .sample_rate_hz = chosen_.sample_rate_hz,
                    .samples = chosen_.sample_count,
                    .channels = static_cast<int>(chosen_.channels),
                    .pascal_per_unit = std::nullopt,
                    .are_integers = full_scale_.scale != 1.0};
  }
  [[nodiscard]] const Description& description() const override { return description_; }

 protected:
  void read_piece(std::uint64_t first_sample, std::uint64_t samples, std::span<float> piece) override {
    numbers_.resize(piece.size());
    if (chosen_.are_channels_columns) {  // [channel][sample] in the file
      data_.read_columns(first_sample, samples, numbers_);
      std::transform(numbers_.begin(), numbers_.end(), piece.begin(),
                     [this](double value) { return full_scale_.of(static_cast<float>(value)); });
      return;
    }
    data_.read(first_sample, std::span(numbers_));
    for (std::uint64_t sample = 0; sample < samples; ++sample) {
      for (std::uint64_t channel = 0; channel < chosen_.channels; ++channel) {
        piece[channel * samples + sample] =
            full_scale_.of(static_cast<float>(numbers_[sample * chosen_.channels + channel]));
      }
    }
  }

 private:
  h5::InputFile file_;
  h5::InputDataset data_;
  ChosenVariables chosen_;
  FullScale full_scale_;
  Description description_;
  std::vector<double> numbers_;
};

}  // namespace

std::unique_ptr<Input> open_matlab73(const std::filesystem::path& path) { return std::make_unique<Matlab73File>(path); }

}  // namespace nearfield::time_data

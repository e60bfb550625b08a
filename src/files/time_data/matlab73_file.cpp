#include <fmt/format.h>

#include <algorithm>

#include "files/hdf5/h5_input.hpp"
#include "files/time_data/matlab_variables.hpp"
#include "files/time_data/time_data_input.hpp"

// MATLAB's version 7.3 is HDF5 behind 512 bytes of its own; axes are in the reverse order of MATLAB's.
namespace nearfield::time_data {
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

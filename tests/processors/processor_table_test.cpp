#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <type_traits>

#include "config/config.hpp"
#include "config/schema/processor_kinds.hpp"
#include "core/error.hpp"
#include "core/product.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/processor.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// What holds for every kind of processor, whatever it makes: a new line of kinds.def is tested here without a new
/// test.
namespace nearfield {
namespace {

ocl::Device& device() {
  static ocl::Device device = ocl::Device::open(DeviceSettings());
  return device;
}

/// 12 x 16 microphones 2 cm apart, 3 cm before the surface, two frequencies.
class ProcessorTable : public testing::Test {
 protected:
  ProcessorPlan plan_of(const ProcessorEntry& entry) {
    own_ = schema::processor_kind(entry.kind)->make();
    settings_.array.geometry = {.rows = 12, .columns = 16, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
    ArrayPlan array;
    array.geometry = settings_.array.geometry;
    array.frequencies_hz = {700.0, 1200.0};
    array.gains.assign(2 * static_cast<std::size_t>(array.geometry.channels()), {0.5F, 0.25F});
    array.fills_from_all = entry.kind == "sonah";  // as the engine has it for what feeds sonah
    return {.name = "tested",
            .settings = &settings_,
            .own = own_.get(),
            .array = array,
            .frequencies_hz = array.frequencies_hz,
            .sample_rate_hz = 46875.0,
            .batch = 2};
  }
  /// [window][frequency][row][column], two windows.
  static std::vector<test::Complex> fields_of(const ProcessorPlan& plan) {
    std::mt19937 generator(7U);
    std::vector<test::Complex> spectra;
    for (const double x_m : {0.021, -0.07}) {
      const test::Monopole source{.x_m = x_m, .y_m = -0.013, .z_m = -0.04};
      for (std::size_t f = 0; f < plan.array.frequencies_hz.size(); ++f) {
        auto field = test::monopole_field(source, plan.array.wavenumber(f), plan.array.geometry, plan.array.standoff_m);
        test::add_noise(field, 40.0, generator);
        spectra.insert(spectra.end(), field.begin(), field.end());
      }
    }
    return spectra;
  }
  /// Decimated samples [sample][channel] of two windows a hop apart, for a kind that works on them.
  [[nodiscard]] std::vector<float> samples_of(const ProcessorPlan& plan, std::size_t window) const {
    const auto hop = static_cast<std::size_t>(settings_.front_end.hop_samples);
    std::mt19937 generator(9U);
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    std::vector<float> samples((window + hop) * static_cast<std::size_t>(plan.array.geometry.channels()));
    std::generate(samples.begin(), samples.end(), [&] { return uniform(generator); });
    return samples;
  }
  Settings settings_;
  std::unique_ptr<KindSettings> own_;
};

template <class T>
std::vector<test::Complex> widened(std::span<const std::byte> bytes) {
  std::vector<test::Complex> numbers;
  for (const T& value : values_of<T>(bytes)) {
    if constexpr (std::is_arithmetic_v<T>) {
      numbers.emplace_back(static_cast<double>(value));
    } else {
      numbers.emplace_back(value);
    }
  }
  return numbers;
}

std::vector<test::Complex> numbers_of(const Product& product, std::span<const std::byte> bytes) {
  switch (product.type) {
    case ElementType::kComplex64:
      return widened<std::complex<float>>(bytes);
    case ElementType::kFloat32:
      return widened<float>(bytes);
    case ElementType::kFloat64:
      return widened<double>(bytes);
    case ElementType::kUint32:
      return widened<std::uint32_t>(bytes);
    case ElementType::kUint64:
      return widened<std::uint64_t>(bytes);
  }
  return {};
}

bool is_nan(const test::Complex& value) { return std::isnan(value.real()) || std::isnan(value.imag()); }

/// The relative L2 difference; NaN stands where it stands in both, or the result is infinite.
double difference_of(const Product& product, std::span<const std::byte> a_bytes, std::span<const std::byte> b_bytes) {
  std::vector<test::Complex> a = numbers_of(product, a_bytes);
  std::vector<test::Complex> b = numbers_of(product, b_bytes);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_nan(a[i]) != is_nan(b[i])) {
      return std::numeric_limits<double>::infinity();
    }
    if (is_nan(a[i])) {
      a[i] = b[i] = 0.0;
    }
  }
  const bool are_zero = std::all_of(b.begin(), b.end(), [](const test::Complex& value) { return value == 0.0; });
  return are_zero && a == b ? 0.0 : test::relative_l2(a, b);
}

/// As many rows, the same integers, and other numbers to a percent of their column: places and their errors come from
/// differences of float32 numbers. A logarithm agrees to what a percent of its argument makes.
void expect_tables_agree(const Product& table, std::span<const std::byte> found, std::span<const std::byte> expected) {
  const std::uint64_t rows = rows_of(expected);
  ASSERT_EQ(rows_of(found), rows);
  const std::vector<ProductPlaces::Place> places = column_places(table);
  for (std::size_t c = 0; c < places.size(); ++c) {
    SCOPED_TRACE(table.columns[c].name);
    const std::size_t bytes = rows * bytes_of(table.columns[c].type);
    const auto a = complex_values_of(table.columns[c].type, found.subspan(places[c].offset, bytes));
    const auto b = complex_values_of(table.columns[c].type, expected.subspan(places[c].offset, bytes));
    const bool is_exact =
        table.columns[c].type == ElementType::kUint32 || table.columns[c].type == ElementType::kUint64;
    for (std::size_t row = 0; row < rows; ++row) {
      EXPECT_NEAR(a[row].real(), b[row].real(), is_exact ? 0.0 : 0.01 * std::max(std::abs(b[row]), 0.1)) << row;
    }
  }
}

TEST_F(ProcessorTable, HasOneEntryAndOneDescriptionAKind) {
  std::set<std::string_view> kinds;
  for (const ProcessorEntry& entry : processor_table()) {
    EXPECT_TRUE(kinds.insert(entry.kind).second) << entry.kind;
    ASSERT_NE(schema::processor_kind(entry.kind), nullptr) << entry.kind;
    EXPECT_FALSE(schema::processor_kind(entry.kind)->meaning.empty());
  }
  EXPECT_EQ(kinds.size(), schema::processor_kinds().size());
  EXPECT_TRUE(kinds.contains("pnah"));
  EXPECT_TRUE(kinds.contains("sonah"));
  EXPECT_THROW((void)processor_entry("none"), ConfigError);
}

// float32 against double: 1e-4 is the bound that each kind's own tests hold over many more shapes. Noise and error
// estimates are differences of large numbers in float32: those of imagers agree to a percent.
TEST_F(ProcessorTable, DeviceAndReferenceAgreeWithAndWithoutAMask) {
  for (const ProcessorEntry& entry : processor_table()) {
    SCOPED_TRACE(entry.kind);
    const ProcessorPlan plan = plan_of(entry);
    const std::unique_ptr<Processor> on_device = entry.make(device(), plan);
    const std::unique_ptr<reference::Processor> reference = entry.make_reference(plan);
    const ResultHeader header = on_device->header();
    EXPECT_EQ(flaw_of(header), "");
    EXPECT_EQ(header.processor, "tested");
    EXPECT_TRUE(header.has_layout_of(reference->header()));
    const std::vector<test::Complex> spectra = fields_of(plan);
    const auto input = device().upload<std::complex<float>>(test::narrow(spectra), "test");
    const RunOfProcessor run{.settings = settings_, .sample_rate_hz = plan.sample_rate_hz};
    const auto sample_window =
        static_cast<std::size_t>(schema::processor_kind(entry.kind)->needs(*plan.own, run).sample_window);
    const std::vector<float> samples = samples_of(plan, sample_window);
    const auto ring = device().upload<float>(samples, "test");
    const auto channels = static_cast<std::size_t>(plan.array.geometry.channels());
    const auto hop = static_cast<std::size_t>(settings_.front_end.hop_samples);
    const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(2 * kStatusWords), "test");
    std::uint64_t hops = 0;
    for (const std::vector<int>& masked : {std::vector<int>(), std::vector<int>({5, 100})}) {
      const MicrophoneMask mask = make_mask(plan.array, masked);
      on_device->use(mask);
      reference->use(mask);
      on_device->enqueue(
          {.spectra = input,
           .status = status,
           .windows = 2,
           .hops = {.first = hops},
           .samples = {.samples = &ring, .slots = static_cast<std::uint32_t>(samples.size() / channels)}});
      device().wait();
      const std::vector<double> wide_samples(samples.begin(), samples.end());
      const std::vector<test::Complex> wide = test::widen(test::narrow(spectra));
      std::vector<reference::WindowInput> inputs;
      for (std::size_t window = 0; window < 2; ++window) {
        inputs.push_back({.spectra = std::span(wide).subspan(window * wide.size() / 2, wide.size() / 2),
                          .samples = std::span(wide_samples).subspan(window * hop * channels, sample_window * channels),
                          .hop = hops + window});
      }
      hops += 2;
      const std::vector<reference::Outcome> outcomes = reference->compute(inputs);
      for (std::size_t window = 0; window < 2; ++window) {
        if (const auto words = on_device->host_status(0); !words.empty()) {
          EXPECT_EQ(words[window * kStatusWords], outcomes[window].flags);
        }
      }
      for (std::size_t window = 0; window < 2; ++window) {
        const Products found = on_device->products({.window = window}).products;
        const Products expected = reference->products({.window = window}).products;
        ASSERT_EQ(found.size(), header.products.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          const Product& product = header.products[i];
          SCOPED_TRACE(product.name);
          ASSERT_EQ(found[i].size(), header.bytes(product));
          ASSERT_EQ(expected[i].size(), found[i].size());
          if (product.form == Product::Form::kTable) {
            expect_tables_agree(product, found[i], expected[i]);
            continue;
          }
          EXPECT_LE(difference_of(product, found[i], expected[i]),
                    product.form == Product::Form::kFigure ? 1e-2 : 1e-4);
        }
      }
    }
  }
}

TEST(ProcessorSettings, AreReadByTheirNames) {
  const Settings settings =
      load_settings("", {"processors.velocity.kind=sonah", "processors.velocity.quantity=normal_velocity",
                         "processors.velocity.every_hops=8"});
  ASSERT_EQ(settings.processors.size(), 1U);
  EXPECT_EQ(settings.processors[0].name, "velocity");
  EXPECT_EQ(settings.processors[0].kind, "sonah");
  EXPECT_EQ(settings.processors[0].every_hops, 8);
  const std::string yaml = to_yaml(settings);
  EXPECT_NE(yaml.find("processors:\n  velocity:\n    kind: sonah\n    every_hops: 8\n"), std::string::npos) << yaml;
  EXPECT_EQ(to_yaml(Settings()).find("processors"), std::string::npos) << "no processors, no section";
}

TEST(ProcessorSettings, MistakesAreNamed) {
  const auto message_of = [](const std::vector<std::string>& overrides) -> std::string {
    try {
      (void)load_settings("", overrides);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message_of({"processors.a.kind=pnha"}).find("processors.a.kind: expected one of pnah, sonah"),
            std::string::npos);
  EXPECT_NE(message_of({"processors.a.every_hops=2"}).find("processors.a.kind: expected the kind of this processor"),
            std::string::npos);
  EXPECT_NE(
      message_of({"processors.a.kind=pnah", "processors.a.planse_m=[0]"}).find("did you mean processors.a.planes_m"),
      std::string::npos);
  EXPECT_NE(message_of({"processors.surface.kind=pnah"}).find("processors.surface: expected a name"),
            std::string::npos);
  EXPECT_NE(message_of({"processors.a.kind=pnah", "holography.standoff_m=0.03", "processors.a.planes_m=[1.0]"})
                .find("processors.a.planes_m[0]"),
            std::string::npos);
}

TEST(ProcessorSettings, TheOrderOfOverridesDoesNotMatter) {
  const Settings settings =
      load_settings("", {"processors.velocity.quantity=normal_velocity", "processors.velocity.kind=sonah"});
  EXPECT_NE(to_yaml(settings).find("quantity: normal_velocity"), std::string::npos);
}

// What an input file says of its array is not known yet where the settings are read.
TEST(ProcessorSettings, OfAnArrayThatTheInputDescribesAreJudgedLater) {
  const std::vector<std::string> lines = {"processors.a.kind=pnah", "processors.a.points=[{x_m: 2.0, y_m: 0.0}]"};
  EXPECT_NO_THROW((void)load_settings("", lines));
  Settings settings = load_settings("", lines);
  EXPECT_THROW(validate(settings, 46875.0), ConfigError);
}

TEST(ProcessorSettings, ASearchIsTheFirstProcessorsAlone) {
  EXPECT_THROW((void)load_settings("", {"processors.a.kind=pnah", "processors.a.filter.cutoff_rad_per_m=search"}),
               ConfigError);
  EXPECT_THROW((void)load_settings("", {"processors.a.kind=sonah", "processors.a.search_every_frames=10"}),
               ConfigError);
}

TEST(ProcessorSettings, OfACopyAreItsOwn) {
  Settings settings = load_settings("", {"processors.velocity.kind=pnah"});
  const std::string before = to_yaml(settings);
  const Settings copy = settings;
  settings.processors[0].every_hops = 3;
  EXPECT_EQ(to_yaml(copy), before);
  ASSERT_NE(copy.processors[0].own.get(), settings.processors[0].own.get());
  EXPECT_EQ(changes(copy, settings), std::vector<std::string>({"processors.velocity.every_hops 1 -> 3"}));
  EXPECT_EQ(changes(Settings(), copy).front(), "processors.velocity.kind none -> pnah");
  EXPECT_TRUE(changes_at_restart(Settings(), copy).empty());
}

}  // namespace
}  // namespace nearfield

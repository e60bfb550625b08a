#include <gtest/gtest.h>

#include <random>

#include "config/config.hpp"
#include "config/live_samples.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "config/written_file.hpp"
#include "core/daemon_settings.hpp"
#include "frontend/dot_product/settings.hpp"
#include "frontend/popcount/settings.hpp"
#include "frontend/walsh_fourier/settings.hpp"
#include "support/places.hpp"

namespace nearfield {
namespace {

Settings read_back(const Settings& settings) { return load_settings(WrittenFile(to_yaml(settings)).path(), {}); }

// null stands for the run's value, also after it was written.
TEST(ToYaml, KeepsWhatAProcessorsOwnFrontEndHasOtherwise) {
  const Settings settings = load_settings(
      "", {"processors.far.kind=beamform", "processors.near.kind=beamform", "processors.far.front_end.kind=dot_product",
           "processors.far.front_end.window=none", "processors.far.front_end.window_samples=4096",
           "processors.far.front_end.frequencies_hz=[250.5, 1000]", "front_end.hop_samples=8"});
  const Settings read = read_back(settings);
  ASSERT_EQ(read.processors.size(), 2U);
  const FrontEndOverrides& far = read.processors[0].front_end;
  EXPECT_EQ(far.kind, "dot_product");
  EXPECT_EQ(far.window, WindowKind::kNone);
  EXPECT_EQ(far.window_samples, 4096);
  EXPECT_EQ(far.frequencies_hz, (std::vector<double>{250.5, 1000.0}));
  EXPECT_FALSE(far.popcount_order);
  EXPECT_FALSE(read.processors[1].front_end.any());
  const FrontEndSettings front_end = settings_of(read, read.processors[0]).front_end;
  EXPECT_EQ(front_end.window_samples, 4096);
  EXPECT_EQ(front_end.hop_samples, 8);
  EXPECT_EQ(front_end.remove_dc, read.front_end.remove_dc);
  EXPECT_EQ(longest_window_samples(read), 4096);
}

class RandomSettings {
 public:
  explicit RandomSettings(unsigned seed) : random_(seed) {}

  Settings draw() {
    Settings settings;
    ArraySettings& array = settings.array;
    array.geometry = {integer(4, 64), integer(4, 64), number(1e-3, 1.0), number(1e-3, 1.0)};
    array.layout = WireLayout::kRowMajor;
    array.sensitivity_dbfs = number(-100.0, 50.0);
    array.dead_channels.resize(random_() % 5);
    for (int& channel : array.dead_channels) {
      channel = integer(0, 15);
    }
    array.calibration_path = flip() ? "" : "/tmp/a \"b\" \\ \xc3\xa9 \t#: {}" + std::to_string(random_());
    array.health = {.enabled = flip(),
                    .mask = std::array{HealthMask::kCertain, HealthMask::kAll,
                                       HealthMask::kNone}[static_cast<std::size_t>(integer(0, 2))],
                    .trusted_channels = {integer(0, 15)}};
    settings.array.clock_hz = integer(1'000'000, 6'144'000);
    settings.array.subset =
        flip()   ? SubsetSettings()
        : flip() ? SubsetSettings{.kind = SubsetSettings::Kind::kGrid, .rows = 3, .columns = 4}
        : flip() ? SubsetSettings{.kind = SubsetSettings::Kind::kSpiral, .count = integer(4, 4096)}
                 : SubsetSettings{.kind = SubsetSettings::Kind::kChannels, .channels = {0, 2, 3, integer(5, 4095)}};
    settings.medium = {number(100.0, 2000.0), number(0.1, 10.0)};
    FrontEndSettings& front_end = settings.front_end;
    front_end.window = flip() ? WindowKind::kHann : WindowKind::kNone;
    front_end.window_samples = 1 << integer(4, 16);
    front_end.hop_samples = integer(1, 2147483647);
    front_end.kind = schema::front_end_kinds()[static_cast<std::size_t>(integer(0, 3))].name;
    front_end.remove_dc = flip();
    front_end.incremental = static_cast<Incremental>(integer(0, 2));
    if (front_end.incremental != Incremental::kAlways) {  // which leaves no kernel to choose
      front_end.own.edit<DotProductSettings>().kernel = static_cast<DotKernel>(integer(0, 5));
    }
    front_end.own.edit<PopcountSettings>() = {.order = integer(0, 2),
                                              .transform = flip() ? WordTransform::kDot : WordTransform::kFft};
    front_end.own.edit<WalshFourierSettings>() = {.variant = static_cast<WalshVariant>(integer(0, 2)),
                                                  .coefficients = integer(0, 40000),
                                                  .threshold = 1e-3 * integer(0, 2000)};
    front_end.frequencies_hz = distinct(1 + random_() % 6, 1e-3, 2e4);
    if (flip()) {
      front_end.bands_hz = {{number(5e3, 6e3), number(7e3, 8e3)}, {5500.0, 7000.5}};
    }
    draw_holography(settings.holography, front_end.bands_hz.empty() ? front_end.frequencies_hz.size() : 1);
    const std::vector<std::string> platforms = {"auto", "~", "NVIDIA CUDA", "'1': [#", "null", "3"};
    settings.device.platform = platforms[random_() % platforms.size()];
    settings.device.index = integer(0, 1023);
    settings.device.fft = flip() ? "fused" : "clfft";
    const int most = settings.front_end.window_samples / settings.front_end.hop_samples + 1;
    settings.device.batch = integer(1, std::min(most, 1024));
    draw_daemon(*settings.daemon);
    return settings;
  }

 private:
  void draw_holography(HolographySettings& holography, std::size_t frequencies) {
    holography.standoff_m = number(1e-3, 1.0);
    holography.planes_m = distinct(1 + random_() % 4, -holography.standoff_m, holography.standoff_m);
    holography.quantity = flip() ? Quantity::kActiveIntensity : Quantity::kDisplacement;
    holography.upsample = integer(1, 8);
    holography.search_every_frames = flip() ? 0 : integer(1, 2147483647);
    if (flip()) {
      holography.points = {{number(-1e-3, 1e-3), number(-1e-3, 1e-3)}, {0.0, -1e-9}};
    }
    holography.extrapolation = {static_cast<Extrapolation>(integer(0, 3)), integer(1, 62), number(1.0, 8.0)};
    FilterSettings& filter = holography.filter;
    filter.kind = static_cast<FilterKind>(integer(0, 2));
    filter.cutoff_rule = flip()   ? CutoffRule::kGiven
                         : flip() ? CutoffRule::kDynamicRange
                         : flip() ? CutoffRule::kSearch
                                  : CutoffRule::kAuto;
    holography.imager = flip() ? ImagerKind::kPnah : flip() ? ImagerKind::kSonah : ImagerKind::kAuto;
    // Neither pnah reads it, nor auto for intensities.
    if (holography.imager != ImagerKind::kPnah && holography.quantity != Quantity::kActiveIntensity) {
      holography.prior = static_cast<FieldPrior>(integer(0, 5));
    }
    if (filter.cutoff_rule == CutoffRule::kGiven) {
      filter.cutoff_rad_per_m = distinct(flip() ? 1 : frequencies, 1e-2, 1e3);
    }
    filter.dynamic_range_db = number(1.0, 100.0);
    filter.slope = number(1e-3, 2.0);
    filter.tikhonov_lambda = number(1e-12, 1.0);
  }

  void draw_daemon(DaemonSettings& daemon) {
    daemon.source = {
        .kind = static_cast<DaemonSettings::SourceKind>(integer(0, 4)),
        .payload = flip() ? DaemonSettings::Payload::kBits : DaemonSettings::Payload::kSamples,
        .sample_rate_hz = {},  // below: of live samples alone
        .format = SampleFormat::kF32,
        .device = "hw:\"1\"",
        .address = flip() ? "[::1]:0" : "0.0.0.0:65535",
        .interface = flip() ? "" : "eth1",
        .path = flip() ? "/a \"b\"/c" : "/off",
        .scene = "/null",
        .pace = static_cast<DaemonSettings::Pace>(integer(0, 1)),
        .loop = flip(),
        .receive_buffer_bytes = std::int64_t{integer(16, 4096)} << 20,
        .reorder_bit_times = integer(0, 4095),
        .ring_bit_times = integer(4096, 67108864),
        .allowed_from = flip() ? std::vector<std::string>{} : std::vector<std::string>{"10.0.0.0/8", "::1"},
        .require_crc = flip(),
        .takeover_after_ms = number(1.0, 600000.0),
        .restart_hold_off_ms = number(0.0, 600000.0),
        .max_jump_bit_times = std::int64_t{integer(0, 1 << 30)} << 10};
    if (takes_live_samples(daemon.source)) {
      daemon.source.sample_rate_hz = number(1.0, 1e7);
      if (daemon.source.kind == DaemonSettings::SourceKind::kPipe) {
        daemon.source.format = static_cast<SampleFormat>(integer(0, 3));
      }
    }
    daemon.publish.phase_reference = static_cast<DaemonSettings::PhaseReference>(integer(0, 1));
    daemon.publish.ring = {.socket = flip() ? "" : "/tmp/x.sock", .access = access(), .slots = integer(2, 65536)};
    daemon.publish.zmq = {
        .endpoint = flip() ? "" : "tcp://0.0.0.0:7231",
        .curve_secret_file = flip() ? "credential:curve.key" : "/key",
        .max_rate_hz = number(0.1, 1e5),
        .curve_clients = {std::string(40, flip() ? '#' : '['), "0123456789abcdefghijklmnopqrstuvwxyz]{}@"}};
    daemon.recording = {.directory = flip() ? "" : "/tmp",
                        .what = static_cast<DaemonSettings::RecordWhat>(integer(0, 2)),
                        .trigger = static_cast<DaemonSettings::Trigger>(integer(0, 2)),
                        .level = number(1e-9, 1e3),
                        .quiet_s = number(0.0, 86400.0),
                        .pause_s = number(0.0, 86400.0),
                        .pre_trigger_s = number(0.0, 60.0),
                        .max_bytes = std::int64_t{integer(1, 1 << 30)} << 20,
                        .max_s = number(0.1, 1e7),
                        .quota_bytes = flip() ? 0 : std::int64_t{integer(1, 1 << 30)} << 20,
                        .sync_s = number(0.0, 86400.0),
                        .bits_queue_bytes = std::int64_t{integer(1, 16384)} << 20,
                        .images_queue_bytes = std::int64_t{integer(1, 16384)} << 20};
    if (daemon.recording.trigger == DaemonSettings::Trigger::kLevel) {
      daemon.recording.directory = "/tmp";  // without one this trigger is refused
    }
    daemon.control = {.socket = flip() ? "" : "/tmp/c.sock", .access = access()};
    daemon.metrics.address = flip() ? "" : "localhost:0";
    daemon.page.address = flip() ? "" : "[::1]:7233";
    daemon.page.allowed_hosts = flip() ? std::vector<std::string>{} : std::vector<std::string>{"array.lab", "10.0.0.7"};
    daemon.page.allowed_origins = flip() ? std::vector<std::string>{} : std::vector<std::string>{"https://array.lab"};
    daemon.page.token_file = flip() ? "" : "credential:page_token";
    daemon.page.pictures_hz = flip() ? 60.0 : 12.5;
    daemon.realtime = {.priority = integer(0, 99),
                       .cpus = {integer(0, 7), integer(8, 1023)},
                       .lock_memory = flip(),
                       .poll_us = flip() ? std::optional(0.5 * integer(0, 1000)) : std::nullopt};
    daemon.deadlines.frame_ms = number(1.0, 6e5);
    daemon.overload = {number(1.0, 10.0), number(10.0, 100.0), number(100.0, 1000.0)};
    daemon.log = {static_cast<DaemonSettings::LogTarget>(integer(0, 2)),
                  static_cast<DaemonSettings::LogLevel>(integer(0, 3))};
    daemon.no_input = {number(1.0, 6e5), flip()};
  }

  DaemonSettings::Access access() {
    return {.allowed_users = {"root", std::to_string(integer(0, 70000)), "a \"b\""}, .allowed_groups = {}};
  }

  int integer(int minimum, int maximum) { return std::uniform_int_distribution(minimum, maximum)(random_); }
  double number(double minimum, double maximum) { return std::uniform_real_distribution(minimum, maximum)(random_); }
  bool flip() { return integer(0, 1) == 1; }
  std::vector<double> distinct(std::size_t count, double minimum, double maximum) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = number(minimum, maximum);
    }
    return values;
  }

  std::mt19937 random_;
};

void expect_equal(const Settings& a, const Settings& b) {
  EXPECT_EQ(a.array.geometry, b.array.geometry);
  EXPECT_EQ(a.array.layout, b.array.layout);
  EXPECT_EQ(a.array.sensitivity_dbfs, b.array.sensitivity_dbfs);
  EXPECT_EQ(a.array.dead_channels, b.array.dead_channels);
  EXPECT_EQ(a.array.health.enabled, b.array.health.enabled);
  EXPECT_EQ(a.array.health.mask, b.array.health.mask);
  EXPECT_EQ(a.array.health.trusted_channels, b.array.health.trusted_channels);
  EXPECT_EQ(a.array.calibration_path, b.array.calibration_path);
  EXPECT_EQ(a.array.clock_hz, b.array.clock_hz);
  EXPECT_EQ(a.array.subset, b.array.subset);
  EXPECT_EQ(a.medium.sound_speed_m_s, b.medium.sound_speed_m_s);
  EXPECT_EQ(a.medium.density_kg_m3, b.medium.density_kg_m3);
  EXPECT_EQ(a.front_end.kind, b.front_end.kind);
  EXPECT_EQ(a.front_end.window, b.front_end.window);
  EXPECT_EQ(a.front_end.decimation, b.front_end.decimation);
  EXPECT_EQ(a.front_end.window_samples, b.front_end.window_samples);
  EXPECT_EQ(a.front_end.hop_samples, b.front_end.hop_samples);
  EXPECT_EQ(a.front_end.frequencies_hz, b.front_end.frequencies_hz);
  EXPECT_EQ(a.front_end.bands_hz, b.front_end.bands_hz);
  EXPECT_EQ(a.front_end.remove_dc, b.front_end.remove_dc);
  EXPECT_EQ(a.front_end.incremental, b.front_end.incremental);
  EXPECT_EQ(a.front_end.own.get<DotProductSettings>().kernel, b.front_end.own.get<DotProductSettings>().kernel);
  EXPECT_EQ(a.front_end.own.get<PopcountSettings>().order, b.front_end.own.get<PopcountSettings>().order);
  EXPECT_EQ(a.front_end.own.get<PopcountSettings>().transform, b.front_end.own.get<PopcountSettings>().transform);
  EXPECT_EQ(a.front_end.own.get<WalshFourierSettings>().variant, b.front_end.own.get<WalshFourierSettings>().variant);
  EXPECT_EQ(a.front_end.own.get<WalshFourierSettings>().coefficients,
            b.front_end.own.get<WalshFourierSettings>().coefficients);
  EXPECT_EQ(a.front_end.own.get<WalshFourierSettings>().threshold,
            b.front_end.own.get<WalshFourierSettings>().threshold);
  EXPECT_EQ(a.holography.standoff_m, b.holography.standoff_m);
  EXPECT_EQ(a.holography.planes_m, b.holography.planes_m);
  EXPECT_EQ(a.holography.quantity, b.holography.quantity);
  EXPECT_EQ(a.holography.upsample, b.holography.upsample);
  EXPECT_EQ(a.holography.search_every_frames, b.holography.search_every_frames);
  EXPECT_EQ(a.holography.prior, b.holography.prior);
  EXPECT_EQ(a.holography.points, b.holography.points);
  EXPECT_EQ(a.holography.extrapolation.method, b.holography.extrapolation.method);
  EXPECT_EQ(a.holography.extrapolation.order, b.holography.extrapolation.order);
  EXPECT_EQ(a.holography.extrapolation.factor, b.holography.extrapolation.factor);
  EXPECT_EQ(a.holography.filter.kind, b.holography.filter.kind);
  EXPECT_EQ(a.holography.imager, b.holography.imager);
  EXPECT_EQ(a.holography.filter.cutoff_rule, b.holography.filter.cutoff_rule);
  EXPECT_EQ(a.holography.filter.cutoff_rad_per_m, b.holography.filter.cutoff_rad_per_m);
  EXPECT_EQ(a.holography.filter.dynamic_range_db, b.holography.filter.dynamic_range_db);
  EXPECT_EQ(a.holography.filter.slope, b.holography.filter.slope);
  EXPECT_EQ(a.holography.filter.tikhonov_lambda, b.holography.filter.tikhonov_lambda);
  EXPECT_EQ(a.device.platform, b.device.platform);
  EXPECT_EQ(a.device.index, b.device.index);
  EXPECT_EQ(a.device.fft, b.device.fft);
  EXPECT_EQ(a.device.batch, b.device.batch);
  EXPECT_TRUE(*a.daemon == *b.daemon);
}

TEST(ToYaml, ReadsBackExactly) {
  RandomSettings random(4711);
  for (int draw = 0; draw < 300; ++draw) {
    const Settings settings = random.draw();
    SCOPED_TRACE(to_yaml(settings));
    expect_equal(read_back(settings), settings);
  }
}

TEST(ToYaml, TheAnnotatedFileIsCompleteAndHoldsTheDefaults) {
  const Settings annotated = load_settings(NEARFIELD_SOURCE_DIR "/config/nearfield.yaml", {});
  expect_equal(annotated, Settings{});
  EXPECT_EQ(annotated.explicit_keys, read_back(Settings{}).explicit_keys);
}

}  // namespace
}  // namespace nearfield

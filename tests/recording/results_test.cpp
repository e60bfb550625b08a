#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "core/error.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "files/nfr/nfr_results.hpp"
#include "recording/recorder.hpp"
#include "recording/recording_support.hpp"
#include "support/images.hpp"

/// Results of any processor in a recording, and of images in those of versions 1 and 2.
namespace nearfield::test {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

template <class T>
void put(std::vector<std::byte>& bytes, const T& value) {
  const auto part = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), part.begin(), part.end());
}

std::string replaced(std::string text, const std::string& found, const std::string& by) {
  const std::size_t at = text.find(found);
  return at == std::string::npos ? "" : text.replace(at, found.size(), by);
}

nfr::Reader reader_of(const FileBuilder& file) { return nfr::Reader{std::span<const std::byte>(file.bytes)}; }

/// A frame of a recording must be the one of the hop that it says.
void expect_as_made(const Frame& frame) {
  const std::int64_t window_ns = 21'845'333;  // 32768 bit-times
  EXPECT_EQ(frame.timestamp_ns, frame.capture_tai_ns - window_ns);
  if (frame.processor == 0) {
    EXPECT_TRUE(is_same(frame, TestFrame(frame.sequence, 1.0F, frame.epoch).frame)) << frame.sequence;
  } else {
    EXPECT_TRUE(is_same(frame, RowsFrame(frame.sequence, frame.epoch).frame)) << frame.sequence;
  }
}

/// Images at every hop, rows at every eighth, whose epoch changes at hop 48 while that of the images stays.
RecorderStatus record_both(const std::string& path, std::uint64_t hops) {
  RecorderOptions options;
  options.settings.pre_trigger_s = 0.0;
  options.info = small_info();
  options.path = path;
  options.settings.images_queue_bytes = 1 << 20;
  Recorder recorder(options);
  recorder.begin(result_header(small_header()), {.processor = 0, .epoch = 1});
  recorder.begin(rows_header(), {.processor = 1, .epoch = 1});
  recorder.start();
  recorder.wait_for_requests();
  for (std::uint64_t hop = 0; hop < hops; ++hop) {
    push_bits(recorder, hop * 1024, 1024);
    recorder.write(TestFrame(hop).frame);
    if (hop == 48) {
      ResultHeader changed = rows_header();
      changed.config += "# changed\n";
      recorder.begin(changed, {.processor = 1, .epoch = 2});
    }
    if (hop % 8 == 0) {
      recorder.write(RowsFrame(hop, hop < 48 ? 1 : 2).frame);
    }
  }
  recorder.stop();
  recorder.wait_for_requests();
  return recorder.status();
}

TEST(Results, FramesOfTwoProcessorsComeBackBitForBit) {
  const TemporaryFolder folder;
  const RecorderStatus status = record_both(folder / "a.nfr", 100);
  EXPECT_EQ(status.dropped_images, 0U);
  nfr::Reader reader{std::filesystem::path(status.path)};
  EXPECT_EQ(reader.summary().frames, 113U);
  EXPECT_EQ(nfr::verify(reader).damaged_payloads, 0U);
  ASSERT_EQ(reader.epochs().size(), 3U);
  const std::vector<std::uint64_t> expected_frames{100, 6, 7};
  for (std::size_t i = 0; i < 3; ++i) {
    const nfr::EpochSummary& epoch = reader.epochs()[i];
    EXPECT_EQ(epoch.epoch, i == 2 ? 2U : 1U);
    EXPECT_EQ(epoch.processor, i == 0 ? 0U : 1U);
    EXPECT_EQ(epoch.frames, expected_frames[i]);
    const ResultHeader expected = i == 0 ? result_header(small_header()) : rows_header();
    EXPECT_TRUE(epoch.header.has_layout_of(expected));
    EXPECT_EQ(epoch.header.processor, expected.processor);
    EXPECT_EQ(epoch.header.kind, expected.kind);
    EXPECT_EQ(epoch.header.config, expected.config + (i == 2 ? "# changed\n" : ""));
    EXPECT_EQ(epoch.header.front_end, expected.front_end);
    EXPECT_EQ(epoch.header.memory_hops, expected.memory_hops);
    std::uint64_t hop = i == 2 ? 48 : 0;
    EXPECT_EQ(nfr::for_each_frame(reader, epoch, 0, kAll,
                                  [&](const Frame& frame) {
                                    EXPECT_EQ(frame.sequence, hop);
                                    expect_as_made(frame);
                                    hop += i == 0 ? 1U : 8U;
                                  }),
              0U);
    EXPECT_EQ(hop, i == 1 ? 48U : i == 0 ? 100U : 104U);
  }
  EXPECT_EQ(check_bits(reader).wrong_words, 0U);
}

TEST(Results, SettingsOfAllProcessorsAreInARecordingOfBits) {
  const TemporaryFolder folder;
  RecorderOptions options;
  options.settings.pre_trigger_s = 0.0;
  options.info = small_info();
  options.path = folder / "a.nfr";
  options.images = false;
  Recorder recorder(options);
  recorder.begin(result_header(small_header()), {.processor = 0, .epoch = 4});
  recorder.begin(rows_header(), {.processor = 1, .epoch = 4});
  recorder.start();
  recorder.wait_for_requests();
  recorder.write(RowsFrame(0, 4).frame);
  push_bits(recorder, 0, 64);
  recorder.stop();
  recorder.wait_for_requests();
  const nfr::Reader reader{std::filesystem::path(recorder.status().path)};
  ASSERT_EQ(reader.epochs().size(), 2U);
  EXPECT_EQ(reader.epochs()[0].header.processor, "surface");
  EXPECT_EQ(reader.epochs()[1].header.processor, "rows");
  EXPECT_EQ(reader.summary().frames, 0U);
}

TEST(Results, AFrameThatIsNotAsItWasBegunIsDropped) {
  const TemporaryFolder folder;
  RecorderOptions options;
  options.settings.pre_trigger_s = 0.0;
  options.info = small_info();
  options.path = folder / "a.nfr";
  Recorder recorder(options);
  recorder.begin(rows_header(), {.processor = 1, .epoch = 1});
  recorder.start();
  recorder.wait_for_requests();
  recorder.write(TestFrame(0).frame);  // never begun
  recorder.write(RowsFrame(0, 1, 2).frame);
  RowsFrame shorter(1);
  const std::array<std::span<const std::byte>, 2> products{shorter.frame.products[0].first(8),
                                                           shorter.frame.products[1]};
  shorter.frame.products = products;
  recorder.write(shorter.frame);
  shorter.frame.products = std::span(products).first(1);
  recorder.write(shorter.frame);
  recorder.write(RowsFrame(2).frame);
  recorder.stop();
  recorder.wait_for_requests();
  EXPECT_EQ(recorder.status().dropped_images, 4U);
  const nfr::Reader reader{std::filesystem::path(recorder.status().path)};
  EXPECT_EQ(reader.summary().frames, 1U);
  EXPECT_EQ(reader.summary().end->dropped_images, 4U);
}

TEST(Results, AHeaderThatCannotBeRecordedIsRefusedAndTheOneBeforeStays) {
  const TemporaryFolder folder;
  RecorderOptions options;
  options.settings.pre_trigger_s = 0.0;
  options.info = small_info();
  options.path = folder / "a.nfr";
  options.settings.images_queue_bytes = 4096;
  Recorder recorder(options);
  recorder.begin(rows_header(), {.processor = 1, .epoch = 1});
  ResultHeader flawed = rows_header();
  flawed.products[0].axes = {"frequency", "x"};
  EXPECT_THROW(recorder.begin(flawed, {.processor = 1, .epoch = 2}), ConfigError);
  ResultHeader large = rows_header();
  large.products[1].most_rows = 1000;
  EXPECT_THROW(recorder.begin(large, {.processor = 1, .epoch = 2}), ConfigError);
  recorder.start();
  recorder.wait_for_requests();
  recorder.write(RowsFrame(0).frame);
  recorder.stop();
  recorder.wait_for_requests();
  EXPECT_EQ(recorder.status().dropped_images, 0U);
  EXPECT_EQ(nfr::Reader(std::filesystem::path(recorder.status().path)).summary().frames, 1U);
}

/// The level looks at the images of the first processor that has some, wherever it stands among the processors.
TEST(Results, TheLevelWatchesTheFirstProcessorWithImages) {
  const TemporaryFolder folder;
  RecorderOptions options;
  options.settings.pre_trigger_s = 0.0;
  options.info = small_info();
  options.path = folder / "a.nfr";
  set_level(options, {.level = 3.0, .quiet_s = 0.0, .pause_s = 0.0});
  Recorder recorder(options);
  recorder.begin(rows_header(), {.processor = 0, .epoch = 1});
  recorder.begin(result_header(small_header()), {.processor = 2, .epoch = 1});
  recorder.begin(result_header(small_header()), {.processor = 1, .epoch = 1});
  recorder.arm();
  recorder.wait_for_requests();
  const auto write = [&](std::uint64_t hop, std::size_t processor, float magnitude) {
    TestFrame images(hop, magnitude);
    images.frame.processor = processor;
    recorder.write(images.frame);
    recorder.arm();  // the writer looks at the level after each request
    recorder.wait_for_requests();
    recorder.arm();
    recorder.wait_for_requests();
  };
  recorder.write(RowsFrame(1000, 1, 0).frame);  // row_power above the level
  write(0, 1, 1.0F);
  write(0, 2, 1.0F);
  write(1, 2, 9.0F);
  EXPECT_EQ(recorder.status().recordings, 0U);
  write(1, 1, 9.0F);
  EXPECT_EQ(recorder.status().recordings, 1U);
}

FileBuilder small_results() {
  FileBuilder file;
  file.add_epoch({.epoch = 1, .processor = 0, .header = result_header(small_header())});
  file.add_epoch({.epoch = 1, .processor = 1, .header = rows_header()});
  for (std::uint64_t hop = 0; hop < 3; ++hop) {
    file.add_frame(TestFrame(hop).frame);
    file.add_frame(RowsFrame(hop).frame);
  }
  return file;
}

std::map<std::size_t, std::uint64_t> frames_as_made(const nfr::Reader& reader) {
  std::map<std::size_t, std::uint64_t> frames;
  for (const nfr::EpochSummary& epoch : reader.epochs()) {
    (void)nfr::for_each_frame(reader, epoch, 0, kAll, [&](const Frame& frame) {
      expect_as_made(frame);
      ++frames[epoch.processor];
    });
  }
  return frames;
}

TEST(Results, AFlippedBitNeverGivesAWrongFrame) {
  const FileBuilder file = small_results();
  for (std::size_t bit = file.starts[2] * 8; bit < file.bytes.size() * 8; bit += 3) {
    FileBuilder damaged = file;
    damaged.bytes[bit / 8] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))};
    const nfr::Reader reader = reader_of(damaged);
    std::map<std::size_t, std::uint64_t> frames = frames_as_made(reader);
    if (bit >= file.starts[4] * 8) {  // behind the epochs, each of which is here once
      ASSERT_GE(frames[0] + frames[1], 5U) << bit;
    }
  }
}

TEST(Results, TruncatedAnywhereGivesTheFramesBefore) {
  const FileBuilder file = small_results();
  for (std::size_t size = file.starts[4]; size < file.bytes.size(); size += 5) {
    FileBuilder part = file;
    part.bytes.resize(size);
    const auto complete = static_cast<std::size_t>(std::upper_bound(file.starts.begin(), file.starts.end(), size) -
                                                   file.starts.begin() - 1);
    std::map<std::size_t, std::uint64_t> frames = frames_as_made(reader_of(part));
    ASSERT_EQ(frames[0] + frames[1], complete - 4) << size;
  }
}

// Later writers append keys and fields within version 3.
TEST(Results, PassesOverWhatLaterWritersAppend) {
  FileBuilder file;
  const std::string json = nfr::to_json({.epoch = 1, .processor = 1, .header = rows_header()});
  file.add_text({.kind = nfr::Kind::kEpoch},
                replaced(replaced(json, "\"epoch\":", "\"era\": [{\"x\": null}],\n\"epoch\":"),
                         "\"components\":", "\"origin\": 7, \"components\":"));
  const RowsFrame rows(5);
  const std::array<std::byte, 24> more{std::byte{0xFF}};
  std::vector<std::byte> payload = FileBuilder::payload_of(rows.frame, more);
  put(payload, std::uint64_t{1});  // behind the products
  file.add({.kind = nfr::Kind::kResult,
            .first_bit_time = rows.frame.first_bit_time,
            .bit_times = rows.frame.window_bit_times,
            .mono_ns = rows.frame.capture_mono_ns,
            .tai_ns = rows.frame.capture_tai_ns},
           payload);
  std::map<std::size_t, std::uint64_t> frames = frames_as_made(reader_of(file));
  EXPECT_EQ(frames[1], 1U);
}

TEST(Results, ATableOfMoreRowsThanItHasRoomForIsDamage) {
  FileBuilder file;
  file.add_epoch({.epoch = 1, .processor = 1, .header = rows_header()});
  for (const std::uint64_t rows : {std::uint64_t{4}, kAll}) {
    std::vector<std::byte> payload = FileBuilder::payload_of(RowsFrame(0).frame);
    std::memcpy(payload.data() + sizeof(nfr::ResultFields) + 16, &rows, sizeof(rows));
    file.add({.kind = nfr::Kind::kResult}, payload);
  }
  const nfr::Reader reader = reader_of(file);
  EXPECT_EQ(nfr::for_each_frame(reader, reader.epochs().at(0), 0, kAll, [](const Frame&) { FAIL(); }), 2U);
}

TEST(Results, FieldsThatContradictThemselvesAreNoFrame) {
  const std::vector<std::byte> sound = FileBuilder::payload_of(RowsFrame(0).frame);
  struct Forged {
    std::size_t offset;
    std::uint32_t value;
  };
  for (const Forged& forged : {Forged{0, 0}, Forged{0, 48}, Forged{0, 57}, Forged{0, 64}, Forged{0, 0xFFFFFFF8U},
                               Forged{32, 0}, Forged{32, 1}, Forged{32, 0xFFFFFFFFU}, Forged{36, 0xFFFFFFFFU}}) {
    FileBuilder file;
    file.add_epoch({.epoch = 1, .processor = 1, .header = rows_header()});
    std::vector<std::byte> payload = sound;
    std::memcpy(payload.data() + forged.offset, &forged.value, sizeof(forged.value));
    file.add({.kind = nfr::Kind::kResult}, payload);
    file.add({.kind = nfr::Kind::kResult}, std::span(payload).first(40));
    const nfr::Reader reader = reader_of(file);
    ASSERT_EQ(reader.epochs().size(), 1U);
    EXPECT_EQ(reader.summary().frames, 2U);
    EXPECT_TRUE(frames_as_made(reader).empty()) << forged.offset << " " << forged.value;
  }
}

std::optional<nfr::Epoch> epoch_of(const std::string& json) {
  return nfr::epoch_of({.kind = nfr::Kind::kEpoch}, std::as_bytes(std::span(json)));
}

TEST(Results, AHeaderComesBackAsItWas) {
  ResultHeader header = rows_header();
  header.axes[1].values[1] = 0.1 + 0.2;
  header.axes.push_back({.name = "point", .unit = "m", .values = {1.0, 2.0, 1e-300, -4.0}, .components = 2});
  header.products.push_back({.name = "cutoff",
                             .quantity = "cut-off \"kc\"",
                             .unit = "rad/m",
                             .form = Product::Form::kFigure,
                             .type = ElementType::kFloat64,
                             .axes = {}});
  const std::optional<nfr::Epoch> epoch = epoch_of(nfr::to_json({.epoch = kAll, .processor = 9, .header = header}));
  ASSERT_TRUE(epoch.has_value());
  EXPECT_EQ(epoch->epoch, kAll);
  EXPECT_EQ(epoch->processor, 9U);
  EXPECT_TRUE(epoch->header.has_layout_of(header));
  header.axes[1].values[1] = std::numeric_limits<double>::infinity();  // JSON has no such numbers
  const std::optional<nfr::Epoch> infinite = epoch_of(nfr::to_json({.epoch = 1, .processor = 0, .header = header}));
  ASSERT_TRUE(infinite.has_value());
  EXPECT_TRUE(std::isnan(infinite->header.axes[1].values[1]));
}

TEST(Results, ADescriptionThatCannotBeIsNoEpoch) {
  const std::string json = nfr::to_json({.epoch = 1, .processor = 1, .header = rows_header()});
  ASSERT_TRUE(epoch_of(json).has_value());
  struct Forged {
    const char* found;
    const char* by;
  };
  for (const Forged& forged : {Forged{"\"epoch\": 1", "\"epoch\": 1e30"},
                               Forged{"\"epoch\": 1", "\"epoch\": -1"},
                               Forged{"\"processor\": 1", "\"processor\": 4294967296"},
                               Forged{"\"processor\": 1", "\"processor\": 0.5"},
                               Forged{"\"components\": 1", "\"components\": 0"},
                               Forged{"\"components\": 1", "\"components\": 2"},
                               Forged{"\"components\": 1", "\"components\": 18446744073709551615"},
                               Forged{"\"most_rows\": 3", "\"most_rows\": 0"},
                               Forged{"\"most_rows\": 3", "\"most_rows\": 1e3"},
                               Forged{"\"most_rows\": 3", "\"most_rows\": 18446744073709551615"},
                               Forged{"\"most_rows\": 3", "\"most_rows\": 89478486"},  // 24 bytes each: 2 GiB
                               Forged{"\"name\": \"row_power\"", "\"name\": \"row power\""},
                               Forged{"\"name\": \"row_power\"", "\"name\": \"sources\""},
                               Forged{"\"type\": \"float32\"", "\"type\": \"f32\""},
                               Forged{"\"form\": \"table\"", "\"form\": \"array\""},
                               Forged{"\"form\": \"table\"", "\"form\": 2"},
                               Forged{"\"unit\": \"Hz\"", "\"unit\": 1"},
                               Forged{"\"axes\": [", "\"axes\": {\"a\": ["},
                               Forged{"\"values\": [", "\"values\": [\"1\","},
                               Forged{"\"values\": [", "\"value\": ["}}) {
    const std::string text = replaced(json, forged.found, forged.by);
    ASSERT_FALSE(text.empty()) << forged.found << "\n" << json;
    EXPECT_FALSE(epoch_of(text).has_value()) << forged.by;
  }
  nfr::Epoch wide{.epoch = 1, .processor = 0, .header = rows_header()};
  wide.header.axes.clear();
  for (int i = 0; i < 65; ++i) {
    wide.header.axes.push_back({.name = "a" + std::to_string(i), .unit = "1", .values = {0.0}});
  }
  wide.header.products.erase(wide.header.products.begin());
  EXPECT_FALSE(epoch_of(nfr::to_json(wide)).has_value());
  wide.header.axes.pop_back();
  EXPECT_TRUE(epoch_of(nfr::to_json(wide)).has_value());
}

/// As versions 1 and 2 write it, points in version 2 alone.
std::string epoch_of_images(const std::string& quantity, const std::string& points) {
  return R"({"epoch": 1, "quantity": ")" + quantity + R"(", "unit": "Pa", "config": "version: 1\n", "device": "none",
"front_end": "popcount", "frequencies_hz": [1007.08, 2014.16], "planes_m": [0.0], "x_m": [-0.01, 0.01],
"y_m": [-0.02, 0.0, 0.02])" +
         points + "}";
}

constexpr const char* kPoints = R"(, "points_xy_m": [[-0.005, 0.01], [0.0, 0.02]])";

/// Fields of versions 1 and 2: 12 values at 2 frequencies, in epoch 1.
std::vector<std::byte> image_fields() {
  std::vector<std::byte> payload;
  put(payload, std::uint64_t{1});      // epoch
  put(payload, std::uint64_t{17});     // the frame's sequence
  put(payload, std::uint64_t{3});      // shed hops
  put(payload, std::uint64_t{12});     // values
  put(payload, std::uint32_t{7});      // stream
  put(payload, std::uint32_t{32768});  // window
  put(payload, std::uint32_t{63});     // valid microphones
  put(payload, std::uint32_t{2});      // frequencies
  return payload;
}

/// Of the magnitude 5.
void put_images(std::vector<std::byte>& payload) {
  for (int i = 0; i < 12; ++i) {
    put(payload, 3.0F);
    put(payload, i % 2 == 0 ? 4.0F : -4.0F);
  }
}

constexpr std::int64_t kTaiNs = 1'700'000'000'000'000'000;

nfr::RecordHeader image_record(std::uint16_t version) {
  return {.version = version,
          .kind = nfr::Kind::kResult,
          .first_bit_time = 2048,
          .bit_times = 32768,
          .missing_bit_times = 9,
          .mono_ns = 5,
          .tai_ns = kTaiNs,
          .flags = kFlagMissingBits};
}

void expect_stamp(const Frame& frame) {
  EXPECT_EQ(frame.processor, 0U);
  EXPECT_EQ(frame.epoch, 1U);
  EXPECT_EQ(frame.sequence, 17U);
  EXPECT_EQ(frame.shed_hops, 3U);
  EXPECT_EQ(frame.stream_id, 7U);
  EXPECT_EQ(frame.window_bit_times, 32768U);
  EXPECT_EQ(frame.valid_microphones, 63U);
  EXPECT_EQ(frame.first_bit_time, 2048U);
  EXPECT_EQ(frame.missing_bit_times, 9U);
  EXPECT_EQ(frame.flags, kFlagMissingBits);
  EXPECT_EQ(frame.capture_mono_ns, 5);
  EXPECT_EQ(frame.capture_tai_ns, kTaiNs);
  EXPECT_EQ(frame.timestamp_ns, kTaiNs - 21'845'333);
}

TEST(Results, ReadsImagesOfTheFirstVersionOfTheFormat) {
  FileBuilder file;
  file.add_text({.version = 1, .kind = nfr::Kind::kEpoch}, epoch_of_images("pressure", ""));
  std::vector<std::byte> payload = image_fields();
  for (const float report : {10.0F, 20.0F, 0.1F, 0.2F, 1e-3F, 2e-3F}) {
    put(payload, report);
  }
  put_images(payload);
  file.add(image_record(1), payload);
  file.add(image_record(2), payload);  // too short for this one
  file.add(image_record(4), payload);  // not known
  const nfr::Reader reader = reader_of(file);
  ASSERT_EQ(reader.epochs().size(), 1U);
  EXPECT_EQ(reader.epochs()[0].frames, 2U);
  const ResultHeader& header = reader.epochs()[0].header;
  EXPECT_EQ(header.processor, kFirstProcessor);
  EXPECT_EQ(header.product("points"), nullptr);
  const ImagesHeader images = images_header_of(header).value();
  EXPECT_EQ(images.y_m, small_header().y_m);
  int frames = 0;
  const std::uint64_t damaged = nfr::for_each_frame(reader, reader.epochs()[0], 0, kAll, [&](const Frame& frame) {
    ++frames;
    expect_stamp(frame);
    const ImageFrame values = image_frame_of(images, frame);
    EXPECT_EQ(values.noise_pa[1], 2e-3F);
    EXPECT_TRUE(std::isnan(values.error_estimate[0]));
    EXPECT_EQ(values.images[11], std::complex<float>(3.0F, -4.0F));
  });
  EXPECT_EQ(frames, 1);
  EXPECT_EQ(damaged, 1U);
}

TEST(Results, ReadsImagesOfTheSecondVersionOfTheFormat) {
  FileBuilder file;
  file.add_text({.version = 2, .kind = nfr::Kind::kEpoch}, epoch_of_images("pressure", kPoints));
  std::vector<std::byte> payload = image_fields();
  for (const float report : {10.0F, 20.0F, 0.1F, 0.2F, 1e-3F, 2e-3F, 0.05F, 0.04F}) {
    put(payload, report);
  }
  for (const float point : {1.0F, -1.0F, 2.0F, -2.0F, 3.0F, -3.0F, 4.0F, -4.0F}) {
    put(payload, point);
  }
  put_images(payload);
  file.add(image_record(2), payload);
  file.add(image_record(1), payload);  // has no points
  file.add(image_record(3), payload);  // other fields
  const nfr::Reader reader = reader_of(file);
  ASSERT_EQ(reader.epochs().size(), 1U);
  const ImagesHeader images = images_header_of(reader.epochs()[0].header).value();
  EXPECT_EQ(images.config, "version: 1\n");
  EXPECT_EQ(images.points, small_header().points);
  EXPECT_TRUE(images.bands_hz.empty());
  int frames = 0;
  const std::uint64_t damaged = nfr::for_each_frame(reader, reader.epochs()[0], 0, kAll, [&](const Frame& frame) {
    ++frames;
    expect_stamp(frame);
    const ImageFrame values = image_frame_of(images, frame);
    EXPECT_EQ(values.cutoff_rad_per_m[1], 20.0F);
    EXPECT_EQ(values.slope[0], 0.1F);
    EXPECT_EQ(values.error_estimate[1], 0.04F);
    ASSERT_EQ(values.points.size(), 4U);
    EXPECT_EQ(values.points[3], std::complex<float>(4.0F, -4.0F));
    EXPECT_EQ(values.images[10], std::complex<float>(3.0F, 4.0F));
    EXPECT_TRUE(values.radiated_power_w.empty());
  });
  EXPECT_EQ(frames, 1);
  EXPECT_EQ(damaged, 1U);
}

// These versions store no power; it follows from the images: pixels of 0.02 m x 0.02 m.
TEST(Results, ThePowerOfOlderVersionsIsComputed) {
  FileBuilder file;
  file.add_text({.version = 2, .kind = nfr::Kind::kEpoch}, epoch_of_images("active_intensity", kPoints));
  std::vector<std::byte> payload = image_fields();
  payload.resize(payload.size() + 8 * sizeof(float) + 8 * sizeof(float));
  put_images(payload);
  file.add(image_record(2), payload);
  const nfr::Reader reader = reader_of(file);
  ASSERT_EQ(reader.epochs().size(), 1U);
  const ImagesHeader images = images_header_of(reader.epochs()[0].header).value();
  EXPECT_EQ(nfr::for_each_frame(reader, reader.epochs()[0], 0, kAll,
                                [&](const Frame& frame) {
                                  const ImageFrame values = image_frame_of(images, frame);
                                  ASSERT_EQ(values.radiated_power_w.size(), 2U);
                                  EXPECT_NEAR(values.radiated_power_w[0], 6 * 3.0 * 0.02 * 0.02, 1e-8);
                                }),
            0U);
}

}  // namespace
}  // namespace nearfield::test

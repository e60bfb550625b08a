#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sndfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/unix_server.hpp"
#include "ring/ring_output.hpp"
#include "ring/ring_support.hpp"
#include "support/images.hpp"

namespace nearfield::ring {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Tap : public testing::Test {
 protected:
  /// Publishes every 0.2 ms until stopped, once a reader is there.
  class Publisher {
   public:
    explicit Publisher(const std::string& socket, ImagesHeader header = test::ring_header())
        : header_(std::move(header)),
          output_(std::make_unique<RingOutput>(RingOptions{}, ServerOptions{.socket = socket})) {
      output_->begin(result_header(header_), {.epoch = 1});
      thread_ = std::thread([this] {
        for (std::uint64_t sequence = 1; !stop_; ++sequence) {
          output_->write(frame_.make(sequence));
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
      });
    }
    ~Publisher() { stop(); }
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;
    void stop() {
      stop_ = true;
      if (thread_.joinable()) {
        thread_.join();
      }
      output_.reset();
    }
    void wait_for_a_reader() const {
      while (output_->readers() == 0) {
        std::this_thread::yield();
      }
    }

   private:
    ImagesHeader header_;
    test::TestFrame frame_{header_};
    std::unique_ptr<RingOutput> output_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
  };

  static std::string run(const std::string& arguments) {
    CLI::App app;
    cli::add_tap(app);
    testing::internal::CaptureStdout();
    try {
      app.parse("tap " + arguments);
    } catch (...) {
      printed = testing::internal::GetCapturedStdout();
      throw;
    }
    return printed = testing::internal::GetCapturedStdout();
  }
  test::SocketFolder folder_;
  std::string socket_ = folder_ / "ring.sock";
  static std::string printed;
};
std::string Tap::printed;

TEST_F(Tap, NoSocketIsNoInput) {
  EXPECT_THAT([&] { run("--socket " + socket_); }, ThrowsMessage<NoInputError>(HasSubstr("nothing listens")));
}

// The daemon comes while tap waits for it: without --wait it would have ended with "nothing listens".
TEST_F(Tap, WaitsForADaemonThatIsStillStarting) {
  auto waiting = std::async(std::launch::async, [this] { return run("--json --wait --count 3 --socket " + socket_); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Publisher publisher(socket_);
  EXPECT_EQ(nlohmann::json::parse(waiting.get())["frames"], 3);
}

TEST_F(Tap, WaitsNoLongerThanAsked) {
  EXPECT_THAT([&] { run("--wait 0.1 --socket " + socket_); },
              ThrowsMessage<NoInputError>(HasSubstr("nothing listens")));
}

TEST_F(Tap, PrintsALineASecondWhileItReads) {
  const Publisher publisher(socket_);
  EXPECT_THAT(run("--duration 1.2 --socket " + socket_), HasSubstr(" frames a second; age median "));
}

TEST_F(Tap, CountsFrames) {
  const Publisher publisher(socket_);
  const auto json = nlohmann::json::parse(run("--json --count 100 --socket " + socket_));
  EXPECT_EQ(json["frames"], 100);
  EXPECT_GT(json["rate_hz"], 0.0);
  EXPECT_LE(json["age_ms"]["median"], json["age_ms"]["p999"]);
  EXPECT_GT(json["age_ms"]["median"], 0.0);
  EXPECT_EQ(json["newest"]["epoch"], 3);
  EXPECT_FALSE(json["newest"].contains("radiated_power_w"));
  const auto& frequency = json["newest"]["frequencies"][0];
  EXPECT_EQ(frequency["frequency_hz"], 500.0);
  EXPECT_EQ(frequency["cutoff_rad_per_m"], 80.5);
  EXPECT_FLOAT_EQ(frequency["slope"], 0.1F);
  EXPECT_FLOAT_EQ(frequency["noise_pa"], 1e-3F);
  EXPECT_FLOAT_EQ(frequency["error_estimate"], 0.04F);
  EXPECT_TRUE(json["newest"]["frequencies"][1]["error_estimate"].is_null());
  EXPECT_EQ(json["flags"], 127);  // of 65 in a row one has the highest bit
  EXPECT_EQ(json["writer_gone"], false);
  EXPECT_THAT(
      run("--count 20 --socket " + socket_),
      AllOf(HasSubstr("normal_velocity, m/s: 1 planes x 2 frequencies x 4 rows x 3 columns"), HasSubstr("20 frames, "),
            HasSubstr("age (last bit in memory to read): median "), HasSubstr("group delay 10.923 ms"),
            HasSubstr("error, estimated"), HasSubstr("dead or masked microphones")));
}

TEST_F(Tap, TellsTheRadiatedPower) {
  ImagesHeader header = test::ring_header();
  header.quantity = "active_intensity";
  header.unit = "W/m^2";
  const Publisher publisher(socket_, header);
  const auto newest = nlohmann::json::parse(run("--json --count 3 --socket " + socket_))["newest"];
  double sum = 0.0;
  for (std::size_t pixel = 12; pixel < 24; ++pixel) {  // of the second frequency
    sum += static_cast<double>(test::expected_value(newest["sequence"], pixel).re);
  }
  EXPECT_DOUBLE_EQ(newest["radiated_power_w"][0][1], sum * 0.02 * 0.03);
  EXPECT_THAT(run("--count 3 --socket " + socket_), HasSubstr("radiated power through z = 0 m, newest frame: "));
}

TEST_F(Tap, WritesTheValuesAtPoints) {
  const Publisher publisher(socket_, test::ring_header_with_points());
  const std::string path = folder_ / "points.csv";
  const auto json =
      nlohmann::json::parse(run("--json --count 5 --points-only --points " + path + " --socket " + socket_));
  const auto& newest = json["newest"]["points"].back();
  EXPECT_EQ(newest["plane_m"], 0.01);
  EXPECT_EQ(newest["frequency_hz"], 750.25);
  EXPECT_EQ(newest["x_m"], 0.0);
  EXPECT_EQ(newest["y_m"], 0.09);
  const nf_complex expected = test::expected_value(json["newest"]["sequence"], test::kPointsFrom + 11);
  EXPECT_EQ(newest["re"], expected.re);
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  ASSERT_EQ(lines.size(), 1U + 5 * 12);
  EXPECT_EQ(lines.front(), "sequence,first_bit_time,capture_tai_ns,flags,plane_m,frequency_hz,x_m,y_m,re,im");
  EXPECT_THAT(lines.back(), testing::EndsWith(fmt::format(",0.01,750.25,0,0.09,{},{}", expected.re, expected.im)));
  EXPECT_THAT(run("--count 3 --socket " + socket_), HasSubstr("at (0, 0.09, 0.01) m, 750.25 Hz: "));
}

TEST_F(Tap, LogsEveryFrame) {
  const Publisher publisher(socket_);
  const std::string path = folder_ / "frames.csv";
  const auto json = nlohmann::json::parse(run("--json --count 50 --log " + path + " --socket " + socket_));
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  ASSERT_EQ(lines.size(), 51U);
  EXPECT_THAT(lines.front(), testing::StartsWith("sequence,first_bit_time,epoch,"));
  const auto columns = std::count(lines.front().begin(), lines.front().end(), ',');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(std::count(lines[i].begin(), lines[i].end(), ','), columns);
  }
  EXPECT_THAT(lines.back(), testing::StartsWith(json["newest"]["sequence"].dump() + "," +
                                                json["newest"]["first_bit_time"].dump() + ",3,"));
  EXPECT_THROW(run("--count 1 --log " + (folder_ / "none/frames.csv") + " --socket " + socket_), IoError);
}

/// A run of two processors, of which the second one's products are no images; each has one frame after the other.
class TapOfTwo : public Tap {
 protected:
  TapOfTwo() {
    output_.begin(result_header(images_), {.processor = 0, .epoch = 1});
    output_.begin(powers_, {.processor = 1, .epoch = 1});
    thread_ = std::thread([this] {
      test::TestFrame image(images_);
      test::RowPowerFrame power(powers_);
      for (std::uint64_t sequence = 1; !stop_; ++sequence) {
        output_.write(image.make(sequence));
        output_.write(power.make(sequence));
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  ~TapOfTwo() override {
    stop_ = true;
    thread_.join();
  }
  ImagesHeader images_ = test::ring_header();
  ResultHeader powers_ = test::row_power_header();
  RingOutput output_{{}, {.socket = socket_}};
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(TapOfTwo, PrintsEachProductOfTheProcessorThatIsNamed) {
  const std::string text = run("--count 20 --processor row_power --socket " + socket_);
  EXPECT_THAT(text, testing::StartsWith("row_power: 3 products, phases refer to the window's first bit\n"
                                        "row_power (power of a row), W/m: float32, 2 frequency x 4 y\n"
                                        "loudest (loudest frequency), Hz: float64, one number\n"
                                        "peaks (peaks of rows): at most 3 rows of row, power W/m\n"
                                        "20 frames, "));
  EXPECT_THAT(text,
              AllOf(HasSubstr("newest frame:\nrow_power: rms "), testing::ContainsRegex(", largest [0-9.e+]+ W/m\n"),
                    testing::ContainsRegex("loudest: [0-9]+ Hz\n"),
                    testing::ContainsRegex("peaks: [0-3] rows of row, power W/m\n"), Not(HasSubstr("cut-off rad/m"))));
}

TEST_F(TapOfTwo, GivesEachProductAsJson) {
  const auto json = nlohmann::json::parse(run("--json --count 20 --processor row_power --socket " + socket_));
  EXPECT_EQ(json["frames"], 20);
  EXPECT_EQ(json["processor"], "row_power");
  const std::uint64_t sequence = json["newest"]["sequence"];
  EXPECT_FALSE(json["newest"].contains("frequencies"));
  const auto& products = json["newest"]["products"];
  double sum = 0.0;
  double largest = 0.0;
  for (std::size_t i = 0; i < 8; ++i) {
    const auto value = static_cast<double>(test::RowPowerFrame::value(sequence, i));
    sum += value * value;
    largest = std::max(largest, value);
  }
  EXPECT_DOUBLE_EQ(products["row_power"]["rms"], std::sqrt(sum / 8.0));
  EXPECT_EQ(products["row_power"]["largest"], largest);
  EXPECT_EQ(products["row_power"]["unit"], "W/m");
  EXPECT_EQ(products["row_power"]["shape"], nlohmann::json::parse(R"({"frequency": 2, "y": 4})"));
  EXPECT_EQ(products["loudest"]["values"][0], 500.0 + static_cast<double>(sequence));
  ASSERT_EQ(products["peaks"]["rows"].size(), sequence % 4);
  for (std::size_t row = 0; row < sequence % 4; ++row) {
    EXPECT_EQ(products["peaks"]["rows"][row]["row"], sequence + row);
    EXPECT_EQ(products["peaks"]["rows"][row]["power"], static_cast<double>(sequence) + 0.5 * static_cast<double>(row));
  }
}

TEST_F(TapOfTwo, FindsTheFirstProcessorByItsNameToo) {
  const auto json = nlohmann::json::parse(run("--json --count 3 --processor surface --socket " + socket_));
  EXPECT_EQ(json["newest"]["frequencies"].size(), 2U);
  EXPECT_FALSE(json.contains("processor")) << "of images it says what it always said";
  EXPECT_THAT(run("--count 3 --socket " + socket_), HasSubstr("normal_velocity, m/s: 1 planes"));
  EXPECT_THAT([&] { run("--processor sphere --socket " + socket_); },
              ThrowsMessage<NoInputError>(HasSubstr("expected a processor sphere, found none of this name")));
}

TEST_F(Tap, SaysWhichFormatItFoundAndWhichItReads) {
  UnixListener listener(socket_, {.type = SOCK_SEQPACKET});
  std::atomic<bool> stop = false;
  std::thread daemon([&] {
    std::vector<FileDescriptor> clients;
    while (!stop) {
      FileDescriptor client(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const nf_ring_hello hello{NF_RING_MAGIC, 2, NF_RING_OK};
      if (client.valid() && send(client.get(), &hello, sizeof hello, MSG_NOSIGNAL) > 0) {
        clients.push_back(std::move(client));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_THAT([&] { run("--socket " + socket_); },
              ThrowsMessage<NoInputError>(HasSubstr("found format 2, this program reads format 3")));
  nf_ring* ring = nullptr;
  EXPECT_EQ(nf_ring_open(socket_.c_str(), &ring), NF_RING_BAD);
  EXPECT_THAT(nf_ring_status_text(NF_RING_BAD), HasSubstr("no ring of format 3"));
  stop = true;
  daemon.join();
}

TEST_F(Tap, EndsAfterADuration) {
  const Publisher publisher(socket_);
  EXPECT_GT(nlohmann::json::parse(run("--json --duration 0.05 --socket " + socket_))["frames"], 0);
}

TEST_F(Tap, SaysSoWhenTheWriterGoesAway) {
  Publisher publisher(socket_);
  std::thread end([&] {
    publisher.wait_for_a_reader();
    publisher.stop();
  });
  EXPECT_THAT([&] { run("--json --socket " + socket_); }, ThrowsMessage<IoError>(HasSubstr("went away")));
  end.join();
  EXPECT_EQ(nlohmann::json::parse(printed)["writer_gone"], true);
}

TEST_F(Tap, AnInterruptEndsItWithASummary) {
  const Publisher publisher(socket_);
  std::atomic<bool> ended = false;
  std::signal(SIGINT, SIG_IGN);
  std::thread interrupt([&] {
    publisher.wait_for_a_reader();
    // The first ones may come before tap listens to them: until then they are no reason to die.
    while (!ended) {
      kill(getpid(), SIGINT);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const std::string text = run("--socket " + socket_);
  ended = true;
  interrupt.join();
  EXPECT_THAT(text, HasSubstr("a second; skipped by this reader"));
}

/// A ring of a processor that makes beams: two of 32 samples a frame, every sample its number.
class BeamPublisher {
 public:
  /// `elements_per_sample`: 32 of a source of bits, 1 of samples.
  explicit BeamPublisher(const std::string& socket, std::uint32_t elements_per_sample = 32)
      : elements_per_sample_(elements_per_sample),
        output_(std::make_unique<RingOutput>(RingOptions{.bit_rate_hz = 46875 * elements_per_sample},
                                             ServerOptions{.socket = socket})) {
    header_.processor = "ear";
    header_.kind = "listen";
    header_.axes = {{.name = "beam", .unit = "1", .values = {0.0, 1.0}}, {.name = "sample", .unit = "s", .values = {}}};
    for (int n = 0; n < 32; ++n) {
      header_.axes[1].values.push_back(n / 46875.0);
    }
    header_.products = {{.name = "beams",
                         .quantity = "pressure",
                         .unit = "Pa",
                         .type = ElementType::kFloat32,
                         .axes = {"beam", "sample"}}};
    output_->begin(header_, {.epoch = 1});
  }
  void wait_for_a_reader() const {
    while (output_->readers() == 0) {
      std::this_thread::yield();
    }
  }
  void write(std::uint64_t sequence) {
    std::vector<float> values(64);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 1e-6F * static_cast<float>(32 * sequence + i % 32);
    }
    const std::vector<std::span<const std::byte>> products = {std::as_bytes(std::span(values))};
    Frame frame;
    frame.sequence = sequence;
    frame.first_bit_time = 32 * elements_per_sample_ * sequence;
    frame.stream_id = stream_id;
    frame.window_bit_times = 2048;
    frame.products = products;
    frame.missing_bit_times = sequence == 5 ? 7 : 0;
    output_->write(frame);
  }
  std::uint32_t stream_id = 1;

 private:
  std::uint32_t elements_per_sample_;
  ResultHeader header_;
  std::unique_ptr<RingOutput> output_;
};

// A source of samples counts these; a source that begins anew may count on from anywhere.
TEST_F(Tap, WritesBeamsOfSamplesAndOfASourceThatBeginsAnew) {
  BeamPublisher publisher(socket_, 1);
  std::thread source([&] {
    publisher.wait_for_a_reader();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    publisher.write(1);
    publisher.write(2);
    publisher.stream_id = 2;
    publisher.write(40);
  });
  const std::string text = run("--count 3 --wav " + (folder_ / "wav") + " --socket " + socket_);
  source.join();
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, decltype(&sf_close)> file(
      sf_open((folder_ / "wav/ear-0.wav").c_str(), SFM_READ, &info), &sf_close);
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(info.frames, 96);
  std::vector<float> samples(96);
  sf_readf_float(file.get(), samples.data(), 96);
  for (std::size_t n = 0; n < samples.size(); ++n) {
    EXPECT_EQ(samples[n], 1e-6F * static_cast<float>(n < 64 ? 32 + n : 40 * 32 + n - 64)) << n;
  }
}

// Frame 3 never comes, as overload dropped its hop: its samples are zeros.
TEST_F(Tap, WritesBeamsAsSound) {
  BeamPublisher publisher(socket_);
  std::thread source([&] {
    publisher.wait_for_a_reader();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (const std::uint64_t sequence : {1U, 2U, 4U, 5U}) {
      publisher.write(sequence);
    }
  });
  const std::string text = run("--count 4 --wav " + (folder_ / "wav") + " --socket " + socket_);
  source.join();
  EXPECT_THAT(text, HasSubstr("ear-1.wav: 0.003 s at 46875 Hz"));
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, decltype(&sf_close)> file(
      sf_open((folder_ / "wav/ear-1.wav").c_str(), SFM_READ, &info), &sf_close);
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(info.frames, 160);
  std::vector<float> samples(160);
  sf_readf_float(file.get(), samples.data(), 160);
  for (std::size_t n = 0; n < samples.size(); ++n) {
    const bool is_missing = n >= 64 && n < 96;
    EXPECT_EQ(samples[n], is_missing ? 0.0F : 1e-6F * static_cast<float>(32 + n)) << n;
  }
}

TEST_F(Tap, WritesNoSoundOfOtherProcessors) {
  const Publisher publisher(socket_);
  EXPECT_THAT([&] { run("--count 1 --wav " + (folder_ / "wav") + " --socket " + socket_); },
              ThrowsMessage<NoInputError>(HasSubstr("--wav: expected a processor that makes beams, found surface")));
}

}  // namespace
}  // namespace nearfield::ring

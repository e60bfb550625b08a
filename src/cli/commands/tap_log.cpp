#include "cli/commands/tap_log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace nearfield::cli {
namespace {

constexpr const char* kFrameTitles =
    "sequence,first_bit_time,epoch,flags,missing_bit_times,shed_hops,skipped,capture_mono_ns,publish_mono_ns,"
    "read_mono_ns";
constexpr const char* kPointTitles = "sequence,first_bit_time,capture_tai_ns,flags,plane_m,frequency_hz,x_m,y_m,re,im";

}  // namespace

TextFile::TextFile(std::string path, const char* titles) : path_(std::move(path)) {
  if (path_.empty()) {
    return;
  }
  file_.reset(path_ == "-" ? fdopen(dup(STDOUT_FILENO), "w") : std::fopen(path_.c_str(), "w"));
  if (file_ == nullptr) {
    throw IoError(fmt::format("{}: can't be written: {}", path_, std::strerror(errno)));
  }
  fmt::print(file_.get(), "{}\n", titles);
}

void TextFile::finish() {
  if (file_ != nullptr && std::fflush(file_.get()) != 0) {
    throw IoError(fmt::format("{}: can't be written: {}", path_, std::strerror(errno)));
  }
}

FrameLog::FrameLog(const std::string& path) : file_(path, kFrameTitles) {}

void FrameLog::add(const nf_frame& frame, std::uint64_t skipped) {
  if (file_.get() != nullptr) {
    fmt::print(file_.get(), "{},{},{},{},{},{},{},{},{},{}\n", frame.sequence, frame.first_bit_time, frame.epoch,
               frame.flags, frame.missing_bit_times, frame.shed_hops, skipped, frame.capture_mono_ns,
               frame.publish_mono_ns, frame.read_mono_ns);
  }
}

PointLog::PointLog(const std::string& path) : file_(path, kPointTitles) {}

void PointLog::add(const nf_ring_layout& layout, const nf_frame& frame) {
  if (file_.get() == nullptr || frame.points == nullptr) {
    return;
  }
  const nf_complex* value = frame.points;
  for (std::uint32_t plane = 0; plane < layout.planes; ++plane) {
    for (std::uint32_t f = 0; f < layout.frequencies; ++f) {
      for (std::uint32_t point = 0; point < layout.points; ++point, ++value) {
        fmt::print(file_.get(), "{},{},{},{},{},{},{},{},{},{}\n", frame.sequence, frame.first_bit_time,
                   frame.capture_tai_ns, frame.flags, layout.planes_m[plane], layout.frequencies_hz[f],
                   layout.points_xy_m[2 * point], layout.points_xy_m[2 * point + 1], value->re, value->im);
      }
    }
  }
}

}  // namespace nearfield::cli

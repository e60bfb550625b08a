#pragma once
#include <nearfield_ring.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace nearfield::cli {

/// A text file that is written line by line, or none.
class TextFile {
 public:
  /// An empty path: no output; -: standard output. Throws IoError.
  TextFile(std::string path, const char* titles);
  [[nodiscard]] std::FILE* get() const { return file_.get(); }
  /// Throws IoError if not everything could be written.
  void finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Writes one line per frame, comma-separated, with the column names in the first line.
class FrameLog {
 public:
  explicit FrameLog(const std::string& path);
  void add(const nf_frame& frame, std::uint64_t skipped);
  void finish() { file_.finish(); }

 private:
  TextFile file_;
};

/// Writes one line for each plane, frequency and point of a frame; otherwise like FrameLog.
class PointLog {
 public:
  explicit PointLog(const std::string& path);
  void add(const nf_ring_layout& layout, const nf_frame& frame);
  void finish() { file_.finish(); }

 private:
  TextFile file_;
};

}  // namespace nearfield::cli

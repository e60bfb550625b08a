#pragma once
#include <chrono>
#include <string>

namespace nearfield::cli {

/// Shows the progress of long work: a bar on a terminal, elsewhere a plain line every tenth; nothing with -q. On
/// stderr.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `share`: completed part, 0 to 1.
  void show(double share);

 private:
  void draw_bar(double share);
  std::string what_;
  bool shown_;  ///< not with -q
  bool terminal_;
  bool drawn_ = false;
  int tenth_ = 0;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace nearfield::cli

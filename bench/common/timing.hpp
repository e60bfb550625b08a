#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cl/device.hpp"

/// Measuring what a frame takes.
namespace nearfield::bench {

/// Distribution of repeated measurements, all in the same unit. Quantiles are nearest-rank: the smallest value that the
/// given share of the values does not exceed.
struct Distribution {
  std::size_t count = 0;
  double minimum = 0.0;
  double median = 0.0;
  double p99 = 0.0;
  double p999 = 0.0;
  double maximum = 0.0;
};
/// Throws Error when there are no values or one is not finite.
Distribution distribution(std::vector<double> values);

struct TimingOptions {
  int warm_up = 5;        ///< frames that do not count
  int repetitions = 100;  ///< frames that do
  double most_s = 3.0;    ///< stops early after that long, but not before kLeastRepetitions
};
inline constexpr int kLeastRepetitions = 5;

/// One stage of a frame; a frame may run it several times.
struct StageTiming {
  std::string stage;
  std::string phase;
  Distribution device_s;  ///< sum over a frame's commands of this stage
  double commands = 0.0;  ///< a frame
  double bytes = 0.0;     ///< a frame, of transfers and fills; 0 where it is not known
};

struct FrameTiming {
  Distribution wall_s;                                 ///< from the first enqueue to the end of the wait
  Distribution device_s;                               ///< sum over the frame's commands; idle gaps do not count
  std::map<std::string, Distribution> phase_device_s;  ///< device_s by phase
  std::vector<StageTiming> stages;                     ///< in the order of their first command
};

/// Commands of one measured frame.
struct FrameWork {
  std::function<void()> prepare;  ///< before each frame, not timed: fresh bits
  struct Phase {
    std::string name;
    std::function<void()> enqueue;
  };
  std::vector<Phase> phases;  ///< the frame, without the wait
  bool waits = false;         ///< the last phase waits itself
};

/// Frames against the wall clock, with nothing recorded and one wait a frame. Throws DeviceError.
Distribution time_wall(const ocl::Device& device, const TimingOptions& options, const FrameWork& work);
/// Frames with the device's recorder and a wait after each phase: fills all but wall_s.
/// Needs a device opened with Profiling::kOn. Throws DeviceError.
void time_stages(const ocl::Device& device, const TimingOptions& options, const FrameWork& work, FrameTiming& timing);
/// Both, one after the other.
FrameTiming time_frames(const ocl::Device& device, const TimingOptions& options, const FrameWork& work);

/// Measured peak rates of a device under OpenCL.
struct Ceilings {
  double write_bytes_per_s = 0.0;         ///< host to device, 16 MiB of pageable memory
  double read_bytes_per_s = 0.0;          ///< device to host, 16 MiB of pageable memory
  double locked_write_bytes_per_s = 0.0;  ///< host to device, page-locked memory
  double locked_read_bytes_per_s = 0.0;   ///< device to host, page-locked memory
  double copy_bytes_per_s = 0.0;   ///< kernel that copies 64 MiB within the device, bytes read plus bytes written
  double operations_per_s = 0.0;   ///< float32 multiply-adds, each two operations
  double launch_and_wait_s = 0.0;  ///< wall time of one empty kernel and the wait for it, median
  double further_launch_s = 0.0;   ///< time that each further empty kernel in the queue adds, median
};
/// `quick` moves a sixteenth of the bytes. Throws DeviceError.
Ceilings measure_ceilings(const ocl::Device& device, bool quick);

}  // namespace nearfield::bench

#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/timing.hpp"
#include "cl/work.hpp"
#include "core/settings.hpp"

/// Least bytes and operations of a frame, and the lower bounds of its time.
namespace nearfield::bench {

/// Bytes and operations that a stage cannot do without; 0: not known.
struct StageNeed {
  double bytes = 0.0;
  double operations = 0.0;
};

/// Direction in which a command moves its bytes.
enum class StageKind { kUpload, kDownload, kDevice };
StageKind kind_of_stage(std::string_view stage);

/// Work model of one launch, a batch of frames, from the entries of the settings' front end and processors.
WorkModel work_model_of(const Settings& settings);
/// Needs of one stage; zeros for stages that are not in the model.
StageNeed need_of(std::string_view stage, const WorkModel& model);
/// Needs of one stage in the settings' model.
StageNeed frame_need_of(std::string_view stage, const Settings& settings);

/// The least that a launch can take.
struct Floors {
  double bytes_s = 0.0;     ///< bytes to the device, within it and back, each over its ceiling
  double launches_s = 0.0;  ///< a launch and its wait, and each further command
};
Floors floors_of(const FrameTiming& timing, const std::vector<StageNeed>& needs, const Ceilings& ceilings);
/// Least time of one stage: the larger of its bytes over their ceiling and its operations over theirs.
double stage_floor_s(const StageTiming& stage, const StageNeed& need, const Ceilings& ceilings);

/// y = offset + slope x by least squares.
struct Line {
  double slope = 0.0;
  double offset = 0.0;
  double residual = 0.0;           ///< root mean square distance of the points from the line, in the unit of y
  double relative_residual = 0.0;  ///< residual over the mean of y
};
/// Throws Error unless there are as many y as x, two different x at least.
Line fit_line(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace nearfield::bench

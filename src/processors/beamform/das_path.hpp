#pragma once
#include <complex>
#include <memory>
#include <string>
#include <string_view>

#include "cl/device.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/far_field/device_tables.hpp"

/// Delay and sum on a device: algorithms ("paths") from the pressures of windows to the sums of
/// kernels/processors/beamform.cl, from which maps are made.
namespace nearfield::das {

inline constexpr std::string_view kStage = "processors/beamform";

/// Layout of a kernel's float2.
struct alignas(8) Two {
  float x, y;
};

/// Number of pixels in a device's arrays, padded to full groups.
std::size_t pixel_stride(const BeamformPlan& plan);
/// Pixels per work-item: one on GPUs, a vector of them on other devices.
int lanes_of(const ocl::DeviceInfo& device);
/// Windows whose sums are stored at once.
std::size_t windows_at_once(const BeamformPlan& plan);
/// Macros shared by the kernels.
ocl::Defines shared_defines(const BeamformPlan& plan, const ocl::DeviceInfo& device);

/// Buffers that each path reads.
struct Input {
  Input(const ocl::Device& device, const BeamformPlan& plan);
  ocl::Buffer<float> pixels;                   ///< [x, y, z, length][pixel_stride()]
  ocl::Buffer<far_field::Float4> positions;    ///< [channel]
  ocl::Buffer<Two> waves_per_m;                ///< [frequency]
  ocl::Buffer<std::complex<float>> pressures;  ///< [window][frequency][channel], of a batch
  ocl::Buffer<float> weights;                  ///< [window][channel], 0 if unused
};

/// Output of a path, as in kernels/processors/beamform.cl. The arguments of a path's kernels refer to it and to the
/// Input, so both outlive it.
struct Sums {
  Sums(const ocl::Device& device, const BeamformPlan& plan, std::size_t part_count);
  std::size_t parts;
  ocl::Buffer<std::complex<float>> sums;  ///< [part][window][frequency][pixel_stride()]
  ocl::Buffer<float> diagonals;           ///< likewise; a single value where nothing is removed
};

/// An algorithm for the sums. Like in a processor, the constructor may throw, and enqueue() only sets arguments and
/// enqueues.
class Path {
 public:
  explicit Path(Sums sums) : sums_(std::move(sums)) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  virtual ~Path() = default;
  /// Computes the sums of up to windows_at_once() windows, from window `first_window` of the pressures on.
  virtual void enqueue(std::size_t first_window, std::size_t windows) = 0;
  /// True if the phases of its sums are those of r, not of r - |q|.
  [[nodiscard]] virtual bool counts_from_pixels() const { return false; }
  /// True if its sums are maps already: it applies norms that depend on the frequency itself.
  [[nodiscard]] virtual bool is_normalised() const { return false; }
  /// Name and cut sizes.
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] const Sums& sums() const { return sums_; }

 private:
  Sums sums_;
};

/// The path that the settings name, or the possible one with the fewest operations; never auto. Throws ConfigError
/// where the named one cannot make this map.
PathChoice chosen_path(const ocl::DeviceInfo& device, const BeamformPlan& plan);
std::unique_ptr<Path> make_path(const ocl::Device& device, const BeamformPlan& plan, const Input& input);

/// True if the plan's microphones are those of its geometry.
bool is_regular(const BeamformPlan& plan);

// Reason why a path cannot serve this plan on this device; empty if it can, which its maker requires.
std::string obstacle_to_convolving(const ocl::DeviceInfo& device, const BeamformPlan& plan);
std::string obstacle_to_separating(const ocl::DeviceInfo& device, const BeamformPlan& plan);

/// For planes of monopoles parallel to a regular array, with a step of its pitch divided or multiplied by a whole
/// number.
std::unique_ptr<Path> make_convolve(const ocl::Device& device, const BeamformPlan& plan, const Input& input);
/// For plane waves from a grid of angles in front of a regular array.
std::unique_ptr<Path> make_separable(const ocl::Device& device, const BeamformPlan& plan, const Input& input);
/// For templates, whose positions are the pixels.
std::unique_ptr<Path> make_measured(const ocl::Device& device, const BeamformPlan& plan, const Input& input);
/// For any other map, pixel by pixel.
std::unique_ptr<Path> make_direct(const ocl::Device& device, const BeamformPlan& plan, const Input& input);

}  // namespace nearfield::das

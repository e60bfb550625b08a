#pragma once
#include <complex>
#include <memory>
#include <string>
#include <string_view>

#include "cl/device.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/far_field/device_tables.hpp"

/// Delay and sum on a device: the ways from the pressures of windows to the sums of kernels/processors/beamform.cl, of
/// which maps are made.
namespace nearfield::das {

inline constexpr std::string_view kStage = "processors/beamform";

/// As a kernel's float2.
struct alignas(8) Two {
  float x, y;
};

/// Pixels of a device's arrays, with those that fill the last group.
std::size_t pixel_stride(const BeamformPlan& plan);
/// Pixels of a work-item: GPUs have one, others a vector of them.
int lanes_of(const ocl::DeviceInfo& device);
/// Windows whose sums are there at once.
std::size_t windows_at_once(const BeamformPlan& plan);
/// Macros that kernels share.
ocl::Defines shared_defines(const BeamformPlan& plan, const ocl::DeviceInfo& device);

/// What each way reads.
struct Input {
  Input(const ocl::Device& device, const BeamformPlan& plan);
  ocl::Buffer<float> pixels;                   ///< [x, y, z, length][pixel_stride()]
  ocl::Buffer<far_field::Float4> positions;    ///< [channel]
  ocl::Buffer<Two> waves_per_m;                ///< [frequency]
  ocl::Buffer<std::complex<float>> pressures;  ///< [window][frequency][channel], of a batch
  ocl::Buffer<float> weights;                  ///< [window][channel], 0 of those that are not used
};

/// What a way makes, as in kernels/processors/beamform.cl. The arguments of a path's kernels refer to it and to the
/// Input, so both outlive it.
struct Sums {
  Sums(const ocl::Device& device, const BeamformPlan& plan, std::size_t part_count);
  std::size_t parts;
  ocl::Buffer<std::complex<float>> sums;  ///< [part][window][frequency][pixel_stride()]
  ocl::Buffer<float> diagonals;           ///< likewise; of one value where nothing is removed
};

/// One way. As of a processor, its constructor may throw, and enqueue() only sets arguments and enqueues.
class Path {
 public:
  explicit Path(Sums sums) : sums_(std::move(sums)) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  virtual ~Path() = default;
  /// The sums of at most windows_at_once() windows, from window `first_window` of the pressures on.
  virtual void enqueue(std::size_t first_window, std::size_t windows) = 0;
  /// The phases of its sums are those of r, and not of r - |q|.
  [[nodiscard]] virtual bool counts_from_pixels() const { return false; }
  /// Its sums are maps already: norms that depend on the frequency are its own.
  [[nodiscard]] virtual bool is_normalised() const { return false; }
  /// Its name, and how it is cut.
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] const Sums& sums() const { return sums_; }

 private:
  Sums sums_;
};

/// The way that the settings name, or the one of those possible that needs the fewest operations; never auto. Throws
/// ConfigError where the named one cannot make this map.
PathChoice chosen_path(const ocl::DeviceInfo& device, const BeamformPlan& plan);
std::unique_ptr<Path> make_path(const ocl::Device& device, const BeamformPlan& plan, const Input& input);

/// Whether the plan's microphones are those of its geometry.
bool is_regular(const BeamformPlan& plan);

// What keeps a way from this plan on this device, in words; empty when nothing does. Its maker expects that.
std::string obstacle_to_convolving(const ocl::DeviceInfo& device, const BeamformPlan& plan);
std::string obstacle_to_separating(const ocl::DeviceInfo& device, const BeamformPlan& plan);

/// Planes of monopoles parallel to a regular array, their step its pitch divided or multiplied by a whole number.
std::unique_ptr<Path> make_convolve(const ocl::Device& device, const BeamformPlan& plan, const Input& input);
/// Plane waves from a grid of angles before a regular array.
std::unique_ptr<Path> make_separable(const ocl::Device& device, const BeamformPlan& plan, const Input& input);
/// Of templates, whose places are the pixels.
std::unique_ptr<Path> make_measured(const ocl::Device& device, const BeamformPlan& plan, const Input& input);
/// Any other map, pixel by pixel.
std::unique_ptr<Path> make_direct(const ocl::Device& device, const BeamformPlan& plan, const Input& input);

}  // namespace nearfield::das

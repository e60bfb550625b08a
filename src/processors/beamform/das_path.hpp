#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cl/device.hpp"
#include "imaging/shared/short_dft.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/far_field/array.hpp"

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

/// One axis of a lattice on which pixels and microphones lie, up to one offset: the i-th microphone at point
/// microphone_step i, the j-th pixel at point pixel_step j, one of the steps being 1.
struct LatticeAxis {
  int microphones = 1;
  int pixels = 1;
  int microphone_step = 1;
  int pixel_step = 1;
  double spacing_m = 0.0;  ///< distance between points

  /// Number of differences between a pixel's and a microphone's points, all of which a circular convolution must keep
  /// apart.
  [[nodiscard]] int differences() const { return microphone_step * (microphones - 1) + pixel_step * (pixels - 1) + 1; }
  /// Shortest sufficient transform of kernels/imaging/short_dft.cl; none if all are too short.
  [[nodiscard]] std::optional<ShortDft> transform() const;
};

struct Lattice {
  LatticeAxis x;
  LatticeAxis y;
};

/// Lattice of a plane grid in front of a regular array: none where the step is neither the pitch divided by a whole
/// number nor a multiple of it, to within 10 nm over the array and the plane. Uses settings and sizes only.
std::optional<Lattice> lattice_of(const far_field::GridSettings& grid, const ArrayGeometry& geometry);

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

/// Computes maps by delay and sum from the spectra of windows: weights the microphones, lets a Path make sums, and
/// converts these to maps.
class Maps {
 public:
  /// A map is written with `stride` values per frequency: the plan's pixels, or pixel_stride().
  Maps(const ocl::Device& device, const BeamformPlan& plan, std::size_t stride);
  /// Sets the output: [map][frequency][stride]; powers for an average, else complex pressures.
  template <class Value>
  void write_to(const ocl::Buffer<Value>& maps) {
    finish_.set("map", maps);
  }
  /// Weights the microphones of `windows` windows, and enqueues the transfer of their status to the host.
  void enqueue_microphones(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t windows);
  /// Enqueues the maps of up to windows_at_once() of these windows; the first becomes map number `to`.
  void enqueue_maps(std::size_t first_window, std::size_t windows, std::size_t to);
  /// See Processor::use(): computes the norms of the new mask, and waits for the device.
  void use(const MicrophoneMask& mask);

  [[nodiscard]] const ocl::Program& program() const { return program_; }
  [[nodiscard]] const Input& input() const { return input_; }
  [[nodiscard]] const ocl::Buffer<float>& weights() const { return input_.weights; }  ///< [window][channel], g
  [[nodiscard]] const ocl::Buffer<float>& norms() const { return norms_; }  ///< layout: kernels/processors/beamform.cl
  /// [channel]; 0 for masked microphones.
  [[nodiscard]] const ocl::Buffer<float>& shading_on_device() const { return shading_; }
  /// Weights of the microphones that are not masked.
  [[nodiscard]] std::span<const float> shading() const { return shading_on_host_; }
  [[nodiscard]] std::span<const std::uint32_t> host_status() const { return status_on_host_.values(); }
  [[nodiscard]] std::string description() const;

 private:
  [[nodiscard]] ocl::Launch pixel_launch() const;
  ocl::Device device_;
  BeamformPlan plan_;
  Input input_;
  std::unique_ptr<Path> path_;
  ocl::Buffer<std::complex<float>> gains_;
  ocl::Buffer<float> offsets_;
  ocl::Program program_;
  ocl::Kernel microphones_;
  ocl::Kernel norm_;
  ocl::Kernel finish_;
  ocl::Arguments<2> spectra_argument_;
  ocl::Arguments<2> window_arguments_;
  std::vector<float> shading_on_host_;
  ocl::Buffer<float> shading_;
  ocl::Buffer<float> norms_;
  ocl::Buffer<std::uint32_t> taken_;
  ocl::HostBuffer<std::uint32_t> status_on_host_;
};

}  // namespace nearfield::das

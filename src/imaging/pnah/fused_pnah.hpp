#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cl/memory.hpp"
#include "imaging/pnah/auto_cutoff.hpp"
#include "imaging/pnah/cutoff_search.hpp"
#include "imaging/priors/microphones.hpp"
#include "imaging/shared/imager.hpp"

namespace nearfield {

struct MaskBuffers;
class TransferTable;

/// Work distribution of the fused kernels for a device. A vector is `lanes` neighbouring lines.
struct FusedTuning {
  int lanes = 1;               ///< 1, 4 or 8
  int fit_group = 1;           ///< items per group of aperture.cl: 1, or a multiple of 64
  int column_group = 1;        ///< items per group of columns.cl
  int column_tile = 1;         ///< vectors per group
  bool local_samples = false;  ///< true: columns.cl copies the aperture to local memory first
  int row_group = 1;           ///< items per group of rows.cl
  int row_tile = 1;            ///< vectors per group
  bool check_here = true;      ///< true: aperture.cl checks for values that are not finite, else microphones.cl
  bool one_launch = false;     ///< the three kernels in one (frame.cl), for unbatched frames; their groups are equal
};

/// GPUs: one line per item, many items per group. Others: vectors of lines, one item per group.
FusedTuning default_tuning(const ocl::DeviceInfo& device, const ImagePlan& plan);

/// True if the three kernels of a frame may be one: no batch, one line per item, and both axes cut alike.
bool fits_one_launch(const ImagePlan& plan, const FusedTuning& tuning);

/// Reason why the fused path cannot run this plan on this device, as a sentence; empty if it can.
std::string obstacle_to_fusing(const ocl::DeviceInfo& device, const ImagePlan& plan);

/// Three launches per frame and no FFT library: conditioning and predictors (aperture.cl); rows transformed along x,
/// columns extended, transformed, filtered, propagated and transformed back for the aperture's rows (columns.cl); the
/// last transform along x for the aperture's columns (rows.cl). On devices whose work-groups of a launch can hand over
/// to each other, these are one launch (frame.cl). With many frequencies there is another one, microphone_check.
class FusedPnah : public Imager {
 public:
  FusedPnah(const ocl::Device& device, const ImagePlan& plan, const FusedTuning& tuning);
  ~FusedPnah() override;
  FusedPnah(const FusedPnah&) = delete;
  FusedPnah& operator=(const FusedPnah&) = delete;
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames = 1) override;
  void use(const MicrophoneMask& mask) override;
  void forget() override;
  void adopt(const std::shared_ptr<const Findings>& findings) override;
  [[nodiscard]] std::unique_ptr<Search> make_search() const override { return make_cutoff_search(plan_); }
  [[nodiscard]] std::string description() const override { return description_; }

  /// [frame][frequency][column][row], the input of the images: calibrated, unusable microphones replaced.
  [[nodiscard]] const ComplexBuffer& samples() const { return samples_; }
  /// [frame][frequency][step][tap], extrapolation of the samples past the aperture; [step][tap] if nothing is fitted.
  [[nodiscard]] const ComplexBuffer& extension_x() const { return extension_x_; }
  [[nodiscard]] const ComplexBuffer& extension_y() const { return extension_y_; }
  [[nodiscard]] int spectrum_stride() const { return spectrum_stride_; }
  /// [frame][plane][field][frequency][spectrum_stride()][slice_stride()], rows fastest: transformed back along y,
  /// scaled.
  [[nodiscard]] const ComplexBuffer& slices() const { return slices_; }
  [[nodiscard]] int slice_stride() const { return slice_stride_; }

 private:
  void allocate(const ocl::Device& device, const ImagePlan& plan);
  void build(const ocl::Device& device, const ImagePlan& plan, const FusedTuning& tuning);
  void build_stages(const ocl::Device& device, const ImagePlan& plan, const FusedTuning& tuning);
  void build_frame(const ocl::Device& device, const ImagePlan& plan, const FusedTuning& tuning);
  [[nodiscard]] ocl::Defines with_tables(ocl::Defines defines, const ImagePlan& plan) const;
  void enqueue_stages(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames);
  void enqueue_frame(const ComplexBuffer& spectra, const StatusBuffer& status);
  void set_results() final;

  std::string description_;
  std::optional<SpectrumTables> spectrum_;  ///< set if the cut-off is measured
  ocl::Device device_;
  ImagePlan plan_;
  std::unique_ptr<TransferTable> transfer_table_;  ///< set if cut-offs are searched
  ocl::Arena arena_;
  int spectrum_stride_;
  int slice_stride_;
  std::int32_t frequencies_;
  bool has_check_;
  bool is_one_launch_;
  // Parts of the arena:
  std::unique_ptr<MaskBuffers> mask_;
  ocl::Buffer<std::uint8_t> usable_;
  ComplexBuffer samples_;
  ComplexBuffer extension_x_;
  ComplexBuffer extension_y_;
  ComplexBuffer slices_;
  ComplexBuffer transfer_;
  ocl::Kernel check_;
  ocl::Kernel aperture_;
  ocl::Arguments<2> measured_;  ///< arguments of aperture_
  ocl::Kernel columns_;
  ocl::Kernel rows_;
  ocl::Arguments<1> frame_status_;  ///< arguments of rows_
  ocl::Arguments<2> rows_results_;
  ocl::Kernel frame_;  ///< replaces the three kernels
  ocl::Arguments<2> frame_input_;
  ocl::Arguments<2> frame_results_;
  ocl::Arguments<1> frame_number_;
  ocl::Arguments<2> frame_place_;
  ocl::Arguments<1> frame_reports_;
  std::uint32_t launches_ = 0;   ///< number of launches of frame_
  IncompleteFrames incomplete_;  ///< used if the cut-off is measured, like the members below
  ocl::Arguments<2> columns_place_;
  ocl::Arguments<2> rows_place_;
  ocl::Arguments<1> rows_reports_;
  ocl::Launch check_launch_{};  ///< launch for one frame, like the others
  ocl::Launch aperture_launch_{};
  ocl::Launch columns_launch_{};
  ocl::Launch rows_launch_{};
  ocl::Launch frame_launch_{};
};

}  // namespace nearfield

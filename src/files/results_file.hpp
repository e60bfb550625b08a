#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "nearfield/frame.hpp"
#include "nearfield/microphone_use.hpp"
#include "nearfield/output.hpp"

/// The images file: the results of one or more processors, HDF5 (docs/images_file.md). files.hpp says what its readers
/// and writers have in common with those of other files.
namespace nearfield {

class ResultsWriter {
 public:
  /// Creates PATH.partial.
  explicit ResultsWriter(const std::filesystem::path& path);
  ~ResultsWriter();
  /// Makes room for the frames of a processor, before the first frame of any. With the last of these calls the file's
  /// structure is complete, so that it stays readable if the process is killed; frames_written, a uint64 of each
  /// processor, says how many frames hold results. Frames that are never written stay holes in the file: they take no
  /// room on the disk and read as zeros, but for their time, which is written before as not a number. Throws
  /// ConfigError where two results have one name in the file.
  void begin(const ResultHeader& header, const Beginning& beginning);
  /// The next frame of its processor; each product must be as long as the header says.
  void write(const Frame& frame);
  /// Of what is masked from the next frames on.
  void mask(const MaskChange& change);
  /// Throws DataError when no frame was written; fewer than there is room for are fine.
  void finish();
  /// The same, of a file that says what a run would make, whether it has frames or not.
  void finish_plan();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A frame that was read, with memory of its own.
class ResultFrame {
 public:
  /// Of zeros.
  explicit ResultFrame(const ResultHeader& header);
  ResultFrame(const ResultFrame&) = delete;
  ResultFrame& operator=(const ResultFrame&) = delete;
  ResultFrame(ResultFrame&&) noexcept = default;
  ResultFrame& operator=(ResultFrame&&) noexcept = default;
  ~ResultFrame() = default;

  /// Of the file: stamp, flags, missing bit-times and products. `sequence` is the frame's index in the file.
  Frame frame;
  [[nodiscard]] std::span<std::byte> product(std::size_t index);

 private:
  std::vector<std::uint64_t> memory_;
  ProductPlaces places_;
  std::vector<std::span<const std::byte>> products_;
};

/// Of frames, [frame].
struct ResultStamps {
  std::vector<std::uint64_t> first_samples;
  std::vector<std::int64_t> timestamps_ns;
  std::vector<std::uint32_t> flags;
  std::vector<std::uint64_t> missing_bits;
  /// Frame::valid_microphones and Frame::missing_information; empty of files that were written before they were.
  std::vector<std::uint32_t> valid_microphones;
  std::vector<float> missing_information;
};

class ResultsReader {
 public:
  /// Reads finished files and partial ones, also while they grow. Datasets without attributes, as files had them
  /// before, are recognised by their names as products of images. Throws DataError when no frame was written yet.
  explicit ResultsReader(const std::filesystem::path& path);
  ~ResultsReader();
  ResultsReader(ResultsReader&&) noexcept;
  ResultsReader& operator=(ResultsReader&&) noexcept;
  /// The first one's results lie at the file's root.
  [[nodiscard]] std::size_t processors() const;
  [[nodiscard]] const ResultHeader& header(std::size_t processor) const;
  /// Of a processor of images. Its products may have figures that an older file's header() lacks.
  [[nodiscard]] const std::optional<ImagesHeader>& images_header(std::size_t processor) const;
  /// Frames that hold results; 0 is possible for all processors but one.
  [[nodiscard]] std::uint64_t frames(std::size_t processor) const;
  /// Frames that the file has room for.
  [[nodiscard]] std::uint64_t room(std::size_t processor) const;
  [[nodiscard]] ResultFrame read(std::size_t processor, std::uint64_t frame) const;
  /// Of all frames.
  [[nodiscard]] ResultStamps stamps(std::size_t processor) const;
  /// How many microphones the frames are made of; nothing where the file does not say it.
  [[nodiscard]] std::optional<MicrophoneUse> microphones(std::size_t processor) const;
  /// Of one product that is no table, frames [first, first + count) behind each other.
  [[nodiscard]] std::vector<std::byte> read_array(std::size_t processor, std::size_t product, std::uint64_t first,
                                                  std::uint64_t count) const;
  /// Of one product that is a table, a frame.
  [[nodiscard]] std::vector<std::byte> read_table(std::size_t processor, std::size_t product,
                                                  std::uint64_t frame) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nearfield

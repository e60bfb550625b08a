#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/frame.hpp"
#include "core/microphones.hpp"

/// The images file: the results of one or more processors, HDF5 (docs/reference/images_file.md). files.hpp describes
/// the common behaviour of readers and writers.
namespace nearfield {

class ResultsWriter {
 public:
  /// Creates PATH.partial.
  explicit ResultsWriter(const std::filesystem::path& path);
  ~ResultsWriter();
  /// Reserves the frames of a processor, before the first frame of any. After the last of these calls the file's
  /// structure is complete, so that it stays readable if the process is killed; frames_written, a uint64 per processor,
  /// counts frames that hold results. Frames that are never written stay holes in the file: they take no disk space and
  /// read as zeros, except for their time, which is initialised to NaN. Throws ConfigError where two results have one
  /// name in the file.
  void begin(const ResultHeader& header, const Beginning& beginning);
  /// Writes the next frame of its processor; the lengths of products must match the header.
  void write(const Frame& frame);
  /// Records the mask of the next frames.
  void mask(const MaskChange& change);
  /// Throws DataError when no frame was written; fewer frames than reserved are allowed.
  void finish();
  /// finish() for a file that shows a run's layout, with or without frames.
  void finish_plan();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Stamps of frames, [frame].
struct ResultStamps {
  std::vector<std::uint64_t> first_samples;
  std::vector<std::int64_t> timestamps_ns;
  std::vector<std::uint32_t> flags;
  std::vector<std::uint64_t> missing_bits;
  /// Frame::valid_microphones and Frame::missing_information; empty for files older than these.
  std::vector<std::uint32_t> valid_microphones;
  std::vector<float> missing_information;
};

class ResultsReader {
 public:
  /// Reads finished files and partial ones, also while they grow. Datasets without attributes, as in older files, are
  /// recognised by their names as products of images. Throws DataError when no frame was written yet.
  explicit ResultsReader(const std::filesystem::path& path);
  ~ResultsReader();
  ResultsReader(ResultsReader&&) noexcept;
  ResultsReader& operator=(ResultsReader&&) noexcept;
  /// Number of processors; the first one's results lie at the file's root.
  [[nodiscard]] std::size_t processors() const;
  [[nodiscard]] const ResultHeader& header(std::size_t processor) const;
  /// Number of frames that hold results; 0 is possible for all processors but one.
  [[nodiscard]] std::uint64_t frames(std::size_t processor) const;
  /// Number of reserved frames.
  [[nodiscard]] std::uint64_t room(std::size_t processor) const;
  /// Stamp, flags, missing bit-times and products of a frame. `sequence` is its index in the file.
  [[nodiscard]] ResultFrame read(std::size_t processor, std::uint64_t frame) const;
  /// Stamps of all frames.
  [[nodiscard]] ResultStamps stamps(std::size_t processor) const;
  /// Numbers of microphones used for the frames; nothing where the file does not state it.
  [[nodiscard]] std::optional<MicrophoneUse> microphones(std::size_t processor) const;
  /// Reads a product that is no table, frames [first, first + count) in sequence.
  [[nodiscard]] std::vector<std::byte> read_array(std::size_t processor, std::size_t product, std::uint64_t first,
                                                  std::uint64_t count) const;
  /// Reads one frame of a product that is a table.
  [[nodiscard]] std::vector<std::byte> read_table(std::size_t processor, std::size_t product,
                                                  std::uint64_t frame) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Opens a file whose first processor made images, or values at points of them. Throws what the constructor throws, and
/// DataError for other results.
ResultsReader open_images(const std::filesystem::path& path);

}  // namespace nearfield

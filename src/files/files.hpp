#pragma once
#include <complex>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/geometry.hpp"
#include "core/microphones.hpp"

/// Nearfield's HDF5 files: captures, time data, spectra, cross-spectra, images, calibrations and templates.
/// Recordings, which grow while the daemon runs, are in nfr_reader.hpp.
///
/// Every reader throws NoInputError when the file is missing or unreadable and DataError when it is not HDF5,
/// truncated, of another kind, or has a wrong dataset; the message names file, dataset, the value found and the value
/// expected. Sizes are checked before anything is allocated. Every writer writes `PATH.partial` and renames it in
/// finish(); it throws IoError when the folder is read-only, the disk is full or another program writes the same file,
/// and leaves nothing under the final name. An existing file under that name is replaced in finish() and not before; it
/// must be a regular file. A writer destroyed without finish() removes its partial file; those of images and results
/// keep it when it holds a frame.
namespace nearfield {

enum class FileKind { kCapture, kTimeData, kSpectra, kImages, kCalibration, kRecording, kCrossSpectra, kTemplates };
std::string_view name_of(FileKind kind);
/// Recognises a file by its content. Throws NoInputError or DataError.
FileKind detect_file_kind(const std::filesystem::path& path);
/// True if it begins like a time data format of other programs that is not HDF5: WAV, RF64, universal or MATLAB.
bool is_time_data_of_others(const std::filesystem::path& path);
/// True for a WAV file with a kind of samples that TimeDataReader does not read, such as mu-law. Throws NoInputError or
/// DataError.
bool is_wav_of_other_samples(const std::filesystem::path& path);

/// Bit-times that never arrived; they are stored as silence.
struct MissingRun {
  std::uint64_t first_bit_time = 0;
  std::uint64_t bit_times = 0;
};
/// Appends a run unless it is empty or `runs` is null; merges it with the last one if they touch.
inline void append_run(std::vector<MissingRun>* runs, std::uint64_t first, std::uint64_t count) {
  if (runs == nullptr || count == 0) {
    return;
  }
  if (!runs->empty() && runs->back().first_bit_time + runs->back().bit_times == first) {
    runs->back().bit_times += count;
  } else {
    runs->push_back({.first_bit_time = first, .bit_times = count});
  }
}

struct CaptureInfo {
  MeasurementGeometry measurement;
  WireLayout layout = WireLayout::kSoramaCam;
  double sample_rate_hz = kBitRateHz;
  std::int64_t start_time_ns = 0;
  std::uint64_t bit_times = 0;
  int words_per_bit_time = 0;
  std::uint64_t first_bit_time = 0;  ///< position in the source stream; attribute of /bitstream, if any
};

/// Positions and levels of the sources of a simulated capture. Written as /truth/{tracks, track_times_s,
/// band_centres_hz, band_mean_square_at_1m}; the attribute sources of /truth/tracks names them in words.
struct SourceTruth {
  std::vector<double> times_s;          ///< [t], from bit-time 0 on
  std::vector<double> positions_m;      ///< [t][source][x, y, z], at that time, not at that of emission
  std::vector<double> band_centres_hz;  ///< [band], exact centres of third octaves, IEC 61260-1, base 10
  /// Mean square pressure of each source alone at 1 m in the free field, [source][band], Pa^2; NaN where it is unknown
  /// or there is no such distance.
  std::vector<double> band_mean_square_pa2;
  std::string names;  ///< names of the sources in order, separated by commas

  [[nodiscard]] std::size_t sources() const {
    return band_centres_hz.empty() ? 0 : band_mean_square_pa2.size() / band_centres_hz.size();
  }
};

/// True fields of a simulated recording, never read by the pipeline; at z = 0 on the array's image_grid(). Phasors
/// e^{+jwt}, peak, referred to bit-time 0. Written as /truth/{frequencies_hz, pressure, normal_velocity,
/// aperture_pressure}, where there are frequencies.
struct Truth {
  std::vector<double> frequencies_hz;
  std::vector<std::complex<float>> pressure;           ///< at z = 0, [frequency][row][column], Pa; may be empty
  std::vector<std::complex<float>> normal_velocity;    ///< at z = 0, [frequency][row][column], m/s; may be empty
  std::vector<std::complex<float>> aperture_pressure;  ///< at the microphones, [frequency][row][column], Pa, or empty
  std::optional<SourceTruth> sources{};
};

/// Position of each frequency in a capture made with `encode --segment-per-frequency`. Written as
/// /segments/{first_bit_time uint64, bit_times uint64, frequencies_hz}.
struct Segments {
  std::vector<std::uint64_t> first_bit_time;
  std::vector<std::uint64_t> bit_times;
  std::vector<double> frequencies_hz;
};

class CaptureReader {
 public:
  explicit CaptureReader(const std::filesystem::path& path);
  ~CaptureReader();
  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  [[nodiscard]] const CaptureInfo& info() const;
  /// Reads bit-times [first, first + words.size() / words_per_bit_time) as [bit-time][word].
  void read(std::uint64_t first_bit_time, std::span<std::uint32_t> words) const;
  [[nodiscard]] std::optional<Truth> truth() const;
  [[nodiscard]] std::optional<Segments> segments() const;
  /// Runs of silence that stand for missing bits: /missing uint64 [run][2], first and number of bit-times, ascending.
  [[nodiscard]] std::vector<MissingRun> missing() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class CaptureWriter {
 public:
  /// `info.bit_times` is not used: the capture grows with append().
  CaptureWriter(const std::filesystem::path& path, const CaptureInfo& info);
  ~CaptureWriter();
  /// words [bit-time][word], whole bit-times.
  void append(std::span<const std::uint32_t> words);
  /// Truth and segments may be written once each, before or after the bits.
  void write_truth(const Truth& truth);
  void write_segments(const Segments& segments);
  /// Call it once, after the bits; the words of these runs must be silence.
  void write_missing(std::span<const MissingRun> runs);
  /// Throws DataError when nothing was appended.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Microphone positions that a file of time data states.
struct StatedPositions {
  std::vector<MicrophonePosition> positions_m = {};  ///< [channel], on the file's own axes; empty if not stated
  std::string flaw = {};  ///< reason why the stated positions are no array (positions_m is then empty), else empty
};

/// Selection of an input's channels in a given order: those that are microphones.
class ChannelChoice {
 public:
  /// `channels` empty: all `there` channels. Throws ConfigError, with the setting array.channels and the input's name,
  /// where a channel does not exist or is named twice.
  ChannelChoice(std::vector<int> channels, int there, const std::string& name);
  [[nodiscard]] int there() const { return there_; }
  [[nodiscard]] int count() const { return channels_.empty() ? there_ : static_cast<int>(channels_.size()); }
  /// Chosen channels; empty: all.
  [[nodiscard]] const std::vector<int>& channels() const { return channels_; }
  /// Reads from a sample on as [sample][chosen channel]; `read_all` reads from a sample as [sample][channel].
  using ReadAll = std::function<void(std::uint64_t first_sample, std::span<float> values)>;
  void read(std::uint64_t first_sample, std::span<float> values, const ReadAll& read_all) const;

 private:
  std::vector<int> channels_;
  int there_;
};

/// Reader of samples of all microphones over time, from Acoular's HDF5 (/time_data float32 [sample][channel], attribute
/// sample_freq), WAV and RF64, universal files (datasets 58 and 58b), MATLAB's files and recordings of samples:
/// docs/use/time_data.md. Files of any length are read piece by piece, except for compressed variables of MATLAB files
/// of level 5.
class TimeDataReader {
 public:
  /// `channels` are array.channels.
  explicit TimeDataReader(const std::filesystem::path& path, const std::vector<int>& channels = {});
  ~TimeDataReader();
  TimeDataReader(TimeDataReader&&) noexcept;
  TimeDataReader& operator=(TimeDataReader&&) noexcept;
  /// Name of the format, in words.
  [[nodiscard]] std::string format() const;
  /// Describes the interpretation where the header contradicts the content and only one reading is possible; else
  /// empty.
  [[nodiscard]] const std::string& note() const;
  [[nodiscard]] double sample_rate_hz() const;
  [[nodiscard]] std::uint64_t samples() const;
  /// Number of chosen channels.
  [[nodiscard]] int channels() const;
  /// The file's own number, from 0, of a chosen channel.
  [[nodiscard]] int channel_of_file(int channel) const;
  /// True if the file or its format defines the pascal per unit of its values. Otherwise read() gives the file's own
  /// values (integers as fractions of full scale) until set_pascal_per_unit().
  [[nodiscard]] bool states_pascal() const;
  void set_pascal_per_unit(double pascal_per_unit);
  /// Value of read() at full scale, where the samples are integers.
  [[nodiscard]] std::optional<double> full_scale() const;
  [[nodiscard]] const StatedPositions& positions() const;
  /// Reads samples [first, first + values.size() / channels()) as [sample][channel], Pa.
  void read(std::uint64_t first_sample, std::span<float> values) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes Acoular's time data piece by piece.
class TimeDataWriter {
 public:
  /// `unit` of the values: another one than Pa has to be set by who reads them.
  TimeDataWriter(const std::filesystem::path& path, double sample_rate_hz, const ArrayGeometry& geometry,
                 const std::string& unit = "Pa");
  ~TimeDataWriter();
  /// values [sample][channel], whole samples.
  void append(std::span<const float> values);
  /// Writes CaptureWriter's /truth; call it at most once.
  void write_truth(const Truth& truth);
  /// Throws DataError when nothing was appended.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes Acoular's time data in one go. `values` is [sample][channel], Pa.
void write_time_data(const std::filesystem::path& path, double sample_rate_hz, int channels,
                     std::span<const float> values);

struct SpectraFile {
  MeasurementGeometry measurement;
  std::uint64_t frames = 0;
  std::vector<double> frequencies_hz;
  std::vector<std::complex<float>> spectra;  ///< [frame][frequency][row][column], Pa peak
};
SpectraFile read_spectra(const std::filesystem::path& path);
void write_spectra(const std::filesystem::path& path, const SpectraFile& file, const std::optional<Truth>& truth = {});

/// Attributes format="nearfield-calibration", version=1; /gains complex [frequency][row][column], /frequencies_hz,
/// /geometry with rows, columns, pitch_x_m, pitch_y_m, and /relative_error and /coherence if known.
Calibration read_calibration(const std::filesystem::path& path);
void write_calibration(const std::filesystem::path& path, const Calibration& calibration);

/// A fact about a file, in readable text.
struct FileFact {
  std::string name;  ///< empty: continues the previous fact
  std::string text;
};
/// Facts of any of the files above, for `nearfield inspect`. `pascal_per_unit` is the setting for time data that do not
/// state their unit; `channels` is array.channels, the channels of time data to examine.
std::vector<FileFact> facts_of_file(const std::filesystem::path& path, std::optional<double> pascal_per_unit = {},
                                    const std::vector<int>& channels = {});
/// One fact per line after its name, with the facts aligned.
std::string text_of(const std::vector<FileFact>& facts);

/// Description of a file of cross-spectral matrices. Root attributes format="nearfield-cross-spectra", version=1; the
/// last four members are attributes of /csm, from which Acoular's PowerSpectraImport can be filled
/// (docs/use/cross_spectra.md).
struct CrossSpectraInfo {
  ArrayGeometry geometry;
  std::vector<double> frequencies_hz;  ///< ascending
  std::uint64_t snapshots = 0;         ///< number of averaged windows
  double sample_rate_hz = 0.0;         ///< rate of the samples in the windows
  std::int64_t window_samples = 0;
  std::int64_t step_samples = 0;  ///< distance between successive windows
};

/// Writes /csm complex64 [frequency][channel][channel], Pa^2, /frequencies_hz, /positions_m float64 [x, y, z][channel]
/// with z = 0 in the array's plane and z towards the sources, as in Acoular, and /geometry.
class CrossSpectraWriter {
 public:
  CrossSpectraWriter(const std::filesystem::path& path, const CrossSpectraInfo& info);
  ~CrossSpectraWriter();
  CrossSpectraWriter(const CrossSpectraWriter&) = delete;
  CrossSpectraWriter& operator=(const CrossSpectraWriter&) = delete;
  CrossSpectraWriter(CrossSpectraWriter&&) = delete;
  CrossSpectraWriter& operator=(CrossSpectraWriter&&) = delete;
  /// Appends the matrix [channel][channel] of the next frequency.
  void append(std::span<const std::complex<float>> matrix);
  /// Call it after one matrix per frequency.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct CrossSpectraFile {
  CrossSpectraInfo info;
  std::vector<std::complex<float>> matrices;  ///< [frequency][channel][channel], Pa^2
};
/// read_cross_spectra_info() reads the description only, read_cross_spectra() everything.
CrossSpectraInfo read_cross_spectra_info(const std::filesystem::path& path);
CrossSpectraFile read_cross_spectra(const std::filesystem::path& path);
/// Reads the diagonals, [frequency][channel], Pa^2, with one matrix in memory at a time.
std::vector<double> read_mean_squares(const std::filesystem::path& path);

/// /truth of a file of spectra, if it has one. Without its own frequencies it has those of the spectra. Throws as every
/// reader of files.hpp.
std::optional<Truth> read_spectra_truth(const std::filesystem::path& path);

/// HDF5: attributes format "nearfield-templates" and version 1, /geometry as in captures, /frequencies_hz, /positions_m
/// [template][3], /templates [frequency][template][channel], /coherence [frequency][template] and
/// /microphone_coherence [frequency][template][channel]. Throws IoError.
void write_templates(const std::filesystem::path& path, const Templates& templates);
/// Throws NoInputError, and DataError on any other file.
Templates read_templates(const std::filesystem::path& path);

/// Reads calibrations, templates and points (/points float64 [point][3], in m) from HDF5 files.
std::shared_ptr<const ArrayFiles> array_files_on_disk();

}  // namespace nearfield

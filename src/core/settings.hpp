#pragma once
#include <any>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "core/band.hpp"
#include "core/geometry.hpp"
#include "core/microphones.hpp"

namespace nearfield {

/// Structures of settings, at most one of each type. The owner need not know the types: a kind of stage keeps its own
/// settings in it. A structure that nobody has changed has its defaults.
class SettingsByType {
 public:
  template <class Own>
  [[nodiscard]] const Own& get() const {
    static const Own kDefaults;
    const auto found = values_.find(typeid(Own));
    return found == values_.end() ? kDefaults : *std::any_cast<Own>(&found->second);
  }
  /// The reference is valid until this object is assigned to or destroyed.
  template <class Own>
  [[nodiscard]] Own& edit() {
    std::any& value = values_[typeid(Own)];
    if (!value.has_value()) {
      value = Own();
    }
    return *std::any_cast<Own>(&value);
  }

 private:
  std::map<std::type_index, std::any> values_;
};

struct Contradiction;
/// Returns true for the keys whose value is final: no input file will change it.
using IsSettled = std::function<bool(std::string_view key)>;
struct Settings;
namespace schema {
class Section;
}

/// Settings specific to one kind of processor. Each kind derives its own, in src/processors/KIND/settings.hpp.
class KindSettings {
 public:
  KindSettings() = default;
  virtual ~KindSettings() = default;
  [[nodiscard]] virtual std::unique_ptr<KindSettings> copy() const = 0;
  /// Adds these settings to the description of all settings, bound to this object. A kind without settings adds none.
  virtual void describe(schema::Section& /*section*/) {}
  /// Adds the contradictions among keys that no input file will change; `path` is the dotted name of its section, with
  /// the final point.
  virtual void check(const Settings& /*settings*/, const std::string& /*path*/, const IsSettled& /*is_settled*/,
                     std::vector<Contradiction>& /*found*/) const {}
  /// Approximate size of a frame's products, for the memory check before a start; 0: negligible.
  [[nodiscard]] virtual double frame_bytes(const Settings& /*settings*/) const { return 0.0; }

 protected:
  KindSettings(const KindSettings&) = default;
  KindSettings& operator=(const KindSettings&) = default;
};

/// Selects spectra from a sliding DFT over hops; kAuto: when that is cheaper.
enum class Incremental { kAuto, kAlways, kNever };
enum class WindowKind { kHann, kNone };
/// Method that computes images from spectra: planar NAH in K-space, statistically optimised NAH, or a dense operator
/// per frequency.
enum class ImagerKind {
  kPnah,
  kSonah,
  kOperators,
  kAuto,  ///< see resolve_imager()
  kNone,  ///< no images: the levels of the microphones instead
};
/// Quantity of an image; docs/use/quantities.md has the formulas.
enum class Quantity { kPressure, kNormalVelocity, kDisplacement, kActiveIntensity };
inline constexpr std::array kQuantities = {Quantity::kPressure, Quantity::kNormalVelocity, Quantity::kDisplacement,
                                           Quantity::kActiveIntensity};
enum class Extrapolation { kPlpbp, kLpbp, kEdge, kZero };
enum class FilterKind { kCos, kTikhonov, kNone };

/// Source of the cut-off wavenumber of the `cos` filter.
enum class CutoffRule {
  kGiven,         ///< `FilterSettings::cutoff_rad_per_m`
  kDynamicRange,  ///< the wavenumber whose evanescent loss over the standoff equals `dynamic_range_db`
  kAuto,          ///< per frequency and frame, from the spectrum relative to the noise
  kSearch,        ///< per frequency, including the slope, every `search_every_frames` frames; kDynamicRange until then
};

/// Prior of the imager sonah (docs/how/sonah.md).
enum class FieldPrior {
  kAuto,               ///< per frequency the most probable one according to the search; the layer until then
  kLayer,              ///< sources spread over a layer as far behind the surface as the microphones are in front of it
  kDeepLayer,          ///< further behind it
  kPatches,            ///< small sources near the surface
  kBendingWaves,       ///< waves along the surface, three to five standoffs long
  kShortBendingWaves,  ///< two and a half to four standoffs long
};

std::string_view name_of(Incremental incremental);
std::string_view name_of(WindowKind kind);
std::string_view name_of(ImagerKind kind);
std::string_view name_of(Quantity quantity);
std::string_view name_of(Extrapolation method);
std::string_view name_of(FilterKind kind);
std::string_view name_of(FieldPrior prior);
/// True for the methods that predict from the measured pressures.
bool predicts(Extrapolation method);
/// SI unit of a quantity: "Pa", "m/s", "m", "W/m^2".
std::string_view unit_of(Quantity quantity);

/// Selects which microphones found bad are interpolated; the others are only reported.
enum class HealthMask {
  kCertain,  ///< fewer than one in a million healthy microphones is found so
  kAll,      ///< also those with evidence against them
  kNone
};
std::string_view name_of(HealthMask mask);

/// Monitoring of the microphones (docs/use/health.md).
struct HealthSettings {
  bool enabled = true;
  HealthMask mask = HealthMask::kCertain;
  std::vector<int> trusted_channels;  ///< row * columns + column; always used, whatever the monitor finds
};

/// Microphones used by a far-field processor, out of those that are not masked when it is created.
struct SubsetSettings {
  enum class Kind { kAll, kGrid, kSpiral, kRandom, kChannels };
  Kind kind = Kind::kAll;
  int rows = 0;                    ///< kGrid only
  int columns = 0;                 ///< kGrid only
  int count = 0;                   ///< kSpiral and kRandom only
  std::vector<int> channels = {};  ///< kChannels only: ascending, each once
  friend bool operator==(const SubsetSettings&, const SubsetSettings&) = default;
};

struct ArraySettings {
  std::string preset;              ///< name of an array that can be bought; empty: none
  std::string positions_path;      ///< file of microphone positions, from which `geometry` is made; empty: a grid
  std::optional<AxesOfFile> axes;  ///< axes of that file, or of positions that an input states; empty: the format's own
  std::vector<int> channels;       ///< channels of an input of samples, in the order of the microphones; empty: all
  ArrayGeometry geometry;
  WireLayout layout = WireLayout::kSoramaCam;
  double sensitivity_dbfs = -26.0;
  std::optional<double> pascal_per_unit;  ///< for files of samples that do not state it
  std::vector<int> dead_channels;         ///< row * columns + column
  std::string calibration_path;           ///< empty: none
  double fewest_valid_share = 0.5;        ///< minimum usable share of all microphones; with fewer, a run does not start
  SubsetSettings subset;
  double clock_hz = kBitRateHz;  ///< bit clock; for live samples their rate times front_end.decimation
  HealthSettings health;
};

/// Message, as found and expected, if `valid` microphones are too few; empty if they are enough.
std::string flaw_of_valid(const ArraySettings& array, int valid);

struct MediumSettings {
  double sound_speed_m_s = 343.0;
  double density_kg_m3 = 1.2041;
};

struct FrontEndSettings {
  std::string kind = "popcount";  ///< a name of schema::front_end_kinds()
  WindowKind window = WindowKind::kHann;
  int decimation = 32;
  int window_samples = 1024;
  int hop_samples = 32;
  std::vector<double> frequencies_hz = {1007.08, 2014.16};
  std::vector<Band> bands_hz;           ///< each imaged as the mean square over its bins
  std::vector<double> octave_hz;        ///< centres of further bands, see bands_of()
  std::vector<double> third_octave_hz;  ///< likewise
  Weighting weighting = Weighting::kZ;  ///< frequency weighting of bands
  bool remove_dc =
      true;  ///< fits and removes each window's constant, so that an offset does not leak into low frequencies
  Incremental incremental = Incremental::kAuto;
  SettingsByType own;  ///< settings specific to a kind, each in src/frontend/KIND/settings.hpp
};

/// A processor's own front end as overrides of FrontEndSettings; an empty value means no change.
struct FrontEndOverrides {
  std::optional<decltype(FrontEndSettings::kind)> kind;
  std::optional<WindowKind> window;
  std::optional<int> window_samples;
  std::optional<std::vector<double>> frequencies_hz;
  std::optional<int> popcount_order;
  /// True if the processor has a front end of its own.
  [[nodiscard]] bool any() const { return kind || window || window_samples || frequencies_hz || popcount_order; }
};

/// A processor in addition to the one that HolographySettings sets up.
struct ProcessorSettings {
  ProcessorSettings() = default;
  ProcessorSettings(const ProcessorSettings& other)
      : name(other.name),
        kind(other.kind),
        every_hops(other.every_hops),
        device(other.device),
        front_end(other.front_end),
        own(other.own ? other.own->copy() : nullptr) {}
  ProcessorSettings& operator=(const ProcessorSettings& other) {
    *this = ProcessorSettings(other);
    return *this;
  }
  ProcessorSettings(ProcessorSettings&&) noexcept = default;
  ProcessorSettings& operator=(ProcessorSettings&&) noexcept = default;
  ~ProcessorSettings() = default;

  std::string name;                   ///< the key of its section; used in file and socket names
  std::string kind;                   ///< a name of schema::processor_kinds()
  int every_hops = 1;                 ///< cadence in hops
  std::optional<std::string> device;  ///< the processor's device, as for the option --device; empty: the run's device
  FrontEndOverrides front_end;        ///< overrides for spectra that differ from those of the run's front end
  std::unique_ptr<KindSettings> own;  ///< null if the kind is unknown
};

/// Bins first to end - 1 of the window; bin b has the frequency b times sample rate over window samples.
struct BinRange {
  std::size_t first = 0;
  std::size_t end = 0;
};
/// The bins in a band, excluding 0 and half the sample rate and above.
BinRange bins_of(const Band& band, const FrontEndSettings& front_end, double sample_rate_hz);

struct ExtrapolationSettings {
  Extrapolation method = Extrapolation::kPlpbp;
  int order = 8;        ///< order of the predictor; at most the line's length - 2 is used
  double factor = 3.0;  ///< padded side relative to measured side
  friend bool operator==(const ExtrapolationSettings&, const ExtrapolationSettings&) = default;
};

struct FilterSettings {
  FilterKind kind = FilterKind::kCos;
  CutoffRule cutoff_rule = CutoffRule::kAuto;
  std::vector<double> cutoff_rad_per_m;  ///< one for all frequencies, or one per frequency
  double dynamic_range_db = 30.0;
  double slope = 0.1;  ///< phi
  double tikhonov_lambda = 1e-3;
  friend bool operator==(const FilterSettings&, const FilterSettings&) = default;
};

/// A rigid or partly absorbing plane y = y_m, in which every source has an image source.
struct WallSettings {
  std::optional<double> y_m;  ///< empty: there is no wall
  double reflection = 1.0;    ///< reflection factor of pressure; 1: rigid, -1: pressure-release
};

/// Treatment of waves from behind the array.
enum class Behind : std::uint8_t {
  kAuto,      ///< kSeparate where microphones in several planes tell them apart, else kIgnore
  kSeparate,  ///< they have a prior of their own, and images
  kIgnore,    ///< they are imaged as if the surface had made them
};
std::string_view name_of(Behind behind);

/// The prior of the imager `operators` (docs/how/operators.md).
struct OperatorSettings {
  /// Share of the prior's power at the microphones that the modes omit. No setting: it lies below the least noise that
  /// is looked for, 1e-7, and a smaller one only adds modes.
  static constexpr double kModesTolerance = 1e-8;
  std::optional<double> source_depth_m;  ///< depth of a sheet of sources below the surface; empty: a fraction of the
                                         ///< standoff
  std::string sources_path;              ///< positions of sources that replace the sheet; empty: none
  std::string templates_path;            ///< measured transfer functions from sources that replace the sheet; empty:
                                         ///< none
  WallSettings wall;
  Behind behind = Behind::kAuto;
};

struct HolographySettings {
  ImagerKind imager = ImagerKind::kAuto;
  FieldPrior prior = FieldPrior::kAuto;  ///< for the imager sonah
  double standoff_m = 0.03;
  std::vector<double> planes_m = {0.0};
  std::string surface_path = {};  ///< file of a surface that is imaged in place of planes; empty: none
  Quantity quantity = Quantity::kPressure;
  int upsample = 1;
  int search_every_frames = 1000;       ///< interval of computations too slow for every frame; 0: never
  std::vector<PlanePoint> points = {};  ///< positions whose values replay writes in addition to the images
  ExtrapolationSettings extrapolation = {};
  FilterSettings filter = {};
  OperatorSettings operators = {};
};

struct DeviceSettings {
  std::string platform = "auto";  ///< "auto" prefers a GPU; else part of a platform's name
  int index = 0;                  ///< among the devices that match
  int batch = 1;                  ///< frames computed together
  std::string fft = "auto";       ///< "auto" | "clfft" | "fused": the transforms of the imager pnah
};

struct DaemonSettings;  // core/daemon_settings.hpp

/// Section `daemon` of a configuration. A value behind a pointer: a change of DaemonSettings compiles again only what
/// includes it.
class DaemonSection {
 public:
  DaemonSection();
  DaemonSection(const DaemonSection& other);
  DaemonSection(DaemonSection&& other) noexcept;
  DaemonSection& operator=(const DaemonSection& other);
  DaemonSection& operator=(DaemonSection&& other) noexcept;
  ~DaemonSection();
  [[nodiscard]] DaemonSettings& operator*() { return *value_; }
  [[nodiscard]] const DaemonSettings& operator*() const { return *value_; }
  [[nodiscard]] DaemonSettings* operator->() & { return value_.get(); }
  [[nodiscard]] const DaemonSettings* operator->() const& { return value_.get(); }
  void operator->() const&& = delete;  ///< a member of a temporary would outlive it in a range-based for

 private:
  std::unique_ptr<DaemonSettings> value_;
};

/// All settings of a run.
struct Settings {
  ArraySettings array;
  MediumSettings medium;
  FrontEndSettings front_end;
  HolographySettings holography;              ///< first processor
  std::vector<ProcessorSettings> processors;  ///< additional processors
  DeviceSettings device;
  DaemonSection daemon;
  std::set<std::string> explicit_keys;  ///< dotted names of the keys that the user gave, such as "array.rows"
};

/// Range of clock rates of one-bit microphones; each delivers a bit per clock period.
inline constexpr double kSlowestClock_hz = 1e6;
inline constexpr double kFastestClock_hz = 6.144e6;

/// Range of lengths in settings and files, m: floating point can square and divide them safely.
inline constexpr double kShortestLengthM = 1e-6;
inline constexpr double kLongestLengthM = 100.0;

}  // namespace nearfield

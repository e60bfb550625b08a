#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace nearfield {

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

}  // namespace nearfield

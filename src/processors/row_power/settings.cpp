#include "config/schema/processor_kinds.hpp"

namespace nearfield {
namespace {

/// Has no settings.
class RowPowerSettings : public KindSettings {
 public:
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override {
    return std::make_unique<RowPowerSettings>(*this);
  }
};

}  // namespace

namespace schema {

ProcessorKind row_power_kind() {
  return {.name = "row_power",
          .meaning =
              "mean square of the pressure over each row of microphones: the worked example of "
              "docs/how/add_a_processor.md",
          .make = []() -> std::unique_ptr<KindSettings> { return std::make_unique<RowPowerSettings>(); }};
}

}  // namespace schema
}  // namespace nearfield

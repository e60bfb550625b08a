#include "control/service/printable_lines.hpp"

#include <spdlog/pattern_formatter.h>

#include <string_view>

#include "core/text.hpp"

namespace nearfield::control {
namespace {

class PrintableMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& line) override {
    const std::string text =
        printable(std::string_view(message.payload.data(), message.payload.size()), LineEnds::kKept);
    line.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PrintableMessage>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> printable_lines(const std::string& pattern) {
  constexpr char kFlag = '*';
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PrintableMessage>(kFlag).set_pattern(pattern + "%*");
  return formatter;
}

}  // namespace nearfield::control

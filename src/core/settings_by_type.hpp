#pragma once
#include <any>
#include <map>
#include <typeindex>

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

}  // namespace nearfield

#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cl/device.hpp"

namespace nearfield::ocl {

/// Which of several ways to one result is the fastest on a device: only a measurement says so, and two measurements may
/// differ, as may the last bits of what two ways compute.
struct ChoiceQuestion {
  std::string stage;                          ///< whose ways these are, such as "front_end/dot_product"
  std::span<const std::string_view> kernels;  ///< files that the ways run, such as "imaging/sonah.cl"
  Defines sizes = {};                         ///< what else their times depend on
  std::vector<std::string> ways;              ///< their names, all different
  std::size_t by_rule = 0;                    ///< the way where no choice can be measured or kept
};

enum class ChoiceOrigin {
  kMeasured,    ///< here and now
  kRemembered,  ///< in this process before, or by any process, on disk
  kRule         ///< every way failed when it was measured, or no choice could be kept
};

struct Choice {
  std::size_t way = 0;  ///< of the question's ways
  ChoiceOrigin origin = ChoiceOrigin::kRule;
};

/// Runs the ways of a question and returns the number of the fastest; nothing where every one of them fails.
using Measurement = std::function<std::optional<std::size_t>()>;

/// Where choices are kept: the folder `choices` of cache_folder(); empty where that is off.
std::filesystem::path choices_folder();

/// Where the choice of this question lies in choices_folder().
std::filesystem::path choice_file(const Device& device, const ChoiceQuestion& question);

/// The one choice for all threads of this process and all processes of this user on this machine: what was chosen
/// before, else what `measure` finds. Where several processes measure at once, the first one to store its choice
/// decides for all. Where the folder cannot be used nothing is measured, and it is the question's rule; so processes
/// agree there too. It is also the rule, for this process, where every way fails or where the file cannot be written,
/// as on a full disk: nothing is stored then, so that the next process measures again. Threads wait here for each
/// other, so that no two measure at once. A file that is damaged or names none of the ways is reported and replaced.
Choice choose_once(const Device& device, const ChoiceQuestion& question, const Measurement& measure);

}  // namespace nearfield::ocl

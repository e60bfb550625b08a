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

/// A choice of the fastest of several implementations on a device: only a measurement can tell, and two measurements
/// may differ, as may the last bits of the results.
struct ChoiceQuestion {
  std::string stage;                          ///< the stage with the choice, such as "front_end/dot_product"
  std::span<const std::string_view> kernels;  ///< files that the implementations run, such as "imaging/sonah.cl"
  Defines sizes = {};                         ///< other parameters that their times depend on
  std::vector<std::string> ways;              ///< their names, all different
  std::size_t by_rule = 0;                    ///< the default if no choice can be measured or kept
};

enum class ChoiceOrigin {
  kMeasured,    ///< measured now
  kRemembered,  ///< earlier in this process, or by any process, on disk
  kRule         ///< every way failed when it was measured, or no choice could be kept
};

struct Choice {
  std::size_t way = 0;  ///< index into the question's ways
  ChoiceOrigin origin = ChoiceOrigin::kRule;
};

/// Runs the ways of a question and returns the index of the fastest; empty if all of them fail.
using Measurement = std::function<std::optional<std::size_t>()>;

/// The folder `choices` of cache_folder(); empty if that is off.
std::filesystem::path choices_folder();

/// Path in choices_folder() of the choice for this question.
std::filesystem::path choice_file(const Device& device, const ChoiceQuestion& question);

/// The one choice for all threads of this process and all processes of this user on this machine: an earlier choice,
/// else the result of `measure`. If several processes measure at once, the first one to store its choice decides for
/// all. If the folder cannot be used, nothing is measured and the question's rule applies, so that processes agree in
/// that case too. The rule also applies, for this process, if every way fails or the file cannot be written, as on a
/// full disk: nothing is stored then, so that the next process measures again. Threads wait here for each other, so
/// that no two measure at once. A file that is damaged or names none of the ways is reported and replaced.
Choice choose_once(const Device& device, const ChoiceQuestion& question, const Measurement& measure);

}  // namespace nearfield::ocl

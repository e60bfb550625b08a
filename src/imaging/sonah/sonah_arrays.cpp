#include "imaging/sonah/sonah_arrays.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace nearfield {
namespace {

constexpr int kSlotBlock = 32;
constexpr std::size_t kListStarts = 8;
/// Modes with less prior power relative to a microphone count as noise alone.
constexpr double kNoiseMode = 3e-8;
/// Modes with a smaller part of an image's energy are left out: 1000 of them are an error of 1e-4.
constexpr double kNegligiblePart = 1e-11;
constexpr std::size_t kPairParts = 6;  ///< parts of a square array's list

int whole_blocks(std::size_t count, int block) { return (static_cast<int>(count) + block - 1) / block; }

/// Positions (row, column) of `side` rows and columns with row <= column, in the kernels' order, as indices among all
/// positions.
std::vector<int> triangle_places(int side) {
  std::vector<int> places;
  for (int column = 0; column < side; ++column) {
    for (int row = 0; row <= column; ++row) {
      places.push_back(row * side + column);
    }
  }
  return places;
}

std::vector<int> all_places(int count) {
  std::vector<int> places(static_cast<std::size_t>(count));
  for (int place = 0; place < count; ++place) {
    places[static_cast<std::size_t>(place)] = place;
  }
  return places;
}

/// Swaps row and column of each position.
std::vector<int> changed(std::vector<int> places, int side) {
  for (int& place : places) {
    place = place % side * side + place / side;
  }
  return places;
}

/// ln of the determinant of the measurement's covariance for each step of noise. Modes that a class lacks, because the
/// array has an odd number of rows or columns, do not count.
void append_log_sums(std::vector<float>& to, const SonahModel& model, int channels) {
  for (int step = 0; step < kNoiseSteps; ++step) {
    const double noise = noise_step(step);
    double sum = 0.0;
    int modes = 0;
    for (const Eigen::VectorXd& powers : model.powers) {
      for (const double power : powers) {
        sum += std::log(power + noise);
        ++modes;
      }
    }
    to.push_back(static_cast<float>(sum - (modes - channels) * std::log(noise)));
  }
}

/// Expected squared error of an image of the first plane for prior power 1, as published.
void append_errors(std::vector<float>& to, const SonahModel& model, double calibration) {
  for (int step = 0; step < kNoiseSteps; ++step) {
    double error = model.prior_powers.front();
    for (int parity = 0; parity < kParities; ++parity) {
      const std::size_t c = static_cast<std::size_t>(parity);
      error -= (model.image_powers.front()[c].array() / (model.powers[c].array() + noise_step(step))).sum();
    }
    to.push_back(static_cast<float>(calibration * calibration * std::max(error, 0.0)));
  }
}

/// Largest expected share of a mode in the energy of an image of any plane, at the noise for which it contributes most.
std::array<Eigen::ArrayXd, kParities> parts_of_images(const SonahModel& model) {
  std::array<Eigen::ArrayXd, kParities> parts;
  for (std::size_t plane = 0; plane < model.images.size(); ++plane) {
    std::array<Eigen::ArrayXd, kParities> energies;
    double sum = 0.0;
    for (std::size_t c = 0; c < parts.size(); ++c) {
      energies[c] = model.image_powers[plane][c].array() / (model.powers[c].array() + noise_step(0));
      sum += energies[c].sum();
    }
    for (std::size_t c = 0; c < parts.size(); ++c) {
      const Eigen::ArrayXd of_plane = energies[c] / sum;
      parts[c] = plane == 0 ? of_plane : parts[c].max(of_plane);
    }
  }
  return parts;
}

}  // namespace

SonahArrays::SonahArrays(const ImagePlan& plan)
    : square(is_square(plan.geometry)), on_surface_(plan.surface != nullptr) {}

void SonahArrays::reserve(const ImagePlan& plan, std::span<const SonahModel> models, SonahRoom& room) {
  const SonahArrays of_plan(plan);
  room.rows.resize(models.size(), 0);
  for (std::size_t f = 0; f < models.size(); ++f) {
    int count = 0;
    for (const Fold& part : of_plan.list_of(models[f], of_plan.folds_of(models[f]))) {
      count += static_cast<int>(part.members.size());
    }
    room.rows[f] = std::max(room.rows[f], count);
    room.kept = std::max(room.kept, count);
  }
}

SonahSlice SonahArrays::slice_of(std::size_t frequency, std::size_t values) const {
  const std::size_t count = values / frequencies_;
  return {.from = (frequency - first_frequency_) * count, .to = frequency * count, .count = count};
}

SonahSlice SonahArrays::factors_of(std::size_t frequency, std::size_t plane) const {
  const std::size_t values_a_row =
      2 * static_cast<std::size_t>(cut_.pixel_lanes) * static_cast<std::size_t>(pixel_blocks);
  const std::size_t first_row = first_rows_[first_frequency_];
  const std::size_t own_rows = first_rows_[first_frequency_ + frequencies_] - first_row;
  return {.from = (plane * own_rows + first_rows_[frequency] - first_row) * values_a_row,
          .to = (plane * first_rows_.back() + first_rows_[frequency]) * values_a_row,
          .count = static_cast<std::size_t>(room_.rows[frequency]) * values_a_row};
}

SonahArrays::SonahArrays(const ImagePlan& plan, std::span<const SonahModel> models, const SonahCut& cut, SonahRoom room,
                         std::size_t first_frequency)
    : SonahArrays(plan) {
  cut_ = cut;
  room_ = std::move(room);
  first_frequency_ = first_frequency;
  frequencies_ = models.size();
  first_rows_.push_back(0);
  for (const int rows_of_frequency : room_.rows) {
    first_rows_.push_back(first_rows_.back() + static_cast<std::size_t>(rows_of_frequency));
  }
  rows = static_cast<int>(first_rows_.back());
  kept = room_.kept;
  const SonahModel& first = models.front();
  modes = kSlotBlock * whole_blocks(static_cast<std::size_t>(first.samples), kSlotBlock);
  const int pixels = first.pixel_rows * first.pixel_columns;
  const bool halves_pixels = square && !on_surface_;
  pixel_blocks = whole_blocks(
      halves_pixels ? triangle_places(first.pixel_rows).size() : static_cast<std::size_t>(pixels), cut.pixel_lanes);
  for (const Fold& fold : folds_of(first)) {
    mode_parts += whole_blocks(static_cast<std::size_t>(whole_blocks(fold.members.size(), kSlotBlock)),
                               square && fold.parity == 1 ? cut.pair_part_blocks : cut.part_blocks);
  }
  std::vector<std::vector<Fold>> lists;
  for (const SonahModel& model : models) {
    lists.push_back(list_of(model, folds_of(model)));
  }
  for (int step = 0; step < kNoiseSteps; ++step) {
    noises.push_back(static_cast<float>(noise_step(step)));
  }
  for (std::size_t f = 0; f < models.size(); ++f) {
    add_slots(models[f], folds_of(models[f]));
    add_list(models[f], first_frequency_ + f, lists[f]);
    append_log_sums(log_sums, models[f], plan.geometry.channels());
    append_errors(errors, models[f], plan.error_calibration());
    cutoffs.insert(cutoffs.end(), models[f].cutoffs_rad_per_m.begin(), models[f].cutoffs_rad_per_m.end());
  }
  const std::size_t planes = first.images.size();
  const SonahSlice last = factors_of(first_frequency_ + models.size() - 1, planes - 1);
  factors.reserve(last.from + last.count);
  for (std::size_t plane = 0; plane < planes; ++plane) {
    for (std::size_t f = 0; f < models.size(); ++f) {
      add_factors(models[f], plane, lists[f]);
      const SonahSlice place = factors_of(first_frequency_ + f, plane);
      factors.resize(place.from + place.count, 0.0F);
    }
  }
}

std::vector<SonahArrays::Fold> SonahArrays::folds_of(const SonahModel& model) const {
  std::vector<Fold> folds;
  for (int parity = 0; parity < kParities; ++parity) {
    if (square && parity == 2) {  // equals that of class 1
      continue;
    }
    const bool is_halved = square && parity != 1;
    for (const int sign : is_halved ? std::vector<int>{1, -1} : std::vector<int>{0}) {
      Fold fold{.parity = parity, .members = {}};
      for (int mode = 0; mode < model.samples; ++mode) {
        if (!is_halved || model.transposed[static_cast<std::size_t>(parity)][static_cast<std::size_t>(mode)] == sign) {
          fold.members.push_back(mode);
        }
      }
      folds.push_back(std::move(fold));
    }
  }
  if (square) {  // in the kernels' order: classes 0, 3, then 1 and 2 together
    std::swap(folds[2], folds[3]);
    std::swap(folds[3], folds[4]);
  }
  return folds;
}

void SonahArrays::add_slots(const SonahModel& model, const std::vector<Fold>& folds) {
  const int side = (static_cast<int>(std::lround(std::sqrt(model.samples))));
  const std::vector<int> half = square ? triangle_places(side) : std::vector<int>();
  const std::vector<int> whole = all_places(model.samples);
  for (const Fold& fold : folds) {
    const auto c = static_cast<std::size_t>(fold.parity);
    const bool is_halved = square && fold.parity != 1;
    const int count = static_cast<int>(fold.members.size());
    const auto value_at = [&](int place, int mode) {
      const float value = model.projections[c].at(place, mode);
      // A position on the diagonal is its own partner, and counted twice when a field is folded.
      return is_halved && place % side == place / side ? 0.5F * value : value;
    };
    for (int first = 0; first < count; first += kSlotBlock) {
      for (int slot = first; slot < first + kSlotBlock; ++slot) {
        const bool is_mode = slot < count;
        const int mode = is_mode ? fold.members[static_cast<std::size_t>(slot)] : 0;
        const double power = is_mode ? model.powers[c](mode) : 0.0;
        slot_modes.push_back(is_mode ? fold.parity * modes + mode : -1);
        slot_powers.push_back(power >= kNoiseMode ? static_cast<float>(power) : 0.0F);
      }
      for (const int place : is_halved ? half : whole) {
        for (int slot = first; slot < first + kSlotBlock; ++slot) {
          projections.push_back(slot < count ? value_at(place, fold.members[static_cast<std::size_t>(slot)]) : 0.0F);
        }
      }
    }
  }
}

std::vector<SonahArrays::Fold> SonahArrays::list_of(const SonahModel& model, const std::vector<Fold>& folds) const {
  const std::array<Eigen::ArrayXd, kParities> part_of_images = parts_of_images(model);
  const auto contributing = [&](Fold fold) {
    std::erase_if(fold.members, [&](int mode) {
      return part_of_images[static_cast<std::size_t>(fold.parity)](mode) < kNegligiblePart;
    });
    return fold;
  };
  std::vector<Fold> list;
  if (on_surface_) {
    for (int parity = 0; parity < kParities; ++parity) {
      list.push_back(contributing({.parity = parity, .members = all_places(model.samples)}));
    }
    return list;
  }
  for (const Fold& fold : folds) {
    list.push_back(contributing(fold));
  }
  if (square) {
    list.push_back({.parity = 2, .members = list.back().members});
  }
  return list;
}

void SonahArrays::add_list(const SonahModel& model, std::size_t frequency, const std::vector<Fold>& list) {
  std::array<std::int32_t, kListStarts> places{};
  std::int32_t count = 0;
  const std::size_t first = list_modes.size();
  for (std::size_t part = 0; part < list.size(); ++part) {
    const auto c = static_cast<std::size_t>(list[part].parity);
    places.at(part) = on_surface_ ? 0 : count;
    for (const int mode : list[part].members) {
      list_modes.push_back(list[part].parity * modes + mode);
      list_powers.push_back(static_cast<float>(model.powers[c](mode)));
      image_powers.push_back(static_cast<float>(model.image_powers.front()[c](mode)));
      ++count;
    }
  }
  places.at(on_surface_ ? 1 : list.size()) = count;
  places.back() = static_cast<std::int32_t>(first_rows_[frequency]);
  starts.insert(starts.end(), places.begin(), places.end());
  list_modes.resize(first + static_cast<std::size_t>(kept), 0);
  list_powers.resize(list_modes.size(), 1.0F);
  image_powers.resize(list_modes.size(), 0.0F);
}

void SonahArrays::add_factors(const SonahModel& model, std::size_t plane, const std::vector<Fold>& list) {
  const bool is_halved = square && !on_surface_;
  const std::vector<int> places =
      is_halved ? triangle_places(model.pixel_rows) : all_places(model.pixel_rows * model.pixel_columns);
  const std::vector<int> partners = is_halved ? changed(places, model.pixel_rows) : std::vector<int>();
  const auto lanes = static_cast<std::size_t>(cut_.pixel_lanes);
  for (std::size_t first = 0; first < places.size(); first += lanes) {
    for (std::size_t part = 0; part < list.size(); ++part) {
      // The last part of a square array's list is the modes of class 1 at the partners.
      const bool is_partner = is_halved && part + 1 == kPairParts;
      const ClassFactors<std::complex<float>>& images =
          model.images[plane][static_cast<std::size_t>(is_partner ? 1 : list[part].parity)];
      for (const int mode : list[part].members) {
        for (const bool is_imaginary : {false, true}) {
          for (std::size_t pixel = first; pixel < first + lanes; ++pixel) {
            const std::complex<float> value =
                pixel < places.size() ? images.at(is_partner ? partners[pixel] : places[pixel], mode) : 0.0F;
            factors.push_back(is_imaginary ? value.imag() : value.real());
          }
        }
      }
    }
  }
}

}  // namespace nearfield

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bench/fidelity/fidelity_tables.hpp"
#include "nearfield/metrics.hpp"
#include "simulate/fields.hpp"

namespace nearfield::bench {
namespace {

bool has_part(const FidelityReport& report, std::string_view part) {
  return std::any_of(report.results.begin(), report.results.end(),
                     [&](const FieldResult& result) { return result.part == part; });
}

std::string picture_line(const std::string& title, const std::string& name) {
  return fmt::format("![{}](pictures/fidelity/{})\n", title, name);
}

std::string pictures_of(const FidelityReport& report, std::string_view part) {
  std::string plots;
  std::string pictures;
  for (const FieldResult& result : report.results) {
    if (result.part != part) {
      continue;
    }
    const std::vector<std::size_t> frequencies = pictured_frequencies(report, result);
    for (const std::size_t f : frequencies) {
      pictures += picture_line(fmt::format("{}: truth, images, errors", result.field.name), picture_of(result, f));
    }
    if (!frequencies.empty()) {
      plots += picture_line(fmt::format("{}: over the cut-off", result.field.name), plot_of(result));
    }
  }
  return plots + "\n" + pictures + "\n";
}

std::string lambda_line(const std::vector<Case>& cases) {
  std::string text = "Best lambda of `tikhonov`, case by case:";
  for (const Case& one : cases) {
    const FidelityRow* row = one.result->row(main_extrapolation(), kBestLambda);
    if (row == nullptr) {
      return "";
    }
    text += fmt::format(" {:.0e}", row->lambda[one.frequency]);
  }
  return text + ".\n\n";
}

/// What a file's frequency suffers from: NCC of the magnitudes alone, and with the conjugate of the truth.
Line phase_cells(const FieldResult& result, std::size_t frequency) {
  Values truth = known_truth(result.field, frequency);
  Values found = where_true(result.field, chosen_row(result).first_image[frequency]);
  Values conjugate = truth;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    conjugate[i] = std::conj(truth[i]);
  }
  const double of_conjugate = compare_images(conjugate, found).ncc;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    truth[i] = std::abs(truth[i]);
    found[i] = std::abs(found[i]);
  }
  return {number(compare_images(truth, found).ncc, 2), number(of_conjugate, 2)};
}

/// NCC of a row at a frequency, with its cut-off and slope where it has some.
std::string ncc_cell(const FidelityRow& row, std::size_t frequency, double longest_rad_per_m) {
  const double cutoff = row.cutoff_rad_per_m[frequency];
  std::string ncc = number(row.figures[frequency].mean.ncc, 3);
  if (!std::isfinite(cutoff)) {
    return ncc;
  }
  return fmt::format("{} ({:.0f} / {:.2g}{})", ncc, cutoff, row.slope[frequency],
                     cutoff < longest_rad_per_m ? ", flat" : "");
}

/// NCC of every frequency, the default extrapolation.
std::string ncc_section(const FieldResult& result) {
  Line head = {"Hz", "k [rad/m]"};
  std::vector<const FidelityRow*> rows;
  for (const FidelityRow& row : result.rows) {
    if (row.is_main()) {
      rows.push_back(&row);
      head.push_back(bold_if(row.is_default, row.filter));
    }
  }
  head.insert(head.end(), {"magnitudes", "conjugate"});
  const ArrayGeometry& geometry = result.field.geometry;
  const double side_m = std::max(geometry.rows * geometry.pitch_y_m, geometry.columns * geometry.pitch_x_m);
  std::vector<Line> lines;
  for (std::size_t f = 0; f < result.field.frequencies_hz.size(); ++f) {
    const Tonal tonal{result.field.frequencies_hz[f], result.field.medium};
    Line line = {fmt::format("{:.1f}", tonal.frequency_hz), number(tonal.wavenumber_rad_per_m(), 1)};
    for (const FidelityRow* row : rows) {
      line.push_back(ncc_cell(*row, f, 2.0 * std::numbers::pi / side_m));
    }
    const Line phase = phase_cells(result, f);
    line.insert(line.end(), phase.begin(), phase.end());
    lines.push_back(std::move(line));
  }
  return fmt::format(
             "NCC by frequency over {} points (cut-off / slope; *flat*: the cut-off's wave is longer than the array, "
             "so "
             "that nothing is resolved).\n*Magnitudes*: NCC of |image| and |truth| with `{}`; where it is high and the "
             "NCC "
             "is low, the phases disagree. *Conjugate*: NCC\nwith the truth's conjugate; where it is above the NCC, "
             "the "
             "truth's phases run the other way round than the pressure's.\n\n",
             result.field.points.size(), chosen_row(result).filter) +
         table(head, lines);
}

std::string file_section(const FieldResult& result) {
  const ArrayGeometry& geometry = result.field.geometry;
  std::vector<Line> lines;
  for (const FidelityRow& row : result.rows) {
    std::vector<double> ncc;
    std::vector<double> nmse_db;
    for (const MeanFigures& figures : row.figures) {
      ncc.push_back(figures.mean.ncc);
      nmse_db.push_back(figures.mean.nmse_db);
    }
    const double lowest = *std::min_element(ncc.begin(), ncc.end());
    lines.push_back({row.extrapolation, bold_if(row.is_default, row.filter), number(median(ncc), 3), number(lowest, 3),
                     number(median(nmse_db), 1), number(median(row.cutoff_rad_per_m), 0)});
  }
  std::string text =
      fmt::format("### {}\n\n{} x {} microphones, {:.1f} x {:.1f} mm apart, {:.1f} mm before the surface, {} {}.\n\n",
                  result.field.name, geometry.rows, geometry.columns, 1e3 * geometry.pitch_x_m,
                  1e3 * geometry.pitch_y_m, 1e3 * result.field.standoff_m, result.field.frequencies_hz.size(),
                  result.field.frequencies_hz.size() > 1 ? "frequencies" : "frequency");
  text += table({"extrapolation", "filter", "NCC, median", "lowest", "NMSE [dB], median", "cut-off [rad/m], median"},
                lines);
  text += result.field.points.empty() ? "" : ncc_section(result);
  return text;
}

}  // namespace

std::string cases_section(const FidelityReport& report) {
  if (!has_part(report, kCasesPart)) {
    return "";
  }
  std::string text = fmt::format(
      "## Eight cases, 3 cm\n\n"
      "32 x 32 microphones 2 cm apart, 3 cm before the surface: a monopole 3 cm behind it at (0.013, -0.021) m, one at "
      "(0.26, 0.19) m,\nand a pattern sin(2 pi x / 0.27 m + 0.7) sin(2 pi y / 0.35 m + 0.4) without end; pressure, "
      "e^{{+jwt}}. White complex noise, the ratio over\nthe mean power of the aperture; means over {} draws, the same "
      "for every row. Relative L2 in per cent.\n\n",
      report.draws);
  for (const double snr_db : ratios_of(report, kCasesPart)) {
    const std::vector<Case> cases = cases_of(report, kCasesPart, snr_db, 0.03);
    text += fmt::format("### {:.0f} dB\n\n", snr_db) + error_table(cases);
    text += "Means over these cases:\n\n" + summary_table(cases);
    text += fmt::format("Cut-off [rad/m] / slope, error [%] (ratio to the best fixed cut-off), `{}`:\n\n",
                        main_extrapolation());
    text += cutoff_table(cases) + lambda_line(cases);
  }
  return text + pictures_of(report, kCasesPart);
}

std::string standoffs_section(const FidelityReport& report) {
  if (!has_part(report, kStandoffsPart)) {
    return "";
  }
  std::string text =
      fmt::format("## The same at other standoffs\n\nRelative L2 in per cent, the default extrapolation, {} draws.\n\n",
                  report.draws);
  for (const double standoff_m : standoffs_of(report, kStandoffsPart)) {
    for (const double snr_db : ratios_of(report, kStandoffsPart)) {
      text += fmt::format("### {:.0f} cm, {:.0f} dB\n\n", 100.0 * standoff_m, snr_db) +
              error_table(cases_of(report, kStandoffsPart, snr_db, standoff_m));
    }
  }
  return text;
}

std::string scenes_section(const FidelityReport& report) {
  if (!has_part(report, kScenesPart)) {
    return "";
  }
  std::string text = fmt::format(
      "## Pistons and plates\n\n"
      "The scenes of `config/scenes` with their exact fields on the surface: Schoch's line integral for pistons, "
      "Rayleigh's integral for plates,\nto 1e-9. Exact pressure at the microphones with noise, {} draws, the default "
      "extrapolation. Relative L2 in per cent / NCC. A piston's velocity\njumps at its rim, and one of 1 to 1.25 cm "
      "lies between microphones 2 cm apart: no image with a cut-off below pi over the pitch\ncan show it. *D1* to "
      "*D4* stand for the thesis's datasets.\n\n",
      report.draws);
  for (const double snr_db : ratios_of(report, kScenesPart)) {
    std::vector<Line> lines;
    Line head = {"scene", "quantity"};
    for (const FieldResult& result : report.results) {
      if (result.part != kScenesPart || result.snr_db != snr_db) {
        continue;
      }
      for (std::size_t f = 0; f < result.field.frequencies_hz.size(); ++f) {
        Line line = {Case{&result, f}.name(), std::string(name_of(result.field.quantity))};
        for (const FidelityRow& row : result.rows) {
          const Figures& figures = row.figures[f].mean;
          line.push_back(
              bold_if(row.is_default, fmt::format("{} / {:.3f}", percent(figures.relative_l2), figures.ncc)));
          if (lines.empty()) {
            head.push_back(row.filter);
          }
        }
        lines.push_back(std::move(line));
      }
    }
    text += fmt::format("### {:.0f} dB\n\n", snr_db) + table(head, lines);
  }
  return text;
}

std::string bits_section(const FidelityReport& report) {
  if (!has_part(report, kBitsPart)) {
    return "";
  }
  std::string text = fmt::format(
      "## From bits\n\n"
      "The eight cases through fourth-order modulators, all frequencies of a source at once, each at -32 dBFS rms over "
      "the aperture, microphone\nnoise that gives the ratio in a spectrum; `popcount` of order 1, one hann window of "
      "1024 words; {} draws. Relative L2 in per cent from bits / from\nspectra ({} draws), and their ratio.\n\n",
      report.bit_draws, report.draws);
  for (const double snr_db : ratios_of(report, kBitsPart)) {
    const std::vector<Case> bits = cases_of(report, kBitsPart, snr_db, 0.03);
    const std::vector<Case> spectra = cases_of(report, kCasesPart, snr_db, 0.03);
    Line head = {"filter"};
    std::vector<Line> lines;
    for (const Case& one : bits) {
      head.push_back(one.name());
    }
    for (const FidelityRow& row : bits.front().result->rows) {
      Line line = {bold_if(row.is_default, row.filter)};
      for (std::size_t i = 0; i < bits.size(); ++i) {
        const auto error = [&](const Case& one) {
          return one.result->row(row.extrapolation, row.filter)->figures[one.frequency].mean.relative_l2;
        };
        line.push_back(fmt::format("{} / {}, {:.2f}", percent(error(bits[i])), percent(error(spectra[i])),
                                   error(bits[i]) / error(spectra[i])));
      }
      lines.push_back(std::move(line));
    }
    text += fmt::format("### {:.0f} dB\n\n", snr_db) + table(head, lines);
  }
  return text;
}

std::string data_section(const FidelityReport& report) {
  if (!has_part(report, kDataPart)) {
    return "";
  }
  std::string text =
      "## Files with a truth\n\n"
      "Normal velocity against the one that was computed or measured on the surface, as the files come: no noise is "
      "added. NCC over the\npixels that lie on the body, or over the measured points (images bilinear between pixels). "
      "*Best one for all*: the cut-off with the best\nmedian, of the default extrapolation also the slope. In pictures "
      "the image has the complex factor that brings it closest to the truth.\n\n";
  for (const FieldResult& result : report.results) {
    text += result.part == kDataPart ? file_section(result) : "";
  }
  return text + pictures_of(report, kDataPart);
}

}  // namespace nearfield::bench

#pragma once
#include <Eigen/Dense>

namespace nearfield::history {

/// Combinations of snapshots that contain the sources but not the microphones' own noise: with S = pressures * result,
/// S S^H is the matrix of cross-spectra minus the noise. pressures (microphone, snapshot); result (snapshot, signal),
/// without columns if there is only noise.
///
/// Factor analysis (Joereskog, Psychometrika 32, 1967, by principal factors): where D holds the noise's powers, D^-1/2
/// X X^H D^-1/2 / T has an eigenvalue above those of noise for each signal, and D is what the signals leave of the
/// diagonal. Both are found alternately, with one more signal each time, so that a loud microphone is not taken for
/// one.
Eigen::MatrixXcd signals_of(const Eigen::MatrixXcd& pressures);

}  // namespace nearfield::history

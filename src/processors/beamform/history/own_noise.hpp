#pragma once
#include <Eigen/Dense>

namespace nearfield::history {

/// Combinations of snapshots that have what sources make of them and no noise of the microphones' own: with S =
/// pressures * result, S S^H is the matrix of cross-spectra less the noise. pressures (microphone, snapshot); result
/// (snapshot, signal), without columns where there is noise alone.
///
/// Factor analysis (Joereskog, Psychometrika 32, 1967, by principal factors): where D holds the noise's powers, D^-1/2
/// X X^H D^-1/2 / T has an eigenvalue above those of noise for each signal, and D is what the signals leave of the
/// diagonal. Both are found in turns, with one signal more in each, so that a loud microphone is none.
Eigen::MatrixXcd signals_of(const Eigen::MatrixXcd& pressures);

}  // namespace nearfield::history

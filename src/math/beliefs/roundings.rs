//! How wrong can a float be after a number of roundings?
//!
//! The standard model of mathematics 8: u = 2^-53, and N roundings on one path are a relative error of at most
//! gamma_N = N u / (1 - N u). Bounds here are rounded up.

/// The unit roundoff 2^-53.
pub const UNIT: f64 = f64::EPSILON / 2.0;

/// An upper bound of gamma_N; infinite if the model gives no useful bound.
pub fn relative_error(roundings: u64) -> f64 {
    // N u <= 2^-10 makes gamma_N <= 1.001 N u; the rest of the factor covers the rounding of this product.
    if roundings < 1 << 43 { 1.002 * UNIT * roundings as f64 } else { f64::INFINITY }
}

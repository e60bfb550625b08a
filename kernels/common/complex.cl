// Complex arithmetic on float2 (x = real part, y = imaginary part), and on parts that lie apart, of any vector width.

// Real and imaginary part of a product.
#define PRODUCT_RE(a_re, a_im, b_re, b_im) ((a_re) * (b_re) - (a_im) * (b_im))
#define PRODUCT_IM(a_re, a_im, b_re, b_im) ((a_re) * (b_im) + (a_im) * (b_re))

// Squared magnitude. Not dot() of float2, of which Intel's OpenCL for processors compiles two in a loop wrongly (docs/decisions/0038).
static float squared_magnitude(const float2 a) { return a.x * a.x + a.y * a.y; }

static float2 complex_multiply(float2 a, float2 b) {
  return (float2)(PRODUCT_RE(a.x, a.y, b.x, b.y), PRODUCT_IM(a.x, a.y, b.x, b.y));
}

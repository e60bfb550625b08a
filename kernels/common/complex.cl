// Complex arithmetic on float2 (x = real part, y = imaginary part).

static float2 complex_multiply(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

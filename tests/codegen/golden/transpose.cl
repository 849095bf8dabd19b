// k0_mul [50, 40, 3] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#define T float
#define W 16
#include "fused/transpose.clh"

__kernel void k0_mul(
    __global const float *p0, __global float *p1, int n0, int n1, int n2)
{
    RANGE(int, task, n2, 1) {
        int row = task / n2;
        int first = task % n2 * 16;
        int rows = LIVE(n1 - first, 16);
        for (int i1 = 0; i1 < n0; i1 += 16) {
            int live = LIVE(n0 - i1, 16);
            float16 tile0[16];
            for (int r = 0; r < 16; ++r)
                tile0[r] = vload16(0, p0 + first + min(i1 + r, n0 - 1) * n1);
            transpose(tile0);
            for (int k = 0; k < rows; ++k) {
                int i0 = first + k;
                float16 v1 = tile0[k];
                put(p1 + i0 * n0 + i1, (v1 * 2.0f), live);
            }
        }
    }
}

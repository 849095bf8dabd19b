// k0_sum [8, 131072, 1048576, 8192] x 8
// k1_sum [8] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "lib/reduce.clh"

__kernel void k0_sum(
    __global const float *p0, __global float *p1, int n0, int n1, int n2, int n3)
{
    RANGE(int, task, n0, 1) {
        int row = task / n0;
        int begin = task % n0 * n1;
        int end = min(n2, begin + n1);
        float16 v1 = 0.0f;
        for (int block = begin; block < end; block += n3) {
            float16 v1b = 0.0f;
            int stop = min(end, block + n3);
            for (int i0 = block; i0 < stop; i0 += 16) {
                int live = LIVE(stop - i0, 16);
                float16 v3 = vload16(0, p0 + i0);
                float16 v2 = (lanes16() < (int16)(live)) ? (v3 * v3) : (float16)(0.0f);
                v1b = v1b + v2;
            }
            v1 = v1 + v1b;
        }
        float v4 = across_sum(v1);
        p1[task] = v4;
    }
}

__kernel void k1_sum(
    __global float *p0, __global float *p1, int n0)
{
    RANGE(int, row, 1, 1) {
        float v1 = 0.0f;
        for (int part = 0; part < n0; ++part) {
            float v2 = p0[row * n0 + part];
            v1 = v1 + v2;
        }
        p1[0] = v1;
    }
}

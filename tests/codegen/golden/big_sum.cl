// k0_sum [8, 131072, 1048576, 8192, 8] x 8
// k1_sum [8] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "lib/reduce.clh"

__kernel void k0_sum(
    __global const float *p0, __global float *p1, int n_splits, int n_part, int n0, int n_block,
    int n_tasks)
{
    RANGE(int, task, n_tasks, 1) {
        int row = task / n_splits;
        int begin = task % n_splits * n_part;
        int end = min(n0, begin + n_part);
        float16 v1 = 0.0f;
        for (int block = begin; block < end; block += n_block) {
            float16 v1b = 0.0f;
            int stop = min(end, block + n_block);
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
    __global float *p0, __global float *p1, int n_splits)
{
    RANGE(int, row, 1, 1) {
        float v1 = 0.0f;
        for (int part = 0; part < n_splits; ++part) {
            float v2 = p0[row * n_splits + part];
            v1 = v1 + v2;
        }
        p1[0] = v1;
    }
}

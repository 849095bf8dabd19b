// k0_sum [5000, 5, 1000, 40, 48, 256, 5] x 5
// k1_sum [48, 5, 40] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"

__kernel void k0_sum(
    __global const float *p0, __global float *p1, int n_rows, int n_splits, int n_part, int n1,
    int n_padded, int n_block_rows, int n_tasks)
{
    RANGE(int, task, n_tasks, 1) {
        int q_begin = task % n_splits * n_part;
        int q_end = min(n_rows, q_begin + n_part);
        int rest = task / n_splits;
        int begin = 0;
        int end = n1;
        int row = rest;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 a0_tot = 0.0f;
            float16 a0;
            for (int block = q_begin; block < q_end; block += n_block_rows) {
                a0 = 0.0f;
                int stop = min(q_end, block + n_block_rows);
                for (int q = block; q < stop; ++q) {
                    int i0 = q;
                    float16 v2 = vload16(0, p0 + i0 * n1 + i1);
                    float16 v1 = v2;
                    a0 = a0 + v1;
                }
                a0_tot = a0_tot + a0;
            }
            a0 = a0_tot;
            vstore16(a0, 0, p1 + task * n_padded + i1);
        }
    }
}

__kernel void k1_sum(
    __global float *p0, __global float *p1, int n_padded, int n_splits, int n1)
{
    RANGE(int, task, 1, 1) {
        int begin = 0;
        int end = n1;
        int row = task;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            float16 a0 = 0.0f;
            for (int part = 0; part < n_splits; ++part) {
                float16 a0x = vload16(0, p0 + (task * n_splits + part) * n_padded + i1);
                a0 = a0 + a0x;
            }
            put(p1 + i1, a0, live);
        }
    }
}

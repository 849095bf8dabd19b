// k0_mean [300, 8, 38, 4000, 4000, 8] x 8
// k1_mean [4000, 8, 4000, 300.0] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"

__kernel void k0_mean(
    __global const float *p0, __global float *p1, int n_rows, int n_splits, int n_part, int n1,
    int n_padded, int n_tasks)
{
    RANGE(int, task, n_tasks, 1) {
        int q_begin = task % n_splits * n_part;
        int q_end = min(n_rows, q_begin + n_part);
        int rest = task / n_splits;
        int begin = 0;
        int end = n1;
        int row = rest;
        __global float *a0_tot = p1 + task * n_padded;
        for (int i1 = begin; i1 < end; i1 += 16) {
            int live = LIVE(end - i1, 16);
            vstore16((float16)(0.0f), 0, a0_tot + i1);
        }
        for (int q = q_begin; q < q_end; ++q) {
            int i0 = q;
            for (int i1 = begin; i1 < end; i1 += 16) {
                int live = LIVE(end - i1, 16);
                float16 v2 = vload16(0, p0 + i0 * n1 + i1);
                float16 v1 = v2;
                float16 a0 = vload16(0, a0_tot + i1);
                a0 = a0 + v1;
                vstore16(a0, 0, a0_tot + i1);
            }
        }
    }
}

__kernel void k1_mean(
    __global float *p0, __global float *p1, int n_padded, int n_splits, int n1, float x0)
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
            put(p1 + i1, (a0 / (float16)(x0)), live);
        }
    }
}

// y[i] = a normal random number * scale + shift: the initial value of a variable.
//
//   state   key and call number, of tfnb/runtime/resources.py:RandomStates
//   y       n floats
//
// truncated_values draws again what lies beyond two standard deviations, by the inverse of the distribution function.
// One work-item per group. The numbers are those of the code that is generated for RandomStandardNormal and
// TruncatedNormal (tfnb/ops/random/uniform_normal.py).

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#define T float
#define W 16
#include "lib/math.clh"
#define W 16
#include "lib/philox.clh"
#pragma OPENCL FP_CONTRACT OFF // as in generated code

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void normal_values(
    __global const uint *state, __global float *y, int n, float scale, float shift)
{
    uint key0 = state[0], key1 = state[1], call = state[2];
    RANGE(int, i, n, 16) {
        int live = LIVE(i_end - i, 16);
        uint16 words[4];
        philox_4x32(key0, key1, convert_uint16(lane_index16(i, live)), (uint16)(call), words);
        float16 radius = sqrt(t_log((convert_float16(words[0]) + 1.0f) * 2.3283064e-10f) * -2.0f);
        float16 x = radius * t_cos(convert_float16(words[1] >> 8) * 5.9604645e-08f * 6.2831855f);
        put(y + i, x * scale + shift, live);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void truncated_values(
    __global const uint *state, __global float *y, int n, float scale, float shift)
{
    uint key0 = state[0], key1 = state[1], call = state[2];
    RANGE(int, i, n, 16) {
        int live = LIVE(i_end - i, 16);
        uint16 words[4];
        philox_4x32(key0, key1, convert_uint16(lane_index16(i, live)), (uint16)(call), words);
        float16 u = (convert_float16(words[0] >> 9) + 0.5f) * 1.1920929e-07f;
        put(y + i, t_erfinv((u * 2.0f - 1.0f) * 0.9544997f) * 1.4142135f * scale + shift, live);
    }
}

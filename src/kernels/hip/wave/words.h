// The words of the hardware that kernels use, by the vendor that this file is compiled for. Only amd/ and nvidia/ name
// instructions. Each of them has:
//
//   block_index(), thread_index()        of the running work item; blocks have one axis
//   uniform(value)                       a value that is the same for all lanes of the wavefront, which the compiler
//                                        learns
//   barrier()                            all threads of the block reach it, and see what the others wrote to LDS before
//                                        it
//   wave_barrier()                       the same for the lanes of a wavefront
//   scheduling_barrier()                 the compiler moves no instruction across it
//   late_argument(argument, offset)      the argument, which lies `offset` bytes into the kernel's arguments, loaded at
//                                        the call
//   forget_origin(value)                 the compiler takes the value for a new one, and computes nothing from how it
//                                        came to be
//   computed(value)                      computes an offset here; the compiler would otherwise branch around that
//   of_lane(value, lane)                 the value of one lane, the same for all of them
//   exchange_bits<distance, is_uniform>  the bits of the lane whose number differs in the bit `distance`; is_uniform:
//                                        lanes that differ in lower bits hold the same
//   exchange_bits_in_row<distance>       the same for a distance below 16, whatever the others hold
//   upper_halves(first, second)          of two words, those of the first low
//   fast_power_of_two(exponent)          within some units of the last place
//   atomic_add, atomic_load, atomic_replace(element, found, replacement)
//                                        on an element of 32 or 64 bits that other threads of the launch change
#pragma once

#ifdef __NVPTX__
#include "kernels/hip/nvidia/words.h"
#else
#include "kernels/hip/amd/words.h"
#endif

// SPDX-License-Identifier: Apache-2.0
//! As inlined.cpp: `outer` has `middle` inlined, and that `inner`. Prints "ready" and runs for ever.

/// std::hint::black_box() came with Rust 1.66, and Debian 12 has 1.63.
#[inline(always)]
fn black_box(n: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&n) }
}

#[inline(always)]
fn inner(mut value: u64) -> u64 {
    for _ in 0..1000 {
        value = black_box(value.wrapping_mul(6364136223846793005)); // line of inner
    }
    value
}

#[inline(always)]
fn middle(value: u64) -> u64 {
    inner(value ^ 1) // line of middle
}

#[inline(never)]
fn outer(count: u32, mut sum: u64) -> u64 {
    for _ in 0..count {
        sum = middle(sum); // line of outer
    }
    sum
}

fn main() {
    let mut sum = 1;

    println!("ready");
    loop {
        sum = black_box(outer(1000, sum)); // line of main
    }
}

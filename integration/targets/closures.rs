// SPDX-License-Identifier: Apache-2.0
//! Rust: closures, iterators, and a panic that is caught.
//!
//! chain: START main ANY{1,6} (.*closures.*main.*) > (.*outer.*) ANY*
use std::io::Write;
use std::panic;

/// std::hint::black_box() came with Rust 1.66, and Debian 12 has 1.63.
#[inline(always)]
fn black_box(n: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&n) }
}

#[inline(never)]
fn leaf(n: u64) -> u64 {
    (0..black_box(50)).fold(n, |sum, i| black_box(sum ^ i))
}

#[inline(never)]
fn call(function: &dyn Fn(u64) -> u64, n: u64) -> u64 {
    function(n) + 1
}

#[inline(never)]
fn outer(n: u64) -> u64 {
    let offset = black_box(n);
    let mut sum: u64 = (0..20).map(|i| call(&|x| leaf(x + offset), i)).sum();
    if n % 64 == 0 {
        sum += panic::catch_unwind(|| -> u64 { panic!("caught") }).unwrap_or(1);
    }
    black_box(sum & 0xff)
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut n = 0;
    loop {
        n = outer(n) + 1;
    }
}

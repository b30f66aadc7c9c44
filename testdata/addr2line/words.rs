// SPDX-License-Identifier: Apache-2.0
// Generic functions and closures, and much of the library inlined.
use std::collections::HashMap;

struct Box2<T>(T);

fn twice(x: u64) -> u64 {
    x.wrapping_mul(2)
}

#[inline(always)]
fn inner(x: u64) -> u64 {
    twice(x) ^ 3
}

impl<T: Copy + Into<u64>> Box2<T> {
    fn get(&self) -> u64 {
        inner(self.0.into())
    }
}

fn main() {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for word in std::env::args() {
        *counts.entry(word.clone()).or_insert(0) += Box2(word.len() as u32).get();
    }
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(word, count)| (word.len() as u64) ^ **count);
    println!("{:?}", sorted);
}

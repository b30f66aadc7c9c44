// SPDX-License-Identifier: Apache-2.0
//! Rust: futures that await futures, polled by hand. What is walked is the physical stack.
//!
//! chain: START main ANY{1,6} (.*async.*main.*) > (.*drive.*) ANY*
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

#[inline(always)]
fn black_box(n: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&n) }
}

#[inline(never)]
fn leaf(n: u64) -> u64 {
    (0..black_box(50)).fold(n, |sum, i| black_box(sum ^ i))
}

struct Pause(bool);

impl Future for Pause {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        Poll::Pending
    }
}

async fn inner(n: u64) -> u64 {
    let first = leaf(n);
    Pause(false).await;
    first + leaf(n)
}

async fn outer(n: u64) -> u64 {
    inner(n).await + inner(n + 1).await
}

fn waker() -> Waker {
    fn clone(_: *const ()) -> RawWaker {
        RawWaker::new(std::ptr::null(), &TABLE)
    }
    fn nothing(_: *const ()) {}
    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, nothing, nothing, nothing);
    unsafe { Waker::from_raw(clone(std::ptr::null())) }
}

#[inline(never)]
fn drive(n: u64) -> u64 {
    let waker = waker();
    let mut context = Context::from_waker(&waker);
    let mut future: Pin<Box<dyn Future<Output = u64>>> = Box::pin(outer(n));
    loop {
        if let Poll::Ready(sum) = future.as_mut().poll(&mut context) {
            return sum;
        }
    }
}

fn main() {
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut n = 0;
    loop {
        n = black_box(drive(n) & 0xff);
    }
}

// SPDX-License-Identifier: BSD-2-Clause
use std::collections::HashMap;
use std::io::BufRead;

static mut CALLS: u64 = 0;

#[inline(never)]
fn checksum(data: &[u8]) -> u32 {
    unsafe { CALLS += 1 };
    let mut crc: u32 = !0;
    for &byte in data {
        crc ^= byte as u32;
        for _ in 0..8 {
            crc = if crc & 1 != 0 { crc >> 1 ^ 0xedb88320 } else { crc >> 1 };
        }
    }
    !crc
}

#[inline(never)]
fn score(words: &[String], rounds: usize) -> u64 {
    let mut sum = 0u64;
    for round in 0..rounds {
        for word in words {
            sum = sum.rotate_left(7) ^ checksum(word.as_bytes()) as u64 * (round as u64 + 1);
        }
    }
    sum
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10);
    let mut counts: HashMap<String, usize> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        for word in line.unwrap().split(' ') {
            *counts.entry(word.to_string()).or_insert(0) += 1;
        }
    }
    let mut words: Vec<String> = counts.keys().cloned().collect();
    words.sort();
    let bad = std::panic::catch_unwind(|| score(&[], 1) / words.len().wrapping_sub(words.len()) as u64);
    // Entered again and again: what is entered once may meet any version of it.
    let total = (0..rounds).fold(0u64, |sum, _| sum.wrapping_add(score(&words, 2)));
    println!("{} {} {}", words.len(), bad.is_err(), total);
    println!("{}", unsafe { CALLS });
}

//! How much memory may growing data use?
//!
//! Only what grows with the table is accounted for: a stage reserves bytes before using them, and a
//! reservation frees itself. A stage that is refused spills, takes a smaller piece, or stops with
//! [`Error::Memory`]. The program itself, its stacks and the decoders' working memory are covered by the
//! fixed allowance [`ALLOWANCE`], in addition to the budget.

use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a run may use in addition to the budget: code, stacks, one decoder and one encoder per thread.
pub const ALLOWANCE: u64 = 48 << 20;

/// The bytes that all growing structures of a run may hold together.
#[derive(Debug)]
pub struct Budget {
    total: u64,
    used: AtomicU64,
}

/// Bytes reserved from a [`Budget`], returned on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    /// A budget of `total` bytes.
    pub fn new(total: u64) -> Arc<Self> {
        Arc::new(Budget { total, used: AtomicU64::new(0) })
    }

    /// The whole budget in bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The bytes that are not reserved.
    pub fn free(&self) -> u64 {
        self.total.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// Reserves `bytes`; `None` if they are not available.
    pub fn try_reserve(self: &Arc<Self>, bytes: u64) -> Option<Reservation> {
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= self.total)
        });
        taken.ok().map(|_| Reservation { budget: self.clone(), bytes })
    }

    /// Reserves `bytes`, or fails with the smallest budget that would be enough.
    pub fn reserve(self: &Arc<Self>, stage: &'static str, bytes: u64) -> Result<Reservation> {
        self.try_reserve(bytes).ok_or_else(|| Error::Memory {
            stage,
            needed: self.used.load(Ordering::Relaxed).saturating_add(bytes),
            budget: self.total,
        })
    }
}

impl Reservation {
    /// The number of bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A reservation of nothing, of the same budget.
    pub fn none(&self) -> Reservation {
        Reservation { budget: self.budget.clone(), bytes: 0 }
    }

    /// Adds what another reservation of the same budget holds.
    pub fn join(&mut self, mut other: Reservation) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Changes the held amount to `bytes`; an error leaves it as it was.
    pub fn resize(&mut self, stage: &'static str, bytes: u64) -> Result<()> {
        if bytes > self.bytes {
            self.join(self.budget.reserve(stage, bytes - self.bytes)?);
        } else {
            self.budget.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            self.bytes = bytes;
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Reads `1GiB`, `256MiB`, `512MB`, `64k` or a plain number of bytes; `None` for anything else.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// The peak resident memory of this process so far, if the system reports it.
pub fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Returns freed memory to the system, between phases that run on different threads: the allocator would keep
/// it for threads that no longer exist, and the peak would count it twice.
pub fn release_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: malloc_trim takes no pointer and may be called at any time by any thread.
        unsafe { malloc_trim(0) };
    }
}

/// Makes the allocator of the process keep little of what is freed; for a program with this budget, before it starts
/// threads. Large blocks return to the system at once, and few threads have a heap of their own, of which at most 4 MiB stay
/// free at its end.
pub fn keep_little_freed(budget: u64) {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    // Two threads grow nodes while a third one writes groups: with two heaps, those that happen to share one would wait
    // for each other. But each heap keeps some MiB between what is in use.
    let heaps = (threads as u64 / 4).clamp(3, 64).min(budget / BUDGET_PER_HEAP).max(1);
    tell_allocator(AllocatorSetting::MostHeaps, heaps as i32);
    tell_allocator(AllocatorSetting::LeastMapped, 1 << 20);
    // Less would return the buffers of every batch, only to ask for them again.
    tell_allocator(AllocatorSetting::MostFreeAtEnd, 4 << 20);
}

const BUDGET_PER_HEAP: u64 = 64 << 20;

/// What can be set, by its number in `malloc.h`.
#[derive(Debug, Clone, Copy)]
enum AllocatorSetting {
    MostFreeAtEnd = -1,
    LeastMapped = -3,
    MostHeaps = -8,
}

fn tell_allocator(setting: AllocatorSetting, value: i32) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        // SAFETY: mallopt takes no pointer, takes a lock of its own, and accepts any value of these parameters.
        unsafe { mallopt(setting as i32, value) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = (setting, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_free_themselves_and_never_exceed_the_budget() {
        let budget = Budget::new(100);
        let mut first = budget.reserve("test", 60).unwrap();
        assert!(budget.try_reserve(41).is_none());
        assert!(matches!(budget.reserve("test", 41), Err(Error::Memory { needed: 101, .. })));
        assert!(first.resize("test", 101).is_err());
        first.resize("test", 10).unwrap();
        let second = budget.try_reserve(90).unwrap();
        assert_eq!(budget.free(), 0);
        drop((first, second));
        assert_eq!(budget.free(), 100);
    }

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [("1GiB", Some(1 << 30)), ("512 MB", Some(512_000_000)), ("7", Some(7))] {
            assert_eq!(parse_size(text), bytes);
        }
        for bad in ["", "GiB", "-1", "1.5GiB", "1XB", "99999999999999999999"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }
}

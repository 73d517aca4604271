//! On which machine were the results measured?

use serde::{Deserialize, Serialize};

/// What a measured time depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor, if the system reports it.
    pub processor: Option<String>,
    /// Number of processors that this process may use.
    pub cores: usize,
    /// Bytes of memory, if the system reports it.
    pub memory_bytes: Option<u64>,
    /// Operating system and architecture.
    pub system: String,
    /// Version of skyveil.
    pub skyveil: String,
    /// `release`, or `debug`, whose times mean nothing.
    pub build: String,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let field = |file: &str, name: &str| {
            let text = std::fs::read_to_string(file).ok()?;
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_string())
        };
        let kilobytes = |text: String| text.split(' ').next()?.parse::<u64>().ok();
        Machine {
            processor: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: field("/proc/meminfo", "MemTotal")
                .and_then(kilobytes)
                .map(|kilobytes| kilobytes << 10),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            skyveil: env!("CARGO_PKG_VERSION").to_string(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_string(),
        }
    }

    /// The machine on one line.
    pub fn shown(&self) -> String {
        let processor = self.processor.as_deref().unwrap_or("unknown processor");
        let memory = self.memory_bytes.map_or(String::new(), |bytes| {
            format!(", {:.1} GiB of memory", bytes as f64 / f64::from(1 << 30))
        });
        format!(
            "{processor}, {} cores{memory}, {}, skyveil {} ({} build)",
            self.cores, self.system, self.skyveil, self.build
        )
    }
}

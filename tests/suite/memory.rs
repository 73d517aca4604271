//! Peak resident memory of the command on tables that grow where a program likes to forget it: at most the budget and
//! the fixed allowance. Small tables here; `scripts/measure-memory.sh` measures the same shapes at full size.

use crate::support::{Folder, binary};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// What a run may use besides its budget.
const ALLOWANCE: u64 = 48 * MIB;

/// What a process used, and how it ended.
struct Measured {
    peak: u64,
    code: Option<i32>,
    printed: String,
}

/// Runs a process to its end and follows its high-water mark, which can only grow: at most the growth of the last
/// millisecond is missed. (What `wait` reports also contains the memory of the parent, before the program is loaded.)
fn measure(command: &mut Command) -> Measured {
    let (reader, writer) = std::io::pipe().unwrap();
    command.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
    let program = Path::new(command.get_program()).file_name().unwrap().to_string_lossy();
    // The kernel cuts longer names.
    let program = program.chars().take(15).collect::<String>();
    let mut child = command.spawn().unwrap();
    // The command holds the ends for writing.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let text = std::thread::spawn(move || std::io::read_to_string(reader).unwrap_or_default());
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        let now = std::fs::read_to_string(&status).unwrap_or_default();
        // Until the program is loaded, the memory is still that of the parent.
        let loaded = now.lines().next().is_some_and(|line| line.ends_with(&program));
        let mark = now.lines().filter(|_| loaded).find_map(|line| line.strip_prefix("VmHWM:"));
        let mark = mark.and_then(|mark| mark.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        peak = peak.max(mark.unwrap_or(0) * 1024);
        std::thread::sleep(Duration::from_millis(1));
    };
    Measured { peak, code: ended.code(), printed: text.join().unwrap() }
}

/// How large the tables of a case are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Large,
}

impl Size {
    fn pick(self, small: usize, large: usize) -> usize {
        if self == Size::Small { small } else { large }
    }
}

/// What a command must do.
#[derive(Clone, Copy)]
enum Expected {
    /// It does its work: a release, a verdict or a report.
    Works,
    /// It refuses the input with a message that contains this text.
    Refuses(&'static str),
}
use Expected::{Refuses, Works};

/// A table, and commands that must stay within their memory on it.
struct Case {
    name: &'static str,
    /// Writes the table and the policy; returns nothing, the names are fixed.
    make: fn(&Path, Size),
    /// The budget for small tables and for large ones, in MiB.
    memory: [u64; 2],
    commands: &'static [(&'static str, Expected)],
}

const ANONYMIZE: (&str, Expected) = ("anonymize t --policy p.toml --out r --temp .", Works);
const CHECK: (&str, Expected) = ("check r", Works);
const REPORT: (&str, Expected) = ("report r --out r.html", Works);
/// Of the table itself, whose rows are in no order.
const REPORT_TABLE: (&str, Expected) = ("report t --group q --sensitive s --out t.html", Works);
const REPORT_SETS: (&str, Expected) =
    ("report t --group q --sensitive s --values set --out t.html --memory 512MiB", Works);
const CHECK_SETS: (&str, Expected) =
    ("check t --group q --sensitive s --values set --point 0,1,0,0.9", Works);
/// Needs 60 MiB for its counters.
const INIT: (&str, Expected) = ("init t --out q.toml --memory 96MiB", Works);

/// All cases. A command without a budget of its own gets that of the case.
const CASES: &[Case] = &[
    Case {
        name: "many sensitive values",
        make: many_values,
        memory: [32, 64],
        commands: &[
            ("report t --group q --sensitive s --out t.html --memory 16MiB", Refuses("sensitive value")),
            ("report t --group q --sensitive s --out t.html --memory 512MiB", Works),
            ("check t --group q --sensitive s --point 0,1,0,0.9 --memory 128MiB", Works),
            ("anonymize t --policy p.toml --out r --temp . --memory 16MiB", Refuses("of memory")),
            ("anonymize t --policy p.toml --out r --temp . --memory 512MiB", Works),
        ],
    },
    Case {
        name: "many protected values",
        make: many_protected,
        memory: [64, 160],
        commands: &[
            ("anonymize t --policy p.toml --out r --temp . --memory 32MiB", Refuses("of memory")),
            ANONYMIZE,
            REPORT,
            CHECK,
            ("check r --memory 1MiB", Refuses("of memory")),
        ],
    },
    Case {
        name: "lists of 1,000 values",
        make: lists,
        memory: [64, 64],
        commands: &[ANONYMIZE, REPORT, CHECK, INIT],
    },
    Case {
        name: "scattered lists",
        make: scattered_lists,
        memory: [32, 64],
        commands: &[REPORT_SETS, CHECK_SETS],
    },
    Case {
        name: "one row group",
        make: one_row_group,
        memory: [32, 64],
        commands: &[ANONYMIZE, REPORT, CHECK, REPORT_TABLE],
    },
    Case {
        name: "kept texts of 2 kB",
        make: kept_texts,
        memory: [32, 32],
        commands: &[ANONYMIZE, REPORT, CHECK],
    },
    Case { name: "many groups", make: many_groups, memory: [48, 64], commands: &[ANONYMIZE, REPORT, CHECK] },
    Case {
        name: "quasi-identifiers of 10 kB",
        make: long_quasi,
        memory: [32, 32],
        commands: &[ANONYMIZE, CHECK],
    },
    Case {
        name: "a dictionary page of 80 MB",
        make: dictionary_page,
        memory: [32, 32],
        commands: &[
            ("anonymize t --policy p.toml --out r --temp .", Refuses("column `q`, takes")),
            ("init t --out q.toml --memory 96MiB", Refuses("column `q`, takes")),
            ("anonymize t --policy p.toml --out r --temp . --memory 256MiB", Works),
        ],
    },
    Case {
        name: "100 quasi-identifiers",
        make: many_quasi,
        memory: [64, 64],
        commands: &[
            ("anonymize t --policy p.toml --out r --temp .", Refuses("of memory")),
            ("anonymize t --policy p.toml --out r --temp . --memory 512MiB", Works),
            REPORT,
            CHECK,
        ],
    },
    Case {
        name: "CSV lines of 10 MB",
        make: long_lines,
        memory: [32, 32],
        commands: &[
            (
                "anonymize t --policy p.toml --out r --temp .",
                Refuses("more than is left of the 32 MiB of memory"),
            ),
            ("anonymize t --policy p.toml --out r --temp . --memory 256MiB", Works),
            ("init t --out q.toml --memory 160MiB", Works),
        ],
    },
    Case {
        name: "a hierarchy of 1 M leaves",
        make: hierarchy,
        memory: [32, 32],
        commands: &[
            ("anonymize t --policy p.toml --out r --temp .", Refuses("columns.quasi.q.hierarchy")),
            ("anonymize t --policy zero.toml --out r --temp .", Refuses("longer than 16 MiB")),
            ("anonymize t --policy /dev/zero --out r --temp .", Refuses("longer than 4 MiB")),
            ("anonymize /dev/zero --policy p2.toml --out r --temp .", Refuses("the header does not end")),
            ("check /dev/zero --group a --sensitive b --point 0,1,0,0.9", Refuses("the header does not end")),
        ],
    },
    Case {
        name: "a row without an end",
        make: endless_row,
        memory: [32, 32],
        commands: &[
            ("check t --group q --sensitive s --point 0,1,0,0.9", Refuses("of memory")),
            ("init t --out q.toml --memory 96MiB", Refuses("of memory")),
        ],
    },
    Case {
        name: "a compressed table",
        make: compressed,
        memory: [32, 32],
        commands: &[ANONYMIZE, REPORT, CHECK, REPORT_TABLE],
    },
    Case {
        name: "a compressed row without an end",
        make: bomb,
        memory: [32, 32],
        commands: &[
            ("check t --group q --sensitive s --point 0,1,0,0.9", Refuses("of memory")),
            ("anonymize t --policy p.toml --out r --temp .", Refuses("of memory")),
            ("init t --out q.toml --memory 96MiB", Refuses("of memory")),
        ],
    },
    Case {
        name: "10,000 columns",
        make: many_columns,
        memory: [96, 96],
        commands: &[("init t --sensitive c1 --out q.toml", Works)],
    },
];

/// Writes a Parquet table in row groups of at most `group_rows` rows; `chunk` makes some rows from a given number on.
fn parquet(path: &Path, rows: usize, group_rows: usize, chunk: impl FnMut(usize, usize) -> RecordBatch) {
    parquet_with(
        path,
        rows,
        WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)),
        chunk,
    );
}

fn parquet_with(
    path: &Path,
    rows: usize,
    properties: WriterPropertiesBuilder,
    mut chunk: impl FnMut(usize, usize) -> RecordBatch,
) {
    let step = 8192.min(rows);
    let first = chunk(0, step);
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, first.schema(), Some(properties.build())).unwrap();
    writer.write(&first).unwrap();
    drop(first);
    for start in (step..rows).step_by(step) {
        writer.write(&chunk(start, step.min(rows - start))).unwrap();
    }
    writer.close().unwrap();
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A number that looks random.
fn noise(row: usize, salt: u64) -> u64 {
    crate::support::scramble(row as u64 ^ (salt << 40))
}

fn numbers(start: usize, rows: usize, salt: u64, below: u64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((start..start + rows).map(|row| (noise(row, salt) % below) as i64)))
}

fn texts(start: usize, rows: usize, text: impl Fn(usize) -> String) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((start..start + rows).map(text)))
}

fn policy(folder: &Path, text: &str) {
    write_policy(folder, "p.toml", text);
}

/// Memory is measured, not what groups alone leave to be learned.
fn write_policy(folder: &Path, name: &str, text: &str) {
    let kept = if text.contains("keep = ") { ", \"unique kept values\"" } else { "" };
    let lists = if text.contains("values = \"set\"") { ", \"distinct numbers\"" } else { "" };
    let more = format!("{kept}{lists}");
    std::fs::write(
        folder.join(name),
        format!("accept = [\"unprotected values\", \"ends of ranges\"{more}]\n{text}"),
    )
    .unwrap();
}

fn many_values(folder: &Path, size: Size) {
    let values = size.pick(6_000, 60_000) as u64;
    parquet(&folder.join("t"), size.pick(20_000, 200_000), 1 << 16, |start, rows| {
        let value = |row| format!("value {}", noise(row, 1) % values);
        batch(vec![("q", numbers(start, rows, 2, 1000)), ("s", texts(start, rows, value))])
    });
    policy(folder, "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[privacy]\nk_anonymity = 1000\n");
}

/// Every value has a point, so there is something to say about each.
fn many_protected(folder: &Path, size: Size) {
    let values = size.pick(10_000, 40_000) as u64;
    parquet(&folder.join("t"), size.pick(30_000, 280_000), 1 << 16, |start, rows| {
        let value = |row| format!("value {}", noise(row, 42) % values);
        let quasi = |salt, below| numbers(start, rows, salt, below);
        batch(vec![("q", quasi(43, 90)), ("b", quasi(44, 1000)), ("s", texts(start, rows, value))])
    });
    let point = "[[privacy.skyline]]\nl = 2\nk = 3\nm = 2\nconfidence = 0.5\n";
    policy(folder, &format!("[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[columns.quasi.b]\n{point}"));
}

fn lists(folder: &Path, size: Size) {
    listed(folder, size.pick(4_000, 100_000), 5_000);
}

/// As in `lists`, for commands that count every value of a table in no order.
fn scattered_lists(folder: &Path, size: Size) {
    listed(folder, size.pick(500, 30_000), size.pick(100, 5_000) as u64);
}

fn listed(folder: &Path, rows: usize, values: u64) {
    parquet(&folder.join("t"), rows, 1 << 20, |start, rows| {
        let mut list = ListBuilder::new(Int32Builder::new());
        for row in start..start + rows {
            (0..1000)
                .for_each(|item| list.values().append_value((noise(row * 1000 + item, 3) % values) as i32));
            list.append(true);
        }
        batch(vec![("q", numbers(start, rows, 4, 100)), ("s", Arc::new(list.finish()))])
    });
    let privacy = "[privacy]\nvalues = \"set\"\nk_anonymity = 50\n";
    policy(folder, &format!("[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n{privacy}"));
}

fn one_row_group(folder: &Path, size: Size) {
    parquet(&folder.join("t"), size.pick(300_000, 10_000_000), usize::MAX, |start, rows| {
        let quasi = |salt| numbers(start, rows, salt, 1000);
        batch(vec![("q", quasi(5)), ("b", quasi(6)), ("s", numbers(start, rows, 7, 20))])
    });
    policy(
        folder,
        "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[columns.quasi.b]\n[privacy]\nk_anonymity = 1000\n",
    );
}

fn kept_texts(folder: &Path, size: Size) {
    parquet(&folder.join("t"), size.pick(50_000, 400_000), 1 << 20, |start, rows| {
        let kept = |row| format!("{:016x}", noise(row, 8)).repeat(125);
        batch(vec![
            ("q", numbers(start, rows, 9, 1000)),
            ("s", numbers(start, rows, 10, 20)),
            ("k", texts(start, rows, kept)),
        ])
    });
    policy(
        folder,
        "[columns]\nsensitive = \"s\"\nkeep = [\"k\"]\n[columns.quasi.q]\n[privacy]\nk_anonymity = 100\n",
    );
}

fn many_groups(folder: &Path, size: Size) {
    parquet(&folder.join("t"), size.pick(300_000, 10_000_000), 1 << 20, |start, rows| {
        let quasi = |salt| numbers(start, rows, salt, 60_000);
        batch(vec![("a", quasi(11)), ("b", quasi(12)), ("c", quasi(13)), ("s", numbers(start, rows, 14, 20))])
    });
    let quasi = "[columns.quasi.a]\n[columns.quasi.b]\n[columns.quasi.c]\n";
    policy(folder, &format!("[columns]\nsensitive = \"s\"\n{quasi}[privacy]\nk_anonymity = 6\n"));
}

/// Zstandard with the longest window that is read; the text is some sixty times as long.
fn compressed(folder: &Path, size: Size) {
    let mut encoder = zstd::stream::write::Encoder::new(File::create(folder.join("t")).unwrap(), 1).unwrap();
    encoder.window_log(23).unwrap();
    encoder.write_all(b"q,s,pad\n").unwrap();
    for row in 0..size.pick(200_000, 5_000_000) {
        writeln!(encoder, "{},{},{:0100}", noise(row, 40) % 1000, noise(row, 41) % 20, row % 10).unwrap();
    }
    encoder.finish().unwrap();
    policy(
        folder,
        "[columns]\nsensitive = \"s\"\nrest = \"drop\"\n[columns.quasi.q]\n[privacy]\nk_anonymity = 1000\n",
    );
}

fn bomb(folder: &Path, size: Size) {
    let file = File::create(folder.join("t")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(b"q,s\n1,").unwrap();
    let zeros = vec![b'0'; 1 << 20];
    (0..size.pick(300, 10_000)).for_each(|_| encoder.write_all(&zeros).unwrap());
    encoder.finish().unwrap();
    policy(folder, "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[privacy]\nk_anonymity = 10\n");
}

fn long_quasi(folder: &Path, size: Size) {
    parquet(&folder.join("t"), size.pick(10_000, 50_000), 1 << 20, |start, rows| {
        let long = |row| format!("{:08}", noise(row, 15) % 100_000_000).repeat(1250);
        batch(vec![("q", texts(start, rows, long)), ("s", numbers(start, rows, 16, 20))])
    });
    policy(folder, "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[privacy]\nk_anonymity = 100\n");
}

fn dictionary_page(folder: &Path, size: Size) {
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(100 << 20);
    parquet_with(&folder.join("t"), size.pick(50_000, 50_000), properties, |start, rows| {
        let text = |row| format!("{:016x}", noise(row, 17)).repeat(100);
        batch(vec![("q", texts(start, rows, text)), ("s", numbers(start, rows, 18, 20))])
    });
    policy(folder, "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[privacy]\nk_anonymity = 100\n");
}

fn many_quasi(folder: &Path, size: Size) {
    let names: Vec<String> = (0..100).map(|column| format!("q{column}")).collect();
    parquet(&folder.join("t"), size.pick(50_000, 1_000_000), 1 << 20, |start, rows| {
        let quasi =
            (19..).zip(&names).map(|(salt, name)| (name.as_str(), numbers(start, rows, salt, 60_000)));
        batch(quasi.chain([("s", numbers(start, rows, 18, 20))]).collect())
    });
    let quasi: String = names.iter().map(|name| format!("[columns.quasi.{name}]\n")).collect();
    policy(folder, &format!("[columns]\nsensitive = \"s\"\n{quasi}[privacy]\nk_anonymity = 50\n"));
}

fn long_lines(folder: &Path, _size: Size) {
    let mut file = File::create(folder.join("t")).unwrap();
    writeln!(file, "q,s,k").unwrap();
    for row in 0..2000 {
        let length = if row % 700 == 350 { 10_000_000 } else { 10 };
        writeln!(file, "{},{},{}", row % 50, row % 7, "x".repeat(length)).unwrap();
    }
    policy(
        folder,
        "[columns]\nsensitive = \"s\"\nkeep = [\"k\"]\n[columns.quasi.q]\n[privacy]\nk_anonymity = 10\n",
    );
}

fn hierarchy(folder: &Path, size: Size) {
    let mut file = File::create(folder.join("t")).unwrap();
    writeln!(file, "q,s").unwrap();
    (0..5000).for_each(|row| writeln!(file, "leaf {},{}", row % 500, row % 7).unwrap());
    let mut leaves = std::io::BufWriter::new(File::create(folder.join("h.csv")).unwrap());
    for leaf in 0..size.pick(300_000, 1_000_000) {
        writeln!(leaves, "leaf {leaf};group {};*", leaf % 100).unwrap();
    }
    for (name, file) in [("p.toml", "h.csv"), ("zero.toml", "/dev/zero")] {
        let quasi = format!("[columns.quasi.q]\nhierarchy = \"{file}\"\n");
        let policy = format!("[columns]\nsensitive = \"s\"\n{quasi}[privacy]\nk_anonymity = 10\n");
        write_policy(folder, name, &policy);
    }
    let plain = "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[privacy]\nk_anonymity = 10\n";
    write_policy(folder, "p2.toml", plain);
}

/// A CSV file whose second row is longer than any budget: a hole in the file.
fn endless_row(folder: &Path, _size: Size) {
    let file = File::create(folder.join("t")).unwrap();
    (&file).write_all(b"q,s\n1,2\n").unwrap();
    file.set_len(1 << 33).unwrap();
}

fn many_columns(folder: &Path, size: Size) {
    let mut file = std::io::BufWriter::new(File::create(folder.join("t")).unwrap());
    let columns = size.pick(3_000, 10_000);
    let header: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
    writeln!(file, "{}", header.join(",")).unwrap();
    for row in 0..2_000 {
        let cells: Vec<String> =
            (0..columns).map(|column| (noise(row, column as u64) % 1000).to_string()).collect();
        writeln!(file, "{}", cells.join(",")).unwrap();
    }
}

/// Runs the commands of a case and prints a line for each, which the script collects; returns those that broke the bound or did not do what they should.
#[expect(clippy::print_stdout, reason = "the measurements")]
fn run(case: &Case, size: Size) -> Vec<String> {
    let folder = Folder::new();
    let home = folder.path("");
    (case.make)(&home, size);
    let memory = case.memory[usize::from(size == Size::Large)];
    let mut broken = vec![];
    for (arguments, expected) in case.commands {
        let own = arguments.split(' ').find_map(|word| word.strip_suffix("MiB")?.parse().ok());
        let memory = own.unwrap_or(memory);
        let mut command = Command::new(binary());
        command.args(arguments.split(' ')).current_dir(&home);
        if own.is_none() {
            command.args(["--memory", &format!("{memory}MiB")]);
        }
        let measured = measure(&mut command);
        // A later command may make the release again.
        if measured.code == Some(2) {
            let _ = std::fs::remove_dir_all(home.join("r"));
        }
        let bound = memory * MIB + ALLOWANCE;
        let line = format!("{} | {arguments} | {} / {} MiB", case.name, measured.peak / MIB, bound / MIB);
        let held = measured.peak <= bound;
        let done = match expected {
            Works => matches!(measured.code, Some(0 | 1)),
            Refuses(text) => measured.code == Some(2) && measured.printed.contains(text),
        };
        println!(
            "{line}{}{}",
            if held { "" } else { " | OVER" },
            if done { "" } else { " | UNEXPECTED END" }
        );
        if !held || !done {
            broken.push(format!("{line}, ended with {:?}:\n{}", measured.code, measured.printed));
        }
    }
    broken
}

/// The cases whose names contain the text in `SKYVEIL_CASE`, or all of them.
fn chosen() -> impl Iterator<Item = &'static Case> {
    let chosen = std::env::var("SKYVEIL_CASE").unwrap_or_default();
    CASES.iter().filter(move |case| case.name.contains(&chosen))
}

#[test]
fn small_tables_stay_within_their_memory() {
    let broken: Vec<String> = chosen().flat_map(|case| run(case, Size::Small)).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
#[ignore = "tables of gigabytes; run by scripts/measure-memory.sh"]
fn large_tables_stay_within_their_memory() {
    let broken: Vec<String> = chosen().flat_map(|case| run(case, Size::Large)).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_prover_sees_a_process_that_takes_too_much() {
    let take = |bytes: &str| {
        let buffer = format!("bs={bytes}");
        measure(Command::new("dd").args(["if=/dev/zero", "of=/dev/null", &buffer, "count=1"])).peak
    };
    assert!(take("250M") > 150 * MIB);
    assert!(take("1M") < 32 * MIB);
}

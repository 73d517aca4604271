//! An engine in this process.

use super::library::Outcome;
use super::scramble;
use skyveil::engine::{EngineTask, PageTask, RowEngine, RowSet, SetPlacement};
use skyveil::{Anonymize, CanonicalSizes, Policy, Progress, Table};
use skyveil::{Budget, Resources, Result};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// An engine whose tasks read a file each, or some of the pages that it holds; results arrive in a scrambled order.
pub struct FileEngine<'a> {
    paths: &'a [PathBuf],
    policy: Policy,
    /// Decides about the order.
    seed: u64,
    sizes: CanonicalSizes,
    /// The tasks whose pages arrive.
    arriving: Vec<usize>,
    /// Of the pages that are sorted, how many are lost.
    lost: Mutex<usize>,
    /// What happens to the files of tasks.
    fate: FileFate,
    held: Mutex<Held>,
    page_task: OnceLock<PageTask>,
}

/// What happens to files after their tasks checked them.
#[derive(Debug, Clone)]
pub enum FileFate {
    Kept,
    /// A bit of the last byte changes on the way to the run.
    AlteredOnTheWay,
    /// The first file below this folder changes after it was stored.
    AlteredInPlace(PathBuf),
}

#[derive(Default)]
struct Held {
    /// The pages of each set, by task.
    sets: BTreeMap<RowSet, Vec<Vec<Vec<u8>>>>,
    sorts: BTreeMap<RowSet, usize>,
    /// The order of each file, and the rows of those that were begun.
    orders: BTreeMap<u64, Vec<Vec<u8>>>,
    files: BTreeMap<u64, Vec<RowSet>>,
}

impl<'a> FileEngine<'a> {
    pub fn new(paths: &'a [PathBuf], policy: &Path, seed: u64) -> Self {
        FileEngine {
            paths,
            policy: Policy::read(policy).unwrap(),
            seed,
            sizes: CanonicalSizes { subtree_bytes: 1 << 14, ..CanonicalSizes::default() },
            arriving: (0..paths.len()).collect(),
            lost: Mutex::default(),
            fate: FileFate::Kept,
            held: Mutex::default(),
            page_task: OnceLock::new(),
        }
    }

    /// With other sizes of nodes, parts and files.
    pub fn with_sizes(self, sizes: CanonicalSizes) -> Self {
        FileEngine { sizes, ..self }
    }

    /// The pages of these tasks arrive, and no others.
    pub fn arriving(self, arriving: &[usize]) -> Self {
        FileEngine { arriving: arriving.to_vec(), ..self }
    }

    /// Loses so many pages while they are sorted.
    pub fn losing(self, lost: usize) -> Self {
        FileEngine { lost: Mutex::new(lost), ..self }
    }

    /// Alters files that tasks wrote.
    pub fn altering(self, fate: FileFate) -> Self {
        FileEngine { fate, ..self }
    }

    fn scrambled(&self, many: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..many).collect();
        order.sort_by_key(|&place| scramble(place as u64 ^ self.seed));
        order
    }

    fn with_rows<T>(&self, task: Option<usize>, work: impl Fn(&EngineTask<'_>) -> Result<T>) -> Result<T> {
        let files = task.map_or(0..0, |task| task..task + 1);
        let table = Table::open(self.paths, &self.policy.read_options())?.with_files(files);
        let progress = Progress::default();
        let resources = Resources { threads: 2, ..Resources::new(Budget::new(64 << 20), &progress) };
        work(&EngineTask { table: &table, policy: &self.policy, resources: &resources })
    }

    fn page_task(&self) -> &PageTask {
        self.page_task.get().unwrap()
    }

    /// What tasks return, merged one after the other or in pairs.
    fn merged(
        &self,
        parts: Vec<Vec<u8>>,
        merge: impl Fn(&Policy, &[u8], &[u8]) -> Result<Vec<u8>>,
    ) -> Result<Vec<u8>> {
        let order = self.scrambled(parts.len());
        let mut parts: VecDeque<Vec<u8>> = order.into_iter().map(|place| parts[place].clone()).collect();
        loop {
            let (one, other) = (parts.pop_front().unwrap(), parts.pop_front());
            let Some(other) = other else { return Ok(one) };
            let both = merge(&self.policy, &one, &other)?;
            if self.seed.is_multiple_of(2) { parts.push_front(both) } else { parts.push_back(both) }
        }
    }

    fn of_files(&self, work: impl Fn(&EngineTask<'_>) -> Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        (0..self.paths.len()).map(|task| self.with_rows(Some(task), &work)).collect()
    }

    /// The pages of a set, by task.
    fn set(&self, rows: RowSet) -> Vec<Vec<Vec<u8>>> {
        self.held.lock().unwrap().sets[&rows].clone()
    }

    /// Sorts the pages of a set into others, each of so many tasks; returns the first.
    fn sorted(
        &self,
        rows: RowSet,
        sets: usize,
        tasks: usize,
        sort: impl Fn(&[Vec<u8>], &mut dyn FnMut(usize, Vec<u8>) -> Result<()>) -> Result<()>,
    ) -> Result<RowSet> {
        let mut sorted: Vec<Vec<Vec<Vec<u8>>>> = vec![vec![vec![]; tasks]; sets];
        let parts = self.set(rows);
        for part in self.scrambled(parts.len()) {
            sort(&parts[part], &mut |place, page| {
                let mut lost = self.lost.lock().unwrap();
                if *lost > 0 {
                    *lost -= 1;
                } else {
                    sorted[place][part % tasks].push(page);
                }
                Ok(())
            })?;
        }
        let mut held = self.held.lock().unwrap();
        let first = held.sorts.iter().map(|(first, sets)| first + *sets as u64).max().unwrap_or(1);
        held.sorts.insert(first, sets);
        held.sets.extend((first..).zip(sorted));
        Ok(first)
    }

    /// Makes a release of what the tasks return; the run itself sees the columns of the table, and none of its rows.
    pub fn release(&self, out: &Path) -> Result<Outcome> {
        let table = Table::open(self.paths, &self.policy.read_options())?.with_files(0..0);
        self.run(Anonymize { engine: Some(self), ..Anonymize::new(&table, &self.policy, out) })
    }

    /// Makes a release of the same files on one machine.
    pub fn release_alone(&self, out: &Path) -> Result<Outcome> {
        let table = Table::open(self.paths, &self.policy.read_options())?;
        self.run(Anonymize::new(&table, &self.policy, out))
    }

    fn run(&self, job: Anonymize<'_>) -> Result<Outcome> {
        Anonymize { memory: 64 << 20, sizes: self.sizes, ..job }.run(&Progress::default())
    }

    /// How many sets are held besides all rows.
    pub fn sets_left(&self) -> usize {
        self.held.lock().unwrap().sets.len().saturating_sub(1)
    }
}

/// The path of the file with this name.
fn file_below(folder: &Path, name: &str) -> PathBuf {
    let entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let found = entries.iter().find(|path| path.file_name().is_some_and(|own| own == name)).cloned();
    found.unwrap_or_else(|| file_below(entries.iter().find(|path| path.is_dir()).unwrap(), name))
}

/// Changes the name of the program that wrote a file, which nobody reads.
fn alter(path: &Path) {
    let mut contents = std::fs::read(path).unwrap();
    let maker = contents.windows(7).rposition(|bytes| bytes == b"skyveil").unwrap();
    contents[maker] ^= 1;
    std::fs::write(path, contents).unwrap();
}

fn all(pages: &[Vec<u8>]) -> impl Iterator<Item = Result<Vec<u8>>> {
    pages.iter().map(|page| Ok(page.clone()))
}

impl RowEngine for FileEngine<'_> {
    fn values(&self) -> Result<Vec<u8>> {
        self.merged(self.of_files(|task| task.observe())?, EngineTask::merge_values)
    }

    fn combinations(&self, order: &[u8]) -> Result<Vec<u8>> {
        self.merged(self.of_files(|task| task.combine(order))?, EngineTask::merge_combinations)
    }

    fn encode(&self, order: &[u8]) -> Result<Vec<u8>> {
        let encode = |&task: &usize| {
            let pages = Mutex::new(Vec::new());
            let keep = |page: Vec<u8>| {
                pages.lock().unwrap().push(page);
                Ok(())
            };
            self.with_rows(Some(task), |task| task.encode(order, keep))?;
            Ok(pages.into_inner().unwrap())
        };
        let pages: Vec<Vec<Vec<u8>>> = self.arriving.iter().map(encode).collect::<Result<_>>()?;
        let mut held = self.held.lock().unwrap();
        held.sets.insert(0, pages.clone());
        drop(held);
        let task = self.with_rows(None, |task| PageTask::new(task, order))?;
        let task = self.page_task.get_or_init(|| task);
        let totals: Result<_> = pages.iter().map(|own| task.total(all(own))).collect();
        self.merged(totals?, PageTask::merge_totals)
    }

    fn count(&self, rows: RowSet, request: &[u8]) -> Result<Vec<u8>> {
        let task = self.page_task();
        let counts: Result<_> = self.set(rows).iter().map(|own| task.count(request, all(own))).collect();
        self.merged(counts?, PageTask::merge_counts)
    }

    fn sort(&self, rows: RowSet, request: &[u8], sets: usize, gathered: SetPlacement) -> Result<RowSet> {
        let (task, tasks) = (self.page_task(), if gathered == SetPlacement::Together { 1 } else { 2 });
        self.sorted(rows, sets, tasks, |pages, pass| task.sort(request, all(pages), pass))
    }

    fn grow(&self, nodes: &[(RowSet, Vec<u8>)]) -> Result<Vec<Vec<u8>>> {
        let task = self.page_task();
        nodes.iter().map(|(rows, request)| task.grow(request, all(&self.set(*rows).concat()))).collect()
    }

    fn place(&self, rows: RowSet, request: &[u8], sets: usize) -> Result<RowSet> {
        let task = self.page_task();
        self.sorted(rows, sets, 1, |pages, pass| task.place(request, all(pages), pass))
    }

    fn order_file(&self, file: u64, piece: &[u8]) -> Result<()> {
        self.held.lock().unwrap().orders.entry(file).or_default().push(piece.to_vec());
        Ok(())
    }

    fn begin_file(&self, file: u64, rows: &[RowSet]) -> Result<()> {
        self.held.lock().unwrap().files.insert(file, rows.to_vec());
        Ok(())
    }

    fn finish_file(&self, file: u64, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut held = self.held.lock().unwrap();
        let (order, rows) = (held.orders.remove(&file).unwrap(), held.files.remove(&file).unwrap());
        drop(held);
        let pages: Vec<Vec<u8>> = rows.iter().flat_map(|&rows| self.set(rows).concat()).collect();
        let mut pieces = Vec::new();
        self.page_task().write(&order, all(&pages), |piece| {
            pieces.push(piece);
            Ok(())
        })?;
        match &self.fate {
            FileFate::Kept => {}
            FileFate::AlteredOnTheWay => *pieces.last_mut().unwrap().last_mut().unwrap() ^= 1,
            FileFate::AlteredInPlace(folder) if file == 1 => alter(&file_below(folder, "part-00000.parquet")),
            FileFate::AlteredInPlace(_) => {}
        }
        pieces.iter().try_for_each(|piece| each(piece))
    }

    fn pages(&self, rows: RowSet, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.set(rows).iter().flatten().try_for_each(|page| each(page))
    }

    fn forget(&self, first: RowSet) -> Result<()> {
        let mut held = self.held.lock().unwrap();
        let sets = held.sorts[&first] as u64;
        held.sets.retain(|set, _| !(first..first + sets).contains(set));
        Ok(())
    }

    fn tasks_at_once(&self) -> usize {
        3
    }
}

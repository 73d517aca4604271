//! In which cell of its grid does a value of an ordered column lie?
//!
//! Values become cells before anything else, and a grid depends on the policy and the type of the column alone. So a
//! release is a function of the cells that are occupied, and everybody may stand anywhere in theirs (mathematics 14).
//! Cells begin at multiples of the grid, counted from 0 or by the calendar. The configured domain cuts the outer ones
//! off; its upper end belongs to the last cell.

use super::scale::{Scale, float_key, key_float};
use crate::error::{Error, Result};
use crate::math::exact::{Rational, parse_fraction, ratio};
use crate::policy::hierarchy::{DateLevel, range_label};
use crate::policy::{ClockUnit, Grid, Quasi};

/// The keys from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridCell {
    /// The least key.
    pub first: i64,
    /// The greatest key.
    pub last: i64,
}

impl GridCell {
    /// Whether the key lies in the cell.
    pub fn holds(&self, key: i64) -> bool {
        (self.first..=self.last).contains(&key)
    }
}

/// Where the grid of a column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridOrigin {
    /// `grid` in the policy.
    Declared,
    /// Derived from `domain` in the policy, or from what values of the type can be (booleans, times of day).
    Derived,
    /// The policy has neither: cells as fine as the type allows, or two significant digits.
    Default,
}

/// The cells of an ordered column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnGrid {
    scale: Scale,
    rule: Rule,
    origin: GridOrigin,
    domain: Option<GridCell>,
    /// The last cell of the domain.
    top: Option<GridCell>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    /// Every key is a cell.
    Key,
    /// Multiples of a whole number of keys.
    Keys(i64),
    /// Multiples of a fraction of keys.
    Fraction { above: i128, below: i128 },
    /// Multiples of a fraction, rounded to the nearest float.
    Floats { above: i128, below: i128 },
    /// Numbers with the same two leading digits; keys are whole numbers.
    Digits,
    /// The same for floats; 0 is a cell.
    FloatDigits,
    /// Periods of the calendar.
    Calendar(DateLevel),
}

/// Multiples of a fraction up to this one are told apart by binary64, and computed exactly.
const EXACT_MULTIPLES: i128 = 1 << 52;

/// Grids derived from a domain have at least this many cells.
const CELLS_OF_A_DOMAIN: u64 = 20;

/// The longest unit of each kind of period, in days.
const PERIODS: [(DateLevel, i64); 5] = [
    (DateLevel::Decade, 3653),
    (DateLevel::Year, 366),
    (DateLevel::Quarter, 92),
    (DateLevel::Month, 31),
    (DateLevel::Day, 1),
];

/// Nanoseconds of a day: times of day are below.
const DAY_NANOSECONDS: i64 = 86_400_000_000_000;

impl ColumnGrid {
    /// The grid of a column with keys of this scale.
    pub fn of(quasi: &Quasi, scale: Scale) -> Result<Self> {
        let name = &quasi.name;
        let ends = match &quasi.domain {
            Some([low, high]) => {
                let keys = scale.parse(&low.text).zip(scale.parse(&high.text));
                let (first, last) = keys.ok_or_else(|| {
                    Error::input(
                        format!("column {name:?}: the ends of its domain are not of its type"),
                        format!("write them as values of the column in columns.quasi.{name}.domain"),
                    )
                })?;
                Some(GridCell { first, last })
            }
            None => None,
        };
        let (rule, origin) = match (&quasi.grid, &quasi.domain) {
            (Some(grid), _) => (Rule::declared(name, grid, scale)?, GridOrigin::Declared),
            (None, Some([low, high])) => {
                let numbers = low.number.as_ref().zip(high.number.as_ref());
                (Rule::derived(name, scale, numbers, ends)?, GridOrigin::Derived)
            }
            (None, None) => Rule::default_of(scale),
        };
        let whole = ColumnGrid { scale, rule, origin, domain: None, top: None };
        let Some(domain) = ends else { return Ok(whole) };
        let cells = whole.cell(domain.first).zip(whole.cell(domain.last));
        let (_, last) = cells.ok_or_else(|| too_fine(name))?;
        // The upper end alone would be a cell of one value where others are wider.
        let top = match last {
            GridCell { first, last } if first == domain.last && last > first && first > domain.first => {
                whole.cell(first - 1).ok_or_else(|| too_fine(name))?
            }
            cell => cell,
        };
        let top = GridCell { first: top.first.max(domain.first), last: domain.last };
        Ok(ColumnGrid { domain: Some(domain), top: Some(top), ..whole })
    }

    /// Whether every value is a cell.
    pub fn is_of_values(&self) -> bool {
        self.rule == Rule::Key
    }

    /// Where the grid comes from.
    pub fn origin(&self) -> GridOrigin {
        self.origin
    }

    /// The width of the cells that follow from a domain with these ends; `None` for columns that are not of numbers.
    pub fn width_for(scale: Scale, low: &str, high: &str) -> Option<Rational> {
        let unit = match scale {
            Scale::Integer => ratio(1, 1),
            Scale::Decimal(places) => ratio(1, 1) / ratio(10, 1).pow(isize::from(places)),
            Scale::Float => Rational::ZERO,
            _ => return None,
        };
        let ends = parse_fraction(low).zip(parse_fraction(high)).filter(|(low, high)| low < high);
        let width = ends.map(|(low, high)| round_below(&((high - low) / ratio(CELLS_OF_A_DOMAIN, 1))));
        Some(width.map_or(ratio(1, 1), |width| width.max(unit)))
    }

    /// The next coarser grid; `None` if it has no width, or none that is coarser.
    pub fn coarser(&self) -> Option<Grid> {
        let next = |level: DateLevel| {
            let from_here = PERIODS.into_iter().rev().skip_while(|(own, _)| *own != level);
            from_here.skip(1).map(|(wider, _)| Grid::Date(wider)).next()
        };
        let wider = |width: Rational| {
            let steps = [2, 5, 10].into_iter().map(|times| ratio(times, 1) * round_below(&width));
            steps.into_iter().find(|wider| *wider > width).map(Grid::Width)
        };
        match (self.rule, self.scale) {
            (Rule::Key, Scale::Integer) => Some(Grid::Width(ratio(5, 1))),
            (Rule::Keys(width), Scale::Integer) => wider(ratio(u64::try_from(width).ok()?, 1)),
            (Rule::Floats { above, below }, _) => {
                wider(ratio(u64::try_from(above).ok()?, u64::try_from(below).ok()?))
            }
            (Rule::Key, Scale::Date) => next(DateLevel::Day),
            (Rule::Keys(width), Scale::Timestamp(_)) if width == self.scale.of_day(1) => next(DateLevel::Day),
            (Rule::Calendar(level), _) => next(level),
            _ => None,
        }
    }

    /// The finest grid that tells the same kind of values apart, if it is finer: whole numbers, days, a tenth of a width.
    pub fn finest(&self) -> Option<Grid> {
        match (self.rule, self.scale) {
            (Rule::Keys(_), Scale::Integer) => Some(Grid::Width(ratio(1, 1))),
            (Rule::Floats { above, below }, _) => Some(Grid::Width(ratio(
                u64::try_from(above).ok()?,
                u64::try_from(below).ok()?.checked_mul(10)?,
            ))),
            (Rule::Calendar(level), _) if level != DateLevel::Day => Some(Grid::Date(DateLevel::Day)),
            _ => None,
        }
    }

    /// Keys that lie between two neighbouring multiples of this number are in the same cell, unless an end of the domain
    /// is between them.
    pub fn step(&self) -> u64 {
        match self.rule {
            Rule::Keys(width) => width.unsigned_abs(),
            _ => 1,
        }
    }

    /// At most this many cells can be occupied; `None` if the policy has no domain.
    pub fn most_cells(&self) -> Option<u32> {
        let domain = self.domain?;
        u32::try_from(domain.first.abs_diff(domain.last) / self.step()).ok()?.checked_add(2)
    }

    /// The configured ends of the column.
    pub fn domain(&self) -> Option<GridCell> {
        self.domain
    }

    /// The cell of a key; `None` outside of the domain, and for floats so large that the grid is finer than they are.
    #[inline]
    pub fn cell(&self, key: i64) -> Option<GridCell> {
        if let (Some(domain), Some(top)) = (self.domain, self.top) {
            if !domain.holds(key) {
                return None;
            }
            if key >= top.first {
                return Some(top);
            }
            return self
                .rule
                .cell(self.scale, key)
                .map(|cell| GridCell { first: cell.first.max(domain.first), ..cell });
        }
        self.rule.cell(self.scale, key)
    }

    /// The least and the greatest key that a value may have.
    pub fn reach(&self) -> GridCell {
        self.domain.unwrap_or(match self.scale {
            Scale::Float => GridCell { first: float_key(f64::NEG_INFINITY), last: float_key(f64::INFINITY) },
            _ => GridCell { first: i64::MIN, last: i64::MAX },
        })
    }

    /// Why values of the column have no cell.
    pub fn without_cell(&self, name: &str) -> Error {
        match self.domain {
            None => too_fine(name),
            Some(_) => Error::input(
                format!("column {name:?} has values outside its domain"),
                format!("widen columns.quasi.{name}.domain, or leave it out for open ends"),
            ),
        }
    }
}

fn too_fine(name: &str) -> Error {
    Error::input(
        format!("column {name:?} has numbers so large that its grid is finer than they can be written"),
        format!("write a coarser columns.quasi.{name}.grid, a whole number if possible"),
    )
}

impl Rule {
    fn declared(name: &str, grid: &Grid, scale: Scale) -> Result<Rule> {
        let wrong = |only: &str| {
            Error::input(
                format!("column {name:?}: its grid is not of its type"),
                format!("write {only} in columns.quasi.{name}.grid"),
            )
        };
        match (grid, scale) {
            (Grid::Value, _) => Ok(Rule::Key),
            (Grid::Width(width), Scale::Integer | Scale::Decimal(_) | Scale::Float) => {
                Rule::multiples(name, scale, width)
            }
            (Grid::Date(DateLevel::Day), Scale::Date) => Ok(Rule::Key),
            (Grid::Date(DateLevel::Day), Scale::Timestamp(_)) => Ok(Rule::Keys(scale.of_day(1))),
            (Grid::Date(level), Scale::Date | Scale::Timestamp(_)) => Ok(Rule::Calendar(*level)),
            (Grid::Clock(unit), Scale::Timestamp(_)) => Ok(Rule::keys(scale.of_day(1) / unit.per_day())),
            (Grid::Clock(unit), Scale::Time) => Ok(Rule::keys(DAY_NANOSECONDS / unit.per_day())),
            (_, Scale::Integer | Scale::Decimal(_) | Scale::Float) => Err(wrong("a number such as 5")),
            (_, Scale::Date) => Err(wrong("a period such as \"month\"")),
            (_, Scale::Timestamp(_)) => Err(wrong("a period such as \"month\" or \"hour\"")),
            (_, Scale::Time) => Err(wrong("\"hour\", \"minute\" or \"second\"")),
            (_, Scale::Boolean) => Err(Error::input(
                format!("column {name:?} is true or false, which no grid makes coarser"),
                format!("leave out columns.quasi.{name}.grid"),
            )),
        }
    }

    /// The widest grid of 1, 2 or 5 times a power of ten, or of a unit of the calendar, with which the domain has at
    /// least [`CELLS_OF_A_DOMAIN`] cells; never finer than the unit of the column.
    fn derived(
        name: &str,
        scale: Scale,
        numbers: Option<(&Rational, &Rational)>,
        ends: Option<GridCell>,
    ) -> Result<Rule> {
        let share = match (numbers, ends) {
            (Some((low, high)), _) => (high - low) / ratio(CELLS_OF_A_DOMAIN, 1),
            (None, Some(ends)) => {
                let keys = i128::from(ends.last) - i128::from(ends.first);
                let share = keys / i128::from(CELLS_OF_A_DOMAIN);
                return Ok(Rule::period(scale, i64::try_from(share).unwrap_or(i64::MAX)));
            }
            (None, None) => return Ok(Rule::Key),
        };
        match scale {
            Scale::Integer | Scale::Decimal(_) | Scale::Float => {
                Rule::multiples(name, scale, &round_below(&share))
            }
            _ => Ok(Rule::Key),
        }
    }

    /// The longest unit of the calendar or the clock that is not longer than `most` keys.
    fn period(scale: Scale, most: i64) -> Rule {
        let day = scale.of_day(1);
        if let Some((level, _)) = PERIODS.into_iter().find(|(_, days)| most / day >= *days) {
            return if level == DateLevel::Day { Rule::keys(day) } else { Rule::Calendar(level) };
        }
        let unit = ClockUnit::NAMES.into_iter().rev().find(|(_, unit)| day / unit.per_day() <= most);
        unit.map_or(Rule::Key, |(_, unit)| Rule::keys((day / unit.per_day()).max(1)))
    }

    fn default_of(scale: Scale) -> (Rule, GridOrigin) {
        match scale {
            Scale::Integer | Scale::Date => (Rule::Key, GridOrigin::Default),
            Scale::Boolean => (Rule::Key, GridOrigin::Derived),
            Scale::Decimal(_) => (Rule::Digits, GridOrigin::Default),
            Scale::Float => (Rule::FloatDigits, GridOrigin::Default),
            Scale::Timestamp(_) => (Rule::Keys(scale.of_day(1)), GridOrigin::Default),
            Scale::Time => (Rule::Keys(DAY_NANOSECONDS / 24), GridOrigin::Derived),
        }
    }

    fn keys(width: i64) -> Rule {
        if width <= 1 { Rule::Key } else { Rule::Keys(width) }
    }

    fn multiples(name: &str, scale: Scale, width: &Rational) -> Result<Rule> {
        let in_keys = match scale {
            Scale::Decimal(places) => width * ratio(10, 1).pow(isize::from(places)),
            _ => width.clone(),
        };
        let (above, below) = in_keys.into_parts();
        let parts = i64::try_from(above).ok().zip(i64::try_from(below).ok());
        let refused = || {
            Error::input(
                format!("column {name:?}: its grid is too wide or too fine"),
                format!("write columns.quasi.{name}.grid with at most 18 digits"),
            )
        };
        let (above, below) = parts.ok_or_else(refused)?;
        let parts = (i128::from(above), i128::from(below));
        match scale {
            Scale::Float if parts.0.max(parts.1) > EXACT_MULTIPLES && below > 1 => Err(refused()),
            Scale::Float => Ok(Rule::Floats { above: parts.0, below: parts.1 }),
            _ if above <= below => Ok(Rule::Key),
            _ if below == 1 => Ok(Rule::Keys(above)),
            _ => Ok(Rule::Fraction { above: parts.0, below: parts.1 }),
        }
    }

    #[inline]
    fn cell(self, scale: Scale, key: i64) -> Option<GridCell> {
        Some(match self {
            Rule::Key => GridCell { first: key, last: key },
            Rule::Keys(width) => {
                let rest = key.rem_euclid(width);
                let last = key.saturating_add(width - 1 - rest);
                let ends_the_day = scale == Scale::Time && last >= DAY_NANOSECONDS - 1;
                GridCell { first: key.saturating_sub(rest), last: if ends_the_day { i64::MAX } else { last } }
            }
            Rule::Fraction { above, below } => {
                let multiple = (i128::from(key) * below).div_euclid(above);
                let start = |multiple: i128| (multiple * above + below - 1).div_euclid(below);
                let in_range = |key: i128| key.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                GridCell { first: in_range(start(multiple)), last: in_range(start(multiple + 1) - 1) }
            }
            Rule::Floats { above, below } => return multiple_of_float(key, above, below),
            Rule::Digits => mirrored(key, leading_digits),
            Rule::FloatDigits => {
                let cell = mirrored(key, leading_digits_of_float);
                let least = float_key(f64::NEG_INFINITY);
                match key {
                    key if key == least => GridCell { first: key, last: key },
                    _ => GridCell { first: cell.first.max(least + 1), ..cell },
                }
            }
            Rule::Calendar(level) => {
                let (first, last) = level.period(scale.day(key));
                let before = |next: i64| i128::from(next) * i128::from(scale.of_day(1)) - 1;
                GridCell {
                    first: first.map_or(i64::MIN, |first| scale.of_day(first)),
                    last: last.map_or(i64::MAX, |last| before(last + 1).try_into().unwrap_or(i64::MAX)),
                }
            }
        })
    }
}

/// The largest of 1, 2 or 5 times a power of ten that is not above a positive number.
fn round_below(number: &Rational) -> Rational {
    let (mut power, ten) = (ratio(1, 1), ratio(10, 1));
    while power > *number {
        power /= &ten;
    }
    while &power * &ten <= *number {
        power *= &ten;
    }
    let fits = [5, 2].into_iter().map(|times| &power * ratio(times, 1)).find(|wider| wider <= number);
    fits.unwrap_or(power)
}

/// The cells of negative keys mirror those of the others, and begin with their lower end as well.
#[inline]
fn mirrored(key: i64, cell: impl Fn(i64) -> GridCell) -> GridCell {
    if key >= 0 {
        return cell(key);
    }
    let mirror = cell(!key);
    GridCell { first: !mirror.last, last: !mirror.first }
}

/// Whole numbers from 0 with the same two leading digits.
fn leading_digits(key: i64) -> GridCell {
    let width = 10i64.pow(key.checked_ilog10().unwrap_or(0).saturating_sub(1));
    let first = key / width * width;
    GridCell { first, last: first.saturating_add(width - 1) }
}

/// Below this, numbers above 0 are one cell.
const TINY: f64 = 1e-300;

/// Floats from 0 with the same two leading digits.
fn leading_digits_of_float(key: i64) -> GridCell {
    let (infinity, tiny) = (float_key(f64::INFINITY), float_key(TINY));
    if key == 0 || key == infinity {
        return GridCell { first: key, last: key };
    }
    if key < tiny {
        return GridCell { first: 1, last: tiny - 1 };
    }
    let value = key_float(key);
    let mut exponent = value.log10().floor() as i32 - 1;
    let mut digits = ((value / 10f64.powi(exponent)).floor() as i64).clamp(10, 99);
    let step =
        |digits: i64, exponent: i32| if digits == 99 { (10, exponent + 1) } else { (digits + 1, exponent) };
    while with_digits(digits, exponent) > value {
        (digits, exponent) = if digits == 10 { (99, exponent - 1) } else { (digits - 1, exponent) };
    }
    loop {
        let (more, with) = step(digits, exponent);
        if with_digits(more, with) > value {
            let last = float_key(with_digits(more, with)) - 1;
            return GridCell { first: float_key(with_digits(digits, exponent)), last };
        }
        (digits, exponent) = (more, with);
    }
}

/// The float nearest to two digits times a power of ten.
fn with_digits(digits: i64, exponent: i32) -> f64 {
    // Both operands are exact up to 10^22, so the result is rounded once.
    match exponent {
        0..=22 => digits as f64 * 10f64.powi(exponent),
        -22..=-1 => digits as f64 / 10f64.powi(-exponent),
        _ => format!("{digits}e{exponent}").parse().unwrap_or(f64::INFINITY),
    }
}

/// The cell of a float between two multiples of a fraction; infinities are cells of their own.
fn multiple_of_float(key: i64, above: i128, below: i128) -> Option<GridCell> {
    let value = key_float(key);
    if value.is_infinite() {
        return Some(GridCell { first: key, last: key });
    }
    let near = (value * below as f64 / above as f64).floor();
    let most = if below == 1 { EXACT_MULTIPLES } else { EXACT_MULTIPLES / above };
    if near.abs() >= most as f64 {
        return None;
    }
    // A product below 2^52 and its quotient, and the conversion of a whole number, are rounded once.
    let start = |multiple: i128| (multiple * above) as f64 / below as f64;
    let mut multiple = near as i128;
    while start(multiple) > value {
        multiple -= 1;
    }
    while start(multiple + 1) <= value {
        multiple += 1;
    }
    Some(GridCell { first: float_key(start(multiple)), last: float_key(start(multiple + 1)) - 1 })
}

/// The cells of an ordered column that are occupied, one per code; if there are too many, bins of neighbouring cells.
///
/// Memory: 16 bytes per code.
#[derive(Debug, Clone, PartialEq)]
pub struct OccupiedCells {
    grid: ColumnGrid,
    cells: Vec<GridCell>,
    exact: bool,
}

impl OccupiedCells {
    /// Creates it from ascending first keys of cells: all that are occupied, or, if not `exact`, a sample, of which each
    /// begins a bin.
    pub fn new(grid: ColumnGrid, firsts: &[i64], exact: bool) -> Self {
        let reach = grid.reach();
        let cell = |(i, &first): (usize, &i64)| {
            if exact {
                return grid.cell(first).unwrap_or(GridCell { first, last: first });
            }
            GridCell {
                first: if i == 0 { reach.first } else { first },
                last: firsts.get(i + 1).map_or(reach.last, |next| next - 1),
            }
        };
        let cells = firsts.iter().enumerate().map(cell).collect();
        OccupiedCells { grid, cells, exact }
    }

    /// The grid.
    pub fn grid(&self) -> &ColumnGrid {
        &self.grid
    }

    /// What the keys mean.
    pub fn scale(&self) -> Scale {
        self.grid.scale
    }

    /// The cells or bins, ascending; a code is a position.
    pub fn cells(&self) -> &[GridCell] {
        &self.cells
    }

    /// The code of a key, if its cell is occupied.
    pub fn code(&self, key: i64) -> Option<u32> {
        let place = self.cells.partition_point(|cell| cell.last < key);
        self.cells.get(place).filter(|cell| cell.first <= key).map(|_| place as u32)
    }

    /// The same keys in the cells of another grid; `None` if codes are bins.
    pub fn regrouped(&self, quasi: &Quasi) -> Result<Option<OccupiedCells>> {
        if !self.exact {
            return Ok(None);
        }
        let grid = ColumnGrid::of(quasi, self.scale())?;
        let mut firsts: Vec<i64> =
            self.cells.iter().filter_map(|cell| Some(grid.cell(cell.first)?.first)).collect();
        firsts.dedup();
        Ok(Some(OccupiedCells::new(grid, &firsts, true)))
    }

    /// Whether every code is one cell, rather than a bin.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Whether a code may stand for several values.
    pub fn are_coarse(&self) -> bool {
        self.cells.iter().any(|cell| cell.first < cell.last)
    }

    /// Whether there is nothing below (above) a cell's first (last) key.
    pub fn is_open(&self, cell: GridCell) -> (bool, bool) {
        let reach = self.grid.reach();
        let open = self.grid.domain.is_none();
        (open && cell.first <= reach.first, open && cell.last >= reach.last)
    }

    /// The label of the keys from the beginning of a cell to the end of a cell.
    pub fn text(&self, keys: GridCell) -> String {
        let (scale, GridCell { first, last }) = (self.scale(), keys);
        if first == last {
            return scale.text(first);
        }
        if scale == Scale::Boolean {
            return range_label(None, None);
        }
        let (below, above) = self.is_open(keys);
        let low = (!below).then(|| scale.text(first));
        match self.grid.domain {
            Some(domain) if domain.last == last => format!("[{},{}]", scale.text(first), scale.text(last)),
            _ => range_label(low.as_deref(), (!above).then(|| scale.text(last + 1)).as_deref()),
        }
    }

    /// Where each code lies on the axis of the column. Open ends and infinities lie at the outermost finite number.
    pub fn places(&self) -> Vec<f64> {
        let scale = self.scale();
        let place = |cell: &GridCell| match self.is_open(*cell) {
            (false, _) => Some(scale.coordinate(cell.first)),
            (true, false) => Some(scale.coordinate(cell.last)),
            (true, true) => None,
        };
        let places: Vec<f64> = self.cells.iter().map(|cell| place(cell).unwrap_or(0.0)).collect();
        let finite = || places.iter().copied().filter(|place| place.is_finite());
        let (low, high) = (finite().fold(f64::MAX, f64::min), finite().fold(f64::MIN, f64::max));
        if low > high {
            return vec![0.0; places.len()];
        }
        places.into_iter().map(|place| place.clamp(low, high)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::End;
    use arrow_schema::TimeUnit;
    use proptest::prelude::*;

    fn end(text: &str) -> End {
        End { text: text.to_string(), number: parse_fraction(text) }
    }

    fn grid(scale: Scale, domain: Option<[&str; 2]>, grid: Option<Grid>) -> ColumnGrid {
        let quasi = Quasi { domain: domain.map(|ends| ends.map(end)), grid, ..Quasi::plain("q") };
        ColumnGrid::of(&quasi, scale).unwrap()
    }

    /// Cells hold their keys, every key of a cell has that cell, and cells follow each other without a gap.
    fn assert_cells(grid: &ColumnGrid, key: i64) {
        let Some(cell) = grid.cell(key) else { return };
        assert!(cell.holds(key), "{grid:?} {key} {cell:?}");
        for inside in [cell.first, cell.last, cell.first.midpoint(cell.last)] {
            assert_eq!(grid.cell(inside), Some(cell), "{grid:?} {key} {inside}");
        }
        let next = cell.last.checked_add(1).filter(|&next| grid.reach().holds(next));
        if let Some(next) = next.and_then(|next| grid.cell(next)) {
            assert_eq!(next.first, cell.last + 1, "{grid:?} {key}");
        }
    }

    proptest! {
        #[test]
        fn cells_divide_the_keys(key in prop_oneof![any::<i64>(), -1000i64..1000], width in 1u64..2000, part in 1u64..9) {
            let width = || Some(Grid::Width(ratio(width, part)));
            for scale in [Scale::Integer, Scale::Decimal(2), Scale::Decimal(-1)] {
                assert_cells(&grid(scale, None, width()), key);
                assert_cells(&grid(scale, None, None), key);
                assert_cells(&grid(scale, Some(["-300", "700"]), width()), key);
                assert_cells(&grid(scale, Some(["-300", "700"]), None), key);
            }
            for (_, level) in DateLevel::NAMES {
                let day = key.rem_euclid(1 << 20) - (1 << 19);
                assert_cells(&grid(Scale::Date, None, Some(Grid::Date(level))), day);
                assert_cells(&grid(Scale::Timestamp(TimeUnit::Nanosecond), None, Some(Grid::Date(level))), key);
                assert_cells(&grid(Scale::Timestamp(TimeUnit::Second), None, Some(Grid::Date(level))), key);
            }
        }

        #[test]
        fn cells_divide_the_floats(value in any::<f64>(), near in -1e6f64..1e6, width in 1u64..2000, part in 1u64..9) {
            for value in [value, near].into_iter().filter(|value| !value.is_nan()) {
                let key = float_key(value);
                assert_cells(&grid(Scale::Float, None, None), key);
                assert_cells(&grid(Scale::Float, None, Some(Grid::Width(ratio(width, part)))), key);
                assert_cells(&grid(Scale::Float, Some(["-2.5", "1e5"]), None), key);
            }
        }
    }

    #[test]
    fn a_domain_has_twenty_to_fifty_cells() {
        let cells = |scale: Scale, domain: [&str; 2]| {
            let grid = grid(scale, Some(domain), None);
            let mut cell = grid.cell(scale.parse(domain[0]).unwrap());
            let mut texts = vec![];
            while let Some(GridCell { first, last }) = cell {
                texts.push(scale.text(first));
                cell = grid.cell(last + 1);
            }
            (texts.len(), texts[1].clone())
        };
        let of = |many: usize, second: &str| (many, second.to_string());
        assert_eq!(cells(Scale::Integer, ["0", "100"]), of(20, "5"));
        assert_eq!(cells(Scale::Integer, ["17", "90"]), of(37, "18"));
        assert_eq!(cells(Scale::Integer, ["0", "9"]), of(10, "1"));
        assert_eq!(cells(Scale::Float, ["0", "1"]), of(20, "0.05"));
        assert_eq!(cells(Scale::Decimal(2), ["0", "1"]), of(20, "0.05"));
        assert_eq!(cells(Scale::Decimal(0), ["0", "1"]), of(2, "1"));
        assert_eq!(cells(Scale::Date, ["1920-05-01", "2019-12-31"]), of(100, "1921-01-01"));
        assert_eq!(cells(Scale::Date, ["2020-01-01", "2022-01-01"]), of(24, "2020-02-01"));
        assert_eq!(
            cells(Scale::Timestamp(TimeUnit::Second), ["2020-01-01", "2020-01-02"]),
            of(24, "2020-01-01T01:00:00")
        );
    }

    #[test]
    fn outside_of_the_domain_there_is_no_cell() {
        let grid = grid(Scale::Float, Some(["0", "1"]), None);
        let none = |value: f64| grid.cell(float_key(value)).is_none();
        assert!(none(-0.001) && none(1.001) && none(f64::INFINITY) && !none(1.0) && !none(0.0));
    }

    #[test]
    fn bins_begin_at_cells_and_reach_to_the_ends() {
        let ordered = OccupiedCells::new(grid(Scale::Integer, None, None), &[10, 20, 35], false);
        assert_eq!(
            [i64::MIN, 10, 19, 20, 34, 35, i64::MAX].map(|key| ordered.code(key).unwrap()),
            [0, 0, 0, 1, 1, 2, 2]
        );
        assert_eq!(ordered.text(ordered.cells()[0]), "(,20)");
        assert_eq!(ordered.text(ordered.cells()[1]), "[20,35)");
        assert!(ordered.places().iter().all(|place| (19.0..=35.0).contains(place)));
    }
}

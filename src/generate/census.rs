//! The people of an invented country.
//!
//! Place, age, sex, education, marital status, occupation, industry and diagnosis are drawn in this order, each
//! conditional on the relevant preceding ones in [`super::marginals`]. The country is the same for every seed.
//!
//! `region`, `county` and `tract` are texts of 1, 3 and 6 digits; each is a prefix of the next. `person_id` identifies
//! a person and is to be dropped; `cost` is the cost of the year, in whole units.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array};
use arrow_schema::{DataType, Field, Schema};

use super::draw::{Draw, WeightedChoice};
use super::marginals::*;
use super::synthetic::ColumnLabels;
use crate::table::kind::text_type;

/// The label columns, in table order; `age` is before `sex`, `cost` at the end.
const LABEL_COLUMNS: [&str; 9] =
    ["sex", "region", "county", "tract", "education", "marital", "occupation", "industry", "diagnosis"];

/// The data shared by all people before one is drawn.
pub(super) struct Country {
    labels: [ColumnLabels; LABEL_COLUMNS.len()],
    place: WeightedChoice,
    /// Region, county and setting of each tract, as indices of their labels and of [`SETTINGS`].
    tracts: Vec<(i32, i32, usize)>,
    /// By setting.
    age: Vec<WeightedChoice>,
    /// By setting and band of age.
    education: Vec<Vec<WeightedChoice>>,
    /// By sex and band of age.
    marital: Vec<Vec<WeightedChoice>>,
    /// By sex and level of education.
    occupation: Vec<Vec<WeightedChoice>>,
    /// By setting and occupation.
    industry: Vec<Vec<WeightedChoice>>,
    /// By setting, sex and band of age.
    diagnosis: Vec<Vec<Vec<WeightedChoice>>>,
}

struct Person {
    age: i32,
    labels: [i32; LABEL_COLUMNS.len()],
    cost: i32,
}

impl Country {
    pub fn schema() -> Schema {
        let mut fields =
            vec![Field::new("person_id", DataType::Int64, false), Field::new("age", DataType::Int32, false)];
        fields.extend(LABEL_COLUMNS.map(|name| Field::new(name, text_type(), false)));
        fields.push(Field::new("cost", DataType::Int32, false));
        Schema::new(fields)
    }

    pub fn new() -> Self {
        let map = Map::draw();
        let by_setting =
            |choice: &dyn Fn(MarginalSetting) -> Vec<WeightedChoice>| SETTINGS.map(choice).to_vec();
        let by_sex =
            |choice: &dyn Fn(usize) -> Vec<WeightedChoice>| (0..SEXES.len()).map(choice).collect::<Vec<_>>();
        Country {
            labels: [
                ColumnLabels::new(SEXES),
                ColumnLabels::new(&map.regions),
                ColumnLabels::new(&map.counties),
                ColumnLabels::new(&map.tracts),
                ColumnLabels::new(EDUCATION),
                ColumnLabels::new(MARITAL),
                ColumnLabels::new(OCCUPATION),
                ColumnLabels::new(INDUSTRY),
                ColumnLabels::new(DIAGNOSES.iter().map(|diagnosis| diagnosis.name)),
            ],
            place: WeightedChoice::new(map.weights),
            tracts: map.places,
            age: SETTINGS
                .map(|setting| {
                    WeightedChoice::new((0..=OLDEST).map(|age| pyramid(age) * pyramid_tilt(setting, age)))
                })
                .to_vec(),
            education: by_setting(&|setting| {
                EDUCATION_BY_AGE
                    .map(|(_, weights)| tilted(&weights, |level| education_tilt(setting, level)))
                    .to_vec()
            }),
            marital: by_sex(&|sex| {
                MARITAL_BY_AGE
                    .map(|(_, weights)| tilted(&weights, |status| marital_tilt(sex, status)))
                    .to_vec()
            }),
            occupation: by_sex(&|sex| {
                OCCUPATION_BY_EDUCATION
                    .map(|weights| {
                        tilted(&weights, |i| if sex == FEMALE { OCCUPATION_OF_WOMEN[i] } else { 100 })
                    })
                    .to_vec()
            }),
            industry: by_setting(&|setting| {
                INDUSTRY_BY_OCCUPATION
                    .map(|weights| tilted(&weights, |i| industry_tilt(setting, FIRST_INDUSTRY + i)))
                    .to_vec()
            }),
            diagnosis: (0..SETTINGS.len())
                .map(|setting| {
                    by_sex(&|sex| (0..DIAGNOSIS_AGES.len()).map(|b| diagnoses(setting, sex, b)).collect())
                })
                .collect(),
        }
    }

    pub fn columns(&self, seed: u64, rows: Range<u64>) -> Vec<ArrayRef> {
        let count = (rows.end - rows.start) as usize;
        let mut ages = Vec::with_capacity(count);
        let mut costs = Vec::with_capacity(count);
        let mut codes: [Vec<i32>; LABEL_COLUMNS.len()] = std::array::from_fn(|_| Vec::with_capacity(count));
        for row in rows.clone() {
            let person = self.person(&mut Draw::of_row(seed, row));
            ages.push(person.age);
            costs.push(person.cost);
            for (column, code) in codes.iter_mut().zip(person.labels) {
                column.push(code);
            }
        }
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(rows.map(|row| row as i64 + 1))),
            Arc::new(Int32Array::from(ages)),
        ];
        columns.extend(self.labels.iter().zip(codes).map(|(labels, codes)| labels.column(codes)));
        columns.push(Arc::new(Int32Array::from(costs)));
        columns
    }

    fn person(&self, draw: &mut Draw) -> Person {
        let tract = self.place.draw(draw);
        let (region, county, setting) = self.tracts[tract];
        let age = self.age[setting].draw(draw) as u32;
        let sex = usize::from(draw.percent(percent_male(age)));
        let education = self.education[setting][band(age, EDUCATION_BY_AGE.map(|(last, _)| last))].draw(draw);
        let marital = self.marital[sex][band(age, MARITAL_BY_AGE.map(|(last, _)| last))].draw(draw);
        let occupation = if !draw.percent(percent_in_labour_force(age, sex)) {
            NOT_IN_LABOUR_FORCE
        } else if draw.percent(percent_unemployed(education)) {
            UNEMPLOYED
        } else {
            FIRST_OCCUPATION + self.occupation[sex][education].draw(draw)
        };
        let industry = match occupation.checked_sub(FIRST_OCCUPATION) {
            Some(works_as) => FIRST_INDUSTRY + self.industry[setting][works_as].draw(draw),
            None => NO_INDUSTRY,
        };
        let diagnosis = self.diagnosis[setting][sex][band(age, DIAGNOSIS_AGES)].draw(draw);
        Person {
            age: age as i32,
            labels: [
                sex as i32,
                region,
                county,
                tract as i32,
                education as i32,
                marital as i32,
                occupation as i32,
                industry as i32,
                diagnosis as i32,
            ],
            cost: cost(draw, DIAGNOSES[diagnosis].cost),
        }
    }
}

/// Regions, counties and tracts with their codes.
struct Map {
    regions: Vec<String>,
    counties: Vec<String>,
    tracts: Vec<String>,
    places: Vec<(i32, i32, usize)>,
    weights: Vec<u32>,
}

impl Map {
    fn draw() -> Self {
        let (mut regions, mut counties, mut tracts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut places, mut weights) = (Vec::new(), Vec::new());
        for (region, (people, county_count, setting)) in (1u32..).zip(REGIONS) {
            regions.push(format!("{region}"));
            let tract_count: u32 = (1..=county_count).map(tracts_of).sum();
            let setting = setting as usize;
            for county in 1..=county_count {
                counties.push(format!("{region}{county:02}"));
                for tract in 1..=tracts_of(county) {
                    tracts.push(format!("{region}{county:02}{tract:03}"));
                    places.push((regions.len() as i32 - 1, counties.len() as i32 - 1, setting));
                    // Tracts of a region differ in size by at most a factor of two.
                    let size =
                        100 + Draw::of_row(u64::from(region * 100 + county), u64::from(tract)).below(101);
                    weights.push(people * 100 * size / tract_count);
                }
            }
        }
        Map { regions, counties, tracts, places, weights }
    }
}

fn pyramid(age: u32) -> u32 {
    let upper = PYRAMID.partition_point(|&(corner, _)| corner < age);
    let (to_age, to) = PYRAMID[upper];
    if to_age == age {
        return to;
    }
    let (from_age, from) = PYRAMID[upper - 1];
    (from * (to_age - age) + to * (age - from_age)) / (to_age - from_age)
}

/// The band that contains `age`, given the last age of each; the last one is [`OLDEST`].
fn band<const BANDS: usize>(age: u32, last_ages: [u32; BANDS]) -> usize {
    last_ages.iter().take_while(|&&last| last < age).count()
}

fn tilted(weights: &[u32], percent: impl Fn(usize) -> u32) -> WeightedChoice {
    WeightedChoice::new(weights.iter().enumerate().map(|(index, weight)| weight * percent(index)))
}

fn diagnoses(setting: usize, sex: usize, band: usize) -> WeightedChoice {
    WeightedChoice::new(DIAGNOSES.iter().map(|diagnosis| {
        let of_sex = if sex == FEMALE { 100 } else { diagnosis.men };
        diagnosis.by_age[band] * of_sex * diagnosis.by_setting[setting] / 100
    }))
}

/// Around `usual`, rarely three times that, rounded to tens.
fn cost(draw: &mut Draw, usual: i32) -> i32 {
    let around = usual * (draw.between(40, 160) + draw.between(40, 160)) / 200;
    let cost = if draw.percent(4) { around * 3 } else { around };
    cost / 10 * 10
}

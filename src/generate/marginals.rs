//! Who lives in the invented country?
//!
//! All numbers here are made up: plausible shapes for a country that does not exist, not estimates for one that does.
//! The weights in a row need not have a particular sum.

/// The character of a region; most marginals depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarginalSetting {
    Capital,
    Industrial,
    Mixed,
    Rural,
}

pub(super) const SETTINGS: [MarginalSetting; 4] =
    [MarginalSetting::Capital, MarginalSetting::Industrial, MarginalSetting::Mixed, MarginalSetting::Rural];

/// People per mille, number of counties, setting. Region numbers count from 1 and have one digit.
pub(super) const REGIONS: [(u32, u32, MarginalSetting); 8] = [
    (260, 8, MarginalSetting::Capital),
    (180, 8, MarginalSetting::Industrial),
    (140, 9, MarginalSetting::Mixed),
    (120, 7, MarginalSetting::Rural),
    (100, 7, MarginalSetting::Industrial),
    (80, 6, MarginalSetting::Rural),
    (70, 5, MarginalSetting::Mixed),
    (50, 5, MarginalSetting::Rural),
];

/// Number of tracts of the county with this number in its region: the first county contains the largest town.
pub(super) fn tracts_of(county: u32) -> u32 {
    12 + 36 / county
}

pub(super) const OLDEST: u32 = 99;

/// Corners of the age pyramid, joined by straight lines: age, weight.
pub(super) const PYRAMID: [(u32, u32); 9] =
    [(0, 1000), (20, 1120), (35, 1300), (50, 1380), (65, 1100), (75, 750), (85, 320), (95, 50), (OLDEST, 10)];

/// How a setting modifies the pyramid, in percent.
pub(super) fn pyramid_tilt(setting: MarginalSetting, age: u32) -> u32 {
    match (setting, age) {
        (MarginalSetting::Capital, 20..=39) => 135,
        (MarginalSetting::Capital, 65..) => 75,
        (MarginalSetting::Rural, 20..=39) => 75,
        (MarginalSetting::Rural, 65..) => 130,
        _ => 100,
    }
}

pub(super) const SEXES: [&str; 2] = ["female", "male"];
pub(super) const FEMALE: usize = 0;

pub(super) fn percent_male(age: u32) -> u32 {
    match age {
        0..=39 => 51,
        40..=59 => 50,
        60..=69 => 48,
        70..=79 => 43,
        80..=89 => 34,
        _ => 25,
    }
}

/// In ascending order.
pub(super) const EDUCATION: [&str; 8] = [
    "No schooling",
    "Primary",
    "Lower secondary",
    "Upper secondary",
    "Vocational",
    "Bachelor",
    "Master",
    "Doctorate",
];
const FIRST_DEGREE: usize = 5;

/// Last age of a band, weights of [`EDUCATION`].
pub(super) const EDUCATION_BY_AGE: [(u32, [u32; 8]); 8] = [
    (5, [100, 0, 0, 0, 0, 0, 0, 0]),
    (11, [22, 78, 0, 0, 0, 0, 0, 0]),
    (15, [2, 33, 65, 0, 0, 0, 0, 0]),
    (18, [1, 4, 58, 33, 4, 0, 0, 0]),
    (24, [1, 3, 14, 46, 20, 15, 1, 0]),
    (44, [1, 4, 10, 26, 24, 21, 12, 2]),
    (64, [2, 8, 15, 27, 26, 13, 8, 1]),
    (OLDEST, [6, 20, 22, 22, 20, 6, 3, 1]),
];

pub(super) fn education_tilt(setting: MarginalSetting, level: usize) -> u32 {
    match setting {
        MarginalSetting::Capital if level >= FIRST_DEGREE => 170,
        MarginalSetting::Rural if level >= FIRST_DEGREE => 60,
        _ => 100,
    }
}

pub(super) const MARITAL: [&str; 6] =
    ["Never married", "Partnership", "Married", "Separated", "Divorced", "Widowed"];
const WIDOWED: usize = 5;

/// Last age of a band, weights of [`MARITAL`].
pub(super) const MARITAL_BY_AGE: [(u32, [u32; 6]); 8] = [
    (15, [100, 0, 0, 0, 0, 0]),
    (19, [96, 3, 1, 0, 0, 0]),
    (24, [78, 14, 7, 1, 0, 0]),
    (34, [46, 22, 28, 2, 2, 0]),
    (49, [22, 14, 50, 4, 9, 1]),
    (64, [11, 8, 58, 4, 15, 4]),
    (79, [6, 4, 60, 2, 12, 16]),
    (OLDEST, [5, 2, 38, 1, 6, 48]),
];

pub(super) fn marital_tilt(sex: usize, status: usize) -> u32 {
    match (sex, status) {
        (FEMALE, WIDOWED) => 180,
        (_, WIDOWED) => 50,
        _ => 100,
    }
}

/// Out of work first, then the ten occupations.
pub(super) const OCCUPATION: [&str; 12] = [
    "Not in labour force",
    "Unemployed",
    "Manager",
    "Professional",
    "Technician",
    "Clerk",
    "Sales and service",
    "Farm worker",
    "Craft worker",
    "Machine operator",
    "Elementary",
    "Armed forces",
];
pub(super) const NOT_IN_LABOUR_FORCE: usize = 0;
pub(super) const UNEMPLOYED: usize = 1;
pub(super) const FIRST_OCCUPATION: usize = 2;

pub(super) fn percent_in_labour_force(age: u32, sex: usize) -> u32 {
    match (age, sex) {
        (0..=15, _) => 0,
        (16..=18, _) => 18,
        (19..=24, _) => 58,
        (25..=59, FEMALE) => 79,
        (25..=59, _) => 88,
        (60..=66, _) => 48,
        (67..=74, _) => 9,
        _ => 2,
    }
}

pub(super) fn percent_unemployed(education: usize) -> u32 {
    match education {
        0..=2 => 12,
        3..=4 => 6,
        _ => 3,
    }
}

/// By level of [`EDUCATION`]: weights of the ten occupations.
pub(super) const OCCUPATION_BY_EDUCATION: [[u32; 10]; 8] = [
    [1, 0, 1, 2, 20, 18, 17, 15, 26, 0],
    [1, 0, 1, 3, 22, 14, 18, 16, 25, 0],
    [2, 0, 3, 7, 26, 8, 19, 16, 18, 1],
    [5, 3, 12, 16, 26, 4, 13, 11, 8, 2],
    [6, 4, 18, 12, 20, 4, 22, 10, 3, 1],
    [14, 34, 22, 13, 11, 1, 2, 1, 1, 1],
    [20, 56, 13, 5, 3, 1, 1, 0, 0, 1],
    [14, 78, 5, 1, 1, 0, 0, 0, 0, 1],
];

/// How women's occupations differ, in percent.
pub(super) const OCCUPATION_OF_WOMEN: [u32; 10] = [70, 115, 95, 200, 150, 60, 15, 35, 110, 20];

pub(super) const INDUSTRY: [&str; 13] = [
    "None",
    "Agriculture",
    "Manufacturing",
    "Construction",
    "Trade",
    "Transport",
    "Hospitality",
    "Information",
    "Finance",
    "Public administration",
    "Education",
    "Health",
    "Other services",
];
pub(super) const NO_INDUSTRY: usize = 0;
pub(super) const FIRST_INDUSTRY: usize = 1;

/// By occupation: weights of the twelve industries.
pub(super) const INDUSTRY_BY_OCCUPATION: [[u32; 12]; 10] = [
    [2, 16, 8, 18, 5, 7, 9, 10, 9, 6, 6, 4],
    [0, 8, 3, 4, 1, 0, 16, 10, 10, 26, 20, 2],
    [1, 18, 7, 10, 5, 1, 15, 10, 12, 4, 14, 3],
    [1, 10, 4, 16, 10, 3, 6, 16, 18, 5, 8, 3],
    [0, 1, 0, 44, 2, 22, 1, 1, 7, 3, 12, 7],
    [96, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1],
    [1, 40, 42, 6, 4, 1, 1, 0, 2, 0, 0, 3],
    [3, 48, 7, 4, 32, 0, 1, 0, 2, 0, 0, 3],
    [8, 16, 12, 14, 8, 16, 1, 1, 6, 5, 7, 6],
    [0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0],
];

pub(super) fn industry_tilt(setting: MarginalSetting, industry: usize) -> u32 {
    match (setting, INDUSTRY[industry]) {
        (MarginalSetting::Rural, "Agriculture") => 250,
        (MarginalSetting::Capital, "Agriculture") => 25,
        (MarginalSetting::Industrial, "Manufacturing") => 180,
        (MarginalSetting::Capital, "Information" | "Finance" | "Public administration") => 180,
        _ => 100,
    }
}

/// A diagnosis: its weight by band of age, how men and the four settings change it (in percent), and what a year of
/// treatment costs.
pub(super) struct Diagnosis {
    pub name: &'static str,
    pub by_age: [u32; 6],
    pub men: u32,
    pub by_setting: [u32; 4],
    pub cost: i32,
}

/// Last ages of the bands of [`Diagnosis::by_age`].
pub(super) const DIAGNOSIS_AGES: [u32; 6] = [14, 29, 44, 59, 74, OLDEST];

const fn diagnosis(
    name: &'static str,
    by_age: [u32; 6],
    men: u32,
    by_setting: [u32; 4],
    cost: i32,
) -> Diagnosis {
    Diagnosis { name, by_age, men, by_setting, cost }
}

const EVERYWHERE: [u32; 4] = [100, 100, 100, 100];

/// Common ones first. Healthy people are a moderate majority, so that safe releases exist.
pub(super) const DIAGNOSES: [Diagnosis; 26] = [
    diagnosis("None", [3400, 3300, 2900, 2100, 1300, 800], 110, [100, 90, 100, 105], 150),
    diagnosis("Respiratory infection", [1800, 1100, 900, 700, 600, 700], 100, [110, 125, 100, 85], 320),
    diagnosis("Hypertension", [2, 60, 400, 1200, 1900, 2000], 110, [90, 105, 100, 110], 700),
    diagnosis("Allergy", [1100, 1000, 800, 600, 400, 300], 85, [125, 110, 100, 75], 280),
    diagnosis("Injury", [900, 1100, 900, 800, 800, 1000], 145, [85, 105, 100, 125], 1900),
    diagnosis("Back pain", [20, 450, 1000, 1300, 1200, 900], 95, [85, 115, 100, 115], 900),
    diagnosis("Digestive disorder", [450, 500, 600, 650, 700, 700], 95, EVERYWHERE, 1100),
    diagnosis("Skin condition", [700, 600, 400, 350, 350, 350], 95, EVERYWHERE, 400),
    diagnosis("Anxiety", [120, 600, 600, 500, 350, 250], 60, [140, 100, 95, 75], 1300),
    diagnosis("Depression", [40, 500, 550, 550, 400, 350], 60, [125, 105, 95, 85], 2100),
    diagnosis("Arthritis", [5, 30, 120, 450, 900, 1000], 65, [85, 110, 100, 115], 1500),
    diagnosis("Heart disease", [10, 20, 80, 400, 1000, 1500], 140, [85, 115, 100, 110], 5200),
    diagnosis("Diabetes", [20, 40, 150, 500, 900, 850], 115, [85, 110, 100, 115], 2600),
    diagnosis("Asthma", [500, 350, 300, 280, 260, 220], 90, [110, 140, 95, 80], 1000),
    diagnosis("Obesity", [100, 200, 350, 450, 400, 200], 100, [80, 110, 100, 115], 1200),
    diagnosis("Migraine", [100, 350, 400, 300, 150, 80], 40, [110, 100, 100, 95], 800),
    diagnosis("Thyroid disorder", [10, 80, 180, 260, 280, 240], 30, EVERYWHERE, 600),
    diagnosis("Cancer", [8, 20, 80, 250, 500, 550], 105, [95, 120, 100, 100], 14_000),
    diagnosis("Kidney disease", [5, 15, 40, 100, 250, 400], 110, EVERYWHERE, 9_000),
    diagnosis("Dementia", [1, 1, 2, 12, 120, 800], 75, EVERYWHERE, 11_000),
    diagnosis("Substance dependence", [2, 160, 200, 170, 80, 20], 210, [150, 110, 85, 70], 3_400),
    diagnosis("Stroke", [1, 4, 15, 70, 200, 400], 120, [90, 110, 100, 110], 12_000),
    diagnosis("Epilepsy", [60, 50, 45, 45, 60, 70], 105, EVERYWHERE, 2_400),
    diagnosis("Hepatitis", [5, 30, 45, 60, 50, 30], 150, [130, 100, 90, 80], 6_500),
    diagnosis("HIV", [1, 35, 60, 50, 15, 4], 220, [230, 90, 80, 50], 9_500),
    diagnosis("Tuberculosis", [6, 15, 18, 20, 22, 25], 140, [150, 120, 80, 80], 4_800),
];

//! Generated texts, questions and vectors, the same in each run.

/// The number of different words.
const VOCABULARY: u64 = 50_000;

/// The number of subjects that texts are about.
const SUBJECTS: u64 = 2_000;

/// The length of the vectors.
pub(crate) const DIMENSIONS: usize = 384;

pub(crate) struct Corpus {
    pub(crate) count: u64,
    /// The vector of each subject.
    subjects: Vec<Vec<f32>>,
}

impl Corpus {
    pub(crate) fn new(count: u64) -> Self {
        let subject = |number| {
            let mut random = fastrand::Rng::with_seed(number);
            (0..DIMENSIONS).map(|_| random.f32() - 0.5).collect()
        };
        Self { count, subjects: (0..SUBJECTS).map(subject).collect() }
    }

    /// Returns a text of 30 to 90 words. Frequent words are far more frequent than others, as in
    /// any language (Zipf).
    pub(crate) fn text(&self, number: u64) -> String {
        let mut random = fastrand::Rng::with_seed(number.wrapping_add(1 << 40));
        let len = random.u32(30..90);
        let mut text = format!("subject{} ", number % SUBJECTS);
        for _ in 0..len {
            text.push_str(&word(rank(&mut random)));
            text.push(' ');
        }
        text
    }

    /// Returns a question of three words, which are not the most frequent ones.
    pub(crate) fn query(&self, number: u64) -> String {
        let mut random = fastrand::Rng::with_seed(number.wrapping_add(1 << 50));
        let mut next = || loop {
            let rank = rank(&mut random);
            if rank > 100 {
                break word(rank);
            }
        };
        [next(), next(), next()].join(" ")
    }

    /// Returns the vector of a text: near that of its subject, which a question lacks.
    pub(crate) fn vector(&self, text: &str) -> Vec<f32> {
        let seed = text.bytes().fold(7_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(5)
        });
        let mut random = fastrand::Rng::with_seed(seed);
        let subject = text.strip_prefix("subject").and_then(|rest| rest.split(' ').next());
        let subject = subject.and_then(|it| it.parse().ok()).unwrap_or(seed % SUBJECTS);
        let subject = &self.subjects[usize::try_from(subject).expect("an index")];
        let mut vector: Vec<f32> =
            subject.iter().map(|component| component + 0.6 * (random.f32() - 0.5)).collect();
        let norm = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|component| *component /= norm);
        vector
    }
}

/// Returns the rank of a word: rank `r` is about as frequent as `1 / r`.
fn rank(random: &mut fastrand::Rng) -> u64 {
    (random.f64() * (VOCABULARY as f64).ln()).exp() as u64
}

/// Returns the word of a rank.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "co", "di", "fu", "ge", "ha", "jo", "ki", "lu", "me", "na", "po", "ri", "su", "te",
        "vo",
    ];
    let mut rest = rank + 16;
    let mut word = String::new();
    while rest > 0 {
        word.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    word
}

//! SipHash-2-4 with 128 bits of output, fed with whole words: for one message, or for many at once.
//!
//! Memory: 16 KiB for the messages that are hashed at once.

/// How many messages are hashed at once: their states stay in the nearest cache.
pub(super) const LANES: usize = 512;

/// The words that are next in each of the messages.
pub(super) type LaneWords = [u64; LANES];

/// The hash of a message so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct SipState([u64; 4]);

impl SipState {
    /// The hash of an empty message under this key.
    pub fn new(key0: u64, key1: u64) -> Self {
        SipState([
            key0 ^ 0x736f_6d65_7073_6575,
            key1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            key0 ^ 0x6c79_6765_6e65_7261,
            key1 ^ 0x7465_6462_7974_6573,
        ])
    }

    #[inline(always)]
    fn round(&mut self) {
        let [a, b, c, d] = &mut self.0;
        *a = a.wrapping_add(*b);
        *b = b.rotate_left(13) ^ *a;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*d);
        *d = d.rotate_left(16) ^ *c;
        *a = a.wrapping_add(*d);
        *d = d.rotate_left(21) ^ *a;
        *c = c.wrapping_add(*b);
        *b = b.rotate_left(17) ^ *c;
        *c = c.rotate_left(32);
    }

    /// Adds a word.
    #[inline(always)]
    pub fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    #[inline(always)]
    fn four_rounds(&mut self) -> u64 {
        self.round();
        self.round();
        self.round();
        self.round();
        self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3]
    }

    /// The low and the high half of the hash.
    #[inline(always)]
    fn halves(mut self) -> [u64; 2] {
        self.0[2] ^= 0xee;
        let low = self.four_rounds();
        self.0[1] ^= 0xdd;
        [low, self.four_rounds()]
    }

    /// The hash.
    pub fn finish(self) -> u128 {
        joined(self.halves())
    }
}

fn joined([low, high]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// The hashes of many messages so far, one word of all states after the other: loops over them become vector instructions.
pub(super) struct SipLanes([LaneWords; 4]);

impl SipLanes {
    /// No messages yet.
    pub const EMPTY: SipLanes = SipLanes([[0; LANES]; 4]);

    /// Begins messages anew, all of them like this one.
    pub fn begin(&mut self, start: SipState) {
        self.0.iter_mut().zip(start.0).for_each(|(words, word)| words.fill(word));
    }

    /// Adds a word to each message.
    pub fn absorb(&mut self, words: &LaneWords) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.absorb_with_avx512(words) };
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.absorb_with_avx2(words) };
        }
        self.absorb_each(words);
    }

    /// Ends the messages, and passes on the hashes of the first of them.
    pub fn finish(&mut self, messages: usize, mut sink: impl FnMut(u128)) {
        self.turn_into_halves();
        let [low, high, ..] = &self.0;
        low.iter().zip(high).take(messages).for_each(|(&low, &high)| sink(joined([low, high])));
    }

    /// The low halves of the hashes become the first words, the high halves the second.
    fn turn_into_halves(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.turn_into_halves_with_avx512() };
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.turn_into_halves_with_avx2() };
        }
        self.turn_each_into_halves();
    }

    /// There, a rotation is one instruction, for eight words.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn absorb_with_avx512(&mut self, words: &LaneWords) {
        self.absorb_each(words);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn turn_into_halves_with_avx512(&mut self) {
        self.turn_each_into_halves();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn absorb_with_avx2(&mut self, words: &LaneWords) {
        self.absorb_each(words);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn turn_into_halves_with_avx2(&mut self) {
        self.turn_each_into_halves();
    }

    #[inline(always)]
    fn absorb_each(&mut self, words: &LaneWords) {
        let [a, b, c, d] = &mut self.0;
        for i in 0..LANES {
            let mut state = SipState([a[i], b[i], c[i], d[i]]);
            state.absorb(words[i]);
            [a[i], b[i], c[i], d[i]] = state.0;
        }
    }

    #[inline(always)]
    fn turn_each_into_halves(&mut self) {
        let [a, b, c, d] = &mut self.0;
        for i in 0..LANES {
            [a[i], b[i]] = SipState([a[i], b[i], c[i], d[i]]).halves();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(at: u8) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| at + i as u8))
    }

    /// Of the reference implementation: the key 0..16, the message 0..15, whose last word holds its length.
    #[test]
    fn gives_the_published_answer() {
        let mut state = SipState::new(word(0), word(8));
        state.absorb(word(0));
        state.absorb(word(8) & 0x00ff_ffff_ffff_ffff | 15 << 56);
        let expected: [u8; 16] =
            [0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf, 0xc3, 0xd9];
        assert_eq!(state.finish().to_le_bytes(), expected);
    }

    #[test]
    fn many_messages_are_hashed_as_one_is() {
        let start = SipState::new(word(3), word(11));
        let words: Vec<LaneWords> = (0..3)
            .map(|place| {
                std::array::from_fn(|lane| (lane as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 + place))
            })
            .collect();
        let hashes = |absorb: &dyn Fn(&mut SipLanes, &LaneWords), finish: &dyn Fn(&mut SipLanes)| {
            let mut lanes = SipLanes::EMPTY;
            lanes.begin(start);
            words.iter().for_each(|words| absorb(&mut lanes, words));
            finish(&mut lanes);
            let [low, high, ..] = lanes.0;
            low.into_iter().zip(high).map(|(low, high)| joined([low, high])).collect::<Vec<_>>()
        };
        let one = |lane: usize| {
            let mut state = start;
            words.iter().for_each(|words| state.absorb(words[lane]));
            state.finish()
        };
        let expected: Vec<_> = (0..LANES).map(one).collect();
        assert_eq!(hashes(&SipLanes::absorb, &SipLanes::turn_into_halves), expected);
        assert_eq!(hashes(&SipLanes::absorb_each, &SipLanes::turn_each_into_halves), expected);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            let absorb = |lanes: &mut SipLanes, words: &LaneWords| unsafe { lanes.absorb_with_avx2(words) };
            // SAFETY: as above.
            let finish = |lanes: &mut SipLanes| unsafe { lanes.turn_into_halves_with_avx2() };
            assert_eq!(hashes(&absorb, &finish), expected);
        }
    }
}

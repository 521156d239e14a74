//! Columns of 32-bit numbers that are sent: the length of each number in bits, which compresses well, and apart from
//! it the bits below its highest one, which do not compress. Byte by byte, compression would mix the two kinds: a node's
//! memory took 13.6 bytes so, and takes 12.2.

use serde::{Deserialize, Serialize};

/// Numbers in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PackedNumbers {
    /// Lengths in bits, 0 to 32; that of 0 is 0.
    #[serde(with = "serde_bytes")]
    pub(super) lengths: Vec<u8>,
    /// The bits below the highest one of each number, the lowest first, in bytes from their lowest bit up.
    #[serde(with = "serde_bytes")]
    pub(super) bits: Vec<u8>,
}

impl PackedNumbers {
    pub(super) fn of(numbers: impl Iterator<Item = u32>) -> Self {
        let mut packed = Self::default();
        // Bits that do not fill a byte yet, and their count.
        let (mut held, mut count) = (0_u64, 0);
        for number in numbers {
            let length = u32::BITS - number.leading_zeros();
            packed.lengths.push(length as u8);
            let below = length.saturating_sub(1);
            held |= (u64::from(number) & ((1 << below) - 1)) << count;
            count += below;
            while count >= u8::BITS {
                packed.bits.push(held as u8);
                (held, count) = (held >> u8::BITS, count - u8::BITS);
            }
        }
        if count > 0 {
            packed.bits.push(held as u8);
        }
        packed
    }

    /// The numbers; `None` when lengths and bits do not fit together.
    pub(super) fn unpacked(&self) -> Option<Vec<u32>> {
        let (mut held, mut count, mut bits) = (0_u64, 0, self.bits.iter());
        let mut next = |length: &u8| {
            let Some(below) = u32::from(*length).checked_sub(1) else { return Some(0) };
            if below >= u32::BITS {
                return None;
            }
            while count < below {
                held |= u64::from(*bits.next()?) << count;
                count += u8::BITS;
            }
            let number = 1 << below | (held & ((1 << below) - 1)) as u32;
            (held, count) = (held >> below, count - below);
            Some(number)
        };
        let numbers = self.lengths.iter().map(&mut next).collect::<Option<_>>()?;
        (held == 0 && bits.next().is_none()).then_some(numbers)
    }
}

/// Each number's step from the one before it, with small numbers for steps both up and down.
pub(super) fn steps(numbers: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let mut last = 0;
    numbers.map(move |number| unsigned(number.wrapping_sub(std::mem::replace(&mut last, number)).cast_signed()))
}

/// The numbers of these steps.
pub(super) fn of_steps(steps: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    steps.scan(0_u32, |last, step| {
        *last = last.wrapping_add(signed(step).cast_unsigned());
        Some(*last)
    })
}

/// Maps 0, −1, 1, −2, … to 0, 1, 2, 3, ….
pub(super) fn unsigned(number: i32) -> u32 {
    (number << 1 ^ number >> 31).cast_unsigned()
}

pub(super) fn signed(number: u32) -> i32 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [u32; 9] = [0, 1, 2, 3, 77, u32::MAX, 1 << 31, 0x8000_0001, 0];

    #[test]
    fn numbers_of_all_lengths_are_read_as_they_were_written() {
        for numbers in [&NUMBERS[..], &[], &[0, 0], &[1], &[u32::MAX; 5]] {
            assert_eq!(PackedNumbers::of(numbers.iter().copied()).unpacked().as_deref(), Some(numbers));
        }
        let packed = PackedNumbers::of([5, 1, 0, 6].into_iter());
        // 101, 1, nothing and 110: without their highest bits 01 and 10.
        assert_eq!(packed, PackedNumbers { lengths: vec![3, 1, 0, 3], bits: vec![0b1001] });
    }

    #[test]
    fn steps_lead_back_to_the_numbers() {
        assert!(of_steps(steps(NUMBERS.into_iter())).eq(NUMBERS));
        assert!(steps([7, 6, 8].into_iter()).eq([14, 1, 4]));
        for number in [0, 1, -1, i32::MAX, i32::MIN] {
            assert_eq!(signed(unsigned(number)), number);
        }
    }

    #[test]
    fn lengths_and_bits_that_do_not_fit_together_are_refused() {
        let spoil: [fn(&mut PackedNumbers); 5] = [
            |packed| packed.lengths[3] = 33,
            |packed| packed.lengths[5] = 20,
            |packed| packed.lengths.truncate(3),
            |packed| packed.bits.truncate(9),
            |packed| packed.bits.push(0),
        ];
        for spoil in spoil {
            let mut packed = PackedNumbers::of(NUMBERS.into_iter());
            spoil(&mut packed);
            assert_eq!(packed.unpacked(), None);
        }
    }
}

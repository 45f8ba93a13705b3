//! Decoding of what may be base64 or hexadecimal digits in a text.
//!
//! Where an encoded text begins is not known: letters and digits before it may belong to it. So a
//! run of characters is decoded once for each bit at which a byte may begin. Alphabets are not
//! distinguished: `-` is `+`, and `_` is `/`.

use std::ops::Range;

use super::view::View;

/// The number of characters of a run that are decoded at a time, to bound the memory.
const CHUNK: usize = 64 << 10;

/// The number of characters that adjacent chunks share: longer than any encoded pattern.
const OVERLAP: usize = 8 << 10;

/// A kind of encoding, by the bits that a character stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Base64,
    Hex,
}

/// One character of a run: its value, and its range in the view.
type Digit = (u8, Range<usize>);

/// Calls `on_view` with each decoded form of the runs that may contain `min_len` bytes, and of a
/// run at the end if `is_partial`. The second argument is where the characters that are not decoded
/// yet begin in the original text.
pub(super) fn decode(
    view: &View<'_>,
    min_len: usize,
    is_partial: bool,
    mut on_view: impl FnMut(&View<'static>, Option<usize>),
) {
    for encoding in [Encoding::Base64, Encoding::Hex] {
        let per_byte = if encoding == Encoding::Base64 { (4, 3) } else { (2, 1) };
        let min_digits = (min_len * per_byte.0).div_ceil(per_byte.1);
        for_each_run(view.bytes(), encoding, |run, is_last| {
            let is_open = is_partial && is_last;
            if run.len() < min_digits && !is_open {
                return;
            }
            // The last two characters may be a part of a byte that is not complete.
            let tail = run.get(run.len().saturating_sub(2)).filter(|_| is_open);
            let tail = tail.map(|(_, at)| view.source(at.clone()).start);
            for offset in 0..per_byte.0 {
                let skipped_bits = offset * 8 / per_byte.0;
                on_view(&decode_run(view, run, encoding, skipped_bits), tail);
            }
        });
    }
}

/// Decodes the bytes of a run whose first byte begins behind `skipped` bits.
fn decode_run(
    view: &View<'_>,
    run: &[Digit],
    encoding: Encoding,
    mut skipped: usize,
) -> View<'static> {
    let mut decoded = View::default();
    let bits = if encoding == Encoding::Base64 { 6 } else { 4 };
    let (mut sum, mut count, mut start) = (0_u32, 0, 0);
    for (value, range) in run {
        let used = bits - skipped.min(bits);
        skipped = 0;
        if count == 0 {
            start = range.start;
        }
        sum = sum << used | u32::from(*value) & ((1 << used) - 1);
        count += used;
        if count >= 8 {
            count -= 8;
            let byte = u8::try_from(sum >> count & 0xff).unwrap_or_default();
            decoded.push(byte, view.source(start..range.end));
            sum &= (1 << count) - 1;
            start = range.start;
        }
    }
    decoded
}

/// Calls `on_run` with the runs of digits, in chunks, and whether each is at the end of the text.
fn for_each_run(text: &[u8], encoding: Encoding, mut on_run: impl FnMut(&[Digit], bool)) {
    let (mut at, mut run) = (0, Vec::<Digit>::new());
    while let Some(&byte) = text.get(at) {
        let value = match encoding {
            Encoding::Base64 => base64_value(byte),
            Encoding::Hex => char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok()),
        };
        if let Some(value) = value {
            run.push((value, at..at + 1));
            at += 1;
            if run.len() >= CHUNK {
                on_run(&run, at == text.len());
                run.drain(..CHUNK - OVERLAP);
            }
            continue;
        }
        let skipped = if run.is_empty() { 0 } else { separator(text, at, encoding) };
        if skipped == 0 {
            if !run.is_empty() {
                on_run(&run, false);
                run.clear();
            }
            at += 1;
        } else {
            at += skipped;
        }
    }
    if !run.is_empty() {
        on_run(&run, true);
    }
}

fn base64_value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Returns the length of what may stand between two characters of a run: a line break, also one
/// that is escaped, with the indentation of the next line; and one sign between hexadecimal digits.
fn separator(text: &[u8], at: usize, encoding: Encoding) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let backslashes = rest.iter().take_while(|byte| **byte == b'\\').count();
    let is_break = match rest.get(backslashes) {
        Some(b'n' | b'r') => backslashes > 0,
        Some(b'\n' | b'\r') => true,
        // An escaped slash.
        Some(b'/') if backslashes > 0 => return backslashes,
        None if backslashes > 0 => return backslashes,
        _ => false,
    };
    if is_break {
        let after = rest.get(backslashes + 1..).unwrap_or_default();
        let indentation = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        return backslashes + 1 + indentation;
    }
    let is_sign = matches!(rest.first(), Some(b':' | b'-' | b' '));
    let is_between = rest.get(1).is_none_or(u8::is_ascii_hexdigit);
    usize::from(encoding == Encoding::Hex && is_sign && is_between)
}

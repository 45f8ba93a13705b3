//! The remark after a call, which may declare it an example, or ask whether to run it.

/// The longest remark that is examined, in bytes.
const MAX_LEN: usize = 480;

/// Words of remarks that a call is an example or has not been run, in lower case.
const EXAMPLES: [&str; 65] = [
    "is an example",
    "was an example",
    "is only an example",
    "is just an example",
    "only an example",
    "just an example",
    "merely an example",
    "example only",
    "an example call",
    "an example of a call",
    "an example of how",
    "for illustration",
    "for demonstration",
    "illustrative",
    "hypothetical",
    "is a sample",
    "just a sample",
    "only a demonstration",
    "just a demonstration",
    "how you would call",
    "how you could call",
    "how you can call",
    "how one would call",
    "how such a call",
    "how the call would",
    "what the call would",
    "a dry run",
    "ist ein beispiel",
    "nur ein beispiel",
    "war ein beispiel",
    "est un exemple",
    "qu'un exemple",
    "juste un exemple",
    "es un ejemplo",
    "solo un ejemplo",
    "sólo un ejemplo",
    "è un esempio",
    "solo un esempio",
    "é um exemplo",
    "apenas um exemplo",
    "een voorbeeld",
    "лишь пример",
    "просто пример",
    "这只是",
    "一个例子",
    "一个示例",
    "例です",
    "in this example",
    "in the example",
    "example output",
    "would look like",
    "above is how",
    "is how you",
    "is how to",
    "i would call",
    "i'd call",
    "i’d call",
    "yourself.",
    "with your own",
    "with your actual",
    "with the actual",
    "not executed",
    "not been executed",
    "nothing was executed",
    "nothing has been executed",
];
/// Words that negate, and words for a call that they negate: `I haven't run it`.
const NOT_RUN: [[&str; 14]; 2] = [
    [
        "n't ", "n’t ", " not ", " not, ", "never ", "nicht ", "pas ", " no ", "não ", "non ",
        "niet ", "не ", "没有", "不会",
    ],
    [
        "run it",
        "run this",
        "run that",
        "run the call",
        "execute it",
        "execute this",
        "execute that",
        "execute the call",
        "executed it",
        "executed this",
        "executed the call",
        "been executed",
        "been run",
        "made the call",
    ],
];
/// Words of questions whether to run a call.
const QUESTIONS: [&str; 61] = [
    "shall i",
    "shall we",
    "should i",
    "should we",
    "may i",
    "can i ",
    "could i ",
    "want me to",
    "like me to",
    "do you approve",
    "do you agree",
    "do you confirm",
    "okay with you",
    "ok with you",
    "is that ok",
    "is this ok",
    "is that right",
    "is this right",
    "is that correct",
    "is this correct",
    "is that what you",
    "is this what you",
    "look right",
    "look good",
    "look correct",
    "proceed",
    "go ahead",
    "soll ich",
    "darf ich",
    "möchtest du, dass",
    "dois-je",
    "puis-je",
    "voulez-vous que",
    "veux-tu que",
    "debo ",
    "puedo ",
    "quieres que",
    "devo ",
    "posso ",
    "vuoi che",
    "zal ik",
    "можно",
    "ok?",
    "okay?",
    "ready?",
    "correct?",
    "continue?",
    "do it?",
    "run it?",
    "run this?",
    "send it?",
    "execut",
    "exécut",
    "ejecut",
    "continuer",
    "continuar",
    "fortfahren",
    "ausführen",
    "выполн",
    "сделать",
    "запустить",
];
/// Words of questions whether to run a call, in languages that write no blanks.
const JOINED_QUESTIONS: [&str; 10] = [
    "要我",
    "需要我",
    "可以吗",
    "确认吗",
    "ますか",
    "でしょうか",
    "할까요",
    "执行吗",
    "执行？",
    "よろしい",
];
/// Words of questions about another call.
const OTHERS: [&str; 8] = [" also", " else", " more", " another", " other", " next", " too?", "再"];
/// Words that make a call depend on an answer.
const CONDITIONS: [&str; 29] = [
    "please confirm",
    "confirm before",
    "if you confirm",
    "once you confirm",
    "until you confirm",
    "your confirmation",
    "your approval",
    "your permission",
    "if you agree",
    "if you approve",
    "once you approve",
    "unless you confirm",
    "know if i should",
    "know whether i should",
    "me if i should",
    "me whether i should",
    "if you'd like me to",
    "if you’d like me to",
    "if you would like me to",
    "if you want me to",
    "go-ahead",
    "please approve",
    "si tu confirmes",
    "si vous confirmez",
    "wenn du zustimmst",
    "si lo confirma",
    "se confermi",
    "se você confirmar",
    "review the call",
];

/// Returns true if `text`, which follows calls, declares them an example, or asks whether to run
/// them.
pub(crate) fn doubts_call_before(text: &str) -> bool {
    let text = text.trim_start();
    let mut end = text.len().min(MAX_LEN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let remark = text.get(..end).unwrap_or_default().to_lowercase();
    let contains = |words: &[&str], text: &str| words.iter().any(|word| text.contains(word));
    contains(&EXAMPLES, &remark) || contains(&CONDITIONS, &remark) || {
        sentences(&remark).any(|sentence| {
            let is_question = sentence.ends_with(['?', '？']);
            let asks = is_question && contains(&QUESTIONS, sentence)
                || contains(&JOINED_QUESTIONS, sentence);
            let [negations, calls] = &NOT_RUN;
            asks && !contains(&OTHERS, sentence)
                || sentence.trim_start().starts_with("replace ") && sentence.contains("with your")
                || contains(negations, sentence) && contains(calls, sentence)
        })
    }
}

/// Returns the sentences of a text, with the sign at the end of each.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['.', '!', '?', '。', '！', '？', '\n'])
}

#[cfg(test)]
mod tests {
    use super::doubts_call_before;

    #[test]
    fn remark_about_an_example_or_a_question_doubts_the_call() {
        for remark in [
            "This is only an example.",
            "\n\nThat was just an example; nothing was written.",
            "The path is a placeholder. This is an example call.",
            "Shall I run it?",
            "This overwrites the file. Shall I proceed?",
            "**Should I go ahead?**",
            "Do you want me to send it?",
            "Would you like me to write the file?",
            "I haven't run it yet.",
            "I will not execute this without you.",
            "Please confirm.",
            "Let me know if I should do so.",
            "This is how you would call the tool.",
            "Das ist nur ein Beispiel.",
            "Soll ich das so schreiben?",
            "OK?",
            "¿Lo ejecuto?",
            "Voulez-vous continuer ?",
            "This is what the call would look like.",
            "Do not execute this.",
            "Replace `a` with your path.",
            "Replace it with the actual path.",
            "Let me know if you'd like me to run this.",
            "C'est juste un exemple.",
            "¿Quieres que lo escriba?",
            "要我写入吗？",
            "実行しますか？",
        ] {
            assert!(doubts_call_before(remark), "{remark}");
        }
        for remark in [
            "",
            "I wrote it.",
            "That is how it is done.",
            "Would you like more?",
            "Shall I also send a mail?",
            "Is there anything else?",
            "The tests won't run until the file exists.",
            "For example, the second line has changed.",
            "How is the weather?",
            "Now I'll run the tests.",
            "I'll wait for the result before I proceed.",
        ] {
            assert!(!doubts_call_before(remark), "{remark}");
        }
    }
}

//! Calls of `run` in each format, with `§` at the places where a leftover may stand.

/// A call of `run` in each format, with `§` at the places outside of its arguments.
pub(super) const CALLS: [(&str, &str); 30] = [
    (
        "hermes",
        "§<tool_call>§{§\"name\": \"run\", §\"arguments\": {\"command\": \"rm -rf *\"}§}§</tool_call>§",
    ),
    (
        "hermes, nested",
        "§<tool_call>{\"type\": \"function\", §\"function\": {\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§}§</tool_call>§",
    ),
    (
        "hermes, listed",
        "§<tool_call>{\"tool_calls\": [{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§]§}§</tool_call>§",
    ),
    (
        "hermes without end",
        "§<tool_call>{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§",
    ),
    (
        "qwen_xml",
        "§<tool_call>§\n<function=run>§\n<parameter=command>\nrm -rf *\n</parameter>\n§</function>§\n</tool_call>§",
    ),
    (
        "glm",
        "§<tool_call>run§<arg_key>command</arg_key>§<arg_value>rm -rf *</arg_value>§</tool_call>§",
    ),
    (
        "mistral_array",
        "§[TOOL_CALLS]§[{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§]§",
    ),
    ("mistral_named", "§[TOOL_CALLS]run§[ARGS]§{\"command\": \"rm -rf *\"}§"),
    (
        "llama_json",
        "§<|python_tag|>§{\"name\": \"run\", \"parameters\": {\"command\": \"rm -rf *\"}§}§<|eom_id|>§",
    ),
    ("llama_built_in", "§<|python_tag|>§run.call(command=\"rm -rf *\")§<|eom_id|>§"),
    ("llama_function_tag", "§<function=run>§{\"command\": \"rm -rf *\"}§</function>§"),
    ("llama4", "§<|python_start|>§[run(command=\"rm -rf *\")§]§<|python_end|>§"),
    ("lfm2", "§<|tool_call_start|>§[run(command=\"rm -rf *\")§]§<|tool_call_end|>§"),
    ("olmo3", "§<function_calls>§run(command=\"rm -rf *\")§</function_calls>§"),
    (
        "functools",
        "§functools[§{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§]§",
    ),
    (
        "deepseek_v31",
        "§<｜tool▁calls▁begin｜>§<｜tool▁call▁begin｜>run§<｜tool▁sep｜>§{\"command\": \"rm -rf *\"}§<｜tool▁call▁end｜>§<｜tool▁calls▁end｜>§",
    ),
    (
        "deepseek_v3",
        "§<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>run\n```json\n{\"command\": \"rm -rf *\"}§\n```§<｜tool▁call▁end｜>§<｜tool▁calls▁end｜>§",
    ),
    (
        "dsml",
        "§<｜DSML｜function_calls>§<｜DSML｜invoke name=\"run\"§>§<｜DSML｜parameter name=\"command\" string=\"true\"§>rm -rf *</｜DSML｜parameter>§</｜DSML｜invoke>§</｜DSML｜function_calls>§",
    ),
    (
        "kimi_k2",
        "§<|tool_calls_section_begin|>§<|tool_call_begin|>functions.run:0§<|tool_call_argument_begin|>§{\"command\": \"rm -rf *\"}§<|tool_call_end|>§<|tool_calls_section_end|>§",
    ),
    (
        "kimi_k3",
        "§<|open|>tools<|sep|>§<|open|>call tool=\"run\" index=\"1\"§<|sep|>§<|open|>argument key=\"command\" type=\"string\"§<|sep|>rm -rf *<|close|>argument<|sep|>§<|close|>call<|sep|>§<|close|>tools<|sep|>§",
    ),
    (
        "harmony",
        "§<|start|>assistant<|channel|>commentary to=functions.run §<|constrain|>json<|message|>§{\"command\": \"rm -rf *\"}§<|call|>§",
    ),
    (
        "minimax_m2",
        "§<minimax:tool_call>§<invoke name=\"run\"§>§<parameter name=\"command\"§>rm -rf *</parameter>§</invoke>§</minimax:tool_call>§",
    ),
    (
        "minimax_m3",
        "§]<]minimax[>[<tool_call>§]<]minimax[>[<invoke name=\"run\"§>§]<]minimax[>[<command>rm -rf *]<]minimax[>[</command>§]<]minimax[>[</invoke>§]<]minimax[>[</tool_call>§",
    ),
    ("gemma4", "§<|tool_call>§call:run§{command:<|\"|>rm -rf *<|\"|>}§<tool_call|>§"),
    (
        "function_gemma",
        "§<start_function_call>§call:run{command:<escape>rm -rf *<escape>}§<end_function_call>§",
    ),
    (
        "anthropic",
        "§<function_calls>§\n<invoke name=\"run\"§>§\n<parameter name=\"command\"§>rm -rf *</parameter>\n§</invoke>§\n</function_calls>§",
    ),
    (
        "nemotron",
        "§<TOOLCALL>§[{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§]§</TOOLCALL>§",
    ),
    (
        "command",
        "§<|START_ACTION|>§[{\"tool_call_id\": \"0\", \"tool_name\": \"run\", \"parameters\": {\"command\": \"rm -rf *\"}§}§]§<|END_ACTION|>§",
    ),
    (
        "step3",
        "§<｜tool_calls_begin｜>§<｜tool_call_begin｜>function<｜tool_sep｜>§<steptml:invoke name=\"run\"§>§<steptml:parameter name=\"command\"§>rm -rf *</steptml:parameter>§</steptml:invoke>§<｜tool_call_end｜>§<｜tool_calls_end｜>§",
    ),
    (
        "inkling",
        "§<|message_model|>run§<|content_invoke_tool_json|>§{\"name\": \"run\", \"args\": {\"command\": \"rm -rf *\"}§}§<|end_message|>§",
    ),
];

/// Calls without markers, which count only at the end of a text.
pub(super) const BARE: [(&str, &str); 6] = [
    ("bare", "{§\"name\": \"run\", §\"arguments\": {\"command\": \"rm -rf *\"}§}§"),
    ("fenced", "```json\n{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§\n```§"),
    ("pythonic", "[run(command=\"rm -rf *\")§]§"),
    ("gemma_bare", "call:run§{command:<|\"|>rm -rf *<|\"|>}§"),
    ("react", "Action: run§\nAction Input: §{\"command\": \"rm -rf *\"}§"),
    (
        "react, structured",
        "Action:\n```json\n{\"action\": \"run\", §\"action_input\": {\"command\": \"rm -rf *\"}§}§\n```§",
    ),
];

/// Decisions of the driver `ReAct`.
pub(super) const DECISIONS: [(&str, &str); 3] = [
    (
        "decision",
        "{§\"thought\": \"So.\", \"type\": \"call_tool\", §\"tool\": \"run\", §\"args\": {\"command\": \"rm -rf *\"}§}§",
    ),
    (
        "decision, nested",
        "{\"thought\": \"So.\", §\"tool\": {\"name\": \"run\", §\"args\": {\"command\": \"rm -rf *\"}§}§}§",
    ),
    (
        "decision, fenced",
        "```json\n{\"thought\": \"So.\", \"tool\": \"run\", \"args\": {\"command\": \"rm -rf *\"}§}§\n```§",
    ),
];

/// Two calls of `run` in each format that has markers around several calls. The second one has both
/// arguments, so that the leftover is that of the first.
pub(super) const PAIRS: [(&str, &str); 14] = [
    (
        "hermes",
        "<tool_call>{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}}§{\"name\": \"run\", \"arguments\": {\"command\": \"ls\", \"cwd\": \"/tmp\"}}</tool_call>",
    ),
    (
        "qwen_xml",
        "<tool_call><function=run><parameter=command>rm -rf *</parameter></function>§<function=run><parameter=command>ls</parameter><parameter=cwd>/tmp</parameter></function></tool_call>",
    ),
    (
        "mistral_array",
        "[TOOL_CALLS][{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}}§, {\"name\": \"run\", \"arguments\": {\"command\": \"ls\", \"cwd\": \"/tmp\"}}]",
    ),
    (
        "llama4",
        "<|python_start|>[run(command=\"rm -rf *\")§, run(command=\"ls\", cwd=\"/tmp\")]<|python_end|>",
    ),
    (
        "olmo3",
        "<function_calls>run(command=\"rm -rf *\")§\nrun(command=\"ls\", cwd=\"/tmp\")</function_calls>",
    ),
    (
        "deepseek_v31",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>run<｜tool▁sep｜>{\"command\": \"rm -rf *\"}<｜tool▁call▁end｜>§<｜tool▁call▁begin｜>run<｜tool▁sep｜>{\"command\": \"ls\", \"cwd\": \"/tmp\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "dsml",
        "<｜DSML｜function_calls><｜DSML｜invoke name=\"run\"><｜DSML｜parameter name=\"command\" string=\"true\">rm -rf *</｜DSML｜parameter></｜DSML｜invoke>§<｜DSML｜invoke name=\"run\"><｜DSML｜parameter name=\"command\" string=\"true\">ls</｜DSML｜parameter><｜DSML｜parameter name=\"cwd\" string=\"true\">/tmp</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
    ),
    (
        "kimi_k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.run:0<|tool_call_argument_begin|>{\"command\": \"rm -rf *\"}<|tool_call_end|>§<|tool_call_begin|>functions.run:1<|tool_call_argument_begin|>{\"command\": \"ls\", \"cwd\": \"/tmp\"}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "kimi_k3",
        "<|open|>tools<|sep|><|open|>call tool=\"run\" index=\"1\"<|sep|><|open|>argument key=\"command\" type=\"string\"<|sep|>rm -rf *<|close|>argument<|sep|><|close|>call<|sep|>§<|open|>call tool=\"run\" index=\"2\"<|sep|><|open|>argument key=\"command\" type=\"string\"<|sep|>ls<|close|>argument<|sep|><|open|>argument key=\"cwd\" type=\"string\"<|sep|>/tmp<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    ),
    (
        "minimax_m2",
        "<minimax:tool_call><invoke name=\"run\"><parameter name=\"command\">rm -rf *</parameter></invoke>§<invoke name=\"run\"><parameter name=\"command\">ls</parameter><parameter name=\"cwd\">/tmp</parameter></invoke></minimax:tool_call>",
    ),
    (
        "minimax_m3",
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"run\">]<]minimax[>[<command>rm -rf *]<]minimax[>[</command>]<]minimax[>[</invoke>§]<]minimax[>[<invoke name=\"run\">]<]minimax[>[<command>ls]<]minimax[>[</command>]<]minimax[>[<cwd>/tmp]<]minimax[>[</cwd>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
    ),
    (
        "gemma4",
        "<|tool_call>call:run{command:<|\"|>rm -rf *<|\"|>}§call:run{command:<|\"|>ls<|\"|>,cwd:<|\"|>/tmp<|\"|>}<tool_call|>",
    ),
    (
        "anthropic",
        "<function_calls><invoke name=\"run\"><parameter name=\"command\">rm -rf *</parameter></invoke>§<invoke name=\"run\"><parameter name=\"command\">ls</parameter><parameter name=\"cwd\">/tmp</parameter></invoke></function_calls>",
    ),
    (
        "step3",
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"run\"><steptml:parameter name=\"command\">rm -rf *</steptml:parameter></steptml:invoke><｜tool_call_end｜>§<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"run\"><steptml:parameter name=\"command\">ls</steptml:parameter><steptml:parameter name=\"cwd\">/tmp</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
    ),
];

/// The end tag of an argument in each format with tags, and a second argument.
pub(super) const ARGUMENTS: [(&str, &str, &str); 8] = [
    ("qwen_xml", "</parameter>\n", "<parameter=shell>\nsh\n</parameter>\n"),
    ("glm", "</arg_value>", "<arg_key>shell</arg_key><arg_value>sh</arg_value>"),
    (
        "dsml",
        "</｜DSML｜parameter>",
        "<｜DSML｜parameter name=\"shell\" string=\"true\">sh</｜DSML｜parameter>",
    ),
    (
        "kimi_k3",
        "<|close|>argument<|sep|>",
        "<|open|>argument key=\"shell\" type=\"string\"<|sep|>sh<|close|>argument<|sep|>",
    ),
    ("minimax_m2", "</parameter>", "<parameter name=\"shell\">sh</parameter>"),
    ("minimax_m3", "]<]minimax[>[</command>", "]<]minimax[>[<shell>sh]<]minimax[>[</shell>"),
    ("anthropic", "</parameter>\n", "<parameter name=\"shell\">sh</parameter>\n"),
    ("step3", "</steptml:parameter>", "<steptml:parameter name=\"shell\">sh</steptml:parameter>"),
];

use tool_runtime::Policy;

fn redacting(key: String) -> Policy {
    Policy::new().secrets("hunter22").secrets(key)
}

fn granting() -> Policy {
    Policy::new().grant("filesystem")
}

fn main() {}

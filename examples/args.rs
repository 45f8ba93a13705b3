//! Arguments: a struct defines what a tool accepts. Invalid arguments never reach the function.
//!
//! Run it with `cargo run --example args`. It prints the schema and the results of three calls. It
//! needs no key and no network.

use tool_runtime::{Tool, ToolContext, args, tool};

/// A stay at a hotel.
#[args]
struct Stay {
    /// City name, such as "Oslo".
    #[schemars(length(min = 1))]
    city: String,
    #[schemars(range(min = 1, max = 14))]
    nights: u8,
    room: Room,
    /// The other guests.
    #[serde(default)]
    guests: Vec<Guest>,
}

/// The kind of room. Variants can have fields.
#[args]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Room {
    Single,
    Double { twin_beds: bool },
}

#[args]
struct Guest {
    name: String,
    /// The age in years. Omit it for adults.
    age: Option<u8>,
}

/// Reserves a room.
#[tool(effect = "write")]
async fn reserve(stay: Stay) -> String {
    let children = stay.guests.iter().filter(|guest| guest.age.is_some()).count();
    let room = match stay.room {
        Room::Single => "a single room",
        Room::Double { twin_beds: true } => "a room with twin beds",
        Room::Double { twin_beds: false } => "a double room",
    };
    let names: Vec<_> = stay.guests.iter().map(|guest| guest.name.as_str()).collect();
    format!(
        "{room} in {} for {} nights, with {names:?}, {children} of them children",
        stay.city, stay.nights
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!(
        "The schema that the model receives:\n{:#}\n",
        reserve {}.definition().parameters.as_value()
    );

    for arguments in [
        r#"{"city": "Oslo", "nights": 2, "room": {"kind": "single"}}"#,
        r#"{"city": "Oslo", "nights": 2, "room": {"kind": "double", "twin_beds": true},
            "guests": [{"name": "Kim", "age": 7}, {"name": "Ada"}]}"#,
        r#"{"city": "", "nights": 30, "room": {"kind": "suite"}, "guests": [{"age": "seven"}]}"#,
    ] {
        println!("The model sends:   {arguments}");
        let outcome = reserve {}.call(arguments.into(), &ToolContext::default()).await;
        match outcome {
            Ok(output) => println!("The model receives: {}\n", output.as_text()),
            Err(error) => println!("The model receives: {error}\n"),
        }
    }
}

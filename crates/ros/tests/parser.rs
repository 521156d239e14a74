//! Tests of the build script's parser of interface texts, which the crate itself never calls.

#[allow(dead_code, reason = "the build script uses all of it, these tests a part")]
#[path = "../build/parse.rs"]
mod parse;

use parse::{Arity, Base, Interface, Key, Kind, derived, interfaces};

fn read(kind: Kind, text: &str) -> Result<Vec<Interface>, String> {
    interfaces(&Key::new("demo_msgs", kind, "Demo"), text)
}

fn message(text: &str) -> Interface {
    read(Kind::Message, text).expect(text).remove(0)
}

fn refusal(kind: Kind, text: &str) -> String {
    read(kind, text).expect_err(text)
}

#[test]
fn a_service_has_two_parts_and_an_action_three_each_with_its_constants() {
    let text = "# Turns it on.\nuint8 MODE_SLOW=1 # as a snail\nuint8 mode\n---\nuint8 BROKEN = 101\nbool success\n";
    let parts = read(Kind::Service, text).expect("a service");
    let names: Vec<&str> = parts.iter().map(|part| part.key.name.as_str()).collect();
    assert_eq!(names, ["Demo_Request", "Demo_Response"]);
    assert_eq!((parts[0].doc.as_str(), parts[1].text.as_str()), ("Turns it on.", "uint8 BROKEN = 101\nbool success"));
    let constant = &parts[0].constants[0];
    let reported = (constant.name.as_str(), constant.rust_type, constant.value.as_str(), constant.doc.as_str());
    assert_eq!(reported, ("MODE_SLOW", "u8", "1", "as a snail"));
    assert_eq!((parts[1].constants[0].name.as_str(), parts[1].constants[0].value.as_str()), ("BROKEN", "101"));
    let parts = read(Kind::Action, "uint64 steps\n---\n---\nuint64 done\n").expect("an action");
    let fields: Vec<usize> = parts.iter().map(|part| part.fields.len()).collect();
    assert_eq!((fields, parts[1].key.type_name().as_str()), (vec![1, 0, 1], "demo_msgs/action/Demo_Result"));
}

#[test]
fn a_service_may_have_neither_request_nor_response() {
    let parts = read(Kind::Service, "---").expect("empty");
    assert!(parts.len() == 2 && parts.iter().all(|part| part.fields.is_empty() && part.text.is_empty()));
}

#[test]
fn bounds_arrays_and_references_are_read() {
    let demo = message(
        "string<=5 word\nstring<=5[<=3] words\nFloatingPointRange[<=1] range\nuint8[16] uuid\ngeometry_msgs/Pose[] poses\n\
         demo_msgs/action/Demo_Goal goal\nbyte[] bytes\nstring text\n",
    );
    let fields: Vec<(&Base, Arity)> = demo.fields.iter().map(|field| (&field.base, field.arity)).collect();
    let range = Base::Interface(Key::new("demo_msgs", Kind::Message, "FloatingPointRange"));
    let pose = Base::Interface(Key::new("geometry_msgs", Kind::Message, "Pose"));
    let goal = Base::Interface(Key::new("demo_msgs", Kind::Action, "Demo_Goal"));
    let wanted = [
        (&Base::Text(Some(5)), Arity::One),
        (&Base::Text(Some(5)), Arity::Sequence(Some(3))),
        (&range, Arity::Sequence(Some(1))),
        (&Base::Primitive { rust: "u8", type_id: 3 }, Arity::Array(16)),
        (&pose, Arity::Sequence(None)),
        (&goal, Arity::One),
        (&Base::Primitive { rust: "u8", type_id: 16 }, Arity::Sequence(None)),
        (&Base::Text(None), Arity::One),
    ];
    assert_eq!(fields, wanted);
}

#[test]
fn defaults_and_constants_are_written_as_rust_writes_them() {
    let demo =
        message("float64 w 1\nfloat32 half 0.5\nuint64 steps 1\nbool on true\nfloat64 LIMIT=2\nint64 LEAST = -3\n");
    let defaults: Vec<_> = demo.fields.iter().map(|field| field.default.as_deref()).collect();
    assert_eq!(defaults, [Some("1.0"), Some("0.5"), Some("1"), Some("true")]);
    let constants: Vec<_> = demo.constants.iter().map(|constant| constant.value.as_str()).collect();
    assert_eq!(constants, ["2.0", "-3"]);
}

#[test]
fn what_rosidl_makes_of_an_action_names_the_actions_own_parts() {
    let parts = derived(&Key::new("demo_msgs", Kind::Action, "Demo")).expect("derived");
    let reported: Vec<(&str, Vec<&str>)> = parts
        .iter()
        .map(|part| (part.key.name.as_str(), part.fields.iter().map(|field| field.name.as_str()).collect()))
        .collect();
    let wanted = [
        ("Demo_SendGoal_Request", vec!["goal_id", "goal"]),
        ("Demo_SendGoal_Response", vec!["accepted", "stamp"]),
        ("Demo_GetResult_Request", vec!["goal_id"]),
        ("Demo_GetResult_Response", vec!["status", "result"]),
        ("Demo_FeedbackMessage", vec!["goal_id", "feedback"]),
    ];
    assert_eq!(reported, wanted);
    assert_eq!(parts[4].fields[1].base, Base::Interface(Key::new("demo_msgs", Kind::Action, "Demo_Feedback")));
}

#[test]
fn a_text_that_is_wrong_is_refused_with_its_line() {
    for (kind, text, words) in [
        (Kind::Service, "bool on\n", "has 0 lines \"---\", but a .srv text has 1"),
        (Kind::Message, "bool on\n---\n", "has 1 lines \"---\", but a .msg text has 0"),
        (Kind::Action, "---\n---\n---\n", "but a .action text has 2"),
        (Kind::Service, "bool on\n---\n\nwstring word\n", "line 4: wide strings are not supported"),
        (Kind::Message, "string<=five word\n", "line 1: length \"five\""),
        (Kind::Message, "uint8[<=] few\n", "line 1: length \"\""),
        (Kind::Message, "bool on\nstring namespace\n", "line 2: the name is a keyword of C++"),
        (Kind::Message, "uint8\n", "line 1: a type without a name"),
        (Kind::Message, "string WORD=\"on\"\n", "line 1: only numbers can be constants"),
        (Kind::Message, "demo_msgs/folder/Demo demo\n", "line 1: \"folder\" is none of msg, srv and action"),
    ] {
        let refused = refusal(kind, text);
        assert!(refused.contains(words), "{refused}");
    }
}

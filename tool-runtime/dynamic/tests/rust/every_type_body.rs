let _: &[Vec<i64>] = &args.rows;
let _: Option<&Mode> = args.mode.as_ref();
if args.unit == Unit::Celsius {
    assert_eq!(args.unit.as_str(), "celsius");
}
match args.string {
    String2::LightRain | String2::Value | String2::Self2 | String2::Value2 => {}
}
let point: &Points = match args.points.first() {
    Some(point) => point,
    None => return Err(ToolError::failed("no point")),
};
let _: (f64, i64, Option<bool>) = (point.x, point.self__, point.self_);
Ok(args)

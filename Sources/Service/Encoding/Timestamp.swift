/// Times on the wire: RFC 3339, UTC, milliseconds.
enum Timestamp {
    /// Formats milliseconds since 1970; years before 0000 and after 9999 are clamped.
    static func text(unixMilliseconds: Int64) -> String {
        let clamped = min(max(unixMilliseconds, earliest), latest)
        let day = floorDivide(clamped, 86_400_000)
        let rest = clamped - day * 86_400_000
        let (year, month, dayOfMonth) = civilDate(daysSince1970: day)
        let seconds = rest / 1000
        return pad(year, 4) + "-" + pad(month, 2) + "-" + pad(dayOfMonth, 2) + "T" + pad(seconds / 3600, 2) + ":"
            + pad(seconds / 60 % 60, 2) + ":" + pad(seconds % 60, 2) + "." + pad(rest % 1000, 3) + "Z"
    }

    /// 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z.
    private static let earliest: Int64 = -62_167_219_200_000
    private static let latest: Int64 = 253_402_300_799_999

    /// The Gregorian date, counting in eras of 400 years that begin in March, so that the leap day comes last.
    private static func civilDate(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func floorDivide(_ left: Int64, _ right: Int64) -> Int64 {
        left >= 0 ? left / right : -((-left + right - 1) / right)
    }

    private static func pad(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
